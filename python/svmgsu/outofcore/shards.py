"""Samples in several places, which any map function reaches; the results have the bits of memory."""

from __future__ import annotations

import pickle
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .. import _core
from ..data.gaussians import Gaussians
from ..support.losses import Task
from ..support.validation import Array

MapFunction = Callable[..., Iterable[bytes]]

_DESCRIBE = b"describe"
_ROWS = b"rows    "  # padded, so that the int64 numbers behind it are aligned
_MOST_WORKERS = 16  # shards whose state a process caches


class Shard:
    """Consecutive samples in one place. It can be pickled.

    Parameters
    ----------
    data : Gaussians
        The samples.
    targets : array
        Labels -1 and 1, or the targets of a regression.
    weights : array, optional
        Weights of the samples in training; by default all 1.
    task : {"classification", "regression"}
        What the targets are.
    threads : int, default=1
        Number of threads that respond to a request; 0 is all.
    """

    def __init__(
        self,
        data: Gaussians,
        targets: Array,
        weights: Array | None = None,
        task: Task = "classification",
        threads: int = 1,
    ) -> None:
        self.data = data
        self.targets = np.ascontiguousarray(targets, dtype=np.float64)
        self.weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        self.task = task
        self.threads = threads
        self.key = uuid.uuid4().hex

    def core(self) -> Any:
        """Return the samples as the core takes them."""
        weights = np.ones(len(self.targets)) if self.weights is None else self.weights
        if self.task == "regression":
            return self.data.valued(self.targets, weights)
        return self.data.labelled(self.targets, weights, None)


@dataclass
class _Description:
    """What `mapped` must know of a shard."""

    first_sample: Gaussians
    size: int
    task: Task
    numbers: tuple[float, float]  # stored numbers and rows of the covariance's factor, per sample on average


# The state of the shards that this process has responded for. What is lost is computed again.
_workers: OrderedDict[str, tuple[threading.Lock, _core.ShardWorker]] = OrderedDict()
_lock = threading.Lock()


def answer(shard: Shard, request: bytes) -> bytes:
    """Respond to a request: the task of the map, which any process that has the shard can do."""
    if request == _DESCRIBE:
        numbers = _core.numbers_of(shard.core())
        return pickle.dumps(_Description(shard.data[:1], len(shard.data), shard.task, numbers))
    if request.startswith(_ROWS):
        rows = np.frombuffer(request, dtype=np.int64, offset=len(_ROWS))
        return pickle.dumps(shard.data[rows]) if len(rows) else b""
    with _lock:
        if shard.key not in _workers:
            made = _core.ShardWorker(shard.core(), shard.threads)
            _workers[shard.key] = (threading.Lock(), made)
        _workers.move_to_end(shard.key)
        while len(_workers) > _MOST_WORKERS:
            _workers.popitem(last=False)
        lock, worker = _workers[shard.key]
    with lock:
        return worker.respond(request)


def unlabelled(data: Gaussians) -> Any:
    """Return samples as the core takes them, where it has their targets already."""
    ones = np.ones(len(data))
    return data.labelled(ones, ones, None)


class _Places:
    """Where the shards are, for the core to call. It has no reference to the core, so that both are freed."""

    def __init__(self, map_function: MapFunction, shards: Sequence[Any]) -> None:
        self.map_function = map_function
        self.shards = list(shards)
        self.starts: Array = np.zeros(1, dtype=np.int64)

    def ask(self, requests: list[bytes]) -> list[bytes]:
        """Send one request to all shards, or each shard its own."""
        if len(requests) == 1:
            requests = requests * len(self.shards)
        return list(self.map_function(answer, self.shards, requests))

    def take(self, positions: Array) -> Any:
        """Fetch some samples, by their increasing positions in the whole."""
        cuts = np.searchsorted(positions, self.starts)
        requests = [
            _ROWS + (positions[a:b] - start).astype(np.int64).tobytes()
            for (a, b), start in zip(pairwise(cuts), self.starts[:-1], strict=True)
        ]
        parts = [pickle.loads(text) for text in self.ask(requests) if text]
        return unlabelled(parts[0] if len(parts) == 1 else Gaussians.concatenate(parts))


def mapped(
    map_function: MapFunction,
    shards: Sequence[Any],
    targets: Array,
    weights: Array | None = None,
) -> _core.Mapped:
    """Make a training set of shards that any map function reaches.

    Parameters
    ----------
    map_function : callable
        `map_function(task, shards, requests)` returns `task(shard, request)` of each shard, in their order,
        as bytes: `map` itself, `executor.map` of concurrent.futures, or a function that sends each task to
        where its shard is. It may try a task again, anywhere.
    shards : sequence
        `Shard`s, or whatever `map_function` turns into them: a future, a reference. They follow one another
        in the order of the data, and each begins at a multiple of `group_rows`.
    targets, weights : array of shape (l,)
        Those of all samples, which the shards have, too; no weights are all 1.

    Returns
    -------
    _core.Mapped
        A training set for `_core.solve`. The results have the bits of the same data in memory.

    Notes
    -----
    A request is a few numbers per feature, and a response has as many for each group of blocks (at most 256
    in all). Shards cache w·x and wᵀΣw of their samples: a process that has responded before responds to
    requests along a line without a pass over its samples.
    """
    if not shards:
        raise ValueError("shards is empty")
    places = _Places(map_function, shards)
    told: list[_Description] = [pickle.loads(text) for text in places.ask([_DESCRIBE])]
    if len({shard.task for shard in told}) > 1:
        raise ValueError("shards: some are for classification and some for regression")
    sizes = [shard.size for shard in told]
    places.starts = np.concatenate([[0], np.cumsum(sizes)])
    if len(targets) != sum(sizes):
        raise ValueError(f"targets: {len(targets)} for {sum(sizes)} samples in the shards")
    numbers, rank = np.average([shard.numbers for shard in told], axis=0, weights=sizes).tolist()
    return _core.Mapped(
        unlabelled(told[0].first_sample),
        sizes,
        np.ascontiguousarray(targets, dtype=np.float64),
        None if weights is None else np.ascontiguousarray(weights, dtype=np.float64),
        told[0].task == "regression",
        numbers,
        rank,
        places.take,
        places.ask,
    )


def group_rows(data: Gaussians, samples: int) -> int:
    """Return the number of rows that shards of data like `data`, `samples` in all, begin at multiples of."""
    core = unlabelled(data)
    return _core.group_rows(core, _core.numbers_of(core)[0], samples)


def split(
    data: Gaussians,
    targets: Array,
    count: int,
    weights: Array | None = None,
    task: Task = "classification",
    threads: int = 1,
) -> list[Shard]:
    """Cut data in memory into at most `count` shards of about the same size."""
    unit = group_rows(data, len(data))
    groups = -(-len(data) // unit)
    cuts = sorted({min(len(data), unit * (k * groups // count)) for k in range(count)} | {0, len(data)})
    return [
        Shard(data[a:b], targets[a:b], None if weights is None else weights[a:b], task, threads)
        for a, b in pairwise(cuts)
    ]
