"""`Gaussians`: means and covariances in one container that can be sliced like an array."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from .. import _core
from .._repr import gaussians_table, typical_ratio
from ..propagate.linear import as_select_map
from ..support.arrays import dense, stack_rows
from ..support.sparse import SparseRows
from ..support.types import Fields, Table
from ..support.validation import (
    FINITE,
    Array,
    ArrayLike,
    FloatArray,
    Matrix,
    RandomState,
    as_float_array,
    as_generator,
    check_choice,
    check_column_order,
    check_count,
    check_positive,
    check_row_order,
    column_names,
    is_sparse,
)
from .coercion import as_covariance, as_test_noise, plain_arrays
from .columns import Columns
from .covariances import Covariance, LowRank, Psd, chosen_rows, join


class Gaussians:
    """Uncertain samples: sample i is the normal distribution N(mean_i, cov_i).

    Parameters
    ----------
    mean : array or SciPy sparse matrix of shape (l, n)
        C-ordered float32 and float64 arrays, `np.memmap` too, are used without a copy.
    cov : covariance kind, array or None
        `Isotropic`, `Diagonal`, `Full`, `LowRank`, `Shared`, a sum of them, or a plain array that
        means by its shape: a number or (l,) isotropic, (l, n) diagonal, (l, n, n) full.
    std : array, optional
        Standard deviations instead of `cov`: a number, (l,) or (l, n).
    feature_names : list of str, optional
        By default the columns of a DataFrame, if they are strings.
    psd : {"clip", "strict"}
        What to do with matrices, given as a plain array, that are not positive semidefinite: as for `Full`.

    Attributes
    ----------
    mean, cov, shape
        What was given; `shape` is (l, n).
    feature_names_in_ : list of str or None
        The names of the features.
    test_noise : covariance kind or None
        Noise that will exist only at test time; see `add_noise`.
    columns : Columns or None
        What the columns of the table were understood as, of data from a table.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> data = svmgsu.Gaussians(np.zeros((3, 2)), std=np.ones((3, 2)))
    >>> data.shape, len(data[1:])
    ((3, 2), 2)
    """

    mean: Matrix
    cov: Covariance | None
    shape: tuple[int, int]
    test_noise: Covariance | None
    columns: Columns | None = None
    # The `cov` and `std` that a transformer was given, which `cov` holds in the units of `mean`: metadata
    # routing hands the same ones to the next step as well.
    given: tuple[ArrayLike, ArrayLike] = (None, None)
    _rows: Array | SparseRows

    def __init__(
        self,
        mean: ArrayLike,
        cov: ArrayLike = None,
        *,
        std: ArrayLike = None,
        feature_names: Sequence[str] | None = None,
        psd: Psd = "clip",
    ) -> None:
        mean, cov, std = plain_arrays(mean, cov, std)
        if hasattr(mean, "tocsr"):
            self._rows = SparseRows(mean, "X")
            self._rows.check("X", variances=False)
            self.mean = self._rows.matrix
        else:
            self.mean = self._rows = as_float_array(mean, "X", (2,), FINITE)
        self.shape = self._rows.shape
        if 0 in self.shape:
            raise _empty(self.shape)
        self.feature_names_in_: list[str] | None = None
        if feature_names is not None or hasattr(mean, "columns"):
            self.feature_names_in_ = names_of(mean, feature_names, self.shape[1])
            check_column_order(self.feature_names_in_, cov=cov, std=std)
            check_row_order(mean, cov=cov, std=std)
        self.cov = as_covariance(cov, std, self.shape, psd, self.mean)
        self.test_noise = None

    def _with(self, mean: Matrix, cov: Covariance | None, noise: Covariance | None) -> Gaussians:
        """Return Gaussians with the names of these, and means that are checked already."""
        out = Gaussians.__new__(Gaussians)
        if mean is self.mean:
            out._rows = self._rows
        else:
            out._rows = SparseRows(mean, "X") if is_sparse(mean) else as_float_array(mean, "X", (2,))
        out.mean = out._rows.matrix if isinstance(out._rows, SparseRows) else out._rows
        out.shape = out._rows.shape
        if 0 in out.shape:
            raise _empty(out.shape)
        out.feature_names_in_ = self.feature_names_in_
        out.cov = cov
        out.test_noise = noise
        return out

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: object) -> Gaussians:
        """Return some of the samples, by a slice, a mask, indices or scikit-learn's `(indices, ...)`."""
        rows = chosen_rows(key, len(self))
        return self._with(
            self.mean[rows],
            None if self.cov is None else self.cov.take(rows),
            None if self.test_noise is None else self.test_noise.take(rows),
        )

    def __iter__(self) -> NoReturn:
        raise TypeError("Gaussians cannot be iterated over; .mean and .cov hold what there is to read")

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        raise TypeError(
            "Gaussians are no plain array, which would lose the covariances: use .mean where only the means "
            "are wanted, or a tool that carries covariances, such as svmgsu.Propagate; "
            "docs/scikit-learn.md shows how other tools can be given them"
        )

    def __repr__(self) -> str:
        ratio = typical_ratio(self)
        size = f", typical error {ratio:.2g} of the spread" if ratio > 0 else ""
        return f"Gaussians({self.shape[0]} samples, {self.shape[1]} features, cov={self.cov!r}{size})"

    def _repr_html_(self) -> str:
        return gaussians_table(self)

    @classmethod
    def from_frame(
        cls,
        frame: Table,
        features: Sequence[str] | None = None,
        errors: ArrayLike = None,
        *,
        exact: Sequence[str] | None = None,
        ignore: Sequence[str] | None = None,
        error_scale: float = 1.0,
        asymmetric: str = "median",
        units: str = "same",
        missing: str = "error",
        na_values: Sequence[float] = (),
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
        missing : {"error", "drop", "keep"}
            What to do with rows where a number is missing: refuse them, leave them out, or keep them with NaN
            in the means, for estimators that take missing values, such as `GSUClassifier`.
        na_values : list of float, default=()
            Numbers that mean a missing value, such as -99 or 999.
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
        1 value with errors, 1 unused (name: as asked)
        """
        from ..io.frames import read_frame, say

        check_choice(missing, "missing", ("error", "drop", "keep"))
        options: Fields = {"errors": errors, "exact": exact, "ignore": ignore, "error_scale": error_scale}
        options |= {"asymmetric": asymmetric, "units": units, "missing": missing, "limits": limits}
        found = read_frame(frame, features=features, target=False, na_values=na_values, **options)
        if features is None:
            say(found, exact)
        return found.data

    @classmethod
    def concatenate(cls, parts: Sequence[Gaussians]) -> Gaussians:
        """Put the samples of several `Gaussians` one after the other.

        Covariances of one kind stay of that kind. If the kinds differ, they become variances, or full
        matrices where some are correlated. A `Shared` that all have in common stays shared; different ones
        become groups. CSR stays CSR if all are CSR.

        Parameters
        ----------
        parts : sequence of Gaussians
            All with the same features.

        Examples
        --------
        >>> import numpy as np, svmgsu
        >>> sharp = svmgsu.Gaussians(np.zeros((2, 3)))
        >>> noisy = svmgsu.Gaussians(np.ones((4, 3)), std=0.5)
        >>> both = svmgsu.Gaussians.concatenate([sharp, noisy])
        >>> both.shape, both.cov.variances.tolist()
        ((6, 3), [0.0, 0.0, 0.25, 0.25, 0.25, 0.25])
        """
        data = list(parts)
        if not data:
            raise ValueError("parts: nothing to concatenate")
        for i, part in enumerate(data):
            if not isinstance(part, Gaussians):
                raise TypeError(f"parts: part {i} is {type(part).__name__}; expected Gaussians")
            if part.shape[1] != data[0].shape[1]:
                raise ValueError(
                    f"parts: part {i} has {part.shape[1]} features, but part 0 has {data[0].shape[1]}"
                )
        names = {tuple(part.feature_names_in_) for part in data if part.feature_names_in_ is not None}
        if len(names) > 1:
            raise ValueError(
                f"parts: the names of the features differ: {' and '.join(map(str, sorted(names)))}"
            )
        counts = [len(part) for part in data]
        n = data[0].shape[1]
        out = cls(stack_rows([part.mean for part in data]), feature_names=names.pop() if names else None)
        out.cov = join([part.cov for part in data], counts, n)
        out.test_noise = join([part.test_noise for part in data], counts, n)
        return out

    def with_cov(self, cov: Covariance | None) -> Gaussians:
        """Return the same means with another covariance, `cov`."""
        return self._with(self.mean, as_covariance(cov, None, self.shape), self.test_noise)

    def with_more_cov(self, cov: Covariance) -> Gaussians:
        """Return the same means with `cov` added to their covariance."""
        return self.with_cov(cov if self.cov is None else self.cov + cov)

    def add_noise(self, cov: ArrayLike, seed: int = 0, *, psd: Psd = "clip") -> Gaussians:
        """Return the same samples with noise that will exist only at test time.

        Training adds it to the covariances, so that the model expects noisier samples than it is trained on.
        It is not part of `cov`, which describes the samples as measured. It is in the units of the data, and
        transformers carry it along.

        Parameters
        ----------
        cov : array or covariance kind, or None for none
            (n,) variances or an (n, n) matrix for all samples, or a pool of covariances, (k, n) or
            (k, n, n) or a kind, of which each sample draws one.
        seed : int, default=0
            Seed of the draws from a pool.
        psd : {"clip", "strict"}
            As for `Full`, for matrices given as a plain array.

        Examples
        --------
        >>> import svmgsu
        >>> from sklearn.preprocessing import StandardScaler
        >>> data = svmgsu.Gaussians([[0.0], [4.0]]).add_noise([1.0])
        >>> svmgsu.Propagate(StandardScaler()).fit_transform(data).test_noise.to_full(n_samples=1).item()
        0.25
        """
        noise = None if cov is None else as_test_noise(cov, self.shape, seed, psd, "cov")
        return self._with(self.mean, self.cov, noise)

    def in_order(self, names: Sequence[str] | None) -> Gaussians:
        """Return the same samples with the features called `names`, in that order.

        Names that are missing here, or not among `names`, are an error that lists them. If one of the two has
        no names there is nothing to compare, and the samples are returned as they are.

        Parameters
        ----------
        names : list of str or None
            The names of the features.

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
        return self.select(np.array(_core.match_names(list(names), own), dtype=np.int64))

    def select(self, features: Sequence[str] | Array) -> Gaussians:
        """Return the same samples with some of the features.

        Parameters
        ----------
        features : list of names, array of indices, or mask
            The features, in the order wanted.

        Examples
        --------
        >>> import svmgsu
        >>> data = svmgsu.Gaussians([[1.0, 2.0]], std=[[0.1, 0.5]], feature_names=["size", "colour"])
        >>> data.select(["colour"]).mean.tolist()
        [[2.0]]
        """
        own = self.feature_names_in_
        chosen = list(features)
        if chosen and all(isinstance(name, str) for name in chosen):
            unknown = [name for name in chosen if name not in (own or ())]
            if unknown:
                raise ValueError(f"features: there is no {unknown[0]!r} among the features")
            chosen = [(own or []).index(name) for name in chosen]
        places = as_select_map(np.asarray(chosen), self.shape[1]).columns
        out = self._with(
            self.mean[:, places],
            None if self.cov is None else self.cov.select(places),
            None if self.test_noise is None else self.test_noise.select(places),
        )
        out.feature_names_in_ = None if own is None else [own[j] for j in places]
        return out

    def scale_cov(self, t: float) -> Gaussians:
        """Return the same means with all covariances times `t`, a number >= 0; 0 removes them.

        Parameters
        ----------
        t : float
            The factor.

        Examples
        --------
        >>> import svmgsu
        >>> svmgsu.Gaussians([[0.0]], std=2.0).scale_cov(0.5).cov.to_full(n_features=1, n_samples=1).item()
        2.0
        """
        if self.cov is None:
            return self
        scaled = t * self.cov
        return self.with_cov(scaled if t else None)

    def sample(self, k: int = 1, random_state: RandomState = None, *, y: ArrayLike = None) -> FloatArray:
        """Draw from every sample's Gaussian.

        Parameters
        ----------
        k : int, default=1
            Draws for each sample.
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

    def subspace(self, p: float, mode: str = "truncate", *, y: ArrayLike = None) -> Gaussians:
        """Reduce each covariance to its leading eigenvectors (the paper's Sect. 3.2).

        Parameters
        ----------
        p : float in (0, 1]
            The fraction of each sample's variance to keep.
        mode : {"truncate", "project"}
            "truncate" keeps the mean and replaces the covariance (exact at p = 1). "project", the
            paper's reading, projects the mean too: what lies outside the subspace is lost in training.
        y : array of shape (l,), optional
            Labels, needed where there is one covariance per class.
        """
        if check_positive(p, "subspace") > 1:
            raise ValueError(f"subspace: the fraction p must be in (0, 1], got {p!r}")
        check_choice(mode, "mode", ("truncate", "project"))
        if self.cov is None:
            raise ValueError("subspace: the samples have no covariance to reduce")
        terms = self.cov.terms(*self.shape, None if y is None else np.asarray(y))
        factors, start = _core.eigen_subspaces(terms, *self.shape, float(p))
        mean = self.mean
        if mode == "project":
            mean = _core.project_means(np.ascontiguousarray(dense(mean)), factors, start)
        out = Gaussians(mean, LowRank(factors, start=start), feature_names=self.feature_names_in_)
        out.test_noise = self.test_noise
        return out

    def core(self, y: Array | None = None) -> _core.Gaussians:
        """Return the core's view of the samples; `y` tells classes apart where covariances need it."""
        terms = () if self.cov is None else self.cov.terms(*self.shape, y)
        return _core.Gaussians(self.core_means(), terms)

    def labelled(self, signs: FloatArray, weights: FloatArray, y: Array | None) -> _core.TrainingSet:
        """Return the core's training set of a classifier: `signs` -1 and +1, `weights`, `y` as in `core`."""
        terms = () if self.cov is None else self.cov.terms(*self.shape, y)
        return _core.labelled(self.core_means(), terms, signs, weights)

    def valued(self, targets: FloatArray, weights: FloatArray) -> _core.TrainingSet:
        """Return the core's training set of a regression, with `targets` and `weights`."""
        terms = () if self.cov is None else self.cov.terms(*self.shape, None)
        return _core.valued(self.core_means(), terms, targets, weights)

    def core_means(self) -> _core.Means:
        """Return the core's view of the means."""
        rows = self._rows
        if isinstance(rows, SparseRows):
            return _core.sparse_means(rows.value, rows.column, rows.start, rows.shape[1])
        return _core.dense_means(rows)


def _empty(shape: tuple[int, ...]) -> ValueError:
    """Return the error about an array without samples or features, in scikit-learn's words."""
    what = "feature" if shape[0] else "sample"
    return ValueError(f"X: Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")


def names_of(mean: ArrayLike, given: Sequence[str] | None, n: int) -> list[str] | None:
    """Return the names of the features: as given, or the columns of a DataFrame."""
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


def as_gaussians(X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None, psd: Psd = "clip") -> Gaussians:
    """Return X with its covariance as `Gaussians`; itself if it is one already."""
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
    """Return Gaussians in whose means NaN is a missing value, for those that know of it: populations do."""
    has_gaps = bool(np.isnan(mean).any())
    out = Gaussians(np.nan_to_num(mean) if has_gaps else mean, cov, feature_names=names)
    if has_gaps:
        out.mean = out._rows = mean
    return out
