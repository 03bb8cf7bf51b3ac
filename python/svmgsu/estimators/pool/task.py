"""What all members of a pool learn from: targets, weights, folds, and the time that is left."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

from ...fit.population import Observed
from ...support.validation import Array, FloatArray

Folds = list[tuple[Array, Array]]


class Deadline:
    """The moment a fit should end, taken once; None is never."""

    def __init__(self, seconds: float | None) -> None:
        self.end = None if seconds is None else time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        return self.end is not None and time.monotonic() >= self.end

    def left(self) -> float | None:
        """Seconds that are left, at least a few milliseconds."""
        return None if self.end is None else max(0.005, self.end - time.monotonic())

    def __call__(self, progress: Any = None) -> bool:
        """For the core's callbacks: whether to go on."""
        return not self.passed


@dataclass
class Task:
    """Targets and weights of samples, (l, K) and (l,), and folds that everything is judged by.

    Noisy copies of a sample follow one another as blocks of all samples and are in the fold of their sample.
    """

    targets: FloatArray
    weights: FloatArray
    folds: Folds
    groups: Array  # the number of the independent group of each sample
    threads: int
    base: Observed | None = None  # samples without copies, standardised

    @property
    def independent(self) -> int:
        """How many independent groups there are; each sample is one where none were given."""
        return int(self.groups.max()) + 1

    def losses(self, log_p: FloatArray) -> FloatArray:
        """Log-loss of each sample."""
        return np.asarray(-(self.targets * log_p).sum(axis=1))

    def mean(self, losses: FloatArray) -> float:
        return float(self.weights @ losses / self.weights.sum())

    def standard_error(self, differences: FloatArray) -> float:
        """Standard error of a mean over the independent groups."""
        total = np.bincount(self.groups, self.weights * differences)
        mass = np.bincount(self.groups, self.weights)
        G = len(mass)
        apart = total - mass * (total.sum() / mass.sum())
        return float(np.sqrt((apart**2).sum() * G / max(1, G - 1)) / mass.sum())


class NumberTask(Task):
    """The same for numbers, targets (l, 2) with the variances of their errors, judged by squared errors."""

    def losses(self, f: FloatArray) -> FloatArray:
        """Squared error of each sample."""
        return np.asarray((self.targets[:, 0] - f.reshape(-1)) ** 2)


def order_by_content(table: FloatArray) -> Array:
    """An order of rows that depends on what is in them alone."""
    table = np.where(np.isnan(table), np.nan, table + 0.0)  # one NaN and one zero, not several
    rows = np.ascontiguousarray(table).view(np.dtype((np.void, table.shape[1] * 8))).ravel()
    return np.argsort(rows, kind="stable")


def make_folds(codes: Array | None, groups: Array | None, count: int, n_folds: int, seed: int) -> Array:
    """The fold of each sample: stratified by class, and by group where there are some."""
    rng = np.random.default_rng([seed, 11])
    if groups is None:
        fold = np.empty(count, dtype=np.int64)
        start = 0
        for code in [0] if codes is None else np.unique(codes):
            rows = np.arange(count) if codes is None else np.flatnonzero(codes == code)
            fold[rng.permutation(rows)] = (start + np.arange(len(rows))) % n_folds
            start += len(rows)
        return fold
    n_folds = min(n_folds, len(np.unique(groups)))
    if n_folds < 2:
        raise ValueError("groups: all samples are of one group; folds need at least two")
    empty = np.zeros(count)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class with fewer samples than folds
        if codes is None:
            splits = GroupKFold(n_folds).split(empty, groups=groups)
        else:
            shuffled = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
            splits = shuffled.split(empty, codes, groups)
        fold = np.empty(count, dtype=np.int64)
        for k, (_, out) in enumerate(splits):
            fold[out] = k
    return fold


def with_copies(fold: Array, copies: int) -> Folds:
    """(known, held out) of each fold, for samples that are there several times."""
    repeated = np.tile(fold, copies)
    found = []
    for k in np.unique(fold):
        found.append((np.flatnonzero(repeated != k), np.flatnonzero(repeated == k)))
    return found
