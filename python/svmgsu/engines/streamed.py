"""Training sets in flat files, which a solver reads window by window: the same bits as in memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .. import _core
from ..support.validation import Array, FloatArray

_WIDTHS = {"float32": 4, "float64": 8}


@dataclass(frozen=True)
class FlatFile:
    """`rows` × `columns` numbers of this machine's byte order, row after row, from byte `offset` on.

    Parameters
    ----------
    path : str
    dtype : {"float32", "float64"}
    rows, columns : int
    offset : int, default=0
        Of a .npy file, the length of its header.
    """

    path: str
    dtype: str
    rows: int
    columns: int
    offset: int = 0

    def __post_init__(self) -> None:
        if self.dtype not in _WIDTHS:
            raise ValueError(f"dtype: expected float32 or float64, got {self.dtype!r}")

    @classmethod
    def from_npy(cls, path: str | os.PathLike[str]) -> FlatFile:
        """The numbers of a .npy file; further axes than the first make up the columns."""
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        name = os.fspath(path)
        if not isinstance(array, np.memmap) or array.ndim == 0 or not array.flags.c_contiguous:
            raise ValueError(f"{name}: expected an array in C order with at least one axis")
        if array.dtype not in (np.float32, np.float64):
            raise ValueError(f"{name}: expected float32 or float64 in native byte order, got {array.dtype}")
        columns = int(np.prod(array.shape[1:]))
        return cls(name, array.dtype.name, array.shape[0], columns, int(array.offset))

    @property
    def bytes(self) -> int:
        """The size of the numbers in the file."""
        return self.rows * self.columns * _WIDTHS[self.dtype]

    def _core(self) -> tuple[str, int, bool, int, int]:
        return os.fspath(self.path), self.offset, self.dtype == "float32", self.rows, self.columns


class StreamedSet:
    """Examples in files with targets in memory, for `_core.solve` in place of a training set in memory.

    Parameters
    ----------
    means : FlatFile
        Of shape (l, n).
    terms : sequence of tuples
        The covariances are the sum of (kind, file, scale): "isotropic" (a number per row), "diagonal" (n
        variances), "low_rank" (rank x n factors) or "full" (packed upper triangles, n (n + 1) / 2 numbers);
        or of ("shared", array, scale, diagonal, group) with covariances in memory, one per row of the array,
        and the group of each example as int32, or None for one covariance of all.
    targets : array of shape (l,)
        Labels -1 and 1, or values.
    weights : array of shape (l,), optional
        As training shall count the examples; by default all 1.
    task : {"classification", "regression"}
    memory : int, default=0
        Bytes that windows, gathered rows and what is kept of each example may take. Too few is an error that
        names the least that would do. 0 takes windows of 32 MB.
    window : int, default=0
        Rows of a window; 0: as the memory allows. The result is the same for any.
    check : bool, default=True
        Look for NaN, infinity and negative variances in the first pass.
    threads : int, default=0
        That training will have, for the estimate of memory; 0 for all.
    problems : int, default=1
        That are solved at the same time, each in a thread of its own, and read the data together: this one
        and those that `beside` makes. Each must `leave` in the end.

    Notes
    -----
    Of each example a label takes a byte, and a value or a weight other than 1 takes eight. What is known of a
    point takes 16 bytes per example, and that of the point before as much again where there is room (`lean`
    is False); an estimate of the Hessian takes 8 more while it is made.
    """

    def __init__(
        self,
        means: FlatFile,
        terms: Sequence[tuple[Any, ...]],
        targets: FloatArray,
        weights: FloatArray | None = None,
        task: Literal["classification", "regression"] = "classification",
        *,
        memory: int = 0,
        window: int = 0,
        check: bool = True,
        threads: int = 0,
        problems: int = 1,
    ) -> None:
        if task not in ("classification", "regression"):
            raise ValueError(f"task: expected classification or regression, got {task!r}")
        self._core = _core.Streamed(
            means._core(),
            tuple(_core_term(term) for term in terms),
            _doubles(targets),
            None if weights is None else _doubles(weights),
            task == "regression",
            int(memory),
            int(window),
            bool(check),
            int(threads),
            int(problems),
        )

    @property
    def core(self) -> _core.Streamed:
        """What `_core.solve` takes."""
        return self._core

    @property
    def examples(self) -> int:
        """ℓ."""
        return self._core.examples

    @property
    def features(self) -> int:
        """n."""
        return self._core.features

    @property
    def bytes_read(self) -> int:
        """All that was read from the files so far."""
        return self._core.bytes_read

    @property
    def reads(self) -> float:
        """The same in readings of the whole data."""
        return self._core.bytes_read / self._core.bytes

    @property
    def least_memory(self) -> int:
        """The least `memory` that would do."""
        return self._core.least_memory


def _doubles(a: Array) -> FloatArray:
    return np.ascontiguousarray(a, dtype=np.float64)


def _core_term(term: tuple[Any, ...]) -> tuple[Any, ...]:
    kind, what, scale, *rest = term
    if kind != "shared":
        return kind, what._core(), float(scale)
    diagonal, group = rest
    return (
        kind,
        _doubles(what),
        float(scale),
        bool(diagonal),
        None if group is None else np.ascontiguousarray(group, dtype=np.int32),
    )
