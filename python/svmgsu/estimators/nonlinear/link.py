"""The link of a mixture: p = Σ_k r_k σ(E[f | k]), trained from the convex solution on.

σ(E f) is not E σ(f): an object that is either of two kinds has a probability between theirs, whatever the
score of their mean. The objective -log p is not convex in general; it starts where the certified stage ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data.gaussians import Gaussians
from ...data.mixtures import Mixtures
from ...propagate.features import FeatureMap
from ...support.validation import Array, FloatArray
from .solving import Scores

LEAST_SHARE = 1e-3  # of a component; the rest is shared out among the others
STEPS = 60


@dataclass
class Components:
    """E[z | k] of the components that matter, those of one object after the other."""

    Z: Array
    share: FloatArray
    start: Array  # where an object's components begin

    @classmethod
    def of(
        cls, objects: Gaussians | Mixtures, feature_map: FeatureMap, dtype: Any, threads: int
    ) -> Components:
        single, share, start = split(objects)
        return cls(feature_map.mean(single, dtype, threads), share, start)

    def owners(self) -> Array:
        """The object of each component."""
        ends = np.append(self.start[1:], len(self.share))
        return np.repeat(np.arange(len(self.start)), ends - self.start)

    def some(self, objects: Array) -> Components:
        """Of some of the objects."""
        ends = np.append(self.start[1:], len(self.share))
        counts = (ends - self.start)[objects]
        first = np.concatenate([[0], np.cumsum(counts)[:-1]])
        rows = np.repeat(self.start[objects] - first, counts) + np.arange(counts.sum())
        return Components(self.Z[rows], self.share[rows], first)


def split(objects: Gaussians | Mixtures) -> tuple[Gaussians | Mixtures, FloatArray, Array]:
    """The components that matter as objects of their own, their shares, and where each object's begin."""
    if not isinstance(objects, Mixtures):
        return objects, np.ones(len(objects)), np.arange(len(objects))
    r = np.asarray(objects.weights, dtype=np.float64)
    keep = (r > LEAST_SHARE) | (r == r.max(axis=1, keepdims=True))
    share = np.where(keep, r, 0.0)
    share /= share.sum(axis=1, keepdims=True)
    rows, which = np.nonzero(keep)
    ones = np.ones((len(rows), 1))
    mean, cov = objects.mean[rows, which][:, np.newaxis], objects.cov[rows, which][:, np.newaxis]
    start = np.concatenate([[0], np.cumsum(keep.sum(axis=1))[:-1]])
    return Mixtures._of(ones, mean, cov, None), share[rows, which], start


def damped(scores: FloatArray, variance: FloatArray, factor: float) -> FloatArray:
    """Scores whose logistic function is about E σ(f) for f ~ N(score, factor · variance) (MacKay 1992)."""
    return np.asarray(scores / np.sqrt(1 + np.pi / 8 * factor * variance))


def chances(scores: FloatArray) -> FloatArray:
    """Probabilities of the classes: of one score its logistic function, of several their softmax."""
    if scores.shape[1] == 1:
        p = 0.5 * (1 + np.tanh(0.5 * scores))
        return np.hstack([1 - p, p])
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def likelihood(p: FloatArray, labels: Array) -> FloatArray:
    """The probability of what is known of each class: a label, (l,), or in doubt Σ_k labels_k p_k, (l, K)."""
    return np.asarray(p[np.arange(len(p)), labels] if labels.ndim == 1 else (p * labels).sum(axis=1))


def mixed_chances(scores: Scores, components: Components) -> FloatArray:
    """Σ_k r_k p(E[f | k]) of every object, (l, classes)."""
    p = chances(scores(components.Z)) * components.share[:, np.newaxis]
    return np.asarray(np.add.reduceat(p, components.start, axis=0))


def polish(
    scores: Scores, components: Components, labels: Array, weights: FloatArray, lam: float, steps: int = STEPS
) -> Scores:
    """Scores of a lower λ/2 ‖w‖² - mean log Σ_k r_k p_y(E[f | k]), from `scores` on, by L-BFGS.

    Of labels in doubt p_y is their `likelihood`; its slope in a score is that of the class times how much
    likelier the class has become: e_c = labels_c p_c / p_y instead of the indicator of y.
    """
    from scipy.optimize import minimize

    q, m = scores.W.shape
    owner = components.owners()
    c = weights / weights.sum()
    Z = components.Z
    y = labels[owner]
    K = max(2, q)
    indicator = np.eye(K)[y] if y.ndim == 1 else y

    def value_and_gradient(theta: FloatArray) -> tuple[float, FloatArray]:
        W, b = theta[: q * m].reshape(q, m), theta[q * m :]
        p = chances(np.asarray(Z @ W.T.astype(Z.dtype) + b, dtype=np.float64))
        right = np.maximum(likelihood(p, y), 1e-300)
        own = right * components.share
        total = np.maximum(np.add.reduceat(own, components.start), 1e-300)
        posterior = own / total[owner] * c[owner]
        known = indicator if y.ndim == 1 else indicator * p / right[:, np.newaxis]
        slope = (posterior[:, np.newaxis] * (p - known))[:, K - q :]
        gradient = np.concatenate(
            [(np.asarray(slope.T.astype(Z.dtype) @ Z, dtype=np.float64) + lam * W).ravel(), slope.sum(axis=0)]
        )
        return float(0.5 * lam * (W**2).sum() - c @ np.log(total)), gradient

    start = np.concatenate([scores.W.ravel(), scores.b])
    found = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": steps})
    better = found.x if np.isfinite(found.fun) else start
    return Scores(
        better[: q * m].reshape(q, m), better[q * m :], scores.objective, scores.gap, scores.unproven
    )


def joined(parts: list[Components]) -> Components:
    ends = np.cumsum([0] + [len(part.share) for part in parts])
    return Components(
        np.concatenate([part.Z for part in parts]),
        np.concatenate([part.share for part in parts]),
        np.concatenate([part.start + end for part, end in zip(parts, ends[:-1], strict=True)]),
    )
