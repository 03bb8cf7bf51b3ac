"""Linear maps of the features, as covariances need them: x → A x turns Σ into A Σ Aᵀ.

A map is one matrix, a diagonal, a choice of columns, or a Jacobian that differs from example to example.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..support.memory import require_memory
from ..support.validation import Array, as_float_array, check_finite, is_sparse

BLOCK = 2**21  # numbers in a temporary array: 16 MB of float64, whatever the size of the data


class LinearMap(ABC):
    """From `features` to `outputs`; `examples` is None where the map is the same for all of them."""

    features: int
    outputs: int
    examples: int | None = None
    name: str = "A"
    exact: bool = True  # False where it is found by differences, for which the size of a vector matters

    @abstractmethod
    def rows(self, vectors: Array, owner: Array) -> Array:
        """Each row of `vectors` (k, n) mapped; row j belongs to example `owner[j]`, and owners rise."""

    def variances(self, variances: Any) -> Any:
        """The diagonals of A diag(V_i) Aᵀ where nothing is beside them, else None; V dense or CSR."""
        return None

    def entries(self) -> Array | None:
        """The numbers of A; None where they are ones and zeros, or not at hand."""
        return None

    def suits_single(self, variances: Any) -> bool:
        """Whether variances in single precision, dense or CSR, have images that it can hold."""
        entries, values = self.entries(), variances.data if is_sparse(variances) else variances
        if entries is None:
            return True
        squares, limits = np.square(entries, dtype=np.float64), np.finfo(np.float32)
        sizes = [(np.min(a, where=a > 0, initial=1.0), np.max(a, initial=1.0)) for a in (squares, values)]
        (low, high), (least, most) = ((float(a), float(b)) for a, b in sizes)
        return low * least >= float(limits.tiny) and self.features * high * most <= float(limits.max)

    def inputs(self) -> Array:
        """Which features have a part in the output, as a mask."""
        return np.ones(self.features, dtype=bool)

    def gram(self) -> Array:
        """A Aᵀ: its diagonal alone where nothing is beside it. Only for a map that is the same for all."""
        raise NotImplementedError

    def sandwich(self, matrices: Array, first: int) -> Array:
        """A S Aᵀ for symmetric matrices (b, n, n), of the examples from `first` on."""
        count, n = matrices.shape[:2]
        examples = np.arange(first, first + count)
        if not self.exact:
            half = self.rows(roots(matrices).reshape(-1, n), np.repeat(examples, n))
            half = half.reshape(count, n, self.outputs)
            return np.asarray(np.matmul(half.transpose(0, 2, 1), half), dtype=matrices.dtype)
        half = self.rows(matrices.reshape(-1, n), np.repeat(examples, n)).reshape(count, n, self.outputs)
        turned = half.transpose(0, 2, 1).reshape(-1, n)
        return self.rows(turned, np.repeat(examples, self.outputs)).reshape(count, self.outputs, self.outputs)

    def packed_of_variances(self, variances: Any) -> Array:
        """A diag(V_i) Aᵀ as packed upper triangles, for V dense or CSR."""
        n, m = self.features, self.outputs
        count = variances.shape[0]
        row, column = np.triu_indices(m)
        packed = np.empty((count, len(row)), dtype=variances.dtype)
        for part in blocks(count, n * max(n, m)):
            factors = self.factors_of_variances(dense(variances[part]), part.start)
            packed[part] = np.matmul(factors.transpose(0, 2, 1), factors)[:, row, column]
        return packed

    def factors_of_variances(self, variances: Array, first: int) -> Array:
        """F_i = diag(√V_i) Aᵀ, for the examples from `first` on: A diag(V_i) Aᵀ = F_iᵀF_i."""
        count, n = variances.shape
        roots = np.sqrt(variances)[:, :, np.newaxis] * np.eye(n, dtype=variances.dtype)
        owner = np.repeat(np.arange(first, first + count), n)
        return self.rows(roots.reshape(-1, n), owner).reshape(count, n, self.outputs)


class MatrixMap(LinearMap):
    """x → A x with one matrix (m, n)."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix
        self.outputs, self.features = matrix.shape

    def rows(self, vectors: Array, owner: Array) -> Array:
        return np.asarray(vectors @ self.matrix.T.astype(vectors.dtype))

    def inputs(self) -> Array:
        return np.asarray(self.matrix.any(axis=0))

    def entries(self) -> Array:
        return self.matrix

    def factors_of_variances(self, variances: Array, first: int) -> Array:
        return np.asarray(np.sqrt(variances)[:, :, np.newaxis] * self.matrix.T, dtype=variances.dtype)

    def variances(self, variances: Any) -> Any:
        if (np.count_nonzero(self.matrix, axis=0) > 1).any():
            return None
        return variances @ (self.matrix**2).T.astype(variances.dtype)

    def gram(self) -> Array:
        gram: Array = self.matrix @ self.matrix.T
        size = np.sqrt(gram.diagonal())
        beside = np.abs(gram - np.diag(gram.diagonal()))
        # Rows that are orthogonal up to rounding, as principal axes are, count as orthogonal.
        rounding = 8 * np.sqrt(self.features) * np.finfo(gram.dtype).eps * np.outer(size, size)
        return np.ascontiguousarray(gram.diagonal()) if (beside <= rounding).all() else gram

    def packed_of_variances(self, variances: Any) -> Array:
        # Entry (r, c) is Σ_k V_ik A_rk A_ck: matrix products for all examples at once.
        A = self.matrix.astype(variances.dtype)
        row, column = np.triu_indices(self.outputs)
        packed = np.empty((variances.shape[0], len(row)), dtype=variances.dtype)
        for part in blocks(len(row), self.features):
            packed[:, part] = variances @ (A[row[part]] * A[column[part]]).T
        return packed


