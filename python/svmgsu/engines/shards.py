"""Examples in several places: any map function carries the questions, and the bits are those of memory."""

from __future__ import annotations

import pickle
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from .. import _core
from ..data.concatenation import concatenate_alike
from ..data.gaussians import Gaussians
from ..support.validation import Array, FloatArray

MapFunction = Callable[..., Iterable[bytes]]
Task = Literal["classification", "regression"]

_DESCRIBE = b"describe"
_DESCRIBE_ALONE = b"describe without targets"
_ROWS = b"rows"
_AT_A_TIME = 16  # shards that a process remembers


class Shard:
    """Examples of one place, one after another in the order of the data. It can be pickled.

    Parameters
    ----------
    data : Gaussians
    targets : array
        Labels -1 and 1, or values.
    weights : array, optional
        As training shall count the examples; by default all 1.
    task : {"classification", "regression"}
    threads : int, default=1
        That answer for it.
    keeps : bool, default=False
        Whether w·x and wᵀΣw of its examples stay with it; as `mapped` has it.
    """

    def __init__(
        self,
        data: Gaussians,
        targets: Array,
        weights: Array | None = None,
        task: Task = "classification",
        threads: int = 1,
        keeps: bool = False,
    ) -> None:
        self.data = data
        self.targets = np.ascontiguousarray(targets, dtype=np.float64)
        self.weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        self.task = task
        self.threads = threads
        self.keeps = keeps
        self.key = uuid.uuid4().hex

    def core(self) -> _core.TrainingSet:
        """What the core sees."""
        weights = np.ones(len(self.targets)) if self.weights is None else self.weights
        return _core_of(self.data, self.targets, weights, self.task)


def _core_of(data: Gaussians, targets: FloatArray, weights: FloatArray, task: Task) -> _core.TrainingSet:
    made: _core.TrainingSet
    made = data.valued(targets, weights) if task == "regression" else data.labelled(targets, weights, None)
    return made


