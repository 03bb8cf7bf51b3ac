"""What the tests of the pure-Python twin have in common: problems, and SciPy's way to their optimum."""

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special
import scipy.stats

from svmgsu import reference

L, N = 12, 4
LAM = 0.3


def covariances():
    """Every form, beside the (L, N, N) it means."""
    rng = np.random.default_rng(5)
    iso = rng.uniform(0.1, 2, L)
    diag = rng.uniform(0.1, 2, (L, N))
    F = rng.normal(size=(L, 2, N))
    G = rng.normal(size=(L, N, N))
    S = rng.normal(size=(3, N, N))
    S = S @ S.transpose(0, 2, 1)
    group = rng.integers(0, 3, L)
    group[:3] = 0, 1, 2
    full = np.array([g @ g.T for g in G])
    low = np.array([f.T @ f for f in F])
    diagonal = np.array([np.diag(v) for v in diag])
    return {
        "none": (None, np.zeros((L, N, N))),
        "scalar": (np.array(0.7), np.array([0.7 * np.eye(N)] * L)),
        "isotropic": (iso, np.array([v * np.eye(N) for v in iso])),
        "diagonal": (diag, diagonal),
        "full": (full, full),
        "factors": (reference.Factors(F), low),
        "shared": (reference.SharedMatrix(S[0]), np.array([S[0]] * L)),
        "grouped": (reference.SharedMatrix(S, group), S[group]),
        "sum": ([diag, reference.SharedMatrix(S[0]), reference.Factors(F), None], diagonal + S[0] + low),
    }


COVARIANCES = covariances()
every_form = pytest.mark.parametrize("form", COVARIANCES)
every_weighting = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def blobs(count, n, seed, shift=1.0, spread=0.5, share=0.5):
    """Two overlapping classes of Gaussians with full covariances."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(count) < share * count, 1.0, -1.0)
    X = rng.normal(size=(count, n)) + shift * y[:, None]
    G = rng.normal(size=(count, n, n)) * spread
    return X, y, G @ G.transpose(0, 2, 1)


def scipy_objective(theta, X, y, full, lam, c=1.0):
    """J by SciPy's normal distribution, full covariances only."""
    w, b = theta[:-1], theta[-1]
    d = 1 - y * (X @ w + b)
    s = np.sqrt(np.einsum("j,ijk,k->i", w, full, w))
    r = d / s
    L_i = d * scipy.special.ndtr(r) + s * np.exp(-r * r / 2) / np.sqrt(2 * np.pi)
    return lam / 2 * w @ w + np.mean(c * L_i)


def scipy_optimum(X, y, full, lam, c=None):
    """The minimiser and the minimum of J: BFGS from a start where J is smooth, polished by Newton steps."""
    unit = 1.0 if c is None else c

    def derivative(theta):
        gw, gb = reference.Objective(X, y, full, lam, c).gradient(theta[:-1], theta[-1])
        return np.append(gw, gb)

    def second(theta):
        return reference.Objective(X, y, full, lam, c).hessian(theta[:-1], theta[-1])

    start = np.append(np.ones(X.shape[1]), 0.0)
    args = (X, y, full, lam, unit)
    theta = scipy.optimize.minimize(scipy_objective, start, args, "BFGS", options={"maxiter": 2000}).x
    for _ in range(5):
        theta = theta - np.linalg.solve(second(theta), derivative(theta))
    return theta[:-1], theta[-1], scipy_objective(theta, *args)


def point():
    """X, y, w, b and weights."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(L, N))
    y = np.where(np.arange(L) % 3 == 0, 1.0, -1.0)
    return X, y, rng.normal(size=N), 0.2, rng.uniform(0.2, 3, L)
