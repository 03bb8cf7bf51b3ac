"""The kinds of covariance. Each holds its arrays, slices itself, and makes its view for the core.

Kinds add (`Diagonal(V) + Shared(S)`) and scale (`0.5 * cov`); `to_full()` shows any of them as matrices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from . import _core
from .validation import (
    Array,
    SparseRows,
    as_float_array,
    check_deviations,
    check_finite,
    check_variances,
    is_sparse,
)

Terms = tuple[tuple[Any, float], ...]

SYMMETRY_TOLERANCE = 1e-6
DEFINITENESS_TOLERANCE = 1e-8


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

    def __add__(self, other: object) -> Covariance:
        if not isinstance(other, Covariance):
            return NotImplemented
        return Sum(_parts(self) + _parts(other))

    def __mul__(self, factor: object) -> Covariance:
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            return NotImplemented
        number = float(factor)
        if not (number >= 0 and np.isfinite(number)):
            raise ValueError(f"cov: a factor must be >= 0 and finite, got {factor!r}")
        return Sum([(number * scale, kind) for scale, kind in _parts(self)])

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
        out = np.zeros((count, n, n))
        for kind, factor in self.terms(count, n, None if y is None else np.asarray(y)):
            for i in range(count):
                kind.add_full(i, factor, out[i])
        return out

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_examples={self.n_examples}, n_features={self.n_features})"


class Isotropic(Covariance):
    """Σ_i = v_i I.

    Parameters
    ----------
    variances : float or array of shape (l,)
        One variance for all examples, or one each.
    name : str, default="variances"
        What an error calls the array.

    Examples
    --------
    >>> import svmgsu
    >>> svmgsu.Isotropic([0.1, 0.4]).to_full(n_features=2)[1]
    array([[0.4, 0. ],
           [0. , 0.4]])
    """

    def __init__(self, variances: Any, *, name: str = "variances") -> None:
        self.variances = as_float_array(variances, name, (0, 1))
        check_variances(self.variances, name)
        self.n_examples = len(self.variances) if self.variances.ndim else None
        self.n_features = None

    def terms(self, examples: int, features: int, y: Array | None) -> Terms:
        values = self.variances if self.variances.ndim else np.full(examples, self.variances)
        return ((_core.isotropic(values), 1.0),)

    def take(self, rows: Array) -> Covariance:
        return Isotropic(self.variances[rows] if self.variances.ndim else self.variances)


class Diagonal(Covariance):
    """Σ_i = diag(V_i): independent errors, one variance for each value.

    Parameters
    ----------
    variances : array or SciPy sparse matrix of shape (l, n)
        float32 and float64 arrays in C order, `np.memmap` too, are used as they are, without a copy.
    name : str, default="variances"
        What an error calls the array.

    Examples
    --------
    >>> import svmgsu
    >>> svmgsu.Diagonal([[1.0, 4.0]]).to_full()
    array([[[1., 0.],
            [0., 4.]]])
    """

    variances: Array | SparseRows

    def __init__(self, variances: Any, *, name: str = "variances") -> None:
        if is_sparse(variances):
            self.variances = SparseRows(variances, name)
            self.variances.check(name, variances=True)
        else:
            self.variances = as_float_array(variances, name, (2,))
            check_variances(self.variances, name)
        self.n_examples, self.n_features = self.variances.shape

    def terms(self, examples: int, features: int, y: Array | None) -> Terms:
        v = self.variances
        if isinstance(v, SparseRows):
            return ((_core.sparse_diagonal(v.value, v.column, v.start, v.shape[1]), 1.0),)
        return ((_core.diagonal(v), 1.0),)

    def take(self, rows: Array) -> Covariance:
        v = self.variances
        return Diagonal(v.matrix[rows] if isinstance(v, SparseRows) else v[rows])


class Full(Covariance):
    """A full covariance matrix for each example, kept packed: n(n+1)/2 numbers each.

    Parameters
    ----------
    matrices : array of shape (l, n, n)
        Symmetric, positive semidefinite. One packed copy is made; the array itself is not kept.
    check : bool, default=True
        Whether to prove that each matrix is positive semidefinite, which takes a Cholesky
        factorisation an example.

    Examples
    --------
    >>> import svmgsu
    >>> svmgsu.Full([[[2.0, 1.0], [1.0, 2.0]]]).to_full()
    array([[[2., 1.],
            [1., 2.]]])
    """

    def __init__(self, matrices: Any, check: bool = True) -> None:
        full = as_float_array(matrices, "cov", (3,))
        count, n, m = full.shape
        if n != m:
            raise ValueError(f"cov: expected square matrices, got an array of shape {full.shape}")
        check_finite(full, "cov")
        packed = np.empty((count, n * (n + 1) // 2), dtype=full.dtype)
        asymmetric = _core.pack(full, SYMMETRY_TOLERANCE, packed)
        if asymmetric >= 0:
            worst = np.abs(full[asymmetric] - full[asymmetric].T)
            i, j = sorted(int(k) for k in np.unravel_index(worst.argmax(), worst.shape))
            raise ValueError(
                f"cov: example {asymmetric} is not symmetric: entry ({i}, {j}) is {full[asymmetric, i, j]:g} "
                f"but ({j}, {i}) is {full[asymmetric, j, i]:g}"
            )
        self._set(packed, n)
        if check:
            self._check_definite()

    @classmethod
    def from_packed(cls, packed: Any) -> Full:
        """From `packed`, (l, n(n+1)/2): upper triangles, row after row; used without a copy, unchecked."""
        array = as_float_array(packed, "packed", (2,))
        n = int(np.sqrt(2 * array.shape[1]))
        if n * (n + 1) // 2 != array.shape[1]:
            raise ValueError(f"packed: rows must have n(n+1)/2 numbers, got {array.shape[1]}")
        out = cls.__new__(cls)
        out._set(array, n)
        return out

    def _set(self, packed: Array, n: int) -> None:
        self.packed = packed
        self.n_examples, self.n_features = len(packed), n

    def _check_definite(self) -> None:
        n = cast(int, self.n_features)
        tolerance = max(DEFINITENESS_TOLERANCE, 8 * float(np.finfo(self.packed.dtype).eps))
        example, eigenvalue = _core.find_indefinite(self.packed, n, tolerance)
        if example >= 0:
            raise ValueError(
                f"cov: example {example} is not positive semidefinite: its smallest eigenvalue is "
                f"{eigenvalue:.6g}; covariances must have none below zero"
            )

    def terms(self, examples: int, features: int, y: Array | None) -> Terms:
        return ((_core.full(self.packed, cast(int, self.n_features)), 1.0),)

    def take(self, rows: Array) -> Covariance:
        return Full.from_packed(self.packed[rows])


class LowRank(Covariance):
    """Σ_i = F_iᵀF_i, plus an optional diagonal: a few directions of uncertainty for each example.

    Parameters
    ----------
    factors : array of shape (l, r, n), or (rows, n) with `start`
        The factors F_i, one direction a row. float32 and float64 in C order are used without a copy.
    diagonal : array of shape (l, n), optional
        Variances to add.
    start : array of shape (l + 1,), optional
        Where the rows of each example begin, if examples have different numbers of them.

    Examples
    --------
    >>> import svmgsu
    >>> svmgsu.LowRank([[[1.0, 2.0]]], diagonal=[[0.5, 0.5]]).to_full()
    array([[[1.5, 2. ],
            [2. , 4.5]]])
    """

    def __init__(self, factors: Any, diagonal: Any = None, *, start: Any = None) -> None:
        array = as_float_array(factors, "factors", (3,) if start is None else (2,))
        check_finite(array, "factors")
        n = array.shape[-1]
        if start is None:
            count, rank = array.shape[:2]
            self.start = rank * np.arange(count + 1, dtype=np.int64)
        else:
            self.start = np.ascontiguousarray(start, dtype=np.int64)
            grows = self.start.ndim == 1 and len(self.start) > 0 and bool((np.diff(self.start) >= 0).all())
            if not grows or self.start[0] != 0 or self.start[-1] != len(array):
                raise ValueError(f"start: must rise from 0 to the number of rows, {len(array)}")
        self.factors = array.reshape(-1, n)
        self.n_examples, self.n_features = len(self.start) - 1, n
        self.diagonal = None if diagonal is None else Diagonal(diagonal, name="diagonal")
        if self.diagonal is not None and self.diagonal.variances.shape != (self.n_examples, n):
            raise ValueError(
                f"diagonal: shape {self.diagonal.variances.shape}, but the factors are of "
                f"{self.n_examples} examples and {n} features"
            )

    def terms(self, examples: int, features: int, y: Array | None) -> Terms:
        own: Terms = ((_core.low_rank(self.factors, self.start), 1.0),)
        return own if self.diagonal is None else own + self.diagonal.terms(examples, features, y)

    def take(self, rows: Array) -> Covariance:
        chosen = np.arange(len(self.start) - 1)[rows]
        first, last = self.start[chosen], self.start[chosen + 1]
        places = [np.arange(a, b) for a, b in zip(first, last, strict=True)]
        gathered = self.factors[np.concatenate(places)] if places else self.factors[:0]
        start = np.concatenate([[0], np.cumsum(last - first)])
        diagonal = None
        if self.diagonal is not None:
            diagonal = cast(Diagonal, self.diagonal.take(rows)).variances
            diagonal = diagonal.matrix if isinstance(diagonal, SparseRows) else diagonal
        return LowRank(gathered, diagonal, start=start)


class Shared(Covariance):
    """One covariance for all examples, or one for each class.

    Parameters
    ----------
    matrix : array of shape (n, n) or (n,), or a dict from class label to such arrays
        A covariance matrix, or variances where it is diagonal. It belongs to no example, so slicing
        the examples never slices it, also when there are as many examples as features.

    Examples
    --------
    >>> import svmgsu
    >>> svmgsu.Shared([1.0, 4.0]).to_full(n_examples=1)
    array([[[1., 0.],
            [0., 4.]]])
    """

    def __init__(self, matrix: Any) -> None:
        self.classes = list(matrix) if isinstance(matrix, Mapping) else None
        each = list(matrix.values()) if isinstance(matrix, Mapping) else [matrix]
        if not each:
            raise ValueError("cov: Shared got no class")
        arrays = [as_float_array(a, "cov", (1, 2)).astype(np.float64) for a in each]
        if len({a.shape for a in arrays}) > 1:
            shapes = ", ".join(str(a.shape) for a in arrays)
            raise ValueError(f"cov: the classes' covariances must have the same shape, got {shapes}")
        self._diagonal = arrays[0].ndim == 1
        stacked = np.stack(arrays)
        if self._diagonal:
            check_variances(stacked, "cov")
            self._packed = stacked
        else:
            self._packed = Full(stacked).packed
        self.n_examples, self.n_features = None, arrays[0].shape[0]

    def terms(self, examples: int, features: int, y: Array | None) -> Terms:
        group = None
        if self.classes is not None:
            if y is None:
                raise ValueError("cov: one covariance a class needs the labels y")
            group = np.full(len(y), -1, dtype=np.int32)
            for k, label in enumerate(self.classes):
                group[y == label] = k
            if (group < 0).any():
                missing = y[int(np.argmax(group < 0))].item()
                raise ValueError(
                    f"cov: Shared has no covariance for class {missing!r}; it has {self.classes}"
                )
        n = cast(int, self.n_features)
        return ((_core.shared(self._packed, n, self._diagonal, group), 1.0),)

    def take(self, rows: Array) -> Covariance:
        return self


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

    def __repr__(self) -> str:
        return " + ".join(
            f"{kind!r}" if scale == 1 else f"{scale:g} * {kind!r}" for scale, kind in self.parts
        )


def _parts(cov: Covariance) -> list[tuple[float, Covariance]]:
    return cov.parts if isinstance(cov, Sum) else [(1.0, cov)]


def _agreed(parts: list[tuple[float, Covariance]], name: str) -> int | None:
    known = {getattr(kind, name) for _, kind in parts} - {None}
    if len(known) > 1:
        raise ValueError(f"cov: the terms of a sum disagree about {name}: {sorted(known)}")
    return known.pop() if known else None


def as_covariance(cov: Any, std: Any, shape: tuple[int, int]) -> Covariance | None:
    """What a user gave as `cov` or `std`, as a kind that fits (l, n) examples.

    Plain arrays mean by their shape: a number or (l,) isotropic, (l, n) diagonal, (l, n, n) full.
    """
    if std is not None:
        if cov is not None:
            raise ValueError("std: give either cov or std, not both")
        return _from_std(std, shape)
    if cov is None:
        return None
    if isinstance(cov, Covariance):
        _check_fits(cov, shape)
        return cov
    if is_sparse(cov):
        kind: Covariance = Diagonal(cov, name="cov")
    else:
        array = as_float_array(cov, "cov", (0, 1, 2, 3))
        kind = _by_shape(array, "cov", shape)
    _check_fits(kind, shape)
    return kind


def _by_shape(array: Array, name: str, shape: tuple[int, int]) -> Covariance:
    count, n = shape
    if array.ndim in (1, 2) and count == n and array.shape == (n,) * array.ndim and n > 1:
        readings = {
            1: "one variance an example (svmgsu.Isotropic) or one a feature (svmgsu.Shared)",
            2: "variances (svmgsu.Diagonal) or one covariance matrix for all examples (svmgsu.Shared)",
        }[array.ndim]
        raise ValueError(
            f"{name}: shape {array.shape} is ambiguous, since there are as many examples as features: "
            f"{readings}? Pass one of these kinds"
        )
    if array.shape == (n,) or array.shape == (n, n):
        raise ValueError(
            f"{name}: shape {array.shape} fits the features but not the {count} examples; for one covariance "
            f"for all examples pass svmgsu.Shared({name})"
        )
    if array.ndim <= 1:
        if array.ndim == 1 and len(array) != count:
            raise ValueError(f"{name}: {len(array)} variances for {count} examples")
        return Isotropic(array, name=name)
    if array.shape[:2] != (count, n) or (array.ndim == 3 and array.shape[2] != n):
        raise ValueError(
            f"{name}: shape {array.shape} does not fit {count} examples of {n} features; expected a number, "
            f"({count},), ({count}, {n}) or ({count}, {n}, {n}), or one of svmgsu.Isotropic, Diagonal, Full, "
            "LowRank, Shared"
        )
    return Diagonal(array, name=name) if array.ndim == 2 else Full(array)


def _from_std(std: Any, shape: tuple[int, int]) -> Covariance:
    array = as_float_array(std, "std", (0, 1, 2))
    check_deviations(array, "std")
    return _by_shape(array * array, "std", shape)


def _check_fits(cov: Covariance, shape: tuple[int, int]) -> None:
    for name, have, want in zip(
        ("examples", "features"), (cov.n_examples, cov.n_features), shape, strict=True
    ):
        if have is not None and have != want:
            raise ValueError(f"cov: {type(cov).__name__} has {have} {name}, but X has {want}")


def as_deployment(cov: Any, shape: tuple[int, int], seed: int) -> Covariance:
    """Noise of deployment as a covariance of every example: one for all, or one each from a pool."""
    count, n = shape
    if isinstance(cov, Covariance):
        pool = cov
    else:
        array = as_float_array(cov, "deployment_cov", (0, 1, 2, 3))
        if array.shape[-1:] not in ((), (n,)):
            raise ValueError(f"deployment_cov: shape {array.shape} does not fit {n} features")
        if array.ndim == 0:
            return Isotropic(array)
        if array.shape in ((n,), (n, n)):
            return Shared(array)
        pool = Full(array) if array.ndim == 3 else Diagonal(array)
    if pool.n_features not in (None, n):
        raise ValueError(f"deployment_cov: {pool.n_features} features, but X has {n}")
    if pool.n_examples is None:
        return pool
    return pool.take(np.random.default_rng(seed).integers(pool.n_examples, size=count))
