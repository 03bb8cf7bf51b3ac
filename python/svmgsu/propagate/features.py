"""Features of Gaussians and of mixtures with exact moments: Fourier, landmarks, polynomials.

The RBF kernel is the Fourier transform of a normal distribution, its spectrum: the features cos(w·x)/√R and
sin(w·x)/√R of R frequencies w drawn from it have inner products that tend to the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _core
from ..data.covariances import Diagonal, Full, LowRank
from ..data.gaussians import Gaussians
from ..data.mixtures import Mixtures
from ..support.memory import require_memory
from ..support.validation import Array, FloatArray

Spread: TypeAlias = Literal["none", "diagonal", "lowrank", "full"]
SPREADS = ("none", "diagonal", "lowrank", "full")
CHUNK = 2048  # samples at a time, between which Ctrl-C is heard
SMALLEST = 1e-7  # eigenvalue of a kernel matrix


class FeatureMap:
    """z(X) of X ~ N(x, Σ), or of mixtures of such: means and covariances.

    Parameters
    ----------
    name : {"fourier", "landmark", "polynomial"}
        A map of the core.
    made_of : tuple
        What it is made of: frequencies; landmarks and T; the number of inputs.
    combine : array of shape (m, M), optional
        Makes m features of the core's M.
    """

    def __init__(self, name: str, made_of: tuple[object, ...], combine: FloatArray | None = None) -> None:
        self.name = name
        self.made_of = made_of
        self.combine = combine
        self.core: _core.Map = getattr(_core, f"{name}_map")(*made_of)

    def __reduce__(self) -> tuple[type[FeatureMap], tuple[object, ...]]:
        return FeatureMap, (self.name, self.made_of, self.combine)

    @property
    def outputs(self) -> int:
        """The number of features."""
        return int(self.core.outputs) if self.combine is None else len(self.combine)

    def mean(self, data: Gaussians | Mixtures, dtype: npt.DTypeLike = np.float64, threads: int = 0) -> Array:
        """Return E z of every sample, (l, m)."""
        out = np.empty((len(data), self.outputs), dtype=dtype)
        for rows, core, weights in _parts(data):
            if self.combine is None:
                _core.map_moments(self.core, core, weights, "none", out[rows], threads)
            else:
                raw = np.empty((rows.stop - rows.start, self.core.outputs))
                _core.map_moments(self.core, core, weights, "none", raw, threads)
                out[rows] = raw @ self.combine.T
        return out

    def gaussians(
        self, data: Gaussians | Mixtures, spread: Spread, dtype: npt.DTypeLike = np.float64, threads: int = 0
    ) -> Gaussians:
        """Return E z with the covariance of z, of which `spread` says how much."""
        if spread == "none":
            return Gaussians(self.mean(data, dtype, threads))
        self._require(data, spread)
        # What `combine` makes of variances needs all covariances.
        asked: Spread = "full" if self.combine is not None and spread == "diagonal" else spread
        means = np.empty((len(data), self.core.outputs))
        found = [
            _core.map_moments(self.core, core, weights, asked, means[rows], threads)
            for rows, core, weights in _parts(data)
        ]
        variance, packed, factors = (np.concatenate([part[k] for part in found]) for k in range(3))
        ranks = np.concatenate([np.diff(part[3]) for part in found])
        start = np.concatenate([[0], np.cumsum(ranks)])
        A = self.combine
        mean = (means if A is None else means @ A.T).astype(dtype, copy=False)
        if asked == "diagonal":
            return Gaussians(mean, Diagonal(variance))
        if asked == "lowrank":
            if A is None:
                return Gaussians(mean, LowRank(factors, diagonal=variance, start=start))
            return Gaussians(mean, LowRank(factors @ A.T, start=start) + Diagonal(variance).map(A))
        full = Full.from_packed(packed)
        cov = full if A is None else full.map(A)
        return Gaussians(mean, Diagonal(cov.diagonals(*mean.shape)) if spread == "diagonal" else cov)

    def _require(self, data: Gaussians | Mixtures, spread: Spread) -> None:
        """Refuse what will not fit into memory before any of it is made."""
        m = int(self.core.outputs)
        numbers = m * (m + 1) / 2
        if spread == "diagonal" and self.combine is None:
            numbers = m
        if spread == "lowrank":
            components = data.n_components if isinstance(data, Mixtures) else 1
            numbers = m * components * (1 + min(m, data.shape[1])) + (0 if self.combine is None else numbers)
        what = f"covariance: {spread!r} covariances of {m} features of {len(data)} samples"
        require_memory(8.0 * len(data) * numbers, what)


def _parts(data: Gaussians | Mixtures) -> Iterator[tuple[slice, _core.Gaussians, FloatArray | None]]:
    """Yield the core's views of some samples at a time: (rows, Gaussians, weights of a mixture or None)."""
    count, n = data.shape
    chunks = [slice(first, min(count, first + CHUNK)) for first in range(0, count, CHUNK)]
    if isinstance(data, Gaussians):
        terms = () if data.cov is None else data.cov.terms(count, n, None)
        means = data.core_means()
        for rows in chunks:
            chosen = None if len(chunks) == 1 else np.arange(rows.start, rows.stop, dtype=np.int64)
            yield rows, _core.Gaussians(means, terms, chosen), None
        return
    for rows in chunks:
        mean = np.ascontiguousarray(data.mean[rows].reshape(-1, n), dtype=np.float64)
        if data.is_diagonal:
            kind = _core.diagonal(np.ascontiguousarray(data.cov[rows].reshape(-1, n), dtype=np.float64))
        else:
            full = np.ascontiguousarray(data.cov[rows].reshape(-1, n, n), dtype=np.float64)
            packed = np.empty((len(full), n * (n + 1) // 2))
            _core.pack(full, np.inf, packed)
            kind = _core.full(packed, n)
        weights = np.ascontiguousarray(data.weights[rows], dtype=np.float64)
        yield rows, _core.Gaussians(_core.dense_means(mean), ((kind, 1.0),)), weights


def fourier_map(frequencies: FloatArray) -> FeatureMap:
    """Return the map to cos and sin of each row of `frequencies`."""
    return FeatureMap("fourier", (np.ascontiguousarray(frequencies, dtype=np.float64),))


def polynomial_map(features: int) -> FeatureMap:
    """Return the map to x_j and x_j x_k, in the order of `PolynomialFeatures` without the bias."""
    return FeatureMap("polynomial", (features,))


def landmark_map(landmarks: FloatArray, gamma: float) -> FeatureMap:
    """Return the map to K^(-½) k(x, c) of the landmarks c, K the kernel exp(-γ‖x - c‖²) among them."""
    T = np.sqrt(2 * gamma) * np.eye(landmarks.shape[1])
    # Without their mean: an offset would cost digits of the distances.
    c = (landmarks - landmarks.mean(axis=0)) @ T.T
    norms = (c**2).sum(axis=1)
    kernel = np.exp(-0.5 * np.maximum(norms[:, np.newaxis] + norms - 2 * c @ c.T, 0.0))
    np.fill_diagonal(kernel, 1.0)
    # As in scikit-learn's Nystroem, but with larger eigenvalues at the least: second moments of the features
    # have K^(-1) around the rounding errors of E kkᵀ, and 1e-12 would leave four digits.
    values, vectors = np.linalg.eigh(kernel)
    root = (vectors / np.sqrt(np.maximum(values, SMALLEST))) @ vectors.T
    made_of = (np.ascontiguousarray(landmarks, dtype=np.float64), np.ascontiguousarray(T))
    return FeatureMap("landmark", made_of, np.asarray(root))


def spectrum(count: int, features: int, rng: np.random.Generator) -> FloatArray:
    """Draw `count` frequencies of the RBF kernel exp(-‖x - x′‖²), (count, features).

    Their directions are at right angles within each set of `features`, and their lengths as if drawn one by
    one, which spreads them more evenly.
    """
    sets = [_rotation(features, rng) for _ in range(-(-count // features))]
    directions = np.concatenate(sets)[:count]
    lengths = np.sqrt(rng.chisquare(features, count))[:, np.newaxis]
    return np.asarray(np.sqrt(2.0) * (directions * lengths))


def _rotation(n: int, rng: np.random.Generator) -> FloatArray:
    q, r = np.linalg.qr(rng.standard_normal((n, n)))
    return np.asarray(q * np.sign(np.diagonal(r)))
