"""Transformers of Gaussians and mixtures to features whose moments are exact: for curved boundaries.

They take points, `Gaussians` of any kind and `Mixtures`, and give `Gaussians` of features.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .data.gaussians import Gaussians
from .estimators.transformer import GaussianTransformer
from .propagate.features import (
    KERNELS,
    SPREADS,
    FeatureMap,
    Spread,
    choose_landmarks,
    fourier_map,
    frequencies_of_scales,
    is_mixtures,
    landmark_map,
    metric_of,
    polynomial_map,
    resolve_gammas,
)
from .support.validation import FloatArray, as_float_array, check_count, check_finite, check_positive

ROUNDS = 2  # of learning a metric


class FeatureTransformer(GaussianTransformer):
    """A transformer made of a `FeatureMap`: `_fit` sets `map_`."""

    takes_sparse = False
    covariance: str
    map_: FeatureMap

    @abstractmethod
    def _make(self) -> FeatureMap:
        """The map of what was learnt."""

    def fit(self, X: Any, y: Any = None, cov: Any = None, std: Any = None) -> Any:
        """Learns from X, an array, `Gaussians` or `Mixtures`.

        Parameters
        ----------
        X : array, DataFrame, Gaussians or Mixtures
        y : array, optional
            Needed only where a metric is learnt.
        cov, std : optional
            The covariance or the error bars of an array X, as in `svmgsu.Gaussians`.
        """
        if self.covariance not in SPREADS:
            raise ValueError(
                f'covariance: expected "none", "diagonal", "lowrank" or "full", got {self.covariance!r}'
            )
        if is_mixtures(X):
            self._check_inputs(X, cov, std, reset=True)
            self._fit(X, y)
            return self
        return super().fit(X, y, cov, std)

    def transform(self, X: Any, cov: Any = None, std: Any = None) -> Any:
        """E z of X, with the covariance that `covariance` asks for.

        Points that come as an array become an array; `Gaussians`, `Mixtures`, and arrays with `cov` or `std`
        become `Gaussians`.
        """
        if not is_mixtures(X):
            return super().transform(X, cov, std)
        check_is_fitted(self)
        self._check_inputs(X, cov, std, reset=False)
        return self.map_.gaussians(X, self._spread)

    def _carry(self, data: Gaussians) -> Gaussians:
        if data.test_noise is not None:
            raise ValueError(
                f"X: {type(self).__name__} is not linear and cannot carry noise of deployment; add it to the "
                "covariance, or use svmgsu.GSUClassifier(test_noise=...)"
            )
        dtype = data.mean.dtype
        if data.cov is None:
            return Gaussians(self.map_.mean(data, dtype))
        return self.map_.gaussians(data, self._spread, dtype)

    @property
    def _spread(self) -> Spread:
        return self.covariance  # type: ignore[return-value]

    def _set_map(self) -> None:
        self.map_ = self._make()
        self._n_features_out = self.map_.outputs

    def _check_inputs(self, X: Any, cov: Any, std: Any, *, reset: bool) -> None:
        if cov is not None or std is not None:
            raise ValueError("cov: X is Mixtures and has its covariances already")
        n = int(X.mean.shape[2])
        if reset:
            self.n_features_in_ = n
        if n != self.n_features_in_:
            raise ValueError(
                f"X has {n} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )


class FourierFeatures(ClassNamePrefixFeaturesOutMixin, FeatureTransformer):  # type: ignore[misc]
    """Random Fourier features of a kernel, with exact moments of uncertain samples.

    cos(w·x)/√R and sin(w·x)/√R of R frequencies w. For X ~ N(x, Σ) with q = wᵀΣw the expectation of the first
    is cos(w·x) e^(-q/2)/√R, and covariances have closed forms too: a blurred sample fades.

    Parameters
    ----------
    kernel : {"rbf", "laplace", "matern"}
        exp(-γ‖x - x′‖²), exp(-γ Σ|x_j - x_j′|), or Matérn's of smoothness `nu` and length 1/√(2γ).
    n_features : int, default=300
        Twice the number of frequencies.
    gamma : "scale", "median", float or list of float
        γ; "scale" is 1/(n Var X), "median" 1/(2 d²) with d the median distance. Frequencies are shared out
        among several.
    nu : float, default=1.5
        "matern": 0.5 is the roughest, and as it grows the kernel becomes the RBF.
    orthogonal : bool, default=True
        Frequencies at right angles, which approximate the kernel better ("rbf" and "matern").
    metric : array of shape (p, n), "learned" or None
        A: distances are ‖A(x - x′)‖. "learned" takes (mean ∇f∇fᵀ)^¼ of a ridge regression f on y, twice.
    covariance : {"none", "diagonal", "lowrank", "full"}
        What of the features' covariance is given: nothing, the variances, the first order in Σ with the
        variances exact, or all.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    frequencies_ : array of shape (n_features / 2, n)
    gammas_ : list of float
    metric_ : array of shape (p, n) or None

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
        gamma: Any = "scale",
        nu: float = 1.5,
        orthogonal: bool = True,
        metric: Any = None,
        covariance: str = "none",
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.n_features = n_features
        self.gamma = gamma
        self.nu = nu
        self.orthogonal = orthogonal
        self.metric = metric
        self.covariance = covariance
        self.random_state = random_state

    def _fit(self, data: Any, y: Any) -> None:
        if self.kernel not in KERNELS:
            raise ValueError(f'kernel: expected "rbf", "laplace" or "matern", got {self.kernel!r}')
        count = check_count(self.n_features, "n_features", least=2)
        if count % 2:
            raise ValueError(f"n_features: a cosine and a sine for each frequency; got the odd {count}")
        nu = check_positive(self.nu, "nu")
        rng = generator(self.random_state)
        X = points_of(data)
        n = X.shape[1]
        given, learned = metric_given(self.metric, n, y)
        inner = X if given is None else X @ given.T
        self.gammas_ = resolve_gammas(self.gamma, inner, rng)
        base = frequencies_of_scales(
            self.kernel, count // 2, self.gammas_, inner.shape[1], rng, nu=nu, orthogonal=self.orthogonal
        )
        self.metric_ = given
        self.frequencies_: FloatArray = base if given is None else base @ given
        self._set_map()
        for _ in range(ROUNDS if learned else 0):
            self.metric_ = metric_of(ridge_gradients(self.map_, data, y))
            self.frequencies_ = base @ self.metric_
            self._set_map()

    def _make(self) -> FeatureMap:
        return fourier_map(self.frequencies_)


