"""Flat files: row-major numbers in a file, as `Blocks` reads them and as the core streams them."""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..support.validation import Array


class ChangedError(ValueError):
    """A file is not what it was when it was opened: it was written to, replaced or truncated."""


@dataclass(frozen=True)
class FlatFile:
    """Numbers of `dtype` and `shape`, row-major, from byte `offset` on in the file `path`.

    `stamp` is the size and the modification time of the file when it was opened.
    """

    path: str
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    stamp: tuple[int, int]

    @classmethod
    def of(cls, path: str, offset: int, dtype: Any, shape: tuple[int, ...]) -> FlatFile:
        """Describe an array in a file, which must be large enough for it."""
        about = os.stat(path)
        found = cls(path, offset, np.dtype(dtype), shape, (about.st_size, about.st_mtime_ns))
        if found.offset + found.nbytes > about.st_size:
            raise ValueError(
                f"{path}: it is cut off: {found.offset + found.nbytes} bytes are wanted for shape "
                f"{shape}, and there are {about.st_size}"
            )
        return found

    @classmethod
    def of_memmap(cls, array: Any) -> FlatFile | None:
        """Find the numbers of a memory-mapped array in its file; None if they are not there row after row."""
        base = array
        while isinstance(base, np.memmap) and isinstance(base.base, np.memmap):
            base = base.base
        if not isinstance(base, np.memmap) or base.filename is None:
            return None
        if not array.flags.c_contiguous or not array.dtype.isnative:
            return None
        start = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return cls.of(os.fsdecode(base.filename), int(base.offset + start), array.dtype, array.shape)

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape[1:])

    @property
    def nbytes(self) -> int:
        return self.row_bytes * self.shape[0]

    def core(self) -> tuple[str, int, bool, int, int]:
        """Describe the file as the core takes it: all axes but the first make up the columns."""
        return self.path, self.offset, self.dtype == np.float32, self.shape[0], math.prod(self.shape[1:])

    def read(self, rows: slice | Array) -> Array:
        """Read consecutive rows, or those at some positions, into a new array."""
        if not isinstance(rows, slice):
            self.check()  # a file that was truncated would be a bus error
            return np.asarray(np.memmap(self.path, self.dtype, "r", self.offset, self.shape)[rows])
        first, last, _ = rows.indices(self.shape[0])
        out = np.empty((max(last - first, 0), *self.shape[1:]), dtype=self.dtype)
        view = out.reshape(-1).view(np.uint8)
        with open(self.path, "rb", buffering=0) as file:
            file.seek(self.offset + first * self.row_bytes)
            done = 0
            while done < len(view):
                got = file.readinto(view[done:].data)
                if not got:
                    raise ChangedError(f"{self.path}: it ends before sample {last - 1}; it was cut off")
                done += got
        return out

    def check(self) -> None:
        """Refuse a file that has changed since it was opened."""
        try:
            about = os.stat(self.path)
        except FileNotFoundError:
            raise ChangedError(f"{self.path}: it was removed since it was opened") from None
        if (about.st_size, about.st_mtime_ns) != self.stamp:
            raise ChangedError(f"{self.path}: it has changed since it was opened; open it anew")


def fingerprint_of_file(path: str) -> list[Any]:
    """Return what changes with a file: its path, size, modification time, and a digest of both its ends."""
    about = os.stat(path)
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        digest.update(file.read(2**16))
        if about.st_size > 2**17:
            file.seek(-(2**16), os.SEEK_END)
            digest.update(file.read(2**16))
    return [os.path.realpath(path), about.st_size, about.st_mtime_ns, digest.hexdigest()]
