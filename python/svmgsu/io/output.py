"""Writing: files appear complete or not at all; devices, pipes and standard output are written into.

A file is written beside its name, as `name.<hex>.partial`, and renamed when it is complete. Symbolic links
are followed, and the mode of a file that was there is kept.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any, cast

from .files import Path, Source, is_path, named, shown

DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/([0-9]+)|/dev/(stdin|stdout|stderr)")
STREAMS = ("stdin", "stdout", "stderr")
LINKS = 40  # links to links that are followed
LONGEST = 200  # bytes of a name that its partial begins with; file systems allow 255 in all


@contextlib.contextmanager
def replacing(*targets: Source) -> Iterator[list[IO[bytes]]]:
    """Open files to write. They get their names together at the end, or, after an error, not at all.

    A target is a path (.gz and .xz compress), "-" for standard output, or an open binary file. What goes to
    standard output, a device or a pipe is collected and written at the end.
    """
    made: list[tuple[str, str]] = []
    streams: list[tuple[str, io.BytesIO]] = []
    paths = [os.fsdecode(cast(Path, target)) for target in targets if is_path(target)]
    try:
        with named(paths[0] if paths else None), contextlib.ExitStack() as closing:
            files: list[IO[bytes]] = []
            for target in targets:
                if not is_path(target):
                    files.append(cast("IO[bytes]", target))
                    continue
                path = os.fsdecode(cast(Path, target))
                if _is_regular(path):
                    partial = _partial_of(path)
                    with named(path):
                        raw: IO[bytes] = open(partial, "xb")  # noqa: SIM115
                    made.append((partial, path))
                    closing.enter_context(raw)
                else:
                    _check_stream(path)
                    raw = io.BytesIO()
                    streams.append((path, raw))
                files.append(_compressed(path, raw, closing))
            yield files
        for path, collected in streams:
            _write_stream(path, collected.getvalue())
        for partial, path in made:
            place = os.path.realpath(path)
            with named(path):
                if os.path.exists(place):
                    os.chmod(partial, stat.S_IMODE(os.stat(place).st_mode))
                os.replace(partial, place)
    finally:
        for partial, _ in made:
            with contextlib.suppress(FileNotFoundError):
                os.remove(partial)


def check_output(path: Path) -> None:
    """Raise, before long work, what writing to `path` would raise at its end."""
    name = os.fsdecode(path)
    if not _is_regular(name):
        _check_stream(name)
        return
    folder = os.path.dirname(os.path.realpath(name))
    if not os.path.isdir(folder):
        given = os.path.dirname(name) or "."
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {shown(given)!r}", name)
    if os.path.exists(name) and not os.access(name, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    partial = _partial_of(name)
    with named(name), open(partial, "xb"):
        pass
    os.remove(partial)


def check_apart(outputs: Iterable[Path | None], inputs: Iterable[Any]) -> None:
    """Refuse an output that is one of the inputs, or another output."""
    seen: list[str] = []
    sources = [_identity(source, 0) for source in inputs if source is not None and is_path(source)]
    for output in outputs:
        if output is None or not is_path(output):
            continue
        path = os.fsdecode(output)
        own = _identity(output, 1)
        if own is not None and own in sources:
            raise ValueError(f"{shown(path)}: is a file to read; write to another name")
        if _is_regular(path):
            if os.path.realpath(path) in seen:
                raise ValueError(f"{shown(path)}: is to be written twice; give each output its own name")
            seen.append(os.path.realpath(path))


def _identity(path: Path, number: int) -> tuple[int, int] | None:
    """Return what identifies a regular file, by whatever name; "-" is the open file `number`."""
    try:
        about = os.fstat(number) if path == "-" else os.stat(path)
    except (OSError, ValueError):
        return None
    return (about.st_dev, about.st_ino) if stat.S_ISREG(about.st_mode) else None


def _partial_of(path: str) -> str:
    folder, name = os.path.split(os.path.realpath(path))
    short = os.fsdecode(os.fsencode(name)[:LONGEST])
    return os.path.join(folder, f"{short}.{os.urandom(6).hex()}.partial")


def _is_standard_output(path: str) -> bool:
    """Tell whether a path is "-", /dev/stdout, a link to it, or the file that standard output goes to."""
    try:
        return path == "-" or os.path.samestat(os.stat(path), os.fstat(1))
    except OSError:
        return False


def _descriptor(path: str) -> int | None:
    """Return the open file that a path such as /dev/stderr or /dev/fd/3 stands for, directly or by links."""
    for _ in range(LINKS):
        found = DESCRIPTOR.fullmatch(os.path.normpath(path))
        if found is not None:
            return int(found[1]) if found[1] else STREAMS.index(found[2])
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except OSError:
            return None
    return None


def _is_regular(path: str) -> bool:
    """Tell whether `path` is, or can become, a file that another may replace."""
    if _is_standard_output(path) or _descriptor(path) is not None:
        return False
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return True  # if it cannot be made, its folder will say why
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder; a file is to be written there", path)
    return stat.S_ISREG(mode)


def _check_stream(path: str) -> None:
    # Notebooks have a standard output of text alone.
    if path == "-" and not hasattr(sys.stdout, "buffer"):
        why = "is closed" if sys.stdout is None else "takes text, not bytes"
        raise OSError(errno.EBADF, why, "standard output")
    number = _descriptor(path)
    if number is not None:
        with named(path):
            os.fstat(number)
    elif path != "-" and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def _write_stream(path: str, content: bytes) -> None:
    """Write into standard output, a device or a pipe."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    if path == "-":
        with named("standard output"):
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()
        return
    number = 1 if _is_standard_output(path) else _descriptor(path)
    with named(path), open(path if number is None else os.dup(number), "wb") as file:
        file.write(content)


def _compressed(path: str, raw: IO[bytes], closing: contextlib.ExitStack) -> IO[bytes]:
    end = os.path.splitext(path.lower())[1]
    if end == ".gz":
        import gzip

        return cast("IO[bytes]", closing.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0)))
    if end == ".xz":
        import lzma

        return closing.enter_context(lzma.LZMAFile(raw, "wb"))
    return raw
