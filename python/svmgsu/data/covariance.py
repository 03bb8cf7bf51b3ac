"""What all kinds of covariance share: slices, sums, factors, linear maps of the features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..maps.linear import LinearMap, as_matrix_map, as_scale_map, as_select_map
from ..support.memory import require_memory
from ..support.validation import Array, FloatArray

Terms = tuple[tuple[Any, float], ...]


class Covariance(ABC):
    """One covariance an example. `n_examples` or `n_features` is None where any number fits."""

    n_examples: int | None
    n_features: int | None
    __array_ufunc__ = None  # NumPy leaves `array * cov` to us instead of making an array of objects

    @abstractmethod
    def terms(self, examples: int, features: int, y: Array | None) -> Terms:
        """Views for the core: (kind, factor) pairs whose sum this is.

        `examples` and `features` say for how many; `y` tells classes apart.
        """

    @abstractmethod
    def take(self, rows: Array) -> Covariance:
        """The covariances of some examples: `rows` are their indices."""

    @abstractmethod
    def diagonals(self, n_examples: int, n_features: int, y: Any = None) -> FloatArray:
        """The variances of all values, (l, n) = (`n_examples`, `n_features`); `y` tells classes apart."""

    @abstractmethod
    def noise(self, rng: np.random.Generator, shape: tuple[int, int, int], y: Any = None) -> FloatArray:
        """Draws from N(0, Σ_i) by `rng`, of `shape` (l, k, n): k an example; `y` tells classes apart."""

    @abstractmethod
    def _mapped(self, linear_map: LinearMap) -> Covariance:
        """The covariance after a map that fits."""

    def mapped(self, linear_map: LinearMap) -> Covariance:
        """The covariance after `linear_map` (of `svmgsu.maps.linear`)."""
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

    def __add__(self, other: object) -> Covariance:
        if not isinstance(other, Covariance):
            return NotImplemented
        return Sum(parts_of(self) + parts_of(other))

    def __mul__(self, factor: object) -> Covariance:
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            return NotImplemented
        number = float(factor)
        if not (number >= 0 and np.isfinite(number)):
            raise ValueError(f"cov: a factor must be >= 0 and finite, got {factor!r}")
        return Sum([(number * scale, kind) for scale, kind in parts_of(self)])

    __rmul__ = __mul__

    def to_full(self, n_examples: int | None = None, n_features: int | None = None, y: Any = None) -> Array:
        """All covariances as one (l, n, n) float64 array, for looking and testing.

        `n_examples` and `n_features` are needed where the kind does not know them (`Shared`, `Isotropic`),
        `y` where there is one covariance a class.
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


class Sum(Covariance):
    """Covariances added up, each with a factor; what `+` and `*` make."""

    def __init__(self, parts: list[tuple[float, Covariance]]) -> None:
        self.parts = parts
        self.n_examples = _agreed(parts, "n_examples")
        self.n_features = _agreed(parts, "n_features")

    def terms(self, examples: int, features: int, y: Array | None) -> Terms:
        return tuple(
            (core, scale * factor)
            for scale, kind in self.parts
            for core, factor in kind.terms(examples, features, y)
        )

    def take(self, rows: Array) -> Covariance:
        return Sum([(scale, kind.take(rows)) for scale, kind in self.parts])

    def diagonals(self, n_examples: int, n_features: int, y: Any = None) -> FloatArray:
        out = np.zeros((n_examples, n_features))
        for scale, kind in self.parts:
            out += scale * kind.diagonals(n_examples, n_features, y)
        return out

    def noise(self, rng: np.random.Generator, shape: tuple[int, int, int], y: Any = None) -> FloatArray:
        out = np.zeros(shape)
        for scale, kind in self.parts:
            out += np.sqrt(scale) * kind.noise(rng, shape, y)
        return out

    def _mapped(self, linear_map: LinearMap) -> Covariance:
        return Sum(
            [
                (scale * factor, part)
                for scale, kind in self.parts
                for factor, part in parts_of(kind._mapped(linear_map))
            ]
        )

    def __repr__(self) -> str:
        return " + ".join(
            f"{kind!r}" if scale == 1 else f"{scale:g} * {kind!r}" for scale, kind in self.parts
        )


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
            f"expected a slice, a mask or indices of examples, got {key!r}; features are chosen by "
            "svmgsu.GaussianColumnSelector"
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


def parts_of(cov: Covariance) -> list[tuple[float, Covariance]]:
    return cov.parts if isinstance(cov, Sum) else [(1.0, cov)]


def _agreed(parts: list[tuple[float, Covariance]], name: str) -> int | None:
    known = {getattr(kind, name) for _, kind in parts} - {None}
    if len(known) > 1:
        raise ValueError(f"cov: the terms of a sum disagree about {name}: {sorted(known)}")
    return known.pop() if known else None
