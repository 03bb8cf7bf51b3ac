"""`Propagate`: any scikit-learn transformer, with the covariances carried along."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.validation import _check_feature_names_in, check_array, check_is_fitted, validate_data

from ..data.gaussians import Gaussians
from ..io.frames import table_for_fit, table_for_predict
from ..propagate.steps import Step, framed, output_of, step_of
from ..support.arrays import dense
from ..support.types import Fitted, Tags
from ..support.validation import Array, ArrayLike, FloatArray, Matrix, check_choice, is_sparse
from .inputs import ROUTED, keep_names, may_lack_names, same_units

SAMPLE = 50  # means at which a transformer is tried out
FLOATS = (np.float64, np.float32)
Own = TypeVar("Own", bound="GaussianTransformer")


class GaussianTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Reads X and its names, and returns `Gaussians`, or an array if X has no covariance."""

    takes_sparse = True
    __metadata_request__fit = ROUTED
    __metadata_request__transform = ROUTED

    @abstractmethod
    def _fit(self, data: Gaussians, y: ArrayLike) -> None:
        """Learn from data that are checked."""

    @abstractmethod
    def _carry(self, data: Gaussians) -> Gaussians:
        """Transform the samples; an array comes as `Gaussians` without covariance."""

    def fit(
        self: Own, X: ArrayLike, y: ArrayLike = None, cov: ArrayLike = None, std: ArrayLike = None
    ) -> Own:
        """Learn from X.

        Parameters
        ----------
        X : array, DataFrame or Gaussians
            The samples.
        y : array, optional
            Labels or targets, for transformers that use them.
        cov, std : optional
            The covariance or the standard deviations of an array X, as in `svmgsu.Gaussians`. With metadata
            routing a pipeline hands them to every step that can use them.
        """
        self._fit(self._read(X, cov, std, reset=True), y)
        return self

    def transform(self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None) -> Gaussians | Matrix:
        """Transform X to `Gaussians` if it is one, or if `cov` or `std` are given; otherwise to an array."""
        check_is_fitted(self)
        data = self._read(X, cov, std, reset=False)
        out = self._carry(data)
        if not isinstance(X, Gaussians) and data.cov is None:
            return out.mean
        if data.feature_names_in_ is not None:
            out.feature_names_in_ = [str(name) for name in self.get_feature_names_out()]
        out.given = (cov, std)
        return out

    def fit_transform(
        self, X: ArrayLike, y: ArrayLike = None, cov: ArrayLike = None, std: ArrayLike = None
    ) -> Gaussians | Matrix:
        """Fit to X (with y, `cov`, `std`), then transform X."""
        return self.fit(X, y, cov, std).transform(X, cov, std)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.takes_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _read(self, X: ArrayLike, cov: ArrayLike, std: ArrayLike, *, reset: bool) -> Gaussians:
        if reset:
            X, _ = table_for_fit(X, None, cov, std)
        elif getattr(self, "names_of_gaussians_", False):
            X = table_for_predict(X, getattr(self, "feature_names_in_", None), cov, std)
        cov, std = same_units(self, X, cov, std)
        if not isinstance(X, Gaussians) and (cov is not None or std is not None):
            X = Gaussians(X, cov, std=std)
        if isinstance(X, Gaussians):
            if is_sparse(X.mean) and not self.takes_sparse:
                raise TypeError(f"X: {type(self).__name__} takes no sparse means; pass their .toarray()")
            self._check_width(X.shape[1], reset)
            return keep_names(self, X, reset=reset)
        accepted = "csr" if self.takes_sparse else False
        if not reset and may_lack_names(self, X):
            data = Gaussians(check_array(X, accept_sparse=accepted, dtype=FLOATS))
            self._check_width(data.shape[1], reset)
            return data
        if reset:
            self.__dict__.pop("names_of_gaussians_", None)
        return Gaussians(validate_data(self, X, reset=reset, accept_sparse=accepted, dtype=FLOATS))

    def _check_width(self, n: int, reset: bool) -> None:
        """Remember the number of features, or refuse another one."""
        if reset:
            self.n_features_in_ = n
        if n != self.n_features_in_:
            raise ValueError(
                f"X has {n} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input"
            )


Method = TypeVar("Method", bound=Callable[..., "Gaussians | Matrix"])


def _wrapped_for_arrays_only(method: Method) -> Method:
    """Let scikit-learn, which may be set to make data frames of outputs, do so only if that is an array."""

    @functools.wraps(method)
    def call(self: GaussianTransformer, X: ArrayLike, *args: ArrayLike, **options: ArrayLike) -> Matrix:
        out = method.__wrapped__(self, X, *args, **options)  # type: ignore[attr-defined]
        return out if isinstance(out, Gaussians) else _wrap_data_with_container("transform", out, X, self)

    return call  # type: ignore[return-value]


for _name in ("transform", "fit_transform"):
    setattr(GaussianTransformer, _name, _wrapped_for_arrays_only(getattr(GaussianTransformer, _name)))


