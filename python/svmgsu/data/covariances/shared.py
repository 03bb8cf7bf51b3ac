"""`Shared`: one covariance for all examples, one per class, or one per group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from ... import _core
from ...propagate.linear import LinearMap
from ...support.arrays import roots
from ...support.validation import Array, FloatArray, as_float_array, check_variances
from .base import Covariance, Term, Terms, in_turn
from .diagonal import Diagonal
from .full import Full, Psd


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

    keys = ("shared",)
    is_diagonal = False

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

    @property
    def needs_classes(self) -> bool:
        return self.classes is not None and self.group is None

    def _group_of(self, y: Any) -> Array | None:
        """The group of each example, or None where one covariance is for all."""
        if not self.needs_classes:
            return self.group
        if y is None:
            raise ValueError(
                "cov: one covariance per class needs the labels y; where none are at hand, give them to the "
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
        """The covariances, one per class or group, as if they were examples."""
        return Diagonal(self.packed) if self.is_diagonal else Full.from_packed(self.packed)

    def numbers(self, n_examples: int, n_features: int) -> int:
        return self.packed.size

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
            if self.needs_classes:
                raise ValueError(
                    "cov: one covariance per class, and a map that differs from example to example: say "
                    "which class each example has, by Shared(matrices, groups=y)"
                )
            if not self.is_diagonal:
                return super()._mapped(linear_map)
            group = np.zeros(linear_map.examples, np.int32) if self.group is None else self.group
            return self.each().take(group)._mapped(linear_map)
        image = self.each()._mapped(linear_map)
        count, n = len(self.packed), linear_map.outputs
        flat = image.independent(count, n)
        out = self._with(image.as_full(count, n).packed if flat is None else flat, self.group)
        out.is_diagonal, out.n_features = flat is not None, n
        return out

    def same_for_all(self, other: Shared) -> bool:
        return self.classes == other.classes and np.array_equal(self.packed, other.packed)

    def joins_as(self, n_examples: int, n_features: int, share: Mapping[type, float]) -> Covariance:
        return self

    @classmethod
    def joined(cls, terms: list[list[Any]], counts: list[int], n: int) -> list[Term]:
        out: list[Term] = []
        for row in in_turn(terms):
            flat = all(t is None or t[1].is_diagonal for t in row)
            matrices: list[Array] = []
            group: list[Array] = []
            for i, (count, term) in enumerate(zip(counts, row, strict=True)):
                if term is None:
                    each, numbers = np.zeros((1, n) if flat else (1, n, n)), np.zeros(count, np.int32)
                else:
                    each, numbers = term[1]._groups(i, count, flat)
                    each = term[0] * each
                group.append(len(matrices) + numbers)
                matrices += list(each)
            out.append((1.0, Shared(dict(enumerate(matrices)), groups=np.concatenate(group))))
        return out

    def _groups(self, part: int, count: int, flat: bool) -> tuple[Array, Array]:
        """The covariances, as variances if `flat`, and the number of each example's."""
        if self.needs_classes:
            raise ValueError(
                f"parts: part {part} has one covariance per class, which the others do not share: say which "
                "class each example has, by Shared(matrices, groups=y)"
            )
        each, n = self.each(), cast(int, self.n_features)
        numbers = np.zeros(count, np.int32) if self.group is None else self.group
        return each.diagonals(len(self.packed), n) if flat else each.to_full(), numbers

    def arrays(self, n_examples: int, n_features: int, y: Any) -> dict[str, Array]:
        if self.classes is not None:
            return super().arrays(n_examples, n_features, y)
        return {"shared": self.to_full(1)[0]}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], psd: Psd) -> Covariance:
        return Shared(arrays["shared"], psd=psd)
