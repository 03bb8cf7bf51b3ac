"""What makes a model look too good: features that tell the target by themselves, and ids that repeat."""

from __future__ import annotations

import numpy as np

from ..support.validation import Array, FloatArray

TELLS = 0.995  # rank correlation, or area under the ROC curve
FEWEST = 30  # samples: with fewer it may be chance
MOST = 20_000  # samples that are looked at
OFTEN = 0.1  # of the samples: values that occur so often are looked at one by one, such as flags
PURE, USUAL = 0.95, 2 / 3  # share of a class among the samples with such a value, and among all


def telling_features(values: FloatArray, y: Array, names: list[str], is_classes: bool) -> list[str]:
    """Return the names of the features that tell the target `y`, classes or numbers; NaN is missing."""
    step = -(-len(y) // MOST)
    values, y = values[::step], y[::step]
    if is_classes:
        y = np.unique(y, return_inverse=True)[1]
    found = []
    for name, column in zip(names, values.T, strict=True):
        known = ~np.isnan(column)
        own, targets = column[known], y[known]
        flag = is_classes and telling_value(own, targets) is not None
        if flag or tells_target(own, targets, is_classes):
            found.append(name)
    return found


def tells_target(values: FloatArray, y: Array, is_classes: bool) -> bool:
    """Tell whether a feature ranks the numbers `y`, or one class of the codes `y`, almost perfectly."""
    if len(values) < FEWEST or len(np.unique(values)) < 2 or len(np.unique(y)) < 2:
        return False
    ranks = _ranks(values)
    if not is_classes:
        return bool(abs(np.corrcoef(ranks, _ranks(y))[0, 1]) >= TELLS)
    for code in range(int(y.max()) + 1):
        own = y == code
        count = int(own.sum())
        rest = len(own) - count
        if min(count, rest) < 5:
            continue
        area = (ranks[own].sum() - count * (count + 1) / 2) / (count * rest)
        if max(area, 1 - area) >= TELLS:
            return True
    return False


def telling_value(values: FloatArray, codes: Array) -> tuple[float, int, int, int] | None:
    """Find a value that occurs often, and almost only in one class.

    Returns the value, the code of the class, how many samples of the class have it, and how many samples do.
    """
    if len(values) < FEWEST:
        return None
    shares = np.bincount(codes) / len(codes)
    uniques, counts = np.unique(values, return_counts=True)
    for value in uniques[counts >= max(FEWEST, OFTEN * len(values))]:
        own = np.bincount(codes[values == value])
        code = int(own.argmax())
        if own[code] >= PURE * own.sum() and shares[code] <= USUAL:
            return float(value), code, int(own[code]), int(own.sum())
    return None


def repeated_ids(columns: dict[str, Array]) -> list[str]:
    """Return warnings of ids that several samples have: these may belong together."""
    found = []
    for name, values in columns.items():
        seen = values[:MOST].tolist()
        count = len(set(map(str, seen)))
        if FEWEST <= count < 0.99 * len(seen):
            found.append(
                f"{name} repeats: there are {count} different ones in {len(seen)} samples. If samples with "
                f"the same {name} belong together, scores are too good: name it as groups (--groups {name})."
            )
    return found


def _ranks(values: Array) -> FloatArray:
    """Return ranks from 1 on; equal values share their mean."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places])
