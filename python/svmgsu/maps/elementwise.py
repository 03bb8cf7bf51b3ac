"""Functions of one value, by name: derivatives, inverses, where they are defined, exact moments if known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.covariances import Diagonal, Full
from ..data.gaussians import Gaussians
from ..support.validation import place
from .linear import blocks

LN10 = float(np.log(10))


@dataclass(frozen=True)
class Moments:
    """Exact moments of a function of one value: its mean, and the covariance of two such values.

    `mean(m, v)` and `pair(c, m1, v1, m2, v2)` for means m, variances v and the covariance c.
    """

    mean: Callable[..., Any]
    pair: Callable[..., Any]


def _log_pair(c: Any, m1: Any, v1: Any, m2: Any, v2: Any) -> Any:
    return np.log1p(c / (m1 * m2))


def _exp_pair(c: Any, m1: Any, v1: Any, m2: Any, v2: Any) -> Any:
    return np.exp(m1 + m2 + (v1 + v2) / 2) * np.expm1(c)


# A positive value of mean m and variance v, taken as log-normal: its logarithm is the Gaussian
# N(log m - ½ log(1 + v/m²), log(1 + v/m²)), and exp brings the moments m and v back.
LOG = Moments(lambda m, v: np.log(m) - np.log1p(v / m**2) / 2, _log_pair)
EXP = Moments(lambda m, v: np.exp(m + v / 2), _exp_pair)
LOG10 = Moments(lambda m, v: LOG.mean(m, v) / LN10, lambda *a: _log_pair(*a) / LN10**2)
EXP10 = Moments(
    lambda m, v: EXP.mean(LN10 * m, LN10**2 * v),
    lambda c, m1, v1, m2, v2: _exp_pair(LN10**2 * c, LN10 * m1, LN10**2 * v1, LN10 * m2, LN10**2 * v2),
)
SQUARE = Moments(lambda m, v: m**2 + v, lambda c, m1, v1, m2, v2: 2 * c**2 + 4 * m1 * m2 * c)


@dataclass(frozen=True)
class Function:
    """A function of one value, with its derivative, its inverse by name, and where it is defined."""

    value: Callable[[Any], Any]
    derivative: Callable[[Any], Any]
    inverse: str | None
    above: float = -np.inf
    below: float = np.inf
    moments: Moments | None = None


def _expit(x: Any) -> Any:
    return np.exp(-np.logaddexp(0, -x))


FUNCTIONS = {
    "identity": Function(lambda x: x, np.ones_like, "identity"),
    "log": Function(np.log, lambda x: 1 / x, "exp", above=0.0, moments=LOG),
    "log10": Function(np.log10, lambda x: 1 / (LN10 * x), "exp10", above=0.0, moments=LOG10),
    "sqrt": Function(np.sqrt, lambda x: 0.5 / np.sqrt(x), "square", above=0.0),
    "logit": Function(lambda x: np.log(x) - np.log1p(-x), lambda x: 1 / (x * (1 - x)), "expit", 0.0, 1.0),
    "exp": Function(np.exp, np.exp, "log", moments=EXP),
    "exp10": Function(lambda x: 10.0**x, lambda x: LN10 * 10.0**x, "log10", moments=EXP10),
    "expit": Function(_expit, lambda x: _expit(x) * _expit(-x), "logit"),
    "square": Function(np.square, lambda x: 2 * x, None, moments=SQUARE),
}


def check_domain(data: Gaussians, name: str, function: Function) -> None:
    """Refuses means where the function, or for uncertain ones its derivative, does not exist."""
    mean = data.mean
    edge_is_fine = name == "sqrt" and data.cov is None
    outside = (mean < function.above) if edge_is_fine else (mean <= function.above)
    outside |= mean >= function.below
    if outside.any():
        first = int(outside.argmax())
        wanted = f"{'>=' if edge_is_fine else '>'} {function.above:g}"
        wanted += "" if np.isinf(function.below) else f" and < {function.below:g}"
        # scikit-learn looks for its own words where a tag says that only positive values are taken.
        negative = " (Negative values in data passed to a transformer of positive ones)"
        raise ValueError(
            f"X: {place(first, mean.shape)} is {mean.flat[first]:g}; {name!r} needs values {wanted}"
            + (negative if mean.flat[first] < 0 else "")
        )


def exact_moments(data: Gaussians, name: str) -> Gaussians:
    """Mean and covariance of a function of each value, by its name; independent values stay independent."""
    moments = FUNCTIONS[name].moments
    assert data.cov is not None and moments is not None
    count, n = data.shape
    m = data.mean.astype(np.float64)
    v = data.cov.diagonals(count, n)
    mean = moments.mean(m, v)
    if data.cov.is_diagonal:
        return Gaussians(mean, Diagonal(moments.pair(v, m, v, m, v)))
    row, column = np.triu_indices(n)
    packed = np.empty((count, len(row)))
    for part in blocks(count, n * n):
        c = data.cov.triangles(part, n)
        with np.errstate(invalid="ignore", divide="ignore"):
            packed[part] = moments.pair(
                c, m[part][:, row], v[part][:, row], m[part][:, column], v[part][:, column]
            )
    cov = Full.from_packed(packed)
    if name.startswith("log"):
        _check_log_normal(cov)
    return Gaussians(mean, cov)


def _check_log_normal(cov: Full) -> None:
    """Not every mean and covariance are those of a log-normal distribution."""
    impossible = ~np.isfinite(cov.packed).all(axis=1)
    example = int(impossible.argmax()) if impossible.any() else -1
    if example < 0:
        example, _ = cov.indefinite()
    if example >= 0:
        raise ValueError(
            f"X: no log-normal distribution has the mean and the covariance of example {example}, whose "
            'values are too strongly anti-correlated; use method="first-order"'
        )
