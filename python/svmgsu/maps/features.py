"""Features of Gaussians and of mixtures with exact moments: what every map of the core is used through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import numpy as np

from .. import _core
from ..data.covariances import Diagonal, Full, LowRank
from ..data.gaussians import Gaussians
from ..data.mixtures import Mixtures
from ..support.memory import require_memory
from ..support.validation import Array, FloatArray

Spread: TypeAlias = Literal["none", "diagonal", "lowrank", "full"]
SPREADS = ("none", "diagonal", "lowrank", "full")
CHUNK = 2048  # examples, or mixtures whose matrices are packed, at a time


class FeatureMap:
    """z(X) of X ~ N(x, Σ), or of mixtures of such: means, covariances, and what follows for f = w·z.

    Parameters
    ----------
    name : {"fourier", "landmarks", "polynomial"}
        A map of the core.
    made_of : tuple
        What it is made of: frequencies; landmarks and T; the number of inputs.
    combine : array of shape (m, M), optional
        Makes m features of the core's M.
    """

    def __init__(self, name: str, made_of: tuple[Any, ...], combine: FloatArray | None = None) -> None:
        self.name, self.made_of, self.combine = name, made_of, combine
        make: Any = getattr(_core, {"landmarks": "landmark_map"}.get(name, f"{name}_map"))
        self.core = make(*made_of)

    def __reduce__(self) -> Any:
        return FeatureMap, (self.name, self.made_of, self.combine)

    @property
    def outputs(self) -> int:
        """The number of features."""
        return int(self.core.outputs) if self.combine is None else len(self.combine)

    def mean(self, data: Any, dtype: Any = np.float64, threads: int = 0) -> Array:
        """E z of every example, (l, m)."""
        out = np.empty((len(data), self.outputs), dtype=dtype)
        for rows, core, weights in parts(data):
            if self.combine is None:
                _core.map_moments(self.core, core, weights, "none", out[rows], threads)
            else:
                raw = np.empty((rows.stop - rows.start, self.core.outputs))
                _core.map_moments(self.core, core, weights, "none", raw, threads)
                out[rows] = raw @ self.combine.T
        return out

    def gaussians(self, data: Any, spread: Spread, dtype: Any = np.float64, threads: int = 0) -> Gaussians:
        """E z with the covariance of z as a kind."""
        if spread == "none":
            return Gaussians(self.mean(data, dtype, threads))
        self._require(data, spread)
        found = []
        means = np.empty((len(data), self.core.outputs))
        for rows, core, weights in parts(data):
            inner: Spread = "full" if self.combine is not None and spread == "diagonal" else spread
            found.append(_core.map_moments(self.core, core, weights, inner, means[rows], threads))
        variance, packed, factors = (np.concatenate([part[k] for part in found]) for k in range(3))
        start = joined_starts([part[3] for part in found])
        if self.combine is not None:
            return self._combined(means, spread, variance, packed, factors, start)
        mean = means.astype(dtype, copy=False)
        if spread == "diagonal":
            return Gaussians(mean, Diagonal(variance))
        if spread == "lowrank":
            return Gaussians(mean, LowRank(factors, diagonal=variance, start=start))
        return Gaussians(mean, Full.from_packed(packed))

    def _combined(
        self, means: Any, spread: Spread, variance: Any, packed: Any, factors: Any, start: Any
    ) -> Gaussians:
        """Mean and covariance after `combine`, which mixes the features: what was diagonal is so no more."""
        A = self.combine
        assert A is not None
        mean = means @ A.T
        if spread == "lowrank":
            cov = LowRank(factors @ A.T, start=start) + Diagonal(variance).map(A)
            return Gaussians(mean, cov)
        full = Full.from_packed(packed).map(A)
        if spread == "full":
            return Gaussians(mean, full)
        return Gaussians(mean, Diagonal(np.maximum(full.diagonals(len(mean), len(A)), 0.0)))

    def _require(self, data: Any, spread: Spread) -> None:
        """Refuses what will not fit into memory before any of it is made."""
        count, m, n = len(data), int(self.core.outputs), int(data.shape[1])
        k = data.weights.shape[1] if is_mixtures(data) else 1
        of_full = "diagonal" if self.combine is None else "full"
        numbers = {
            "diagonal": m if of_full == "diagonal" else m * (m + 1) / 2,
            "lowrank": m * (1 + k * (min(m, n) + (k > 1))) + (m * m / 2 if self.combine is not None else 0),
            "full": m * (m + 1) / 2,
        }[spread]
        require_memory(
            8.0 * count * numbers,
            f"covariance: {spread!r} covariances of {m} features of {count} examples",
        )

    def second_moments(
        self, data: Any, targets: FloatArray, counts: FloatArray | None = None, threads: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """Σ c E[u uᵀ] with u = (z, 1), and Σ c E[u] yᵀ for `targets` y, (l, outputs); c are the `counts`."""
        m = int(self.core.outputs)
        gram, cross = np.zeros((m + 1, m + 1)), np.zeros((m + 1, targets.shape[1]))
        for rows, core, weights in parts(data):
            y = np.ascontiguousarray(targets[rows].T, dtype=np.float64)
            c = None if counts is None else np.ascontiguousarray(counts[rows], dtype=np.float64)
            more = _core.second_moments(self.core, core, weights, c, y, threads)
            gram += more[0]
            cross += more[1]
        if self.combine is None:
            return gram, cross
        A = np.zeros((self.outputs + 1, m + 1))
        A[:-1, :-1], A[-1, -1] = self.combine, 1.0
        return A @ gram @ A.T, A @ cross

    def scores(self, data: Any, w: FloatArray, threads: int = 0) -> tuple[FloatArray, FloatArray]:
        """E f and Var f of f = w·z for each row of w: (l, rows) each."""
        raw = self._raw(w)
        found = [_core.map_scores(self.core, core, weights, raw, threads) for _, core, weights in parts(data)]
        return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])

    def gradient_outer_product(
        self, data: Any, w: FloatArray, counts: FloatArray | None = None, threads: int = 0
    ) -> FloatArray:
        """Σ c g gᵀ over the examples and the rows of w, g = E ∇f: in which directions f changes."""
        raw, n = self._raw(w), int(self.core.inputs)
        total = np.zeros((n, n))
        for rows, core, weights in parts(data):
            c = None if counts is None else np.ascontiguousarray(counts[rows], dtype=np.float64)
            total += _core.gradient_outer_product(self.core, core, weights, c, raw, threads)
        return total

    def _raw(self, w: FloatArray) -> FloatArray:
        """Weights of the features as weights of the core's."""
        w = np.asarray(w, dtype=np.float64)
        return np.ascontiguousarray(w if self.combine is None else w @ self.combine)