class LinearModel(NamedTuple):
    """What `Propagate.unscale` returns: the decision value is coef_ · x + intercept_."""

    coef_: FloatArray
    intercept_: FloatArray


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

    def __init__(
        self, transformer: TransformerMixin | str = "passthrough", *, method: str = "first-order"
    ) -> None:
        self.transformer = transformer
        self.method = method

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """Whether means may be sparse."""
        return isinstance(self.transformer, str) or bool(get_tags(self.transformer).input_tags.sparse)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if not isinstance(self.transformer, str):
            inner = get_tags(self.transformer)
            tags.input_tags.positive_only = inner.input_tags.positive_only
            tags.target_tags.required = inner.target_tags.required
            if inner.transformer_tags is not None:
                tags.transformer_tags.preserves_dtype = inner.transformer_tags.preserves_dtype
        return tags

    def _fit(self, data: Gaussians, y: ArrayLike) -> None:
        check_choice(self.method, "method", ("first-order", "exact", "unscented"))
        if isinstance(self.transformer, str):
            if self.transformer != "passthrough":
                raise ValueError(
                    f'transformer: expected a transformer or "passthrough", got {self.transformer!r}'
                )
            self.transformer_ = FunctionTransformer(feature_names_out="one-to-one")
        else:
            self.transformer_ = clone(self.transformer)
        with config_context(transform_output="default"):
            names = getattr(self, "feature_names_in_", None)
            self.transformer_.fit(data.mean if names is None else framed(data.mean, names), y)
            some = np.linspace(0, len(data) - 1, min(len(data), SAMPLE)).astype(np.int64)
            with np.errstate(divide="ignore", invalid="ignore"):
                self.step_: Step = step_of(self.transformer_, dense(data.mean[some]).astype(np.float64))
                self._n_features_out = output_of(self.transformer_, data.mean[:1]).shape[1]

    def _carry(self, data: Gaussians) -> Gaussians:
        with config_context(transform_output="default"), np.errstate(divide="ignore", invalid="ignore"):
            if data.cov is None and data.test_noise is None:
                mean = self.step_.forward(data.mean)
                # With covariances, the derivative refuses outputs that are not finite.
                if not is_sparse(mean) and not np.isfinite(mean).all():
                    i, j = np.argwhere(~np.isfinite(mean))[0].tolist()
                    raise ValueError(
                        f"transformer: {self.step_.name} gives {mean[i, j]} for sample {i} at output {j} "
                        "(negative values in data, or others outside its domain)"
                    )
                return Gaussians(mean)
            if self.method == "unscented" and data.cov is not None and not self.step_.affine:
                return self.step_.through_points(data)
            return self.step_.carry(data, exact=self.method == "exact")

    def get_feature_names_out(self, input_features: ArrayLike = None) -> Array:
        """Return the transformer's names of its outputs; `input_features` as in scikit-learn."""
        check_is_fitted(self)
        given = _check_feature_names_in(self, input_features)
        try:
            return np.asarray(self.transformer_.get_feature_names_out(given), dtype=object)
        except AttributeError:  # a FunctionTransformer need not name its outputs
            if getattr(self.step_, "elementwise", False):
                return np.asarray(given)
        prefix = type(self.transformer_).__name__.lower()
        return np.asarray([f"{prefix}{j}" for j in range(self._n_features_out)], dtype=object)

    def unscale(self, model: Fitted) -> LinearModel:
        """Return a linear model's weights and offset in the units of the data from before the transformer.

        Parameters
        ----------
        model : fitted linear model
            With `coef_` and `intercept_`, trained on what `transform` returns; or the result of another
            `unscale`, for a pipeline of several `Propagate` steps.

        Returns
        -------
        coef_, intercept_ : arrays of shapes (P, n) and (P,), as the model's
            A named tuple. Decision values of x are coef_ · x + intercept_. (With probabilities
            `decision_function` is shifted, for several classes it gives log-odds: see there.)

        Examples
        --------
        >>> import numpy as np, svmgsu
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> data, y = svmgsu.Gaussians([[100.0], [101.0], [104.0], [105.0]], std=0.5), [0, 0, 1, 1]
        >>> scaler = svmgsu.Propagate(StandardScaler())
        >>> pipeline = make_pipeline(scaler, svmgsu.LinearSVMGSU(lam=0.1)).fit(data, y)
        >>> coef, intercept = pipeline[0].unscale(pipeline[-1])
        >>> np.allclose(data.mean @ coef[0] + intercept, pipeline.decision_function(data))
        True
        """
        check_is_fitted(self)
        if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
            raise TypeError(
                f"model: {type(model).__name__} has no coef_ and intercept_; pass a fitted linear model"
            )
        if not self.step_.affine:
            raise TypeError(
                f"transformer: {self.step_.name} is not linear, so weights cannot be brought back through it"
            )
        coef = np.asarray(model.coef_, dtype=np.float64)
        shift = coef @ dense(self.step_.forward(np.zeros((1, self.n_features_in_))))[0]
        return LinearModel(
            self.step_.linear_map().pull(coef), np.asarray(model.intercept_, dtype=np.float64) + shift
        )
