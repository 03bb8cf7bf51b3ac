"""Labels, targets and weights, checked.

Soft labels are class probabilities: a sample then counts for every class with that weight, which is exact,
since the objective is linear in the weights. Its copies share one row of the data.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .. import _core
from .errors import InvalidValue
from .validation import FINITE, Array, ArrayLike, FloatArray, as_float_array, check_finite, listed

_LARGEST_COUNT = 1e6  # of sample weights that are multiples of one number
SOFT_TOLERANCE = 1e-4  # of the sum of a sample's probabilities; they are divided by it
_LARGEST_DIVISOR = 12  # of the smallest weight, by which it is a multiple of that number


def check_labels(y: ArrayLike, samples: int) -> tuple[Array, Array]:
    """Return (the classes, sorted; for each sample the place of its class among them)."""
    labels = as_labels(y, samples)
    if labels.dtype.kind != "U" and samples:  # two numbers, the usual case, need no sorting
        least, most = labels.min(), labels.max()
        upper = labels == most
        if least != most and np.count_nonzero(labels == least) + np.count_nonzero(upper) == samples:
            return np.array([least, most], dtype=labels.dtype), upper.astype(np.intp)
    classes, codes = np.unique(labels, return_inverse=True)
    check_class_count(classes)
    return classes, codes


def check_class_count(classes: Array) -> None:
    """Refuse a single class, and many numbers with fractions, which are targets of a regression."""
    if len(classes) == 1:
        raise ValueError(f"y: only one class, {classes[0].item()!r}; training needs samples of two")
    if len(classes) > 2 and classes.dtype.kind == "f" and (classes != np.floor(classes)).any():
        raise ValueError(
            f"y: looks continuous, with {len(classes)} different numbers ({listed(classes)}); expected class "
            'labels. For a regression pass loss="squared"'
        )


def as_labels(y: ArrayLike, samples: int) -> Array:
    """Return y as an array of one number or string per sample."""
    labels = plain_labels(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"y: expected one label per sample, got an array of shape {labels.shape}")
    if len(labels) != samples:
        raise ValueError(f"y: {len(labels)} labels for {samples} samples")
    if labels.dtype.kind not in "biufU":
        raise ValueError(f"y: expected labels that are numbers or strings, got dtype {labels.dtype}")
    if labels.dtype.kind == "f":
        check_finite(labels.astype(np.float64), "y")
    return labels


def plain_labels(y: ArrayLike) -> Array:
    """Return y as an array of numbers or of strings.

    A mixture is refused. NumPy would make strings of it: of a label that is missing, the class 'nan'.
    """
    if y is None:
        raise ValueError("y: training requires y to be passed, but the target y is None")
    given: Array = np.asarray(y, dtype=object if isinstance(y, (list, tuple)) else None)
    if given.dtype.kind == "S":  # text in FITS files
        return np.char.strip(np.char.decode(given, "utf-8", "replace"))
    if given.dtype != object:
        return given
    try:
        labels = np.asarray(given.tolist())
    except ValueError as error:
        raise ValueError(f"y: could not be read as an array of labels ({error})") from None
    if labels.dtype.kind in "OU":
        wanted = str if any(isinstance(v, str) for v in given.flat) else numbers.Real
        for i, value in enumerate(given.flat):
            if not isinstance(value, wanted):
                what = "numbers" if wanted is numbers.Real else "strings"
                raise InvalidValue("y", f"has the label {value!r} where others are {what}", (i,))
    return labels


def check_classes(classes: ArrayLike, name: str) -> Array:
    """Return all classes that there will be, sorted."""
    found = np.unique(as_labels(classes, len(np.atleast_1d(np.asarray(classes)))))
    if len(found) < 2:
        raise ValueError(f"{name}: at least two classes are needed, got {listed(found)}")
    return found


def class_factors(class_weight: object, classes: Array, codes: Array, weights: FloatArray) -> FloatArray:
    """Return the factor of each class's weights: from a dict (1 for those not named), or "balanced".

    Balanced classes weigh the same in sum, counted with the weights that the samples have already. A dict
    may name classes that are not there, as in a fold without the rarest, if it names all that are: else
    it is taken for a slip.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        total = np.bincount(codes, weights, len(classes))
        return np.asarray(weights.sum() / (len(classes) * np.where(total > 0, total, 1.0)))
    if not isinstance(class_weight, Mapping):
        raise ValueError(f'class_weight: expected a dict, "balanced" or None, got {class_weight!r}')
    factors = np.ones(len(classes))
    for label, value in class_weight.items():
        place = np.flatnonzero(classes == label)
        if not len(place) and any(known not in class_weight for known in classes.tolist()):
            raise ValueError(f"class_weight: there is no class {label!r} in y; it has {listed(classes)}")
        number = float(value) if isinstance(value, (int, float, np.integer, np.floating)) else np.nan
        if not (number >= 0 and np.isfinite(number)):
            raise ValueError(f"class_weight: class {label!r} has {value!r}; weights must be >= 0 and finite")
        factors[place] = number
    largest = float(factors.max(initial=0.0))
    return np.ldexp(factors, -math.frexp(largest)[1])  # relative, like sample weights: see `check_weights`