class Landmarks(ClassNamePrefixFeaturesOutMixin, FeatureTransformer):  # type: ignore[misc]
    """Nyström's features of the RBF kernel, with exact moments of uncertain samples.

    K^(-½) k(x, c) of landmarks c, k = exp(-γ‖x - c‖²). For X ~ N(x, Σ) first and second moments are Gaussian
    integrals. With few features of n these need fewer landmarks than Fourier features need frequencies.

    Parameters
    ----------
    n_landmarks : int, default=300
    gamma : "scale", "median" or float
        As in `FourierFeatures`.
    landmarks : {"kmeans", "drawn"} or array of shape (M, n)
        Centres of k-means, samples drawn at random, or given points.
    metric : array of shape (p, n) or None
        A: distances are ‖A(x - c)‖.
    covariance : {"none", "diagonal", "lowrank", "full"}
        As in `FourierFeatures`.
    random_state : int, RandomState or None, default=0

    Attributes
    ----------
    landmarks_ : array of shape (M, n)
    gamma_ : float

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
        gamma: Any = "scale",
        landmarks: Any = "kmeans",
        metric: Any = None,
        covariance: str = "none",
        random_state: Any = 0,
    ) -> None:
        self.n_landmarks = n_landmarks
        self.gamma = gamma
        self.landmarks = landmarks
        self.metric = metric
        self.covariance = covariance
        self.random_state = random_state

    def _fit(self, data: Any, y: Any) -> None:
        count = check_count(self.n_landmarks, "n_landmarks")
        rng = generator(self.random_state)
        X = points_of(data)
        self.metric_, learned = metric_given(self.metric, X.shape[1], y)
        if learned:
            raise ValueError('metric: "learned" is for svmgsu.features.FourierFeatures')
        inner = X if self.metric_ is None else X @ self.metric_.T
        gammas = resolve_gammas(self.gamma, inner, rng)
        if len(gammas) > 1:
            raise ValueError(f"gamma: landmarks have one, got {self.gamma!r}")
        self.gamma_ = gammas[0]
        if isinstance(self.landmarks, str):
            self.landmarks_ = choose_landmarks(X, count, self.landmarks, rng)
        else:
            self.landmarks_ = as_float_array(self.landmarks, "landmarks", (2,)).astype(np.float64)
            check_finite(self.landmarks_, "landmarks")
            if self.landmarks_.shape[1] != X.shape[1]:
                raise ValueError(
                    f"landmarks: {self.landmarks_.shape[1]} columns, but X has {X.shape[1]} features"
                )
        self._set_map()

    def _make(self) -> FeatureMap:
        return landmark_map(self.landmarks_, self.gamma_, self.metric_)


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

    def _fit(self, data: Any, y: Any) -> None:
        self._set_map()

    def _make(self) -> FeatureMap:
        return polynomial_map(self.n_features_in_)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the products of `input_features`, as scikit-learn's `PolynomialFeatures` has them."""
        check_is_fitted(self)
        inner = PolynomialFeatures(2, include_bias=False).fit(np.zeros((1, self.n_features_in_)))
        names = getattr(self, "feature_names_in_", None) if input_features is None else input_features
        return inner.get_feature_names_out(names)


