"""The kinds of covariance. Each holds its arrays, slices itself, and makes its view for the core.

A linear map of the features turns a kind into the cheapest kind that holds the image exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from .. import _core
from ..maps.linear import LinearMap, blocks, dense
from ..support.validation import (
    Array,
    FloatArray,
    SparseRows,
    as_float_array,
    check_factors,
    check_finite,
    check_variances,
    is_sparse,
)
from .covariance import Covariance, Terms
from .definiteness import Psd, first_indefinite, semidefinite

SYMMETRY_TOLERANCE = 1e-6


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

    def diagonals(self, n_examples: int, n_features: int, y: Any = None) -> FloatArray:
        values = np.broadcast_to(self.variances.astype(np.float64), n_examples)
        return np.repeat(values[:, np.newaxis], n_features, axis=1)

    def noise(self, rng: np.random.Generator, shape: tuple[int, int, int], y: Any = None) -> FloatArray:
        return _spread(rng, shape, self.diagonals(shape[0], 1))

    def _mapped(self, linear_map: LinearMap) -> Covariance:
        v = self.variances
        if linear_map.examples is not None or (v.ndim and linear_map.gram().ndim == 2):
            count = cast(int, self.n_examples if v.ndim else linear_map.examples)
            return Diagonal(self.diagonals(count, linear_map.features).astype(v.dtype))._mapped(linear_map)
        gram = linear_map.gram()
        if gram.ndim == 1 and np.ptp(gram) <= 16 * np.finfo(np.float64).eps * gram.max():
            return Isotropic((v * gram[0]).astype(v.dtype))
        if not v.ndim:
            return Shared(v * gram)
        return Diagonal(np.outer(v, gram).astype(v.dtype))


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

    @property
    def matrix(self) -> Any:
        """The variances as the array or sparse matrix that was given."""
        return self.variances.matrix if isinstance(self.variances, SparseRows) else self.variances

    def diagonals(self, n_examples: int, n_features: int, y: Any = None) -> FloatArray:
        return dense(self.matrix).astype(np.float64)

    def noise(self, rng: np.random.Generator, shape: tuple[int, int, int], y: Any = None) -> FloatArray:
        return _spread(rng, shape, dense(self.matrix))

    def _mapped(self, linear_map: LinearMap) -> Covariance:
        variances = self.matrix
        kept = linear_map.variances(variances)
        if kept is not None:
            return Diagonal(kept)
        if 2 * linear_map.features < linear_map.outputs + 1:  # factors are smaller than triangles
            return LowRank(linear_map.factors_of_variances(dense(variances), 0))
        return Full.from_packed(linear_map.packed_of_variances(variances))


class Full(Covariance):
    """A full covariance matrix for each example, kept packed: n(n+1)/2 numbers each.

    For matrices of low rank `LowRank` is faster and more exact: variances near 0 drown in the rounding of
    a full matrix, and the certificate of a fit with them.

    Parameters
    ----------
    matrices : array of shape (l, n, n)
        Symmetric, positive semidefinite. One packed copy is made; the array itself is not kept.
    check : bool, default=True
        Whether to prove that each matrix is positive semidefinite, which takes a Cholesky
        factorisation an example. Correlations are looked at, so units do not matter.
    psd : {"clip", "strict"}
        What to do where rounded numbers are not quite positive semidefinite. "clip" takes the nearest matrix
        that is, with a warning, if no eigenvalue of the correlation matrix is below -1e-4; "strict" refuses.
    name : str, default="cov"
        What an error calls the array.

    Examples
    --------
    >>> import svmgsu
    >>> svmgsu.Full([[[2.0, 1.0], [1.0, 2.0]]]).to_full()
    array([[[2., 1.],
            [1., 2.]]])
    """

    def __init__(self, matrices: Any, check: bool = True, *, psd: Psd = "clip", name: str = "cov") -> None:
        full = as_float_array(matrices, name, (3,))
        count, n, m = full.shape
        if n != m:
            raise ValueError(f"{name}: expected square matrices, got an array of shape {full.shape}")
        check_finite(full, name)
        packed = np.empty((count, n * (n + 1) // 2), dtype=full.dtype)
        asymmetric = _core.pack(full, SYMMETRY_TOLERANCE, packed)
        if asymmetric >= 0:
            worst = np.abs(full[asymmetric] - full[asymmetric].T)
            i, j = sorted(int(k) for k in np.unravel_index(worst.argmax(), worst.shape))
            raise ValueError(
                f"{name}: example {asymmetric} is not symmetric: entry ({i}, {j}) is "
                f"{full[asymmetric, i, j]:g} but ({j}, {i}) is {full[asymmetric, j, i]:g}"
            )
        self._set(packed, n)
        if check:
            self._make_definite(psd, name, own=True)

    @classmethod
    def from_packed(cls, packed: Any, check: bool = False, *, psd: Psd = "clip") -> Full:
        """From `packed`, (l, n(n+1)/2): upper triangles, row after row; used without a copy.

        With `check` they must be finite and positive semidefinite; `psd` is as for the class.
        """
        array = as_float_array(packed, "packed", (2,))
        n = int(np.sqrt(2 * array.shape[1]))
        if n * (n + 1) // 2 != array.shape[1]:
            raise ValueError(f"packed: rows must have n(n+1)/2 numbers, got {array.shape[1]}")
        out = cls.__new__(cls)
        out._set(array, n)
        if check:
            check_finite(array, "packed")
            out._make_definite(psd, "packed", own=False)
        return out

    def _set(self, packed: Array, n: int) -> None:
        self.packed = packed
        self.n_examples, self.n_features = len(packed), n

    def indefinite(self) -> tuple[int, float]:
        """The first example that is not positive semidefinite, or -1, and its least eigenvalue."""
        return first_indefinite(self.packed, cast(int, self.n_features))

    def _make_definite(self, psd: Psd, name: str, *, own: bool) -> None:
        n = cast(int, self.n_features)
        self.packed = semidefinite(
            self.packed, n, psd, name, lambda example: f"{name}: example {example}", own=own
        )

    def terms(self, examples: int, features: int, y: Array | None) -> Terms:
        return ((_core.full(self.packed, cast(int, self.n_features)), 1.0),)

    def take(self, rows: Array) -> Covariance:
        return Full.from_packed(self.packed[rows])

    def matrices_of(self, part: slice) -> Array:
        """Some of the matrices, the slice `part` of them, unpacked."""
        n = cast(int, self.n_features)
        row, column = np.triu_indices(n)
        place = np.empty((n, n), dtype=np.int64)
        place[row, column] = place[column, row] = np.arange(len(row))
        return self.packed[part][:, place]

    def diagonals(self, n_examples: int, n_features: int, y: Any = None) -> FloatArray:
        row, column = np.triu_indices(n_features)
        # A variance may lie below zero by as much as `indefinite` lets pass.
        return np.maximum(self.packed[:, row == column].astype(np.float64), 0.0)

    def noise(self, rng: np.random.Generator, shape: tuple[int, int, int], y: Any = None) -> FloatArray:
        out = rng.standard_normal(shape)
        for part in blocks(shape[0], shape[2] ** 2):
            out[part] = out[part] @ roots(self.matrices_of(part))
        return out

    def _mapped(self, linear_map: LinearMap) -> Covariance:
        n, m = linear_map.features, linear_map.outputs
        row, column = np.triu_indices(m)
        packed = np.empty((len(self.packed), len(row)), dtype=self.packed.dtype)
        for part in blocks(len(packed), max(n, m) ** 2):
            packed[part] = linear_map.sandwich(self.matrices_of(part), part.start)[:, row, column]
        return Full.from_packed(packed)


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
        diagonal = None if self.diagonal is None else cast(Diagonal, self.diagonal.take(rows)).matrix
        return LowRank(gathered, diagonal, start=start)

    @property
    def _owner(self) -> Array:
        """The example of each row of the factors."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def diagonals(self, n_examples: int, n_features: int, y: Any = None) -> FloatArray:
        out = np.zeros((n_examples, n_features))
        if self.diagonal is not None:
            out += self.diagonal.diagonals(n_examples, n_features)
        ranks = np.diff(self.start)
        for part in blocks(n_examples, n_features * int(ranks.max(initial=1))):
            filled = part.start + np.flatnonzero(ranks[part])
            if len(filled):  # reduceat gives nonsense for an example without factors
                first, last = self.start[part.start], self.start[part.stop]
                squares = np.square(self.factors[first:last], dtype=np.float64)
                out[filled] += np.add.reduceat(squares, self.start[filled] - first)
        return out

    def noise(self, rng: np.random.Generator, shape: tuple[int, int, int], y: Any = None) -> FloatArray:
        out = np.zeros(shape) if self.diagonal is None else self.diagonal.noise(rng, shape)
        for i, (a, b) in enumerate(itertools.pairwise(self.start)):
            out[i] += rng.standard_normal((shape[1], b - a)) @ self.factors[a:b]
        return out

    def _mapped(self, linear_map: LinearMap) -> Covariance:
        factors = linear_map.rows(self.factors, self._owner)
        if self.diagonal is None:
            return LowRank(factors, start=self.start)
        diagonal = self.diagonal._mapped(linear_map)
        if isinstance(diagonal, Diagonal):
            return LowRank(factors, diagonal.matrix, start=self.start)
        return LowRank(factors, start=self.start) + diagonal


