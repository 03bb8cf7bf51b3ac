"""Linear maps made of others: one after the other, side by side, and into some places of a longer vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..support.validation import Array, is_sparse
from .linear import LinearMap, MatrixMap, SelectMap, dense


class ComposedMap(LinearMap):
    """x → B (A x)."""

    def __init__(self, first: LinearMap, second: LinearMap) -> None:
        self.first, self.second = first, second
        self.features, self.outputs = first.features, second.outputs
        self.examples = second.examples if first.examples is None else first.examples
        self.exact = first.exact and second.exact

    def rows(self, vectors: Array, owner: Array) -> Array:
        return self.second.rows(self.first.rows(vectors, owner), owner)

    def inputs(self) -> Array:
        if not isinstance(self.first, SelectMap):
            return self.first.inputs()
        return np.isin(np.arange(self.features), self.first.columns[self.second.inputs()])

    def variances(self, variances: Any) -> Any:
        between = self.first.variances(variances)
        return None if between is None else self.second.variances(between)

    def gram(self) -> Array:
        # The rows of a choice of columns are orthonormal.
        return self.second.gram() if isinstance(self.first, SelectMap) else _gram_of(self)


class ZeroMap(LinearMap):
    """x → 0: what has no uncertainty, or does not depend on what has."""

    def __init__(self, features: int, outputs: int) -> None:
        self.features, self.outputs = features, outputs

    def rows(self, vectors: Array, owner: Array) -> Array:
        return np.zeros((len(vectors), self.outputs), dtype=vectors.dtype)

    def inputs(self) -> Array:
        return np.zeros(self.features, dtype=bool)

    def variances(self, variances: Any) -> Any:
        shape = (variances.shape[0], self.outputs)
        if is_sparse(variances):
            import scipy.sparse

            return scipy.sparse.csr_array(shape, dtype=variances.dtype)
        return np.zeros(shape, dtype=variances.dtype)

    def gram(self) -> Array:
        return np.zeros(self.outputs)


class StackedMap(LinearMap):
    """x → (A x, B x, ...): what the outputs share of the features correlates them."""

    def __init__(self, maps: Sequence[LinearMap]) -> None:
        self.maps = list(maps)
        self.features, self.outputs = self.maps[0].features, sum(part.outputs for part in self.maps)
        self.examples = next((part.examples for part in self.maps if part.examples is not None), None)
        self.exact = all(part.exact for part in self.maps)

    def rows(self, vectors: Array, owner: Array) -> Array:
        return np.concatenate([part.rows(vectors, owner) for part in self.maps], axis=1)

    def inputs(self) -> Array:
        return np.asarray(np.any([part.inputs() for part in self.maps], axis=0))

    @property
    def disjoint(self) -> bool:
        """Whether no feature has a part in two of the maps."""
        return bool((np.sum([part.inputs() for part in self.maps], axis=0) <= 1).all())

    def variances(self, variances: Any) -> Any:
        if not self.disjoint:
            return None
        pieces = [part.variances(variances) for part in self.maps]
        return None if any(piece is None for piece in pieces) else side_by_side(pieces)

    def gram(self) -> Array:
        if not self.disjoint:
            return _gram_of(self)
        pieces = [part.gram() for part in self.maps]
        if all(piece.ndim == 1 for piece in pieces):
            return np.concatenate(pieces)
        out, first = np.zeros((self.outputs, self.outputs)), 0
        for piece in pieces:
            last = first + len(piece)
            out[first:last, first:last] = np.diag(piece) if piece.ndim == 1 else piece
            first = last
        return out


class EmbedMap(LinearMap):
    """x → (0, x, 0): the features from `first` on of `outputs`."""

    def __init__(self, features: int, first: int, outputs: int) -> None:
        self.features, self.first, self.outputs = features, first, outputs

    def rows(self, vectors: Array, owner: Array) -> Array:
        out = np.zeros((len(vectors), self.outputs), dtype=vectors.dtype)
        out[:, self.first : self.first + self.features] = vectors
        return out

    def variances(self, variances: Any) -> Any:
        return self.rows(dense(variances), np.arange(variances.shape[0]))

    def gram(self) -> Array:
        return np.asarray(self.rows(np.ones((1, self.features)), np.zeros(1, dtype=np.int64))[0])


def _gram_of(linear_map: LinearMap) -> Array:
    """A Aᵀ of a map that is the same for all, written out."""
    unit = np.eye(linear_map.features)
    rows = linear_map.rows(unit, np.arange(linear_map.features))
    return np.asarray(MatrixMap(rows.T).gram())


def side_by_side(pieces: Sequence[Any]) -> Any:
    """Columns beside columns: CSR where all are sparse, else dense."""
    if len(pieces) == 1:
        return pieces[0]
    if all(is_sparse(piece) for piece in pieces):
        import scipy.sparse

        return scipy.sparse.hstack(pieces, format="csr")
    return np.concatenate([dense(piece) for piece in pieces], axis=1)
