"""A rival: the probabilistic random forest (Reis, Baron and Shahaf, *The Astronomical Journal* 157:16, 2019).

An object with error bars goes down both branches of a node, with the probabilities that its true value lies
on either side. Splits minimise the Gini impurity of the expected counts; leaves hold expected shares.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from .tasks import Array

KEEP = 0.05  # branches that an object takes with less probability are cut off, as in the paper
THRESHOLDS = 16  # candidates of a feature: quantiles of the values in the node


class ProbabilisticForest:
    """Trees on bootstrap samples; each node tries √n features."""

    def __init__(self, trees: int = 100, leaf: float = 5.0, depth: int = 12, seed: int = 0) -> None:
        self.trees, self.leaf, self.depth, self.seed = trees, leaf, depth, seed

    def fit(self, X: Array, std: Array, y: Array) -> ProbabilisticForest:
        """`y` are labels, or the probability of each class, (l, K)."""
        if np.ndim(y) == 2:
            self.classes, chances = np.arange(y.shape[1]), np.asarray(y)
        else:
            self.classes, codes = np.unique(y, return_inverse=True)
            chances = np.eye(len(self.classes))[codes]
        rng = np.random.default_rng(self.seed)
        self._forest = []
        for _ in range(self.trees):
            rows = rng.integers(len(X), size=len(X))
            self._forest.append(_grow(self, X[rows], std[rows], chances[rows], rng))
        return self

    def predict_proba(self, X: Array, std: Array) -> Array:
        total = np.zeros((len(X), len(self.classes)))
        for tree in self._forest:
            out = np.zeros_like(total)
            _descend(tree, X, std, np.arange(len(X)), np.ones(len(X)), out)
            total += out / out.sum(axis=1, keepdims=True)
        return total / self.trees


def _below(x: Array, std: Array, threshold: Array | float) -> Array:
    """The probability that the true value is at most the threshold."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(std > 0, ndtr((threshold - x) / std), x <= threshold)


def _grow(
    forest: ProbabilisticForest, X: Array, std: Array, classes: Array, rng: np.random.Generator
) -> tuple:
    """A node: (shares,) of a leaf, or (feature, threshold, left, right)."""

    def node(rows: Array, weight: Array, depth: int) -> tuple:
        counts = weight @ classes[rows]
        if depth == forest.depth or weight.sum() < 2 * forest.leaf or counts.max() > 0.999 * counts.sum():
            return (counts / counts.sum(),)
        best = None
        tried = rng.choice(X.shape[1], max(1, int(np.sqrt(X.shape[1]))), replace=False)
        for feature in tried:
            x, s = X[rows, feature], std[rows, feature]
            thresholds = np.unique(np.quantile(x, (np.arange(THRESHOLDS) + 0.5) / THRESHOLDS))
            below = (weight[:, None] * _below(x[:, None], s[:, None], thresholds)).T @ classes[rows]
            parts = np.stack([below, counts - below])  # (2, thresholds, classes)
            sizes = parts.sum(axis=2)
            allowed = sizes.min(axis=0) >= forest.leaf
            if not allowed.any():
                continue
            with np.errstate(divide="ignore", invalid="ignore"):
                impurity = (sizes - (parts**2).sum(axis=2) / sizes).sum(axis=0)
            chosen = int(np.where(allowed, impurity, np.inf).argmin())
            if best is None or impurity[chosen] < best[0]:
                best = (impurity[chosen], feature, thresholds[chosen])
        if best is None:
            return (counts / counts.sum(),)
        _, feature, threshold = best
        share = _below(X[rows, feature], std[rows, feature], threshold)
        branches = [_kept(rows, weight * side) for side in (share, 1 - share)]
        if min(len(part) for part, _ in branches) == 0:
            return (counts / counts.sum(),)
        return (feature, threshold, *(node(part, some, depth + 1) for part, some in branches))

    return node(np.arange(len(X)), np.ones(len(X)), 0)


def _kept(rows: Array, weight: Array) -> tuple[Array, Array]:
    keep = weight > KEEP
    return rows[keep], weight[keep]


def _descend(tree: tuple, X: Array, std: Array, rows: Array, weight: Array, out: Array) -> None:
    if len(tree) == 1:
        out[rows] += weight[:, None] * tree[0]
        return
    feature, threshold, left, right = tree
    share = _below(X[rows, feature], std[rows, feature], threshold)
    for branch, side in ((left, share), (right, 1 - share)):
        keep = (weight * side > KEEP) | (side >= 0.5)  # the likelier branch is always taken
        if keep.any():
            _descend(branch, X, std, rows[keep], (weight * side)[keep], out)
