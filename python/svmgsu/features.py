"""Feature maps for nonlinear models: features of Gaussians and mixtures whose moments are exact.

They take points, `Gaussians` of any kind and `Mixtures`, and give `Gaussians` of features.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .data.gaussians import Gaussians
from .data.mixtures import Mixtures
from .estimators.propagate import GaussianTransformer
from .propagate.features import (
    KERNELS,
    SPREADS,
    FeatureMap,
    Spread,
    fourier_map,
    landmark_map,
    polynomial_map,
    spectrum,
)
from .support.validation import (
    Array,
    ArrayLike,
    FloatArray,
    RandomState,
    as_float_array,
    check_choice,
    check_count,
    check_finite,
    check_positive,
)

__all__ = ["FourierFeatures", "Landmarks", "Polynomial"]


def __dir__() -> list[str]:
    return sorted(__all__)


class FeatureTransformer(GaussianTransformer):
    """A transformer made of a `FeatureMap`: `_fit` sets `map_`."""

    takes_sparse = False
    covariance: str
    map_: FeatureMap

    def fit(self, X: ArrayLike, y: ArrayLike = None, cov: ArrayLike = None, std: ArrayLike = None) -> Any:
        """Learn from X.

        Parameters
        ----------
        X : array, DataFrame, Gaussians or Mixtures
            The samples.
        y : ignored
            Not used, present for scikit-learn.
        cov, std : optional
            The covariance or the standard deviations of an array X, as in `svmgsu.Gaussians`.
        """
        check_choice(self.covariance, "covariance", SPREADS)
        if isinstance(X, Mixtures):
            self._check_mixtures(X, cov, std, reset=True)
            self._fit(X, y)  # type: ignore[arg-type]
        else:
            super().fit(X, y, cov, std)
        self._n_features_out = self.map_.outputs
        return self

    def transform(self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None) -> Any:
        """Return E z of X, with the covariance that `covariance` asks for.

        Points that come as an array become an array; `Gaussians`, `Mixtures`, and arrays with `cov` or `std`
        become `Gaussians`.
        """
        if not isinstance(X, Mixtures):
            return super().transform(X, cov, std)
        check_is_fitted(self)
        self._check_mixtures(X, cov, std, reset=False)
        return self.map_.gaussians(X, cast(Spread, self.covariance))

    def _carry(self, data: Gaussians) -> Gaussians:
        if data.test_noise is not None:
            raise ValueError(
                f"X: {type(self).__name__} is not linear and cannot carry test-time noise; add it to the "
                "covariance"
            )
        dtype = data.mean.dtype
        if data.cov is None:
            return Gaussians(self.map_.mean(data, dtype))
        return self.map_.gaussians(data, cast(Spread, self.covariance), dtype)

    def _check_mixtures(self, X: Mixtures, cov: ArrayLike, std: ArrayLike, *, reset: bool) -> None:
        if cov is not None or std is not None:
            raise ValueError("cov: X is Mixtures and has its covariances already")
        self._check_width(X.shape[1], reset)


class FourierFeatures(ClassNamePrefixFeaturesOutMixin, FeatureTransformer):  # type: ignore[misc]
    """Random Fourier features of a kernel, with exact moments of uncertain samples.

    cos(w·x)/√R and sin(w·x)/√R of R frequencies w. For X ~ N(x, Σ) with q = wᵀΣw the expectation of the first
    is cos(w·x) e^(-q/2)/√R, and covariances have closed forms too: the features of a noisy sample fade.

    Parameters
    ----------
    kernel : {"rbf", "laplace", "matern"}
        exp(-γ‖x - x′‖²), exp(-γ Σ|x_j - x_j′|), or Matérn's of smoothness `nu` and length 1/√(2γ).
    n_features : int, default=300
        Twice the number of frequencies.
    gamma : "scale", "median", float or list of float
        γ; "scale" is 1/(n Var X), "median" 1/(2 d²) with d the median distance. Several values share the
        frequencies.
    nu : float, default=1.5
        The smoothness of "matern": 0.5 is the roughest, and as it grows the kernel becomes the RBF.
    orthogonal : bool, default=True
        Frequencies at right angles, which approximate the kernel better ("rbf" and "matern").
    metric : array of shape (p, n), optional
        A: distances are ‖A(x - x′)‖.
    covariance : {"none", "diagonal", "lowrank", "full"}
        What of the features' covariance is given: nothing, the variances, the first order in Σ with exact
        variances, or all.
    random_state : int, RandomState or None, default=0
        The seed of the frequencies.

    Attributes
    ----------
    frequencies_ : array of shape (n_features / 2, n)
        The frequencies.
    gammas_ : list of float
        The values of γ.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> data = svmgsu.Gaussians([[0.0, 0.0], [1.0, 1.0]], std=[[0.1, 0.1], [3.0, 3.0]])
    >>> z = svmgsu.features.FourierFeatures(n_features=100, gamma=0.5).fit_transform(data)
    >>> z.shape, bool(np.linalg.norm(z.mean[1]) < np.linalg.norm(z.mean[0]))
    ((2, 100), True)
    """

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        n_features: int = 300,
        gamma: ArrayLike = "scale",
        nu: float = 1.5,
        orthogonal: bool = True,
        metric: ArrayLike = None,
        covariance: str = "none",
        random_state: RandomState = 0,
    ) -> None:
        self.kernel = kernel
        self.n_features = n_features
        self.gamma = gamma
        self.nu = nu
        self.orthogonal = orthogonal
        self.metric = metric
        self.covariance = covariance
        self.random_state = random_state

    def _fit(self, data: Gaussians | Mixtures, y: ArrayLike) -> None:
        check_choice(self.kernel, "kernel", KERNELS)
        count = check_count(self.n_features, "n_features", least=2)
        if count % 2:
            raise ValueError(f"n_features: a cosine and a sine for each frequency; got the odd {count}")
        nu = check_positive(self.nu, "nu")
        rng = _generator(self.random_state)
        X = _points_of(data)
        metric = _checked_metric(self.metric, X.shape[1])
        inner = X if metric is None else X @ metric.T
        self.gammas_ = _resolve_gammas(self.gamma, inner, rng)
        shares = np.diff(np.linspace(0, count // 2, len(self.gammas_) + 1).round().astype(int))
        drawn = []
        for gamma, share in zip(self.gammas_, shares.tolist(), strict=True):
            unit = spectrum(self.kernel, share, inner.shape[1], rng, nu=nu, orthogonal=self.orthogonal)
            drawn.append((gamma if self.kernel == "laplace" else np.sqrt(gamma)) * unit)
        frequencies: FloatArray = np.concatenate(drawn)
        self.frequencies_ = frequencies if metric is None else frequencies @ metric
        self.map_ = fourier_map(self.frequencies_)


class Landmarks(ClassNamePrefixFeaturesOutMixin, FeatureTransformer):  # type: ignore[misc]
    """Nyström's features of the RBF kernel, with exact moments of uncertain samples.

    K^(-½) k(x, c) of landmarks c, k = exp(-γ‖x - c‖²). For X ~ N(x, Σ) first and second moments are Gaussian
    integrals. With few features of n these need fewer landmarks than Fourier features need frequencies.

    Parameters
    ----------
    n_landmarks : int, default=300
        The number of landmarks.
    gamma : "scale", "median" or float
        As in `FourierFeatures`.
    landmarks : {"kmeans", "drawn"} or array of shape (M, n)
        Centres of k-means, samples drawn at random, or given points.
    metric : array of shape (p, n), optional
        A: distances are ‖A(x - c)‖.
    covariance : {"none", "diagonal", "lowrank", "full"}
        As in `FourierFeatures`.
    random_state : int, RandomState or None, default=0
        The seed of the landmarks.

    Attributes
    ----------
    landmarks_ : array of shape (M, n)
        The landmarks.
    gamma_ : float
        The value of γ.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> svmgsu.features.Landmarks(20).fit_transform(svmgsu.Gaussians(X, std=0.2)).shape
    (100, 20)
    """

    def __init__(
        self,
        n_landmarks: int = 300,
        *,
        gamma: ArrayLike = "scale",
        landmarks: ArrayLike = "kmeans",
        metric: ArrayLike = None,
        covariance: str = "none",
        random_state: RandomState = 0,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.gamma = gamma
        self.landmarks = landmarks
        self.metric = metric
        self.covariance = covariance
        self.random_state = random_state

    def _fit(self, data: Gaussians | Mixtures, y: ArrayLike) -> None:
        count = check_count(self.n_landmarks, "n_landmarks")
        rng = _generator(self.random_state)
        X = _points_of(data)
        metric = _checked_metric(self.metric, X.shape[1])
        gammas = _resolve_gammas(self.gamma, X if metric is None else X @ metric.T, rng)
        if len(gammas) > 1:
            raise ValueError(f"gamma: landmarks have one, got {self.gamma!r}")
        self.gamma_ = gammas[0]
        if not isinstance(self.landmarks, str):
            self.landmarks_ = as_float_array(self.landmarks, "landmarks", (2,)).astype(np.float64)
            check_finite(self.landmarks_, "landmarks")
            if self.landmarks_.shape[1] != X.shape[1]:
                raise ValueError(
                    f"landmarks: {self.landmarks_.shape[1]} columns, but X has {X.shape[1]} features"
                )
        elif self.landmarks not in ("kmeans", "drawn"):
            raise ValueError(f'landmarks: expected "kmeans", "drawn" or an array, got {self.landmarks!r}')
        elif self.landmarks == "drawn" or len(X) <= count:
            self.landmarks_ = X[np.sort(rng.permutation(len(X))[:count])]
        else:
            from sklearn.cluster import MiniBatchKMeans

            seed = int(rng.integers(2**31 - 1))
            means = MiniBatchKMeans(count, random_state=seed, n_init=1, batch_size=max(1024, 4 * count))
            self.landmarks_ = means.fit(X).cluster_centers_
        self.map_ = landmark_map(self.landmarks_, self.gamma_, metric)


class Polynomial(FeatureTransformer):
    """Values and products of two values, with exact moments: E x_j x_k = m_j m_k + Σ_jk.

    Parameters
    ----------
    covariance : {"none", "diagonal", "lowrank", "full"}
        As in `FourierFeatures`.

    Examples
    --------
    >>> import svmgsu
    >>> svmgsu.features.Polynomial().fit_transform(svmgsu.Gaussians([[2.0]], std=3.0)).mean.tolist()
    [[2.0, 13.0]]
    """

    def __init__(self, *, covariance: str = "none") -> None:
        self.covariance = covariance

    def _fit(self, data: Gaussians | Mixtures, y: ArrayLike) -> None:
        self.map_ = polynomial_map(self.n_features_in_)

    def get_feature_names_out(self, input_features: ArrayLike = None) -> Array:
        """Return the names of the products of `input_features`, as `PolynomialFeatures` has them."""
        check_is_fitted(self)
        inner = PolynomialFeatures(2, include_bias=False).fit(np.zeros((1, self.n_features_in_)))
        names = getattr(self, "feature_names_in_", None) if input_features is None else input_features
        return np.asarray(inner.get_feature_names_out(names))


def _generator(random_state: RandomState) -> np.random.Generator:
    """Return a generator for what scikit-learn calls `random_state`."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def _points_of(data: Gaussians | Mixtures) -> FloatArray:
    """Return the means of the samples; of mixtures the overall ones."""
    if isinstance(data, Mixtures):
        return np.asarray(np.einsum("lk,lkn->ln", data.weights, data.mean))
    return np.asarray(data.mean, dtype=np.float64)


