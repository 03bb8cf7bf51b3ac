"""Gaussians through functions: to first order, by points that are sent through, or with exact moments.

The derivative is a linear map, so every kind of covariance carries it as it carries a matrix. Exact moments
are known for exp and square of Gaussians and for log of log-normal values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ..data.covariances import Covariance, Diagonal, Full, LowRank
from ..data.covariances.full import first_indefinite
from ..data.gaussians import Gaussians
from ..support.arrays import blocks
from ..support.validation import Array, ArrayLike, FloatArray
from .linear import LinearMap, scale_map

Function: TypeAlias = Callable[[FloatArray], ArrayLike]  # of samples (k, n), gives (k, m)
ROUNDING_STEP = float(np.cbrt(np.finfo(float).eps))  # of |x|: the best step of a central difference
STEP = 1e-5  # of a standard deviation, where that is longer: the derivative is exact up to rounding


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

    def __init__(self, f: Function, X: FloatArray, outputs: int, name: str) -> None:
        self.f = f
        self.X = X
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
            h = np.maximum(STEP, ROUNDING_STEP * np.where(np.isinf(ratio), 0.0, ratio))[:, np.newaxis]
            ahead, behind = (evaluated(self.f, x + sign * h * v, self.called, own) for sign in (1, -1))
            out[part] = (ahead - behind) / (2 * h)
        return out


def derivative(f: Function, X: FloatArray, outputs: int, elementwise: bool, name: str) -> LinearMap:
    """Return the derivative of f at the samples X by differences: factors if f is `elementwise`."""
    if elementwise:
        h = small_steps(X)
        up = X + h
        down = X - h
        try:
            return scale_map((evaluated(f, up, name) - evaluated(f, down, name)) / (up - down))
        except ValueError:
            pass  # a noise-free value at the edge of the domain, which a DifferenceMap does not move
    return DifferenceMap(f, X, outputs, name)


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


def unscented(f: Function, X: FloatArray, cov: Covariance, name: str) -> tuple[FloatArray, Covariance]:
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
        # The smallest form of FᵀF: variances, factors, or triangles.
        if alone:
            pieces.append(np.square(factors).sum(axis=1))
        elif 2 * factors.shape[1] < m + 1:
            pieces.append(factors)
        else:
            row, column = np.triu_indices(m)
            pieces.append((factors.transpose(0, 2, 1) @ factors)[:, row, column])
    together = np.concatenate(pieces)
    if alone:
        return mean, Diagonal(together)
    return mean, LowRank(together) if together.ndim == 3 else Full.from_packed(together)


LN10 = float(np.log(10))
EXACT = "np.log, np.log10, np.exp, np.square or scipy.special.exp10"
# The mean of a function from a value's mean and variance; the covariance of two from that of the values, the
# product of their means, and the product of the means found.
Moments: TypeAlias = tuple[Callable[..., FloatArray], Callable[..., FloatArray]]


def _known_moments(func: object) -> Moments | None:
    """Return exact moments: of exp and square of normal values, and of log of log-normal values.

    The logarithm of a log-normal value of mean m and variance v is N(log m - ½ log(1 + v/m²), log(1 + v/m²)),
    and exp brings m and v back.
    """
    from scipy.special import exp10

    unit = LN10 if func is np.log10 or func is exp10 else 1.0
    if func is np.exp or func is exp10:
        return lambda m, v: np.exp(unit * m + unit**2 * v / 2), lambda c, mm, ee: ee * np.expm1(unit**2 * c)
    if func is np.log or func is np.log10:
        return (
            lambda m, v: (np.log(m) - np.log1p(v / m**2) / 2) / unit,
            lambda c, mm, ee: np.log1p(c / mm) / unit**2,
        )
    if func is np.square:
        return lambda m, v: m**2 + v, lambda c, mm, ee: 2 * c**2 + 4 * mm * c
    return None


def exact_moments(data: Gaussians, func: object) -> Gaussians | None:
    """Return mean and covariance of a function of each value, or None if they are not known."""
    known = _known_moments(func)
    if known is None:
        return None
    mean_of, pair_of = known
    assert data.cov is not None
    count, n = data.shape
    m = data.mean.astype(np.float64)
    v = data.cov.diagonals(count, n)
    mean = mean_of(m, v)
    if data.cov.is_diagonal:
        return Gaussians(mean, Diagonal(pair_of(v, m * m, mean * mean)))
    row, column = np.triu_indices(n)
    packed = np.empty((count, len(row)))
    for part in blocks(count, n * n):
        c = data.cov.matrices(part, n)[:, row, column]
        products = (a[part][:, row] * a[part][:, column] for a in (m, mean))
        with np.errstate(invalid="ignore", divide="ignore"):
            packed[part] = pair_of(c, *products)
    impossible = ~np.isfinite(packed).all(axis=1)
    sample = int(impossible.argmax()) if impossible.any() else first_indefinite(packed, n)[0]
    if sample >= 0 and (func is np.log or func is np.log10):
        raise ValueError(
            f"X: no log-normal distribution has the mean and the covariance of sample {sample}, whose "
            'values are too strongly anti-correlated; use method="first-order"'
        )
    return Gaussians(mean, Full.from_packed(packed))
