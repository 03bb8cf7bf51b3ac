"""The problems that solvers are measured on, each the same on every machine: a seed, or a real data set.

A problem has means X, labels y = ±1 and a covariance in one of three forms, so that a plain NumPy objective
can be written for it: None, an array of shape (l, n) or (l, n, n), or factors (l, r, n) of a low rank.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import svmgsu

LAMS = (1e-1, 1e-2, 1e-3, 1e-4)


class MissingData(Exception):
    """A real data set is not there; the message says which file is wanted."""


@dataclass
class Problem:
    """What a solver gets."""

    X: Any  # an array, or a SciPy sparse matrix where Σ = 0
    y: np.ndarray
    variances: np.ndarray | None = None  # (l, n)
    matrices: np.ndarray | None = None  # (l, n, n)
    factors: np.ndarray | None = None  # (l, r, n)

    @property
    def cov(self) -> Any:
        """The same for the library."""
        if self.factors is not None:
            return svmgsu.LowRank(self.factors)
        return svmgsu.Diagonal(self.variances) if self.variances is not None else self.matrices

    def median_s(self, w: np.ndarray, b: float) -> tuple[float, float]:
        """How smooth the problem is at (w, b): the median of s = √(wᵀΣw), and the share with |d/s| > 6."""
        if self.variances is not None:
            q = self.variances @ w**2
        elif self.matrices is not None:
            q = (self.matrices @ w) @ w
        elif self.factors is not None:
            q = ((self.factors @ w) ** 2).sum(axis=1)
        else:
            q = np.zeros(len(self.y))
        s, d = np.sqrt(np.maximum(q, 0.0)), 1.0 - self.y * (self.X @ w + b)
        return float(np.median(s)), float(np.mean(np.abs(d) > 6.0 * s))


def correlated(rng: np.random.Generator, count: int, n: int) -> np.ndarray:
    """Standardised features with the decaying spectrum of real data: deviations k^-0.75, rotated."""
    rotation = np.linalg.qr(rng.normal(size=(n, n)))[0]
    X = (rng.normal(size=(count, n)) * np.arange(1, n + 1) ** -0.75) @ rotation
    return X / X.std(axis=0)


def noisy_rule(rng: np.random.Generator, X: Any, noise: float = 0.2) -> np.ndarray:
    """Labels of a random hyperplane, with noise of `noise` times the score's deviation."""
    score = X @ rng.normal(size=X.shape[1])
    return np.where(score + noise * score.std() * rng.normal(size=X.shape[0]) > 0, 1.0, -1.0)


def uneven_variances(rng: np.random.Generator, X: np.ndarray, spread: float) -> np.ndarray:
    """Errors of about `spread` times each feature's deviation, different for each value (gamma, shape 2)."""
    return np.asarray((spread * X.std(axis=0)) ** 2 * rng.gamma(2.0, 0.5, size=X.shape))


def diagonal(count: int, n: int, spread: float, seed: int) -> Problem:
    """Correlated features with independent errors."""
    rng = np.random.default_rng(seed)
    X = correlated(rng, count, n)
    return Problem(X, noisy_rule(rng, X), variances=uneven_variances(rng, X, spread))


def plain(count: int, n: int, seed: int, dtype: Any = np.float64) -> Problem:
    """White noise with variances up to 0.2: quick to make, for timing passes over many numbers."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((count, n), dtype=dtype)
    V = rng.random((count, n), dtype=dtype)
    V *= 0.2
    return Problem(X, noisy_rule(rng, X), variances=V)


def concepts(count: int, n: int, seed: int, dtype: Any = np.float64) -> Problem:
    """Concept scores of videos: positive, nearly sparse; the spread of a video's frames grows with its mean.

    Made row by row, so that the arrays themselves are all the memory it takes.
    """
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(count) < count * 2 // 7, 1.0, -1.0)
    X, V = np.empty((2, count, n), dtype=dtype)
    for row, variance, label in zip(X, V, y, strict=True):
        row[:] = rng.gamma(0.3, 0.1, n)
        row[:50] += 0.02 * (label > 0)
        variance[:] = 0.5 * row * rng.gamma(1.0, 0.1, n)
    return Problem(X, y, variances=V)


def white(count: int, n: int, seed: int) -> Problem:
    """White noise, errors of 0.3: the well-conditioned case that first-order methods like best."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, n))
    return Problem(X, noisy_rule(rng, X), variances=uneven_variances(rng, X, 0.3))


def full(count: int, n: int, seed: int) -> Problem:
    """A random covariance matrix per example, of about 0.3 times each feature's deviation."""
    rng = np.random.default_rng(seed)
    X = correlated(rng, count, n)
    G = rng.normal(size=(count, n, n)) * (0.3 / np.sqrt(n))
    S = G @ G.transpose(0, 2, 1)
    return Problem(X, noisy_rule(rng, X), matrices=(S + S.transpose(0, 2, 1)) / 2)


