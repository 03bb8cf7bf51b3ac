"""Scores of Gaussian examples in closed form: what a classifier will do on draws from them.

`mean` and `std` are the decision value's mean w·x + b and standard deviation √(wᵀΣw), `signs` the
labels ±1, `weights` the examples' weights. All scores are means; larger losses are worse.
"""

from __future__ import annotations

import numpy as np

from . import _core
from .validation import FloatArray

NODES = 40  # of Gauss and Hermite's rule: the logistic loss is smooth, so few are enough


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


def expected_log_loss(
    mean: FloatArray, std: FloatArray, signs: FloatArray, weights: FloatArray, platt: tuple[float, float]
) -> float:
    """The expected logarithmic loss of Platt's probabilities 1/(1 + exp(A f + B)), by quadrature."""
    nodes, node_weights = np.polynomial.hermite_e.hermegauss(NODES)
    a, b = platt
    z = signs[:, np.newaxis] * (a * (mean[:, np.newaxis] + std[:, np.newaxis] * nodes) + b)
    loss = np.logaddexp(0, z) @ (node_weights / node_weights.sum())
    return float(np.average(loss, weights=weights))