def check_prior(prior: ArrayLike, classes: Array, samples: int | None = None) -> FloatArray:
    """Return class priors that sum to 1: (K,), or (l, K) for l `samples`.

    Given as an array in the order of the classes, or as a dict that names them all.
    """
    if isinstance(prior, Mapping):
        labels = classes.tolist()
        if set(prior) != set(labels):
            raise ValueError(f"prior: expected the prior of each of {listed(classes)}, got {prior!r}")
        prior = [prior[label] for label in labels]
    shares = as_float_array(prior, "prior", (1, 2) if samples is not None else (1,)).astype(np.float64)
    wanted = f"({len(classes)},)" + ("" if samples is None else f" or ({samples}, {len(classes)})")
    if shares.shape not in ((len(classes),), (samples, len(classes))):
        raise ValueError(f"prior: expected shape {wanted}, got {shares.shape}")
    if not (np.isfinite(shares).all() and (shares > 0).all()):
        raise ValueError("prior: class priors must be positive and finite")
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def check_targets(y: ArrayLike, samples: int) -> FloatArray:
    """Return targets as float64: one finite number for each sample, not all the same."""
    try:
        targets = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"y: expected numbers to predict, got {np.asarray(y).dtype} values") from None
    if targets.ndim != 1:
        raise ValueError(f"y: expected shape ({samples},), got {targets.shape}")
    if len(targets) != samples:
        raise ValueError(f"y: {len(targets)} targets for {samples} samples")
    check_finite(np.ascontiguousarray(targets), "y")
    if samples > 1 and (targets == targets[0]).all():
        raise ValueError(f"y: all targets are {targets[0]:g}; a regression needs targets that differ")
    return np.ascontiguousarray(targets)


def check_weights(sample_weight: ArrayLike, samples: int) -> FloatArray:
    """Return sample weights as float64, in units that do not depend on a common factor; ones by default.

    Weights are relative: only their ratios matter. Multiples of one number are taken as counts, so that a
    weight of 2 is the same as having a sample twice wherever the number of samples matters (the smoothing of
    probabilities). Other weights are scaled so that the positive ones have mean 1.

    Counts have the same bits for any factor. Other weights have so for powers of two; for another factor,
    which rounds each product, they agree to rounding errors.
    """
    if sample_weight is None:
        return np.ones(samples)
    weights = check_raw_weights(sample_weight, samples)
    # Scaling the largest weight to between 1/2 and 1 is exact, and afterwards no sum can overflow.
    weights = np.ldexp(weights, -math.frexp(float(weights.max()))[1])
    positive = weights[weights > 0]
    counts = weights / positive.min()
    if counts.max() <= _LARGEST_COUNT:
        for divisor in range(1, _LARGEST_DIVISOR + 1):
            whole = np.rint(divisor * counts)
            if (np.abs(divisor * counts - whole) <= 1e-15 * whole).all():
                return np.asarray(whole)
    return np.asarray(weights / positive.mean())


