"""scikit-learn transformers that carry the covariance along: scaling, linear maps, principal axes, columns.

They take and return `Gaussians`; plain arrays are taken too, and returned as arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin
from sklearn.decomposition import PCA
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from ..data.gaussians import Gaussians
from ..maps.linear import LinearMap, MatrixMap, ScaleMap, SelectMap, as_select_map, dense
from ..support.validation import Array, FloatArray, as_float_array, check_finite, is_sparse
from .transforming import GaussianTransformer, carried


class GaussianScaler(OneToOneFeatureMixin, GaussianTransformer):  # type: ignore[misc]
    """Scales the features; the covariance follows: diag(1/s) Σ diag(1/s).

    Parameters
    ----------
    kind : {"standard", "robust", "minmax"}
        By mean and standard deviation, by median and quartiles, or by least and largest value of the
        means, as scikit-learn's `StandardScaler`, `RobustScaler` and `MinMaxScaler` do.
    with_mean, with_std : bool, default=True
        Whether to shift, and whether to scale. Sparse means cannot be shifted.
    use_cov : bool, default=False
        "standard": add the mean of the examples' own variances to the variance of the means, which gives
        the standard deviation of draws from the examples.

    Attributes
    ----------
    center_, scale_ : arrays of shape (n,)
        A value x becomes (x - center_)/scale_.

    Examples
    --------
    >>> import svmgsu
    >>> data = svmgsu.Gaussians([[0.0], [4.0]], std=1.0)
    >>> scaled = svmgsu.GaussianScaler().fit_transform(data)
    >>> scaled.mean.ravel().tolist(), scaled.cov.variances.item()
    ([-1.0, 1.0], 0.25)
    """

    learns_units = True

    def __init__(
        self,
        kind: str = "standard",
        *,
        with_mean: bool = True,
        with_std: bool = True,
        use_cov: bool = False,
    ) -> None:
        self.kind = kind
        self.with_mean = with_mean
        self.with_std = with_std
        self.use_cov = use_cov

    def _fit(self, data: Gaussians, y: Any) -> None:
        if self.kind not in ("standard", "robust", "minmax"):
            raise ValueError(f'kind: expected "standard", "robust" or "minmax", got {self.kind!r}')
        if self.use_cov and self.kind != "standard":
            raise ValueError(f'use_cov: only kind="standard" has a variance to add to, not {self.kind!r}')
        if is_sparse(data.mean) and self.kind == "minmax":
            raise TypeError('kind: "minmax" takes no sparse means; pass their .toarray()')
        if is_sparse(data.mean) and self.with_mean:
            raise ValueError("with_mean: sparse means cannot be shifted; pass with_mean=False")
        center, scale = getattr(self, f"_{self.kind}")(data, y)
        n = data.shape[1]
        self.center_: FloatArray = center if self.with_mean else np.zeros(n)
        self.scale_: FloatArray = scale if self.with_std else np.ones(n)

    def _standard(self, data: Gaussians, y: Any) -> tuple[FloatArray, FloatArray]:
        inner = StandardScaler(with_mean=self.with_mean).fit(data.mean)
        if not self.use_cov or data.cov is None:
            return inner.mean_, inner.scale_
        variance = inner.var_ + data.cov.diagonals(*data.shape, y).mean(axis=0)
        return inner.mean_, np.where(variance > 0, np.sqrt(variance), 1.0)

    def _robust(self, data: Gaussians, y: Any) -> tuple[FloatArray, FloatArray]:
        inner = RobustScaler(with_centering=self.with_mean).fit(data.mean)
        return inner.center_, inner.scale_

    def _minmax(self, data: Gaussians, y: Any) -> tuple[FloatArray, FloatArray]:
        inner = MinMaxScaler().fit(data.mean)
        return inner.data_min_, 1 / inner.scale_

    def _mean(self, data: Gaussians) -> Any:
        mean, dtype = data.mean, data.mean.dtype
        if not is_sparse(mean):
            return (mean - self.center_.astype(dtype)) / self.scale_.astype(dtype)
        if self.center_.any():
            raise ValueError("X: sparse means cannot be shifted; fit with with_mean=False")
        return mean.multiply((1 / self.scale_).astype(dtype)).tocsr()

    def _map(self, data: Gaussians) -> LinearMap:
        return ScaleMap(1 / self.scale_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.with_mean and self.kind != "minmax"
        return tags

    def inverse_transform(self, X: Any) -> Any:
        """X, an array or `Gaussians`, in the units from before."""
        data = self._read_back(X, getattr(self, "n_features_in_", 0))
        mean, dtype = data.mean, data.mean.dtype
        if is_sparse(mean):
            back = mean.multiply(self.scale_.astype(dtype)).tocsr()
        else:
            back = mean * self.scale_.astype(dtype) + self.center_.astype(dtype)
        return self._give_back(X, carried(data, back, ScaleMap(self.scale_)))

    def pull_back(self, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The weights `coef` (K, m) of the output as weights of the input, and what they add to b."""
        weights = coef / self.scale_
        return weights, -weights @ self.center_


