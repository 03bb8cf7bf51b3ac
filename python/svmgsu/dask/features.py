"""The convex stage of non-linear estimators on a cluster: features are made where the objects are."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ..data.gaussians import Gaussians
from ..engines.shards import Shard as Part
from ..engines.shards import mapped
from ..estimators.nonlinear.beyond import Elsewhere, Plan, Targets, feature_group, sums_rows
from ..estimators.nonlinear.solving import Scores, Sums, solve_each
from ..support.losses import Task
from ..support.validation import Array, FloatArray
from .rounds import threads_here
from .shards import Layout
from .training import DaskMap


def features_of(data: Gaussians, plan: Plan, first: int, size: int) -> Gaussians:
    """Task: the features of a shard, block after block."""
    return plan.features(data, first, size, threads_here())


def feature_part(
    features: Gaussians, targets: Array, weights: Array | None, task: Task, plan: Plan, size: int
) -> Part:
    """Task: a shard as the engine wants it."""
    own = None if weights is None else plan.of_copies(weights, size)
    each = plan.of_copies(targets, size)
    return Part(features, each, own, task, threads=threads_here(), keeps=True)


def sums_of(
    data: Gaussians, plan: Plan, targets: Array, weights: FloatArray, first: int, size: int
) -> list[Sums]:
    """Task: the sums of each `size` rows of a shard."""
    return plan.sums(data, targets, weights, first, size, threads_here())


class OnWorkers(Elsewhere):
    """Objects on the workers of a cluster."""

    def __init__(self, held: Layout) -> None:
        self.held, self.count = held, held.count

    def summed(self, plan: Plan, targets: Targets, weights: FloatArray, lam: float, threads: int) -> Scores:
        held, size = self.held, sums_rows(self.count)
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

    def solved(self, plan: Plan, targets: Targets, weights: FloatArray, task: Task, options: Any) -> Scores:
        """The workers keep the features, and answer as linear ones do."""
        held, size = self.held, feature_group(plan, self.count)
        cut = held.cut(size)
        rows, many = [slice(s.first, s.last) for s in cut], len(cut)
        shards = held.rounds.make(features_of, cut, [plan] * many, [s.first for s in cut], [size] * many)
        c = None if not np.ptp(weights) else weights / weights.mean()

        def core_of(k: int) -> Any:
            parts = held.rounds.make(
                feature_part,
                shards,
                [targets(own)[k] for own in rows],
                [None if c is None else c[own] for own in rows],
                [task] * many,
                [plan] * many,
                [size] * many,
            )
            return mapped(DaskMap(held.rounds), parts).core

        return solve_each(core_of, len(targets(slice(0, 1))), plan.feature_map.outputs, options)
