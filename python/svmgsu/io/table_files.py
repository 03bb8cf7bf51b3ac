"""Tables in files: what opens each format, and writing them by pyarrow."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
from collections.abc import Collection
from typing import Any

import numpy as np

from .. import _core
from ..support.arrays import dense
from ..support.memory import in_words, require_memory
from ..support.types import Fields
from ..support.validation import ArrayLike
from .cells import Cells, CsvCells
from .dataset import as_dataset
from .files import (
    ARROW,
    ASTROPY,
    DELIMITERS,
    EXCEL,
    TABLES,
    Source,
    check_utf8,
    damaged,
    extension,
    mappable,
    name_of,
)
from .output import replacing

TEXTS = (*DELIMITERS, ".txt", ".dat")  # their delimiters are seen from their first lines
BLANKS = "blanks"
COPIES = 3  # of the numbers at the peak: as they are read or written, by column, and together
COLUMN_BYTES = 5500  # measured, for Parquet: what a column takes besides its numbers


def ending_of(path: Source, format: str | None) -> str:
    return extension(path) if format is None else "." + format.removeprefix(".")


def import_pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("tables need pyarrow: pip install 'svmgsu[io]'") from error
    return pyarrow


def open_cells(
    path: Source, ending: str, delimiter: str | None = None, as_text: Collection[str] = ()
) -> Cells:
    """Read the table in a file; columns `as_text` are not taken for numbers in a file of text."""
    name = name_of(path)
    if ending not in (*TABLES, *TEXTS):
        known = ", ".join((*TABLES, ".txt", ".dat"))
        raise ValueError(f"{name}: the ending {ending!r} is not known; tables end in {known}")
    arrow = import_pyarrow()
    content = mappable(path)
    size = len(content) if isinstance(content, bytes) else os.stat(content).st_size
    require_memory(COPIES * size, f"{name}: a table of {in_words(size)}")
    if ending in TEXTS:
        return _text_cells(content, name, delimiter or DELIMITERS.get(ending), delimiter is None, as_text)
    with damaged(path, "table"):
        try:
            table = _read_file(arrow, content, name, ending)
            if hasattr(table, "validate"):
                table.validate(full=True)  # offsets and lengths of a damaged file lead anywhere
        except _core.FormatError:
            raise
        except arrow.ArrowException as error:
            raise _core.FormatError(f"{name}: {' '.join(str(error).split())}") from None
        except (ValueError, TypeError) as error:  # of pandas and astropy, which do not name the file
            text = " ".join(str(error).split())
            raise _core.FormatError(f"{name}: not a readable table ({text})") from None
        return Cells(table, name)


def _read_file(arrow: Any, content: str | bytes, name: str, ending: str) -> Any:
    """Read a table that is no text: FITS, VOTable and ECSV by astropy, Excel by pandas, others by pyarrow."""
    file: Any = io.BytesIO(content) if isinstance(content, bytes) else content
    source = arrow.BufferReader(content) if isinstance(content, bytes) else content
    if ending == ".parquet":
        from pyarrow import parquet

        about = parquet.read_metadata(source)
        what = f"{name}: a table of {about.num_rows} rows and {about.num_columns} columns"
        require_memory(COPIES * 8 * about.num_rows * about.num_columns, what)
        return parquet.read_table(source)
    if ending in ARROW:
        from pyarrow import feather

        return feather.read_table(source)
    if ending in EXCEL:
        try:
            import pandas
        except ImportError as error:
            raise ImportError("spreadsheets need pandas and openpyxl: pip install pandas openpyxl") from error

        return pandas.read_excel(file)
    if ending in ASTROPY:
        try:
            from astropy.table import Table
        except ImportError as error:
            raise ImportError(f"{ending} files need astropy: pip install 'svmgsu[astro]'") from error

        table = Table.read(file, format=ASTROPY[ending])
        table.remove_columns([column for column in table.colnames if table[column].ndim > 1])
        return table
    text = content if isinstance(content, bytes) else _bytes_of(content)
    if text.lstrip()[:1] != b"[":  # one object a line
        from pyarrow import json as arrow_json

        with contextlib.suppress(ValueError):  # of several objects; a single one holds columns
            columns = json.loads(text)
            if columns and all(isinstance(c, (list, dict)) for c in columns.values()):
                return arrow.table(
                    {c: list(v.values()) if isinstance(v, dict) else v for c, v in columns.items()}
                )
        return arrow_json.read_json(arrow.BufferReader(text))
    try:
        return arrow.Table.from_pylist(json.loads(text))
    except (ValueError, AttributeError) as error:
        raise _core.FormatError(f"{name}: expected a list of objects, one for each row ({error})") from None


def _bytes_of(path: str, size: int = -1) -> bytes:
    with open(path, "rb") as file:
        return file.read(size)


def _text_cells(
    content: str | bytes, name: str, delimiter: str | None, guess: bool, as_text: Collection[str]
) -> CsvCells:
    """Read a table of text; to `guess`, the `delimiter` is what is usual, and the first lines decide."""
    if guess:
        head = content[:65536] if isinstance(content, bytes) else _bytes_of(content, 65536)
        lines = [line for line in head.decode("utf-8-sig", "replace").splitlines() if line.strip()]
        delimiter = _delimiter(lines, delimiter)
    if delimiter != BLANKS:
        return CsvCells(content, name, str(delimiter), as_text=as_text)
    text = content if isinstance(content, bytes) else _bytes_of(content)
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    for k, line in enumerate(text.decode("utf-8-sig", "replace").splitlines()):
        words = line.split()
        write(words[1:] if not k and words[:1] == ["#"] and len(words) > 1 else words)
    return CsvCells(out.getvalue().encode(), name, ",", as_text=as_text)


def _delimiter(lines: list[str], usual: str | None) -> str:
    """Find the delimiter that gives the first lines as many cells each; the usual one if it does."""
    rows = [line for line in lines[:200] if not line.startswith("#")] or lines
    for mark in dict.fromkeys([*([usual] if usual else []), ",", ";", "\t", "|"]):
        counts = [len(row) for row in csv.reader(rows[:20], delimiter=mark)]
        if counts and counts[0] > 1 and len(set(counts[:-1] or counts)) == 1:
            return mark
    counts = [len(line.split()) for line in rows[:20]]
    if counts and counts[0] > 1 and len(set(counts[:-1] or counts)) == 1 and usual != ",":
        return BLANKS
    return usual or ","


def write_table(
    data: object,
    path: Source,
    *,
    y: ArrayLike = None,
    ids: ArrayLike = None,
    feature_names: Any = None,
    format: str | None = None,
) -> None:
    """Write a table by pyarrow: id, label, and for each feature its mean `x` and its variance `x_var`."""
    dataset = as_dataset(data, y, ids)
    gaussians = dataset.data
    count, n = gaussians.shape
    ending = ending_of(path, format)
    each = None if gaussians.cov is None else gaussians.cov.each_variance(count)
    # Before columns are named and filled, of which a single large index can make too many.
    width = n if gaussians.cov is None or each is not None else 2 * n
    what = f"{name_of(path)}: a table of {count} rows and {width} columns"
    require_memory(width * (COLUMN_BYTES + 8.0 * COPIES * count), what)
    names = list(feature_names or gaussians.feature_names_in_ or [f"x{j + 1}" for j in range(n)])
    if len(names) != n:
        raise ValueError(f"feature_names: {len(names)} names for {n} features")
    columns: Fields = {}
    if dataset.ids is not None:
        check_utf8(dataset.ids.astype(np.str_))
        columns["id"] = dataset.ids.astype(np.str_).tolist()
    if dataset.y is not None:
        columns["label"] = dataset.y if dataset.y.dtype.kind in "biuf" else dataset.y.tolist()
    if each is not None:
        columns["_var"] = each
    expected = len(columns) + width
    means = dense(gaussians.mean)
    variances = dense(dataset.variances()) if width == 2 * n else None
    for j, feature in enumerate(names):
        columns[feature] = means[:, j]
        if variances is not None:
            columns[feature + "_var"] = variances[:, j]
    if len(columns) != expected:
        raise ValueError("feature_names: two columns would have the same name; pass other names")
    save_table(columns, path, ending)


def save_table(columns: Fields, path: Source, ending: str) -> None:
    """Write columns in the format of the ending, one of `WRITTEN`."""
    table = import_pyarrow().table(columns)
    with replacing(path) as (file,):
        if ending in DELIMITERS:
            from pyarrow import csv

            csv.write_csv(table, file, csv.WriteOptions(delimiter=DELIMITERS[ending]))
        elif ending == ".parquet":
            from pyarrow import parquet

            parquet.write_table(table, file)
        else:
            from pyarrow import feather

            feather.write_feather(table, file, compression="uncompressed")
