"""Compare predicted probabilities with observed frequencies: bins, and the expected calibration error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..support.labels import check_weights
from ..support.validation import Array, ArrayLike, FloatArray, as_float_array, check_count, check_finite


class Bins(NamedTuple):
    """Hold samples binned by their probability; empty bins are left out.

    Of each bin: the mean predicted probability, the observed frequency, its share of all samples by weight,
    and the number of samples.
    """

    probability: FloatArray
    frequency: FloatArray
    weight: FloatArray
    samples: FloatArray


def reliability_bins(
    outcome: ArrayLike,
    proba: ArrayLike,
    *,
    bins: int = 10,
    sample_weight: ArrayLike = None,
) -> Bins:
    """Bin samples by their predicted probability and compare it with the observed frequency.

    Parameters
    ----------
    outcome : array of bool of shape (l,)
        Whether the sample is of the class whose probability is given.
    proba : array of shape (l,)
        Predicted probabilities.
    bins : int, default=10
        Number of bins of the same width. A value on an edge belongs to the lower bin, as in scikit-learn's
        `calibration_curve`, which has neither weights nor the number of samples.
    sample_weight : array of shape (l,), optional
        Relative weights of the samples.

    Examples
    --------
    >>> from svmgsu.metrics import reliability_bins
    >>> found = reliability_bins([False, False, True, True], [0.1, 0.3, 0.8, 0.6], bins=2)
    >>> [round(p, 3) for p in found.probability.tolist()], found.frequency.tolist()
    ([0.2, 0.7], [0.0, 1.0])
    """
    chance = check_probabilities(proba, (1,))
    happened = np.asarray(outcome)
    if happened.shape != chance.shape:
        raise ValueError(f"outcome: shape {happened.shape} for probabilities of shape {chance.shape}")
    invalid = np.flatnonzero((happened != 0) & (happened != 1))
    if len(invalid):
        found = happened[invalid[0]].item()
        raise ValueError(
            f"outcome: sample {invalid[0]} has {found!r}; expected True or False, as from y == label"
        )
    weights = check_weights(sample_weight, len(chance))
    edges = np.linspace(0, 1, check_count(bins, "bins") + 1)
    place = np.searchsorted(edges[1:-1], chance)
    total = np.bincount(place, weights, bins)
    filled = total > 0
    mean = np.bincount(place, weights * chance, bins)[filled] / total[filled]
    frequency = np.bincount(place, weights * (happened == 1), bins)[filled] / total[filled]
    count = np.bincount(place, minlength=bins)[filled].astype(float)
    return Bins(mean, frequency, total[filled] / total.sum(), count)


def calibration_error(
    outcome: ArrayLike,
    proba: ArrayLike,
    *,
    bins: int = 10,
    sample_weight: ArrayLike = None,
) -> float:
    """Compute the expected calibration error: the mean distance of probability and frequency over bins.

    `outcome`, `proba`, `bins` and `sample_weight` are those of `reliability_bins`; bins are weighted by the
    samples in them.

    Examples
    --------
    >>> from svmgsu.metrics import calibration_error
    >>> round(calibration_error([False, False, True, True], [0.1, 0.3, 0.8, 0.6], bins=2), 3)
    0.25
    """
    found = reliability_bins(outcome, proba, bins=bins, sample_weight=sample_weight)
    return float(found.weight @ np.abs(found.probability - found.frequency))


def check_probabilities(proba: ArrayLike, ndim: tuple[int, ...], name: str = "proba") -> FloatArray:
    """Return probabilities as float64; refuse numbers outside [0, 1] and an empty array."""
    array: Array = as_float_array(proba, name, ndim).astype(np.float64)
    if array.size == 0:
        raise ValueError(f"{name}: there are no samples (shape {array.shape})")
    check_finite(array, name)
    outside = np.flatnonzero((array < 0) | (array > 1))
    if len(outside):
        sample = int(np.unravel_index(outside[0], array.shape)[0])
        found = array.flat[outside[0]]
        raise ValueError(f"{name}: sample {sample} has {found:g}; probabilities must be from 0 to 1")
    return array
