"""`Shared`: one covariance for all samples, one per class, or one per group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from ... import _core
from ...propagate.linear import LinearMap
from ...support.arrays import roots
from ...support.validation import VARIANCES, Array, ArrayLike, FloatArray, as_float_array
from .base import Covariance, Psd, Terms
from .diagonal import Diagonal
from .full import Full


class Shared(Covariance):
    """One covariance for all samples, one for each class, or one for each group of samples.

    Parameters
    ----------
    matrix : array of shape (n, n) or (n,), or a dict from label to such arrays
        A covariance matrix, or variances where it is diagonal. It belongs to no sample, so slicing
        the samples never slices it, also when there are as many samples as features. The labels of
        a dict are classes, told apart by y, or groups.
    groups : array of shape (l,), optional
        With a dict: the label of each sample's group, such as the instrument that measured it. Slicing
        the samples slices the groups.
    psd : {"clip", "strict"}
        As for `Full`.
    name : str, default="cov"
        What an error calls the array.

    Examples
    --------
    >>> import svmgsu
    >>> svmgsu.Shared([1.0, 4.0]).to_full(n_samples=1)
    array([[[1., 0.],
            [0., 4.]]])
    >>> svmgsu.Shared({"old": [[9.0]], "new": [[1.0]]}, groups=["new", "new", "old"]).to_full().ravel()
    array([1., 1., 9.])
    """

    n_features: int
    keys = ("shared",)
    is_diagonal = False

    def __init__(
        self, matrix: ArrayLike, *, groups: ArrayLike = None, psd: Psd = "clip", name: str = "cov"
    ) -> None:
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
            self.packed = as_float_array(stacked, name, (2,), VARIANCES)
        else:
            self.packed = Full(stacked, psd=psd, name=name).packed
        self.n_samples = None
        self.n_features = arrays[0].shape[0]
        self.group: Array | None = None
        if groups is not None:
            if self.classes is None:
                raise ValueError("groups: they need a dict from the label of a group to its covariance")
            self.group = self._numbers(np.asarray(groups), "group")
            self.n_samples = len(self.group)

    def _numbers(self, labels: Array, what: str) -> Array:
        """Return the number of each sample's class or group, as `what` calls it."""
        group = np.full(len(labels), -1, dtype=np.int32)
        for k, label in enumerate(cast("list[object]", self.classes)):
            group[labels == label] = k
        if (group < 0).any():
            missing = labels[int(np.argmax(group < 0))]
            missing = missing.item() if isinstance(missing, np.generic) else missing
            hint = (
                "; where a tool renames the labels, as cross_val_predict and OneVsRestClassifier do, say "
                "which class each sample has, by Shared(matrices, groups=y)"
            )
            raise ValueError(
                f"cov: Shared has no covariance for {what} {missing!r}; it has {self.classes}"
                + (hint if what == "class" else "")
            )
        return group

    @property
    def needs_classes(self) -> bool:
        return self.classes is not None and self.group is None

    def _group_of(self, y: ArrayLike) -> Array | None:
        """Return the group of each sample, or None if one covariance is for all."""
        if not self.needs_classes:
            return self.group
        if y is None:
            raise ValueError(
                "cov: one covariance per class needs the labels y; where none are at hand, give them to the "
                "covariance: Shared(matrices, groups=y)"
            )
        return self._numbers(np.asarray(y), "class")

    def terms(self, samples: int, features: int, y: Array | None) -> Terms:
        return ((_core.shared(self.packed, self.n_features, self.is_diagonal, self._group_of(y)), 1.0),)

    def take(self, rows: Array) -> Covariance:
        return self if self.group is None else self._with(self.packed, self.group[rows])

    def _with(self, packed: Array, group: Array | None) -> Shared:
        """Return the same classes or groups with other numbers."""
        out = Shared.__new__(Shared)
        out.classes = self.classes
        out.is_diagonal = self.is_diagonal
        out.packed = packed
        out.group = group
        out.n_samples = None if group is None else len(group)
        out.n_features = self.n_features
        return out

    def each(self) -> Covariance:
        """Return the covariances, one per class or group, as if they were samples."""
        return Diagonal(self.packed) if self.is_diagonal else Full.from_packed(self.packed)

    def diagonals(self, n_samples: int, n_features: int, y: ArrayLike = None) -> FloatArray:
        each = self.each().diagonals(len(self.packed), n_features)
        group = self._group_of(y)
        return np.repeat(each, n_samples, axis=0) if group is None else each[group]

    def noise(self, rng: np.random.Generator, shape: tuple[int, int, int], y: ArrayLike = None) -> FloatArray:
        out = rng.standard_normal(shape)
        group = self._group_of(y)
        for k, matrix in enumerate(self.each().to_full()):
            chosen = slice(None) if group is None else group == k
            out[chosen] = out[chosen] @ roots(matrix[np.newaxis])[0]
        return out

    def _mapped(self, linear_map: LinearMap) -> Covariance:
        if linear_map.samples is not None:
            if self.needs_classes:
                raise ValueError(
                    "cov: one covariance per class, and a map that differs from sample to sample: say "
                    "which class each sample has, by Shared(matrices, groups=y)"
                )
            if not self.is_diagonal:
                return super()._mapped(linear_map)
            group = np.zeros(linear_map.samples, np.int32) if self.group is None else self.group
            return self.each().take(group)._mapped(linear_map)
        image = self.each()._mapped(linear_map)
        count = len(self.packed)
        n = linear_map.outputs
        flat = image.independent(count, n)
        out = self._with(image.as_full(count, n).packed if flat is None else flat, self.group)
        out.is_diagonal = flat is not None
        out.n_features = n
        return out

    def _is_same(self, other: Shared) -> bool:
        grouped = self.group is not None or other.group is not None
        return not grouped and self.classes == other.classes and np.array_equal(self.packed, other.packed)

    @classmethod
    def joined(cls, covs: Sequence[Shared | None], counts: Sequence[int], n: int) -> Covariance:
        first = covs[0]
        if first is not None and all(cov is not None and first._is_same(cov) for cov in covs):
            return first
        if any(cov is not None and cov.needs_classes for cov in covs):
            raise ValueError(
                "parts: one covariance per class, which not all parts share: say which class each sample "
                "has, by Shared(matrices, groups=y)"
            )
        flat = all(cov is None or cov.is_diagonal for cov in covs)
        matrices: list[Array] = []
        groups: list[Array] = []
        for cov, count in zip(covs, counts, strict=True):
            each: Array = np.zeros((1, n) if flat else (1, n, n))
            group: Array = np.zeros(count, np.int32)
            if cov is not None:
                each = cov.each().diagonals(len(cov.packed), n) if flat else cov.each().to_full()
                group = group if cov.group is None else cov.group
            groups.append(len(matrices) + group)
            matrices += list(each)
        return Shared(dict(enumerate(matrices)), groups=np.concatenate(groups))

    def arrays(self, n_samples: int, n_features: int, y: ArrayLike) -> dict[str, Array]:
        if self.classes is not None:
            return super().arrays(n_samples, n_features, y)
        return {"shared": self.to_full(1)[0]}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], psd: Psd) -> Covariance:
        return Shared(arrays["shared"], psd=psd)
