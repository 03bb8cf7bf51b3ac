"""The convex stage of non-linear estimators on a cluster: features are made where the objects are.

Whatever is drawn or summed up goes by blocks of rows of the whole, so that it does not depend on the workers.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ..data.gaussians import Gaussians
from ..engines.shards import Shard as Part
from ..engines.shards import group_rows, mapped
from ..estimators.nonlinear.base import exact_sums
from ..estimators.nonlinear.lift import Lift, as_deployed
from ..estimators.nonlinear.solving import Scores, Sums, solve_each
from ..fit.support import PopulationWarning
from ..maps.features import FeatureMap
from ..support.losses import Task
from ..support.validation import Array, FloatArray
from .rounds import threads_here
from .shards import Layout
from .training import DaskMap

STEP = 16_384  # objects whose features are summed up at a time
GROUPS = 64  # of rows, whose sums come to the client


@dataclass
class Plan:
    """From objects to features, as all workers do it."""

    lift: Lift
    feature_map: FeatureMap
    dtype: Any
    exact: bool  # second moments instead of features
    noise: Any  # of deployment
    copies: int
    drawn: bool  # points, where no population is learnt
    seed: int

    def seen(self, data: Gaussians, block: int) -> Gaussians:
        """The objects of a block as they will be seen."""
        drawn = np.random.SeedSequence([self.seed, block]).generate_state(1)[0]
        return as_deployed(data, self.noise, self.copies, int(drawn >> 1), drawn=self.drawn)

    def features(self, data: Gaussians, threads: int) -> Array:
        """E z of objects as they are seen."""
        out = np.empty((len(data), self.feature_map.outputs), dtype=self.dtype)
        for rows, objects in self.lift.batches(data):
            out[rows] = self.feature_map.mean(objects, self.dtype, threads)
        return out

    def sums(self, data: Gaussians, block: int, targets: FloatArray, weights: FloatArray) -> Sums:
        """What the squared loss needs of a block."""
        threads = threads_here()
        if self.exact:
            return exact_sums(self.feature_map, self.lift.standard(data), targets, weights, threads)
        Z = self.features(self.seen(data, block), threads)
        with threadpool_limits(1, "blas"):  # whose sums depend on the number of threads
            return Sums.of_features(Z, np.tile(targets, self.copies), np.tile(weights, self.copies))


def blocks(data: Any, first: int, size: int) -> Iterator[tuple[int, slice]]:
    """The blocks of a shard that begins at row `first`: (number in the whole, rows of the shard)."""
    for at in range(0, len(data), size):
        yield (first + at) // size, slice(at, min(at + size, len(data)))


def features_of(data: Gaussians, plan: Plan, first: int, size: int) -> Gaussians:
    """Task: the features of a shard, block after block."""
    threads = threads_here()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PopulationWarning)
        if plan.copies == 1 and plan.noise is None and not plan.drawn:
            return Gaussians(plan.features(data, threads))
        made = [plan.features(plan.seen(data[rows], k), threads) for k, rows in blocks(data, first, size)]
    return Gaussians(np.concatenate(made))


def feature_part(
    features: Gaussians, targets: Array, weights: Array | None, task: Task, copies: int, size: int
) -> Part:
    """Task: a shard as the engine wants it."""

    def each(values: Array) -> Array:
        if copies == 1:
            return values
        return np.concatenate([np.tile(values[rows], copies) for _, rows in blocks(values, 0, size)])

    own = None if weights is None else each(weights)
    return Part(features, each(targets), own, task, threads=threads_here(), keeps=True)


def sums_of(
    data: Gaussians, plan: Plan, targets: Array, weights: FloatArray, first: int, size: int
) -> list[Sums]:
    """Task: the sums of each `size` rows of a shard."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PopulationWarning)
        for _, group in blocks(data, first, size):
            steps = (slice(at, min(at + STEP, group.stop)) for at in range(group.start, group.stop, STEP))
            parts = (
                plan.sums(
                    data[rows],
                    (first + rows.start) // STEP,
                    np.asarray(targets[:, rows], float),
                    weights[rows],
                )
                for rows in steps
            )
            found.append(reduce(add, parts))
    return found


Targets = Callable[[slice], Array]  # (problems, rows) of some rows


def summed(held: Layout, plan: Plan, targets: Targets, weights: FloatArray, lam: float) -> Scores:
    """The scores of the squared loss, by one reading of the objects; no feature is stored."""
    size = STEP * max(1, math.ceil(held.count / (STEP * GROUPS)))
    shards = held.cut(size)
    rows = [slice(shard.first, shard.last) for shard in shards]
    found = held.rounds.ask(
        sums_of,
        shards,
        [plan] * len(shards),
        [targets(each) for each in rows],
        [weights[each] for each in rows],
        [shard.first for shard in shards],
        [size] * len(shards),
    )
    total: Sums = reduce(add, (group for groups in found for group in groups))
    return total.ridge(lam)


def solved(
    held: Layout, plan: Plan, targets: Targets, weights: FloatArray, task: Task, options: Any
) -> Scores:
    """The scores of the least objective; the workers keep the features, and answer as linear ones do."""
    like = Gaussians(np.zeros((1, plan.feature_map.outputs), dtype=plan.dtype))
    group = group_rows(like, held.count * plan.copies)
    size = group // math.gcd(group, plan.copies)
    cut = held.cut(size)
    firsts, many = [s.first for s in cut], len(cut)
    shards = held.rounds.make(features_of, cut, [plan] * many, firsts, [size] * many)
    c = None if not np.ptp(weights) else weights / weights.mean()
    problems = len(targets(slice(0, 1)))

    def core_of(k: int) -> Any:
        rows = [slice(s.first, s.last) for s in shards]
        parts = held.rounds.make(
            feature_part,
            shards,
            [targets(own)[k] for own in rows],
            [None if c is None else c[own] for own in rows],
            [task] * many,
            [plan.copies] * many,
            [size] * many,
        )
        return mapped(DaskMap(held.rounds), parts).core

    return solve_each(core_of, problems, plan.feature_map.outputs, options)
