"""`Gaussians`: means and covariances in one container that can be sliced like an array."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .._repr import gaussians_table, typical_sizes
from ..support.arrays import dense
from ..support.sparse import SparseRows
from ..support.validation import (
    Array,
    FloatArray,
    as_float_array,
    as_generator,
    check_choice,
    check_column_order,
    check_count,
    check_finite,
    check_positive,
    check_row_order,
    column_names,
    is_sparse,
)
from .coercion import as_covariance, as_deployment
from .covariances import Covariance, LowRank, Psd, chosen_rows
from .frames import Columns


class Gaussians:
    """Uncertain examples: example i is the normal distribution N(mean_i, cov_i).

    Parameters
    ----------
    mean : array or SciPy sparse matrix of shape (l, n)
        C-ordered float32 and float64 arrays, `np.memmap` too, are used without a copy.
    cov : covariance kind, array or None
        `Isotropic`, `Diagonal`, `Full`, `LowRank`, `Shared`, a sum of them, or a plain array that
        means by its shape: a number or (l,) isotropic, (l, n) diagonal, (l, n, n) full.
    std : array, optional
        Error bars instead of `cov`: standard deviations, a number, (l,) or (l, n).
    feature_names : list of str, optional
        By default the columns of a DataFrame, if they are strings.
    psd : {"clip", "strict"}
        Of matrices given as a plain array: as for `Full`.

    Attributes
    ----------
    mean, cov, shape
        What was given; `shape` is (l, n).
    feature_names_in_ : list of str or None
    deployment : covariance kind or None
        Noise that will exist only where a model is used; see `with_deployment`.
    columns : Columns or None
        What the columns of the table were understood as, of data from a table.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> data = svmgsu.Gaussians(np.zeros((3, 2)), std=np.ones((3, 2)))
    >>> data.shape, len(data[1:])
    ((3, 2), 2)
    """

    mean: Any
    cov: Covariance | None
    shape: tuple[int, int]
    deployment: Covariance | None
    columns: Columns | None = None
    _rows: Array | SparseRows

    def __init__(
        self,
        mean: Any,
        cov: Any = None,
        *,
        std: Any = None,
        feature_names: Sequence[str] | None = None,
        psd: Psd = "clip",
    ) -> None:
        if is_sparse(mean):
            self._rows = SparseRows(mean, "X")
            self._rows.check("X", variances=False)
            self.mean = self._rows.matrix
        else:
            self._rows = as_float_array(mean, "X", (2,))
            check_finite(self._rows, "X")
            self.mean = self._rows
        self.shape = _checked_shape(self._rows)
        self.feature_names_in_ = names_of(mean, feature_names, self.shape[1])
        check_column_order(self.feature_names_in_, cov=cov, std=std)
        check_row_order(mean, cov=cov, std=std)
        self.cov = as_covariance(cov, std, self.shape, psd)
        self.deployment = None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Gaussians:
        """Some of the examples: `key` is a slice, a mask or indices, or scikit-learn's `(indices, ...)`."""
        rows = chosen_rows(key, len(self))
        out, mean = Gaussians.__new__(Gaussians), self.mean[rows]  # of numbers that are checked already
        out._rows = SparseRows(mean, "X") if is_sparse(mean) else as_float_array(mean, "X", (2,))
        out.mean, out.shape = getattr(out._rows, "matrix", out._rows), _checked_shape(out._rows)
        out.feature_names_in_ = self.feature_names_in_
        out.cov = None if self.cov is None else self.cov.take(rows)
        out.deployment = None if self.deployment is None else self.deployment.take(rows)
        return out

    def __iter__(self) -> Any:
        raise TypeError("Gaussians cannot be iterated over; .mean and .cov hold what there is to read")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Gaussians are no plain array, which would lose the covariances: use .mean where only the means "
            "are wanted, or a tool that carries covariances, such as svmgsu.Propagate; "
            "docs/scikit-learn.md shows how other tools can be given them"
        )

    def __repr__(self) -> str:
        sizes = typical_sizes(self)
        known = sizes is not None and not np.isnan(sizes[2])
        size = f", typical error {sizes[2]:.2g} of the spread" if sizes and known else ""
        return f"Gaussians({self.shape[0]} examples, {self.shape[1]} features, cov={self.cov!r}{size})"

    def _repr_html_(self) -> str:
        return gaussians_table(self)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        features: Sequence[str] | None = None,
        errors: Any = None,
        *,
        exact: Sequence[str] | None = None,
        ignore: Sequence[str] | None = None,
        error_scale: float = 1.0,
        asymmetric: str = "median",
        units: str = "same",
        missing: str = "error",
        limits: str | None = None,
    ) -> Gaussians:
        """Read a table of values and uncertainties by the names of its columns.

        The columns are paired as in files (`svmgsu.io.read_table`): `flux` with `flux_err`, `e_flux`,
        `sigma_flux` and many more, upper with lower errors, variances, covariances. A column that looks like
        an uncertainty and has no value is refused. Ids, text, and a column `label`, `class` or `target` are
        no features. `columns` of the result says what was understood.

        Parameters
        ----------
        frame : DataFrame of pandas or polars, Table or QTable of astropy, Table of pyarrow
            Units of a QTable are converted to those of the values.
        features : list of column names, optional
            The values, in this order. By default all columns that are nothing else; those without
            uncertainty are exact.
        errors : dict, str or list of str, optional
            Uncertainties by hand: {value: column}, where a column is a name, a pair (upper, lower),
            "var:name", "ivar:name", "bounds:low,high", a number for all rows, or None; or a pattern such as
            "e_{}" or "MP_{}=EP_{}".
        exact : list of column names, optional
            Values without uncertainty, whatever their names look like.
        ignore : list of column names, optional
            Columns that are not used, with their uncertainties.
        error_scale : float, default=1
            How many standard deviations the uncertainties are: 1.645 for margins of 90 %.
        asymmetric : {"median", "mode", "mean"}
            What a value with an upper and a lower error is: the median or the mode of two half normals, as
            in `uncertainty.from_errors`, whose mean lies on the longer side. "mean": the value stays where
            it is, and its deviation is the mean of the two.
        units : {"same", "relative", "linear of log10", "linear of log"}
            Of the uncertainties, as in `uncertainty.from_errors`.
        missing : {"error", "drop"}
            What to do with rows where a number is missing: refuse them, or leave them out.
        limits : {"half-normal"}, optional
            What a cell such as "<0.5" is: a half-normal distribution of that scale. By default refused.

        Examples
        --------
        >>> import pandas as pd, svmgsu
        >>> table = pd.DataFrame({"u": [1.0, 2.0], "u_err": [0.1, 0.2], "name": ["a", "b"]})
        >>> data = svmgsu.Gaussians.from_frame(table, ignore=["name"])
        >>> data.feature_names_in_, data.mean.ravel().tolist()
        (['u'], [1.0, 2.0])
        >>> print(data.columns)
        1 values with errors, 1 unused
        """
        from ..io.frames import read_frame, say

        check_choice(missing, "missing", ("error", "drop"))
        options = {"errors": errors, "exact": exact, "ignore": ignore, "error_scale": error_scale}
        options |= {"asymmetric": asymmetric, "units": units, "missing": missing, "limits": limits}
        found = read_frame(frame, features=features, label=False, **options)
        if features is None:
            say(found, exact)
        return found.data

    def with_cov(self, cov: Covariance | None) -> Gaussians:
        """The same means with another covariance, `cov`."""
        out = Gaussians.__new__(Gaussians)
        out._rows, out.mean, out.shape = self._rows, self.mean, self.shape
        out.feature_names_in_ = self.feature_names_in_
        out.cov = as_covariance(cov, None, self.shape)
        out.deployment = self.deployment
        return out

    def with_more_cov(self, cov: Covariance) -> Gaussians:
        """The same means with `cov` added to their covariance."""
        return self.with_cov(cov if self.cov is None else self.cov + cov)

    def with_deployment(self, cov: Any, seed: int = 0, *, psd: Psd = "clip") -> Gaussians:
        """The same examples with noise that will exist only where a model is used.

        It is added in training, as `deployment_cov` of `svmgsu.train` is, and is no part of `cov`. Here it is
        in the units of the data: transformers carry it along, so that it can go through a pipeline.

        Parameters
        ----------
        cov : array or covariance kind, or None for none
            (n,) variances or an (n, n) matrix for all examples, or a pool of covariances, (k, n) or
            (k, n, n) or a kind, of which each example draws one.
        seed : int, default=0
            Of the draws from a pool.
        psd : {"clip", "strict"}
            Of matrices given as a plain array: as for `Full`.

        Examples
        --------
        >>> import svmgsu
        >>> from sklearn.preprocessing import StandardScaler
        >>> data = svmgsu.Gaussians([[0.0], [4.0]]).with_deployment([1.0])
        >>> svmgsu.Propagate(StandardScaler()).fit_transform(data).deployment.to_full(n_examples=1).item()
        0.25
        """
        out = self.with_cov(self.cov)
        out.deployment = None if cov is None else as_deployment(cov, self.shape, seed, psd)
        return out

    def in_order(self, names: Sequence[str] | None) -> Gaussians:
        """The same examples with the features called `names`, in that order, covariances too.

        Names that are missing here, or not among `names`, are an error that lists them. Where one of the
        two has no names there is nothing to compare, and the examples are as they were.

        Examples
        --------
        >>> import svmgsu
        >>> data = svmgsu.Gaussians([[1.0, 2.0]], std=[[0.1, 0.5]], feature_names=["size", "colour"])
        >>> turned = data.in_order(["colour", "size"])
        >>> turned.mean.tolist(), turned.cov.variances.tolist()
        ([[2.0, 1.0]], [[0.25, 0.010000000000000002]])
        """
        own = self.feature_names_in_
        if names is None or own is None or own == list(names):
            return self
        places = np.array(_core.match_names(list(names), own), dtype=np.int64)
        cov = None if self.cov is None else self.cov.select(places)
        out = Gaussians(self.mean[:, places], cov, feature_names=list(names))
        out.deployment = None if self.deployment is None else self.deployment.select(places)
        return out

    def scale_cov(self, t: float) -> Gaussians:
        """The same means with all covariances times `t`, a number that is not negative; 0 is none at all.

        Examples
        --------
        >>> import svmgsu
        >>> svmgsu.Gaussians([[0.0]], std=2.0).scale_cov(0.5).cov.to_full(n_features=1, n_examples=1).item()
        2.0
        """
        if self.cov is None:
            return self
        scaled = t * self.cov
        return self.with_cov(scaled if t else None)

    def sample(self, k: int = 1, random_state: Any = None, *, y: Any = None) -> FloatArray:
        """Draws from every example's Gaussian, exact for every kind of covariance.

        Parameters
        ----------
        k : int, default=1
            Draws for each example.
        random_state : int, Generator, RandomState or None
            The same seed gives the same draws.
        y : array of shape (l,), optional
            Labels, needed where there is one covariance per class.

        Returns
        -------
        array of shape (l, k, n)
            Dense, for sparse means too. `.reshape(-1, n)` makes rows of it, with labels
            `np.repeat(y, k)`.

        Examples
        --------
        >>> import svmgsu
        >>> svmgsu.Gaussians([[0.0, 5.0]], std=[[1.0, 0.0]]).sample(3, random_state=0)[..., 1]
        array([[5., 5., 5.]])
        """
        rng = as_generator(random_state)
        shape = (self.shape[0], check_count(k, "k"), self.shape[1])
        mean = dense(self.mean).astype(np.float64)[:, np.newaxis, :]
        noise = np.zeros(shape) if self.cov is None else self.cov.noise(rng, shape, y)
        return np.asarray(mean + noise)

    def subspace(self, p: float, mode: str = "truncate", *, y: Any = None) -> Gaussians:
        """Each covariance reduced to its leading eigenvectors (the paper's Sect. 3.2).

        Parameters
        ----------
        p : float in (0, 1]
            The fraction of each example's variance to keep.
        mode : {"truncate", "project"}
            "truncate" keeps the mean and replaces the covariance (exact at p = 1). "project", the
            paper's reading, projects the mean too: what lies outside the subspace is lost in training.
        y : array of shape (l,), optional
            Labels, needed where there is one covariance per class.
        """
        if check_positive(p, "subspace") > 1:
            raise ValueError(f"subspace: the fraction p must be in (0, 1], got {p!r}")
        check_subspace_mode(mode)
        if self.cov is None:
            raise ValueError("subspace: the examples have no covariance to reduce")
        count, n = self.shape
        terms = self.cov.terms(count, n, None if y is None else np.asarray(y))
        factors, start = _core.eigen_subspaces(terms, count, n, float(p))
        mean = self.mean
        if mode == "project":
            mean = _core.project_means(np.ascontiguousarray(dense(mean)), factors, start)
        out = Gaussians(mean, LowRank(factors, start=start), feature_names=self.feature_names_in_)
        out.deployment = self.deployment
        return out

    def core(self, y: Array | None = None) -> Any:
        """The core's view of the examples; `y` tells classes apart, where covariances depend on them."""
        terms = () if self.cov is None else self.cov.terms(*self.shape, y)
        return _core.Gaussians(self.core_means(), terms)

    def labelled(self, signs: FloatArray, weights: FloatArray, y: Array | None) -> Any:
        """What the core trains a classifier on, with `signs` -1 and +1 and `weights`; `y` as in `core`."""
        terms = () if self.cov is None else self.cov.terms(*self.shape, y)
        return _core.labelled(self.core_means(), terms, signs, weights)

    def valued(self, targets: FloatArray, weights: FloatArray) -> Any:
        """What the core trains a regression on, with `targets` and `weights`."""
        terms = () if self.cov is None else self.cov.terms(*self.shape, None)
        return _core.valued(self.core_means(), terms, targets, weights)

    def core_means(self) -> Any:
        """The means as the core sees them."""
        rows = self._rows
        if isinstance(rows, SparseRows):
            return _core.sparse_means(rows.value, rows.column, rows.start, rows.shape[1])
        return _core.dense_means(rows)