class _Workers:
    """What a process knows of the shards that it has answered for; lost, it is computed again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[threading.Lock, _core.ShardWorker]] = OrderedDict()

    def answer(self, shard: Shard, question: bytes) -> bytes:
        with self._lock:
            if shard.key not in self._known:
                self._known[shard.key] = (
                    threading.Lock(),
                    _core.ShardWorker(shard.core(), shard.threads, shard.keeps),
                )
            self._known.move_to_end(shard.key)
            while len(self._known) > _AT_A_TIME:
                self._known.popitem(last=False)
            lock, worker = self._known[shard.key]
        with lock:
            return worker.answer(question)

    def drop(self, shard: Shard) -> None:
        with self._lock:
            self._known.pop(shard.key, None)


_workers = _Workers()


def answer(shard: Shard, question: bytes) -> bytes:
    """The task of a map: any process that has the shard answers any question."""
    if question in (_DESCRIBE, _DESCRIBE_ALONE):
        own = (shard.targets, shard.weights) if question == _DESCRIBE else (None, None)
        numbers, size = _core.numbers_of(shard.core()), len(shard.data)
        return pickle.dumps(_Facts(shard.data[:1], size, shard.task, shard.keeps, numbers, *own))
    if question.startswith(_ROWS):
        rows = np.frombuffer(question, dtype=np.int64, offset=len(_ROWS) + 4)
        return pickle.dumps(shard.data[rows]) if len(rows) else b""
    return _workers.answer(shard, question)


def drop(shard: Shard) -> None:
    """Drops what this process knows of one of them."""
    _workers.drop(shard)


def wants_nothing(question: bytes) -> bool:
    """Whether a question is for no row, so that the answer is empty whatever the shard."""
    return question.startswith(_ROWS) and len(question) == len(_ROWS) + 4


def forget() -> None:
    """Drops what this process knows of shards."""
    global _workers
    _workers = _Workers()


class _Places:
    """Where the shards are: what the core asks. It does not know the core, so that both can be let go of."""

    def __init__(self, map_function: MapFunction, shards: Sequence[Any]) -> None:
        self.map, self.shards = map_function, list(shards)
        if not self.shards:
            raise ValueError("shards: there are none")
        self.questions = 0
        self.starts: Array = np.zeros(1, dtype=np.int64)
        self.task: Task = "classification"

    def ask_each(self, questions: list[bytes]) -> list[bytes]:
        self.questions += 1
        return list(self.map(answer, self.shards, questions))

    def ask(self, questions: list[bytes]) -> list[bytes]:
        """One for each, or one for all."""
        return self.ask_each(questions if len(questions) > 1 else questions * len(self.shards))

    def one(self, data: Gaussians) -> _core.TrainingSet:
        ones = np.ones(len(data))
        return _core_of(data, ones, ones, self.task)

    def take(self, positions: Array) -> _core.TrainingSet:
        cuts = np.searchsorted(positions, self.starts)
        questions = [
            _ROWS + b"    " + (positions[a:b] - start).astype(np.int64).tobytes()
            for a, b, start in zip(cuts[:-1], cuts[1:], self.starts[:-1], strict=True)
        ]
        parts = [pickle.loads(text) for text in self.ask_each(questions) if text]
        return self.one(parts[0] if len(parts) == 1 else concatenate_alike(parts))


@dataclass
class _Facts:
    """What a shard says of itself."""

    like: Gaussians  # one of its examples
    size: int
    task: Task
    keeps: bool
    numbers: tuple[float, float]  # of an example, and rows of its covariance's factors, on average
    targets: Array | None
    weights: Array | None


class MappedSet:
    """Examples in several places, for `_core.solve` in place of a training set in memory; see `mapped`."""

    def __init__(
        self,
        map_function: MapFunction,
        shards: Sequence[Any],
        targets: FloatArray | None = None,
        weights: FloatArray | None = None,
    ) -> None:
        self._places = places = _Places(map_function, shards)
        asked = _DESCRIBE if targets is None else _DESCRIBE_ALONE
        told: list[_Facts] = [pickle.loads(text) for text in places.ask([asked])]
        if len({facts.task for facts in told}) > 1:
            tasks = sorted({facts.task for facts in told})
            raise ValueError(f"shards: some are for {' and some for '.join(tasks)}")
        if len({facts.keeps for facts in told}) > 1:
            raise ValueError("shards: some keep what is known of their examples, and some do not")
        sizes = [facts.size for facts in told]
        places.starts, places.task = np.concatenate([[0], np.cumsum(sizes)]), told[0].task
        if targets is None:
            targets = np.concatenate([facts.targets for facts in told])
            if any(facts.weights is not None for facts in told):
                weights = np.concatenate(
                    [np.ones(facts.size) if facts.weights is None else facts.weights for facts in told]
                )
        numbers, rank = (sum(facts.size * facts.numbers[k] for facts in told) / sum(sizes) for k in (0, 1))
        self.core = _core.Mapped(
            places.one(told[0].like),
            sizes,
            np.ascontiguousarray(targets, dtype=np.float64),
            weights,
            places.task == "regression",
            numbers,
            rank,
            places.ask,
            places.take,
            told[0].keeps,
        )

    @property
    def questions(self) -> int:
        """How often all shards were asked."""
        return self._places.questions


def mapped(
    map_function: MapFunction,
    shards: Sequence[Any],
    targets: FloatArray | None = None,
    weights: FloatArray | None = None,
) -> MappedSet:
    """A training set of shards that any map function reaches.

    Parameters
    ----------
    map_function : callable
        `map_function(task, shards, questions)` gives `task(shard, question)` of each shard, in their order,
        as bytes: `map` itself, `executor.map` of concurrent.futures, or a function that sends each task to
        where its shard is. It may try a task again, anywhere.
    shards : sequence
        `Shard`s, or whatever `map_function` turns into them: a future, a reference. They follow one another
        in the order of the data, and each begins at a multiple of `group_rows`.
    targets, weights : array, optional
        Of all examples, as the shards have them, where they are known; by default the shards are asked.

    Returns
    -------
    MappedSet
        Its `core` is for `_core.solve`. The results have the bits of the same data in memory.

    Notes
    -----
    A question is a few numbers for each feature. An answer has as many for each group of blocks (at most 256
    in all), and 16 bytes per example (8 where they are certain), which stay here: steps along a line and
    estimates of the Hessian are then found without another question. Shards with `keeps=True` keep these:
    answers are then of the same size for any number of examples, and such steps take a question each, which
    a process that has answered before answers without a pass over its examples.
    """
    return MappedSet(map_function, shards, targets, weights)


def group_rows(data: Gaussians, examples: int, numbers: float | None = None) -> int:
    """Shards of `examples` examples in all begin at multiples of this; `data` are some of them."""
    ones = np.ones(len(data))
    core = data.labelled(ones, ones, None)
    return _core.group_rows(core, _core.numbers_of(core)[0] if numbers is None else numbers, examples)


def split(
    data: Gaussians,
    targets: Array,
    count: int,
    weights: Array | None = None,
    task: Task = "classification",
    threads: int = 1,
    keeps: bool = False,
) -> list[Shard]:
    """Data in memory as at most `count` shards of about the same size."""
    unit = group_rows(data, len(data))
    groups = -(-len(data) // unit)
    cuts = sorted({min(len(data), unit * (k * groups // count)) for k in range(count)} | {0, len(data)})
    return [
        Shard(data[a:b], targets[a:b], None if weights is None else weights[a:b], task, threads, keeps)
        for a, b in pairwise(cuts)
    ]
