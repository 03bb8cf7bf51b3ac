"""Gaussians through functions: to first order, by points that are sent through, or with exact moments.

The derivative is a linear map, so every kind of covariance carries it as it carries a matrix. Exact moments
are known for exp and square of Gaussians and for log of log-normal values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..data.covariances import Covariance, Diagonal, Full, LowRank
from ..data.covariances.full import first_indefinite
from ..data.gaussians import Gaussians
from ..support.arrays import blocks
from ..support.validation import Array, FloatArray
from .linear import LinearMap, ScaleMap

Function: TypeAlias = Callable[[FloatArray], Any]  # of samples (k, n), gives (k, m)
ROUNDING_STEP = float(np.cbrt(np.finfo(float).eps))  # of |x|: the best step of a central difference
STEP = 1e-3  # of a standard deviation, where that is longer


def evaluated(f: Function, X: FloatArray, name: str, owner: Array | None = None) -> FloatArray:
    """Return f(X), checked; `name` is what an error calls f, row k belongs to the sample `owner[k]`."""
    with np.errstate(divide="ignore", invalid="ignore"):  # what is not finite is named below
        values = np.asarray(f(X.copy()), dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(
            f"{name}: expected an array of shape ({len(X)}, m) for {len(X)} samples, got {values.shape}"
        )
    if len(values) != len(X):
        raise ValueError(f"{name}: returned {len(values)} rows for {len(X)} samples")
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        k, j = bad[0].tolist()
        raise ValueError(
            f"{name}: sample {k if owner is None else owner[k]} gives {values[k, j]} at output {j}; it must "
            "be finite there and nearby"
        )
    return values


class DifferenceMap(LinearMap):
    """x → J_i x for the derivative J_i of a function at each sample, by differences along given directions.

    Directions are those of the covariance, so that a step is a fraction of a standard deviation, and a
    covariance of few directions takes few evaluations.
    """

    exact = False

    def __init__(self, f: Function, X: FloatArray, outputs: int, name: str = "f", step: float = STEP) -> None:
        self.f = f
        self.X = X
        self.step = step
        self.called = name
        self.samples, self.features = X.shape
        self.outputs = outputs

    def rows(self, vectors: Array, owner: Array) -> Array:
        out = np.empty((len(vectors), self.outputs), dtype=vectors.dtype)
        for part in blocks(len(vectors), 4 * max(self.features, self.outputs)):
            own = owner[part]
            v = vectors[part].astype(np.float64)
            x = self.X[own]
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(v != 0, np.abs(x / v), np.inf).min(axis=1, initial=np.inf)
            h = np.maximum(self.step, ROUNDING_STEP * np.where(np.isinf(ratio), 0.0, ratio))[:, np.newaxis]
            ahead, behind = (evaluated(self.f, x + sign * h * v, self.called, own) for sign in (1, -1))
            out[part] = (ahead - behind) / (2 * h)
        return out


def derivative(
    f: Function,
    X: FloatArray,
    outputs: int,
    elementwise: bool,
    name: str = "f",
    step: float = STEP,
) -> LinearMap:
    """Return the derivative of f at the samples X by differences.

    The map is a scaling if f is `elementwise`. `step` is that of a `DifferenceMap`.
    """
    if elementwise:
        h = small_steps(X)
        up = X + h
        down = X - h
        try:
            return ScaleMap((evaluated(f, up, name) - evaluated(f, down, name)) / (up - down))
        except ValueError:
            pass  # a noise-free value at the edge of the domain, which a DifferenceMap does not move
    return DifferenceMap(f, X, outputs, name, step)


def is_elementwise(f: Function, X: FloatArray, values: FloatArray) -> bool:
    """Return whether, near each sample, every output depends on its own feature alone.

    Some features are moved and others not: the outputs of the former must be what they are when all are
    moved, and those of the latter what they are when none is. By the bits of their numbers, any two features
    are told apart in log2(n) evaluations.
    """
    n = X.shape[1]
    if values.shape != X.shape or n == 1:
        return values.shape == X.shape
    h = small_steps(X)
    try:
        with np.errstate(all="ignore"):
            all_moved = evaluated(f, X + h, "f")
            for bit in range((n - 1).bit_length()):
                moved = (np.arange(n) >> bit) % 2 == 1
                wanted = np.where(moved, all_moved, values)
                if not np.array_equal(evaluated(f, X + h * moved, "f"), wanted):
                    return False
    except ValueError:  # at the edge of where it is defined
        return False
    return True


def small_steps(X: FloatArray) -> FloatArray:
    """Return the best steps of central differences at X."""
    spread = X.std(axis=0)
    return np.asarray(ROUNDING_STEP * np.where(X != 0, np.abs(X), np.where(spread > 0, spread, 1.0)))


def unscented(f: Function, X: FloatArray, cov: Covariance, name: str = "f") -> tuple[FloatArray, Covariance]:
    """Return mean and covariance of f(x) from a few points of each sample, which are sent through f.

    The points are x and x ± √(r + κ) g for the r directions g of a covariance, κ = max(3 - r, 0): exact means
    of polynomials of degree 3, and of degree 5 for a function of each independent feature by itself.
    """
    count, n = X.shape
    m = evaluated(f, X[:1], name).shape[1]
    alone = cov.is_diagonal and is_elementwise(f, X, evaluated(f, X, name))
    mean = np.empty((count, m))
    pieces = []
    for part in blocks(count, max(n, m) * (2 * n + 1)):
        rows = np.arange(part.start, part.stop)
        k = len(rows)
        if alone:
            away = np.sqrt(3 * cov.take(rows).diagonals(k, n))[:, np.newaxis, :]
            middle = 2 / 3
        else:
            away = cov.directions(part, n)
            r = away.shape[1]
            away = np.sqrt(max(r, 3)) * away
            middle = max(3 - r, 0) / max(r, 3)
        x = X[part][:, np.newaxis, :]
        points = np.concatenate([x, x + away, x - away], axis=1)[:, 0 if middle else 1 :]
        owner = np.repeat(rows, points.shape[1])
        values = evaluated(f, points.reshape(-1, n), name, owner).reshape(k, -1, m)
        weights = np.full(points.shape[1], (1 - middle) / max(2 * away.shape[1], 1))
        weights[0] = middle or weights[0]
        mean[part] = np.einsum("r,krm->km", weights, values)
        factors = np.sqrt(weights)[:, np.newaxis] * (values - mean[part, np.newaxis])
        pieces.append(_compact(factors, alone))
    together = np.concatenate(pieces)
    if alone:
        return mean, Diagonal(together)
    return mean, LowRank(together) if together.ndim == 3 else Full.from_packed(together)


def _compact(factors: FloatArray, diagonal: bool) -> FloatArray:
    """Return FᵀF of factors (k, r, m) in the smallest form: variances (k, m), factors, or triangles."""
    _, r, m = factors.shape
    if diagonal:
        return np.asarray(np.square(factors).sum(axis=1))
    if 2 * r < m + 1:
        return factors
    row, column = np.triu_indices(m)
    return np.asarray(np.matmul(factors.transpose(0, 2, 1), factors)[:, row, column])


LN10 = float(np.log(10))


@dataclass(frozen=True)
class Moments:
    """Exact moments of a function of one value: its mean, and the covariance of two such values.

    `mean(m, v)` and `pair(c, m1, v1, m2, v2)` for means m, variances v and the covariance c.
    """

    mean: Callable[..., FloatArray]
    pair: Callable[..., FloatArray]
    log_normal: bool = False  # the values, not the results, are taken as log-normal


def _log_pair(c: FloatArray, m1: FloatArray, v1: FloatArray, m2: FloatArray, v2: FloatArray) -> FloatArray:
    return np.asarray(np.log1p(c / (m1 * m2)))


def _exp_pair(c: FloatArray, m1: FloatArray, v1: FloatArray, m2: FloatArray, v2: FloatArray) -> FloatArray:
    return np.asarray(np.exp(m1 + m2 + (v1 + v2) / 2) * np.expm1(c))


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


def moments_of(transformer: object) -> Moments | None:
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
