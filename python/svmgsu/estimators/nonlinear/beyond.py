"""Non-linear estimators of objects that are not in memory: in files, or on a cluster.

Units, the population, the map and all that is searched for are learnt from at most `SAMPLE` objects, drawn
by their places in the whole. The convex stage sees every object: its features are made when it is read, by
blocks of rows of the whole, so that nothing depends on who reads how many at a time.
"""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ...data.gaussians import Gaussians
from ...exceptions import PopulationWarning
from ...outofcore.shards import group_rows
from ...propagate.features import FeatureMap
from ...support.losses import Task
from ...support.parallel import Team
from ...support.validation import Array, FloatArray
from .lift import POPULATION_ROWS, Lift, as_deployed
from .solving import Scores, Sums, exact_sums, stage_options

SAMPLE = POPULATION_ROWS
LEAST = 50  # objects of each class that a sample has, if there are so many
MANY = 2**25  # numbers from which on features are float32
STEP = 16_384  # objects whose features are summed up at a time
GROUPS = 64  # of rows, whose sums are added up in their order

Targets = Callable[[slice], Array]  # (problems, rows) of some rows


@dataclass
class Plan:
    """From objects to features, as all who have some do it."""

    lift: Lift
    feature_map: FeatureMap
    dtype: Any
    exact: bool  # second moments instead of features
    noise: Any  # of deployment
    copies: int
    drawn: bool  # points, where no population is learnt
    seed: int

    @property
    def certain(self) -> bool:
        """Whether nothing is drawn, so that blocks of rows do not matter."""
        return self.copies == 1 and self.noise is None and not self.drawn

    def seen(self, data: Gaussians, block: int) -> Gaussians:
        """The objects of a block as they will be seen."""
        drawn = np.random.SeedSequence([self.seed, block]).generate_state(1)[0]
        return as_deployed(data, self.noise, self.copies, int(drawn >> 1), drawn=self.drawn)

    def means(self, data: Gaussians, threads: int) -> Array:
        """E z of objects as they are seen."""
        out = np.empty((len(data), self.feature_map.outputs), dtype=self.dtype)
        for rows, objects in self.lift.batches(data):
            out[rows] = self.feature_map.mean(objects, self.dtype, threads)
        return out

    def features(self, data: Gaussians, first: int, size: int, threads: int) -> Gaussians:
        """The features of rows from `first` on, with all copies, block after block of `size` rows."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PopulationWarning)
            if self.certain:
                return Gaussians(self.means(data, threads))
            made = [
                self.means(self.seen(data[rows], k), threads) for k, rows in pieces(len(data), first, size)
            ]
        return Gaussians(np.concatenate(made))

    def of_copies(self, values: Array, size: int) -> Array:
        """What belongs to each object, for the features of all its copies."""
        if self.copies == 1:
            return values
        return np.concatenate(
            [np.tile(values[rows], self.copies) for _, rows in pieces(len(values), 0, size)]
        )

    def sums(
        self, data: Gaussians, targets: Array, weights: FloatArray, first: int, size: int, threads: int
    ) -> list[Sums]:
        """What the squared loss needs of each `size` rows, of those from `first` on."""
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PopulationWarning)
            for _, group in pieces(len(data), first, size):
                steps = (slice(at, min(at + STEP, group.stop)) for at in range(group.start, group.stop, STEP))
                parts = (
                    self._sums(
                        data[rows],
                        (first + rows.start) // STEP,
                        np.asarray(targets[:, rows], float),
                        weights[rows],
                        threads,
                    )
                    for rows in steps
                )
                found.append(reduce(add, parts))
        return found

    def _sums(
        self, data: Gaussians, block: int, targets: FloatArray, weights: FloatArray, threads: int
    ) -> Sums:
        if self.exact:
            return exact_sums(self.feature_map, self.lift.standard(data), targets, weights, threads)
        Z = self.means(self.seen(data, block), threads)
        with threadpool_limits(1, "blas"):  # whose sums depend on the number of threads
            return Sums.of_features(Z, np.tile(targets, self.copies), np.tile(weights, self.copies))


def pieces(count: int, first: int, size: int) -> Iterator[tuple[int, slice]]:
    """Blocks of `count` rows, the first of which is row `first`: (number in the whole, rows of these)."""
    for at in range(0, count, size):
        yield (first + at) // size, slice(at, min(at + size, count))


def sums_rows(count: int) -> int:
    """Rows whose sums of a squared loss are added up at a time."""
    return STEP * max(1, math.ceil(count / (STEP * GROUPS)))


def feature_group(plan: Plan, count: int) -> int:
    """Rows of `count` objects whose features, with all copies, are a group of the engine's."""
    like = Gaussians(np.zeros((1, plan.feature_map.outputs), dtype=plan.dtype))
    group = group_rows(like, count * plan.copies)
    return group // math.gcd(group, plan.copies)


