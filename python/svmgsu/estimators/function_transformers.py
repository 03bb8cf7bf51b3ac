"""Transformers that are not linear: functions of the features, and x/|x|."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import _check_feature_names_in, _generate_get_feature_names_out, check_is_fitted

from ..data.gaussians import Gaussians
from ..maps.elementwise import FUNCTIONS, check_domain, exact_moments
from ..maps.function import METHODS, by_points, derivative, evaluated
from ..maps.linear import DirectionMap, LinearMap, ScaleMap, dense
from .transforming import GaussianTransformer, carried

FINE_STEP = 1e-5  # of a standard deviation: a function of the features is exact to rounding


class GaussianFunctionTransformer(GaussianTransformer):
    """Applies a function to the features, and carries the covariance to first order or exactly.

    Parameters
    ----------
    func : {"log", "log10", "sqrt", "logit", "exp", "exp10", "expit", "square"} or callable, optional
        A callable takes an array (l, n) and returns one (l, m). By default nothing is changed.
    inverse_func : callable, optional
        For `inverse_transform` where `func` is a callable.
    jacobian : callable, optional
        Derivatives of a callable `func`: takes (l, n) and returns (l, n) where each feature is a function
        of itself alone, or (l, m, n). By default they are found numerically.
    method : {"first-order", "exact", "unscented", "monte-carlo"}
        "first-order": the mean is f(mean), the covariance J Σ Jᵀ. "exact": mean and covariance of f(x)
        itself, for "exp", "exp10" and "square" of Gaussians, and for "log" and "log10" of positive values
        that are taken as log-normal with the given mean and covariance. "unscented" and "monte-carlo": the
        moments of points of each example that are sent through f, as in `uncertainty.propagate`.
    draws : int, default=1000
        Of "monte-carlo": how many for each example.
    random_state : int or Generator, default=0
        Of "monte-carlo".

    Examples
    --------
    >>> import svmgsu
    >>> flux = svmgsu.Gaussians([[100.0]], std=10.0)
    >>> svmgsu.GaussianFunctionTransformer("log").fit_transform(flux).cov.variances.item()
    0.01
    >>> exact = svmgsu.GaussianFunctionTransformer("log", method="exact").fit_transform(flux)
    >>> round(exact.cov.variances.item(), 5), round(exact.mean.item(), 5)
    (0.00995, 4.6002)
    """

    takes_sparse = False

    def __init__(
        self,
        func: Any = None,
        *,
        inverse_func: Any = None,
        jacobian: Any = None,
        method: str = "first-order",
        draws: int = 1000,
        random_state: Any = 0,
    ) -> None:
        self.func = func
        self.inverse_func = inverse_func
        self.jacobian = jacobian
        self.method = method
        self.draws = draws
        self.random_state = random_state

    def _fit(self, data: Gaussians, y: Any) -> None:
        if self.method not in (*METHODS, "exact"):
            wanted = ", ".join(f'"{word}"' for word in (*METHODS, "exact"))
            raise ValueError(f"method: expected one of {wanted}, got {self.method!r}")
        if callable(self.func):
            if self.method == "exact":
                raise ValueError('method: exact moments of a callable are not known; use "unscented"')
            self._n_features_out = evaluated(self.func, data.mean[:1].astype(np.float64), "func").shape[1]
            return
        if self.func is not None and self.func not in FUNCTIONS:
            raise ValueError(f"func: expected a callable or one of {', '.join(FUNCTIONS)}, got {self.func!r}")
        if self.jacobian is not None:
            raise ValueError(f"jacobian: that of {self.func!r} is known; it goes with a callable func")
        self._check_exact(self._function)
        check_domain(data, self._function, FUNCTIONS[self._function])
        self._n_features_out = data.shape[1]

    @property
    def _function(self) -> Any:
        """The callable, or the function's name."""
        return "identity" if self.func is None else self.func

    def _check_exact(self, name: str) -> None:
        if self.method == "exact" and name != "identity" and FUNCTIONS[name].moments is None:
            known = ", ".join(key for key, f in FUNCTIONS.items() if f.moments is not None)
            raise ValueError(
                f"method: the exact moments of {name!r} have no closed form here; those of {known} do"
            )

    def _mean(self, data: Gaussians) -> Any:
        return _value(self._function, data)

    def _map(self, data: Gaussians) -> LinearMap:
        return _slopes(self._function, data, self.jacobian)

    @property
    def has_map(self) -> bool:  # type: ignore[override]
        return self.method == "first-order" or self.func is None

    def _carry(self, data: Gaussians) -> Gaussians:
        return self._through(data, self._function, self.jacobian)

    def _through(self, data: Gaussians, function: Any, jacobian: Any) -> Gaussians:
        """The examples through a callable or a function by its name."""
        mean = _value(function, data)
        if function == "identity":
            return data.with_cov(data.cov)
        if data.cov is None and data.deployment is None:
            return Gaussians(mean)
        if data.cov is None or self.method == "first-order":
            return carried(data, mean, _slopes(function, data, jacobian))
        if self.method == "exact":
            out = exact_moments(data, function)
        else:
            known = None if callable(function) else True
            mean, cov = by_points(
                FUNCTIONS[function].value if known else function,
                data.mean.astype(np.float64),
                data.cov,
                self.method,
                elementwise=known,
                draws=self.draws,
                random_state=self.random_state,
                name="func",
            )
            out = Gaussians(mean.astype(data.mean.dtype), cov)
        if data.deployment is not None:
            out.deployment = data.deployment.mapped(_slopes(function, data, jacobian))
        return out

    def inverse_transform(self, X: Any) -> Any:
        """X, an array or `Gaussians`, through the inverse function, by the same method."""
        data = self._read_back(X, getattr(self, "_n_features_out", 0))
        if callable(self.func):
            if self.inverse_func is None:
                raise ValueError("inverse_func: it is needed for the inverse of a callable func")
            return self._give_back(X, self._through(data, self.inverse_func, None))
        name = FUNCTIONS[self._function].inverse
        if name is None:
            raise ValueError(f"func: {self._function!r} has no inverse")
        self._check_exact(name)
        return self._give_back(X, self._through(data, name, None))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the features; `input_features` as in scikit-learn. New where their number changes."""
        check_is_fitted(self)
        if self._n_features_out == self.n_features_in_:
            return _check_feature_names_in(self, input_features)
        return _generate_get_feature_names_out(self, self._n_features_out, input_features=input_features)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        known = FUNCTIONS.get(self.func) if isinstance(self.func, str) else None
        tags.input_tags.positive_only = known is not None and known.above == 0
        return tags


def _value(function: Any, data: Gaussians) -> Any:
    """The function of the means."""
    if callable(function):
        return evaluated(function, data.mean.astype(np.float64), "func").astype(data.mean.dtype)
    check_domain(data, function, FUNCTIONS[function])
    return FUNCTIONS[function].value(data.mean)


def _slopes(function: Any, data: Gaussians, jacobian: Any) -> LinearMap:
    """Its derivative at the means."""
    if not callable(function):
        return ScaleMap(FUNCTIONS[function].derivative(data.mean))
    X = data.mean.astype(np.float64)
    return derivative(function, X, evaluated(function, X, "func"), jacobian, step=FINE_STEP, name="func")


class GaussianNormalizer(OneToOneFeatureMixin, GaussianTransformer):  # type: ignore[misc]
    """x → x/|x|: the direction of each example; the covariance to first order.

    With u = x/|x| the covariance becomes (I - uuᵀ) Σ (I - uuᵀ)/|x|²: what is uncertain along u is lost.
    `LowRank` stays so; all other kinds become `Full`. Sparse means stay sparse.

    Examples
    --------
    >>> import svmgsu
    >>> data = svmgsu.Gaussians([[3.0, 4.0]], std=0.5)
    >>> out = svmgsu.GaussianNormalizer().fit_transform(data)
    >>> out.mean.tolist(), out.cov.to_full().round(4).tolist()
    ([[0.6, 0.8]], [[[0.0064, -0.0048], [-0.0048, 0.0036]]])
    """

    def _fit(self, data: Gaussians, y: Any) -> None:
        """There is nothing to learn but the number of features."""

    def _mean(self, data: Gaussians) -> Any:
        return normalize(data.mean)

    def _map(self, data: Gaussians) -> LinearMap:
        lengths = row_norms(data.mean).astype(np.float64)
        if not lengths.all():
            raise ValueError(
                f"X: example {int(lengths.argmin())} has mean 0; an uncertain example at 0 has no direction"
            )
        return DirectionMap(dense(normalize(data.mean)).astype(np.float64), lengths)
