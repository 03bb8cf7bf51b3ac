"""Files of uncertain samples: tables, NumPy archives and the authors' text.

`read` and `write` choose the format by the ending of the name (.gz and .xz do not count):

| ending | format | files |
|---|---|---|
| .csv, .tsv, .parquet, .feather, .fits, .xlsx and others | table | one |
| .npz | NumPy archive | one |
| .txt, .dat, none, and others that hold it | the authors' text | means, labels, covariances |

>>> import io, svmgsu
>>> svmgsu.io.read(io.StringIO("star 1:0.5\\n")).data.mean
array([[0.5]])
"""

from __future__ import annotations

import os
import re
import zlib
from typing import TYPE_CHECKING, Any

from .._core import FormatError
from ..data.covariances import Psd, check_psd
from ..support.package import lazy
from ..support.validation import Matrix
from .dataset import Dataset, Report
from .files import TABLES, TEXT, WRITTEN, Source, damaged, extension, name_of, read_head
from .text import read_text, write_text

if TYPE_CHECKING:
    from .predictions import write_predictions, write_values
    from .tables import read_table

__all__ = [
    "Dataset",
    "FormatError",
    "Report",
    "read",
    "read_table",
    "read_text",
    "write",
    "write_predictions",
    "write_values",
]

# Loaded when first used: reading text is all that most programs need, and they need it fast.
__getattr__ = lazy(
    __name__, {"read_table": "tables", "write_predictions": "predictions", "write_values": "predictions"}
)

FormatError.__doc__ = "Raised for a file that cannot be read; the message says where and what is wrong."

SVMLIGHT = (".svm", ".svmlight", ".libsvm")
WORDS = re.compile(r"\s*[,;|\t]\s*|\s+")
NAME = re.compile(r"#?[\"']?[^\W\d][^:]*$")
NUMBER = re.compile(r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?%?")
FORMATS = ("text", "npz", "npy", "txt", *(ending[1:] for ending in TABLES))


def __dir__() -> list[str]:
    return sorted(__all__)


def format_of(path: Source, format: str | None = None, *, looks: bool = True, written: bool = False) -> str:
    """Return the format of a file, one of `FORMATS`: the one asked for, or that of its ending.

    Text may be the authors', or a table: a file that is there is looked at, unless it is to be `written`.
    """
    if format is not None:
        known = ("text", "npz", *(ending[1:] for ending in WRITTEN)) if written else FORMATS
        if format not in known:
            raise ValueError(f"format: expected one of {', '.join(known)}, got {format!r}")
        return format
    end = extension(path)
    if end in SVMLIGHT:
        raise FormatError(
            f"{name_of(path)}: svmlight files are read by sklearn.datasets.load_svmlight_file and written "
            "by dump_svmlight_file; sparse matrices are taken everywhere, or say format='text'"
        )
    if written:
        if end not in (".npz", *WRITTEN, *TEXT):
            endings = ", ".join((".npz", *WRITTEN, *TEXT[1:]))
            raise ValueError(
                f"{name_of(path)}: the ending {end} is not known; these can be written: {endings}"
            )
        return "text" if end in TEXT else end[1:]
    if end in (".npz", ".npy", *TABLES):
        return end[1:]
    content = _content_of(path) if looks else "text"
    if content == "text":
        return "text"
    if content == "table" and end in TEXT:
        return "txt"
    endings = ", ".join((".npz", ".npy", *TABLES, *TEXT[1:]))
    raise FormatError(f"{name_of(path)}: the ending {end} is not known; these can be read: {endings}")


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
    likely = extension(path) in TEXT or not words or any(":" in word for word in words)
    return "text" if likely else ""


def read(
    path: Source,
    labels: Matrix = None,
    cov: Matrix = None,
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
        "text", "npz", "npy", or an ending of a table such as "csv".
    psd : {"clip", "strict"}
        What to do with full covariances that are not quite positive semidefinite: as for `svmgsu.Full`.
    **options
        For the reader of the format: `read_text`, `read_table`. Keys of .npz archives are
        those of `svmgsu.io.arrays`.

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
        raise ValueError(
            f"{name_of(path)}: one array; svmgsu.Gaussians(np.load(...), cov) makes samples of such, and "
            "svmgsu.open maps .npy files of means, labels and covariances"
        )
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
    labels: Matrix = None,
    cov: Matrix = None,
    *,
    y: Matrix = None,
    ids: Matrix = None,
    format: str | None = None,
    **options: Any,
) -> None:
    """Write samples; the ending of the name tells the format. Files appear complete or not at all.

    Parameters
    ----------
    data : Dataset, Gaussians or array
        The samples. Tables hold isotropic and diagonal covariances, text and .npz all kinds.
    path : path, "-" or binary file
        For the means, or for all; names that end in .gz or .xz are compressed.
    labels, cov : path, "-" or binary file, optional
        Files of their own, for the formats that have such.
    y, ids : arrays of shape (l,), optional
        By default those of `data`. In text files labels are numbers, and ids are words.
    format : str, optional
        As for `read`.
    **options
        Of .npz: `compress`, by default False. Of tables: `feature_names`, by default those of `data`.

    Examples
    --------
    >>> import io, svmgsu
    >>> file = io.BytesIO()
    >>> svmgsu.io.write([[0.5]], file, ids=["a"], format="text")
    >>> file.getvalue()
    b'a 1:0.5\\n'
    """
    kind = format_of(path, format, written=True)
    if kind == "text":
        write_text(data, path, labels, cov, y=y, ids=ids, **options)
        return
    _refuse(kind, labels=labels, cov=cov)
    if kind == "npz":
        from .arrays import write_npz

        write_npz(data, path, y=y, ids=ids, **options)
    else:
        from .table_files import write_table

        write_table(data, path, y=y, ids=ids, format=kind, **options)


def _refuse(kind: str, **others: object) -> None:
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"{name}: the format {kind} has no file of its own for it, got {value!r}")
