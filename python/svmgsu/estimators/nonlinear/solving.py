"""The convex stage: linear scores on features, certified, for one λ or along a path of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _core
from ...data.gaussians import Gaussians
from ...fit.settings import Settings
from ...propagate.features import FeatureMap
from ...support.validation import Array, FloatArray


@dataclass
class Scores:
    """f = W z + b, one row for each score, with what was proven of it."""

    W: FloatArray
    b: FloatArray
    objective: float = np.nan
    gap: float = np.nan
    unproven: float = 0.0  # the worst relative gap

    def __call__(self, Z: Array) -> FloatArray:
        return np.asarray(Z @ self.W.T.astype(Z.dtype) + self.b, dtype=np.float64)


def signs_of(codes: Array, classes: int) -> FloatArray:
    """±1 for each problem: one of two classes, one for each of more; (problems, examples)."""
    if classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[np.newaxis]
    return np.where(codes == np.arange(classes)[:, np.newaxis], 1.0, -1.0)


def solve(
    Z: Array,
    targets: FloatArray,
    weights: FloatArray,
    rows: Array | None,
    lam: float,
    loss: Any,
    *,
    labelled: bool,
    tol: float,
    threads: int,
    epsilon: float | None = None,
    start: Scores | None = None,
) -> Scores:
    """The scores of the least objective λ/2 ‖w‖² + mean loss, for each row of `targets`.

    `targets` are ±1 (`labelled`) or numbers; `rows` are the examples that they are of, an example of
    labels in doubt more than once, and None for each in turn.
    """
    options = stage_options(len(Z), lam, loss, labelled=labelled, tol=tol, threads=threads, epsilon=epsilon)
    means = _core.dense_means(np.ascontiguousarray(Z))
    chosen = None if rows is None else np.ascontiguousarray(rows, dtype=np.int64)
    c = np.ascontiguousarray(weights / weights.mean())
    make = _core.labelled if labelled else _core.valued

    def core_of(k: int) -> Any:
        return make(means, (), np.ascontiguousarray(targets[k]), c, chosen)

    return solve_each(core_of, len(targets), Z.shape[1], options, start)


def stage_options(
    count: int,
    lam: float,
    loss: Any,
    *,
    labelled: bool,
    tol: float,
    threads: int,
    epsilon: float | None = None,
) -> Any:
    """What the core is asked for, with `count` examples."""
    settings = Settings(
        task="classification" if labelled else "regression",
        lam=lam,
        loss=loss,
        epsilon=epsilon,
        tol=tol,
        threads=threads or None,
    )
    return settings.options(count)


def solve_each(
    core_of: Callable[[int], Any], problems: int, features: int, options: Any, start: Scores | None = None
) -> Scores:
    """The scores of several problems, one after another, each from its own `start`."""
    W, b, objective, gap, worst = np.empty((problems, features)), np.empty(problems), 0.0, 0.0, 0.0
    for k in range(problems):
        at = () if start is None else (np.ascontiguousarray(start.W[k]), float(start.b[k]))
        found = _core.solve(core_of(k), options, None, *at)
        W[k], b[k] = found.w, found.b
        objective, gap = objective + found.objective, gap + found.gap
        if found.objective > 0:
            worst = max(worst, found.gap / found.objective)
    return Scores(W, b, objective, gap, worst)


@dataclass
class Sums:
    """Σ c u uᵀ, Σ c u yᵀ, Σ c y² and Σ c, with u = (z, 1): all that a squared loss needs; they add."""

    gram: FloatArray
    cross: FloatArray
    squares: FloatArray
    mass: float

    def __sub__(self, other: Sums) -> Sums:
        return Sums(
            self.gram - other.gram,
            self.cross - other.cross,
            self.squares - other.squares,
            self.mass - other.mass,
        )

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.gram + other.gram,
            self.cross + other.cross,
            self.squares + other.squares,
            self.mass + other.mass,
        )

    @classmethod
    def of_features(cls, Z: Array, targets: FloatArray, weights: FloatArray, step: int = 16_384) -> Sums:
        """Of certain features, (l, m), and targets (problems, l), some examples at a time."""
        m = Z.shape[1]
        gram, cross = np.zeros((m + 1, m + 1)), np.zeros((m + 1, len(targets)))
        for first in range(0, len(Z), step):
            rows = slice(first, first + step)
            u = np.column_stack([np.asarray(Z[rows], dtype=np.float64), np.ones(len(Z[rows]))])
            weighted = u * weights[rows, np.newaxis]
            gram += weighted.T @ u
            cross += weighted.T @ targets[:, rows].T
        return cls(gram, cross, (targets**2) @ weights, float(weights.sum()))

    def ridge(self, lam: float) -> Scores:
        """The scores of the least λ/2 ‖w‖² + mean of (y - f)²/2, by one Cholesky decomposition for all."""
        from scipy.linalg import cho_factor, cho_solve

        m = len(self.gram) - 1
        A = self.gram / self.mass
        A[np.arange(m), np.arange(m)] += lam
        y = self.cross / self.mass
        scale = 1e-14 * np.trace(A)
        A[np.arange(m + 1), np.arange(m + 1)] += scale
        found = cho_solve(cho_factor(A), y)
        W, b = found[:m].T, found[m]
        residual = y - A @ found
        value = 0.5 * float((self.squares / self.mass).sum()) - 0.5 * float((found * (y + residual)).sum())
        gap = float((residual[:m] ** 2).sum() / (2 * lam))
        return Scores(np.ascontiguousarray(W), b, max(value, 0.0), gap, 0.0)


def exact_sums(
    feature_map: FeatureMap, standard: Gaussians, targets: FloatArray, weights: FloatArray, threads: int
) -> Sums:
    """The sums of a squared loss over all that standard objects may be; `targets` are (problems, l)."""
    gram, cross = feature_map.second_moments(standard, np.ascontiguousarray(targets.T), weights, threads)
    return Sums(gram, cross, (targets**2) @ weights, float(weights.sum()))
