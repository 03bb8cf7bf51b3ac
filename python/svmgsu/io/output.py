"""Writing: files appear complete or not at all; devices, pipes and standard output are written into.

A file is written beside its name, as `name.<hex>.partial`, and renamed when it is complete. Symbolic links
are followed, and mode and owner of a file that was there are kept. The writer holds a lock on its `.partial`,
so the next one for the same name can tell, and remove, what a killed process has left.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from typing import IO, Any, cast

from .files import Path, Source, is_path, shown

if sys.platform != "win32":
    import fcntl

DESCRIPTORS = re.compile(r"/dev/fd/(\d+)|/proc/self/fd/(\d+)")
STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
NOT_HERE = (errno.EACCES, errno.EPERM, errno.EROFS)  # a folder that takes no new file
LONGEST = 200  # bytes of a name that its partial begins with; file systems allow 255 in all


@contextlib.contextmanager
def replacing(*targets: Source) -> Iterator[list[IO[bytes]]]:
    """Opens files to write. They get their names together at the end, or, after an error, not at all.

    A target is a path (.gz and .xz compress), "-" for standard output, or an open binary file.
    """
    with contextlib.ExitStack() as undo:
        files: list[IO[bytes]] = []
        partials: list[_Partial] = []
        with contextlib.ExitStack() as closing:
            for target in targets:
                if not is_path(target):
                    files.append(cast("IO[bytes]", target))
                    continue
                path = os.fsdecode(cast(Path, target))
                raw: IO[bytes]
                if _is_regular(path):
                    partial = undo.enter_context(_Partial(path))
                    partials.append(partial)
                    raw = partial.open()
                else:
                    raw = _stream(path)
                files.append(_compressed(path, closing.enter_context(raw), closing))
            yield files
        for partial in partials:
            partial.take_place()


def check_output(path: Path) -> None:
    """Before long work: raises what writing to `path` would raise at its end."""
    name = os.fsdecode(path)
    if not _is_regular(name):
        _check_stream(name)
        return
    folder = os.path.dirname(os.path.realpath(name) if os.path.islink(name) else name) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {shown(folder)!r}", name)
    if os.path.exists(name) and not os.access(name, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    with _Partial(name) as partial:
        partial.open().close()


def same_file(a: Path, b: Path) -> bool:
    """Whether two paths are one regular file, by whatever names; "-" is standard input or output."""
    found = [_identity(path, number) for path, number in ((a, 1), (b, 0))]
    return found[0] is not None and found[0] == found[1]


def check_apart(outputs: Iterable[Path | None], inputs: Iterable[Any]) -> None:
    """Refuses an output that is one of the inputs, or another output."""
    seen: list[Path] = []
    sources = [source for source in inputs if source is not None and is_path(source)]
    for output in outputs:
        if output is None or not is_path(output):
            continue
        name = shown(os.fsdecode(output))
        if any(same_file(output, source) for source in sources):
            raise ValueError(f"{name}: is a file to read; write to another name")
        if any(_real(output) == _real(other) for other in seen if _is_regular(os.fsdecode(other))):
            raise ValueError(f"{name}: is to be written twice; give each output its own name")
        seen.append(output)


def _real(path: Path) -> str:
    return os.path.realpath(os.fsdecode(path))


def _identity(path: Path, number: int) -> tuple[int, int] | None:
    try:
        about = os.fstat(number) if path == "-" else os.stat(path)
    except (OSError, ValueError):
        return None
    return (about.st_dev, about.st_ino) if stat.S_ISREG(about.st_mode) else None


def _descriptor(path: str) -> int | None:
    """The number of the open file that a name such as /dev/stdout stands for, also through symbolic links."""
    for _ in range(40):
        found = DESCRIPTORS.fullmatch(path)
        if path in STREAMS or found:
            return STREAMS[path] if found is None else int(found[1] or found[2])
        try:
            path = os.path.join(os.path.dirname(path), os.readlink(path))
        except OSError:
            return None
    return None


def _is_regular(path: str) -> bool:
    """Whether `path` is, or can become, a file that another may replace."""
    if path == "-" or _descriptor(path) is not None:
        return False
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return True  # if it cannot be made, its folder will say why
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder; a file is to be written there", path)
    return stat.S_ISREG(mode)


def _check_stream(path: str) -> None:
    number = 1 if path == "-" else _descriptor(path)
    if path == "-" and _standard_output() is None:
        raise OSError(
            errno.EBADF, "is closed" if sys.stdout is None else "takes text, not bytes", "standard output"
        )
    try:
        if number is not None:
            os.fstat(number)
        elif stat.S_ISSOCK(os.stat(path).st_mode):
            raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    if number is None and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


class _Writer(io.BufferedIOBase):
    """A file to write. Its errors, such as a full disk, have its name; one that streams tells its place."""

    def __init__(self, inner: IO[bytes], name: str, *, streams: bool = False) -> None:
        self._inner, self._shown, self._streams = inner, name, streams
        self._place = 0
        self.truncates = False  # what is there, before the first write

    def write(self, data: Any) -> int:
        with named(self._shown):
            if self.truncates:
                os.ftruncate(self._inner.fileno(), 0)
                self.truncates = False
            self._place += memoryview(data).nbytes
            return self._inner.write(data)

    def flush(self) -> None:
        if not self._inner.closed:
            with named(self._shown):
                self._inner.flush()

    def close(self) -> None:
        if not self.closed:
            try:
                with named(self._shown):
                    (self._inner.flush if self._inner is _standard_output() else self._inner.close)()
            finally:
                super().close()

    def tell(self) -> int:
        return self._place if self._streams else self._inner.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        if self._streams:
            raise io.UnsupportedOperation(f"{self._shown}: cannot be sought")
        return self._inner.seek(offset, whence)

    def seekable(self) -> bool:
        return not self._streams

    def writable(self) -> bool:
        return True


def _standard_output() -> Any:
    """The bytes of standard output; None where there is none, or only text, as in notebooks."""
    return getattr(sys.stdout, "buffer", None)


def _stream(path: str) -> IO[bytes]:
    """Standard output, a device or a pipe, to be written into."""
    _check_stream(path)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    if path == "-":
        return cast("IO[bytes]", _Writer(_standard_output(), "standard output", streams=True))
    number = _descriptor(path)
    with named(path):
        file = os.open(path, os.O_WRONLY) if number is None else os.dup(number)
        return cast("IO[bytes]", _Writer(os.fdopen(file, "wb"), path, streams=True))


class _Partial:
    """A file in the making beside the one that it will replace."""

    def __init__(self, path: str) -> None:
        self.path, self.target = path, os.path.realpath(path)
        self._made: str | None = None
        self._lock = -1

    def __enter__(self) -> _Partial:
        return self

    def __exit__(self, *error: object) -> None:
        if self._made is not None:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self._made)
        if self._lock >= 0:
            os.close(self._lock)

    def open(self) -> IO[bytes]:
        """A new, locked file, or, where the folder takes none, the one that is there."""
        self._sweep()
        try:
            file = self._make()
        except OSError as error:
            if error.errno not in NOT_HERE or not os.access(self.target, os.W_OK):
                raise OSError(error.errno, error.strerror, self.path) from None
            with named(self.path):
                file = os.open(self.target, os.O_WRONLY)
            out = _Writer(os.fdopen(file, "wb"), self.path)
            out.truncates = True  # not at once: a check alone leaves the file as it is
            return cast("IO[bytes]", out)
        self._lock = os.dup(file)
        return cast("IO[bytes]", _Writer(os.fdopen(file, "wb"), self.path))

    def take_place(self) -> None:
        """Gives the complete file its name, with mode and owner of the one that was there."""
        if self._made is None:
            return
        with named(self.path):
            try:
                about = os.stat(self.target)
            except FileNotFoundError:
                about = None
            if about is not None and not self._becomes_like(about):
                with open(self._made, "rb") as source, open(self.target, "r+b") as file:
                    file.truncate()
                    shutil.copyfileobj(source, file, 2**20)
                return
            os.replace(self._made, self.target)
            self._made = None

    def _becomes_like(self, about: os.stat_result) -> bool:
        """Takes on mode and owner; false where that cannot be, or another name holds the same file."""
        assert self._made is not None
        mine = os.stat(self._made)
        if about.st_nlink > 1:
            return False
        try:
            if hasattr(os, "chown") and (mine.st_uid, mine.st_gid) != (about.st_uid, about.st_gid):
                os.chown(self._made, about.st_uid, about.st_gid)
            if mine.st_mode != about.st_mode:
                os.chmod(self._made, stat.S_IMODE(about.st_mode))
        except PermissionError:
            return False
        return True

    def _make(self) -> int:
        while True:
            path = f"{self._stem()}.{os.urandom(6).hex()}.partial"
            flags = (
                os.O_WRONLY
                | os.O_CREAT
                | os.O_EXCL
                | getattr(os, "O_CLOEXEC", 0)
                | getattr(os, "O_BINARY", 0)
            )
            file = os.open(path, flags, 0o666)
            self._made = path
            if _lock(file) is not False and os.path.exists(path):  # else it was swept away before
                return file
            os.close(file)

    def _stem(self) -> str:
        folder, name = os.path.split(self.target)
        short = os.fsencode(name)[:LONGEST]
        return os.path.join(folder, name if len(short) < LONGEST else os.fsdecode(short))

    def _sweep(self) -> None:
        """Removes what killed writers of this file have left: partials that nobody holds a lock on."""
        if sys.platform == "win32":
            return
        folder, stem = os.path.split(self._stem())
        left = re.compile(re.escape(stem) + r"\.[0-9a-f]+\.partial")
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for path in [entry.path for entry in entries if left.fullmatch(entry.name)]:
                with contextlib.suppress(OSError):
                    file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                    try:
                        if _lock(file):
                            os.remove(path)
                    finally:
                        os.close(file)


def _lock(file: int) -> bool | None:
    """Whether the file could be locked; None where there are no locks."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without them
        return None
    return True


@contextlib.contextmanager
def named(path: str) -> Iterator[None]:
    """Gives errors of the operating system the name that the user knows."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, path) from None


def _compressed(path: str, raw: IO[bytes], closing: contextlib.ExitStack) -> IO[bytes]:
    end = os.path.splitext(path.lower())[1]
    if end == ".gz":
        import gzip

        return cast("IO[bytes]", closing.enter_context(gzip.GzipFile("", "wb", fileobj=raw, mtime=0)))
    if end == ".xz":
        import lzma

        return closing.enter_context(lzma.LZMAFile(raw, "wb"))
    return raw
