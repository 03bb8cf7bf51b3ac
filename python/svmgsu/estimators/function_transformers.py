"""Transformers that are not linear: functions of the features by first order or exact moments, and x/|x|."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import _check_feature_names_in, _generate_get_feature_names_out, check_is_fitted

from ..data.covariances import Diagonal, Full
from ..data.gaussians import Gaussians
from ..maps.linear import DirectionMap, JacobianMap, LinearMap, ScaleMap, blocks, dense
from ..support.validation import Array, FloatArray, as_float_array, check_finite, place
from .transforming import GaussianTransformer, carried

LN10 = float(np.log(10))


@dataclass(frozen=True)
class Moments:
    """Exact moments of a function of one value: its mean, and the covariance of two such values.

    `mean(m, v)` and `pair(c, m1, v1, m2, v2)` for means m, variances v and the covariance c.
    """

    mean: Callable[..., Any]
    pair: Callable[..., Any]


def _log_pair(c: Any, m1: Any, v1: Any, m2: Any, v2: Any) -> Any:
    return np.log1p(c / (m1 * m2))


def _exp_pair(c: Any, m1: Any, v1: Any, m2: Any, v2: Any) -> Any:
    return np.exp(m1 + m2 + (v1 + v2) / 2) * np.expm1(c)


# A positive value of mean m and variance v, taken as log-normal: its logarithm is the Gaussian
# N(log m - ½ log(1 + v/m²), log(1 + v/m²)), and exp brings the moments m and v back.
LOG = Moments(lambda m, v: np.log(m) - np.log1p(v / m**2) / 2, _log_pair)
EXP = Moments(lambda m, v: np.exp(m + v / 2), _exp_pair)
LOG10 = Moments(lambda m, v: LOG.mean(m, v) / LN10, lambda *a: _log_pair(*a) / LN10**2)
EXP10 = Moments(
    lambda m, v: EXP.mean(LN10 * m, LN10**2 * v),
    lambda c, m1, v1, m2, v2: _exp_pair(LN10**2 * c, LN10 * m1, LN10**2 * v1, LN10 * m2, LN10**2 * v2),
)
SQUARE = Moments(lambda m, v: m**2 + v, lambda c, m1, v1, m2, v2: 2 * c**2 + 4 * m1 * m2 * c)


@dataclass(frozen=True)
class Function:
    """A function of one value, with its derivative, its inverse by name, and where it is defined."""

    value: Callable[[Any], Any]
    derivative: Callable[[Any], Any]
    inverse: str | None
    above: float = -np.inf
    below: float = np.inf
    moments: Moments | None = None


def _expit(x: Any) -> Any:
    return np.exp(-np.logaddexp(0, -x))


FUNCTIONS = {
    "identity": Function(lambda x: x, np.ones_like, "identity"),
    "log": Function(np.log, lambda x: 1 / x, "exp", above=0.0, moments=LOG),
    "log10": Function(np.log10, lambda x: 1 / (LN10 * x), "exp10", above=0.0, moments=LOG10),
    "sqrt": Function(np.sqrt, lambda x: 0.5 / np.sqrt(x), "square", above=0.0),
    "logit": Function(lambda x: np.log(x) - np.log1p(-x), lambda x: 1 / (x * (1 - x)), "expit", 0.0, 1.0),
    "exp": Function(np.exp, np.exp, "log", moments=EXP),
    "exp10": Function(lambda x: 10.0**x, lambda x: LN10 * 10.0**x, "log10", moments=EXP10),
    "expit": Function(_expit, lambda x: _expit(x) * _expit(-x), "logit"),
    "square": Function(np.square, lambda x: 2 * x, None, moments=SQUARE),
}


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
    method : {"first-order", "exact"}
        "first-order": the mean is f(mean), the covariance J Σ Jᵀ. "exact": mean and covariance of f(x)
        itself, for "exp", "exp10" and "square" of Gaussians, and for "log" and "log10" of positive values
        that are taken as log-normal with the given mean and covariance.

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
        self, func: Any = None, *, inverse_func: Any = None, jacobian: Any = None, method: str = "first-order"
    ) -> None:
        self.func = func
        self.inverse_func = inverse_func
        self.jacobian = jacobian
        self.method = method

    def _fit(self, data: Gaussians, y: Any) -> None:
        if self.method not in ("first-order", "exact"):
            raise ValueError(f'method: expected "first-order" or "exact", got {self.method!r}')
        if not callable(self.func):
            if self.func is not None and self.func not in FUNCTIONS:
                raise ValueError(
                    f"func: expected a callable or one of {', '.join(FUNCTIONS)}, got {self.func!r}"
                )
            if self.jacobian is not None:
                raise ValueError(f"jacobian: that of {self.func!r} is known; it goes with a callable func")
            self._check_exact(self._name)
            _check_domain(data, self._name, FUNCTIONS[self._name])
            self._n_features_out = data.shape[1]
            return
        if self.method == "exact":
            raise ValueError('method: exact moments of a callable are not known; use "first-order"')
        self._n_features_out = _applied(self.func, data.mean[:1]).shape[1]

    @property
    def _name(self) -> str:
        return "identity" if self.func is None else str(self.func)

    def _check_exact(self, name: str) -> None:
        if self.method == "exact" and name != "identity" and FUNCTIONS[name].moments is None:
            known = ", ".join(key for key, f in FUNCTIONS.items() if f.moments is not None)
            raise ValueError(
                f"method: the exact moments of {name!r} have no closed form here; those of {known} do"
            )

    def _mean(self, data: Gaussians) -> Any:
        if callable(self.func):
            return _applied(self.func, data.mean)
        _check_domain(data, self._name, FUNCTIONS[self._name])
        return FUNCTIONS[self._name].value(data.mean)

    def _map(self, data: Gaussians) -> LinearMap:
        if callable(self.func):
            return _jacobian_map(data, self.func, self.jacobian, self._n_features_out)
        return ScaleMap(FUNCTIONS[self._name].derivative(data.mean))

    @property
    def has_map(self) -> bool:  # type: ignore[override]
        return self.method != "exact" or callable(self.func) or self.func is None

    def _carry(self, data: Gaussians) -> Gaussians:
        return super()._carry(data) if callable(self.func) else self._by_name(data, self._name)

    def _by_name(self, data: Gaussians, name: str) -> Gaussians:
        function = FUNCTIONS[name]
        _check_domain(data, name, function)
        if name == "identity":
            return data.with_cov(data.cov)
        if data.cov is None and data.deployment is None:
            return Gaussians(function.value(data.mean))
        slopes = ScaleMap(function.derivative(data.mean))
        if self.method != "exact" or data.cov is None:
            return carried(data, function.value(data.mean), slopes)
        assert function.moments is not None
        out = exact_moments(data, function.moments, name)
        out.deployment = None if data.deployment is None else data.deployment.mapped(slopes)
        return out

    def inverse_transform(self, X: Any) -> Any:
        """X, an array or `Gaussians`, through the inverse function, by the same method."""
        data = self._read_back(X, getattr(self, "_n_features_out", 0))
        if callable(self.func):
            if self.inverse_func is None:
                raise ValueError("inverse_func: it is needed for the inverse of a callable func")
            mean = _applied(self.inverse_func, data.mean)
            if data.cov is None and data.deployment is None:
                return self._give_back(X, Gaussians(mean))
            back = _jacobian_map(data, self.inverse_func, None, mean.shape[1])
            return self._give_back(X, carried(data, mean, back))
        name = FUNCTIONS[self._name].inverse
        if name is None:
            raise ValueError(f"func: {self._name!r} has no inverse")
        self._check_exact(name)
        return self._give_back(X, self._by_name(data, name))

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


def _check_domain(data: Gaussians, name: str, function: Function) -> None:
    """Refuses means where the function, or for uncertain ones its derivative, does not exist."""
    mean = data.mean
    edge_is_fine = name == "sqrt" and data.cov is None
    outside = (mean < function.above) if edge_is_fine else (mean <= function.above)
    outside |= mean >= function.below
    if outside.any():
        first = int(outside.argmax())
        wanted = f"{'>=' if edge_is_fine else '>'} {function.above:g}"
        wanted += "" if np.isinf(function.below) else f" and < {function.below:g}"
        # scikit-learn looks for its own words where a tag says that only positive values are taken.
        negative = " (Negative values in data passed to a transformer of positive ones)"
        raise ValueError(
            f"X: {place(first, mean.shape)} is {mean.flat[first]:g}; {name!r} needs values {wanted}"
            + (negative if mean.flat[first] < 0 else "")
        )


def exact_moments(data: Gaussians, moments: Moments, name: str) -> Gaussians:
    """Mean and covariance of a function of each value; independent values stay independent."""
    assert data.cov is not None
    count, n = data.shape
    m = data.mean.astype(np.float64)
    v = data.cov.diagonals(count, n)
    mean = moments.mean(m, v)
    if data.cov.is_diagonal:
        return Gaussians(mean, Diagonal(moments.pair(v, m, v, m, v)))
    row, column = np.triu_indices(n)
    packed = np.empty((count, len(row)))
    for part in blocks(count, n * n):
        examples = np.arange(part.start, part.stop)
        c = data.cov.take(examples).to_full(len(examples), n)[:, row, column]
        with np.errstate(invalid="ignore", divide="ignore"):
            packed[part] = moments.pair(
                c, m[part][:, row], v[part][:, row], m[part][:, column], v[part][:, column]
            )
    cov = Full.from_packed(packed)
    if name.startswith("log"):
        _check_log_normal(cov)
    return Gaussians(mean, cov)


def _check_log_normal(cov: Full) -> None:
    """Not every mean and covariance are those of a log-normal distribution."""
    impossible = ~np.isfinite(cov.packed).all(axis=1)
    example = int(impossible.argmax()) if impossible.any() else -1
    if example < 0:
        example, _ = cov.indefinite()
    if example >= 0:
        raise ValueError(
            f"X: no log-normal distribution has the mean and the covariance of example {example}, whose "
            'values are too strongly anti-correlated; use method="first-order"'
        )


def _applied(function: Callable[[Any], Any], X: Array) -> Array:
    """The function's value, checked."""
    out = as_float_array(function(X), "func", (2,))
    if len(out) != len(X):
        raise ValueError(f"func: returned {len(out)} rows for {len(X)} examples")
    check_finite(out, "func")
    return out


