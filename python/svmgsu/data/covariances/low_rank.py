"""`LowRank`: a few directions of uncertainty for each sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from ... import _core
from ...propagate.linear import LinearMap
from ...support.arrays import blocks, dense
from ...support.validation import Array, ArrayLike, FloatArray, as_float_array, check_factors
from .base import Covariance, Psd, Terms
from .diagonal import Diagonal


class LowRank(Covariance):
    """Σ_i = F_iᵀF_i, plus an optional diagonal: a few directions of uncertainty for each sample.

    Parameters
    ----------
    factors : array of shape (l, r, n), or (rows, n) with `start`
        The factors F_i, one direction per row. float32 and float64 in C order are used without a copy.
    diagonal : array of shape (l, n), optional
        Variances to add.
    start : array of shape (l + 1,), optional
        Where the rows of each sample begin, if samples have different numbers of them.

    Examples
    --------
    >>> import svmgsu
    >>> svmgsu.LowRank([[[1.0, 2.0]]], diagonal=[[0.5, 0.5]]).to_full()
    array([[[1.5, 2. ],
            [2. , 4.5]]])
    """

    keys = ("factors",)
    needs_classes = False
    more_keys = ("start", "diagonal")

    def __init__(self, factors: ArrayLike, diagonal: ArrayLike = None, *, start: ArrayLike = None) -> None:
        array = as_float_array(factors, "factors", (3,) if start is None else (2,))
        check_factors(array, "factors")
        n = array.shape[-1]
        if start is None:
            count, rank = array.shape[:2]
            self.start = rank * np.arange(count + 1, dtype=np.int64)
        else:
            given = np.asarray(start)
            if given.size and given.dtype.kind not in "iu":
                raise ValueError(f"start: expected whole numbers, got an array of {given.dtype}")
            self.start = np.ascontiguousarray(given, dtype=np.int64)
            grows = self.start.ndim == 1 and len(self.start) > 0 and bool((np.diff(self.start) >= 0).all())
            if not grows or self.start[0] != 0 or self.start[-1] != len(array):
                raise ValueError(f"start: must rise from 0 to the number of rows, {len(array)}")
        self.factors = array.reshape(-1, n)
        self.n_samples = len(self.start) - 1
        self.n_features = n
        self.diagonal = None if diagonal is None else Diagonal(diagonal, name="diagonal")
        if self.diagonal is not None and self.diagonal.variances.shape != (self.n_samples, n):
            raise ValueError(
                f"diagonal: shape {self.diagonal.variances.shape}, but the factors are of "
                f"{self.n_samples} samples and {n} features"
            )

    def terms(self, samples: int, features: int, y: Array | None) -> Terms:
        own: Terms = ((_core.low_rank(self.factors, self.start), 1.0),)
        return own if self.diagonal is None else own + self.diagonal.terms(samples, features, y)

    def take(self, rows: Array) -> Covariance:
        chosen = np.arange(len(self.start) - 1)[rows]
        first, last = self.start[chosen], self.start[chosen + 1]
        places = [np.arange(a, b) for a, b in zip(first, last, strict=True)]
        gathered = self.factors[np.concatenate(places)] if places else self.factors[:0]
        start = np.concatenate([[0], np.cumsum(last - first)])
        diagonal = None if self.diagonal is None else cast(Diagonal, self.diagonal.take(rows))
        return self._of(gathered, start, diagonal)

    @classmethod
    def _of(cls, factors: Array, start: Array, diagonal: Diagonal | None) -> LowRank:
        """Make one of arrays that are checked already."""
        out = cls.__new__(cls)
        out.factors = factors
        out.start = start
        out.diagonal = diagonal
        out.n_samples = len(start) - 1
        out.n_features = factors.shape[1]
        return out

    @property
    def _owner(self) -> Array:
        """The sample of each row of the factors."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def diagonals(self, n_samples: int, n_features: int, y: ArrayLike = None) -> FloatArray:
        out = np.zeros((n_samples, n_features))
        if self.diagonal is not None:
            out += self.diagonal.diagonals(n_samples, n_features)
        for part in blocks(n_samples, n_features * int(np.diff(self.start).max(initial=1))):
            out[part] += np.square(self._padded(part)).sum(axis=1)
        return out

    def _padded(self, rows: slice) -> FloatArray:
        """Return the factors of some rows, (k, r, n), with zeros where a sample has fewer than r."""
        ranks = np.diff(self.start)
        out = np.zeros((rows.stop - rows.start, int(ranks.max(initial=0)), self.factors.shape[1]))
        used = np.arange(out.shape[1]) < ranks[rows, np.newaxis]
        out[used] = self.factors[self.start[rows.start] : self.start[rows.stop]]
        return out

    def directions(self, rows: slice, n_features: int, y: ArrayLike = None) -> FloatArray:
        if self.diagonal is None:
            return self._padded(rows)
        return np.concatenate([self._padded(rows), self.diagonal.directions(rows, n_features)], axis=1)

    def _mapped(self, linear_map: LinearMap) -> Covariance:
        n, m = linear_map.features, linear_map.outputs
        if m < n and len(self.factors) > m * (len(self.start) - 1):  # more factors than outputs
            return super()._mapped(linear_map)
        factors = linear_map.rows(self.factors, self._owner)
        if self.diagonal is None:
            return LowRank(factors, start=self.start)
        diagonal = self.diagonal._mapped(linear_map)
        if diagonal.is_diagonal:
            return LowRank(
                factors, diagonal.independent(len(self.start) - 1, linear_map.outputs), start=self.start
            )
        return LowRank(factors, start=self.start) + diagonal

    @classmethod
    def joined(cls, covs: Sequence[LowRank | None], counts: Sequence[int], n: int) -> Covariance:
        ranks = [
            np.zeros(count, np.int64) if cov is None else np.diff(cov.start)
            for cov, count in zip(covs, counts, strict=True)
        ]
        start = np.concatenate([[0], np.cumsum(np.concatenate(ranks))])
        factors = np.concatenate([cov.factors for cov in covs if cov is not None])
        diagonals = [None if cov is None else cov.diagonal for cov in covs]
        if all(diagonal is None for diagonal in diagonals):
            return cls._of(factors, start, None)
        return cls._of(factors, start, cast(Diagonal, Diagonal.joined(diagonals, counts, n)))

    def arrays(self, n_samples: int, n_features: int, y: ArrayLike) -> dict[str, Array]:
        arrays = {"factors": self.factors, "start": self.start}
        return arrays if self.diagonal is None else arrays | {"diagonal": dense(self.diagonal.matrix)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], psd: Psd) -> Covariance:
        return LowRank(arrays["factors"], arrays.get("diagonal"), start=arrays.get("start"))
