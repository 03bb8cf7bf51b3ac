"""Gaussians through functions: to first order, by the derivative, or by points that are sent through.

The derivative is a linear map, so every kind of covariance carries it as it carries a matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data.covariances import Covariance, Diagonal, Full, LowRank
from ..support.arrays import blocks
from ..support.validation import Array, FloatArray, as_float_array, as_generator, check_count, check_finite
from .linear import JacobianMap, LinearMap, ScaleMap

METHODS = ("first-order", "unscented", "monte-carlo")
ROUNDING_STEP = float(np.cbrt(np.finfo(float).eps))  # of |x|: the best step of a central difference
STEP = 1e-3  # of a standard deviation, where that is longer


def evaluated(f: Callable[[Any], Any], X: FloatArray, name: str, owner: Any = None) -> FloatArray:
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

    def __init__(
        self, f: Callable[[Any], Any], X: FloatArray, outputs: int, name: str = "f", step: float = STEP
    ) -> None:
        self.f, self.X, self.step, self.called = f, X, step, name
        self.samples, self.features = X.shape
        self.outputs = outputs

    def rows(self, vectors: Array, owner: Array) -> Array:
        out = np.empty((len(vectors), self.outputs), dtype=vectors.dtype)
        for part in blocks(len(vectors), 4 * max(self.features, self.outputs)):
            own, v = owner[part], vectors[part].astype(np.float64)
            x = self.X[own]
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(v != 0, np.abs(x / v), np.inf).min(axis=1, initial=np.inf)
            h = np.maximum(self.step, ROUNDING_STEP * np.where(np.isinf(ratio), 0.0, ratio))[:, np.newaxis]
            ahead, behind = (evaluated(self.f, x + sign * h * v, self.called, own) for sign in (1, -1))
            out[part] = (ahead - behind) / (2 * h)
        return out


def derivative(
    f: Callable[[Any], Any], X: FloatArray, values: FloatArray, jacobian: Any = None, name: str = "f"
) -> LinearMap:
    """Return the derivative of f at the samples X, where f is `values`.

    It is given by `jacobian`, (l, m, n) or (l, n) or a function that makes it, or found by differences. If f
    treats each feature by itself the map is a scaling.
    """
    if jacobian is not None:
        return _given(jacobian, X, values)
    if is_elementwise(f, X, values):
        try:
            return elementwise_derivative(f, X, name)
        except ValueError:
            pass  # a noise-free value at the edge of the domain, which a DifferenceMap does not move
    return DifferenceMap(f, X, values.shape[1], name)


def elementwise_derivative(f: Callable[[Any], Any], X: FloatArray, name: str) -> ScaleMap:
    """Return the derivative of a function of each feature by itself."""
    h = small_steps(X)
    up = X + h
    down = X - h
    return ScaleMap((evaluated(f, up, name) - evaluated(f, down, name)) / (up - down))


def _given(jacobian: Any, X: FloatArray, values: FloatArray) -> LinearMap:
    J = as_float_array(jacobian(X.copy()) if callable(jacobian) else jacobian, "jacobian", (2, 3))
    full = (*values.shape, X.shape[1])
    fits = [full, X.shape] if values.shape == X.shape else [full]
    if J.shape not in fits:
        raise ValueError(f"jacobian: expected shape {' or '.join(map(str, fits))}, got {J.shape}")
    check_finite(J, "jacobian")
    if J.ndim == 3 and values.shape == X.shape:
        own = np.diagonal(J, axis1=1, axis2=2)
        if np.count_nonzero(J) == np.count_nonzero(own):  # each feature is a function of itself alone
            J = np.ascontiguousarray(own)
    return ScaleMap(J) if J.ndim == 2 else JacobianMap(J)


def is_elementwise(f: Callable[[Any], Any], X: FloatArray, values: FloatArray) -> bool:
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


def by_points(
    f: Callable[[Any], Any],
    X: FloatArray,
    cov: Covariance,
    method: str,
    draws: int = 1000,
    random_state: Any = 0,
    name: str = "f",
) -> tuple[FloatArray, Covariance]:
    """Return mean and covariance of f(x) from points of each sample: "unscented" or "monte-carlo".

    "unscented": x and x ± √(r + κ) g for the r directions g of a covariance, κ = max(3 - r, 0): exact means
    of polynomials of degree 3, and of degree 5 for a function of each independent feature by itself.
    "monte-carlo": `draws` in pairs on both sides of x.
    """
    (count, n), m = X.shape, evaluated(f, X[:1], name).shape[1]
    alone = cov.is_diagonal and is_elementwise(f, X, evaluated(f, X, name))
    rng = as_generator(random_state)
    pairs = -(-check_count(draws, "draws") // 2)
    mean = np.empty((count, m))
    pieces = []
    for part in blocks(count, max(n, m) * (2 * pairs if method == "monte-carlo" else 2 * n + 1)):
        rows = np.arange(part.start, part.stop)
        k, middle = len(rows), 0.0
        if method == "monte-carlo":
            away = cov.take(rows).noise(rng, (k, pairs, n))
        elif alone:
            away, middle = np.sqrt(3 * cov.take(rows).diagonals(k, n))[:, np.newaxis, :], 2 / 3
        else:
            away = cov.directions(part, n)
            r = away.shape[1]
            away, middle = np.sqrt(max(r, 3)) * away, max(3 - r, 0) / max(r, 3)
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
