"""Opening and writing: standard streams, gzip and xz, and files that appear only when they are complete."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from typing import IO, Any, TypeAlias, cast

from .. import _core

Path: TypeAlias = str | os.PathLike[str]
Source: TypeAlias = Path | IO[Any]

GZIP, XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"


def name_of(source: Source, role: str = "file") -> str:
    """What a message calls it; `role` names an open file that has no name."""
    if is_path(source):
        return "<stdin>" if source == "-" else os.fsdecode(cast(Path, source))
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else f"<{role}>"


def is_path(source: object) -> bool:
    return isinstance(source, (str, os.PathLike))


def extension(source: Source) -> str:
    """The ending of a name in lower case, behind which .gz and .xz do not count: ".csv" for "a.CSV.gz"."""
    root, end = os.path.splitext(name_of(source).lower())
    return os.path.splitext(root)[1] if end in (".gz", ".xz") else end


def mappable(source: Source) -> str | bytes:
    """The path of a plain file, which the parser maps; the bytes of anything else, decompressed."""
    if not is_path(source) or source == "-":
        return read_bytes(source)
    path = os.fsdecode(cast(Path, source))
    with open(path, "rb") as file:  # also for Python's errors: no such file, a folder, not permitted
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode) or not path.isprintable():
            return _unpacked(file.read(), path)
        head = file.read(len(XZ))
        if head.startswith(GZIP) or head == XZ:
            return _unpacked(head + file.read(), path)
    return path


def read_bytes(source: Source) -> bytes:
    """All bytes of a path, "-" for standard input, or an open file; gzip and xz are unpacked."""
    if source == "-":
        raw = sys.stdin.buffer.read()
    elif is_path(source):
        with open(cast(Path, source), "rb") as file:
            raw = file.read()
    else:
        content = cast("IO[Any]", source).read()
        raw = content.encode() if isinstance(content, str) else bytes(content)
    return _unpacked(raw, name_of(source))


def _unpacked(raw: bytes, name: str) -> bytes:
    if raw.startswith(GZIP):
        import gzip
        import zlib

        try:
            return gzip.decompress(raw)
        except (EOFError, OSError, zlib.error) as error:
            raise _core.FormatError(f"{name}: the gzip data are damaged ({error})") from None
    if raw.startswith(XZ):
        import lzma

        try:
            return lzma.decompress(raw)
        except (EOFError, lzma.LZMAError) as error:
            raise _core.FormatError(f"{name}: the xz data are damaged ({error})") from None
    return raw


@contextlib.contextmanager
def replacing(*targets: Source) -> Iterator[list[IO[bytes]]]:
    """Opens files to write. They get their names together at the end, or, after an error, not at all.

    A target is a path (.gz and .xz compress), "-" for standard output, or an open binary file.
    """
    with contextlib.ExitStack() as undo:
        files: list[IO[bytes]] = []
        partials: list[tuple[str, str]] = []
        with contextlib.ExitStack() as closing:
            for target in targets:
                if target == "-":
                    files.append(sys.stdout.buffer)
                    closing.callback(sys.stdout.buffer.flush)
                elif not is_path(target):
                    files.append(cast("IO[bytes]", target))
                else:
                    path = os.fsdecode(cast(Path, target))
                    partial = f"{path}.{os.getpid()}.partial"
                    raw = closing.enter_context(open(partial, "wb"))
                    undo.callback(_remove, partial)
                    files.append(_compressed(path, raw, closing))
                    partials.append((partial, path))
            yield files
        for partial, path in partials:
            os.replace(partial, path)


def _compressed(path: str, raw: IO[bytes], closing: contextlib.ExitStack) -> IO[bytes]:
    end = os.path.splitext(path.lower())[1]
    if end == ".gz":
        import gzip

        return cast("IO[bytes]", closing.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0)))
    if end == ".xz":
        import lzma

        return closing.enter_context(lzma.LZMAFile(raw, "wb"))
    return raw


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
