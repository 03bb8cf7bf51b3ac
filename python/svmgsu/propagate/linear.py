"""Linear maps of the features, as covariances need them: x → A x turns Σ into A Σ Aᵀ.

A map is one matrix, or a choice of features with factors. The factors may differ from sample to sample, as
the derivative of a function of each value does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from ..support.arrays import blocks, dense, roots
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

    def variances(self, variances: Matrix) -> Matrix | None:
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

    def pull(self, coef: Array) -> Array:
        """Return coef A for rows `coef` (k, m), of a map that is the same for all samples."""
        raise NotImplementedError

    def gram(self) -> Array:
        """Return A Aᵀ of a map that is the same for all samples; only its diagonal if it is diagonal."""
        A = self.pull(np.eye(self.outputs))
        gram: Array = A @ A.T
        size = np.sqrt(gram.diagonal())
        beside = np.abs(gram - np.diag(gram.diagonal()))
        # Principal axes are orthogonal up to rounding: they count as orthogonal.
        rounding = 8 * np.sqrt(self.features) * np.finfo(gram.dtype).eps * np.outer(size, size)
        return np.ascontiguousarray(gram.diagonal()) if (beside <= rounding).all() else gram

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

    def entries(self) -> Array:
        return self.matrix

    def pull(self, coef: Array) -> Array:
        return np.asarray(coef @ self.matrix)

    def variances(self, variances: Matrix) -> Matrix | None:
        if (np.count_nonzero(self.matrix, axis=0) > 1).any():
            return None
        return variances @ (self.matrix**2).T.astype(variances.dtype)

    def packed_of_variances(self, variances: Matrix) -> Array:
        # Entry (r, c) is Σ_k V_ik A_rk A_ck: a matrix product for all samples at once.
        A = self.matrix.astype(variances.dtype)
        row, column = np.triu_indices(self.outputs)
        packed = np.empty((variances.shape[0], len(row)), dtype=variances.dtype)
        for part in blocks(len(row), self.features):
            packed[:, part] = variances @ (A[row[part]] * A[column[part]]).T
        return packed


class PickMap(LinearMap):
    """x → some of its features, each times a factor.

    Parameters
    ----------
    columns : array of shape (m,)
        The indices of the features.
    features : int
        How many there are.
    factors : array of shape (m,) or (l, m), optional
        Factors for all samples, or for each; by default 1.
    """

    def __init__(self, columns: Array, features: int, factors: Array | None = None, name: str = "A") -> None:
        self.columns = columns
        self.features = features
        self.outputs = len(columns)
        self.factors = factors
        self.name = name
        if factors is not None and factors.ndim == 2:
            self.samples = len(factors)

    def _picked(self, a: Matrix) -> Matrix:
        keeps_all = self.outputs == self.features and (self.columns == np.arange(self.features)).all()
        return a if keeps_all else a[:, self.columns]

    def rows(self, vectors: Array, owner: Array) -> Array:
        picked = self._picked(vectors)
        if self.factors is None:
            return np.asarray(picked)
        d = self.factors if self.samples is None else self.factors[owner]
        return np.asarray(picked * d.astype(vectors.dtype))

    def entries(self) -> Array | None:
        return self.factors

    def pull(self, coef: Array) -> Array:
        out = np.zeros((len(coef), self.features))
        np.add.at(out.T, self.columns, (coef if self.factors is None else coef * self.factors).T)
        return out

    def _repeats(self) -> bool:
        return len(np.unique(self.columns)) < self.outputs

    def variances(self, variances: Matrix) -> Matrix | None:
        if self._repeats():
            return None
        picked = self._picked(variances)
        if self.factors is None:
            return picked
        squares = np.square(self.factors, dtype=np.float64).astype(variances.dtype)
        return picked.multiply(squares).tocsr() if is_sparse(picked) else picked * squares

    def gram(self) -> Array:
        if self._repeats():
            return super().gram()
        return np.ones(self.outputs) if self.factors is None else np.square(self.factors, dtype=np.float64)


def scale_map(factors: Array) -> PickMap:
    """Return x → d x, feature by feature; d of shape (n,) for all samples or (l, n) for each."""
    return PickMap(np.arange(factors.shape[-1]), factors.shape[-1], factors, "d")


def composed(first: LinearMap, second: LinearMap) -> LinearMap:
    """Return x → B (A x) of two maps that are the same for all samples."""
    if not (isinstance(first, PickMap) and isinstance(second, PickMap)):
        return MatrixMap(first.pull(second.pull(np.eye(second.outputs))))
    factors = first.factors if first.factors is None else first.factors[second.columns]
    if second.factors is not None:
        factors = second.factors if factors is None else factors * second.factors
    return PickMap(first.columns[second.columns], first.features, factors)


def stacked(maps: Sequence[LinearMap]) -> LinearMap:
    """Return x → (A x, B x, ...) of maps that are the same for all samples."""
    picks = [part for part in maps if isinstance(part, PickMap)]
    if len(picks) < len(maps):
        return MatrixMap(np.concatenate([part.pull(np.eye(part.outputs)) for part in maps]))
    factors = [np.ones(part.outputs) if part.factors is None else part.factors for part in picks]
    columns = np.concatenate([part.columns for part in picks])
    return PickMap(columns, picks[0].features, np.concatenate(factors))


def as_select_map(columns: ArrayLike, features: int | None) -> PickMap:
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
    return PickMap(chosen, features, name="columns")
