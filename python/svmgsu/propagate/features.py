"""Features of Gaussians and of mixtures with exact moments: Fourier, polynomials.

The RBF kernel is the Fourier transform of a normal distribution, its spectrum: the features cos(w·x)/√R and
sin(w·x)/√R of R frequencies w drawn from it have inner products that tend to the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _core
from ..data.covariances import Diagonal, Full
from ..data.gaussians import Gaussians
from ..data.mixtures import Mixtures
from ..support.memory import require_memory
from ..support.validation import Array, FloatArray

Spread: TypeAlias = Literal["none", "diagonal", "full"]
SPREADS = ("none", "diagonal", "full")
CHUNK = 2048  # samples at a time, between which Ctrl-C is heard


class FeatureMap:
    """z(X) of X ~ N(x, Σ), or of mixtures of such: means and covariances.

    Parameters
    ----------
    name : {"fourier", "polynomial"}
        A map of the core.
    made_of : array or int
        What it is made of: frequencies, or the number of inputs.
    """

    def __init__(self, name: str, made_of: FloatArray | int) -> None:
        self.name = name
        self.made_of = made_of
        self.core: _core.Map = getattr(_core, f"{name}_map")(made_of)

    def __reduce__(self) -> tuple[type[FeatureMap], tuple[str, FloatArray | int]]:
        return FeatureMap, (self.name, self.made_of)

    def mean(self, data: Gaussians | Mixtures, dtype: npt.DTypeLike = np.float64, threads: int = 0) -> Array:
        """Return E z of every sample, (l, m)."""
        out = np.empty((len(data), self.core.outputs), dtype=dtype)
        for rows, core, weights in _parts(data):
            _core.map_moments(self.core, core, weights, "none", out[rows], threads)
        return out

    def gaussians(
        self, data: Gaussians | Mixtures, spread: Spread, dtype: npt.DTypeLike = np.float64, threads: int = 0
    ) -> Gaussians:
        """Return E z with the covariance of z, of which `spread` says how much."""
        if spread == "none":
            return Gaussians(self.mean(data, dtype, threads))
        # What will not fit into memory is refused before any of it is made.
        m = self.core.outputs
        numbers = {"diagonal": m, "full": m * (m + 1) / 2}
        what = f"covariance: {spread!r} covariances of {m} features of {len(data)} samples"
        require_memory(8.0 * len(data) * numbers[spread], what)
        means = np.empty((len(data), m))
        found = [
            _core.map_moments(self.core, core, weights, spread, means[rows], threads)
            for rows, core, weights in _parts(data)
        ]
        mean = means.astype(dtype, copy=False)
        if spread == "diagonal":
            return Gaussians(mean, Diagonal(np.concatenate([variance for variance, _ in found])))
        return Gaussians(mean, Full.from_packed(np.concatenate([packed for _, packed in found])))


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
    return FeatureMap("fourier", np.ascontiguousarray(frequencies, dtype=np.float64))


def polynomial_map(features: int) -> FeatureMap:
    """Return the map to x_j and x_j x_k, in the order of `PolynomialFeatures` without the bias."""
    return FeatureMap("polynomial", features)


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