def is_mixtures(data: Any) -> bool:
    """Whether each example is a mixture of Gaussians, and not one."""
    return isinstance(data, Mixtures)


def parts(data: Any) -> Iterator[tuple[slice, Any, FloatArray | None]]:
    """The core's views of the examples: (rows, Gaussians, weights of a mixture's components or None).

    They come in chunks, between which Ctrl-C is heard, and mixtures' matrices are packed.
    """
    count = len(data)
    if not is_mixtures(data):
        step = CHUNK
        terms = () if data.cov is None else data.cov.terms(*data.shape, None)
        means = data.core_means()
        for first in range(0, count, step):
            rows = slice(first, min(count, first + step))
            chosen = None if step >= count else np.arange(rows.start, rows.stop, dtype=np.int64)
            yield rows, _core.Gaussians(means, terms, chosen), None
        return
    n = data.mean.shape[2]
    for first in range(0, count, CHUNK):
        rows = slice(first, min(count, first + CHUNK))
        mean = np.ascontiguousarray(data.mean[rows].reshape(-1, n), dtype=np.float64)
        terms = ((_core_of(data.cov[rows], n), 1.0),)
        yield (
            rows,
            _core.Gaussians(_core.dense_means(mean), terms),
            np.ascontiguousarray(data.weights[rows], dtype=np.float64),
        )


def _core_of(cov: Array, n: int) -> Any:
    """Variances (l, K, n) or matrices (l, K, n, n) of components as a kind of the core."""
    if cov.ndim == 3:
        return _core.diagonal(np.ascontiguousarray(cov.reshape(-1, n), dtype=np.float64))
    full = np.ascontiguousarray(cov.reshape(-1, n, n), dtype=np.float64)
    packed = np.empty((len(full), n * (n + 1) // 2))
    _core.pack(full, np.inf, packed)
    return _core.full(packed, n)


def joined_starts(starts: list[Array]) -> Array:
    """Where rows of factors begin, of pieces one after the other."""
    out = [np.zeros(1, dtype=np.int64)]
    for start in starts:
        if len(start):
            out.append(start[1:] + out[-1][-1])
    return np.concatenate(out)
