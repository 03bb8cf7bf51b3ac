"""From Dask arrays and data frames to shards: pieces of rows as `Gaussians`, each held by one worker."""

from __future__ import annotations

from typing import Any

import dask
import numpy as np
from dask import delayed

from ..blocks.iterators import IteratorSource
from ..data.covariances import Covariance
from ..data.gaussians import Gaussians
from ..engines.shards import group_rows
from ..support.places import counted_from
from ..support.validation import Array, is_sparse
from .rounds import Rounds, Shard, workers_of


def is_dask(given: Any) -> bool:
    """A Dask array, data frame or series."""
    return bool(dask.is_dask_collection(given))


def is_frame(given: Any) -> bool:
    return hasattr(given, "npartitions") and hasattr(given, "map_partitions")


def pieces_of(given: Any, name: str) -> list[Any]:
    """The row blocks of a collection as delayed objects."""
    if not is_dask(given):
        raise TypeError(f"{name}: expected a Dask array or data frame, got {type(given).__name__}")
    if is_frame(given):
        return list(given.to_delayed())
    if given.ndim > 1:
        given = given.rechunk({axis: -1 for axis in range(1, given.ndim)})
    return [block for block in given.to_delayed().reshape(-1)]


def aligned(given: Any, X: Any, name: str) -> list[Any] | None:
    """The row blocks of a collection that stand beside those of X."""
    if given is None:
        return None
    if not is_dask(given):
        raise TypeError(f"{name}: expected a Dask collection like X, got {type(given).__name__}")
    if not is_frame(given) and not is_frame(X):
        if given.shape[0] != X.shape[0] and not (np.isnan(given.shape[0]) or np.isnan(X.shape[0])):
            raise ValueError(f"{name}: {given.shape[0]} rows for the {X.shape[0]} of X")
        if given.chunks[0] != X.chunks[0] and not np.isnan(given.shape[0]):
            given = given.rechunk({0: X.chunks[0]})
    found = pieces_of(given, name)
    if len(found) != len(pieces_of(X, "X")):
        raise ValueError(f"{name}: {len(found)} blocks of rows, but X has {len(pieces_of(X, 'X'))}")
    return found


def read_piece(X: Any, cov: Any, std: Any, psd: Any) -> Gaussians | None:
    """A block of rows; of a data frame, values and errors by their names. None if it has no row."""
    if not (X.shape[0] if is_sparse(X) else len(X)):
        return None
    if cov is None and std is None and hasattr(X, "columns"):
        options = {"label": False}
        return next(IteratorSource([X], psd, options).pieces(0)).data
    return Gaussians(X, cov, std=std, psd=psd)


def read_column(values: Any) -> Array:
    """Labels, targets or weights of a block."""
    array = np.asarray(values)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def checked_piece(piece: Any, first: int, args: tuple[Any, ...]) -> Gaussians | None:
    """As `read_piece`; numbers of examples in errors are those of the whole."""
    with counted_from(first):
        return read_piece(piece, *args)


def length_of(piece: Any) -> int:
    return int(piece.shape[0]) if hasattr(piece, "shape") else len(piece)


def join(pieces: list[Any], places: list[tuple[int, int, int]], args: list[tuple[Any, ...]]) -> Gaussians:
    """A shard: rows `lo` to `hi` of each piece, which begins at row `first` of the whole."""
    from ..data.concatenation import concatenate

    parts = []
    for piece, (first, lo, hi), own in zip(pieces, places, args, strict=True):
        data = checked_piece(piece, first, own)
        if data is not None:
            parts.append(data if (lo, hi) == (0, len(data)) else data[lo:hi])
    return parts[0] if len(parts) == 1 else concatenate(parts)


class Piece:
    """A block of rows of which is not known yet where it stands."""

    worker = "a worker"

    def __init__(self, future: Any, number: int) -> None:
        self.future, self.rows = future, f"block {number} of the rows"


