"""Members that are penalised regressions on features of a sample, expected exactly over its posterior.

Families: linear features; Fourier features with the frequencies of the RBF kernel; axis-aligned ones, whose
frequencies have one or two features each, an additive model with pairs. Classes are learnt by logistic
regressions, each solved to a proven gap, numbers by ridge regressions. Folds choose maps and penalties.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import gammaincinv, ndtri

from ... import _core
from ...fit.options import Options
from ...propagate.features import spectrum
from ...support.validation import Array, FloatArray
from ..archive import NOT_SAVED
from .samples import Posterior, View
from .weights import Member, Task

LINEAR_LAMS = np.logspace(-1, -6, 6)
FOURIER_LAMS = np.logspace(-2.5, -7, 7)
RIDGE_LAMS = np.logspace(-1, -8, 15)
LINEAR_SHARE = 0.1  # the scale of linear terms beside Fourier features
RBF_GAMMAS = (0.1, 0.3, 1.0, 3.0)  # times the number of features
AXIS_GAMMAS = (0.3, 1.0)
AXIS_SCALES = (0.3, 3.0)  # the range of a factor that each axis-aligned frequency has
LATTICE = (0.6180339887, 0.7548776662)  # steps of points that fill a square evenly
SEARCH_TOL = 1e-3  # relative gaps of fits that only choose λ
TOL = 1e-6  # and of those that stay
CHOICE_FOLDS = 2  # folds that choose among maps
NO_VARIANCE = 1e-7  # of a direction of features that the choice of λ does without
ABSENT = -12.0  # the score of a class without samples in a fold
FEW_GROUPS = 50  # below, the largest λ within one standard error of the best is taken


@dataclass
class Features:
    """Expected cosine and sine of each frequency, then linear terms: expected values and standard errors.

    The last columns of `frequencies` belong to standard errors, which are known.
    """

    frequencies: FloatArray  # (R, n) or (R, n + standard errors); none for a linear model
    on_posterior: bool
    with_errors: bool
    linear: float  # the scale of linear terms; without any, 0

    def __call__(self, view: View) -> FloatArray:
        """Return the features, (l, 2R + linear terms)."""
        posterior = Posterior(None, view.points[:, np.newaxis])
        if self.on_posterior and view.posterior is not None:
            posterior = view.posterior
        errors = view.errors if self.with_errors else None
        parts = []
        if len(self.frequencies):
            parts.append(
                _core.expected_waves(self.frequencies, *posterior, errors, None, view.threads),
            )
        if self.linear:
            parts.append(self.linear * posterior.mean())
            if errors is not None:
                parts.append(self.linear * errors)
        return parts[0] if len(parts) == 1 else np.hstack(parts)


def candidate_maps(
    family: str, n: int, errors: int, count: int, seed: list[int], on_posterior: bool, linear: bool
) -> list[Any]:
    """Return the maps of a family that folds choose from; `errors` of the inputs are standard errors."""
    if family == "linear":
        return [Features(np.empty((0, n + errors)), on_posterior, errors > 0, 1.0)]
    # Frequencies are spread evenly instead of drawn one by one: results depend less on the seed.
    rng = np.random.default_rng([*seed, 21])
    inputs = n + errors
    if family == "rbf":
        base = spectrum(count, inputs, rng)
        shares = (rng.permutation(count) + rng.uniform(size=count)) / count
        lengths = np.sqrt(4 * gammaincinv(inputs / 2, shares))  # as of 2 chi-squared
        base *= (lengths / np.linalg.norm(base, axis=1))[:, np.newaxis]
        scales = [np.sqrt(gamma / n) for gamma in RBF_GAMMAS]
    else:
        base = np.zeros((count, inputs))
        shares = (rng.uniform(size=3) + np.outer(np.arange(count), [1 / count, *LATTICE])) % 1
        normal = ndtri(shares[:, :2]) * AXIS_SCALES[0] * (AXIS_SCALES[1] / AXIS_SCALES[0]) ** shares[:, 2:]
        for width in (1, 2):  # features take turns, alone and in pairs
            rows = np.arange(width - 1, count, 2)
            turns = np.concatenate([rng.permutation(inputs) for _ in range(width * len(rows))])
            base[rows[:, np.newaxis], turns[: width * len(rows)].reshape(-1, width)] = normal[rows, :width]
        scales = [np.sqrt(2 * gamma) for gamma in AXIS_GAMMAS]
    share = LINEAR_SHARE if linear else 0.0
    return [Features(scale * base, on_posterior, errors > 0, share) for scale in scales]


def log_probabilities(f: FloatArray) -> FloatArray:
    """Return log-probabilities (l, K) of scores: one for two classes, else one against the rest each."""
    if f.shape[1] == 1:
        return np.concatenate([-np.logaddexp(0, f), -np.logaddexp(0, -f)], axis=1)
    logs = -np.logaddexp(0, -f)
    logs -= logs.max(axis=1, keepdims=True)
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))


@dataclass
class RegressionMember(Member):
    """What logistic and ridge members share: f = W z + b on features z that a map makes of a sample."""

    features: Features | None = None
    W: FloatArray = field(default_factory=lambda: np.zeros((1, 1)))
    b: FloatArray = field(default_factory=lambda: np.zeros(1))
    lam: float = 0.0
    gap: float = 0.0  # the proven relative gap of the worst problem
    candidates: list[Any] = field(default_factory=list, metadata=NOT_SAVED)
    lams: FloatArray = field(default_factory=lambda: np.ones(1), metadata=NOT_SAVED)
    like: Any = field(default=None, metadata=NOT_SAVED)  # a member whose choice of a map is a guide
    choice: int = field(default=0, metadata=NOT_SAVED)

    def scores(self, view: View) -> FloatArray:
        """Return f of each sample and problem."""
        assert self.features is not None
        return self.features(view) @ self.W.T + self.b


def solve_logistic(
    Z: Array, task: Task, rows: Array, lam: float, tol: float, start: tuple[Any, Any] | None = None
) -> tuple[FloatArray, FloatArray, float]:
    """Return (W, b, gap) of the least λ/2 ‖w‖² + mean loss over `rows` of features Z, a row a problem."""
    means = _core.dense_means(Z)
    Y = task.targets[rows]
    weights = task.weights[rows]
    problems = [1] if Y.shape[1] == 2 else list(range(Y.shape[1]))
    W = np.zeros((len(problems), Z.shape[1]))
    b = np.zeros(len(problems))
    worst = 0.0
    for i, k in enumerate(problems):
        # A sample counts for the class with y_k and against it with 1 - y_k; one of the two is mostly 0.
        c = np.concatenate([weights * Y[:, k], weights * (1 - Y[:, k])])
        counted = np.flatnonzero(c)
        signs = np.where(counted < len(rows), 1.0, -1.0)
        if (signs > 0).all() or (signs < 0).all():
            b[i] = -ABSENT if signs[0] > 0 else ABSENT
            continue
        c = c[counted]
        chosen = np.ascontiguousarray(rows[counted % len(rows)], dtype=np.int64)
        data = _core.labelled(means, (), signs, np.ascontiguousarray(c / c.mean()), chosen)
        options = Options(loss="logistic", tol=tol, threads=task.budget.threads, max_time=task.budget.left())
        at = () if start is None else (np.ascontiguousarray(start[0][i]), float(start[1][i]))
        found = _core.solve(data, options.core(len(chosen), lam), None, *at)
        W[i] = found.w
        b[i] = found.b
        worst = max(worst, found.gap / found.objective if found.objective > 0 else 0.0)
    return W, b, worst


@dataclass
class LogisticMember(RegressionMember):
    """A logistic regression; predictions are log-probabilities (l, K)."""

    def learn(self, view: View, task: Task) -> FloatArray:
        """Choose the map and λ, fit to all samples; return held-out predictions."""
        first = 0
        if self.like is not None:
            # A member of the same family was before: its map, or the next smoother one, will do.
            first = max(0, self.like.choice - 1)
            self.candidates = self.candidates[first : self.like.choice + 1]
        losses: list[float] = []
        for candidate in self.candidates if len(self.candidates) > 1 else []:
            if losses and task.budget.over:
                break
            losses.append(self._path(candidate(view), task, task.folds[:CHOICE_FOLDS], self.lams[::2])[0])
        best = int(np.argmin(losses)) if losses else 0
        self.choice = first + best
        self.features = self.candidates[best]
        Z = self.features(view)
        turned, back = Z, None
        if len(self.features.frequencies):
            # Waves are far from independent: the path is faster along the directions in which samples differ.
            values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
            back = vectors[:, values > NO_VARIANCE].T
            turned = Z @ back.T
        _, held_out, self.lam, starts = self._path(turned, task, task.folds, self.lams)
        self.W = np.mean([start[0] for start in starts], axis=0)
        self.W = self.W if back is None else self.W @ back
        self.b = np.mean([start[1] for start in starts], axis=0)
        self.refit(Z, task)
        self.candidates = []
        return held_out

    def refit(self, Z: Array, task: Task) -> None:
        """Fit to other samples with the same map and λ, from where the last fit ended."""
        everyone = np.arange(len(Z))
        self.W, self.b, self.gap = solve_logistic(Z, task, everyone, self.lam, TOL, (self.W, self.b))

    def _path(
        self, Z: FloatArray, task: Task, folds: list[tuple[Array, Array]], lams: FloatArray
    ) -> tuple[float, FloatArray, float, list[Any]]:
        """Fit folds along the λ, from large to small, until the held-out loss rises."""
        starts: list[Any] = [None] * len(folds)
        tried: list[tuple[float, FloatArray, float, list[Any]]] = []
        losses: list[FloatArray] = []
        best = 0
        for lam in lams.tolist():
            held_out = np.zeros_like(task.targets)
            for i, (known, out) in enumerate(folds):
                starts[i] = solve_logistic(Z, task, known, lam, SEARCH_TOL, starts[i])[:2]
                held_out[out] = log_probabilities(Z[out] @ starts[i][0].T + starts[i][1])
            losses.append(task.losses(held_out))
            tried.append((task.mean(losses[-1]), held_out, lam, list(starts)))
            if tried[-1][0] < tried[best][0]:
                best = len(tried) - 1
            if best < len(tried) - 1 or task.budget.over:
                break
        if task.independent < FEW_GROUPS:
            for j in range(best):
                if tried[j][0] - tried[best][0] <= task.standard_error(losses[j] - losses[best]):
                    return tried[j]
        return tried[best]

    def predict(self, view: View) -> FloatArray:
        """Return log-probabilities of the classes, (l, K)."""
        return log_probabilities(self.scores(view))


def weighted_sums(Z: Array, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Σ c u uᵀ with u = (z, 1, y): all that a squared loss needs, and such sums add."""
    u = np.column_stack([Z, np.ones(len(Z)), y]).astype(np.float64, copy=False)
    return np.asarray((u * weights[:, np.newaxis]).T @ u)


