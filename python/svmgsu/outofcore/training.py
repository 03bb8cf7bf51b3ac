"""Data sources for training: samples that are not in memory, as a solver sees them; here those in files."""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..data.coercion import as_pool, drawn
from ..data.covariances import Covariance, Psd, Shared
from ..data.gaussians import Gaussians
from ..support.labels import as_labels, check_labels, check_weights
from ..support.losses import Task
from ..support.memory import in_words
from ..support.validation import Array, FloatArray, listed
from .blocks import Blocks
from .shards import Shard, drop, group_rows, mapped, wants_nothing

FAIR_WINDOW = 2**23  # bytes, with which reading is not slowed down
COPIES = 4  # of a part while it is made and answered for
OF_EXAMPLE = 48  # bytes that a solver keeps of each


@dataclass
class Noise:
    """A covariance for all of some examples, or a pool of them and which each example has."""

    pool: Covariance
    features: int
    group: Array | None = None

    @classmethod
    def of(cls, cov: Any, shape: tuple[int, int], seed: int, psd: Psd) -> Noise:
        """What exists only where the model will be used, for `shape` examples and features."""
        pool = as_pool(cov, shape[1], psd)
        if pool.needs_classes:
            raise ValueError("deployment_cov: one covariance per class goes with examples in memory")
        drawing = pool.n_samples is not None
        return cls(pool, shape[1], drawn(pool, shape[0], seed).astype(np.int32) if drawing else None)

    def rows(self, rows: slice) -> Covariance:
        """The covariance of some examples, in memory."""
        return self.pool if self.group is None else self.pool.take(self.group[rows])

    @property
    def packed(self) -> FloatArray:
        """(k, n) variances or (k, n(n+1)/2) packed matrices, for all or for each group."""
        count = 1 if self.group is None else self.pool.n_samples or 1
        if self.pool.is_diagonal:
            return np.ascontiguousarray(self.pool.diagonals(count, self.features))
        return np.ascontiguousarray(self.pool.as_full(count, self.features).packed, dtype=np.float64)


class DataSource(ABC):
    """Examples that lie elsewhere, as training sees them."""

    shape: tuple[int, int]
    feature_names_in_: list[str] | None
    cov: Any = None  # a covariance is there, or None

    @abstractmethod
    def training_set(
        self, targets: FloatArray, weights: FloatArray | None, task: Task, scale: float, noise: Noise | None
    ) -> Any:
        """What the core solves: targets and weights of all examples, covariances times `scale`."""

    @abstractmethod
    def fingerprint(self) -> str:
        """A text that is another one if the data are."""

    def capacity(self, problems: int, noise: Noise | None) -> int:
        """How many of some problems there is memory for."""
        return 1

    @contextlib.contextmanager
    def together(self, problems: int) -> Iterator[Callable[[], None]]:
        """While so many problems are solved, each in a thread that calls what this gives at its end."""
        yield lambda: None

    @abstractmethod
    def margins(self, coef: FloatArray, threads: int) -> tuple[FloatArray, FloatArray]:
        """w·x_i and wᵀΣ_i w of all examples for each row w of `coef`: (l, rows of coef)."""


class Together:
    """Problems that are solved in a thread each and read the data together; see `_core.Streamed`."""

    def __init__(self, members: int) -> None:
        self.members = members
        self._lock = threading.Lock()
        self._first: Any = None
        self._finished = 0
        self._own = threading.local()

    def join(self, make: Callable[[int], Any], targets: Any, weights: Any, regression: bool) -> Any:
        """The training set of one of them, in its own thread; `make(problems)` makes the first."""
        with self._lock:
            if self._first is None:
                core = self._first = make(self.members)
                for _ in range(self._finished):
                    self._leave_one()
            else:
                core = self._first.beside(targets, weights, regression)
        self._own.core = core
        return core

    def finish(self) -> None:
        """This thread's problem is solved, or failed: the others wait for it no longer."""
        with self._lock:
            self._finished += 1
            if self._first is None:
                return
            core = getattr(self._own, "core", None)
            if core is None:
                self._leave_one()
            else:
                core.leave()
                self._own.core = None

    def _leave_one(self) -> None:
        """Take a place among the readers for a problem that never joined, and leave it."""
        self._first.beside(np.ones(self._first.examples), None, False).leave()


