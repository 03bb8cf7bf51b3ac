"""What all kinds of covariance share: slices, sums, factors, linear maps, files.

A kind needs `terms` and `take`. All else has a default by way of full matrices, which a kind replaces where
it knows something cheaper; nothing outside this folder asks which kind it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from ...propagate.linear import LinearMap, as_matrix_map, as_scale_map, as_select_map
from ...support.arrays import blocks, roots
from ...support.memory import require_memory
from ...support.validation import Array, FloatArray

if TYPE_CHECKING:
    from .full import Full

Psd: TypeAlias = Literal["clip", "strict"]
Terms = tuple[tuple[Any, float], ...]
READERS: dict[str, type[Covariance]] = {}  # the key of an .npz file → the kind that is under it


class Covariance(ABC):
    """One covariance per example. `n_examples` or `n_features` is None where any number fits."""

    n_examples: int | None
    n_features: int | None
    keys: ClassVar[tuple[str, ...]] = ()  # of an .npz file, each of which says that it holds this kind
    more_keys: ClassVar[tuple[str, ...]] = ()  # what may stand beside them
    __array_ufunc__ = None  # NumPy leaves `array * cov` to us instead of making an array of objects

    def __init_subclass__(cls) -> None:
        for key in cls.__dict__.get("keys", ()):
            owner = READERS.setdefault(key, cls)
            if owner.__qualname__ != cls.__qualname__:
                raise TypeError(f"{cls.__name__}: the key {key!r} is that of {owner.__name__}")

    @abstractmethod
    def terms(self, examples: int, features: int, y: Array | None) -> Terms:
        """Views for the core: (kind, factor) pairs whose sum this is.

        `examples` and `features` say for how many; `y` tells classes apart.
        """

    @abstractmethod
    def take(self, rows: Array) -> Covariance:
        """The covariances of some examples: `rows` are their indices."""

    @property
    def parts(self) -> list[Term]:
        """The terms of a sum with their factors; of all else itself."""
        return [(1.0, self)]

    @property
    def is_diagonal(self) -> bool:
        """Whether all values are independent."""
        return False

    @property
    def needs_classes(self) -> bool:
        """Whether a covariance cannot be known of an object without its class."""
        return False

    def describe(self) -> str:
        """The kind in a word."""
        return type(self).__name__

    def numbers(self, n_examples: int, n_features: int) -> int:
        """How many numbers it holds for (l, n) = (`n_examples`, `n_features`)."""
        return n_examples * n_features * (n_features + 1) // 2

    def each_variance(self, n_examples: int) -> Array | None:
        """(l,) = (`n_examples`,): one variance for all values of an example, where that is all; else None."""
        return None

    def independent(self, n_examples: int, n_features: int) -> Any:
        """(l, n) = (`n_examples`, `n_features`) variances, dense or CSR, if no more is held; else None."""
        return None

    def triangles(self, rows: slice, n_features: int, y: Any = None) -> Array:
        """The upper triangles of `matrices(rows, n_features, y)`, row after row: (k, n(n+1)/2)."""
        row, column = np.triu_indices(n_features)
        return self.matrices(rows, n_features, y)[:, row, column]

    def matrices(self, rows: slice, n_features: int, y: Any = None) -> Array:
        """The (n, n) matrices of the examples `rows`, a slice; n is `n_features`, `y` tells classes apart."""
        chosen = np.arange(rows.start, rows.stop)
        labels = None if y is None else np.asarray(y)[chosen]
        return self.take(chosen).to_full(len(chosen), n_features, labels)

    def diagonals(self, n_examples: int, n_features: int, y: Any = None) -> FloatArray:
        """The variances of all values, (l, n) = (`n_examples`, `n_features`); `y` tells classes apart."""
        out = np.empty((n_examples, n_features))
        for part in blocks(n_examples, n_features**2):
            out[part] = np.diagonal(self.matrices(part, n_features, y), axis1=1, axis2=2)
        # A variance may lie below zero by as much as `Full` lets pass.
        return np.maximum(out, 0.0)

    def noise(self, rng: np.random.Generator, shape: tuple[int, int, int], y: Any = None) -> FloatArray:
        """Draws from N(0, Σ_i) by `rng`, of `shape` (l, k, n): k per example; `y` tells classes apart."""
        out = rng.standard_normal(shape)
        for part in blocks(shape[0], shape[2] ** 2):
            out[part] = out[part] @ roots(self.matrices(part, shape[2], y))
        return out

    def as_full(self, n_examples: int, n_features: int, y: Any = None) -> Full:
        """The same covariances, of `n_examples` and `n_features`, as `Full`; `y` tells classes apart."""
        from .full import Full

        packed = [self.triangles(part, n_features, y) for part in blocks(n_examples, n_features**2)]
        return Full.from_packed(np.concatenate(packed))

    def factored(self) -> Covariance:
        """The same covariances as factors, where full matrices are held; else itself."""
        return self

    def directions(self, rows: slice, n_features: int) -> FloatArray:
        """Factors (k, r, n) of the examples `rows`, a slice: F_i with F_iᵀF_i = Σ_i; n is `n_features`."""
        return np.asarray(roots(self.matrices(rows, n_features)))

    def image(self, linear_map: LinearMap, rows: slice) -> Array:
        """Factors (k, r, m) of A Σ_i Aᵀ for `linear_map` A, of the examples `rows`, a slice."""
        factors = self.directions(rows, linear_map.features)
        k, r, n = factors.shape
        owner = np.repeat(np.arange(rows.start, rows.stop), r)
        return linear_map.rows(factors.reshape(-1, n), owner).reshape(k, r, linear_map.outputs)

    def _mapped(self, linear_map: LinearMap) -> Covariance:
        """The covariance after a map that fits."""
        from .full import Full

        n, m = linear_map.features, linear_map.outputs
        count = linear_map.examples if self.n_examples is None else self.n_examples
        if count is None:
            raise NotImplementedError(f"{type(self).__name__} belongs to no example; it needs a _mapped")
        row, column = np.triu_indices(m)
        packed = np.empty((0, len(row)))
        for part in blocks(count, max(n, m) ** 2):
            some = linear_map.sandwich(self.matrices(part, n), part.start)[:, row, column]
            if part.start == 0:
                packed = np.empty((count, len(row)), dtype=some.dtype)
            packed[part] = some
        return Full.from_packed(packed)

    def mapped(self, linear_map: LinearMap) -> Covariance:
        """The covariance after `linear_map` (of `svmgsu.propagate.linear`)."""
        for what, have, want in (
            ("features", linear_map.features, self.n_features),
            ("examples", linear_map.examples, self.n_examples),
        ):
            if have is not None and want is not None and have != want:
                raise ValueError(f"{linear_map.name}: it is for {have} {what}, but the covariance has {want}")
        return self._mapped(linear_map)

    def map(self, A: Any) -> Covariance:
        """The covariance of A x: A Σ_i Aᵀ, of the cheapest kind that holds it exactly.

        `A` is one matrix (m, n), or one for each example, (l, m, n).

        Examples
        --------
        >>> import svmgsu
        >>> svmgsu.Diagonal([[1.0, 4.0]]).map([[1.0, 1.0]]).to_full()
        array([[[5.]]])
        """
        return self.mapped(as_matrix_map(A))

    def scale_features(self, d: Any) -> Covariance:
        """The covariance of d x, feature by feature: diag(d) Σ_i diag(d).

        `d` is of shape (n,), or (l, n) where the factors differ from example to example.

        Examples
        --------
        >>> import svmgsu
        >>> svmgsu.Diagonal([[1.0, 4.0]]).scale_features([10, 1]).to_full()
        array([[[100.,   0.],
                [  0.,   4.]]])
        """
        return self.mapped(as_scale_map(d))

    def select(self, columns: Any) -> Covariance:
        """The covariance of some features; `columns` are their indices, or a mask.

        Examples
        --------
        >>> import svmgsu
        >>> svmgsu.Diagonal([[1.0, 4.0]]).select([1]).to_full()
        array([[[4.]]])
        """
        return self.mapped(as_select_map(columns, self.n_features))

    def same_for_all(self, other: Any) -> bool:
        """Whether this, which belongs to no example, is the same as `other` of its kind."""
        return self is other

    def pieces(self) -> list[Term]:
        """What is joined by itself when examples are joined."""
        return [(1.0, self)]

    def joins_as(self, n_examples: int, n_features: int, share: Mapping[type, float]) -> Covariance:
        """As which kind it is joined with others.

        It is for (l, n) = (`n_examples`, `n_features`); `share` of a kind: of all examples, how many have it.
        """
        return self.as_full(n_examples, n_features)

    @classmethod
    def joined(cls, terms: list[list[Any]], counts: list[int], n: int) -> list[Term]:
        """The covariances of all parts, one below the other, from `terms`: (scale, kind) pairs of each part.

        `counts` are the examples of each part, n the features. A part may have no term of this kind.
        """
        raise NotImplementedError(f"{cls.__name__} joins as another kind")

    def arrays(self, n_examples: int, n_features: int, y: Any) -> dict[str, Array]:
        """What an .npz file holds of it, by key, for (l, n) = (`n_examples`, `n_features`) and labels `y`."""
        return self.as_full(n_examples, n_features, y).arrays(n_examples, n_features, y)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], psd: Psd) -> Covariance:
        """From the `arrays` of an .npz file that has one of `keys`; `psd` is as for `Full`."""
        raise NotImplementedError(f"{cls.__name__} is not read from files")

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

    def to_full(self, n_examples: int | None = None, n_features: int | None = None, y: Any = None) -> Array:
        """All covariances as one (l, n, n) float64 array, for looking and testing.

        `n_examples` and `n_features` are needed where the kind does not know them (`Shared`, `Isotropic`),
        `y` where there is one covariance per class.
        """
        count = self.n_examples if n_examples is None else n_examples
        n = self.n_features if n_features is None else n_features
        if count is None or n is None:
            missing = "n_examples" if count is None else "n_features"
            raise ValueError(f"{missing}: {type(self).__name__} does not know it; pass {missing}=")
        require_memory(8.0 * count * n * n, f"cov: {count} full matrices of {n} features")
        out = np.zeros((count, n, n))
        for kind, factor in self.terms(count, n, None if y is None else np.asarray(y)):
            for i in range(count):
                kind.add_full(i, factor, out[i])
        return out

    @property
    def shape(self) -> tuple[int, int | None]:
        """(n_examples, n_features) of a kind that belongs to examples; `Shared` has no shape.

        scikit-learn slices fit parameters that have a shape, and hands on those that have none.
        """
        if self.n_examples is None:
            raise AttributeError(f"{type(self).__name__} belongs to no example, so it has no shape")
        return self.n_examples, self.n_features

    def __getitem__(self, key: Any) -> Covariance:
        """The covariances of some examples, by a slice, a mask, indices or `(indices, ...)`."""
        return self if self.n_examples is None else self.take(chosen_rows(key, self.n_examples))

    def __iter__(self) -> Any:
        raise TypeError(f"{type(self).__name__}: cannot be iterated over; to_full() gives the matrices")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_examples={self.n_examples}, n_features={self.n_features})"


Term: TypeAlias = tuple[float, Covariance]


def added(terms: list[Term]) -> Covariance:
    """Terms with their factors as one covariance; a single one with the factor 1 stays what it is."""
    from .sum import Sum

    return terms[0][1] if len(terms) == 1 and terms[0][0] == 1 else Sum(terms)


def in_turn(terms: list[list[Any]]) -> list[list[Any]]:
    """The first terms of all parts, then the second, ...; None where a part has no more of them."""
    depth = max(len(own) for own in terms)
    return [[own[j] if j < len(own) else None for own in terms] for j in range(depth)]


def times(array: Array, factor: float) -> Array:
    """`array` times `factor`, of the same dtype; itself if that is 1."""
    return array if factor == 1 else np.asarray(array * np.asarray(factor, dtype=array.dtype))


def chosen_rows(key: Any, count: int) -> Array:
    """The indices that `key` chooses of `count` examples: a slice, a mask, indices, or `(indices, ...)`."""
    rows = key[0] if isinstance(key, tuple) and len(key) == 2 and key[1] is Ellipsis else key
    if isinstance(rows, slice):
        return np.arange(count)[rows]
    if isinstance(rows, (int, np.integer)) and not isinstance(rows, bool):
        raise IndexError(
            f"one example is chosen by a list or a slice: write [[{rows}]] or [{rows}:{rows + 1}]"
        )
    if isinstance(rows, tuple):
        raise IndexError(
            f"expected a slice, a mask or indices of examples, got {key!r}; features are "
            "chosen by svmgsu.Propagate of a ColumnTransformer, those of a covariance by .select(columns)"
        )
    chosen = np.asarray(rows)
    if chosen.ndim != 1 or (chosen.dtype.kind not in "biu" and chosen.size):
        raise IndexError(f"expected a slice, a mask or indices of examples, got {key!r}")
    if chosen.dtype == bool:
        if len(chosen) != count:
            raise IndexError(f"the mask has {len(chosen)} entries for {count} examples")
        return np.flatnonzero(chosen)
    outside = (chosen < -count) | (chosen >= count)
    if outside.any():
        raise IndexError(f"index {chosen[outside.argmax()]} is out of range for {count} examples")
    return np.arange(count)[chosen.astype(np.int64)]
