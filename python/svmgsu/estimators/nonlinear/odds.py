"""From scores to probabilities: the mixture's link, damping by Var f, calibration, and labels that err.

What is not fixed by the caller is chosen by the log-loss of objects held out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data.gaussians import Gaussians
from ...data.mixtures import Mixtures
from ...propagate.features import FeatureMap
from ...support.validation import Array, FloatArray
from .link import Components, chances, damped, likelihood, mixed_chances, polish, split
from .search import Choice, Search
from .solving import Scores

LAPSES = (0.0, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 3e-2, 5e-2, 0.1)
LINK_NUMBERS = 2**27  # numbers of components' features that the mixture's link is trained on, at the most
DAMPINGS = (0.3, 1.0)  # factors of Var f that are tried
DAMPED_OBJECTS = 1000  # held-out objects that the damping is chosen with


@dataclass
class Odds:
    """How the scores of an object become probabilities."""

    link: bool = False
    damping: float = 0.0
    lapse: float = 0.0
    calibration: Scores | None = None

    def __call__(
        self, objects: Gaussians | Mixtures, feature_map: FeatureMap, scores: Scores, threads: int
    ) -> FloatArray:
        """The probabilities of objects as the map sees them, (l, K)."""
        p = self._right(objects, feature_map, scores, threads)
        return np.asarray((1 - self.lapse) * p + self.lapse / p.shape[1])

    def _right(
        self, objects: Gaussians | Mixtures, feature_map: FeatureMap, scores: Scores, threads: int
    ) -> FloatArray:
        if self.damping:
            single, share, start = split(objects) if self.link else _whole(objects)
            mean, variance = feature_map.scores(single, scores.W, threads)
            p = chances(damped(mean + scores.b, variance, self.damping))
            return np.asarray(np.add.reduceat(p * share[:, np.newaxis], start, axis=0))
        if self.link:
            return mixed_chances(scores, Components.of(objects, feature_map, np.float64, threads))
        found = scores(feature_map.mean(objects, threads=threads))
        return chances(found if self.calibration is None else self.calibration(found))


def _whole(objects: Any) -> tuple[Any, FloatArray, Array]:
    return objects, np.ones(len(objects)), np.arange(len(objects))


def choose_odds(
    search: Search, objects: Any, choice: Choice, feature_map: FeatureMap, *, link: Any, damping: Any
) -> Odds:
    """The link and the damping of a logistic loss, and the share of labels that err.

    `link` and `damping` are True, False, or "auto" for whichever has the lower loss on held-out objects.
    """
    found = Odds(link=_may_mix(objects, feature_map, search.threads) and link is True)
    if choice.losses is None:  # there was no search
        found.damping = 1.0 if damping is True else 0.0
        return found
    mixed = link is not False and _may_mix(objects, feature_map, search.threads)
    plain, scores = _held_out(search, objects, choice, feature_map, mixed=False)
    losses = plain
    if mixed:
        other, others = _held_out(search, objects, choice, feature_map, mixed=True)
        search.tried.append(_tried(search, choice, other, link=True))
        if link is True or search.folds.mean(other) < search.folds.mean(plain):
            found.link, losses, scores = True, other, others
    choice.losses = losses
    if damping is not False and not _certain(objects):
        _choose_damping(search, objects, choice, feature_map, found, scores, required=damping is True)
    found.lapse = _lapse(search, choice)
    return found


def _certain(objects: Any) -> bool:
    return not isinstance(objects, Mixtures) and objects.cov is None


def _may_mix(objects: Any, feature_map: FeatureMap, threads: int) -> bool:
    """Whether objects are mixtures, of which no more is to be held than fits."""
    if not isinstance(objects, Mixtures):
        return False
    return int((objects.weights > 0).sum()) * feature_map.outputs <= LINK_NUMBERS


def _held_out(
    search: Search, objects: Any, choice: Choice, feature_map: FeatureMap, *, mixed: bool
) -> tuple[FloatArray, list[Scores]]:
    """The held-out loss of every object, with the scores of each fold."""
    stage: Any = search.stage
    folds, threads = search.folds, search.threads
    Z = feature_map.mean(objects, threads=threads)
    components = Components.of(objects, feature_map, np.float32, threads) if mixed else None
    losses, found = np.zeros(len(folds.weights)), []
    for fold, (_, held_out) in enumerate(folds.splits):
        known, out = folds.rows(fold)
        (scores,) = stage.path(Z, known, [choice.lam], search.tol)
        if components is None:
            p = stage.chances(scores(Z[out]))
        else:
            own = stage.labels[known], stage.weights[known]
            scores = polish(scores, components.some(known), *own, choice.lam)
            p = mixed_chances(scores, components.some(out))
        losses[held_out] = folds.of_objects(_loss(p, stage.labels[out]))
        found.append(scores)
    return losses, found


def _choose_damping(
    search: Search,
    objects: Any,
    choice: Choice,
    feature_map: FeatureMap,
    odds: Odds,
    scores: list[Scores],
    *,
    required: bool,
) -> None:
    """The factor of Var f; none where it is not better by more than a standard error of the difference."""
    stage: Any = search.stage
    step = max(1, len(search.folds.held_out) // DAMPED_OBJECTS)
    factors = (0.0, *DAMPINGS)
    losses: list[list[FloatArray]] = [[] for _ in factors]
    for (_, held_out), own in zip(search.folds.splits, scores, strict=True):
        out = held_out[::step]  # of the first copy
        single, share, start = split(objects[out]) if odds.link else _whole(objects[out])
        mean, variance = feature_map.scores(single, own.W, search.threads)
        for k, factor in enumerate(factors):
            p = chances(damped(mean + own.b, variance, factor)) * share[:, np.newaxis]
            losses[k].append(_loss(np.add.reduceat(p, start, axis=0), stage.labels[out]))
    each = [np.concatenate(parts) for parts in losses]
    weights = np.concatenate([search.folds.weights[out[::step]] for _, out in search.folds.splits])
    means = [float(np.average(one, weights=weights)) for one in each]
    best = 1 + int(np.argmin(means[1:]))
    for factor, loss in zip(factors, means, strict=True):  # comparable among themselves
        search.tried.append(
            {"gamma": choice.gamma, "lam": choice.lam, "loss": loss, "link": odds.link, "damping": factor}
        )
    gain, expected = each[0] - each[best], means[0] - means[best]
    doubt = float(np.sqrt(np.average((gain - expected) ** 2, weights=weights) / len(gain)))
    if required or expected > doubt:
        odds.damping = factors[best]


def _lapse(search: Search, choice: Choice) -> float:
    """The share of labels that are as good as tossed, by the loss of held-out objects."""
    assert choice.losses is not None
    stage: Any = search.stage
    p, K = np.exp(-choice.losses), stage.classes
    return min(LAPSES, key=lambda e: search.folds.mean(-np.log(np.maximum((1 - e) * p + e / K, 1e-15))))


def _loss(p: FloatArray, labels: Array) -> FloatArray:
    return np.asarray(-np.log(np.maximum(likelihood(p, labels), 1e-15)))


def _tried(search: Search, choice: Choice, losses: FloatArray, **named: Any) -> dict[str, Any]:
    return {"gamma": choice.gamma, "lam": choice.lam, "loss": search.folds.mean(losses), **named}


def calibrated(search: Search, objects: Any, choice: Choice, feature_map: FeatureMap) -> Scores:
    """Log-odds from held-out scores, for losses that have none of their own."""
    stage: Any = search.stage
    Z = feature_map.mean(objects, threads=search.threads)
    scores, rows = [], []
    for fold in range(len(search.folds.splits)):
        known, out = search.folds.rows(fold)
        (found,) = stage.path(Z, known, [choice.lam], search.tol)
        scores.append(found(Z[out]))
        rows.append(out)
    S, order = np.concatenate(scores), np.concatenate(rows)
    q = S.shape[1]
    whole = Components(S, np.ones(len(S)), np.arange(len(S)))
    return polish(
        Scores(np.eye(q), np.zeros(q)), whole, stage.labels[order], stage.weights[order], 1e-4, steps=200
    )