class Shared(Covariance):
    """One covariance for all examples, one for each class, or one for each group of examples.

    Parameters
    ----------
    matrix : array of shape (n, n) or (n,), or a dict from label to such arrays
        A covariance matrix, or variances where it is diagonal. It belongs to no example, so slicing
        the examples never slices it, also when there are as many examples as features. The labels of
        a dict are classes, told apart by y, or groups.
    groups : array of shape (l,), optional
        With a dict: the label of each example's group, such as the instrument that measured it. Slicing
        the examples slices the groups.
    psd : {"clip", "strict"}
        As for `Full`.
    name : str, default="cov"
        What an error calls the array.

    Examples
    --------
    >>> import svmgsu
    >>> svmgsu.Shared([1.0, 4.0]).to_full(n_examples=1)
    array([[[1., 0.],
            [0., 4.]]])
    >>> svmgsu.Shared({"old": [[9.0]], "new": [[1.0]]}, groups=["new", "new", "old"]).to_full().ravel()
    array([1., 1., 9.])
    """

    def __init__(self, matrix: Any, *, groups: Any = None, psd: Psd = "clip", name: str = "cov") -> None:
        self.classes = list(matrix) if isinstance(matrix, Mapping) else None
        each = list(matrix.values()) if isinstance(matrix, Mapping) else [matrix]
        if not each:
            raise ValueError(f"{name}: Shared got no class")
        arrays = [as_float_array(a, name, (1, 2)).astype(np.float64) for a in each]
        if len({a.shape for a in arrays}) > 1:
            shapes = ", ".join(str(a.shape) for a in arrays)
            raise ValueError(f"{name}: the classes' covariances must have the same shape, got {shapes}")
        self.is_diagonal = arrays[0].ndim == 1
        stacked = np.stack(arrays)
        if self.is_diagonal:
            check_variances(stacked, name)
            self.packed = stacked
        else:
            self.packed = Full(stacked, psd=psd, name=name).packed
        self.n_examples, self.n_features = None, arrays[0].shape[0]
        self.group: Array | None = None
        if groups is not None:
            if self.classes is None:
                raise ValueError("groups: they need a dict from the label of a group to its covariance")
            self.group = self._numbers(np.asarray(groups), "group")
            self.n_examples = len(self.group)

    def _numbers(self, labels: Array, what: str) -> Array:
        """The number of each example's class or group, as `what` calls it."""
        group = np.full(len(labels), -1, dtype=np.int32)
        for k, label in enumerate(cast("list[Any]", self.classes)):
            group[labels == label] = k
        if (group < 0).any():
            missing = labels[int(np.argmax(group < 0))]
            missing = missing.item() if isinstance(missing, np.generic) else missing
            hint = (
                "; where a tool renames the labels, as cross_val_predict and OneVsRestClassifier do, say "
                "which class each example has, by Shared(matrices, groups=y)"
            )
            raise ValueError(
                f"cov: Shared has no covariance for {what} {missing!r}; it has {self.classes}"
                + (hint if what == "class" else "")
            )
        return group

    def _group_of(self, y: Any) -> Array | None:
        """The group of each example, or None where one covariance is for all."""
        if self.classes is None or self.group is not None:
            return self.group
        if y is None:
            raise ValueError(
                "cov: one covariance a class needs the labels y; where none are at hand, give them to the "
                "covariance: Shared(matrices, groups=y)"
            )
        return self._numbers(np.asarray(y), "class")

    def terms(self, examples: int, features: int, y: Array | None) -> Terms:
        n = cast(int, self.n_features)
        return ((_core.shared(self.packed, n, self.is_diagonal, self._group_of(y)), 1.0),)

    def take(self, rows: Array) -> Covariance:
        return self if self.group is None else self._with(self.packed, self.group[rows])

    def _with(self, packed: Array, group: Array | None) -> Shared:
        """The same classes or groups with other numbers."""
        out = Shared.__new__(Shared)
        out.classes, out.is_diagonal, out.packed, out.group = self.classes, self.is_diagonal, packed, group
        out.n_examples, out.n_features = None if group is None else len(group), self.n_features
        return out

    def each(self) -> Covariance:
        """The covariances, one a class or group, as if they were examples."""
        return Diagonal(self.packed) if self.is_diagonal else Full.from_packed(self.packed)

    def diagonals(self, n_examples: int, n_features: int, y: Any = None) -> FloatArray:
        each = self.each().diagonals(len(self.packed), n_features)
        group = self._group_of(y)
        return np.repeat(each, n_examples, axis=0) if group is None else each[group]

    def noise(self, rng: np.random.Generator, shape: tuple[int, int, int], y: Any = None) -> FloatArray:
        out = rng.standard_normal(shape)
        group = self._group_of(y)
        for k, matrix in enumerate(self.each().to_full()):
            chosen = slice(None) if group is None else group == k
            out[chosen] = out[chosen] @ roots(matrix[np.newaxis])[0]
        return out

    def _mapped(self, linear_map: LinearMap) -> Covariance:
        if linear_map.examples is not None:
            if self.classes is not None and self.group is None:
                raise ValueError(
                    "cov: one covariance a class, and a map that differs from example to example: say which "
                    "class each example has, by Shared(matrices, groups=y)"
                )
            group = np.zeros(linear_map.examples, np.int32) if self.group is None else self.group
            return self.each().take(group)._mapped(linear_map)
        image = self.each()._mapped(linear_map)
        if not isinstance(image, Diagonal):
            image = Full(image.to_full(), check=False)
        out = self._with(image.packed if isinstance(image, Full) else image.matrix, self.group)
        out.is_diagonal, out.n_features = isinstance(image, Diagonal), image.n_features
        return out


def roots(matrices: Array) -> FloatArray:
    """R with RᵀR = S for each positive semidefinite matrix S of (b, n, n)."""
    matrices = matrices.astype(np.float64)
    try:
        return np.asarray(np.linalg.cholesky(matrices).transpose(0, 2, 1))
    except np.linalg.LinAlgError:  # some are singular
        values, vectors = np.linalg.eigh(matrices)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, :, np.newaxis] * vectors.transpose(0, 2, 1))


def _spread(rng: np.random.Generator, shape: tuple[int, int, int], variances: Array) -> FloatArray:
    """Draws of independent values; `variances` is (l, n) or (l, 1)."""
    out = rng.standard_normal(shape)
    out *= np.sqrt(variances)[:, np.newaxis, :]
    return out