def check_raw_weights(sample_weight: ArrayLike, samples: int) -> FloatArray:
    """Return sample weights as they were given, in float64: finite, >= 0 and not all zero."""
    weights = as_float_array(sample_weight, "sample_weight", (0, 1)).astype(np.float64)
    weights = np.full(samples, float(weights)) if weights.ndim == 0 else weights
    if len(weights) != samples:
        raise ValueError(f"sample_weight: {len(weights)} weights for {samples} samples")
    found = _core.first_outside(weights, 0.0)
    if found >= 0:
        check_finite(weights, "sample_weight")
        raise InvalidValue("sample_weight", f"has {weights[found]:g}", (found,), "weights must be >= 0")
    if not weights.any():
        raise ValueError("sample_weight: all weights are zero")
    return weights


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
    names, probabilities = _soft_labels(y, samples, classes)
    empty = np.flatnonzero(~probabilities.any(axis=0))
    if len(empty):
        raise ValueError(
            f"y: the probability of class {names[empty[0]].item()!r} is 0 in every row; training needs "
            "samples of every class"
        )
    return names, *_copied(probabilities)


def known_labels(
    y: ArrayLike, samples: int, classes: Array, columns: ArrayLike = None
) -> tuple[Array, Copies]:
    """Read the labels of a piece of the data whose `classes` are known and need not all be there.

    The columns of class probabilities have the names of a data frame, or those that `columns` gives them, or
    those of `classes`.
    """
    if not has_soft_labels(y):
        labels = as_labels(y, samples)
        codes = np.searchsorted(classes, labels)
        codes[codes == len(classes)] = 0
        unknown = classes[codes] != labels
        if unknown.any():
            problem = f"has the label {labels[unknown][0].item()!r}, which is not among the classes "
            raise InvalidValue("y", problem + listed(classes), (int(unknown.argmax()),))
        return codes, Copies(samples)
    default = classes if columns is None else columns
    names, probabilities = _soft_labels(y, samples, None if hasattr(y, "columns") else default)
    strange = [name for name in names.tolist() if name not in set(classes.tolist())]
    if strange:
        raise ValueError(f"y: the column {strange[0]!r} is none of the classes {listed(classes)}")
    places, copies = _copied(probabilities)
    return np.searchsorted(classes, names)[places], copies


def _copied(probabilities: FloatArray) -> tuple[Array, Copies]:
    """Return the place of each copy's class, and the copies: one for each probability that is not 0."""
    source, places = np.nonzero(probabilities)
    if len(source) == len(probabilities):  # all probabilities are 0 or 1: the same as labels
        return places, Copies(len(source))
    return places, Copies(len(probabilities), source, probabilities[source, places])


def _soft_labels(y: ArrayLike, samples: int, classes: ArrayLike) -> tuple[Array, FloatArray]:
    """Return the classes, sorted, and the class probabilities; `classes` names the columns of an array."""
    if isinstance(y, Mapping):
        columns = [as_float_array(column, "y", (1,)) for column in y.values()]
        if len({len(column) for column in columns}) != 1:
            raise ValueError("y: the columns of class probabilities differ in length")
        classes = list(y)
        y = np.stack(columns, axis=1)
    table = as_float_array(y, "y", (2,), FINITE).astype(np.float64)
    if classes is None:
        classes = list(getattr(y, "columns", range(table.shape[1])))
    names = as_labels(classes, len(np.atleast_1d(np.asarray(classes))))
    if len(names) != table.shape[1]:
        raise ValueError(
            f"classes: {len(names)} names ({listed(names)}) for the {table.shape[1]} columns of y"
        )
    different, count = np.unique(names, return_counts=True)
    if len(different) < len(names):
        raise ValueError(f"classes: {different[count.argmax()].item()!r} is there twice")
    if len(table) != samples:
        raise ValueError(f"y: {len(table)} rows of class probabilities for {samples} samples")
    if (table < 0).any():
        i, k = np.argwhere(table < 0)[0]
        problem = f"has the probability {table[i, k]:g} of class {names[k].item()!r}"
        raise InvalidValue("y", problem, (int(i),), "probabilities must be >= 0")
    total = table.sum(axis=1)
    wrong = np.abs(total - 1) > SOFT_TOLERANCE
    if wrong.any():
        i = int(wrong.argmax())
        problem = f"has class probabilities that sum to {total[i]:g}"
        raise InvalidValue("y", problem, (i,), "rows must sum to 1")
    order = np.argsort(names, kind="stable")
    return names[order], (table / total[:, np.newaxis])[:, order]