def digits(count: int, folder: Path | None) -> Problem:
    """MNIST, 1 v. 7: each image is uncertain along its own gradients, as if shifted (paper, Appendix B)."""
    path = _wanted(folder, "mnist/mnist.npz")
    with np.load(path) as archive:
        images, digit = archive["x_train"], archive["y_train"]
    chosen = np.flatnonzero((digit == 1) | (digit == 7))[:count]
    X = images[chosen] / 255.0
    F = np.stack(np.gradient(X, axis=(1, 2)), axis=1).reshape(len(X), 2, -1)
    return Problem(X.reshape(len(X), -1), np.where(digit[chosen] == 1, 1.0, -1.0), factors=F)


def toy(folder: Path | None) -> Problem:
    """The authors' toy set, 10000 × 16 with diagonal covariances."""
    names = [_wanted(folder, f"svm_gsu_toy/{part}.dat") for part in ("mean", "labels", "cov_diag")]
    data, y = svmgsu.io.read(*names, format="text")
    return Problem(data.mean, y.astype(float), variances=data.cov.variances)


def wdbc(standardised: bool) -> Problem:
    """Wisconsin breast cancer: the means of ten measurements and their standard errors, 569 × 10."""
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer()
    X, errors = table.data[:, :10].copy(), table.data[:, 10:20].copy()
    if standardised:
        errors /= X.std(axis=0)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return Problem(X, np.where(table.target == 1, 1.0, -1.0), variances=errors**2)


def half_certain(count: int, n: int, seed: int) -> Problem:
    """Every second example has Σ = 0."""
    problem = diagonal(count, n, 0.3, seed)
    assert problem.variances is not None
    problem.variances[::2] = 0.0
    return problem


def certain(count: int, n: int, seed: int) -> Problem:
    """All examples have Σ = 0: the ordinary linear SVM."""
    problem = diagonal(count, n, 0.3, seed)
    return Problem(problem.X, problem.y)


def one_hot(count: int, levels: list[int], seed: int) -> Problem:
    """Categorical columns, one feature for each of their values, with effects of their own; Σ = 0."""
    import scipy.sparse

    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(levels)[:-1]])
    columns = np.column_stack([rng.integers(size, size=count) for size in levels]) + starts
    at = np.arange(count + 1, dtype=np.int32) * len(levels)
    X = scipy.sparse.csr_array(
        (np.ones(count * len(levels)), columns.ravel().astype(np.int32), at), shape=(count, sum(levels))
    )
    return Problem(X, noisy_rule(rng, X, 0.5))


def sparse(count: int, n: int, per_row: int, seed: int) -> Problem:
    """Texts, more or less: words of falling frequency, normalised rows; Σ = 0."""
    import scipy.sparse

    rng = np.random.default_rng(seed)
    chance = 1.0 / np.arange(1, n + 1) ** 0.8
    columns = rng.choice(n, size=(count, per_row), p=chance / chance.sum())
    rows = np.repeat(np.arange(count), per_row)
    values = rng.gamma(1.0, 1.0, count * per_row)
    X = scipy.sparse.csr_array((values, (rows, columns.ravel())), shape=(count, n))
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1)), np.diff(X.indptr))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # as scikit-learn wants them
    return Problem(X, noisy_rule(rng, X, 0.3))


def wide_factors(count: int, n: int, rank: int, seed: int) -> Problem:
    """White noise with many features and covariances of a low rank."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, n)) / np.sqrt(n)
    F = 0.5 * rng.normal(size=(count, rank, n)) / np.sqrt(n)
    return Problem(X, noisy_rule(rng, X), factors=F)


def many(count: int, n: int, spread: float, seed: int) -> Problem:
    """Like `diagonal`, in float32 and made a block at a time: the arrays are all the memory it takes."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(n, n)))[0] * np.arange(1, n + 1)[:, None] ** -0.75
    turn = (turn / np.sqrt((turn**2).sum(axis=0))).astype(np.float32)
    rule = rng.normal(size=n).astype(np.float32)
    X, V = np.empty((2, count, n), dtype=np.float32)
    score = np.empty(count)
    for first in range(0, count, 20000):
        rows = slice(first, min(count, first + 20000))
        size = rows.stop - rows.start
        X[rows] = rng.standard_normal((size, n), dtype=np.float32) @ turn
        V[rows] = np.float32(spread**2) * rng.standard_gamma(2.0, (size, n), dtype=np.float32) / 2
        score[rows] = X[rows] @ rule
    noise = 0.2 * score.std() * rng.standard_normal(count)
    return Problem(X, np.where(score + noise > 0, 1.0, -1.0), variances=V)


