"""`Gaussians`: means and covariances in one container that can be sliced like an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from .covariance import Covariance, LowRank, as_covariance
from .validation import (
    Array,
    FloatArray,
    SparseRows,
    as_float_array,
    check_finite,
    check_positive,
    is_sparse,
)


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

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> data = svmgsu.Gaussians(np.zeros((3, 2)), std=np.ones((3, 2)))
    >>> data.shape, len(data[1:])
    ((3, 2), 2)
    """

    mean: Any
    cov: Covariance | None

    def __init__(self, mean: Any, cov: Any = None, *, std: Any = None) -> None:
        self._rows: Array | SparseRows
        if is_sparse(mean):
            self._rows = SparseRows(mean, "X")
            self._rows.check("X", variances=False)
            self.mean = self._rows.matrix
        else:
            self._rows = as_float_array(mean, "X", (2,))
            check_finite(self._rows, "X")
            self.mean = self._rows
        self.shape: tuple[int, int] = (int(self._rows.shape[0]), int(self._rows.shape[1]))
        if self.shape[0] == 0:
            raise ValueError(
                f"X: Found array with 0 sample(s) (shape={self.shape}) while a minimum of 1 is required."
            )
        if self.shape[1] == 0:
            raise ValueError(
                f"X: Found array with 0 feature(s) (shape={self.shape}) while a minimum of 1 is required."
            )
        self.cov = as_covariance(cov, std, self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Gaussians:
        """Some of the examples: `key` is a slice, a mask or indices, or scikit-learn's `(indices, ...)`."""
        rows = key[0] if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis else key
        chosen = np.arange(len(self))[rows]
        if chosen.ndim != 1:
            raise IndexError(f"Gaussians take a slice, a mask or indices of examples, got {key!r}")
        return Gaussians(self.mean[chosen], None if self.cov is None else self.cov.take(chosen))

    def __repr__(self) -> str:
        return f"Gaussians({self.shape[0]} examples, {self.shape[1]} features, cov={self.cov!r})"

    def with_cov(self, cov: Covariance | None) -> Gaussians:
        """The same means with another covariance, `cov`."""
        out = Gaussians.__new__(Gaussians)
        out._rows, out.mean, out.shape = self._rows, self.mean, self.shape
        out.cov = as_covariance(cov, None, self.shape)
        return out

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
            Labels, needed where there is one covariance a class.
        """
        if check_positive(p, "subspace") > 1:
            raise ValueError(f"subspace: the fraction p must be in (0, 1], got {p!r}")
        if mode not in ("truncate", "project"):
            raise ValueError(f'subspace_mode: expected "truncate" or "project", got {mode!r}')
        if self.cov is None:
            raise ValueError("subspace: the examples have no covariance to reduce")
        count, n = self.shape
        terms = self.cov.terms(count, n, None if y is None else np.asarray(y))
        factors, start = _core.eigen_subspaces(terms, count, n, float(p))
        mean = self.mean
        if mode == "project":
            dense = mean.toarray() if is_sparse(mean) else mean
            mean = _core.project_means(np.ascontiguousarray(dense), factors, start)
        return Gaussians(mean, LowRank(factors, start=start))

    def core(self, signs: FloatArray, weights: FloatArray, y: Array | None) -> Any:
        """The view that the core trains on, with `signs` -1 and +1 and `weights`; `y` tells classes apart."""
        terms = () if self.cov is None else self.cov.terms(*self.shape, y)
        return _core.Gaussians(self.core_means(), terms, signs, weights)

    def core_means(self) -> Any:
        """The means as the core sees them."""
        rows = self._rows
        if isinstance(rows, SparseRows):
            return _core.sparse_means(rows.value, rows.column, rows.start, rows.shape[1])
        return _core.dense_means(rows)


def as_gaussians(X: Any, cov: Any = None, std: Any = None) -> Gaussians:
    """X with its covariance as `Gaussians`; itself if it is one already."""
    if isinstance(X, Gaussians):
        if cov is not None or std is not None:
            raise ValueError("cov: X is a Gaussians and has its covariance already; pass one of the two")
        return X
    return Gaussians(X, cov, std=std)