def _jacobian_map(data: Gaussians, function: Callable[[Any], Any], jacobian: Any, m: int) -> LinearMap:
    """The derivative of a function with m outputs at the means: given, or by differences."""
    count, n = data.shape
    if jacobian is None:
        J = numerical_jacobian(function, data.mean.astype(np.float64), m)
    else:
        J = as_float_array(jacobian(data.mean), "jacobian", (2, 3))
        if J.shape != (count, m, n) and not (m == n and J.shape == (count, n)):
            elementwise = f"({count}, {n}) or " if m == n else ""
            raise ValueError(f"jacobian: shape {J.shape}; expected {elementwise}({count}, {m}, {n})")
        check_finite(J, "jacobian")
    if J.ndim == 3 and m == n:
        own = np.diagonal(J, axis1=1, axis2=2)
        if np.count_nonzero(J) == np.count_nonzero(own):  # each feature is a function of itself alone
            J = np.ascontiguousarray(own)
    return ScaleMap(J) if J.ndim == 2 else JacobianMap(J)


def numerical_jacobian(function: Callable[[Any], Any], X: FloatArray, outputs: int) -> FloatArray:
    """Central differences, (l, m, n); the step is ε^(1/3) of a value's size, and of 1 for small ones."""
    count, n = X.shape
    step = np.cbrt(np.finfo(np.float64).eps) * np.maximum(np.abs(X), 1.0)
    J = np.empty((count, outputs, n))
    for j in range(n):
        up, down = X.copy(), X.copy()
        up[:, j] += step[:, j]
        down[:, j] -= step[:, j]
        width = up[:, j] - down[:, j]  # as the numbers are, not as they were meant
        J[:, :, j] = (_applied(function, up) - _applied(function, down)) / width[:, np.newaxis]
    return J


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
