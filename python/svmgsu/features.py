"""Feature maps for nonlinear models: features of Gaussians and mixtures whose moments are exact.

They take points, `Gaussians` of any kind and `Mixtures`, and give `Gaussians` of features.
"""

from __future__ import annotations

from typing import TypeVar, cast

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.validation import check_is_fitted

from .data.gaussians import Gaussians
from .data.mixtures import Mixtures
from .estimators.propagate import GaussianTransformer
from .propagate.features import (
    SPREADS,
    FeatureMap,
    Spread,
    fourier_map,
    polynomial_map,
    spectrum,
)
from .support.validation import (
    Array,
    ArrayLike,
    FloatArray,
    Matrix,
    RandomState,
    as_generator,
    check_choice,
    check_count,
    check_positive,
)

Own = TypeVar("Own", bound="FeatureTransformer")
__all__ = ["FourierFeatures", "Polynomial"]


def __dir__() -> list[str]:
    return sorted(__all__)


class FeatureTransformer(GaussianTransformer):
    """A transformer made of a `FeatureMap`: `_fit` sets `map_`."""

    takes_sparse = False
    covariance: str
    map_: FeatureMap

    def fit(
        self: Own, X: ArrayLike, y: ArrayLike = None, cov: ArrayLike = None, std: ArrayLike = None
    ) -> Own:
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
        self._n_features_out = self.map_.core.outputs
        return self

    def transform(self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None) -> Gaussians | Matrix:
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
    """Random Fourier features of the RBF kernel exp(-γ‖x - x′‖²), with exact moments of uncertain samples.

    cos(w·x)/√R and sin(w·x)/√R of R frequencies w. For X ~ N(x, Σ) with q = wᵀΣw the expectation of the first
    is cos(w·x) e^(-q/2)/√R, and covariances have closed forms too: the features of a noisy sample fade.

    Parameters
    ----------
    n_features : int, default=300
        Twice the number of frequencies.
    gamma : "scale" or float
        γ; "scale" is 1/(n Var X).
    covariance : {"none", "diagonal", "full"}
        What of the features' covariance is given: nothing, the variances, or all.
    random_state : int, RandomState or None, default=0
        The seed of the frequencies.

    Attributes
    ----------
    frequencies_ : array of shape (n_features / 2, n)
        The frequencies.
    gamma_ : float
        The value of γ.

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
        n_features: int = 300,
        *,
        gamma: float | str = "scale",
        covariance: str = "none",
        random_state: RandomState = 0,
    ) -> None:
        self.n_features = n_features
        self.gamma = gamma
        self.covariance = covariance
        self.random_state = random_state

    def _fit(self, data: Gaussians | Mixtures, y: ArrayLike) -> None:
        count = check_count(self.n_features, "n_features", least=2)
        if count % 2:
            raise ValueError(f"n_features: a cosine and a sine for each frequency; got the odd {count}")
        X = _points_of(data)
        self.gamma_ = _resolve_gamma(self.gamma, X)
        unit = spectrum(count // 2, X.shape[1], as_generator(self.random_state))
        self.frequencies_ = np.sqrt(self.gamma_) * unit
        self.map_ = fourier_map(self.frequencies_)


class Polynomial(FeatureTransformer):
    """Values and products of two values, with exact moments: E x_j x_k = m_j m_k + Σ_jk.

    Parameters
    ----------
    covariance : {"none", "diagonal", "full"}
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


def _points_of(data: Gaussians | Mixtures) -> FloatArray:
    """Return the means of the samples; of mixtures the overall ones."""
    if isinstance(data, Mixtures):
        return np.asarray(np.einsum("lk,lkn->ln", data.weights, data.mean))
    return np.asarray(data.mean, dtype=np.float64)


def _resolve_gamma(gamma: float | str, X: FloatArray) -> float:
    """Return `gamma` as a number > 0; "scale" is 1/(n Var X)."""
    if not isinstance(gamma, str):
        return check_positive(gamma, "gamma")
    check_choice(gamma, "gamma", ("scale",))
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(X.var()) * X.shape[1]
    low = float(X.min())
    high = float(X.max())
    if not spread < 1e300 or (spread < 1e-300 and low < high):
        raise ValueError(
            f"gamma: 'scale' is no number for values from {low:g} to {high:g}; take another unit"
        )
    return 1 / spread if spread > 0 else 1.0
