"""`Diagonal`: independent errors, one variance for each value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ... import _core
from ...propagate.linear import LinearMap
from ...support.arrays import dense, stack_rows
from ...support.sparse import SparseRows, matrix_of, parts_of
from ...support.validation import (
    VARIANCES,
    Array,
    ArrayLike,
    Matrix,
    as_float_array,
    is_sparse,
)
from .base import Covariance, Psd, Terms
from .full import Full


class Diagonal(Covariance):
    """Σ_i = diag(V_i): independent errors, one variance for each value.

    Parameters
    ----------
    variances : array or SciPy sparse matrix of shape (l, n)
        float32 and float64 arrays in C order, `np.memmap` too, are used as they are, without a copy.
    name : str, default="variances"
        What an error calls the array.
    check : bool, default=True
        Whether to look for numbers that are no variances.

    Examples
    --------
    >>> import svmgsu
    >>> svmgsu.Diagonal([[1.0, 4.0]]).to_full()
    array([[[1., 0.],
            [0., 4.]]])
    """

    variances: Array | SparseRows
    keys = ("var", "var_data")
    is_diagonal = True
    needs_classes = False

    def __init__(self, variances: ArrayLike, *, name: str = "variances", check: bool = True) -> None:
        if hasattr(variances, "tocsr"):
            self.variances = SparseRows(variances, name)
            if check:
                self.variances.check(name, variances=True)
        elif check:
            self.variances = as_float_array(variances, name, (2,), VARIANCES)
        else:
            self.variances = np.ascontiguousarray(variances)
        self.n_samples, self.n_features = self.variances.shape

    def terms(self, samples: int, features: int, y: Array | None) -> Terms:
        v = self.variances
        if isinstance(v, SparseRows):
            return ((_core.sparse_diagonal(v.value, v.column, v.start, v.shape[1]), 1.0),)
        return ((_core.diagonal(v), 1.0),)

    def take(self, rows: Array) -> Covariance:
        return Diagonal(self.matrix[rows], check=False)

    @property
    def matrix(self) -> Matrix:
        """The variances as the array or sparse matrix that was given."""
        return self.variances.matrix if isinstance(self.variances, SparseRows) else self.variances

    def independent(self, n_samples: int, n_features: int) -> Matrix:
        return self.matrix

    def _mapped(self, linear_map: LinearMap) -> Covariance:
        variances = self.matrix
        if variances.dtype == np.float32 and not linear_map.suits_single(variances):
            variances = variances.astype(np.float64)
        kept = linear_map.variances(variances)
        if kept is not None:
            return Diagonal(kept)
        if 2 * linear_map.features < linear_map.outputs + 1:  # factors are smaller than triangles
            from .low_rank import LowRank  # which holds a diagonal

            return LowRank(linear_map.factors_of_variances(dense(variances), 0))
        return Full.from_packed(linear_map.packed_of_variances(variances))

    @classmethod
    def joined(cls, covs: Sequence[Diagonal | None], counts: Sequence[int], n: int) -> Covariance:
        each: list[Matrix] = []
        sparse = next((cov.matrix for cov in covs if cov is not None and is_sparse(cov.matrix)), None)
        for cov, count in zip(covs, counts, strict=True):
            # Zeros are sparse where others are; what is dense makes all dense.
            zeros = np.zeros((count, n)) if sparse is None else type(sparse)((count, n))
            each.append(zeros if cov is None else cov.matrix)
        return Diagonal(stack_rows(each), check=False)

    def arrays(self, n_samples: int, n_features: int, y: ArrayLike) -> dict[str, Array]:
        return parts_of(self.matrix, "var")

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], psd: Psd) -> Covariance:
        return Diagonal(matrix_of(arrays, "var"))
