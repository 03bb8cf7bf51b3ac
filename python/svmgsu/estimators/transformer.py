"""What the transformers share: they take and return `Gaussians`, so that the covariance goes along."""

from __future__ import annotations

import functools
import inspect
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ..data.gaussians import Gaussians
from ..io.frames import table_for_fit, table_for_predict
from ..support.validation import ArrayLike, is_sparse
from .inputs import ROUTED, keep_names, may_lack_names, same_units

FLOATS = (np.float64, np.float32)


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

    def fit(self, X: ArrayLike, y: ArrayLike = None, cov: ArrayLike = None, std: ArrayLike = None) -> Any:
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

    def transform(self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None) -> Any:
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
    ) -> Any:
        """Fit to X (with y, `cov`, `std`), then transform X."""
        return self.fit(X, y, cov, std).transform(X, cov, std)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Any:
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
            return self._check_names(X, reset)
        accepted = "csr" if self.takes_sparse else False
        if not reset and may_lack_names(self, X):
            return self._check_names(Gaussians(check_array(X, accept_sparse=accepted, dtype=FLOATS)), reset)
        if reset:
            self.__dict__.pop("names_of_gaussians_", None)
        return Gaussians(validate_data(self, X, reset=reset, accept_sparse=accepted, dtype=FLOATS))

    def _check_names(self, X: Gaussians, reset: bool) -> Gaussians:
        """Do what `validate_data` does for data frames; return the features in the order of the fit."""
        self._check_width(X.shape[1], reset)
        return keep_names(self, X, reset=reset)

    def _check_width(self, n: int, reset: bool) -> None:
        """Remember the number of features, or refuse another one."""
        if reset:
            self.n_features_in_ = n
        if n != self.n_features_in_:
            raise ValueError(
                f"X has {n} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                "as input"
            )


def _wrapped_for_arrays_only(method: Callable[..., Any]) -> Callable[..., Any]:
    """Use scikit-learn's wrapper, which may make data frames of the output, only if that is an array."""

    @functools.wraps(method)
    def call(self: Any, X: ArrayLike, *args: Any, **options: Any) -> Any:
        given = inspect.signature(method).bind(self, X, *args, **options).arguments
        is_array = not isinstance(X, Gaussians) and given.get("cov") is None and given.get("std") is None
        inner = method if is_array else method.__wrapped__  # type: ignore[attr-defined]
        return inner(self, X, *args, **options)

    return call


for _name in ("transform", "fit_transform"):
    setattr(GaussianTransformer, _name, _wrapped_for_arrays_only(getattr(GaussianTransformer, _name)))
