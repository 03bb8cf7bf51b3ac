"""Tables in files, one reader for each format; `data.frames` says which columns belong together."""

from __future__ import annotations

import csv
import io
import os
from typing import Any, Literal

import numpy as np

from .. import _core
from ..data.gaussians import Gaussians
from ..support.arrays import dense
from ..support.memory import in_words, require_memory
from .cells import ArrowCells, Cells, CsvCells
from .dataset import Dataset, as_dataset
from .files import Source, check_utf8, damaged, extension, mappable, name_of
from .output import replacing
from .table_reading import TableReader
from .text_writing import variances_of

DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
TEXTS = (*DELIMITERS, ".txt", ".dat")  # their delimiters are seen from their first lines
ARROW = (".arrow", ".ipc", ".feather")
JSON = (".json", ".jsonl", ".ndjson")
ASTROPY = {".fits": "fits", ".fit": "fits", ".vot": "votable", ".votable": "votable", ".ecsv": "ascii.ecsv"}
EXCEL = (".xlsx", ".xls", ".ods")
COPIES = 3  # of the numbers at the peak: as they are read or written, by column, and together
COLUMN_BYTES, PARQUET_BYTES = 2000, 5500  # measured: what a column takes besides its numbers
WRITTEN = (*DELIMITERS, ".parquet", *ARROW)
ENDINGS = (*TEXTS, ".parquet", *ARROW, *JSON, *ASTROPY, *EXCEL)
BLANKS = "blanks"


def read_table(
    path: Source,
    *,
    label: str | Literal[False] | None = None,
    id: str | None = None,
    features: list[str] | None = None,
    errors: Any = None,
    exact: list[str] | None = None,
    ignore: list[str] | None = None,
    error_scale: float = 1.0,
    asymmetric: str = "median",
    units: str = "same",
    missing: Literal["error", "drop", "keep"] = "error",
    most_missing: float = 1.0,
    limits: str | None = None,
    text_labels: bool = False,
    chances: str | None = None,
    target: str | bool = False,
    delimiter: str | None = None,
    format: str | None = None,
) -> Dataset:
    """Read a table and pair values with their uncertainties by the names of the columns.

    `x` belongs to `x_err`, `e_x`, `sigma_x` and many more, as `svmgsu.Gaussians.from_frame` has it. Nothing
    is left out silently: the report says which columns are ids, exact, or not used because they hold text,
    and an uncertainty without its value is refused.

    Parameters
    ----------
    path : path, "-" or file
        Its ending tells the format: .csv, .tsv, .tab, .txt, .dat (delimiters are seen from the first lines),
        .parquet, .feather, .arrow, .ipc, .json, .jsonl, .ndjson, .fits, .vot, .ecsv (astropy), .xlsx
        (pandas); .gz, .xz and .zst behind it unpack.
    label, id : str, optional
        The columns of labels and ids; by default those of the usual names (label, y, class, target, type;
        id, name, objid, source_id, ...) without uncertainties, and for ids those that number the rows.
        `label=False` leaves labels unread. Ids are text: 001 stays 001.
    features, errors, exact, ignore, error_scale, asymmetric, units, limits
        As for `svmgsu.Gaussians.from_frame`.
    missing : {"error", "drop", "keep"}
        What to do with rows where a number or the label is missing; "keep" leaves NaN in the means, for
        estimators that take missing values, such as `GSUClassifier`.
    most_missing : float, default=1
        Columns of which a larger fraction is missing are not used.
    text_labels : bool, default=False
        Take labels as text. By default they are numbers where all are, and a mixture is refused.
    chances : str, optional
        How the names of columns with probabilities of classes begin, such as "p_": of a table without labels
        `p_star` and `p_quasar` then are y, of shape (l, 2), and star and quasar the `classes`.
    target : str or bool, default=False
        The column of numbers that a regression predicts, which is y then instead of labels; True: by its
        name. Its uncertainties are found as those of features, and become `y_std`.
    delimiter : str, optional
        What stands between the cells of a text; "blanks" for any blanks.
    format : str, optional
        The ending to assume, such as "csv".

    Examples
    --------
    >>> import io, svmgsu
    >>> file = io.BytesIO(b"id,flux,flux_err,label\\ns1,1.5,0.5,star\\nq1,3.0,0.25,quasar\\n")
    >>> data, y = svmgsu.io.read_table(file, format="csv")
    >>> data.cov.variances
    array([[0.25  ],
           [0.0625]])
    >>> y
    array(['star', 'quasar'], dtype='<U6')
    """
    reader = TableReader(
        label=label,
        id=id,
        features=features,
        errors=errors,
        exact=exact,
        ignore=ignore,
        error_scale=error_scale,
        asymmetric=asymmetric,
        units=units,
        missing=missing,
        most_missing=most_missing,
        limits=limits,
        text_labels=text_labels,
        chances=chances,
        target=target,
    )
    return reader.read(open_cells(path, _ending(path, format), delimiter))


