"""Files of uncertain samples: the authors' text, svmlight, CSV, Parquet, Arrow and NumPy, to and fro.

`read`, `write` and `convert` choose the format by the ending of the name (.gz and .xz do not count):

| ending | format | files |
|---|---|---|
| .svm, .svmlight, .libsvm | svmlight | means, and variances |
| .csv, .tsv, .tab, .parquet, .feather, .arrow, .ipc | table | one |
| .npz | NumPy archive | one |
| .npy | NumPy arrays, mapped | means, labels, covariances |
| any other | the authors' text | means, labels, covariances |

>>> import io, svmgsu
>>> data, y = svmgsu.io.read(io.StringIO("+1 1:0.5\\n-1 1:2\\n"), format="svmlight")
>>> y
array([ 1, -1])
"""

from __future__ import annotations

import os
import re
import zlib
from typing import TYPE_CHECKING, Any

from .._core import FormatError
from ..data.covariances import Psd, check_psd
from ..support.package import lazy
from .dataset import Dataset, Report
from .files import Source, damaged, extension, name_of, read_head
from .text import read_svmlight, read_text, write_svmlight, write_text

if TYPE_CHECKING:
    from .arrays import read_npy, read_npz, write_npy, write_npz
    from .predictions import write_predictions, write_values
    from .table_files import write_table
    from .tables import read_table

__all__ = [
    "Dataset",
    "FormatError",
    "Report",
    "convert",
    "read",
    "read_npy",
    "read_npz",
    "read_svmlight",
    "read_table",
    "read_text",
    "write",
    "write_npy",
    "write_npz",
    "write_predictions",
    "write_svmlight",
    "write_table",
    "write_text",
    "write_values",
]

# Loaded when first used: reading text is all that most programs need, and they need it fast.
__getattr__ = lazy(
    __name__,
    {
        "read_npy": "arrays",
        "read_npz": "arrays",
        "read_table": "tables",
        "write_npy": "arrays",
        "write_npz": "arrays",
        "write_predictions": "predictions",
        "write_table": "table_files",
        "write_values": "predictions",
    },
)

SVMLIGHT = (".svm", ".svmlight", ".libsvm")
TABLES = (
    *(".csv", ".tsv", ".tab", ".parquet", ".feather", ".arrow", ".ipc", ".json", ".jsonl", ".ndjson"),
    *(".fits", ".fit", ".vot", ".votable", ".ecsv", ".xlsx", ".xls", ".ods"),
)
WORDS = re.compile(r"\s*[,;|\t]\s*|\s+")
NAME = re.compile(r"#?[\"']?[^\W\d][^:]*$")
NUMBER = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?%?")
FORMATS = ("text", "svmlight", "npz", "npy", "txt", *(ending[1:] for ending in TABLES))


def __dir__() -> list[str]:
    return sorted(__all__)


def format_of(path: Source, format: str | None = None, *, looks: bool = True) -> str:
    """The format of a file, one of `FORMATS`: the one asked for, or that of its ending.

    Text may be the authors', or a table: a file that is there is looked at, unless it will be written.
    """
    if format is not None:
        if format not in FORMATS:
            raise ValueError(f"format: expected one of {', '.join(FORMATS)}, got {format!r}")
        return format
    end = extension(path)
    if end in SVMLIGHT:
        return "svmlight"
    if end in (".npz", ".npy", *TABLES):
        return end[1:]
    content = _content_of(path) if looks else "text"
    if content == "text":
        return "text"
    if content == "table" and end in ("", ".txt", ".dat"):
        return "txt"
    known = ", ".join((*SVMLIGHT, ".npz", ".npy", *TABLES, ".txt", ".dat"))
    raise FormatError(f"{name_of(path)}: the ending {end} is not known; these can be read: {known}")


def _content_of(path: Source) -> str:
    """Tell a "table", which begins with names of columns, from the authors' "text" and what is neither."""
    try:
        if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(path):
            return "text"
        lines = read_head(path).decode("utf-8-sig").splitlines()
    except (OSError, EOFError, ValueError, zlib.error, FormatError):
        return "text"
    rows = [WORDS.split(line.strip()) for line in lines[:40] if line.strip() and not line.startswith("##")]
    rows = [row[1:] if row[0] == "#" else row for row in rows]
    named = len(rows) > 1 and len(rows[0]) == len(rows[1]) > 1 and all(map(NAME.match, rows[0]))
    if named and any(map(NUMBER.fullmatch, rows[1])):
        return "table"
    words = [word for row in rows[:10] for word in row[1:]]
    likely = extension(path) in ("", ".txt", ".dat") or not words or any(":" in word for word in words)
    return "text" if likely else ""


