"""Scores of Gaussian examples: what a classifier will do on draws from them.

`mean` and `std` are the decision value's mean w·x + b and standard deviation √(wᵀΣw), `signs` the
labels ±1, `weights` the examples' weights. All scores are means; larger losses are worse. For two classes
they have closed forms. For more, how draws of several decision values compare has none, so that those
scores are means over a fixed set of draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..support.validation import Array, FloatArray

if TYPE_CHECKING:
    from ..data.gaussians import Gaussians
    from .classifier import Model

DRAWS = 256  # an example at the most, of several classes
_DRAWS_IN_ALL = 50_000  # of a validation set, unless that is larger
_WORK = 4_000_000_000  # and about so many multiplications
_NUMBERS_AT_A_TIME = 2_000_000


def probability_right(mean: FloatArray, std: FloatArray, signs: FloatArray) -> FloatArray:
    """P(y (w·X + b) > 0) = Φ(y mean/std); a certain example on the boundary counts half."""
    _, right, _ = _core.expected_hinge(np.ascontiguousarray(signs * mean), np.ascontiguousarray(std))
    undecided: FloatArray = np.where((std == 0) & (mean == 0), 0.5, right)
    return undecided


def expected_accuracy(mean: FloatArray, std: FloatArray, signs: FloatArray, weights: FloatArray) -> float:
    """The expected share of draws that is classified rightly."""
    return float(np.average(probability_right(mean, std, signs), weights=weights))


def expected_hinge(mean: FloatArray, std: FloatArray, signs: FloatArray, weights: FloatArray) -> float:
    """The expected hinge loss, as in training."""
    loss, _, _ = _core.expected_hinge(np.ascontiguousarray(1 - signs * mean), np.ascontiguousarray(std))
    return float(np.average(loss, weights=weights))


def expected_loss(
    mean: FloatArray, std: FloatArray, signs: FloatArray, weights: FloatArray, name: str
) -> float:
    """The expected loss of that name, as in training."""
    values = _core.Loss(name).gradient(np.ascontiguousarray(1 - signs * mean), np.ascontiguousarray(std))[0]
    return float(np.average(values, weights=weights))


def expected_log_loss(
    mean: FloatArray, std: FloatArray, signs: FloatArray, weights: FloatArray, platt: tuple[float, float]
) -> float:
    """The expected logarithmic loss of Platt's probabilities 1/(1 + exp(A f + B))."""
    a, b = platt
    loss = expected_softplus(signs * (a * mean + b), abs(a) * std)
    return float(np.average(loss, weights=weights))


def expected_softplus(mean: FloatArray, std: FloatArray) -> FloatArray:
    """E log(1 + exp Z) for Z ~ N(mean, std²): the logistic loss of a residual Z + 1."""
    return _core.Loss("logistic").gradient(np.ascontiguousarray(mean + 1), np.ascontiguousarray(std))[0]


def expected_class_scores(
    model: Model, data: Gaussians, labels: Array, weights: FloatArray
) -> tuple[float, float]:
    """(expected accuracy, expected log-loss) of several classes.

    Parameters
    ----------
    model : Model
        With probabilities.
    data : Gaussians
    labels : array of shape (l,)
        Of classes that the model knows.
    weights : array of shape (l,)

    Notes
    -----
    Means over what the model says of draws from the examples, with a fixed seed: the same for every model, so
    that comparisons are fair. Log-loss is that of probabilities as they are computed, nowhere infinite.
    """
    codes, K = np.searchsorted(model.classes_, labels), len(model.classes_)
    draws = 1
    if data.cov is not None:
        most = min(_DRAWS_IN_ALL, _WORK // (K * K + model.coef_.size))
        draws = max(1, min(DRAWS, most // len(data)))
    right, loss = np.empty(len(data)), np.empty(len(data))
    step = max(1, _NUMBERS_AT_A_TIME // (draws * (data.shape[1] + len(model.coef_))))
    for first in range(0, len(data), step):
        rows = np.arange(first, min(len(data), first + step))
        some = data[rows]
        points = (
            some.mean
            if data.cov is None
            else some.sample(draws, first, y=labels[rows]).reshape(-1, data.shape[1])
        )
        z = model.decision_function(points, threads=1).reshape(len(rows), draws, K)
        own = np.take_along_axis(z, codes[rows][:, np.newaxis, np.newaxis], axis=2)[:, :, 0]
        best = z.max(axis=2)
        ties = (z == best[:, :, np.newaxis]).sum(axis=2)
        right[rows] = ((own == best) / ties).mean(axis=1)
        logs = -np.logaddexp(0, -z)
        top = logs.max(axis=2)
        total = top + np.log(np.exp(logs - top[:, :, np.newaxis]).sum(axis=2))
        loss[rows] = (total + np.logaddexp(0, -own)).mean(axis=1)
    return float(np.average(right, weights=weights)), float(np.average(loss, weights=weights))