def trivial(count: int, n: int, seed: int) -> Problem:
    """One class is a tenth of the data and the spread exceeds the classes' distance: w = 0 is optimal."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(count) < count // 10, 1.0, -1.0)
    X = rng.normal(size=(count, n)) + 0.1 * y[:, None]
    return Problem(X, y, variances=25.0 * rng.gamma(2.0, 0.5, size=X.shape))


@dataclass
class Entry:
    """A problem by name; `make(quick, folder)` builds it, smaller when `quick`."""

    name: str
    make: Callable[[bool, Path | None], Problem]
    target: float = 1.0  # how many times as fast as L-BFGS on a NumPy objective it is asked to be
    lams: tuple[float, ...] = LAMS
    tol: float = 1e-6
    cpp_target: float | None = None  # the same of L-BFGS on our own C++ objective
    svc_target: float = 1.0  # of LinearSVC, where Σ = 0
    passes: int | None = None  # the most readings of the data; no rivals then
    long: bool = False  # left out by --short


def entries() -> list[Entry]:
    """All problems, in the order of the tables."""

    def size(quick: bool, count: int, n: int) -> tuple[int, int]:
        return (count // 10, n // 5) if quick else (count, n)

    return [
        Entry("smooth diagonal", lambda q, _: diagonal(*size(q, 20000, 500), 0.3, seed=1), target=4.0),
        Entry("near-hinge diagonal", lambda q, _: diagonal(*size(q, 20000, 500), 0.03, seed=2), target=4.0),
        Entry("white-noise diagonal", lambda q, _: white(*size(q, 20000, 500), seed=3)),
        Entry("white noise", lambda q, _: white(*size(q, 20000, 200), seed=9), cpp_target=0.8),
        Entry("full", lambda q, _: full(*size(q, 2000, 100), seed=4)),
        Entry("full, smaller", lambda q, _: full(*size(q, 1500, 80), seed=10), cpp_target=0.8),
        Entry("low rank, MNIST 1 v. 7", lambda q, folder: digits(600 if q else 6000, folder)),
        Entry("the authors' toy set", lambda q, folder: toy(folder)),
        Entry("WDBC, standardised", lambda q, _: wdbc(True)),
        Entry("WDBC, raw", lambda q, _: wdbc(False)),
        Entry("half with Σ = 0", lambda q, _: half_certain(*size(q, 5000, 100), seed=5)),
        Entry("all with Σ = 0", lambda q, _: certain(*size(q, 5000, 100), seed=6)),
        Entry("imbalanced, w = 0", lambda q, _: trivial(*size(q, 5000, 50), seed=7)),
        *_hard(),
    ]


def _hard() -> list[Entry]:
    """Wide and sparse data, and many examples."""

    def levels(quick: bool, *sizes: int) -> list[int]:
        return [max(2, size // 10) for size in sizes] if quick else list(sizes)

    def share(quick: bool, count: int) -> int:
        return count // 10 if quick else count

    # Wide and sparse rows are long, and wanted to be no slower than a third of their rivals.
    few = {"lams": (1e-6,), "tol": 1e-4, "svc_target": 1 / 3, "long": True}
    wide = {"target": 1 / 3, "cpp_target": 1 / 3, "long": True}
    many_rows = {"lams": (1e-3, 1e-4), "passes": 8, "long": True}
    small, large = (1000, 300, 150, 42), (1500, 500, 200, 112)
    return [
        Entry("one-hot", lambda q, _: one_hot(share(q, 5000), levels(q, *small), seed=11), cpp_target=0.8),
        Entry("one-hot, more", lambda q, _: one_hot(share(q, 20000), levels(q, *large), seed=12), **few),
        Entry("sparse", lambda q, _: sparse(share(q, 6000), share(q, 20000), 40, seed=13), **few),
        Entry(
            "wide low rank, r = 8", lambda q, _: wide_factors(share(q, 1000), share(q, 4096), 8, 14), **wide
        ),
        Entry(
            "wide low rank, r = 4", lambda q, _: wide_factors(share(q, 2000), share(q, 3000), 4, 15), **wide
        ),
        Entry("many, smooth", lambda q, _: many(share(q, 10**6), 200, 0.3, seed=16), **many_rows),
        Entry("many, near-hinge", lambda q, _: many(share(q, 10**6), 200, 0.03, seed=17), **many_rows),
    ]


def _wanted(folder: Path | None, name: str) -> Path:
    if folder is None:
        raise MissingData(f"{name} is wanted: give its folder by --data or SVMGSU_DATA")
    path = folder / name
    if not path.is_file():
        raise MissingData(f"{name} is not in the data folder")
    return path