class GaussianLinearMap(ClassNamePrefixFeaturesOutMixin, GaussianTransformer):  # type: ignore[misc]
    """x → A x + c; the covariance becomes A Σ Aᵀ, exactly.

    Parameters
    ----------
    matrix : array of shape (m, n), optional
        A; by default the identity.
    offset : array of shape (m,), optional
        c; by default zero.

    Examples
    --------
    >>> import svmgsu
    >>> magnitudes = svmgsu.Gaussians([[19.0, 18.5, 18.4]], std=[[0.3, 0.1, 0.1]])  # u, g, r
    >>> colours = svmgsu.GaussianLinearMap([[1, -1, 0], [0, 1, -1]]).fit_transform(magnitudes)
    >>> colours.mean.round(2).tolist(), colours.cov.to_full().round(3).tolist()  # neighbours share g
    ([[0.5, 0.1]], [[[0.1, -0.01], [-0.01, 0.02]]])
    """

    def __init__(self, matrix: Any = None, offset: Any = None) -> None:
        self.matrix = matrix
        self.offset = offset

    def _fit(self, data: Gaussians, y: Any) -> None:
        n = data.shape[1]
        given = np.eye(n) if self.matrix is None else self.matrix
        matrix = as_float_array(given, "matrix", (2,)).astype(np.float64)
        check_finite(matrix, "matrix")
        if matrix.shape[1] != n:
            raise ValueError(f"matrix: {matrix.shape[1]} columns, but X has {n} features")
        offset = np.zeros(len(matrix)) if self.offset is None else self.offset
        offset = as_float_array(offset, "offset", (1,)).astype(np.float64)
        check_finite(offset, "offset")
        if len(offset) != len(matrix):
            raise ValueError(f"offset: {len(offset)} numbers, but the matrix has {len(matrix)} rows")
        self.matrix_, self.offset_ = matrix, offset
        self._n_features_out = len(matrix)

    def _mean(self, data: Gaussians) -> Any:
        dtype = data.mean.dtype
        return np.asarray(data.mean @ self.matrix_.T.astype(dtype)) + self.offset_.astype(dtype)

    def _map(self, data: Gaussians) -> LinearMap:
        return MatrixMap(self.matrix_)

    def inverse_transform(self, X: Any) -> Any:
        """X, an array or `Gaussians`, before the map; for a square matrix that can be inverted."""
        data = self._read_back(X, getattr(self, "_n_features_out", 0))
        rows, columns = self.matrix_.shape
        if rows != columns or np.linalg.matrix_rank(self.matrix_) < rows:
            raise ValueError(f"matrix: of shape {self.matrix_.shape}, it has no inverse")
        inverse, dtype = np.linalg.inv(self.matrix_), data.mean.dtype
        mean = (dense(data.mean) - self.offset_.astype(dtype)) @ inverse.T.astype(dtype)
        return self._give_back(X, carried(data, mean, MatrixMap(inverse)))

    def pull_back(self, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The weights `coef` (K, m) of the output as weights of the input, and what they add to b."""
        return coef @ self.matrix_, coef @ self.offset_


class GaussianPCA(ClassNamePrefixFeaturesOutMixin, GaussianTransformer):  # type: ignore[misc]
    """Principal axes of the means; the covariance becomes UᵀΣU, exactly.

    Parameters
    ----------
    n_components : int, float, "mle" or None
        How many axes, or which share of the variance, as in scikit-learn's `PCA`.

    Attributes
    ----------
    components_ : array of shape (n_components, n)
        The axes Uᵀ.
    mean_, explained_variance_, explained_variance_ratio_
        As in scikit-learn's `PCA`.

    Examples
    --------
    >>> import svmgsu
    >>> data = svmgsu.Gaussians([[0.0, 0.0], [3.0, 3.0], [6.0, 6.0]], svmgsu.Shared([[1.0, 0.5], [0.5, 1.0]]))
    >>> svmgsu.GaussianPCA(1).fit_transform(data).cov.to_full(n_examples=1).round(6).item()
    1.5
    """

    learns_units = True

    def __init__(self, n_components: Any = None) -> None:
        self.n_components = n_components

    def _fit(self, data: Gaussians, y: Any) -> None:
        # Never the randomized solver: the same data give the same axes.
        tall = data.shape[0] >= 10 * data.shape[1]
        solver = "covariance_eigh" if tall or is_sparse(data.mean) else "full"
        inner = PCA(self.n_components, svd_solver=solver).fit(data.mean)
        self.components_: FloatArray = inner.components_
        self.mean_: FloatArray = inner.mean_
        self.explained_variance_: FloatArray = inner.explained_variance_
        self.explained_variance_ratio_: FloatArray = inner.explained_variance_ratio_
        self.n_components_ = self._n_features_out = len(self.components_)

    def _mean(self, data: Gaussians) -> Any:
        axes = self.components_.T.astype(data.mean.dtype)
        if is_sparse(data.mean):  # centred afterwards, so that they stay sparse until then
            return np.asarray(data.mean @ axes) - self.mean_.astype(axes.dtype) @ axes
        return (data.mean - self.mean_.astype(axes.dtype)) @ axes

    def _map(self, data: Gaussians) -> LinearMap:
        return MatrixMap(self.components_.astype(np.float64))

    def inverse_transform(self, X: Any) -> Any:
        """X, an array or `Gaussians`, back in the space of the features, on the principal axes."""
        data = self._read_back(X, getattr(self, "_n_features_out", 0))
        dtype = data.mean.dtype
        mean = np.asarray(data.mean @ self.components_.astype(dtype)) + self.mean_.astype(dtype)
        return self._give_back(X, carried(data, mean, MatrixMap(self.components_.T.astype(np.float64))))

    def pull_back(self, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The weights `coef` (K, m) of the output as weights of the input, and what they add to b."""
        weights = coef @ self.components_
        return weights, -weights @ self.mean_


class GaussianColumnSelector(GaussianTransformer):
    """Some of the features, with their part of the covariance.

    Parameters
    ----------
    columns : list of names, list of indices or mask, optional
        By default all. Names need a DataFrame, or `Gaussians` with `feature_names_in_`.

    Examples
    --------
    >>> import svmgsu
    >>> data = svmgsu.Gaussians([[1.0, 2.0]], std=[[0.1, 0.5]], feature_names=["u", "g"])
    >>> chosen = svmgsu.GaussianColumnSelector(["g"]).fit_transform(data)
    >>> chosen.feature_names_in_, chosen.mean.item(), chosen.cov.variances.item()
    (['g'], 2.0, 0.25)
    """

    def __init__(self, columns: Any = None) -> None:
        self.columns = columns

    def _fit(self, data: Gaussians, y: Any) -> None:
        n = data.shape[1]
        columns = np.arange(n) if self.columns is None else self.columns
        self.indices_: Array = column_indices(columns, getattr(self, "feature_names_in_", None), n)

    def _mean(self, data: Gaussians) -> Any:
        return data.mean[:, self.indices_]

    def _map(self, data: Gaussians) -> LinearMap:
        return SelectMap(self.indices_, self.n_features_in_)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the chosen features; `input_features` as in scikit-learn."""
        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.indices_]

    def pull_back(self, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The weights `coef` (K, m) of the output as weights of the input, and what they add to b."""
        weights = np.zeros((len(coef), self.n_features_in_))
        weights[:, self.indices_] = coef
        return weights, np.zeros(len(coef))


def column_indices(columns: Any, known: Any, n: int) -> Array:
    """The indices of columns given by names (of those `known`), indices or a mask."""
    if isinstance(columns, str):
        raise TypeError(f"columns: expected a list, got {columns!r}; pass [{columns!r}]")
    if any(isinstance(name, str) for name in columns):
        if known is None:
            raise ValueError("columns: X has no names of features; give indices, or a DataFrame")
        places = {name: j for j, name in enumerate(known)}
        unknown = [name for name in columns if name not in places]
        if unknown:
            raise ValueError(f"columns: X has no feature {unknown[0]!r}; it has {list(known)}")
        columns = [places[name] for name in columns]
    chosen = as_select_map(columns, n)
    assert isinstance(chosen, SelectMap)
    return chosen.columns
