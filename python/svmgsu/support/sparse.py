"""Sparse matrices: checked before SciPy or the core follows their indices, and as the core reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .types import Fields
from .validation import Array, Matrix, check_range

SPARSE_PARTS = ("data", "indices", "indptr", "shape")  # of compressed rows in an .npz file
MOST = 2**31 - 1  # rows and columns of a sparse matrix


class SparseRows:
    """Rows in the compressed form that the core reads; made from any SciPy sparse matrix."""

    def __init__(self, a: Matrix, name: str) -> None:
        csr = checked_rows(a, name)
        if csr.dtype.kind == "c":
            raise ValueError(f"{name}: Complex data not supported; got {csr.dtype}")
        if csr.dtype.kind not in "fiub":
            raise ValueError(f"{name}: expected numbers, got dtype {csr.dtype}")
        if csr.shape[1] > MOST:
            raise ValueError(f"{name}: {csr.shape[1]} columns; at most 2^31 - 1 are supported")
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        if csr.dtype not in (np.float32, np.float64):
            csr = csr.astype(np.float64)
        entries = int(csr.indptr[-1])
        self.matrix = csr
        self.shape: tuple[int, int] = (int(csr.shape[0]), int(csr.shape[1]))
        self.dtype: np.dtype[Any] = csr.dtype
        self.value: Array = np.ascontiguousarray(csr.data[:entries])
        self.column: Array = np.ascontiguousarray(csr.indices[:entries], dtype=np.int32)
        self.start: Array = np.ascontiguousarray(csr.indptr, dtype=np.int64)

    def locate(self, entry: int) -> tuple[int, int]:
        """Return the sample and the feature of an entry of `value`."""
        row = int(np.searchsorted(self.start, entry, side="right")) - 1
        return row, int(self.column[entry])

    def check(self, name: str, variances: bool) -> None:
        """Refuse numbers that are not finite or, for variances, below zero."""
        check_range(self.value, name, "variance", 0.0 if variances else -np.inf, where=self.locate)


def checked_rows(a: Matrix, name: str) -> Matrix:
    """Return a sparse matrix as CSR; refuse one whose parts do not fit together.

    SciPy's conversions follow indices without a look at them. Its checks are made on a matrix of the same
    arrays, since they may shorten these, and trust what was remembered of them.
    """
    if len(a.shape) != 2:
        raise ValueError(f"{name}: expected 2 dimensions, got a sparse array of shape {a.shape}")
    indices: tuple[Array, ...] = ()
    if a.format in ("csr", "csc", "bsr"):
        indices = (a.indices, a.indptr)
    elif a.format == "coo":
        indices = (a.row, a.col)
    for index in indices:
        if index.dtype.kind not in "iu":
            raise ValueError(f"{name}: indices must be whole numbers, got an array of {index.dtype}")
    try:
        if a.format == "coo":
            a = type(a)((a.data, indices), shape=a.shape)
        elif indices:
            a = type(a)((a.data, *indices), shape=a.shape)
            a.check_format(full_check=True)
        return a.tocsr()
    except (ValueError, IndexError, OverflowError) as error:
        raise ValueError(f"{name}: the sparse matrix is damaged: {error}") from None


def compressed_rows(value: Array, column: Array, start: Array, shape: Iterable[int]) -> Matrix:
    """Return a sparse matrix of SciPy."""
    try:
        from scipy.sparse import csr_array
    except ImportError as error:
        raise ImportError("sparse data need SciPy: pip install 'svmgsu[sklearn]'") from error
    return csr_array((value, column, start), shape=tuple(shape))


def parts_of(matrix: Matrix, key: str) -> Fields:
    """Return what an .npz file holds of a matrix: itself under `key`, or its parts if it is sparse."""
    if not hasattr(matrix, "tocsr"):
        return {key: matrix}
    csr = matrix.tocsr()
    values = (csr.data, csr.indices, csr.indptr, np.array(csr.shape))
    return {f"{key}_{part}": value for part, value in zip(SPARSE_PARTS, values, strict=True)}


def matrix_of(arrays: Mapping[str, Array], key: str) -> Matrix:
    """Return the matrix that `parts_of` has put into `arrays`, or None."""
    if f"{key}_data" not in arrays:
        return arrays.get(key)
    missing = [f"{key}_{part}" for part in SPARSE_PARTS if f"{key}_{part}" not in arrays]
    if missing:
        raise ValueError(f"{key}_data: a sparse matrix needs {', '.join(missing)} too")
    data, indices, indptr, shape = (arrays[f"{key}_{part}"] for part in SPARSE_PARTS)
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape > MOST).any() or (shape < 0).any():
        raise ValueError(f"{key}_shape: expected two whole numbers from 0 to {MOST}, got {shape.tolist()}")
    if data.ndim != 1 or data.dtype.kind not in "fiub":
        raise ValueError(f"{key}_data: expected numbers, got {data.dtype} of shape {data.shape}")
    for part, index in (("indices", indices), ("indptr", indptr)):
        if index.ndim != 1 or index.dtype.kind not in "iu":
            raise ValueError(
                f"{key}_{part}: expected whole numbers, got {index.dtype} of shape {index.shape}"
            )
    try:
        return checked_rows(compressed_rows(data, indices, indptr, shape.tolist()), key)
    except (ValueError, IndexError) as error:
        raise ValueError(f"{key}_indptr: the parts do not fit together: {error}") from None
