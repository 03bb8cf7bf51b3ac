"""`Diagonal`: independent errors, one variance for each value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ... import _core
from ...propagate.linear import LinearMap
from ...support.arrays import dense, stack_rows
from ...support.sparse import SparseRows, matrix_of, parts_of
from ...support.validation import Array, FloatArray, as_float_array, check_variances, is_sparse
from .base import Covariance, Term, Terms
from .full import Full, Psd


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

    def __init__(self, variances: Any, *, name: str = "variances", check: bool = True) -> None:
        if is_sparse(variances):
            self.variances = SparseRows(variances, name)
            if check:
                self.variances.check(name, variances=True)
        else:
            self.variances = as_float_array(variances, name, (2,))
            if check:
                check_variances(self.variances, name)
        self.n_examples, self.n_features = self.variances.shape

    def terms(self, examples: int, features: int, y: Array | None) -> Terms:
        v = self.variances
        if isinstance(v, SparseRows):
            return ((_core.sparse_diagonal(v.value, v.column, v.start, v.shape[1]), 1.0),)
        return ((_core.diagonal(v), 1.0),)

    def take(self, rows: Array) -> Covariance:
        v = self.variances
        return Diagonal(v.matrix[rows] if isinstance(v, SparseRows) else v[rows], check=False)

    @property
    def matrix(self) -> Any:
        """The variances as the array or sparse matrix that was given."""
        return self.variances.matrix if isinstance(self.variances, SparseRows) else self.variances

    def numbers(self, n_examples: int, n_features: int) -> int:
        v = self.variances
        return v.value.size if isinstance(v, SparseRows) else v.size

    def independent(self, n_examples: int, n_features: int) -> Any:
        return self.matrix

    def diagonals(self, n_examples: int, n_features: int, y: Any = None) -> FloatArray:
        return dense(self.matrix).astype(np.float64)

    def noise(self, rng: np.random.Generator, shape: tuple[int, int, int], y: Any = None) -> FloatArray:
        return spread(rng, shape, dense(self.matrix))

    def directions(self, rows: slice, n_features: int) -> FloatArray:
        each = np.sqrt(dense(self.matrix[rows]).astype(np.float64))
        return np.asarray(each[:, :, np.newaxis] * np.eye(n_features))

    def image(self, linear_map: LinearMap, rows: slice) -> Array:
        return linear_map.factors_of_variances(dense(self.matrix[rows]), rows.start)

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

    def joins_as(self, n_examples: int, n_features: int, share: Mapping[type, float]) -> Covariance:
        return self

    @classmethod
    def joined(cls, terms: list[list[Any]], counts: list[int], n: int) -> list[Term]:
        sparse = all(is_sparse(kind.matrix) for own in terms for _, kind in own)
        each = []
        for own, count in zip(terms, counts, strict=True):
            if len(own) == 1 and own[0][0] == 1:
                each.append(own[0][1].matrix)  # as it is: float32 stays float32
            elif sparse:
                import scipy.sparse

                each.append(sum((s * kind.matrix for s, kind in own), scipy.sparse.csr_array((count, n))))
            else:
                each.append(sum((s * dense(kind.matrix) for s, kind in own), np.zeros((count, n))))
        return [(1.0, Diagonal(stack_rows(each)))]

    def arrays(self, n_examples: int, n_features: int, y: Any) -> dict[str, Array]:
        return parts_of(self.matrix, "var")

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], psd: Psd) -> Covariance:
        return Diagonal(matrix_of(arrays, "var"))


def spread(rng: np.random.Generator, shape: tuple[int, int, int], variances: Array) -> FloatArray:
    """Draws of independent values; `variances` is (l, n) or (l, 1)."""
    out = rng.standard_normal(shape)
    out *= np.sqrt(variances)[:, np.newaxis, :]
    return out