def read(
    path: Source,
    labels: Any = None,
    cov: Any = None,
    *,
    format: str | None = None,
    psd: Psd = "clip",
    **options: Any,
) -> Dataset:
    """Read samples; the ending of the name tells the format.

    Parameters
    ----------
    path : path, "-" or file
        The means, or all.
    labels, cov : path, "-" or file, optional
        Files of their own, for the formats that have such.
    format : str, optional
        "text", "svmlight", "npz", "npy", or an ending of a table such as "csv".
    psd : {"clip", "strict"}
        What to do with full covariances that are not quite positive semidefinite: as for `svmgsu.Full`.
    **options
        For the reader of the format: `read_text`, `read_svmlight`, `read_table`.

    Examples
    --------
    >>> import io, svmgsu
    >>> svmgsu.io.read(io.BytesIO(b"a,a_err\\n1,0.5\\n"), format="csv").data
    Gaussians(1 samples, 1 features, cov=Diagonal(n_samples=1, n_features=1))
    """
    kind = format_of(path, format, looks=labels is None and cov is None)
    check_psd(psd)
    if kind == "text":
        return read_text(path, labels, cov, psd=psd, **options)
    if kind == "npy":
        from .arrays import read_npy

        return read_npy(path, labels, cov, psd=psd, **options)  # type: ignore[arg-type]
    if kind == "svmlight":
        _refuse(kind, labels=labels)
        return read_svmlight(path, cov, **options)
    _refuse(kind, labels=labels, cov=cov)
    if kind == "npz":
        from .arrays import read_npz

        return read_npz(path, psd=psd, **options)
    from .tables import read_table

    with damaged(path, "table"):
        return read_table(path, format=kind, **options)


def write(
    data: Any,
    path: Source,
    labels: Any = None,
    cov: Any = None,
    *,
    y: Any = None,
    ids: Any = None,
    format: str | None = None,
    **options: Any,
) -> None:
    """Write samples; the ending of the name tells the format. Files appear complete or not at all.

    Parameters
    ----------
    data : Dataset, Gaussians or array
    path : path, "-" or binary file
        For the means, or for all.
    labels, cov : path, "-" or binary file, optional
        Files of their own, for the formats that have such.
    y, ids : arrays of shape (l,), optional
        By default those of `data`.
    format : str, optional
        As for `read`.
    **options
        For the writer of the format: `write_npz`, `write_table`.

    Examples
    --------
    >>> import io, svmgsu
    >>> file = io.BytesIO()
    >>> svmgsu.io.write([[0.5]], file, ids=["a"], format="text")
    >>> file.getvalue()
    b'a 1:0.5\\n'
    """
    kind = format_of(path, format, looks=False)
    if kind in ("text", "svmlight"):
        if kind == "text":
            write_text(data, path, labels, cov, y=y, ids=ids, **options)
        else:
            _refuse(kind, labels=labels)
            write_svmlight(data, path, cov, y=y, **options)
    elif kind in ("npz", "npy"):
        from .arrays import write_npy, write_npz

        if kind == "npy":
            write_npy(data, path, labels, cov, y=y, **options)  # type: ignore[arg-type]
        else:
            _refuse(kind, labels=labels, cov=cov)
            write_npz(data, path, y=y, ids=ids, **options)
    else:
        from .table_files import write_table

        _refuse(kind, labels=labels, cov=cov)
        write_table(data, path, y=y, ids=ids, format=kind, **options)


def convert(
    source: Any,
    target: Any,
    *,
    from_format: str | None = None,
    to_format: str | None = None,
    **options: Any,
) -> Dataset:
    """Read samples from one format and write them in another.

    Parameters
    ----------
    source, target : path or tuple (means, labels, cov)
        A tuple for the formats that have a file for each; a part may be None or left away, and is then not
        written.
    from_format, to_format : str, optional
        As `format` of `read`.
    **options
        For the reader, such as `kind=` or `missing=`.

    Returns
    -------
    Dataset
        What was read; its `report` says what was dropped, and what was not written.

    Examples
    --------
    >>> import io, svmgsu
    >>> text, table = io.StringIO("a 1:0.5\\n"), io.BytesIO()
    >>> _ = svmgsu.io.convert(text, table, from_format="text", to_format="csv")
    >>> print(table.getvalue().decode(), end="")
    "id","x1"
    "a",0.5
    """
    sources, targets = _files(source, "source"), _files(target, "target")
    format_of(targets[0], to_format, looks=False)  # before anything is read
    from .output import check_apart

    check_apart(targets, sources)
    dataset = read(*sources, format=from_format, **options)
    write(dataset, *targets, format=to_format)
    dataset.report.notes += _left_out(dataset, targets, format_of(targets[0], to_format, looks=False))
    return dataset


def _left_out(dataset: Dataset, targets: tuple[Any, ...], kind: str) -> list[str]:
    """What was read and has no place in the files written."""
    _, labels, cov = (*targets, None, None)[:3]
    apart = kind in ("text", "npy")
    lost = {
        "labels": dataset.y is not None and apart and labels is None,
        "covariances": dataset.data.cov is not None and (apart or kind == "svmlight") and cov is None,
        "ids": dataset.ids is not None and kind in ("svmlight", "npy"),
    }
    return [
        f"{name_of(targets[0])}: {what} were read but not written"
        for what, is_lost in lost.items()
        if is_lost
    ]


def _files(files: Any, what: str) -> tuple[Any, ...]:
    if not isinstance(files, (tuple, list)):
        return (files,)
    if not 1 <= len(files) <= 3 or files[0] is None:
        raise ValueError(f"{what}: expected (means, labels, cov), got {files!r}")
    return tuple(files)


def _refuse(kind: str, **others: Any) -> None:
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"{name}: the format {kind} has no file of its own for it, got {value!r}")
