"""Sparse matrices at the door: every index is checked once, before SciPy or the core follows it.

SciPy's conversions follow indices without a look at them. Its own `check_format(full_check=True)` looks, but
takes fractions for indices, shortens the user's arrays in place, and does not name the entry that is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .validation import Array, check_range

COMPRESSED = ("csr", "csc", "bsr")
SPARSE_PARTS = ("data", "indices", "indptr", "shape")  # of compressed rows in an .npz file
MOST = 2**31 - 1  # rows and columns of a sparse matrix


def check_sparse(a: Any, name: str) -> None:
    """Refuses a sparse matrix whose parts do not fit together, naming the first index that is wrong."""
    if len(a.shape) != 2:
        raise ValueError(f"{name}: expected 2 dimensions, got a sparse array of shape {a.shape}")
    if min(a.shape) < 0:
        raise ValueError(f"{name}: a sparse matrix cannot have the shape {tuple(a.shape)}")
    if a.format in COMPRESSED:
        _check_compressed(a, name)
    elif a.format == "coo":
        lengths = {len(a.row), len(a.col), len(a.data)}
        if len(lengths) > 1:
            raise ValueError(f"{name}: {len(a.data)} values, {len(a.row)} rows and {len(a.col)} columns")
        for what, index, below in (("row", a.row, a.shape[0]), ("column", a.col, a.shape[1])):
            _check_range(index, below, what, name)


def check_parts(
    data: Any, index: Any, start: Any, shape: tuple[int, int], name: str, what: str = "column"
) -> None:
    """Refuses parts of compressed rows that do not fit together; `what` is what `index` counts."""
    if index.ndim != 1 or len(data) < len(index):
        raise ValueError(f"{name}: {len(data)} values for indices of shape {index.shape}")
    _check_row_starts(start, shape[0], len(index), name)
    _check_range(index[: int(start[-1])], shape[1], what, name)


def is_canonical(column: npt.NDArray[Any], start: npt.NDArray[Any]) -> bool:
    """Whether the columns of each row rise strictly: sorted, without duplicates."""
    rises = column[1:] > column[:-1]
    inner = start[1:-1]
    rises[inner[(inner > 0) & (inner < len(column))] - 1] = True
    return bool(rises.all())


def _check_compressed(a: Any, name: str) -> None:
    major, minor = a.shape
    if a.format == "bsr":
        if a.data.ndim != 3 or 0 in a.data.shape[1:] or major % a.data.shape[1] or minor % a.data.shape[2]:
            raise ValueError(
                f"{name}: blocks of shape {a.data.shape} do not fill a matrix of shape {a.shape}"
            )
        major, minor = major // a.data.shape[1], minor // a.data.shape[2]
    elif a.format == "csc":
        major, minor = minor, major
    what = "row" if a.format == "csc" else "column"
    check_parts(a.data, a.indices, a.indptr, (major, minor), name, what)


def _check_row_starts(start: Any, rows: int, entries: int, name: str) -> None:
    """Refuses row starts that do not rise from 0 to at most `entries` over `rows` rows."""
    if start.ndim != 1 or len(start) != rows + 1 or start.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: row starts (indptr) must be {rows + 1} whole numbers for {rows} rows, "
            f"got an array of {start.dtype} of shape {start.shape}"
        )
    if start[0] != 0 or start[-1] > entries:
        raise ValueError(
            f"{name}: row starts (indptr) run from {start[0]} to {start[-1]}; they must run from 0 to "
            f"the number of entries, {entries}"
        )
    falls = start[1:] < start[:-1]
    if falls.any():
        row = int(falls.argmax())
        raise ValueError(
            f"{name}: row {row} starts at entry {start[row]} and ends before it, at {start[row + 1]}"
        )


def _check_range(index: Any, below: int, what: str, name: str) -> None:
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise ValueError(f"{name}: {what} indices must be whole numbers, got an array of {index.dtype}")
    if len(index) and (index.min() < 0 or index.max() >= below):
        entry = int(np.argmax((index < 0) | (index >= below)))
        raise ValueError(
            f"{name}: entry {entry} has the {what} index {index[entry]}, but the matrix has {below} {what}s; "
            f"indices must be from 0 to {below - 1}"
        )


def compressed_rows(value: Any, column: Any, start: Any, shape: Any) -> Any:
    """A sparse matrix of SciPy."""
    try:
        from scipy.sparse import csr_array
    except ImportError as error:
        raise ImportError("sparse data need SciPy: pip install 'svmgsu[sklearn]'") from error
    return csr_array((value, column, start), shape=tuple(shape))


def parts_of(matrix: Any, key: str) -> dict[str, Any]:
    """What an .npz file holds of a matrix: itself under `key`; of a sparse one its parts."""
    if not hasattr(matrix, "tocsr"):
        return {key: matrix}
    csr = matrix.tocsr()
    values = (csr.data, csr.indices, csr.indptr, np.array(csr.shape))
    return {f"{key}_{part}": value for part, value in zip(SPARSE_PARTS, values, strict=True)}


def matrix_of(arrays: Mapping[str, Any], key: str) -> Any:
    """The matrix that `parts_of` has put into `arrays`, or None."""
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
    check_parts(data, indices, indptr, (int(shape[0]), int(shape[1])), key)
    return compressed_rows(data, indices, indptr, shape.tolist())


class SparseRows:
    """Rows in the compressed form that the core reads; made from any SciPy sparse matrix."""

    def __init__(self, a: Any, name: str) -> None:
        check_sparse(a, name)
        csr = a.tocsr()
        if csr is not a:
            check_sparse(csr, name)
        if csr.dtype.kind == "c":
            raise ValueError(f"{name}: Complex data not supported; got {csr.dtype}")
        if csr.dtype.kind not in "fiub":
            raise ValueError(f"{name}: expected numbers, got dtype {csr.dtype}")
        if csr.shape[1] >= 2**31:
            raise ValueError(f"{name}: {csr.shape[1]} columns; at most 2^31 - 1 are supported")
        entries = int(csr.indptr[-1])
        if not is_canonical(csr.indices[:entries], csr.indptr):
            csr = csr.copy()
            csr.has_sorted_indices = csr.has_canonical_format = False  # whatever was remembered of them
            csr.sum_duplicates()
            entries = int(csr.indptr[-1])
        if csr.dtype not in (np.float32, np.float64):
            csr = csr.astype(np.float64)
        self.matrix = csr
        self.shape: tuple[int, int] = (int(csr.shape[0]), int(csr.shape[1]))
        self.dtype: np.dtype[Any] = csr.dtype
        self.value: Array = np.ascontiguousarray(csr.data[:entries])
        self.column: Array = np.ascontiguousarray(csr.indices[:entries], dtype=np.int32)
        self.start: Array = np.ascontiguousarray(csr.indptr, dtype=np.int64)

    def locate(self, entry: int) -> str:
        """An index into `value` as words."""
        row = int(np.searchsorted(self.start, entry, side="right")) - 1
        return f"sample {row}, feature {int(self.column[entry])}"

    def check(self, name: str, variances: bool) -> None:
        """The checks of `check_finite` or, for variances, `check_variances`."""
        check_range(self.value, name, "variance", 0.0 if variances else -np.inf, where=self.locate)