def generator(random_state: Any) -> np.random.Generator:
    """A generator for what scikit-learn calls `random_state`."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def points_of(data: Any) -> FloatArray:
    """The means of the samples; of mixtures the overall ones."""
    if is_mixtures(data):
        return np.asarray(np.einsum("lk,lkn->ln", data.weights, data.mean))
    return np.asarray(data.mean, dtype=np.float64)


def metric_given(metric: Any, n: int, y: Any) -> tuple[FloatArray | None, bool]:
    """The matrix of a metric, if one is given, and whether it is to be learnt."""
    if metric is None:
        return None, False
    if isinstance(metric, str):
        if metric != "learned":
            raise ValueError(f'metric: expected a matrix, "learned" or None, got {metric!r}')
        if y is None:
            raise ValueError('metric: "learned" needs y')
        return None, True
    matrix = as_float_array(metric, "metric", (2,)).astype(np.float64)
    check_finite(matrix, "metric")
    if matrix.shape[1] != n:
        raise ValueError(f"metric: {matrix.shape[1]} columns, but X has {n} features")
    return matrix, False


def ridge_gradients(feature_map: FeatureMap, data: Any, y: Any) -> FloatArray:
    """The averaged gradient outer product of a ridge regression on y, numbers or classes."""
    labels = np.asarray(y)
    if labels.dtype.kind in "fc":
        targets = (labels - labels.mean())[:, np.newaxis]
    else:
        targets = (labels[:, np.newaxis] == np.unique(labels)).astype(np.float64)
        targets -= targets.mean(axis=0)
    Z = feature_map.mean(data)
    Z -= Z.mean(axis=0)
    gram = Z.T @ Z / len(Z)
    gram[np.diag_indices_from(gram)] += 1e-4 * max(float(np.trace(gram)), 1e-300)
    w = np.linalg.solve(gram, Z.T @ targets / len(Z)).T
    return feature_map.gradient_outer_product(data, w)
