"""Data sources for training: samples that are not in memory, as a solver sees them; here those in files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any

import numpy as np

from .. import _core
from ..data.covariances import Shared
from ..data.gaussians import Gaussians
from ..support.labels import as_labels, check_class_count, check_labels
from ..support.losses import Task
from ..support.memory import in_words
from ..support.validation import Array, ArrayLike, FloatArray
from .blocks import Blocks
from .shards import group_rows, unlabelled

COPIES = 4  # of a part while it is made and the solver's request is computed
BYTES_PER_SAMPLE = 48  # that a solver keeps


class DataSource(ABC):
    """Samples that are not in memory, as training sees them."""

    shape: tuple[int, int]
    feature_names_in_: list[str] | None
    cov: Any = None  # the kind of covariance, or None
    checkpoint: Any = None  # takes the best points of the fit

    @abstractmethod
    def whole_set(self, targets: FloatArray, weights: FloatArray | None, task: Task, scale: float) -> Any:
        """Return what the core solves: all samples, with their covariances times `scale`."""

    @abstractmethod
    def all_margins(self, coef: FloatArray, threads: int) -> tuple[FloatArray, FloatArray]:
        """Return w·x_i and wᵀΣ_i w of all samples for each row w of `coef`, as (l, rows of coef)."""

    @abstractmethod
    def take(self, rows: Array) -> Gaussians:
        """Return the samples at some positions, which increase."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a text that changes with the data."""

    def training_set(
        self, targets: FloatArray, weights: FloatArray, task: Task, scale: float, rows: Array | None = None
    ) -> Any:
        """Return what the core solves; `targets` and `weights` are those of the chosen rows.

        Samples that are left out have weight 0. The weights of the others are scaled to mean 1 over all.
        """
        count = self.shape[0]
        if rows is not None:
            some, given = targets, weights
            targets, weights = np.ones(count), np.zeros(count)
            targets[rows], weights[rows] = some, given * (count / len(rows))
        alike = bool(weights[0] == 1.0) and not np.ptp(weights)
        return self.whole_set(
            np.ascontiguousarray(targets), None if alike else np.ascontiguousarray(weights), task, scale
        )

    def margins(
        self, coef: FloatArray, rows: Array | None = None, threads: int = 0, noise: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Return w·x_i and wᵀΣ_i w of the chosen rows for each row w of `coef`."""
        mean, variance = self.all_margins(coef, threads)
        return (mean, variance) if rows is None else (mean[rows], variance[rows])


class Files(DataSource):
    """Samples in files, read block by block."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.shape = blocks.shape
        self.feature_names_in_ = blocks.feature_names_in_
        self.cov = None if blocks.kind == "none" else blocks.kind

    def whole_set(self, targets: FloatArray, weights: FloatArray | None, task: Task, scale: float) -> Any:
        self.blocks.check()
        return self._core(targets, weights, task, scale, self.blocks.memory)

    def _core(
        self, targets: FloatArray, weights: FloatArray | None, task: Task, scale: float, memory: int
    ) -> _core.Streamed:
        blocks = self.blocks
        terms: list[tuple[Any, ...]] = [
            (_KINDS.get(key, "diagonal"), blocks.arrays[key].core(), scale)
            for key in blocks.covariance_keys
            if key in blocks.arrays
        ]
        if "shared" in blocks.fixed:
            shared = Shared(blocks.fixed["shared"])
            packed = (
                shared.diagonals(1, self.shape[1])
                if shared.is_diagonal
                else shared.as_full(1, self.shape[1]).packed
            )
            packed = np.ascontiguousarray(packed, dtype=np.float64)
            terms.append(("shared", packed, scale, shared.is_diagonal, None))
        return _core.Streamed(
            blocks.arrays["mean"].core(),
            tuple(terms) if scale else (),
            np.ascontiguousarray(targets, dtype=np.float64),
            weights,
            regression=task == "regression",
            memory=memory,
            window=0,  # as large as the memory allows
            check=True,  # of the numbers, in the first pass
            threads=0,  # all
        )

    def least_memory(self) -> int:
        """Return the least budget that a classifier can be trained with, whose folds have weights."""
        ones = np.ones(self.shape[0])
        return self._core(ones, 2.0 * ones, "classification", 1.0, memory=0).least_memory

    def take(self, rows: Array) -> Gaussians:
        return self.blocks[rows]

    def fingerprint(self) -> str:
        return self.blocks.fingerprint()

    def all_margins(self, coef: FloatArray, threads: int) -> tuple[FloatArray, FloatArray]:
        count = (self.shape[0], len(coef))
        self.blocks.check()
        mean, variance = np.empty(count), np.zeros(count)
        for rows in self.blocks.spans():
            piece = self.blocks[rows].core()
            mean[rows], variance[rows] = _core.margins(piece, np.ascontiguousarray(coef), threads)
        return mean, variance


_KINDS = {"packed": "full", "factors": "low_rank", "isotropic": "isotropic"}


class MappedFiles(Files):
    """Samples that are made of those in files as they are read; a pass reads and makes them once."""

    def whole_set(self, targets: FloatArray, weights: FloatArray | None, task: Task, scale: float) -> Any:
        def made(rows: slice) -> Gaussians:
            data: Gaussians = self.blocks[rows]
            if data.test_noise is not None:
                data = data.with_more_cov(data.test_noise)
            return data.scale_cov(scale)

        self.blocks.check()
        count = self.shape[0]
        like = made(slice(0, 1))
        unit = group_rows(like, count)
        row = COPIES * self.blocks.row_bytes
        least = unit * row + BYTES_PER_SAMPLE * count
        if self.blocks.memory < least:
            raise ValueError(
                f"memory: {in_words(self.blocks.memory)} ({self.blocks.memory} bytes) are too few for "
                f"{count} samples of {self.shape[1]} features made as they are read; at least {least} bytes "
                f"({in_words(least)}) are needed"
            )
        room = (self.blocks.memory - BYTES_PER_SAMPLE * count) // (unit * row)
        step = unit * max(1, min(room, count // unit))
        parts = [slice(first, min(first + step, count)) for first in range(0, count, step)]
        sizes = [part.stop - part.start for part in parts]
        numbers = [_core.numbers_of(unlabelled(made(part))) for part in parts]

        def take(positions: Array) -> Any:
            cuts = np.searchsorted(positions, [part.start for part in parts] + [count])
            found = [
                made(part)[positions[a:b] - part.start]
                for part, (a, b) in zip(parts, pairwise(cuts), strict=True)
                if a < b
            ]
            return unlabelled(found[0] if len(found) == 1 else Gaussians.concatenate(found))

        mean_numbers, mean_rank = np.average(numbers, axis=0, weights=sizes).tolist()
        return _core.Mapped(
            unlabelled(like),
            sizes,
            np.ascontiguousarray(targets, dtype=np.float64),
            weights,
            task == "regression",
            mean_numbers,
            mean_rank,
            take,
            make=lambda place: unlabelled(made(parts[place])),
        )


def source_of(blocks: Blocks) -> DataSource:
    """Return blocks as training sees them."""
    return Files(blocks) if blocks.in_files else MappedFiles(blocks)


def labels_of_blocks(blocks: Blocks, y: ArrayLike) -> tuple[Array, Array]:
    """Return the classes, and the index of each sample's class in a byte or two.

    `y` is what a user gave beside the blocks; None takes the labels that the files have.
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
    check_class_count(classes)
    codes = np.empty(len(blocks), dtype=_smallest(len(classes)))
    for rows in blocks.spans():
        codes[rows] = np.searchsorted(classes, blocks.labels(rows))
    return classes, codes


def _smallest(classes: int) -> Any:
    return np.int8 if classes <= 127 else np.int32