class Elsewhere(ABC):
    """All objects of a fit, where they are not in memory."""

    count: int

    @abstractmethod
    def summed(self, plan: Plan, targets: Targets, weights: FloatArray, lam: float, threads: int) -> Scores:
        """The scores of the squared loss, by one reading of the objects; no feature is stored."""

    @abstractmethod
    def solved(self, plan: Plan, targets: Targets, weights: FloatArray, task: Task, options: Any) -> Scores:
        """The scores of the least objective."""


def scores_elsewhere(estimator: Any, data: Gaussians, copies: int, stage: Any, lam: float) -> Scores:
    """The convex stage of a non-linear estimator on all objects, where they are; `data` are the sample."""
    held, lift, outputs = estimator._elsewhere, estimator.lift_, estimator.map_.outputs
    noise, threads = estimator.deployment_cov, Team(estimator.threads).threads
    plan = Plan(
        lift,
        estimator.map_,
        np.dtype(np.float32 if held.count * copies * outputs > MANY else np.float64),
        estimator._is_exact(data, stage.loss),
        noise,
        copies,
        lift.population is None and (data.cov is not None or noise is not None),
        estimator._seed(),
    )
    targets, weights = estimator._targets_of_all()
    if stage.loss == "squared":
        return held.summed(plan, targets, weights, lam, threads)  # type: ignore[no-any-return]
    task: Task = "classification" if hasattr(estimator, "classes_") else "regression"
    options = stage_options(
        held.count * copies,
        lam,
        stage.loss,
        labelled=task == "classification",
        tol=estimator.tol,
        threads=threads,
        epsilon=getattr(stage, "epsilon", None),
    )
    return held.solved(plan, targets, weights, task, options)  # type: ignore[no-any-return]


def sample_of(count: int, most: int, seed: int, codes: Array | None = None) -> Array:
    """Places of objects, by the seed: all, or of many some, with `LEAST` of every class."""
    if count <= most:
        return np.arange(count)
    order = np.random.default_rng([seed, 4]).permutation(count)
    chosen, rest = [order[:most]], order[most:]
    if codes is not None:
        drawn = np.bincount(codes[chosen[0]], minlength=int(codes.max()) + 1)
        for k in np.flatnonzero(drawn < LEAST):
            chosen.append(rest[codes[rest] == k][: LEAST - drawn[k]])
    return np.sort(np.concatenate(chosen))


def sample_for(estimator: Any, weights: FloatArray, codes: Array | None = None) -> Array:
    """Places of the objects that all but the scores is learnt from; those without weight are left out."""
    counted = estimator._counted(weights)
    if counted is None:
        rows = sample_of(len(weights), SAMPLE, estimator._seed(), codes)
    else:
        some = None if codes is None else codes[counted]
        rows = counted[sample_of(len(counted), SAMPLE, estimator._seed(), some)]
    folds = estimator.cv
    if len(rows) < len(weights) and not isinstance(folds, int) and not hasattr(folds, "split"):
        raise ValueError(
            f"cv: lists of examples are for at most {SAMPLE} of them, got {len(weights)}; a number, a "
            "splitter or groups= will do"
        )
    return np.asarray(rows)
