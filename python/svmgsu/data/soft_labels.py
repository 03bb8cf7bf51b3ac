"""Soft labels: y may hold the probability of each class instead of one label.

A sample then counts for every class with that weight, which is exact: the objective is linear in the
weights. Its copies share one row of the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..support.errors import InvalidValue
from ..support.labels import as_labels, check_labels, class_codes, plain_labels
from ..support.validation import Array, ArrayLike, FloatArray, as_float_array, check_finite, listed

TOLERANCE = 1e-4  # of the sum of a sample's probabilities; they are divided by it


@dataclass(frozen=True)
class Copies:
    """Which samples the entries of a problem are of: each is there once, or for several classes."""

    samples: int
    source: Array | None = None  # of each copy: its sample, in order; None where each is there once
    shares: FloatArray | None = None  # of each copy: the probability of its class

    def places(self, rows: Array) -> Array:
        """Return the samples of some copies."""
        return rows if self.source is None else self.source[rows]

    def weights(self, given: FloatArray) -> FloatArray:
        """Return the weights of copies from those of samples."""
        if self.source is None or self.shares is None:
            return given
        return np.asarray(given[self.source] * self.shares)

    def table(self, codes: Array) -> FloatArray:
        """Return the class probabilities of each sample, (l, K), from the places of its copies' classes."""
        out = np.zeros((self.samples, int(codes.max()) + 1))
        places = np.arange(self.samples) if self.source is None else self.source
        out[places, codes] = 1.0 if self.shares is None else self.shares
        return out


def has_soft_labels(y: ArrayLike) -> bool:
    """Return whether y is a table of numbers, with a column for each class; a dict is one."""
    if isinstance(y, Mapping):
        return True
    shape = getattr(y, "shape", None)
    if shape is None:
        shape = plain_labels(y).shape if isinstance(y, (list, tuple)) and len(y) else ()
    return len(shape) == 2 and shape[1] > 1


def read_labels(y: ArrayLike, samples: int, classes: ArrayLike = None) -> tuple[Array, Array, Copies]:
    """Return (the classes, the place of each copy's class, the copies).

    y has labels, of shape (l,), or class probabilities, of shape (l, K); `classes` names their columns.
    """
    if not has_soft_labels(y):
        if classes is not None:
            raise ValueError("classes: they name the columns of class probabilities, but y has labels")
        return *check_labels(y, samples), Copies(samples)
    y, classes = _as_table(y, classes)
    names = _names(y, classes)
    probabilities = _probabilities(y, samples, names)
    order = np.argsort(names, kind="stable")
    names = names[order]
    probabilities = probabilities[:, order]
    empty = np.flatnonzero(~probabilities.any(axis=0))
    if len(empty):
        raise ValueError(
            f"y: the probability of class {names[empty[0]].item()!r} is 0 in every row; training needs "
            "samples of every class"
        )
    source, codes = np.nonzero(probabilities)
    if len(source) == samples:  # all probabilities are 0 or 1: the same as labels
        return names, codes, Copies(samples)
    return names, codes, Copies(samples, source, probabilities[source, codes])


def known_labels(
    y: ArrayLike, samples: int, classes: Array, columns: ArrayLike = None
) -> tuple[Array, Copies]:
    """Read the labels of a piece of the data whose `classes` are known and need not all be there.

    The columns of class probabilities have the names of a data frame, or those that `columns` gives them, or
    those of `classes`.
    """
    if not has_soft_labels(y):
        return class_codes(as_labels(y, samples), classes, "y"), Copies(samples)
    y, columns = _as_table(y, columns)
    default = classes if columns is None else columns
    names = _names(y, None if hasattr(y, "columns") else default)
    probabilities = _probabilities(y, samples, names)
    strange = [name for name in names.tolist() if name not in set(classes.tolist())]
    if strange:
        raise ValueError(f"y: the column {strange[0]!r} is none of the classes {listed(classes)}")
    order = np.argsort(names, kind="stable")
    source, place = np.nonzero(probabilities[:, order])
    codes = np.searchsorted(classes, names[order])[place]
    if len(source) == samples:
        return codes, Copies(samples)
    return codes, Copies(samples, source, probabilities[:, order][source, place])


def _as_table(y: ArrayLike, classes: ArrayLike) -> tuple[Any, Any]:
    """Return a dict of class probabilities as an array and the names of its columns; all else as it is."""
    if not isinstance(y, Mapping):
        return y, classes
    columns = [as_float_array(column, "y", (1,)) for column in y.values()]
    if len({len(column) for column in columns}) != 1:
        raise ValueError("y: the columns of class probabilities differ in length")
    return np.stack(columns, axis=1), list(y)


def _names(y: ArrayLike, classes: ArrayLike) -> Array:
    columns = int(np.asarray(y).shape[1])
    if classes is None:
        classes = list(getattr(y, "columns", range(columns)))
    names = as_labels(classes, len(np.atleast_1d(np.asarray(classes))))
    if len(names) != columns:
        raise ValueError(f"classes: {len(names)} names ({listed(names)}) for the {columns} columns of y")
    different, count = np.unique(names, return_counts=True)
    if len(different) < columns:
        raise ValueError(f"classes: {different[count.argmax()].item()!r} is there twice")
    return names


def _probabilities(y: ArrayLike, samples: int, names: Array) -> FloatArray:
    """Return class probabilities that sum to 1 in each row; the error names the first row that does not."""
    probabilities = as_float_array(y, "y", (2,)).astype(np.float64)
    if len(probabilities) != samples:
        raise ValueError(f"y: {len(probabilities)} rows of class probabilities for {samples} samples")
    check_finite(np.ascontiguousarray(probabilities), "y")
    if (probabilities < 0).any():
        i, k = np.argwhere(probabilities < 0)[0]
        problem = f"has the probability {probabilities[i, k]:g} of class {names[k].item()!r}"
        raise InvalidValue("y", problem, (int(i),), "probabilities must be >= 0")
    total = probabilities.sum(axis=1)
    wrong = np.abs(total - 1) > TOLERANCE
    if wrong.any():
        i = int(wrong.argmax())
        raise InvalidValue(
            "y", f"has class probabilities that sum to {total[i]:g}", (i,), "rows must sum to 1"
        )
    return np.asarray(probabilities / total[:, np.newaxis])
