"""Opening: paths, standard input, gzip and xz, and what messages call them."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import sys
import warnings
from collections.abc import Iterator
from typing import IO, Any, TypeAlias, cast

from .. import _core
from ..support.memory import NotEnoughMemory, in_words, require_memory
from ..support.validation import Array

Path: TypeAlias = str | os.PathLike[str]
Source: TypeAlias = Path | IO[Any]

PIECE = 2**24  # bytes that are read at a time
CONTENT = ("X: ", "y: ", "cov: ", "variances: ")  # how errors begin that are about numbers, not arguments
# Endings of tables: those that can be written, and those that can be read.
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
ARROW = (".arrow", ".ipc", ".feather")
JSON = (".json", ".jsonl", ".ndjson")
ASTROPY = {".fits": "fits", ".fit": "fits", ".vot": "votable", ".votable": "votable", ".ecsv": "ascii.ecsv"}
EXCEL = (".xlsx", ".xls", ".ods")
WRITTEN = (*DELIMITERS, ".parquet", *ARROW)
TABLES = (*WRITTEN, *JSON, *ASTROPY, *EXCEL)
TEXT = ("", ".txt", ".dat")  # the authors' text; when read, perhaps a table
GZIP, XZ, ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"


def name_of(source: Source, role: str = "file") -> str:
    """Return the name for messages; `role` stands for an open file that has none."""
    if is_path(source):
        return "<stdin>" if source == "-" else shown(os.fsdecode(cast(Path, source)))
    name = getattr(source, "name", None)
    return shown(name) if isinstance(name, str) else f"<{role}>"


def shown(path: str) -> str:
    """Return a name as text, with escapes for bytes that are not UTF-8."""
    return path.encode("utf-8", "backslashreplace").decode()


def encoded(text: str) -> bytes:
    """Return text with ids of a text file as bytes, which need not be UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def check_utf8(ids: Array) -> None:
    """Refuse ids in another encoding, for formats that hold nothing but UTF-8."""
    for id in ids.tolist():
        if shown(id) != id:
            raise ValueError(
                f"ids: {shown(id)!r} is not UTF-8; this format needs it, text files keep any bytes"
            )


def is_path(source: object) -> bool:
    return isinstance(source, (str, os.PathLike))


def extension(source: Source) -> str:
    """Return the ending of a name in lower case, without .gz, .xz and .zst: ".csv" for "a.CSV.gz"."""
    root, end = os.path.splitext(name_of(source).lower())
    return os.path.splitext(root)[1] if end in (".gz", ".xz", ".zst") else end


def mappable(source: Source) -> str | bytes:
    """Return the path of a plain file, which the parser maps; the bytes of anything else, decompressed."""
    if not is_path(source) or source == "-":
        return read_bytes(source)
    path = os.fsdecode(cast(Path, source))
    with named(path), open(path, "rb") as file:  # also for Python's errors: no such file, a folder
        _refuse_device(file, path)
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode) or not path.isprintable():
            return _unpacked(_all_of(file, path), path)
        head = file.read(len(XZ))
        if head.startswith((GZIP, ZSTD)) or head == XZ:
            file.seek(0)
            return _unpacked(_all_of(file, path), path)
    return path


def read_bytes(source: Source) -> bytes:
    """Read all bytes of a path, "-" for standard input, or an open file; gzip, xz and zst are unpacked."""
    if source == "-":
        raw = _all_of(standard_input(), "<stdin>")
    elif is_path(source):
        path = os.fsdecode(cast(Path, source))
        with named(path), open(path, "rb") as file:
            _refuse_device(file, path)
            raw = _all_of(file, path)
    else:
        raw = _all_of(cast("IO[Any]", source), name_of(source))
    return _unpacked(raw, name_of(source))


def read_head(path: Path) -> bytes:
    """Read the first bytes of a file, unpacked."""
    with open(path, "rb") as file:
        raw = file.read(4096)
        for kind, mark in (("gzip", GZIP), ("xz", XZ), ("zstd", ZSTD)):
            if raw.startswith(mark):
                file.seek(0)
                return bytes(_decompressed(file, kind).read(4096))
    return raw


def standard_input() -> IO[bytes]:
    """Return the bytes of standard input; refuse one that is closed."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, "is closed", "standard input")
    return sys.stdin.buffer


@contextlib.contextmanager
def named(path: str | None) -> Iterator[None]:
    """Give errors of the operating system that have no name the one that the user knows."""
    try:
        yield
    except OSError as error:
        partial = isinstance(error.filename, str) and error.filename.endswith(".partial")
        if path is None or error.errno is None or (error.filename is not None and not partial):
            raise
        raise OSError(error.errno, error.strerror, path) from None


@contextlib.contextmanager
def damaged(path: Source, what: str = "file") -> Iterator[None]:
    """Turn what a library raises for a damaged file into a FormatError; `what` says what it should be.

    Errors of the operating system, of arguments and of what is not installed stay as they are.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # damaged headers of arrays are read as Python, which may warn
            yield
    except (ImportError, _core.FormatError, NotEnoughMemory):
        raise
    except Exception as error:
        if type(error) is ValueError and str(error).startswith(CONTENT):
            raise _core.FormatError(f"{name_of(path)}: {error}") from None
        if type(error) in (ValueError, TypeError) or getattr(error, "filename", None) is not None:
            raise
        raise _core.FormatError(
            f"{name_of(path)}: not a readable {what} ({' '.join(str(error).split())})"
        ) from None


def _refuse_device(file: IO[Any], path: str) -> None:
    """Refuse a device that is no terminal: /dev/zero holds no samples and never ends."""
    mode = os.fstat(file.fileno()).st_mode
    if (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and not file.isatty():
        raise _core.FormatError(
            f"{shown(path)}: is a device; samples and models are read from files and pipes"
        )


def _all_of(file: IO[Any], name: str) -> bytes:
    """Read all of a file, unless that is more than fits into memory."""
    pieces: list[bytes] = []
    size = 0
    while piece := file.read(PIECE):
        pieces.append(piece.encode() if isinstance(piece, str) else bytes(piece))
        size += len(pieces[-1])
        # They are still to be put together and to become numbers, which take as much again and twice.
        require_memory(3 * size, f"{shown(name)}: more than {in_words(size)} were read; to make use of them")
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _unpacked(raw: bytes, name: str) -> bytes:
    """Decompress bytes; return others as they are."""
    if not raw.startswith((GZIP, XZ, ZSTD)):
        return raw
    import lzma
    import zlib

    kind = "gzip" if raw.startswith(GZIP) else "xz" if raw.startswith(XZ) else "zstd"
    try:
        return _all_of(_decompressed(io.BytesIO(raw), kind), name)
    except ImportError as error:
        raise ImportError(f"{shown(name)}: zst needs pyarrow: pip install 'svmgsu[io]'") from error
    except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError) as error:
        if isinstance(error, NotEnoughMemory):
            raise
        raise _core.FormatError(f"{shown(name)}: the {kind} data are damaged ({error})") from None


def _decompressed(raw: IO[bytes], kind: str) -> IO[bytes]:
    if kind == "gzip":
        import gzip

        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
    if kind == "xz":
        import lzma

        return lzma.LZMAFile(raw)
    import pyarrow

    return cast("IO[bytes]", pyarrow.CompressedInputStream(raw, "zstd"))
