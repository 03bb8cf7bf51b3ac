"""Small tools for arrays: dense copies, blocks of bounded size, roots of matrices, variances in float32."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .. import _core
from ..support.types import Cell
from .memory import require_memory
from .validation import Array, FloatArray, Matrix, is_sparse

# What float32 has all digits of, and numbers whose squares are surely among them.
_SINGLE = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)
_ROOTS = 1.0001 * _SINGLE[0] ** 0.5, 0.9999 * _SINGLE[1] ** 0.5
BLOCK = 2**21  # numbers in a temporary array: 16 MB of float64, whatever the size of the data


def dense(a: Matrix) -> Array:
    """Return `a`, an array or a sparse matrix, as an array."""
    if not is_sparse(a):
        return np.asarray(a)
    rows, columns = a.shape
    require_memory(
        a.dtype.itemsize * rows * columns, f"X: {rows} x {columns} numbers, dense instead of sparse,"
    )
    return np.asarray(a.toarray())


def blocks(count: int, numbers: int) -> list[slice]:
    """Return slices of `count` samples with `numbers` numbers each, so that a block has a bounded size."""
    step = max(1, BLOCK // max(1, numbers))
    return [slice(a, min(a + step, count)) for a in range(0, count, step)]


def roots(matrices: Array) -> Array:
    """Return R with RᵀR = S for each positive semidefinite matrix S of (b, n, n), as float64."""
    matrices = matrices.astype(np.float64)
    try:
        return np.asarray(np.linalg.cholesky(matrices).transpose(0, 2, 1))
    except np.linalg.LinAlgError:  # some are singular
        values, vectors = np.linalg.eigh(matrices)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, :, np.newaxis] * vectors.transpose(0, 2, 1))


def stack_rows(arrays: list[Matrix]) -> Matrix:
    """Put arrays below each other: CSR if all are sparse, else dense."""
    if all(is_sparse(a) for a in arrays):
        import scipy.sparse

        return scipy.sparse.vstack(arrays, format="csr")
    return np.concatenate([dense(a) for a in arrays])


def stack_columns(arrays: list[Matrix]) -> Matrix:
    """Put arrays beside each other: CSR if all are sparse, else dense."""
    if len(arrays) == 1:
        return arrays[0]
    if all(is_sparse(a) for a in arrays):
        import scipy.sparse

        return scipy.sparse.hstack(arrays, format="csr")
    return np.concatenate([dense(a) for a in arrays], axis=1)


def in_blocks(count: int, numbers: int, make: Callable[[slice], Array]) -> Array:
    """Return an array of `count` rows that `make` fills block by block; see `blocks` for `numbers`."""
    parts = blocks(count, numbers)
    first = make(parts[0])
    if len(parts) == 1:
        return first
    out = np.empty((count, *first.shape[1:]), first.dtype)
    out[parts[0]] = first
    for part in parts[1:]:
        out[part] = make(part)
    return out


def squared(deviations: Array) -> Array:
    """Return the squares of standard deviations; in float32 where these are and fit."""
    if deviations.dtype == np.float32 and _core.first_outside(deviations, *_ROOTS, True) < 0:
        return np.asarray(deviations * deviations)
    with np.errstate(under="ignore"):
        squares = np.square(deviations, dtype=np.float64)
    return squares if deviations.dtype == np.float64 else stored_as(squares, deviations.dtype)


def stored_as(variances: FloatArray, dtype: npt.DTypeLike | None) -> Array:
    """Return variances as `dtype`; as float64 where one would vanish, lose digits or become infinite."""
    return variances.astype(dtype, copy=False) if dtype != np.float32 or _in_range(variances) else variances


def _in_range(variances: FloatArray) -> bool:
    """Return whether float32 holds variances with all its digits."""
    return _core.first_outside(np.ascontiguousarray(variances), *_SINGLE, True) < 0


def plain(value: object) -> Cell:
    """Return a value for JSON: without NumPy's types, and None for what is not finite."""
    if isinstance(value, dict):
        return {key if isinstance(key, int) else str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