class ScaleMap(LinearMap):
    """x → d x, feature by feature; d of shape (n,) for all examples or (l, n) for each."""

    name = "d"

    def __init__(self, factors: Array) -> None:
        self.factors = factors
        self.features = self.outputs = factors.shape[-1]
        self.examples = len(factors) if factors.ndim == 2 else None

    def rows(self, vectors: Array, owner: Array) -> Array:
        d = self.factors if self.examples is None else self.factors[owner]
        return np.asarray(vectors * d.astype(vectors.dtype))

    def variances(self, variances: Any) -> Any:
        squares = np.square(self.factors, dtype=np.float64).astype(variances.dtype)
        return variances.multiply(squares).tocsr() if is_sparse(variances) else variances * squares

    def entries(self) -> Array:
        return self.factors

    def gram(self) -> Array:
        return np.square(self.factors, dtype=np.float64)


class SelectMap(LinearMap):
    """x → some of its features, by their indices."""

    name = "columns"

    def __init__(self, columns: Array, features: int) -> None:
        self.columns = columns
        self.features, self.outputs = features, len(columns)

    def rows(self, vectors: Array, owner: Array) -> Array:
        return vectors[:, self.columns]

    def inputs(self) -> Array:
        return np.isin(np.arange(self.features), self.columns)

    def variances(self, variances: Any) -> Any:
        return variances[:, self.columns]

    def gram(self) -> Array:
        return np.ones(self.outputs)


