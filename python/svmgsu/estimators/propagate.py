"""`Propagate`: any scikit-learn transformer, with the covariances carried along."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ..data.gaussians import Gaussians
from ..maps.function import by_points
from ..maps.linear import ScaleMap, dense
from ..support.validation import FloatArray, is_sparse
from .steps import Function, Step, carried, framed, output_of, step_of, uncertain_features
from .transforming import GaussianTransformer

METHODS = ("first-order", "exact", "unscented")
SAMPLE = 50  # means at which a transformer is tried out


def _can_invert(self: Any) -> bool:
    return hasattr(getattr(self, "transformer_", self.transformer), "inverse_transform")


class Propagate(GaussianTransformer):
    """Carry means and covariances through any scikit-learn transformer.

    The transformer is fitted on the means, as scikit-learn would fit it: noise in the values widens what it
    learns (the scale of a `StandardScaler`, the axes of a `PCA`) exactly as it does without `Propagate`.

    Parameters
    ----------
    transformer : transformer, Pipeline, ColumnTransformer, FeatureUnion or "passthrough"
        Affine transformers (scalers, `PCA`, `TruncatedSVD`, selections of features and whatever turns out
        to be affine when it is tried out) turn Σ into A Σ Aᵀ exactly. Elementwise ones keep independent
        values independent. `ColumnTransformer` and `FeatureUnion` keep covariances between their blocks.
    method : {"first-order", "exact", "unscented"}, default="first-order"
        For what is not affine. "first-order": the mean is f(mean), the covariance J Σ Jᵀ with the
        derivative J at the mean. "exact": mean and covariance of f(x) itself, for `FunctionTransformer`
        with np.exp, np.square or scipy.special.exp10, and with np.log or np.log10 of values that are taken
        as log-normal.
        "unscented": moments of a few points of each sample that are sent through the transformer.

    Attributes
    ----------
    transformer_ : transformer
        The fitted transformer.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> from sklearn.preprocessing import FunctionTransformer, StandardScaler
    >>> data = svmgsu.Gaussians([[0.0], [4.0]], std=1.0)
    >>> scaled = svmgsu.Propagate(StandardScaler()).fit_transform(data)
    >>> scaled.mean.ravel().tolist(), scaled.cov.variances.item()
    ([-1.0, 1.0], 0.25)
    >>> flux = svmgsu.Gaussians([[100.0]], std=10.0)
    >>> logs = svmgsu.Propagate(FunctionTransformer(np.log), method="exact").fit_transform(flux)
    >>> round(logs.mean.item(), 4), round(logs.cov.variances.item(), 5)
    (4.6002, 0.00995)
    """

    def __init__(self, transformer: Any = "passthrough", *, method: str = "first-order") -> None:
        self.transformer = transformer
        self.method = method

    @property
    def learns_units(self) -> bool:  # type: ignore[override]
        """Whether the units of the output are known only after `fit`."""
        return not isinstance(self.transformer, str) and bool(get_tags(self.transformer).requires_fit)

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """Whether means may be sparse."""
        return isinstance(self.transformer, str) or bool(get_tags(self.transformer).input_tags.sparse)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if not isinstance(self.transformer, str):
            inner = get_tags(self.transformer)
            tags.input_tags.positive_only = inner.input_tags.positive_only
            tags.target_tags.required = inner.target_tags.required
            if inner.transformer_tags is not None:
                tags.transformer_tags.preserves_dtype = inner.transformer_tags.preserves_dtype
        return tags

    def _fit(self, data: Gaussians, y: Any) -> None:
        if self.method not in METHODS:
            raise ValueError(f"method: expected one of {', '.join(map(repr, METHODS))}, got {self.method!r}")
        if isinstance(self.transformer, str):
            if self.transformer != "passthrough":
                raise ValueError(
                    f'transformer: expected a transformer or "passthrough", got {self.transformer!r}'
                )
            self.transformer_ = FunctionTransformer(feature_names_out="one-to-one")
        else:
            self.transformer_ = clone(self.transformer)
        with config_context(transform_output="default"):
            self.transformer_.fit(self._named(data.mean), y)
            rows = np.linspace(0, len(data) - 1, min(len(data), SAMPLE)).astype(np.int64)
            sample = dense(data.mean[rows]).astype(np.float64)
            with np.errstate(divide="ignore", invalid="ignore"):
                self.step_: Step = step_of(self.transformer_, sample)
                self._n_features_out = output_of(self.transformer_, data.mean[:1]).shape[1]

    def _named(self, X: Any) -> Any:
        names = getattr(self, "feature_names_in_", None)
        return X if names is None else framed(X, names)

    def _carry(self, data: Gaussians) -> Gaussians:
        with config_context(transform_output="default"), np.errstate(divide="ignore", invalid="ignore"):
            if data.cov is None and data.deployment is None:
                return Gaussians(self._checked(self.step_.forward(data.mean)))
            if self.method == "unscented" and data.cov is not None and self.step_.linear_map is None:
                return _through_points(self.step_, data)
            return self.step_.carry(data, exact=self.method == "exact")

    def _checked(self, mean: Any) -> Any:
        """Refuse outputs that are not finite; where there are covariances, the derivative has done so."""
        if not is_sparse(mean) and not np.isfinite(mean).all():
            i, j = np.argwhere(~np.isfinite(mean))[0].tolist()
            raise ValueError(
                f"transformer: {type(self.transformer_).__name__} gives {mean[i, j]} for sample {i} at "
                f"output {j} (negative values in data, or others outside its domain)"
            )
        return mean

    @available_if(_can_invert)  # type: ignore[untyped-decorator]
    def inverse_transform(self, X: Any) -> Any:
        """Transform X, an array or `Gaussians`, back by the transformer's own inverse."""
        check_is_fitted(self)
        data = self._read_back(X, self._n_features_out)
        with config_context(transform_output="default"), np.errstate(divide="ignore", invalid="ignore"):
            mean = output_of(self.transformer_, data.mean, "inverse_transform")
            if data.cov is None and data.deployment is None:
                return self._give_back(X, Gaussians(mean))
            rows = np.linspace(0, len(data) - 1, min(len(data), SAMPLE)).astype(np.int64)
            step = Function(_Inverse(self.transformer_), dense(data.mean[rows]).astype(np.float64))
            if self.method == "unscented" and step.linear_map is None and data.cov is not None:
                return self._give_back(X, _through_points(step, data))
            return self._give_back(X, step.carry(data, exact=self.method == "exact"))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the transformer's names of its outputs; `input_features` as in scikit-learn."""
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features)
        try:
            return np.asarray(self.transformer_.get_feature_names_out(given), dtype=object)
        except AttributeError:  # a FunctionTransformer need not name its outputs
            if getattr(self.step_, "elementwise", False):
                return given
        prefix = type(self.transformer_).__name__.lower()
        return np.asarray([f"{prefix}{j}" for j in range(self._n_features_out)], dtype=object)

    def pull_back(self, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return weights `coef` (K, m) of the outputs as weights of the inputs, and what they add to b."""
        linear_map = self.step_.linear_map
        if linear_map is None:
            raise TypeError(
                f"transformer: {type(self.transformer_).__name__} is not linear, so weights cannot be "
                "brought back through it"
            )
        n = self.n_features_in_
        if isinstance(linear_map, ScaleMap):
            weights = coef * linear_map.factors
        else:
            weights = coef @ linear_map.rows(np.eye(n), np.zeros(n, dtype=np.int64)).T
        return weights, coef @ dense(self.step_.forward(np.zeros((1, n))))[0]


class _Inverse:
    """The inverse of a fitted transformer, as a transformer."""

    def __init__(self, transformer: Any) -> None:
        self.inner = transformer
        self.func = getattr(transformer, "inverse_func", None)

    def transform(self, X: Any) -> Any:
        return self.inner.inverse_transform(X)


def _through_points(step: Step, data: Gaussians) -> Gaussians:
    """Return the moments of points of each sample that are sent through the transformer."""
    if is_sparse(data.mean):
        raise TypeError("X: sparse means have no points to send through a transformer; pass their .toarray()")

    def values(X: FloatArray) -> FloatArray:
        return dense(step.forward(X)).astype(np.float64)

    assert data.cov is not None
    name = type(step.transformer).__name__
    mean, cov = by_points(values, data.mean.astype(np.float64), data.cov, "unscented", name=name)
    out = Gaussians(mean.astype(data.mean.dtype), cov)
    if data.deployment is not None:
        out.deployment = carried(data, mean, step.map(data.mean, uncertain_features(data))).deployment
    return out
