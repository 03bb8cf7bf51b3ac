"""Random problems that nobody has scaled or centred, of all kinds and losses."""

import numpy as np

import svmgsu

KINDS = ("none", "isotropic", "diagonal", "full", "low rank", "shared")
LOSSES = ("hinge", "hinge", "hinge", "logistic", "squared_hinge", "squared", "epsilon_insensitive", "huber")
REGRESSION = ("squared", "epsilon_insensitive", "huber")


def problem(seed):
    """Return (X, y, cov, lam, loss): plain, with units of 1e-4 to 1e6, offsets of 1e6 spreads, or both."""
    rng = np.random.default_rng(seed)
    with_units, with_offsets = seed % 4 in (1, 3), seed % 4 in (2, 3)
    count, n = int(np.exp(rng.uniform(np.log(20), np.log(400)))), int(np.exp(rng.uniform(0, np.log(30))))
    kind, loss = str(rng.choice(KINDS)), str(rng.choice(LOSSES))
    X = rng.normal(size=(count, n))
    score = X @ rng.normal(size=n) / np.sqrt(n) + rng.uniform(0.1, 2) * rng.normal(size=count)
    y = score if loss in REGRESSION else np.where(score > np.median(score), 1, -1)
    unit = 10 ** rng.uniform(-4, 6, n) if with_units else np.ones(n)
    offset = 10 ** rng.uniform(0, 6, n) if with_offsets else np.zeros(n)
    offset = offset * rng.choice([-1.0, 1.0], n)
    cov = covariance(rng, kind, count, n, 10 ** rng.uniform(-2, 0), unit)
    return (X + offset) * unit, y, cov, float(10 ** rng.uniform(-5, 0)), loss


def covariance(rng, kind, count, n, size, unit):
    if kind == "none":
        return None
    if kind == "isotropic":
        return svmgsu.Isotropic((size * unit.min()) ** 2 * rng.uniform(0, 1, count))
    if kind == "diagonal":
        return svmgsu.Diagonal((size * unit) ** 2 * rng.uniform(0, 1, (count, n)))
    factors = size * unit * rng.normal(size=(count, min(n, 3), n)) / np.sqrt(n)
    if kind == "low rank":
        return svmgsu.LowRank(factors)
    if kind == "shared":
        return svmgsu.Shared(factors[0].T @ factors[0] + np.diag((0.1 * size * unit) ** 2))
    full = np.einsum("irj,irk->ijk", factors, factors)
    return svmgsu.Full((full + full.transpose(0, 2, 1)) / 2)
