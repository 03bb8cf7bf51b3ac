"""Measures of the top of a ranking by decision values: precision, recall and average precision.

Samples with equal scores have no order among themselves, as in scikit-learn: they enter together, and where
the cut at k goes through them each counts in part. So no result depends on the order of the samples.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import average_precision_score

from ..support.validation import Array, ArrayLike, FloatArray, as_float_array, check_count, check_finite


def precision_at_k(y: ArrayLike, scores: ArrayLike, k: int, *, positive: object = None) -> float:
    """Compute the fraction of positives among the k samples with the greatest scores.

    Parameters
    ----------
    y : array of shape (l,)
        True labels.
    scores : array of shape (l,)
        Decision values, greater for the positive class. Not probabilities: those are equal where they
        have saturated at 0 or 1, and the ranking is lost.
    k : int
        The number of positives is divided by k also where there are fewer samples.
    positive : label, optional
        The class to be found; by default the larger of two labels.

    Examples
    --------
    >>> from svmgsu.metrics import precision_at_k
    >>> precision_at_k([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0], 2)
    0.5
    """
    relevant, ranking = _checked(y, scores, positive)
    return float(_share_in_top(ranking, k) @ relevant / k)


def recall_at_k(y: ArrayLike, scores: ArrayLike, k: int, *, positive: object = None) -> float:
    """Compute the fraction of all positives that the k greatest scores contain; NaN without positives.

    `y`, `scores`, `k` and `positive` are those of `precision_at_k`.

    Examples
    --------
    >>> from svmgsu.metrics import recall_at_k
    >>> recall_at_k([1, 0, 1, 1], [4.0, 3.0, 2.0, 1.0], 3)
    0.6666666666666666
    """
    relevant, ranking = _checked(y, scores, positive)
    if not relevant.any():
        return float("nan")
    return float(_share_in_top(ranking, k) @ relevant / relevant.sum())


def average_precision_at_k(y: ArrayLike, scores: ArrayLike, k: int, *, positive: object = None) -> float:
    """Compute the average precision of the ranking cut after k samples; NaN without positives.

    The precisions at the ranks of the positives within the first k, summed and divided by the most positives
    there could be, min(k, positives). So the best ranking has 1 at every k, and k = l is scikit-learn's
    `average_precision_score`. `y`, `scores`, `k` and `positive` are those of `precision_at_k`.

    Examples
    --------
    >>> from svmgsu.metrics import average_precision_at_k
    >>> average_precision_at_k([1, 0, 1, 1], [4.0, 3.0, 2.0, 1.0], 2)
    0.5
    """
    relevant, ranking = _checked(y, scores, positive)
    share = _share_in_top(ranking, k)
    hits = float(share @ relevant)
    positives = int(relevant.sum())
    if positives == 0:
        return float("nan")
    if hits == 0:
        return 0.0
    within = average_precision_score(relevant, ranking, sample_weight=share)
    return float(within) * hits / min(k, positives)


def _checked(y: ArrayLike, scores: ArrayLike, positive: object) -> tuple[Array, FloatArray]:
    """Return whether each sample is positive, and the scores."""
    labels = np.asarray(y)
    ranking = as_float_array(scores, "scores", (1,))
    check_finite(ranking, "scores")
    if labels.ndim != 1 or len(labels) != len(ranking):
        raise ValueError(f"y: labels of shape {labels.shape} for {len(ranking)} scores")
    if len(labels) == 0:
        raise ValueError("y: there are no samples")
    if positive is None:
        classes = np.unique(labels)
        if len(classes) != 2:
            raise ValueError(f"y: {len(classes)} classes; choose the positive one with positive=")
        positive = classes[1]
    return labels == positive, ranking


def _share_in_top(ranking: FloatArray, k: int) -> FloatArray:
    """Return how much of each sample is among the first k: 1, 0, or a fraction where the cut splits a tie."""
    below = len(ranking) - check_count(k, "k")
    if below <= 0:
        return np.ones(len(ranking))
    cut = np.partition(ranking, below)[below]
    share = (ranking > cut).astype(np.float64)
    tied = ranking == cut
    share[tied] = (k - share.sum()) / tied.sum()
    return np.asarray(share)
