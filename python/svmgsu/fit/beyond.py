"""Training on examples that are not in memory: the same problems, with sums from files or elsewhere."""

from __future__ import annotations

import hashlib
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..data.blocks import Blocks
from ..data.coercion import as_pool, drawn
from ..data.covariances import Covariance, Shared
from ..data.doubt import Copies, has_doubt
from ..data.flat import FlatArray
from ..engines.checkpoint import Checkpoint
from ..engines.streamed import FlatFile, StreamedSet
from ..support.losses import Task
from ..support.validation import Array, FloatArray, as_labels, check_labels, check_weights, listed
from .examples import Examples
from .settings import Settings


@dataclass
class Noise:
    """A covariance for all of some examples, or a pool of them and which each example has."""

    pool: Covariance
    features: int
    group: Array | None = None

    @classmethod
    def of(cls, settings: Settings, shape: tuple[int, int]) -> Noise:
        """What exists only where the model will be used, for `shape` examples and features."""
        pool = as_pool(settings.deployment_cov, shape[1], settings.psd)
        if pool.needs_classes:
            raise ValueError("deployment_cov: one covariance per class goes with examples in memory")
        drawing = pool.n_examples is not None
        return cls(pool, shape[1], drawn(pool, shape[0], settings.seed).astype(np.int32) if drawing else None)

    def rows(self, rows: slice) -> Covariance:
        """The covariance of some examples, in memory."""
        return self.pool if self.group is None else self.pool.take(self.group[rows])

    @property
    def packed(self) -> FloatArray:
        """(k, n) variances or (k, n(n+1)/2) packed matrices, for all or for each group."""
        count = 1 if self.group is None else self.pool.n_examples or 1
        if self.pool.is_diagonal:
            return np.ascontiguousarray(self.pool.diagonals(count, self.features))
        return np.ascontiguousarray(self.pool.as_full(count, self.features).packed, dtype=np.float64)


class Store(ABC):
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

    @abstractmethod
    def margins(self, coef: FloatArray, threads: int) -> tuple[FloatArray, FloatArray]:
        """w·x_i and wᵀΣ_i w of all examples for each row w of `coef`: (l, rows of coef)."""


class BeyondExamples(Examples[Any]):
    """What problems of examples in a `Store` do otherwise; to stand before a problem among the bases."""

    store: Store
    _file: tuple[str, bool] | None = None  # a checkpoint, and whether to go on from it
    _recorded: int | None = None  # fits that were recorded, while some are

    def _hold(self, store: Store, settings: Settings) -> None:
        """As `Examples.__init__`, for examples that are elsewhere."""
        if settings.subspace is not None:
            raise ValueError("subspace: the examples' covariances are not in memory; reduce them beforehand")
        if settings.solver != "newton":
            raise ValueError(f"solver: {settings.solver!r} takes examples in memory; blocks are for 'newton'")
        self.settings, self.store = settings, store
        self.observed = self.data = store  # type: ignore[assignment]
        self.copies = Copies(store.shape[0])
        self.interrupted = False
        self._noise: Noise | None = None
        if settings.deployment_cov is not None:
            self._noise = Noise.of(settings, store.shape)

    def core_of(
        self,
        make: Callable[..., Any],
        targets: FloatArray,
        weights: FloatArray,
        rows: Array | None,
        cov_scale: float | None,
    ) -> Any:
        """Examples that are left out have the weight 0; the others' are scaled to mean 1 over all."""
        scale = self.settings.cov_scale if cov_scale is None else cov_scale
        count = self.store.shape[0]
        if rows is not None:
            some, given = targets, weights
            targets, weights = np.ones(count), np.zeros(count)
            targets[rows], weights[rows] = some, given * (count / len(rows))
        alike = bool(weights[0] == 1.0) and not np.ptp(weights)
        task: Task = "classification" if make is _core.labelled else "regression"
        return self.store.training_set(
            np.ascontiguousarray(targets),
            None if alike else np.ascontiguousarray(weights),
            task,
            scale,
            self._noise,
        )

    def keep(self, path: Any, resume: bool) -> None:
        """Records the next fit of all examples in a file, or goes on from the one that is there."""
        self._file = (os.fspath(path), bool(resume))

    def solve(self, options: _core.Options, **more: Any) -> Any:
        self._recorded = 0 if self._file is not None and more.get("rows") is None else None
        try:
            return super().solve(options, **more)
        finally:
            self._recorded = None

    def run_core(
        self, core: Any, options: _core.Options, report: Any, start: tuple[FloatArray, float] | None
    ) -> Any:
        if self._recorded is None or self._file is None:
            return super().run_core(core, options, report, start)
        path, resume = self._file
        name = f"{path}.{self._recorded}" if self._recorded else path  # of several problems each has its own
        self._recorded += 1
        made = Checkpoint(name, self._mark(options, start), resume)
        w, b = (None, 0.0) if start is None else (np.ascontiguousarray(start[0]), float(start[1]))
        return _core.solve(core, options, report, w, b, made.earlier, made.record)

    def _mark(self, options: _core.Options, start: Any) -> bytes:
        """What is another thing where the data or the problem are."""
        loss, settings = self.settings.core_loss, self.settings
        asked = (options.lam, loss.name, loss.parameter, options.intercept, settings.cov_scale, start)
        digest = hashlib.sha256(repr((self.store.fingerprint(), asked, self._recorded)).encode())
        for name in ("codes", "targets", "given_weights"):
            if hasattr(self, name) and not (name == "given_weights" and not np.ptp(self.given_weights)):
                digest.update(np.ascontiguousarray(getattr(self, name)).tobytes())
        if self._noise is not None:
            digest.update(self._noise.packed.tobytes())
        return digest.digest()

    def margins(
        self, coef: FloatArray, rows: Array | None = None, *, observed: bool = False, threads: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        mean, variance = self.store.margins(coef, threads)
        return (mean, variance) if rows is None else (mean[rows], variance[rows])


class BlockStore(Store):
    """Examples in files, read block by block."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.shape, self.feature_names_in_ = blocks.shape, blocks.feature_names_in_
        self.cov = None if blocks.kind == "none" else blocks.kind

    def training_set(
        self, targets: FloatArray, weights: FloatArray | None, task: Task, scale: float, noise: Noise | None
    ) -> Any:
        blocks = self.blocks
        blocks.check()
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
        made = StreamedSet(means, terms if scale else (), targets, weights, task, memory=blocks.memory)
        return made.core

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


def keep_checkpoint(problem: Any, path: Any, resume: bool) -> None:
    """What `checkpoint` and `resume` of a training ask for."""
    if path is None:
        if resume:
            raise ValueError("resume: it goes on from a checkpoint; pass checkpoint=")
        return
    if not isinstance(problem, BeyondExamples):
        raise ValueError("checkpoint: for blocks of svmgsu.open; examples in memory are trained on in one go")
    problem.keep(path, resume)


_KINDS = {"packed": "full", "factors": "low_rank", "isotropic": "isotropic"}


def _flat(array: FlatArray) -> FlatFile:
    """The numbers of a file, as the core reads them."""
    return FlatFile(array.path, array.dtype.name, array.shape[0], math.prod(array.shape[1:]), array.offset)


def labels_of_blocks(blocks: Blocks, y: Any) -> tuple[Array, Array]:
    """(the classes, of each example the place of its class), a byte or two per example.

    y is what a user gave beside the blocks; None: the labels that the files have.
    """
    if y is not None:
        if has_doubt(y):
            raise ValueError("y: class probabilities are trained on in memory; blocks take labels")
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