def _ending(path: Source, format: str | None) -> str:
    return extension(path) if format is None else "." + format.removeprefix(".")


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("tables need pyarrow: pip install 'svmgsu[io]'") from error
    return pyarrow


def open_cells(path: Source, ending: str, delimiter: str | None = None) -> Cells:
    """The table of a file, of which nothing but the names of its columns may be read yet."""
    name = name_of(path)
    if ending not in ENDINGS:
        raise ValueError(f"{name}: the ending {ending!r} is not known; tables end in {', '.join(ENDINGS)}")
    arrow = _pyarrow()
    content = mappable(path)
    size = len(content) if isinstance(content, bytes) else os.stat(content).st_size
    require_memory(COPIES * size, f"{name}: a table of {in_words(size)}")
    if ending in TEXTS:
        return text_cells(content, name, delimiter, DELIMITERS.get(ending))
    with damaged(path, "table"):
        try:
            if ending in ASTROPY or ending in EXCEL:
                return _by_packages(content, name, ending)
            table = _arrow_table(arrow, content, name, ending)
            table.validate(full=True)  # offsets and lengths of a damaged file lead anywhere
            return ArrowCells(table, name)
        except arrow.ArrowException as error:
            raise _core.FormatError(f"{name}: {' '.join(str(error).split())}") from None


def _arrow_table(arrow: Any, content: str | bytes, name: str, ending: str) -> Any:
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
    from pyarrow import json as arrow_json

    if isinstance(content, str):
        with open(content, "rb") as file:
            content = file.read()
    if content.lstrip()[:1] != b"[":  # one object a line
        return arrow_json.read_json(arrow.BufferReader(content))
    import json

    try:
        return arrow.Table.from_pylist(json.loads(content))
    except (ValueError, AttributeError) as error:
        raise _core.FormatError(f"{name}: expected a list of objects, one for each row ({error})") from None


def _by_packages(content: str | bytes, name: str, ending: str) -> Cells:
    """FITS, VOTable and ECSV by astropy, spreadsheets by pandas."""
    from .frame_cells import FrameCells

    file: Any = io.BytesIO(content) if isinstance(content, bytes) else content
    if ending in EXCEL:
        try:
            import pandas
        except ImportError as error:
            raise ImportError("spreadsheets need pandas and openpyxl: pip install pandas openpyxl") from error

        return FrameCells(pandas.read_excel(file), name)
    try:
        from astropy.table import Table
    except ImportError as error:
        raise ImportError(f"{ending} files need astropy: pip install 'svmgsu[astro]'") from error

    table = Table.read(file, format=ASTROPY[ending])
    wide = [column for column in table.colnames if table[column].ndim > 1]
    table.remove_columns(wide)
    return FrameCells(table, name)


def text_cells(content: str | bytes, name: str, delimiter: str | None, usual: str | None) -> CsvCells:
    """A table of text, with the delimiter that its first lines show."""
    head = content[:65536] if isinstance(content, bytes) else _head(content)
    lines = [line for line in head.decode("utf-8-sig", "replace").splitlines() if line.strip()]
    found = delimiter or _delimiter(lines, usual)
    if found != BLANKS:
        return CsvCells(content, name, found)
    if isinstance(content, str):
        with open(content, "rb") as file:
            content = file.read()
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n").writerow
    for k, line in enumerate(content.decode("utf-8-sig", "replace").splitlines()):
        words = line.split()
        write(words[1:] if not k and words[:1] == ["#"] and len(words) > 1 else words)
    return CsvCells(out.getvalue().encode(), name, ",")