def _checked_shape(rows: Array | SparseRows) -> tuple[int, int]:
    shape = int(rows.shape[0]), int(rows.shape[1])
    for count, what in zip(shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(
                f"X: Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required."
            )
    return shape


def check_subspace_mode(mode: Any) -> None:
    """Refuses what is not a mode of `Gaussians.subspace`."""
    if mode not in ("truncate", "project"):
        raise ValueError(f'subspace_mode: expected "truncate" or "project", got {mode!r}')


def names_of(mean: Any, given: Sequence[str] | None, n: int) -> list[str] | None:
    """The names of the features: as given, or the columns of a DataFrame."""
    given = column_names(mean) if given is None else given
    if given is None:
        return None
    names = list(given)
    if len(names) != n or not all(isinstance(name, str) for name in names):
        raise ValueError(f"feature_names: expected {n} strings, one per feature, got {names!r}")
    if len(set(names)) < n:
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(f"feature_names: {twice!r} is there twice; features are told apart by their names")
    return names


def as_gaussians(X: Any, cov: Any = None, std: Any = None, psd: Psd = "clip") -> Gaussians:
    """X with its covariance as `Gaussians`; itself if it is one already."""
    if isinstance(X, Gaussians):
        if cov is not None or std is not None:
            raise ValueError("cov: X is a Gaussians and has its covariance already; pass one of the two")
        return X
    if hasattr(X, "columns"):
        from ..io.frames import table_for_fit

        X, _ = table_for_fit(X, None, cov, std)
        if isinstance(X, Gaussians):
            return X
    return Gaussians(X, cov, std=std, psd=psd)


def with_gaps(mean: Array, cov: Covariance | None, names: list[str] | None = None) -> Gaussians:
    """Gaussians in whose means NaN is a missing value, for those who know of it: a population does."""
    out = Gaussians(np.nan_to_num(mean) if np.isnan(mean).any() else mean, cov, feature_names=names)
    if np.isnan(mean).any():
        out.mean = out._rows = mean
    return out
