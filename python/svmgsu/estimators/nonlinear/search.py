"""Which γ, λ, metric and further features: by cross-validation on features that are made once.

The convex stage is solved along a path of λ for each γ, until the held-out loss has risen twice. What makes
the model richer (a learned metric, error bars as features) is taken where it is better by more than one
standard error of the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from ...data.gaussians import Gaussians
from ...data.mixtures import Mixtures
from ...propagate.features import FeatureMap, metric_of
from ...support.validation import Array, FloatArray
from .making import MapMaker
from .solving import Scores

ROUNDS = 2  # of learning a metric
FIRST_LAM = 1e-5
RISES = 2  # of the held-out loss along the path of λ before it is left
Objects = Gaussians | Mixtures


class Stage(Protocol):
    """A convex stage that can be cross-validated: for labels or for numbers."""

    def path(self, Z: Array, rows: Array | None, lams: list[float], tol: float) -> Iterator[Scores]:
        """The scores for each λ, trained on some rows of the features, or on all; made when asked for."""

    def some(self, rows: Array) -> Stage:
        """The stage of these rows alone."""

    def losses(self, scores: FloatArray, rows: Array) -> FloatArray:
        """The loss of each of these rows."""


@dataclass
class Choice:
    """What was chosen, and what it was measured by."""

    gamma: float
    lam: float
    metric: bool = False
    bars: bool = False
    first_lam: float = 0.0  # of the fits that a metric is learnt from
    losses: FloatArray | None = None  # of each object, held out
    without_bars: Choice | None = None  # for objects whose error bars are unlike those of the fit
    tried: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Folds:
    """Objects that are trained on and held out, with their weights; rows are those of all their copies."""

    weights: FloatArray
    copies: int
    splits: list[tuple[Array, Array]]

    def rows(self, fold: int) -> tuple[Array, Array]:
        known, out = self.splits[fold]
        return self.all_copies(known), self.all_copies(out)

    def first_copy(self, rows: Array | None) -> Array:
        """Of all copies of some objects, or of all, the rows of the first."""
        return np.arange(len(self.weights)) if rows is None else rows[: len(rows) // self.copies]

    def all_copies(self, objects: Array) -> Array:
        return np.concatenate([objects + copy * len(self.weights) for copy in range(self.copies)])

    def of_objects(self, losses: FloatArray) -> FloatArray:
        """The mean over an object's copies."""
        return np.asarray(losses.reshape(self.copies, -1).mean(axis=0))

    @property
    def held_out(self) -> Array:
        """All objects that are held out once."""
        return np.concatenate([out for _, out in self.splits])

    def mean(self, losses: FloatArray) -> float:
        """The mean loss of objects that were held out."""
        w = self.weights[self.held_out]
        return float(losses[self.held_out] @ w / w.sum())

    def is_better(self, richer: FloatArray | None, plain: FloatArray | None) -> bool:
        """Whether losses are lower by more than a standard error of the difference."""
        assert richer is not None and plain is not None
        w = self.weights[self.held_out]
        gain = (plain - richer)[self.held_out]
        mean = float(gain @ w / w.sum())
        return bool(mean > np.sqrt(((gain - mean) ** 2) @ w / w.sum() / w.sum()))


class Search:
    """Cross-validation of one convex stage on objects that are seen through several maps."""

    def __init__(
        self, stage: Stage, maker: MapMaker, folds: Folds, lams: list[float], threads: int, tol: float = 1e-3
    ) -> None:
        self.stage, self.maker, self.folds, self.lams = stage, maker, folds, sorted(lams, reverse=True)
        self.threads, self.tol = threads, tol
        self.tried: list[dict[str, Any]] = []

    def plain(self, objects: Objects, gammas: list[float], **named: Any) -> Choice:
        """The best γ and λ."""
        best: Choice | None = None
        for gamma in gammas:
            feature_map = self.maker.make(objects.shape[1], gamma)

            def same(_: Array, made: FeatureMap = feature_map) -> FeatureMap:
                return made

            found = self._validated(same, objects, gamma, **named)
            if best is None or self._mean(found) < self._mean(best):
                best = found
        assert best is not None
        return best

    def with_metric(self, objects: Objects, gammas: list[float], **named: Any) -> Choice:
        """The best γ and λ with a metric that is learnt in each fold."""
        best: Choice | None = None
        for gamma in gammas:
            first = self._best_lam(gamma, bool(named.get("bars")))

            def make(rows: Array, gamma: float = gamma, first: float = first) -> FeatureMap:
                metric = self.learn_metric(objects, gamma, first, rows)
                return self.maker.make(objects.shape[1], gamma, metric)

            found = self._validated(make, objects, gamma, metric=True, **named)
            if best is None or self._mean(found) < self._mean(best):
                best = replace(found, metric=True, first_lam=first)
        assert best is not None
        return best

    def _best_lam(self, gamma: float, bars: bool) -> float:
        """The λ of a first fit: the best that was found for this γ without a metric."""
        known = [row for row in self.tried if row["gamma"] == gamma and row["bars"] == bars]
        return float(min(known, key=lambda row: row["loss"])["lam"]) if known else FIRST_LAM

    def learn_metric(self, objects: Objects, gamma: float, lam: float, rows: Array | None) -> FloatArray:
        """A = (mean ∇f∇fᵀ)^¼ of fits on some rows, twice; one copy of each object is enough for it."""
        first = self.folds.first_copy(rows)
        part, stage, weights = objects[first], self.stage.some(first), self.folds.weights[first]
        metric: FloatArray | None = None
        for _ in range(ROUNDS):
            feature_map = self.maker.make(objects.shape[1], gamma, metric)
            Z = feature_map.mean(part, threads=self.threads)
            (scores,) = stage.path(Z, None, [lam], self.tol)
            metric = metric_of(feature_map.gradient_outer_product(part, scores.W, weights, self.threads))
        assert metric is not None
        return metric

    def _validated(
        self, make: Callable[[Array], FeatureMap], objects: Objects, gamma: float, **named: Any
    ) -> Choice:
        """The held-out loss of every object along the path of λ; the best λ."""
        made: list[tuple[Array, Array, Array, Iterator[Scores]]] = []
        last: tuple[FeatureMap, Array] | None = None
        for fold, (_, held_out) in enumerate(self.folds.splits):
            known, out = self.folds.rows(fold)
            feature_map = make(known)
            if last is None or feature_map is not last[0]:
                last = feature_map, feature_map.mean(objects, threads=self.threads)
            Z = last[1]
            made.append((Z[out], out, held_out, self.stage.path(Z, known, self.lams, self.tol)))
        best: Choice | None = None
        least, rises = np.inf, 0
        for lam in self.lams:
            losses = np.zeros(len(self.folds.weights))
            for Z_out, out, held_out, path in made:
                losses[held_out] = self.folds.of_objects(self.stage.losses(next(path)(Z_out), out))
            mean = self.folds.mean(losses)
            self.tried.append({"gamma": gamma, "lam": lam, "loss": mean, **named})
            if best is None or mean < least:
                best, least, rises = Choice(gamma, lam, losses=losses, bars=bool(named.get("bars"))), mean, 0
                continue
            rises += 1
            if rises == RISES:
                break
        assert best is not None
        return best

    def _mean(self, choice: Choice) -> float:
        assert choice.losses is not None
        return self.folds.mean(choice.losses)
