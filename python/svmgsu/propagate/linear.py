"""Linear maps of the features, as covariances need them: x → A x turns Σ into A Σ Aᵀ.

A map is one matrix, factors of the features, a choice of columns, or made of others: one after the other, or
side by side. Factors may differ from sample to sample, as the derivative of a function of each value does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from ..support.arrays import blocks, dense, roots, stack_columns
from ..support.validation import Array, ArrayLike, Matrix, is_sparse


class LinearMap(ABC):
    """A linear map from `features` to `outputs`.

    `samples` is None if the map is the same for all of them. A map that is found by differences is not
    `exact`: its result depends on the length of a vector.
    """

    features: int
    outputs: int
    samples: int | None = None
    name: str = "A"
    exact: bool = True

    @abstractmethod
    def rows(self, vectors: Array, owner: Array) -> Array:
        """Map each row of `vectors` (k, n); row j belongs to sample `owner[j]`, and owners rise."""

    def variances(self, variances: Matrix) -> Matrix:
        """Return the diagonals of A diag(V_i) Aᵀ if these are diagonal, else None; V is dense or CSR."""
        return None

    def entries(self) -> Array | None:
        """Return the numbers of A; None if they are ones and zeros, or not at hand."""
        return None

    def suits_single(self, variances: Matrix) -> bool:
        """Return whether the images of variances in single precision, dense or CSR, fit into it."""
        entries = self.entries()
        if entries is None:
            return True
        squares = np.square(entries, dtype=np.float64)
        values = variances.data if is_sparse(variances) else variances
        smallest = 1.0
        largest = float(self.features)
        for a in (squares, values):
            smallest *= float(np.min(a, where=a > 0, initial=1.0))
            largest *= float(np.max(a, initial=1.0))
        limits = np.finfo(np.float32)
        return smallest >= float(limits.tiny) and largest <= float(limits.max)

    def inputs(self) -> Array:
        """Return a mask of the features on which the output depends."""
        return np.ones(self.features, dtype=bool)

    def gram(self) -> Array:
        """Return A Aᵀ of a map that is the same for all samples; only its diagonal if it is diagonal."""
        raise NotImplementedError

    def sandwich(self, matrices: Array, first: int) -> Array:
        """Return A S Aᵀ for symmetric matrices (b, n, n), of the samples from `first` on."""
        count, n = matrices.shape[:2]
        samples = np.arange(first, first + count)
        owner = np.repeat(samples, n)
        if not self.exact:
            half = self.rows(roots(matrices).reshape(-1, n), owner).reshape(count, n, self.outputs)
            return np.asarray(np.matmul(half.transpose(0, 2, 1), half), dtype=matrices.dtype)
        half = self.rows(matrices.reshape(-1, n), owner).reshape(count, n, self.outputs)
        turned = half.transpose(0, 2, 1).reshape(-1, n)
        both = self.rows(turned, np.repeat(samples, self.outputs))
        return both.reshape(count, self.outputs, self.outputs)

    def packed_of_variances(self, variances: Matrix) -> Array:
        """Return A diag(V_i) Aᵀ as packed upper triangles, for V dense or CSR."""
        n, m = self.features, self.outputs
        count = variances.shape[0]
        row, column = np.triu_indices(m)
        packed = np.empty((count, len(row)), dtype=variances.dtype)
        for part in blocks(count, n * max(n, m)):
            factors = self.factors_of_variances(dense(variances[part]), part.start)
            packed[part] = np.matmul(factors.transpose(0, 2, 1), factors)[:, row, column]
        return packed

    def factors_of_variances(self, variances: Array, first: int) -> Array:
        """Return F_i = diag(√V_i) Aᵀ for the samples from `first` on: A diag(V_i) Aᵀ = F_iᵀF_i."""
        count, n = variances.shape
        deviations = np.sqrt(variances)[:, :, np.newaxis] * np.eye(n, dtype=variances.dtype)
        owner = np.repeat(np.arange(first, first + count), n)
        return self.rows(deviations.reshape(-1, n), owner).reshape(count, n, self.outputs)


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

    def variances(self, variances: Matrix) -> Matrix:
        if (np.count_nonzero(self.matrix, axis=0) > 1).any():
            return None
        return variances @ (self.matrix**2).T.astype(variances.dtype)

    def gram(self) -> Array:
        gram: Array = self.matrix @ self.matrix.T
        size = np.sqrt(gram.diagonal())
        beside = np.abs(gram - np.diag(gram.diagonal()))
        # Principal axes are orthogonal up to rounding: they count as orthogonal.
        rounding = 8 * np.sqrt(self.features) * np.finfo(gram.dtype).eps * np.outer(size, size)
        return np.ascontiguousarray(gram.diagonal()) if (beside <= rounding).all() else gram

    def packed_of_variances(self, variances: Matrix) -> Array:
        # Entry (r, c) is Σ_k V_ik A_rk A_ck: a matrix product for all samples at once.
        A = self.matrix.astype(variances.dtype)
        row, column = np.triu_indices(self.outputs)
        packed = np.empty((variances.shape[0], len(row)), dtype=variances.dtype)
        for part in blocks(len(row), self.features):
            packed[:, part] = variances @ (A[row[part]] * A[column[part]]).T
        return packed


class ScaleMap(LinearMap):
    """x → d x, feature by feature; d of shape (n,) for all samples or (l, n) for each."""

    name = "d"

    def __init__(self, factors: Array) -> None:
        self.factors = factors
        self.features = self.outputs = factors.shape[-1]
        self.samples = len(factors) if factors.ndim == 2 else None

    def rows(self, vectors: Array, owner: Array) -> Array:
        d = self.factors if self.samples is None else self.factors[owner]
        return np.asarray(vectors * d.astype(vectors.dtype))

    def variances(self, variances: Matrix) -> Matrix:
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
        self.features = features
        self.outputs = len(columns)

    def rows(self, vectors: Array, owner: Array) -> Array:
        return vectors[:, self.columns]

    def inputs(self) -> Array:
        return np.isin(np.arange(self.features), self.columns)

    def variances(self, variances: Matrix) -> Matrix:
        return variances[:, self.columns]

    def gram(self) -> Array:
        return np.ones(self.outputs)


class DirectionMap(LinearMap):
    """x → (I - u_i u_iᵀ) x / r_i: the Jacobian of x/|x| at r_i u_i, never written out."""

    def __init__(self, directions: Array, lengths: Array) -> None:
        self.directions = directions
        self.lengths = lengths
        self.samples = len(lengths)
        self.features = self.outputs = directions.shape[1]

    def rows(self, vectors: Array, owner: Array) -> Array:
        u = self.directions[owner]
        r = self.lengths[owner, np.newaxis]
        along = np.einsum("kn,kn->k", vectors, u)[:, np.newaxis]
        return np.asarray((vectors - along * u) / r, dtype=vectors.dtype)


class ComposedMap(LinearMap):
    """x → B (A x)."""

    def __init__(self, first: LinearMap, second: LinearMap) -> None:
        self.first = first
        self.second = second
        self.features = first.features
        self.outputs = second.outputs
        self.samples = second.samples if first.samples is None else first.samples
        self.exact = first.exact and second.exact

    def rows(self, vectors: Array, owner: Array) -> Array:
        return self.second.rows(self.first.rows(vectors, owner), owner)

    def inputs(self) -> Array:
        if not isinstance(self.first, SelectMap):
            return self.first.inputs()
        return np.isin(np.arange(self.features), self.first.columns[self.second.inputs()])

    def variances(self, variances: Matrix) -> Matrix:
        between = self.first.variances(variances)
        return None if between is None else self.second.variances(between)

    def gram(self) -> Array:
        # The rows of a choice of columns are orthonormal.
        return self.second.gram() if isinstance(self.first, SelectMap) else _gram_of(self)


class StackedMap(LinearMap):
    """x → (A x, B x, ...): outputs of different maps are correlated if these share features."""

    def __init__(self, maps: Sequence[LinearMap]) -> None:
        self.maps = list(maps)
        self.features = self.maps[0].features
        self.outputs = sum(part.outputs for part in self.maps)
        self.samples = next((part.samples for part in self.maps if part.samples is not None), None)
        self.exact = all(part.exact for part in self.maps)

    def rows(self, vectors: Array, owner: Array) -> Array:
        return np.concatenate([part.rows(vectors, owner) for part in self.maps], axis=1)

    def inputs(self) -> Array:
        return np.asarray(np.any([part.inputs() for part in self.maps], axis=0))

    @property
    def disjoint(self) -> bool:
        """Whether no feature is used by two of the maps."""
        return bool((np.sum([part.inputs() for part in self.maps], axis=0) <= 1).all())

    def variances(self, variances: Matrix) -> Matrix:
        if not self.disjoint:
            return None
        pieces = [part.variances(variances) for part in self.maps]
        return None if any(piece is None for piece in pieces) else stack_columns(pieces)

    def gram(self) -> Array:
        if not self.disjoint:
            return _gram_of(self)
        pieces = [part.gram() for part in self.maps]
        if all(piece.ndim == 1 for piece in pieces):
            return np.concatenate(pieces)
        out = np.zeros((self.outputs, self.outputs))
        first = 0
        for piece in pieces:
            last = first + len(piece)
            out[first:last, first:last] = np.diag(piece) if piece.ndim == 1 else piece
            first = last
        return out


def _gram_of(linear_map: LinearMap) -> Array:
    """Return A Aᵀ of a map that is the same for all samples, written out."""
    unit = np.eye(linear_map.features)
    rows = linear_map.rows(unit, np.arange(linear_map.features))
    return np.asarray(MatrixMap(rows.T).gram())


def reached(linear_map: LinearMap, uncertain: Array) -> Array:
    """Return a mask of the outputs of a map that depend on the features marked `uncertain`."""
    if isinstance(linear_map, ScaleMap):
        return uncertain
    if isinstance(linear_map, SelectMap):
        return np.asarray(uncertain[linear_map.columns])
    if isinstance(linear_map, ComposedMap):
        return reached(linear_map.second, reached(linear_map.first, uncertain))
    if isinstance(linear_map, StackedMap):
        return np.concatenate([reached(part, uncertain) for part in linear_map.maps])
    if isinstance(linear_map, MatrixMap):
        return np.asarray(linear_map.matrix[:, uncertain].any(axis=1))
    return np.full(linear_map.outputs, uncertain.any())


def as_select_map(columns: ArrayLike, features: int | None) -> SelectMap:
    """Return the map of indices or a mask of features; `features` is None if any number fits."""
    chosen = np.asarray(columns)
    if chosen.ndim != 1 or chosen.dtype.kind not in "biu" or chosen.size == 0:
        raise ValueError(f"columns: expected indices of features or a mask, got {columns!r}")
    if chosen.dtype == bool:
        if features is not None and len(chosen) != features:
            raise ValueError(f"columns: a mask of {len(chosen)} entries for {features} features")
        features = len(chosen)
        chosen = np.flatnonzero(chosen)
    if features is None:
        features = int(chosen.max()) + 1
    chosen = np.where(chosen < 0, chosen + features, chosen)
    if chosen.size == 0 or chosen.min() < 0 or chosen.max() >= features:
        raise ValueError(f"columns: {columns!r} chooses none, or one that is not among {features} features")
    if len(np.unique(chosen)) < len(chosen):
        raise ValueError(f"columns: a feature is chosen twice in {columns!r}")
    return SelectMap(chosen, features)
