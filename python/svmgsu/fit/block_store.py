"""Examples in files, as training sees them; their labels and weights."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import _core
from ..data.blocks import Blocks
from ..data.covariances import Shared
from ..data.flat import FlatArray
from ..engines.streamed import FlatFile, StreamedSet
from ..support.losses import Task
from ..support.validation import Array, FloatArray, as_labels, check_labels, check_weights, listed
from .beyond import Noise, Store
from .together import Together

FAIR_WINDOW = 2**23  # bytes, with which reading is not slowed down


class BlockStore(Store):
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
            (_KINDS.get(key, "diagonal"), _flat(blocks.arrays[key]), scale)
            for key in blocks.covariance_keys
            if key in blocks.arrays
        ]
        others = [] if noise is None else [noise]
        if "shared" in blocks.fixed:
            others.insert(0, Noise(Shared(blocks.fixed["shared"]), self.shape[1]))
        terms += [("shared", more.packed, scale, more.pool.is_diagonal, more.group) for more in others]
        means = _flat(blocks.arrays["mean"])
        made = StreamedSet(
            means,
            terms if scale else (),
            targets,
            weights,
            task,
            memory=blocks.memory if memory is None else memory,
            problems=problems,
        )
        return made.core

    def at_a_time(self, problems: int, noise: Noise | None) -> int:
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
            found = _core.margins(self.blocks[rows].core(), np.ascontiguousarray(coef), threads)
            mean[rows], variance[rows] = found[0].T, found[1].T
        return mean, variance


_KINDS = {"packed": "full", "factors": "low_rank", "isotropic": "isotropic"}


def _flat(array: FlatArray) -> FlatFile:
    """The numbers of a file, as the core reads them."""
    shape = array.shape[0], math.prod(array.shape[1:])
    return FlatFile(array.path, array.dtype.name, *shape, array.offset)


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