class JacobianMap(LinearMap):
    """x → J_i x: a matrix of its own for each example, J of shape (l, m, n)."""

    def __init__(self, jacobians: Array) -> None:
        self.jacobians = jacobians
        self.examples, self.outputs, self.features = jacobians.shape

    def rows(self, vectors: Array, owner: Array) -> Array:
        first = np.flatnonzero(np.diff(owner, prepend=-1))
        if len(first) and len(owner) % len(first) == 0 and (np.diff(first) == len(owner) // len(first)).all():
            matrices = self.jacobians[owner[first]].transpose(0, 2, 1).astype(vectors.dtype)
            each = vectors.reshape(len(first), -1, self.features)
            return np.asarray(np.matmul(each, matrices)).reshape(-1, self.outputs)
        out = np.empty((len(vectors), self.outputs), dtype=vectors.dtype)
        for a, b in zip(first, np.append(first[1:], len(owner)), strict=True):
            out[a:b] = vectors[a:b] @ self.jacobians[owner[a]].T
        return out

    def entries(self) -> Array:
        return self.jacobians

    def factors_of_variances(self, variances: Array, first: int) -> Array:
        some = self.jacobians[first : first + len(variances)].transpose(0, 2, 1)
        return np.asarray(np.sqrt(variances)[:, :, np.newaxis] * some, dtype=variances.dtype)


class DirectionMap(LinearMap):
    """x → (I - u_i u_iᵀ) x / r_i: the Jacobian of x/|x| at r_i u_i, never written out."""

    def __init__(self, directions: Array, lengths: Array) -> None:
        self.directions, self.lengths = directions, lengths
        self.examples = len(lengths)
        self.features = self.outputs = directions.shape[1]

    def rows(self, vectors: Array, owner: Array) -> Array:
        u, r = self.directions[owner], self.lengths[owner, np.newaxis]
        along = np.einsum("kn,kn->k", vectors, u)[:, np.newaxis]
        return np.asarray((vectors - along * u) / r, dtype=vectors.dtype)


def roots(matrices: Array) -> Array:
    """R with RᵀR = S for each positive semidefinite matrix S of (b, n, n), as float64."""
    matrices = matrices.astype(np.float64)
    try:
        return np.asarray(np.linalg.cholesky(matrices).transpose(0, 2, 1))
    except np.linalg.LinAlgError:  # some are singular
        values, vectors = np.linalg.eigh(matrices)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, :, np.newaxis] * vectors.transpose(0, 2, 1))


def blocks(count: int, numbers: int) -> list[slice]:
    """Slices of `count` examples of `numbers` numbers each, of a bounded size."""
    step = max(1, BLOCK // max(1, numbers))
    return [slice(a, min(a + step, count)) for a in range(0, count, step)]


def dense(a: Any) -> Array:
    """`a` as an array, be it sparse or not."""
    if not is_sparse(a):
        return np.asarray(a)
    rows, columns = a.shape
    require_memory(
        a.dtype.itemsize * rows * columns, f"X: {rows} x {columns} numbers, dense instead of sparse,"
    )
    return np.asarray(a.toarray())


def as_matrix_map(A: Any) -> LinearMap:
    """A matrix (m, n), or one (l, m, n) for each example, as a map."""
    array = as_float_array(A, "A", (2, 3))
    check_finite(array, "A")
    return MatrixMap(array.astype(np.float64)) if array.ndim == 2 else JacobianMap(array)


def as_scale_map(d: Any) -> LinearMap:
    """Factors (n,), or (l, n) for each example, as a map."""
    array = as_float_array(d, "d", (1, 2))
    check_finite(array, "d")
    return ScaleMap(array)


def as_select_map(columns: Any, features: int | None) -> LinearMap:
    """Indices or a mask of features as a map; `features` is None where any number fits."""
    chosen = np.asarray(columns)
    if chosen.ndim != 1 or chosen.dtype.kind not in "biu" or chosen.size == 0:
        raise ValueError(f"columns: expected indices of features or a mask, got {columns!r}")
    if chosen.dtype == bool:
        if features is not None and len(chosen) != features:
            raise ValueError(f"columns: a mask of {len(chosen)} entries for {features} features")
        features, chosen = len(chosen), np.flatnonzero(chosen)
    if features is None:
        features = int(chosen.max()) + 1
    chosen = np.where(chosen < 0, chosen + features, chosen)
    if chosen.size == 0 or chosen.min() < 0 or chosen.max() >= features:
        raise ValueError(f"columns: {columns!r} chooses none, or one that is not among {features} features")
    if len(np.unique(chosen)) < len(chosen):
        raise ValueError(f"columns: a feature is chosen twice in {columns!r}")
    return SelectMap(chosen, features)
