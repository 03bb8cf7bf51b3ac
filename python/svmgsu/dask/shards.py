"""From Dask arrays and data frames to shards: pieces of rows as `Gaussians`, each held by one worker."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import dask
import numpy as np
from dask import delayed

from ..data.concatenation import concatenate
from ..data.covariances import Covariance
from ..data.gaussians import Gaussians
from ..outofcore.shards import group_rows
from ..outofcore.sources import IterableSource
from ..support.places import counted_from
from ..support.validation import Array
from .rounds import Bundle, Rounds, Shard, collected, workers_of

PARTS = 4  # that a worker's share of the rows is cut into at least
UNEVEN = 1.2  # times its share of the rows that a worker may have


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
    if not length_of(X):
        return None
    if cov is None and std is None and hasattr(X, "columns"):
        options = {"label": False, "by_content": False}
        return next(IterableSource([X], psd, options).pieces(0)).data
    return Gaussians(X, cov, std=std, psd=psd)


def read_column(values: Any) -> Array:
    """Labels, targets or weights of a block."""
    array = np.asarray(values)
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def length_of(piece: Any) -> int:
    return int(piece.shape[0]) if hasattr(piece, "shape") else len(piece)


def rows_of(part: Any, lo: int, hi: int) -> Any:
    """Rows `lo` to `hi` of a block, without a copy."""
    if part is None or (lo, hi) == (0, length_of(part)):
        return part
    return part.iloc[lo:hi] if hasattr(part, "iloc") else part[lo:hi]


def read_rows(piece: Any, args: tuple[Any, ...], first: int, lo: int, hi: int) -> Gaussians | None:
    """Task: rows `lo` to `hi` of a block that begins at row `first` of the whole, which errors count from."""
    cov, std, psd = args
    with counted_from(first + lo):
        return read_piece(rows_of(piece, lo, hi), rows_of(cov, lo, hi), rows_of(std, lo, hi), psd)


def join(parts: list[Gaussians | None]) -> Gaussians:
    """Task: a shard of the rows of several blocks."""
    return concatenate([part for part in parts if part is not None])  # type: ignore[no-any-return]


class Piece:
    """Rows of which is not known yet who holds them."""

    worker = "a worker"

    def __init__(self, future: Any, rows: str) -> None:
        self.future, self.rows = future, rows


def spans_of(starts: list[int], group: int, most: int) -> list[tuple[int, int]]:
    """Rows, by (first, last), of shards: whole groups, at most `most` rows, of one block where they can be.

    The blocks of the data begin at `starts`, the end of the last with them.
    """
    found: list[tuple[int, int]] = []
    home: int | None = None  # the block that all of the last shard is in
    for first in range(0, starts[-1], group):
        last = min(first + group, starts[-1])
        block: int | None = bisect_right(starts, first) - 1
        if starts[bisect_right(starts, first)] < last:
            block = None
        if found and block == home and last - found[-1][0] <= most:
            found[-1] = found[-1][0], last
        else:
            found.append((first, last))
        home = block
    return found


def balanced(sizes: list[int], homes: list[str], workers: list[str]) -> list[str]:
    """Who shall hold each shard: who has it, unless others would have far less to do."""
    homes, load = list(homes), dict.fromkeys(workers, 0)
    for size, home in zip(sizes, homes, strict=True):
        load[home] += size
    fair = sum(sizes) / len(workers)
    for _ in sizes:
        full, free = max(workers, key=load.__getitem__), min(workers, key=load.__getitem__)
        can = [k for k, home in enumerate(homes) if home == full and sizes[k] < load[full] - load[free]]
        if load[full] <= UNEVEN * fair or not can:
            break
        k = max(can, key=lambda k: (min(sizes[k], load[full] - fair), -sizes[k]))
        homes[k] = free
        load[full] -= sizes[k]
        load[free] += sizes[k]
    return homes


class Shards:
    """The samples of collections, in shards on the workers that begin at multiples of a group of rows."""

    def __init__(self, rounds: Rounds, X: Any, cov: Any, std: Any, psd: Any) -> None:
        self.rounds = rounds
        if isinstance(cov, Covariance):
            raise TypeError("cov: expected a Dask collection, got a covariance in memory")
        self.blocks = pieces_of(X, "X")
        covs = aligned(cov, X, "cov") or [None] * len(self.blocks)
        stds = aligned(std, X, "std") or [None] * len(self.blocks)
        self.args = [(c, s, psd) for c, s in zip(covs, stds, strict=True)]
        self.counts = self._counts(X, self.blocks)
        self.starts: list[int] = np.concatenate([[0], np.cumsum(self.counts)]).tolist()
        self.count = int(self.starts[-1])
        if not self.count:
            raise ValueError("X: there is no example")
        self.group = self._group(int(np.flatnonzero(self.counts)[0]))
        self.shards = self.cut(self.group)

    def _group(self, k: int) -> int:
        """The rows of which shards have whole multiples, by a piece that has examples."""
        task = delayed(group_of, pure=False)(self.blocks[k], *self.args[k], self.count)
        futures = self.rounds.client.compute([task])
        return int(self.rounds.gather(futures, self._unknown(futures))[0])

    def cut(self, group: int) -> list[Shard]:
        """Shards that begin at multiples of `group` rows, each where its examples are.

        Groups of rows that lie in one block are taken from it without a copy; the few that do not are joined
        by one of the workers that have a part. What a worker has much too much of goes to another.
        """
        client = self.rounds.client
        workers = workers_of(client, self.rounds.timeout)
        most = group * max(1, self.count // (group * len(workers) * PARTS))
        spans = spans_of(self.starts, group, most)
        futures = client.compute([self._task(first, last) for first, last in spans])
        pieces = [
            Piece(future, f"examples {a} to {b - 1}") for future, (a, b) in zip(futures, spans, strict=True)
        ]
        told = client.map(describe, futures, pure=False)
        self._check(pieces, self.rounds.gather(told, pieces))
        holders = client.who_has(futures)
        homes = [next(iter(holders.get(future.key, ())), workers[0]) for future in futures]
        homes = balanced([b - a for a, b in spans], homes, sorted({*workers, *homes}))
        bundles = {}
        for home in sorted(set(homes)):
            own = [future for future, at in zip(futures, homes, strict=True) if at == home]
            made = client.submit(collected, *own, workers=[home], allow_other_workers=True, pure=False)
            bundles[home] = Bundle(made, home)
        return [Shard(*span, bundles[home]) for span, home in zip(spans, homes, strict=True)]

    def _task(self, first: int, last: int) -> Any:
        """Rows of the whole, as a delayed object: each block's are cut out where it is."""
        starts, parts = self.starts, []
        for i in range(len(self.blocks)):
            lo, hi = max(first, starts[i]), min(last, starts[i + 1])
            if lo < hi:
                place = starts[i], lo - starts[i], hi - starts[i]
                parts.append(delayed(read_rows, pure=False)(self.blocks[i], self.args[i], *place))
        return parts[0] if len(parts) == 1 else delayed(join, pure=False)(parts)

    def _counts(self, X: Any, blocks: list[Any]) -> list[int]:
        """The rows of each block; those of data frames, and of filtered arrays, are asked for."""
        if not is_frame(X) and not np.isnan(X.shape[0]):
            return [int(k) for k in X.chunks[0]]
        futures = self.rounds.client.compute([delayed(length_of)(block) for block in blocks])
        return [int(k) for k in self.rounds.gather(futures, self._unknown(futures))]

    def _unknown(self, futures: list[Any]) -> list[Any]:
        return [Piece(future, f"block {k} of the rows") for k, future in enumerate(futures)]

    def _check(self, shards: list[Piece], facts: list[tuple[Any, ...]]) -> None:
        """All shards have the same features and kind of covariance."""
        self.features, self.names, self.kind, self.dtype = facts[0]
        for shard, found in zip(shards, facts, strict=True):
            if found != facts[0]:
                raise ValueError(
                    f"X: {shard.rows} have (features, names, covariance, dtype) {found}, but the first have "
                    f"{facts[0]}"
                )

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
