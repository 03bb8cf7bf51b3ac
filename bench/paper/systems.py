"""The systems compared. Each is a function (data, y, lams) -> one hyperplane a λ; labels are -1 and +1."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

import svmgsu
from svmgsu.reference import normal_cdf

Array = NDArray[Any]
TOL = 1e-4  # relative gap: far below what a test set can see
WORST = 1e-2  # a fit that rounding errors stop earlier than this is no fit
CCCP_ROUNDS = 10


class Hyperplane(NamedTuple):
    w: Array
    b: float

    def decide(self, X: Any) -> Array:
        return np.asarray(X @ self.w) + self.b

    def predict(self, X: Any) -> Array:
        return np.where(self.decide(X) > 0, 1.0, -1.0)


Path = Callable[[svmgsu.Gaussians, Array, Sequence[float]], list[Hyperplane]]
Score = Callable[[Any, svmgsu.Gaussians, Array], float]


# Solving


def solve(data: svmgsu.Gaussians, y: Array, lams: Sequence[float], tol: float = TOL) -> list[Hyperplane]:
    """The exact path. w lies in the span of the means and of the covariances' ranges: where that is small,
    the problem is solved in it, which changes nothing but the time."""
    basis = _span(data)
    small = data if basis is None else _in_basis(data, basis)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", svmgsu.exceptions.ConvergenceWarning)
        # That a strongly uncertain problem has a trivial optimum is a result here.
        warnings.simplefilter("ignore", svmgsu.exceptions.TrivialModelWarning)
        models: list[Any] = []
        for lam in lams:
            start = models[-1] if models else None
            options = {"lam": lam, "tol": tol, "threads": 1, "probability": False}
            model = svmgsu.train(small, y, start=start, **options)
            # A warm start can stall where a cold one does not.
            if start is not None and model.gap_ > WORST * model.objective_:
                model = svmgsu.train(small, y, **options)
            models.append(model)
    for model in models:
        if model.gap_ > WORST * model.objective_:
            raise RuntimeError(f"λ = {model.lam:g}: objective {model.objective_:g}, gap {model.gap_:g}")
    back = (lambda v: v) if basis is None else (lambda v: basis @ v)
    return [Hyperplane(back(m.coef_[0]), float(m.intercept_[0])) for m in models]


def _span(data: svmgsu.Gaussians) -> Array | None:
    cov, n = data.cov, data.shape[1]
    if not isinstance(data.mean, np.ndarray) or not (cov is None or isinstance(cov, svmgsu.LowRank)):
        return None
    rows = [data.mean] if cov is None else [data.mean, cov.factors]
    if (cov is not None and cov.diagonal is not None) or sum(map(len, rows)) >= n:
        return None
    return np.linalg.qr(np.concatenate(rows).T.astype(float))[0]


def _in_basis(data: svmgsu.Gaussians, basis: Array) -> svmgsu.Gaussians:
    cov = data.cov
    if cov is not None:
        cov = svmgsu.LowRank(cov.factors @ basis, start=cov.start)
    return svmgsu.Gaussians(data.mean @ basis, cov)


# The systems


def lsvm(data: svmgsu.Gaussians, y: Array, lams: Sequence[float]) -> list[Hyperplane]:
    """The linear SVM on the means."""
    return solve(svmgsu.Gaussians(data.mean), y, lams)


def gsu(data: svmgsu.Gaussians, y: Array, lams: Sequence[float]) -> list[Hyperplane]:
    """LSVM-GSU in the original space, with the covariances as they are."""
    return solve(data, y, lams)


def isotropic(data: svmgsu.Gaussians, y: Array, lams: Sequence[float]) -> list[Hyperplane]:
    """LSVM-iso: every covariance replaced by the sphere of the same trace, trace/n on each axis."""
    n = data.shape[1]
    v = traces(data) / n
    basis = _span(svmgsu.Gaussians(data.mean))
    if basis is None:
        return solve(svmgsu.Gaussians(data.mean, svmgsu.Isotropic(v)), y, lams)
    small = solve(svmgsu.Gaussians(data.mean @ basis, svmgsu.Isotropic(v)), y, lams)
    return [Hyperplane(basis @ h.w, h.b) for h in small]


def power(data: svmgsu.Gaussians, y: Array, lams: Sequence[float]) -> list[Hyperplane]:
    """Power SVM: loss max(0, 1 - y f(x) - r|w|), spheres of radius r = √(trace/n), not convex.

    The concave-convex procedure: |w| >= u·w for u = w/|w| of the last round bounds the loss from above by
    the hinge of an SVM on the means moved by y r u, and touches it there. So every round is an exact SVM,
    and the objective never rises.
    """
    radius = np.sqrt(traces(data) / data.shape[1])
    out = []
    for lam, start in zip(lams, lsvm(data, y, lams), strict=True):
        now = start
        for _ in range(CCCP_ROUNDS):
            length = np.linalg.norm(now.w)
            if length == 0:
                break
            moved = data.mean + (y * radius)[:, None] * (now.w / length)
            (following,) = solve(svmgsu.Gaussians(moved), y, [lam])
            step = np.linalg.norm(following.w - now.w)
            now = following
            if step <= 1e-2 * length:
                break
        out.append(now)
    return out


def sampled(count: int, seed: int) -> Path:
    """The linear SVM on `count` samples from each Gaussian."""

    def path(data: svmgsu.Gaussians, y: Array, lams: Sequence[float]) -> list[Hyperplane]:
        basis = _span(data)  # samples lie in it
        small = data if basis is None else _in_basis(data, basis)
        draws = small.sample(count, seed).reshape(-1, small.shape[1])
        found = solve(svmgsu.Gaussians(draws), np.repeat(y, count), lams)
        return found if basis is None else [Hyperplane(basis @ h.w, h.b) for h in found]

    return path


def subspaces(p: float, mode: str) -> Path:
    """LSVM-GSU in subspaces of the fraction p of the variance; "project" is the paper's."""

    def path(data: svmgsu.Gaussians, y: Array, lams: Sequence[float]) -> list[Hyperplane]:
        return solve(data.subspace(p, mode), y, lams)

    return path