class Shards:
    """The examples on the cluster, in shards that begin where groups of rows do."""

    def __init__(self, rounds: Rounds, X: Any, cov: Any, std: Any, psd: Any) -> None:
        self.rounds = rounds
        if isinstance(cov, Covariance):
            raise TypeError("cov: expected a Dask collection, got a covariance in memory")
        blocks = pieces_of(X, "X")
        covs = aligned(cov, X, "cov") or [None] * len(blocks)
        stds = aligned(std, X, "std") or [None] * len(blocks)
        counts = self._counts(X, blocks)
        starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
        self.count = int(starts[-1])
        if not self.count:
            raise ValueError("X: there is no example")
        workers = workers_of(rounds.client, rounds.timeout)
        size = -(-self.count // len(workers))
        k = int(np.flatnonzero(counts)[0])
        self.group = group = self._group(blocks[k], covs[k], stds[k], psd)
        size = -(-size // group) * group
        self.shards: list[Shard] = []
        for k, first in enumerate(range(0, self.count, size)):
            last, worker = min(first + size, self.count), workers[k % len(workers)]
            inside = [i for i in range(len(blocks)) if starts[i] < last and starts[i + 1] > first]
            places = [
                (starts[i], max(first - starts[i], 0), min(last, starts[i + 1]) - starts[i]) for i in inside
            ]
            args = [(covs[i], stds[i], psd) for i in inside]
            made = delayed(join, pure=False)([blocks[i] for i in inside], places, args)
            future = rounds.client.compute(made)
            self.shards.append(Shard(future, first, last, worker))
        facts = rounds.gather([shard.future for shard in self._described()], self.shards)
        self._check(facts)
        holders = rounds.client.who_has([shard.future for shard in self.shards])
        for shard in self.shards:
            shard.worker = next(iter(holders.get(shard.future.key, ())), shard.worker)

    def _group(self, block: Any, cov: Any, std: Any, psd: Any) -> int:
        """The rows of which shards have whole multiples, by a piece that has examples."""
        futures = self.rounds.client.compute(
            [delayed(group_of, pure=False)(block, cov, std, psd, self.count)]
        )
        return int(self.rounds.gather(futures, self._unknown(futures))[0])

    def _counts(self, X: Any, blocks: list[Any]) -> list[int]:
        """The rows of each block; those of data frames, and of filtered arrays, are asked for."""
        if not is_frame(X) and not np.isnan(X.shape[0]):
            return [int(k) for k in X.chunks[0]]
        futures = self.rounds.client.compute([delayed(length_of)(block) for block in blocks])
        return [int(k) for k in self.rounds.gather(futures, self._unknown(futures))]

    def _unknown(self, futures: list[Any]) -> list[Any]:
        return [Piece(future, k) for k, future in enumerate(futures)]

    def _described(self) -> list[Shard]:
        futures = [self.rounds.submit(describe, shard) for shard in self.shards]
        return [Shard(f, s.first, s.last, s.worker) for f, s in zip(futures, self.shards, strict=True)]

    def _check(self, facts: list[tuple[Any, ...]]) -> None:
        """All shards have the same features and kind of covariance."""
        self.features, self.names, self.kind, self.dtype = facts[0]
        for shard, found in zip(self.shards, facts, strict=True):
            if found != facts[0]:
                raise ValueError(
                    f"X: {shard.rows} have (features, names, covariance, dtype) {found}, but the first have "
                    f"{facts[0]}"
                )

    def slices(self) -> list[slice]:
        return [slice(shard.first, shard.last) for shard in self.shards]

    def column(self, given: Any, name: str) -> Array | None:
        """Labels, targets or weights of all examples, on the client."""
        if given is None:
            return None
        if not is_dask(given):
            return read_column(given)
        futures = self.rounds.client.compute([delayed(read_column)(b) for b in pieces_of(given, name)])
        found = np.concatenate(self.rounds.gather(futures, self._unknown(futures)))
        if len(found) != self.count:
            raise ValueError(f"{name}: {len(found)} values for {self.count} examples")
        return found


def group_of(X: Any, cov: Any, std: Any, psd: Any, count: int) -> int:
    """`group_rows` by the first example of a piece that is fit for it, if `count` are like it."""
    first, of_cov, of_std = (None if part is None else part[:1] for part in (X, cov, std))
    data = read_piece(first, of_cov, of_std, psd)
    return 1 if data is None else group_rows(data, count)


def describe(data: Gaussians) -> tuple[Any, ...]:
    kind = None if data.cov is None else type(data.cov).__name__
    return data.shape[1], data.feature_names_in_, kind, str(data.mean.dtype)
