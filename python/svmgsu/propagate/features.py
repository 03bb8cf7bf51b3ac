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
KERNELS = ("rbf", "laplace", "matern")
CHUNK = 2048  # samples, or mixtures whose matrices are packed, at a time


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
        """E z of every sample, (l, m)."""
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
            f"covariance: {spread!r} covariances of {m} features of {count} samples",
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
        """Σ c g gᵀ over the samples and the rows of w, g = E ∇f: in which directions f changes."""
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
    """Whether each sample is a mixture of Gaussians, and not one."""
    return isinstance(data, Mixtures)


def parts(data: Any) -> Iterator[tuple[slice, Any, FloatArray | None]]:
    """The core's views of the samples: (rows, Gaussians, weights of a mixture's components or None).

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

    "median" is 1/(2 d²) with d the median distance of pairs of samples.
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


def landmark_map(
    landmarks: FloatArray, gamma: float, metric: FloatArray | None = None, *, exact: bool = False
) -> FeatureMap:
    """K^(-½) k(x, c) of the landmarks c, K the kernel among them, of exp(-γ‖A(x - c)‖²).

    Parameters
    ----------
    landmarks : array of shape (M, n)
    gamma : float
    metric : array of shape (p, n), optional
        A; by default the identity.
    exact : bool, default=False
        L⁻¹ k(x, c) with K = LLᵀ instead: the landmarks themselves have the rows of L as features.
    """
    n = landmarks.shape[1]
    T = np.sqrt(2 * gamma) * (np.eye(n) if metric is None else metric)
    made_of = (np.ascontiguousarray(landmarks, dtype=np.float64), np.ascontiguousarray(T))
    c = (landmarks - landmarks.mean(axis=0)) @ T.T  # else an offset would take the digits of distances
    norms = (c**2).sum(axis=1)
    kernel = np.exp(-0.5 * np.maximum(norms[:, np.newaxis] + norms - 2 * c @ c.T, 0.0))
    np.fill_diagonal(kernel, 1.0)
    return FeatureMap("landmarks", made_of, _inverse_cholesky(kernel) if exact else _inverse_root(kernel))


def _inverse_root(kernel: FloatArray) -> FloatArray:
    """K^(-½), as in scikit-learn's Nystroem, but with eigenvalues of 1e-7 at the least.

    Second moments of features have K^(-1) around the rounding of E kkᵀ: with 1e-12 there would be nothing
    left but four digits, and negative eigenvalues far beyond λ.
    """
    values, vectors = np.linalg.eigh(kernel)
    return np.asarray((vectors / np.sqrt(np.maximum(values, 1e-7))) @ vectors.T)


def _inverse_cholesky(kernel: FloatArray) -> FloatArray:
    """L⁻¹ with LLᵀ = K, to which as little is added as the Cholesky decomposition needs."""
    from scipy.linalg import LinAlgError, cholesky, solve_triangular

    eye = np.eye(len(kernel))
    for jitter in (0.0, 1e-12, 1e-10, 1e-8):
        try:
            lower = cholesky(kernel + jitter * eye, lower=True)
        except LinAlgError:
            continue
        return np.asarray(solve_triangular(lower, eye, lower=True))
    raise ValueError("gamma: the kernel matrix of the samples is not positive definite; take a larger gamma")


def choose_landmarks(X: FloatArray, count: int, how: str, rng: np.random.Generator) -> FloatArray:
    """`count` landmarks for the rows of X: centres of "kmeans", or rows "drawn" at random."""
    if how not in ("kmeans", "drawn"):
        raise ValueError(f'landmarks: expected "kmeans", "drawn" or an array, got {how!r}')
    if how == "drawn" or len(X) <= count:
        return np.asarray(X[np.sort(rng.permutation(len(X))[:count])])
    from sklearn.cluster import MiniBatchKMeans

    seed = int(rng.integers(2**31 - 1))
    inner: Any = MiniBatchKMeans(count, random_state=seed, n_init=1, batch_size=max(1024, 4 * count))
    return np.asarray(inner.fit(X).cluster_centers_)


def polynomial_map(features: int) -> FeatureMap:
    """x_j and x_j x_k, in the order of scikit-learn's `PolynomialFeatures` without the bias."""
    return FeatureMap("polynomial", (features,))
