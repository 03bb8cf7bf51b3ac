"""Problems of the solver's tests, and what it means that one is certified."""

import warnings
from typing import NamedTuple

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from conftest import train_with
from sklearn.datasets import load_breast_cancer

import svmgsu

TOL = 1e-6
LAMS = (1e-1, 1e-2, 1e-3, 1e-4)
every_lam = pytest.mark.parametrize("lam", LAMS)


def train(X, y, cov=None, **options):
    """`svmgsu.train` on one thread and without Platt's sigmoid; a problem may have the trivial optimum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", svmgsu.exceptions.TrivialModelWarning)
        return train_with(X, y, cov, **{"solver": "newton", "probability": False, "threads": 1, **options})


def solve(p, lam, **options):
    return train(p.X, p.y, p.cov, lam=lam, **options)


def plane(model):
    return np.append(model.coef_[0], model.intercept_)


def assert_certified(model, X, y, cov, tol=TOL):
    """The gap is as asked, and the reported objective is J at the reported (w, b)."""
    assert 0 <= model.gap_ <= tol * model.objective_
    value = svmgsu.Objective(X, y, cov, lam=model.lam, threads=1).value(model.coef_[0], model.intercept_[0])
    assert model.objective_ == pytest.approx(value, rel=1e-9)


# Problems


class Set(NamedTuple):
    X: object
    y: np.ndarray
    cov: object = None


def noisy_rule(rng, X, noise=0.3):
    """Labels of a linear rule with noise on the score."""
    score = X @ rng.normal(size=X.shape[1])
    return np.where(score + noise * score.std() * rng.normal(size=X.shape[0]) > 0, 1.0, -1.0)


def correlated(rng, count, n):
    """Features of a decaying spectrum, rotated, in units of the largest."""
    rotation = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return (rng.normal(size=(count, n)) * np.arange(1, n + 1) ** -0.75) @ rotation


def diagonal(spread, count=1500, n=40):
    rng = np.random.default_rng(1)
    X = correlated(rng, count, n) if n < 1000 else rng.normal(size=(count, n)) / np.sqrt(1 + np.arange(n))
    V = (spread * X.std(axis=0)) ** 2 * rng.uniform(0.3, 1.7, X.shape)
    return Set(X, noisy_rule(rng, X), V)


def full():
    rng = np.random.default_rng(2)
    X = correlated(rng, 500, 30)
    G = rng.normal(size=(500, 30, 30)) * (0.3 * X.std(axis=0))[:, None] / np.sqrt(30)
    S = G @ G.transpose(0, 2, 1)
    return Set(X, noisy_rule(rng, X), (S + S.transpose(0, 2, 1)) / 2)


def low_rank():
    rng = np.random.default_rng(3)
    X = correlated(rng, 600, 60)
    F = 0.5 * correlated(rng, 1200, 60).reshape(600, 2, 60)
    return Set(X, noisy_rule(rng, X), svmgsu.LowRank(F))


def shared():
    rng = np.random.default_rng(4)
    X = correlated(rng, 800, 30)
    return Set(X, noisy_rule(rng, X), svmgsu.Shared(0.1 * np.cov(X.T)))


def isotropic():
    rng = np.random.default_rng(5)
    X = correlated(rng, 800, 30)
    return Set(X, noisy_rule(rng, X), rng.uniform(0, 0.1, 800))


def sparse():
    rng = np.random.default_rng(6)
    X = scipy.sparse.random_array((800, 300), density=0.05, rng=rng, data_sampler=rng.normal, format="csr")
    V = X.copy()
    V.data = rng.uniform(0, 0.3, len(V.data))
    return Set(X, noisy_rule(rng, X), svmgsu.Diagonal(V))


def sums():
    rng = np.random.default_rng(7)
    X, y, V = diagonal(0.2, 600, 30)
    F = 0.3 * correlated(rng, 600, 30)[:, None, :]
    return Set(X, y, svmgsu.Diagonal(V) + svmgsu.LowRank(F) + 0.5 * svmgsu.Isotropic(0.01))


def wdbc(standardised):
    """The means of ten measurements of a tumour's cells, and their standard errors."""
    table = load_breast_cancer()
    X, se = table.data[:, :10], table.data[:, 10:20]
    unit = X.std(axis=0) if standardised else 1.0
    X = (X - X.mean(axis=0)) / unit if standardised else X.copy()
    return Set(X, np.where(table.target == 1, 1.0, -1.0), (se / unit) ** 2)


def half_certain():
    X, y, V = diagonal(0.4, 800, 30)
    V[::2] = 0
    return Set(X, y, V)


def all_certain():
    X, y, V = diagonal(0.4, 800, 30)
    return Set(X, y, np.zeros_like(V))


def imbalanced():
    """One class has a tenth of the other's examples, and the spread exceeds the classes' distance."""
    rng = np.random.default_rng(8)
    y = np.where(np.arange(600) < 55, 1.0, -1.0)
    return Set(rng.normal(size=(600, 8)) + 0.1 * y[:, None], y, np.full((600, 8), 25.0))


SETS = {
    "smooth diagonal": lambda: diagonal(0.6),
    "near-hinge diagonal": lambda: diagonal(0.02),
    "full": full,
    "low rank": low_rank,
    "shared": shared,
    "isotropic": isotropic,
    "sparse": sparse,
    "sum": sums,
    "WDBC, standardised": lambda: wdbc(True),
    "WDBC, raw": lambda: wdbc(False),
    "half of the examples certain": half_certain,
    "all examples certain": all_certain,
    "imbalanced, trivial": imbalanced,
}
every_set = pytest.mark.parametrize("name", SETS)