def _head(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(65536)


def _delimiter(lines: list[str], usual: str | None) -> str:
    """The delimiter that cuts the first lines into as many cells each; the usual one if it does."""
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
    data: Any,
    path: Source,
    *,
    y: Any = None,
    ids: Any = None,
    feature_names: Any = None,
    format: str | None = None,
) -> None:
    """Writes a table by pyarrow: id, label, and for each feature its mean `x` and its variance `x_var`.

    Parameters
    ----------
    data : Dataset, Gaussians or array
        Covariances must be isotropic or diagonal.
    path : path, "-" or binary file
        Its ending tells the format, as for `read_table`.
    y, ids : arrays of shape (l,), optional
        Labels and ids; by default those of `data`.
    feature_names : list of str, optional
        By default those of `data`, or x1, x2, ...
    format : str, optional
        The ending to assume, such as "csv".

    Examples
    --------
    >>> import io, svmgsu
    >>> file = io.BytesIO()
    >>> data = svmgsu.Gaussians([[1.5], [3.0]], std=[[0.5], [0.25]])
    >>> svmgsu.io.write_table(data, file, y=[1, 0], format="csv")
    >>> print(file.getvalue().decode(), end="")
    "label","x1","x1_var"
    1,1.5,0.25
    0,3,0.0625
    """
    dataset = as_dataset(data, y, ids)
    gaussians = dataset.data
    n = gaussians.shape[1]
    ending = _ending(path, format)
    _check_room(gaussians, name_of(path), ending)
    names = list(feature_names or gaussians.feature_names_in_ or [f"x{j + 1}" for j in range(n)])
    if len(names) != n:
        raise ValueError(f"feature_names: {len(names)} names for {n} features")
    columns: dict[str, Any] = {}
    if dataset.ids is not None:
        check_utf8(dataset.ids.astype(np.str_))
        columns["id"] = dataset.ids.astype(np.str_).tolist()
    if dataset.y is not None:
        columns["label"] = dataset.y if dataset.y.dtype.kind in "biuf" else dataset.y.tolist()
    means = dense(gaussians.mean)
    variances = None
    each = None if gaussians.cov is None else gaussians.cov.each_variance(len(gaussians))
    if each is not None:
        columns["_var"] = each
    elif gaussians.cov is not None:
        variances = dense(variances_of(gaussians))
    for j, feature in enumerate(names):
        columns[feature] = means[:, j]
        if variances is not None:
            columns[feature + "_var"] = variances[:, j]
    expected = n * (1 if variances is None else 2) + sum(c in columns for c in ("id", "label", "_var"))
    if len(columns) != expected:
        raise ValueError("feature_names: two columns would have the same name; pass other names")
    save_table(make_table(columns), path, ending)


def _check_room(gaussians: Gaussians, name: str, ending: str) -> None:
    """Before columns are named and filled, of which a single large index can make too many."""
    count, n = gaussians.shape
    width = n if gaussians.cov is None or gaussians.cov.each_variance(count) is not None else 2 * n
    own = PARQUET_BYTES if ending == ".parquet" else COLUMN_BYTES
    require_memory(
        width * (own + 8.0 * COPIES * count), f"{name}: a table of {count} rows and {width} columns"
    )


def make_table(columns: dict[str, Any]) -> Any:
    """An Arrow table of named columns."""
    return _pyarrow().table(columns)


def save_table(table: Any, path: Source, ending: str) -> None:
    """Writes an Arrow table in the format of the ending."""
    if ending not in WRITTEN:
        raise ValueError(
            f"{name_of(path)}: expected a name that ends in {', '.join(WRITTEN)}, got {ending!r}"
        )
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
