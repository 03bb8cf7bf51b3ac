"""Frequencies of shift-invariant kernels, and the Fourier features that they make.

A kernel k(x - x′) is the Fourier transform of a probability, its spectrum: the features cos(w·x)/√R and
sin(w·x)/√R of R frequencies w drawn from it have inner products that tend to k.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..support.validation import FloatArray
from .features import FeatureMap

KERNELS = ("rbf", "laplace", "matern")


def fourier_map(frequencies: FloatArray) -> FeatureMap:
    """cos and sin of each row of `frequencies`."""
    return FeatureMap("fourier", (np.ascontiguousarray(frequencies, dtype=np.float64),))


def spectrum(
    kernel: str,
    count: int,
    features: int,
    rng: np.random.Generator,
    *,
    nu: float = 1.5,
    orthogonal: bool = True,
) -> FloatArray:
    """`count` frequencies of a kernel with γ = 1, (count, features); see `factor_of` for another γ.

    "rbf" is exp(-γ‖x - x′‖²), whose spectrum is normal. "matern" is Matérn's with a length of 1/√(2γ) and
    smoothness `nu`, whose spectrum is Student's t of 2ν degrees of freedom; as ν grows it becomes the RBF's.
    "laplace" is exp(-γ Σ|x_j - x_j′|), whose spectrum is one of Cauchy for each feature.

    `orthogonal` frequencies, of the first two, have directions at right angles within each set of `features`,
    and lengths as if drawn one by one, which spreads them more evenly.
    """
    if kernel == "laplace":
        return rng.standard_cauchy((count, features))
    if orthogonal:
        sets = [_rotation(features, rng) for _ in range(-(-count // features))]
        directions = np.concatenate(sets)[:count]
        frequencies = directions * np.sqrt(rng.chisquare(features, count))[:, np.newaxis]
    else:
        frequencies = rng.standard_normal((count, features))
    if kernel == "matern":
        frequencies /= np.sqrt(rng.chisquare(2 * nu, count) / (2 * nu))[:, np.newaxis]
    return np.asarray(np.sqrt(2.0) * frequencies)


def factor_of(kernel: str, gamma: float) -> float:
    """What the frequencies of γ = 1 are multiplied by."""
    return float(gamma if kernel == "laplace" else np.sqrt(gamma))


def _rotation(n: int, rng: np.random.Generator) -> FloatArray:
    q, r = np.linalg.qr(rng.standard_normal((n, n)))
    return np.asarray(q * np.sign(np.diagonal(r)))


def frequencies_of_scales(
    kernel: str, count: int, gammas: Any, features: int, rng: np.random.Generator, **options: Any
) -> FloatArray:
    """`count` frequencies, shared out evenly among the `gammas`."""
    shares = np.diff(np.linspace(0, count, len(gammas) + 1).round().astype(int))
    return np.concatenate(
        [
            factor_of(kernel, gamma) * spectrum(kernel, int(share), features, rng, **options)
            for gamma, share in zip(gammas, shares, strict=True)
            if share
        ]
    )


def resolve_gammas(gamma: Any, X: FloatArray, rng: np.random.Generator) -> list[float]:
    """`gamma` as numbers > 0: itself or a list of them, "scale" (1/(n Var X)) or "median".

    "median" is 1/(2 d²) with d the median distance of pairs of examples.
    """
    if isinstance(gamma, str):
        if gamma not in ("scale", "median"):
            raise ValueError(f'gamma: expected "scale", "median", a number or a list of them, got {gamma!r}')
        with np.errstate(over="ignore", invalid="ignore"):
            if gamma == "scale":
                spread = float(X.var()) * X.shape[1]
            else:
                pairs = rng.integers(len(X), size=(2, 4000))
                squares = ((X[pairs[0]] - X[pairs[1]]) ** 2).sum(axis=1)
                squares = squares[squares > 0]
                spread = 2 * float(np.median(squares)) if len(squares) else 0.0
        low, high = float(X.min()), float(X.max())
        if not spread < 1e300 or (spread < 1e-300 and low < high):
            raise ValueError(
                f"gamma: {gamma!r} is no number for values from {low:g} to {high:g}; take another unit"
            )
        return [1 / spread if spread > 0 else 1.0]
    values = np.atleast_1d(np.asarray(gamma, dtype=object)).tolist()
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError):
        raise TypeError(
            f'gamma: expected "scale", "median", a number or a list of them, got {gamma!r}'
        ) from None
    if not numbers or not all(0 < value < np.inf for value in numbers):
        raise ValueError(f"gamma: must be > 0 and finite, got {gamma!r}")
    return numbers


def metric_of(outer_product: FloatArray) -> FloatArray:
    """A = (mean ∇f∇fᵀ)^¼, scaled to ‖A‖² = n: distances count in directions in which f changes."""
    n = len(outer_product)
    values, vectors = np.linalg.eigh((outer_product + outer_product.T) / 2)
    roots = np.maximum(values, 0.0) ** 0.25
    total = float((roots**2).sum())
    if not total > 0:
        return np.eye(n)
    return np.asarray((vectors * roots * np.sqrt(n / total)) @ vectors.T)