def scaled(path: Path, scale: float) -> Path:
    """With all covariances multiplied by `scale`."""
    return lambda data, y, lams: path(data.with_cov(scale * data.cov), y, lams)


def naive_bayes(data: svmgsu.Gaussians, y: Array) -> GaussianNB:
    """Gaussian naive Bayes on the means; it has no λ."""
    return GaussianNB(var_smoothing=1e-6).fit(data.mean, y)


def traces(data: svmgsu.Gaussians) -> Array:
    """The trace of each covariance."""
    return data.cov.diagonals(*data.shape).sum(axis=1)


# Scores, of a hyperplane (or of several) on validation examples


def accuracy(h: Hyperplane, data: svmgsu.Gaussians, y: Array) -> float:
    return float((h.predict(data.mean) == y).mean())


def f1(h: Hyperplane, data: svmgsu.Gaussians, y: Array) -> float:
    return float(f1_score(y, h.predict(data.mean), pos_label=1, zero_division=0))


def average_precision(h: Hyperplane, data: svmgsu.Gaussians, y: Array) -> float:
    return float(average_precision_score(y > 0, h.decide(data.mean)))


def expected_accuracy(h: Hyperplane, data: svmgsu.Gaussians, y: Array) -> float:
    """On infinitely many draws from the Gaussians (diagonal covariances)."""
    s = np.sqrt(np.asarray(data.cov.variances) @ h.w**2)
    margin = y * h.decide(data.mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(s > 0, normal_cdf(margin / s), margin > 0).mean())


# The line search


class Search(NamedTuple):
    """Hyperplanes trained on all data, one a λ, which of them cross-validation chose, and its score."""

    path: list[Hyperplane]
    chosen: int
    score: float = float("nan")

    @property
    def best(self) -> Hyperplane:
        return self.path[self.chosen]


def folds(y: Array, count: int, seed: int) -> list[tuple[Array, Array]]:
    return list(StratifiedKFold(count, shuffle=True, random_state=seed).split(y, y))


def search(
    path: Path,
    data: svmgsu.Gaussians,
    y: Array,
    lams: Sequence[float],
    parts: list[tuple[Array, Array]],
    score: Score = accuracy,
) -> Search:
    """λ by cross-validation; among equals the largest. The test set has no part in it."""
    total = np.zeros(len(lams))
    for known, held_out in parts:
        validation = data[held_out]
        total += [score(h, validation, y[held_out]) for h in path(data[known], y[known], lams)]
    near = np.flatnonzero(total >= total.max() - 1e-9)
    chosen = int(near[np.argmax(np.asarray(lams)[near])])
    return Search(path(data, y, lams), chosen, float(total[chosen] / len(parts)))


def right(T: Array, truth: Array) -> Callable[[Hyperplane], float]:
    """Accuracy on a test set."""
    return lambda h: float((h.predict(T) == truth).mean())


def outcome(found: Search, test: Callable[[Hyperplane], float]) -> dict[str, Any]:
    """What a record keeps of a search: the test score at each λ, and which λ cross-validation chose."""
    return {"by_lam": [round(float(test(h)), 6) for h in found.path], "chosen": found.chosen}
