"""Exact moments of functions of one value: exp and square of Gaussians, log of log-normal values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.covariances import Diagonal, Full
from ..data.covariances.full import first_indefinite
from ..data.gaussians import Gaussians
from ..support.arrays import blocks

LN10 = float(np.log(10))


@dataclass(frozen=True)
class Moments:
    """Exact moments of a function of one value: its mean, and the covariance of two such values.

    `mean(m, v)` and `pair(c, m1, v1, m2, v2)` for means m, variances v and the covariance c.
    """

    mean: Callable[..., Any]
    pair: Callable[..., Any]
    log_normal: bool = False  # the values, not the results, are taken as log-normal


def _log_pair(c: Any, m1: Any, v1: Any, m2: Any, v2: Any) -> Any:
    return np.log1p(c / (m1 * m2))


def _exp_pair(c: Any, m1: Any, v1: Any, m2: Any, v2: Any) -> Any:
    return np.exp(m1 + m2 + (v1 + v2) / 2) * np.expm1(c)


# A positive value of mean m and variance v, taken as log-normal: its logarithm is the Gaussian
# N(log m - ½ log(1 + v/m²), log(1 + v/m²)), and exp brings the moments m and v back.
LOG = Moments(lambda m, v: np.log(m) - np.log1p(v / m**2) / 2, _log_pair, log_normal=True)
EXP = Moments(lambda m, v: np.exp(m + v / 2), _exp_pair)
LOG10 = Moments(lambda m, v: LOG.mean(m, v) / LN10, lambda *a: _log_pair(*a) / LN10**2, log_normal=True)
EXP10 = Moments(
    lambda m, v: EXP.mean(LN10 * m, LN10**2 * v),
    lambda c, m1, v1, m2, v2: _exp_pair(LN10**2 * c, LN10 * m1, LN10**2 * v1, LN10 * m2, LN10**2 * v2),
)
SQUARE = Moments(lambda m, v: m**2 + v, lambda c, m1, v1, m2, v2: 2 * c**2 + 4 * m1 * m2 * c)
BY_FUNCTION = {np.log: LOG, np.log10: LOG10, np.exp: EXP, np.square: SQUARE}


def moments_of(transformer: Any) -> Moments | None:
    """Return the exact moments of scikit-learn's FunctionTransformer with a known function, else None."""
    func = getattr(transformer, "func", None)
    if func is None or getattr(transformer, "kw_args", None):
        return None
    from scipy.special import exp10

    if func is exp10:
        return EXP10
    try:
        return BY_FUNCTION.get(func)
    except TypeError:  # a callable that cannot be hashed
        return None


def exact_moments(data: Gaussians, moments: Moments) -> Gaussians:
    """Return mean and covariance of a function of each value; independent values stay independent."""
    assert data.cov is not None
    count, n = data.shape
    m = data.mean.astype(np.float64)
    v = data.cov.diagonals(count, n)
    mean = moments.mean(m, v)
    if data.cov.is_diagonal:
        return Gaussians(mean, Diagonal(moments.pair(v, m, v, m, v)))
    row, column = np.triu_indices(n)
    packed = np.empty((count, len(row)))
    for part in blocks(count, n * n):
        c = data.cov.matrices(part, n)[:, row, column]
        with np.errstate(invalid="ignore", divide="ignore"):
            packed[part] = moments.pair(
                c, m[part][:, row], v[part][:, row], m[part][:, column], v[part][:, column]
            )
    cov = Full.from_packed(packed)
    if moments.log_normal:
        _check_log_normal(cov)
    return Gaussians(mean, cov)


def _check_log_normal(cov: Full) -> None:
    """Refuse a mean and a covariance that no log-normal distribution has."""
    impossible = ~np.isfinite(cov.packed).all(axis=1)
    sample = int(impossible.argmax()) if impossible.any() else -1
    if sample < 0:
        sample, _ = first_indefinite(cov.packed, cov.n_features)
    if sample >= 0:
        raise ValueError(
            f"X: no log-normal distribution has the mean and the covariance of sample {sample}, whose "
            'values are too strongly anti-correlated; use method="first-order"'
        )
