"""What all kinds of covariance share: slices, sums, factors, linear maps, files.

A kind needs `terms` and `take`. It may replace `independent`, `matrices`, `diagonals`, `directions`, `noise`,
`_mapped` and `joined`, whose defaults go by way of full matrices, where it knows something cheaper; `arrays`
and `from_arrays` say how it is saved.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, NoReturn, TypeAlias, TypeVar

import numpy as np

from ... import _core
from ...propagate.linear import LinearMap, MatrixMap, as_select_map, scale_map
from ...support.arrays import blocks, dense, in_blocks, roots
from ...support.memory import require_memory
from ...support.sparse import SparseRows
from ...support.validation import FINITE, Array, ArrayLike, FloatArray, Matrix, as_float_array

if TYPE_CHECKING:
    from .full import Full

Kind = TypeVar("Kind", bound="Covariance")
Psd: TypeAlias = Literal["clip", "strict"]
Terms: TypeAlias = tuple[tuple[_core.Covariance, float], ...]
READERS: dict[str, type[Covariance]] = {}  # by the key of an .npz file: the kind that it holds


class Covariance(ABC):
    """One covariance per sample. `n_samples` or `n_features` is None where any number fits."""

    n_samples: int | None
    n_features: int | None
    keys: ClassVar[tuple[str, ...]] = ()  # of an .npz file: each says that it holds this kind
    more_keys: ClassVar[tuple[str, ...]] = ()  # arrays that may accompany them
    __array_ufunc__ = None  # NumPy leaves `array * cov` to us instead of making an array of objects

    def __init_subclass__(cls) -> None:
        for key in cls.__dict__.get("keys", ()):
            owner = READERS.setdefault(key, cls)
            if owner.__qualname__ != cls.__qualname__:
                raise TypeError(f"{cls.__name__}: the key {key!r} is that of {owner.__name__}")

    @abstractmethod
    def terms(self, samples: int, features: int, y: Array | None) -> Terms:
        """Return views for the core: (kind, factor) pairs that sum to this covariance.

        `samples` and `features` are the shape of the data; `y` tells classes apart.
        """

    @abstractmethod
    def take(self, rows: Array) -> Covariance:
        """Return the covariances of the samples with the indices `rows`."""

    @property
    def parts(self) -> list[Term]:
        """The terms of a sum with their factors; of any other kind itself."""
        return [(1.0, self)]

    @property
    def is_diagonal(self) -> bool:
        """Whether all values are independent."""
        return False

    @property
    def needs_classes(self) -> bool:
        """Whether the covariance of a sample depends on its class."""
        return False

    def describe(self) -> str:
        """Name the kind, or the kinds of a sum with their factors."""
        return " + ".join(
            type(kind).__name__ if scale == 1 else f"{scale:g} × {type(kind).__name__}"
            for scale, kind in self.parts
        )

    def numbers(self) -> int:
        """Count the numbers that it holds."""
        count = 0
        for _, kind in self.parts:
            for value in vars(kind).values():
                held = value.value if isinstance(value, SparseRows) else value
                if isinstance(held, (np.ndarray, Covariance)):
                    count += held.size if isinstance(held, np.ndarray) else held.numbers()
        return count

    def each_variance(self, n_samples: int) -> Array | None:
        """Return the variances of `n_samples` samples, (l,), if they are isotropic; otherwise None."""
        return None

    def independent(self, n_samples: int, n_features: int) -> Matrix | None:
        """Return variances (`n_samples`, `n_features`), dense or CSR, or None if it holds anything else."""
        return None

    def matrices(self, rows: slice, n_features: int, y: ArrayLike = None) -> Array:
        """Return the (`n_features`, `n_features`) matrices of some `rows`; `y` tells classes apart."""
        chosen = np.arange(rows.start, rows.stop)
        labels = None if y is None else np.asarray(y)[chosen]
        return self.take(chosen).to_full(len(chosen), n_features, labels)

    def diagonals(self, n_samples: int, n_features: int, y: ArrayLike = None) -> FloatArray:
        """Return the variances of all values, (`n_samples`, `n_features`); `y` tells classes apart."""
        known = self.independent(n_samples, n_features)
        if known is not None:
            return dense(known).astype(np.float64)
        out = np.empty((n_samples, n_features))
        for part in blocks(n_samples, n_features**2):
            out[part] = np.diagonal(self.matrices(part, n_features, y), axis1=1, axis2=2)
        # A variance may be negative by as much as `Full` accepts.
        return np.maximum(out, 0.0)

    def noise(self, rng: np.random.Generator, shape: tuple[int, int, int], y: ArrayLike = None) -> FloatArray:
        """Draw from N(0, Σ_i) with `rng`: `shape` is (l, k, n) for k draws each; `y` tells classes apart."""
        count, k, n = shape
        if self.is_diagonal:
            return rng.standard_normal(shape) * np.sqrt(self.diagonals(count, n, y))[:, np.newaxis, :]
        out = np.empty(shape)
        for part in blocks(count, n * n):
            factors = self.directions(part, n, y)
            out[part] = rng.standard_normal((len(factors), k, factors.shape[1])) @ factors
        return out

    def as_full(self, n_samples: int, n_features: int, y: ArrayLike = None) -> Full:
        """Return them as `Full`, for (`n_samples`, `n_features`) data; `y` tells classes apart."""
        from .full import Full

        if isinstance(self, Full):
            return self
        row, column = np.triu_indices(n_features)

        def triangles(part: slice) -> Array:
            return self.matrices(part, n_features, y)[:, row, column]

        return Full.from_packed(in_blocks(n_samples, n_features**2, triangles))

    def directions(self, rows: slice, n_features: int, y: ArrayLike = None) -> FloatArray:
        """Return factors (k, r, `n_features`) of some `rows`, F_iᵀF_i = Σ_i; `y` tells classes apart."""
        if not self.is_diagonal:
            return np.asarray(roots(self.matrices(rows, n_features, y)))
        chosen = np.arange(rows.start, rows.stop)
        labels = None if y is None else np.asarray(y)[chosen]
        each = self.take(chosen).diagonals(len(chosen), n_features, labels)
        return np.asarray(np.sqrt(each)[:, :, np.newaxis] * np.eye(n_features))

    def _mapped(self, linear_map: LinearMap) -> Covariance:
        """Return the covariance after a map that fits."""
        from .full import Full

        n = linear_map.features
        m = linear_map.outputs
        count = linear_map.samples if self.n_samples is None else self.n_samples
        if count is None:
            raise NotImplementedError(f"{type(self).__name__} belongs to no sample; it needs a _mapped")
        row, column = np.triu_indices(m)

        def triangles(part: slice) -> Array:
            return linear_map.sandwich(self.matrices(part, n), part.start)[:, row, column]

        return Full.from_packed(in_blocks(count, max(n, m) ** 2, triangles))

    def map(self, A: ArrayLike) -> Covariance:
        """Return the covariance of A x: A Σ_i Aᵀ, of the cheapest kind that holds it exactly.

        Parameters
        ----------
        A : array of shape (m, n)
            The matrix.

        Examples
        --------
        >>> import svmgsu
        >>> svmgsu.Diagonal([[1.0, 4.0]]).map([[1.0, 1.0]]).to_full()
        array([[[5.]]])
        """
        if not isinstance(A, LinearMap):
            A = MatrixMap(as_float_array(A, "A", (2,), FINITE).astype(np.float64))
        for what, have, want in (
            ("features", A.features, self.n_features),
            ("samples", A.samples, self.n_samples),
        ):
            if have is not None and want is not None and have != want:
                raise ValueError(f"{A.name}: it is for {have} {what}, but the covariance has {want}")
        return self._mapped(A)

    def scale_features(self, d: ArrayLike) -> Covariance:
        """Return the covariance of d x, feature by feature: diag(d) Σ_i diag(d).

        Parameters
        ----------
        d : array of shape (n,) or (l, n)
            Factors for all samples, or for each.

        Examples
        --------
        >>> import svmgsu
        >>> svmgsu.Diagonal([[1.0, 4.0]]).scale_features([10, 1]).to_full()
        array([[[100.,   0.],
                [  0.,   4.]]])
        """
        return self.map(scale_map(as_float_array(d, "d", (1, 2), FINITE)))

    def select(self, columns: ArrayLike) -> Covariance:
        """Return the covariance of some features.

        Parameters
        ----------
        columns : array of indices, or mask
            The features, in the order wanted.

        Examples
        --------
        >>> import svmgsu
        >>> svmgsu.Diagonal([[1.0, 4.0]]).select([1]).to_full()
        array([[[4.]]])
        """
        return self.map(as_select_map(columns, self.n_features))

    @classmethod
    def joined(cls: type[Kind], covs: Sequence[Kind | None], counts: Sequence[int], n: int) -> Covariance:
        """Join covariances of this kind, one below the other.

        `covs` has one of each part, or None for zeros; `counts` are the samples of each part, n the features.
        """
        from .full import Full

        full = [
            None if cov is None else cov.as_full(count, n) for cov, count in zip(covs, counts, strict=True)
        ]
        return Full.joined(full, counts, n)

    def arrays(self, n_samples: int, n_features: int, y: ArrayLike) -> dict[str, Array]:
        """Return the arrays of an .npz file by key, for (`n_samples`, `n_features`) data with labels `y`."""
        return self.as_full(n_samples, n_features, y).arrays(n_samples, n_features, y)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], psd: Psd) -> Covariance:
        """Make one of the `arrays` of an .npz file that has one of `keys`; `psd` is as for `Full`."""
        raise NotImplementedError(f"{cls.__name__} is not read from files")

    def to_full(
        self, n_samples: int | None = None, n_features: int | None = None, y: ArrayLike = None
    ) -> Array:
        """Return all covariances as one (l, n, n) float64 array, for looking and testing.

        Parameters
        ----------
        n_samples, n_features : int, optional
            Needed where the kind does not know them (`Shared`, `Isotropic`).
        y : array of shape (l,), optional
            Labels, needed where there is one covariance per class.
        """
        count = self.n_samples if n_samples is None else n_samples
        n = self.n_features if n_features is None else n_features
        if count is None or n is None:
            missing = "n_samples" if count is None else "n_features"
            raise ValueError(f"{missing}: {type(self).__name__} does not know it; pass {missing}=")
        require_memory(8.0 * count * n * n, f"cov: {count} full matrices of {n} features")
        out = np.zeros((count, n, n))
        for kind, factor in self.terms(count, n, None if y is None else np.asarray(y)):
            for i in range(count):
                kind.add_full(i, factor, out[i])
        return out

    @property
    def shape(self) -> tuple[int, int | None]:
        """(n_samples, n_features) of a kind that belongs to samples; `Shared` has no shape.

        scikit-learn slices fit parameters that have a shape, and hands on those that have none.
        """
        if self.n_samples is None:
            raise AttributeError(f"{type(self).__name__} belongs to no sample, so it has no shape")
        return self.n_samples, self.n_features

    def __add__(self, other: object) -> Covariance:
        if not isinstance(other, Covariance):
            return NotImplemented
        return added(self.parts + other.parts)

    def __mul__(self, factor: object) -> Covariance:
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            return NotImplemented
        number = float(factor)
        if not (number >= 0 and np.isfinite(number)):
            raise ValueError(f"cov: a factor must be >= 0 and finite, got {factor!r}")
        return added([(number * scale, kind) for scale, kind in self.parts])

    __rmul__ = __mul__

    def __getitem__(self, key: object) -> Covariance:
        """Return the covariances of some samples, by a slice, a mask, indices or `(indices, ...)`."""
        return self if self.n_samples is None else self.take(chosen_rows(key, self.n_samples))

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__}: cannot be iterated over; to_full() gives the matrices")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_samples={self.n_samples}, n_features={self.n_features})"


Term: TypeAlias = tuple[float, Covariance]


def added(terms: list[Term]) -> Covariance:
    """Return the sum of terms with factors; a single term with the factor 1 stays what it is."""
    from .sum import Sum

    return terms[0][1] if len(terms) == 1 and terms[0][0] == 1 else Sum(terms)


def chosen_rows(key: object, count: int) -> Array:
    """Return the indices of `count` samples that `key`, as in `__getitem__`, chooses."""
    rows = key[0] if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis else key
    if isinstance(rows, slice):
        return np.arange(count)[rows]
    if isinstance(rows, (int, np.integer)) and not isinstance(rows, bool):
        raise IndexError(
            f"one sample is chosen by a list or a slice: write [[{rows}]] or [{rows}:{rows + 1}]"
        )
    if isinstance(rows, tuple):
        raise IndexError(
            f"expected a slice, a mask or indices of samples, got {key!r}; features are "
            "chosen by svmgsu.Propagate of a ColumnTransformer, those of a covariance by .select(columns)"
        )
    chosen = np.asarray(rows)
    if chosen.ndim != 1 or (chosen.dtype.kind not in "biu" and chosen.size):
        raise IndexError(f"expected a slice, a mask or indices of samples, got {key!r}")
    if chosen.dtype == bool:
        if len(chosen) != count:
            raise IndexError(f"the mask has {len(chosen)} entries for {count} samples")
        return np.flatnonzero(chosen)
    outside = (chosen < -count) | (chosen >= count)
    if outside.any():
        raise IndexError(f"index {chosen[outside.argmax()]} is out of range for {count} samples")
    return np.arange(count)[chosen.astype(np.int64)]
