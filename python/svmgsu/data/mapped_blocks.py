"""Blocks as a map sees them, with features that are made when they are read, or with examples repeated."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..support.places import counted_from
from ..support.validation import Array
from .blocks import Blocks
from .gaussians import Gaussians

Map = Callable[[Gaussians], Gaussians]


class MappedBlocks(Blocks):
    """What `Blocks.map` returns; see there. Labels, weights and names of examples are those of the blocks."""

    def __init__(self, of: Blocks, function: Map) -> None:
        self.__dict__.update(of.__dict__)
        self.of, self._function = of, function
        self._width: int | None = None  # of the features, once it is known
        one = self[0:1]
        self._width = one.shape[1]
        self.shape = (len(of), one.shape[1])
        self.dtype = np.asarray(one.mean).dtype
        self.feature_names_in_ = one.feature_names_in_
        self._kind = "none" if one.cov is None else type(one.cov).__name__.lower()
        held = {} if one.cov is None else one.cov.arrays(1, one.shape[1], None)
        self._made_bytes = np.asarray(one.mean).nbytes + sum(np.asarray(a).nbytes for a in held.values())

    @property
    def kind(self) -> str:
        return self._kind

    @property
    def row_bytes(self) -> int:
        return self.of.row_bytes + self._made_bytes

    def __getitem__(self, rows: Any) -> Gaussians:
        data = self.of[rows]
        with counted_from(rows.indices(len(self.of))[0]):
            made = self._function(data)
        if not isinstance(made, Gaussians):
            raise TypeError(f"map: it must make Gaussians of Gaussians, but made {type(made).__name__}")
        expected = (len(data), made.shape[1] if self._width is None else self._width)
        if made.shape != expected:
            raise ValueError(f"map: it made {made.shape} examples and features; {expected} are wanted")
        return made

    def with_std(self, std: float | None) -> Blocks:
        return MappedBlocks(self, lambda data: Gaussians(data.mean, std=std))

    def fingerprint(self) -> str:
        digest = hashlib.sha256(self.of.fingerprint().encode())
        made = self[0 : min(len(self), 16)]
        arrays: dict[str, Array] = {"mean": np.asarray(made.mean)}
        if made.cov is not None:
            arrays |= {key: np.asarray(a) for key, a in made.cov.arrays(*made.shape, None).items()}
        for key in sorted(arrays):
            digest.update(key.encode() + np.ascontiguousarray(arrays[key]).tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return f"MappedBlocks({self.shape[1]} features, cov={self.kind}, of {self.of!r})"


class RepeatedBlocks(Blocks):
    """Blocks some of whose examples are there several times: example i is row places[i], in order."""

    def __init__(self, of: Blocks, places: Array) -> None:
        self.__dict__.update(of.__dict__)
        self.of, self.places = of, places
        self.shape = (len(places), of.shape[1])
        self._kind, self._row_bytes = of.kind, of.row_bytes

    @property
    def kind(self) -> str:
        return self._kind

    @property
    def row_bytes(self) -> int:
        return self._row_bytes

    def __getitem__(self, rows: Any) -> Gaussians:
        first, last, _ = rows.indices(len(self))
        places = self.places[first:last]
        return self.of[int(places[0]) : int(places[-1]) + 1][places - places[0]]

    def fingerprint(self) -> str:
        return hashlib.sha256(self.of.fingerprint().encode() + self.places.tobytes()).hexdigest()


def mapped(blocks: Blocks, given: Any) -> MappedBlocks:
    """As `Blocks.map`."""
    function = getattr(given, "transform", given)
    if not callable(function):
        raise TypeError(f"map: expected a fitted transformer or a function of Gaussians, got {given!r}")
    return MappedBlocks(blocks, function)
