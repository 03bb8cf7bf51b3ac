"""How far stated probabilities are from observed frequencies: bins, and the expected calibration error."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..support.labels import check_weights
from ..support.validation import Array, FloatArray, as_float_array, check_count, check_finite

STRATEGIES = ("uniform", "quantile")


class Bins(NamedTuple):
    """Examples put together by their probability; bins without examples are left out.

    Attributes
    ----------
    probability : array
        The mean of the stated probabilities in each bin.
    frequency : array
        The share of examples for which it came true.
    weight : array
        The bin's share of all examples, by weight.
    examples : array
        How many examples are in the bin.
    """

    probability: FloatArray
    frequency: FloatArray
    weight: FloatArray
    examples: FloatArray


def reliability_bins(
    outcome: Any, proba: Any, *, bins: int = 10, strategy: str = "uniform", sample_weight: Any = None
) -> Bins:
    """Puts examples into bins by their probability and compares it with what came true.

    Parameters
    ----------
    outcome : array of bool of shape (l,)
        Whether the example is of the class whose probability is given.
    proba : array of shape (l,)
        Probabilities.
    bins : int, default=10
    strategy : {"uniform", "quantile"}
        Bins of the same width, or of about as many examples each. A value on an edge belongs to the
        lower bin, as in scikit-learn's `calibration_curve`.
    sample_weight : array of shape (l,), optional

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
    strange = np.flatnonzero((happened != 0) & (happened != 1))
    if len(strange):
        found = happened[strange[0]].item()
        raise ValueError(
            f"outcome: example {strange[0]} has {found!r}; expected True or False, as from y == label"
        )
    if strategy not in STRATEGIES:
        raise ValueError(f'strategy: expected "uniform" or "quantile", got {strategy!r}')
    weights = check_weights(sample_weight, len(chance))
    steps = np.linspace(0, 1, check_count(bins, "bins") + 1)
    edges = steps if strategy == "uniform" else np.quantile(chance, steps)
    place = np.searchsorted(edges[1:-1], chance)
    total = np.bincount(place, weights, bins)
    filled = total > 0
    mean = np.bincount(place, weights * chance, bins)[filled] / total[filled]
    frequency = np.bincount(place, weights * (happened == 1), bins)[filled] / total[filled]
    count = np.bincount(place, minlength=bins)[filled].astype(float)
    return Bins(mean, frequency, total[filled] / total.sum(), count)


def calibration_error(
    outcome: Any, proba: Any, *, bins: int = 10, strategy: str = "uniform", sample_weight: Any = None
) -> float:
    """The expected calibration error: mean distance of probability and frequency over bins.

    `outcome`, `proba`, `bins`, `strategy` and `sample_weight` are those of `reliability_bins`; bins count
    by the examples in them.

    Examples
    --------
    >>> from svmgsu.metrics import calibration_error
    >>> round(calibration_error([False, False, True, True], [0.1, 0.3, 0.8, 0.6], bins=2), 3)
    0.25
    """
    found = reliability_bins(outcome, proba, bins=bins, strategy=strategy, sample_weight=sample_weight)
    return float(found.weight @ np.abs(found.probability - found.frequency))


def check_probabilities(proba: Any, ndim: tuple[int, ...], name: str = "proba") -> FloatArray:
    """Probabilities as float64; refuses numbers outside [0, 1] and an empty array."""
    array: Array = as_float_array(proba, name, ndim).astype(np.float64)
    if array.size == 0:
        raise ValueError(f"{name}: there are no examples (shape {array.shape})")
    check_finite(array, name)
    outside = np.flatnonzero((array < 0) | (array > 1))
    if len(outside):
        example = int(np.unravel_index(outside[0], array.shape)[0])
        found = array.flat[outside[0]]
        raise ValueError(f"{name}: example {example} has {found:g}; probabilities must be from 0 to 1")
    return array