def ridge(sums: FloatArray, lams: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (W, b) of the least λ/2 ‖w‖² + mean of (y - w·z - b)²/2, one row for each λ."""
    means = sums / sums[-2, -2]
    mean = means[:-2, -2]
    centre = means[-2, -1]
    values, vectors = np.linalg.eigh(means[:-2, :-2] - np.outer(mean, mean))
    along = vectors.T @ (means[:-2, -1] - centre * mean)
    W = (along / (np.maximum(values, 0.0) + lams[:, np.newaxis])) @ vectors.T
    return W, centre - W @ mean


@dataclass
class RidgeMember(RegressionMember):
    """A ridge regression, every λ from one decomposition; predictions are numbers (l,)."""

    def learn(self, view: View, task: Task) -> FloatArray:
        """Choose the map and λ, fit to all samples; return held-out predictions."""
        best = np.inf
        held_out = np.zeros(len(view))
        y = task.targets[:, 0]
        for candidate in self.candidates:
            if best < np.inf and task.budget.over:
                break
            Z = candidate(view)
            parts = [weighted_sums(Z[out], y[out], task.weights[out]) for _, out in task.folds]
            total = np.sum(parts, axis=0)
            found = np.empty((len(self.lams), len(view)))
            for part, (_, out) in zip(parts, task.folds, strict=True):
                W, b = ridge(total - part, self.lams)
                found[:, out] = W @ Z[out].T + b[:, np.newaxis]
            losses = [task.mean(task.losses(one)) for one in found]
            place = int(np.argmin(losses))
            if losses[place] < best:
                best = losses[place]
                held_out = found[place]
                self.features = candidate
                self.lam = float(self.lams[place])
                self.W, self.b = ridge(total, self.lams[place : place + 1])
        self.candidates = []
        return held_out

    def refit(self, Z: Array, task: Task) -> None:
        """Fit to other samples with the same map and λ."""
        rows = [slice(first, first + 8192) for first in range(0, len(Z), 8192)]
        sums = [weighted_sums(Z[part], task.targets[part, 0], task.weights[part]) for part in rows]
        self.W, self.b = ridge(np.sum(sums, axis=0), np.array([self.lam]))

    def predict(self, view: View) -> FloatArray:
        """Return predictions (l,)."""
        return self.scores(view)[:, 0]
