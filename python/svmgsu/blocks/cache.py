"""The cache: a folder of flat, row-major arrays that is there completely or not at all.

    blocks.json    what it holds, and the fingerprint of the sources it was made from
    mean.bin, var.bin, packed.bin, ..., y.bin, weight.bin, y_std.bin
    ids.jsonl      names of the examples, if they have some

It is made as `name.<hex>.partial` and renamed. A maker holds a lock on it, so that the next one can tell, and
remove, what a killed process has left.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from ..data.blocks import Blocks
from ..data.flat import FlatArray
from ..io.files import shown
from ..support.memory import in_words

if sys.platform != "win32":
    import fcntl

MANIFEST, LOCK, IDS, VERSION = "blocks.json", "lock", "ids.jsonl", 1
PREFIX = "svmgsu-blocks-"


class Folder:
    """A folder of arrays in the making. `add` appends rows; `finish` gives it its name."""

    def __init__(self, target: str | None) -> None:
        self.target = None if target is None else os.path.abspath(target)
        if self.target is None:
            _sweep(tempfile.gettempdir(), re.compile(re.escape(PREFIX) + r"\w+"))
            self.path = tempfile.mkdtemp(prefix=PREFIX)
        else:
            parent, name = os.path.split(self.target)
            os.makedirs(parent, exist_ok=True)
            _sweep(parent, re.compile(re.escape(name) + r"\.[0-9a-f]+\.partial"))
            self.path = f"{self.target}.{os.urandom(6).hex()}.partial"
            os.mkdir(self.path)
        self.lock = _locked(os.path.join(self.path, LOCK))
        self.files: dict[str, IO[bytes]] = {}
        self.texts: dict[str, IO[bytes]] = {}
        self.layout: dict[str, tuple[str, tuple[int, ...]]] = {}  # dtype, shape of a row
        self.rows: dict[str, int] = {}

    def add(self, key: str, array: Any) -> None:
        """Appends rows to the array `key`."""
        if key not in self.files:
            self.files[key] = open(os.path.join(self.path, f"{key}.bin"), "wb")  # noqa: SIM115
            self.layout[key], self.rows[key] = (array.dtype.str, array.shape[1:]), 0
        with _room(self.path):
            self.files[key].write(np.ascontiguousarray(array).tobytes())
        self.rows[key] += len(array)

    def add_ids(self, ids: Any) -> None:
        """Appends names of examples, one JSON text per line."""
        if IDS not in self.texts:
            self.texts[IDS] = open(os.path.join(self.path, IDS), "wb")  # noqa: SIM115
        with _room(self.path):
            self.texts[IDS].write("".join(json.dumps(str(name)) + "\n" for name in ids).encode("ascii"))

    def close(self) -> None:
        with _room(self.path):
            for file in (*self.files.values(), *self.texts.values()):
                file.close()

    def abandon(self) -> None:
        """Removes what was made."""
        for file in (*self.files.values(), *self.texts.values()):
            with contextlib.suppress(OSError):
                file.close()
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1
        shutil.rmtree(self.path, ignore_errors=True)

    def finish(self, about: dict[str, Any]) -> str:
        """Writes the manifest; the folder gets its name, in place of an older one."""
        self.close()
        arrays = {key: [*self.layout[key], self.rows[key]] for key in self.files}
        with _room(self.path), open(os.path.join(self.path, MANIFEST), "w", encoding="utf-8") as file:
            json.dump({"version": VERSION, **about, "arrays": arrays}, file)
        if self.target is not None:
            if os.path.isdir(self.target):
                old = f"{self.target}.{os.urandom(6).hex()}.partial"
                os.rename(self.target, old)
                shutil.rmtree(old, ignore_errors=True)
            os.rename(self.path, self.target)
            self.path = self.target
            with contextlib.suppress(OSError):
                os.remove(os.path.join(self.path, LOCK))
            if self.lock >= 0:
                os.close(self.lock)
                self.lock = -1
        return self.path


class Temporary:
    """A folder that is removed with this object, or when Python ends."""

    def __init__(self, folder: Folder) -> None:
        self.remove = weakref.finalize(self, Folder.abandon, folder)


def load(path: str, **more: Any) -> Blocks:
    """The examples in a cache folder."""
    about = manifest(path)
    if about is None:
        raise ValueError(f"{shown(path)}: is no cache of svmgsu")
    arrays = {
        key: FlatArray.of(os.path.join(path, f"{key}.bin"), 0, dtype, (rows, *shape))
        for key, (dtype, shape, rows) in about["arrays"].items()
    }
    fixed = {key: np.array(value) for key, value in about["fixed"].items()}
    kept = {name: about[name] for name in ("texts", "y_kind", "names", "source", "notes")}
    ids = os.path.join(path, IDS)
    return Blocks(arrays, fixed=fixed, ids=ids if os.path.exists(ids) else None, **kept, **more)


def manifest(path: str) -> dict[str, Any] | None:
    """What a folder says of itself; None if it is no cache, or a damaged one."""
    try:
        with open(os.path.join(path, MANIFEST), encoding="utf-8") as file:
            about = json.load(file)
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) and about.get("version") == VERSION else None


def check_target(path: str) -> None:
    """Refuses a place that holds something else than a cache."""
    if os.path.lexists(path) and not os.path.isdir(path):
        raise ValueError(f"cache: {shown(path)} is a file; a folder is wanted, which will be made")
    if os.path.isdir(path) and os.listdir(path) and not os.path.exists(os.path.join(path, MANIFEST)):
        raise ValueError(f"cache: the folder {shown(path)} holds other things; name one that is new or empty")


def mark_of_file(path: str) -> list[Any]:
    """What changes if a file does: its place, size, time of change, and both its ends."""
    about = os.stat(path)
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        digest.update(file.read(2**16))
        if about.st_size > 2**17:
            file.seek(-(2**16), os.SEEK_END)
            digest.update(file.read(2**16))
    return [os.path.realpath(path), about.st_size, about.st_mtime_ns, digest.hexdigest()]


def require_disk(size: int, target: str | None) -> None:
    """Before anything is decoded: is there room on the disk for it?"""
    place = tempfile.gettempdir() if target is None else os.path.dirname(os.path.abspath(target))
    while not os.path.isdir(place):
        place = os.path.dirname(place)
    free = shutil.disk_usage(place).free
    if size > free:
        raise OSError(
            28,
            f"there is not enough room: the cache takes {in_words(size)}, and {in_words(free)} are free; "
            "name a folder on a larger disk in cache=",
            place,
        )


@contextlib.contextmanager
def _room(path: str) -> Iterator[None]:
    """Says of a full disk what it was full of."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        advice = "; name a folder on a larger disk in cache=" if error.errno in (28, 122) else ""
        raise OSError(
            error.errno, f"the cache could not be written: {error.strerror}{advice}", path
        ) from None


def _locked(path: str) -> int:
    """A lock that lasts as long as the process; -1 where there are none."""
    if sys.platform == "win32":
        return -1
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with contextlib.suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def _sweep(parent: str, left: re.Pattern[str]) -> None:
    """Removes folders that killed processes have left: those that nobody holds a lock on."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for path in [entry.path for entry in entries if left.fullmatch(entry.name)]:
            with contextlib.suppress(OSError):
                file = os.open(os.path.join(path, LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(path, ignore_errors=True)
                finally:
                    os.close(file)