class Files(DataSource):
    """Examples in files, read block by block."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.shape, self.feature_names_in_ = blocks.shape, blocks.feature_names_in_
        self.cov = None if blocks.kind == "none" else blocks.kind
        self._together: Together | None = None

    def training_set(
        self, targets: FloatArray, weights: FloatArray | None, task: Task, scale: float, noise: Noise | None
    ) -> Any:
        self.blocks.check()

        if self._together is None:
            return self._core(targets, weights, task, scale, noise, 1)
        return self._together.join(
            lambda members: self._core(targets, weights, task, scale, noise, members),
            targets,
            weights,
            task == "regression",
        )

    def _core(
        self,
        targets: FloatArray,
        weights: FloatArray | None,
        task: Task,
        scale: float,
        noise: Noise | None,
        problems: int,
        memory: int | None = None,
    ) -> Any:
        blocks = self.blocks
        terms: list[tuple[Any, ...]] = [
            (_KINDS.get(key, "diagonal"), blocks.arrays[key].core(), scale)
            for key in blocks.covariance_keys
            if key in blocks.arrays
        ]
        others = [] if noise is None else [noise]
        if "shared" in blocks.fixed:
            others.insert(0, Noise(Shared(blocks.fixed["shared"]), self.shape[1]))
        terms += [("shared", more.packed, scale, more.pool.is_diagonal, more.group) for more in others]
        # Windows as the memory allows, numbers checked in the first pass, all threads.
        window, check, threads = 0, True, 0
        return _core.Streamed(
            blocks.arrays["mean"].core(),
            tuple(terms) if scale else (),
            np.ascontiguousarray(targets, dtype=np.float64),
            weights,
            task == "regression",
            blocks.memory if memory is None else memory,
            window,
            check,
            threads,
            problems,
        )

    def least_memory(self) -> int:
        """The least budget that a classifier can be trained with: its folds leave samples out by weights."""
        ones = np.ones(self.shape[0])
        core = self._core(ones, 2.0 * ones, "classification", 1.0, None, 1, memory=0)
        return int(core.least_memory)

    def capacity(self, problems: int, noise: Noise | None) -> int:
        signs = np.where(np.arange(self.shape[0]) % 2, -1.0, 1.0)
        one, two = (
            self._core(signs, signs + 2.0, "classification", 1.0, noise, count, memory=0).least_memory
            for count in (1, 2)
        )
        each = two - one + 2 * FAIR_WINDOW  # chosen rows beside what the core keeps
        room = self.blocks.memory - (2 * one - two) - 2 * FAIR_WINDOW
        return int(min(max(room // each, 1), problems))

    @contextlib.contextmanager
    def together(self, problems: int) -> Iterator[Callable[[], None]]:
        if problems == 1:
            yield lambda: None
            return
        self._together = Together(problems)
        try:
            yield self._together.finish
        finally:
            self._together = None

    def fingerprint(self) -> str:
        return self.blocks.fingerprint()

    def margins(self, coef: FloatArray, threads: int) -> tuple[FloatArray, FloatArray]:
        count = (self.shape[0], len(coef))
        self.blocks.check()
        mean, variance = np.empty(count), np.zeros(count)
        for rows in self.blocks.spans():
            piece = self.blocks[rows].core()
            mean[rows], variance[rows] = _core.margins(piece, np.ascontiguousarray(coef), threads)
        return mean, variance


_KINDS = {"packed": "full", "factors": "low_rank", "isotropic": "isotropic"}


def labels_of_blocks(blocks: Blocks, y: Any) -> tuple[Array, Array]:
    """(the classes, of each example the place of its class), a byte or two per example.

    y is what a user gave beside the blocks; None: the labels that the files have.
    """
    if y is not None:
        classes, codes = check_labels(y, len(blocks))
        return classes, codes.astype(_smallest(len(classes)))
    found: list[Array] = []
    for rows in blocks.spans():
        labels = blocks.labels(rows)
        found.append(np.unique(as_labels(labels, len(labels))))
        if len(found) > 64:
            found = [np.unique(np.concatenate(found))]
    classes = np.unique(np.concatenate(found))
    if len(classes) == 1:
        raise ValueError(f"y: only one class, {classes[0].item()!r}; training needs examples of two")
    if len(classes) > 2 and classes.dtype.kind == "f" and (classes != np.floor(classes)).any():
        raise ValueError(f"y: {len(classes)} numbers with fractions ({listed(classes)}) are no classes")
    codes = np.empty(len(blocks), dtype=_smallest(len(classes)))
    for rows in blocks.spans():
        codes[rows] = np.searchsorted(classes, blocks.labels(rows))
    return classes, codes


def _smallest(classes: int) -> Any:
    return np.int8 if classes <= 127 else np.int32


def weights_of_blocks(blocks: Blocks, given: Any) -> FloatArray:
    """The weights given beside the blocks, those of the files, or ones that take no memory."""
    own = blocks.numbers("weight") if given is None else given
    if own is None:
        return np.broadcast_to(np.float64(1.0), len(blocks))
    return check_weights(own, len(blocks))


def refuse_beside(X: Any, **others: Any) -> None:
    """Blocks have their covariances; what is given beside them is a mistake."""
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"{name}: blocks have their own covariances; pass {name} to svmgsu.open")


@dataclass
class _Part:
    """Some rows, read and mapped anew for each question."""

    blocks: Blocks
    rows: slice
    targets: FloatArray
    weights: FloatArray | None
    task: Task
    scale: float
    noise: Noise | None

    def made(self) -> Shard:
        data: Gaussians = self.blocks[self.rows]
        if self.noise is not None:
            data = data.with_more_cov(self.noise.rows(self.rows))
        weights = None if self.weights is None else self.weights[self.rows]
        return Shard(data.scale_cov(self.scale), self.targets[self.rows], weights, self.task, threads=0)


def one_after_another(
    task: Callable[..., bytes], parts: Iterable[Any], questions: Iterable[bytes]
) -> Iterator[bytes]:
    """The map of parts that are made, by their `made()`, for each question, and let go of."""
    for part, question in zip(parts, questions, strict=True):
        if wants_nothing(question):
            yield b""
            continue
        shard = part.made()
        yield task(shard, question)
        drop(shard)


class MappedFiles(Files):
    """The same as of blocks that are made as they are read; a pass reads the files and makes them once."""

    def training_set(
        self, targets: FloatArray, weights: FloatArray | None, task: Task, scale: float, noise: Noise | None
    ) -> Any:
        self.blocks.check()
        count = self.shape[0]
        like = _Part(self.blocks, slice(0, 1), targets, weights, task, scale, noise).made().data
        unit = group_rows(like, count)
        row = COPIES * self.blocks.row_bytes
        least = unit * row + OF_EXAMPLE * count
        if self.blocks.memory < least:
            raise ValueError(
                f"memory: {in_words(self.blocks.memory)} ({self.blocks.memory} bytes) are too few for "
                f"{count} examples of {self.shape[1]} features made as they are read; at least {least} bytes "
                f"({in_words(least)}) are needed"
            )
        step = unit * max(1, min((self.blocks.memory - OF_EXAMPLE * count) // (unit * row), count // unit))
        parts = [
            _Part(self.blocks, slice(first, min(first + step, count)), targets, weights, task, scale, noise)
            for first in range(0, count, step)
        ]
        return mapped(one_after_another, parts)

    def capacity(self, problems: int, noise: Noise | None) -> int:
        return 1


def source_of(blocks: Blocks) -> DataSource:
    """Blocks as training sees them."""
    return Files(blocks) if blocks.in_files else MappedFiles(blocks)
