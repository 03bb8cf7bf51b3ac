"""From Dask arrays and data frames to shards: consecutive samples as `Gaussians`, each on one worker."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import dask
import numpy as np
from dask import delayed

from ..data.gaussians import Gaussians
from ..io.frames import read_frame
from ..outofcore.shards import group_rows
from ..support.errors import counted_from
from ..support.types import Lazy
from ..support.validation import Array, ArrayLike
from .rounds import Bundle, Rounds, Shard, collected, workers_of

PARTS = 4  # that the samples of a worker are cut into at least


def is_dask(given: ArrayLike) -> bool:
    """Return whether something is a Dask array, data frame or series."""
    return bool(dask.is_dask_collection(given))


def is_dask_frame(given: ArrayLike) -> bool:
    """Return whether a Dask collection is a data frame or series."""
    return hasattr(given, "npartitions") and hasattr(given, "map_partitions")


def row_blocks(given: Lazy, name: str) -> list[Lazy]:
    """Return the blocks of rows of a collection as delayed objects."""
    if not is_dask(given):
        raise TypeError(f"{name}: expected a Dask array or data frame, got {type(given).__name__}")
    if is_dask_frame(given):
        return list(given.to_delayed())
    if given.ndim > 1:
        given = given.rechunk({axis: -1 for axis in range(1, given.ndim)})
    return list(given.to_delayed().reshape(-1))


def aligned_blocks(given: Lazy, X: Lazy, name: str) -> list[Lazy]:
    """Return the blocks of rows of `cov` or `std` beside those of X; None for each if there is none."""
    blocks = row_blocks(X, "X")
    if given is None:
        return [None] * len(blocks)
    if not is_dask(given):
        raise TypeError(f"{name}: expected a Dask collection like X, got {type(given).__name__}")
    if not is_dask_frame(given) and not is_dask_frame(X):
        if given.shape[0] != X.shape[0] and not (np.isnan(given.shape[0]) or np.isnan(X.shape[0])):
            raise ValueError(f"{name}: {given.shape[0]} rows for the {X.shape[0]} of X")
        if given.chunks[0] != X.chunks[0] and not np.isnan(given.shape[0]):
            given = given.rechunk({0: X.chunks[0]})
    found = row_blocks(given, name)
    if len(found) != len(blocks):
        raise ValueError(f"{name}: {len(found)} blocks of rows, but X has {len(blocks)}")
    return found


def read_block(X: Lazy, cov: Lazy, std: Lazy) -> Gaussians | None:
    """Return the samples of a block, with columns of a data frame paired by their names; None if empty."""
    if not len(X):
        return None
    if cov is None and std is None and hasattr(X, "columns"):
        return read_frame(X, target=False, by_content=False).data
    return Gaussians(X, cov, std=std)


def read_column(values: ArrayLike) -> Array:
    """Return the labels, targets or weights of a block."""
    array = np.asarray(values)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def read_rows(block: tuple[Any, Any, Any], start: int, first: int, last: int) -> Gaussians | None:
    """Task: read rows `first` to `last` of (X, cov, std), which begin at row `start` of the whole."""
    parts = [None if part is None else getattr(part, "iloc", part)[first:last] for part in block]
    with counted_from(start + first):
        return read_block(*parts)


def join(parts: list[Gaussians | None]) -> Gaussians:
    """Task: join the rows of several blocks to a shard."""
    return Gaussians.concatenate([part for part in parts if part is not None])


def group_of(block: tuple[Any, Any, Any], count: int) -> int:
    """Task: return `group_rows` for `count` samples like the first one of a block."""
    data = read_rows(block, 0, 0, 1)
    return 1 if data is None else group_rows(data, count)


def describe(data: Gaussians) -> tuple[Any, ...]:
    """Task: return what all shards must have in common."""
    kind = None if data.cov is None else type(data.cov).__name__
    return data.shape[1], data.feature_names_in_, kind, str(data.mean.dtype)


def spans_of(starts: list[int], group: int, most: int) -> list[tuple[int, int]]:
    """Cut rows into shards: whole groups, at most `most` rows, within one block where they can be.

    The blocks of the data begin at `starts`, the last of which is the number of rows.
    """
    found: list[tuple[int, int]] = []
    home: int | None = None  # the block that all of the last shard is in
    for first in range(0, starts[-1], group):
        last = min(first + group, starts[-1])
        end = bisect_right(starts, first)
        block = end - 1 if starts[end] >= last else None
        if found and block == home and last - found[-1][0] <= most:
            found[-1] = found[-1][0], last
        else:
            found.append((first, last))
        home = block
    return found


class Shards:
    """The samples of Dask collections as shards on the workers.

    Attributes
    ----------
    count, features : int
        Number of samples and of features.
    names : list of str or None
        Names of the features.
    kind : str or None
        Kind of the covariances.
    group : int
        Shards begin at multiples of this number of samples, so that sums have the bits of memory.
    shards : list of Shard
        The shards, in the order of the data.
    """

    def __init__(self, rounds: Rounds, X: Lazy, cov: Lazy = None, std: Lazy = None) -> None:
        self.rounds = rounds
        parts = [row_blocks(X, "X"), aligned_blocks(cov, X, "cov"), aligned_blocks(std, X, "std")]
        self.blocks = list(zip(*parts, strict=True))
        if is_dask_frame(X) or np.isnan(X.shape[0]):
            counts = self._computed([delayed(len)(block) for block, _, _ in self.blocks])
        else:
            counts = list(X.chunks[0])
        self.starts: list[int] = np.concatenate([[0], np.cumsum(counts)]).tolist()
        self.count = int(self.starts[-1])
        if not self.count:
            raise ValueError("X: there are no samples")
        some = self.blocks[int(np.flatnonzero(counts)[0])]
        self.group = int(self._computed([delayed(group_of, pure=False)(some, self.count)])[0])
        self.shards = self._cut()

    def _cut(self) -> list[Shard]:
        """Make the shards, each where its samples are.

        Groups within one block are taken from it without a copy; the few that are not are joined by one of
        the workers that have a part.
        """
        client = self.rounds.client
        workers = workers_of(client, self.rounds.timeout)
        most = self.group * max(1, self.count // (self.group * len(workers) * PARTS))
        spans = spans_of(self.starts, self.group, most)
        futures = client.compute([self._task(first, last) for first, last in spans])
        names = [f"samples {first} to {last - 1}" for first, last in spans]
        facts = self.rounds.gather(client.map(describe, futures, pure=False), names, futures)
        self.features, self.names, self.kind, _ = facts[0]
        for name, found in zip(names, facts, strict=True):
            if found != facts[0]:
                raise ValueError(
                    f"X: {name} have (features, names, covariance, dtype) {found}, but the first have "
                    f"{facts[0]}"
                )
        holders = client.who_has(futures)
        homes = [next(iter(holders.get(future.key, ())), workers[0]) for future in futures]
        bundles = {}
        for home in sorted(set(homes)):
            own = [future for future, at in zip(futures, homes, strict=True) if at == home]
            made = client.submit(collected, *own, workers=[home], allow_other_workers=True, pure=False)
            bundles[home] = Bundle(made, home)
        return [Shard(*span, bundles[home]) for span, home in zip(spans, homes, strict=True)]

    def _task(self, first: int, last: int) -> Lazy:
        """Return the samples `first` to `last` as a delayed object: those of a block are read where it is."""
        parts = []
        for start, end, block in zip(self.starts[:-1], self.starts[1:], self.blocks, strict=True):
            if max(first, start) < min(last, end):
                rows = max(first, start) - start, min(last, end) - start
                parts.append(delayed(read_rows, pure=False)(block, start, *rows))
        return parts[0] if len(parts) == 1 else delayed(join, pure=False)(parts)

    def _computed(self, tasks: list[Lazy]) -> list[Lazy]:
        futures = self.rounds.client.compute(tasks)
        return self.rounds.gather(futures, [f"block {k} of the rows" for k in range(len(futures))])

    def column(self, given: ArrayLike, name: str) -> Array | None:
        """Return the labels, targets or weights of all samples, on the client."""
        if given is None:
            return None
        if not is_dask(given):
            return read_column(given)
        found = np.concatenate(self._computed([delayed(read_column)(b) for b in row_blocks(given, name)]))
        if len(found) != self.count:
            raise ValueError(f"{name}: {len(found)} values for {self.count} samples")
        return found
