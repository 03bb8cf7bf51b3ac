"""Arrays that lie row after row in a file, and are read some rows at a time."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..support.validation import Array


class ChangedError(ValueError):
    """A file is not what it was when it was opened: it was written to, replaced or cut off."""


@dataclass(frozen=True)
class FlatArray:
    """`shape` numbers of `dtype`, row-major, from `offset` on in the file `path`.

    `stamp` is size and time of change of the file when it was opened; reading what has changed is refused.
    """

    path: str
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    stamp: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, path: str, offset: int, dtype: Any, shape: tuple[int, ...]) -> FlatArray:
        """The array in a file that is there now, and large enough."""
        about = os.stat(path)
        found = cls(path, offset, np.dtype(dtype), shape, (about.st_size, about.st_mtime_ns))
        if found.offset + found.nbytes > about.st_size:
            raise ValueError(
                f"{path}: it is cut off: {found.offset + found.nbytes} bytes are wanted for shape "
                f"{shape}, and there are {about.st_size}"
            )
        return found

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape[1:])

    @property
    def nbytes(self) -> int:
        return self.row_bytes * self.shape[0]

    def read(self, rows: slice) -> Array:
        """Some rows that stand together, as an array of their own."""
        first, last, _ = rows.indices(self.shape[0])
        shape = (max(last - first, 0), *self.shape[1:])
        out = np.empty(shape, dtype=self.dtype)
        with open(self.path, "rb", buffering=0) as file:
            file.seek(self.offset + first * self.row_bytes)
            view, done = out.reshape(-1).view(np.uint8), 0
            while done < len(view):
                got = file.readinto(view[done:].data)
                if not got:
                    raise ChangedError(f"{self.path}: it ends before example {last - 1}; it was cut off")
                done += got
        return out

    def check(self) -> None:
        """Refuses a file that is not what it was."""
        try:
            about = os.stat(self.path)
        except FileNotFoundError:
            raise ChangedError(f"{self.path}: it was removed since it was opened") from None
        if (about.st_size, about.st_mtime_ns) != self.stamp:
            raise ChangedError(f"{self.path}: it has changed since it was opened; open it anew")


def flat_of(array: Any) -> FlatArray | None:
    """Where the numbers of a memory-mapped array lie; None if it is none, or not row after row."""
    base = array
    while isinstance(base, np.memmap) and isinstance(base.base, np.memmap):
        base = base.base
    if not isinstance(array, np.memmap) or not isinstance(base, np.memmap) or base.filename is None:
        return None
    if not array.flags.c_contiguous or not array.dtype.isnative:
        return None
    start = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return FlatArray.of(os.fsdecode(base.filename), int(base.offset + start), array.dtype, array.shape)