def _checked_metric(metric: ArrayLike, n: int) -> FloatArray | None:
    if metric is None:
        return None
    matrix = as_float_array(metric, "metric", (2,)).astype(np.float64)
    check_finite(matrix, "metric")
    if matrix.shape[1] != n:
        raise ValueError(f"metric: {matrix.shape[1]} columns, but X has {n} features")
    return matrix


def _resolve_gammas(gamma: ArrayLike, X: FloatArray, rng: np.random.Generator) -> list[float]:
    """Return `gamma` as numbers > 0: itself or a list of them, "scale" (1/(n Var X)) or "median".

    "median" is 1/(2 d²) with d the median distance of pairs of samples.
    """
    expected = f'gamma: expected "scale", "median", a number or a list of them, got {gamma!r}'
    if isinstance(gamma, str):
        if gamma not in ("scale", "median"):
            raise ValueError(expected)
        with np.errstate(over="ignore", invalid="ignore"):
            if gamma == "scale":
                spread = float(X.var()) * X.shape[1]
            else:
                pairs = rng.integers(len(X), size=(2, 4000))
                squares = ((X[pairs[0]] - X[pairs[1]]) ** 2).sum(axis=1)
                squares = squares[squares > 0]
                spread = 2 * float(np.median(squares)) if len(squares) else 0.0
        low = float(X.min())
        high = float(X.max())
        if not spread < 1e300 or (spread < 1e-300 and low < high):
            raise ValueError(
                f"gamma: {gamma!r} is no number for values from {low:g} to {high:g}; take another unit"
            )
        return [1 / spread if spread > 0 else 1.0]
    try:
        numbers = [float(value) for value in np.atleast_1d(np.asarray(gamma, dtype=object)).tolist()]
    except (TypeError, ValueError):
        raise TypeError(expected) from None
    if not numbers or not all(0 < value < np.inf for value in numbers):
        raise ValueError(f"gamma: must be > 0 and finite, got {gamma!r}")
    return numbers
