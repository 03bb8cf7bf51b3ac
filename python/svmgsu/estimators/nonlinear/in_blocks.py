"""Objects in files, for non-linear estimators: features are made as the blocks are read, and never stored."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ...data.concatenation import concatenate
from ...data.gaussians import Gaussians
from ...data.soft_labels import has_soft_labels, read_labels
from ...outofcore.blocks import Blocks, RepeatedBlocks
from ...outofcore.shards import Shard, mapped
from ...outofcore.training import COPIES, OF_EXAMPLE, labels_of_blocks, one_after_another, weights_of_blocks
from ...support.losses import Task
from ...support.memory import in_words
from ...support.validation import Array, FloatArray
from ..classifier import labels_of
from .base import groups_of
from .beyond import STEP, Elsewhere, Plan, Targets, feature_group, sums_rows
from .solving import Scores, Sums, solve_each


@dataclass
class _Part:
    """The features of some rows, made anew for each question."""

    blocks: Blocks
    rows: slice
    plan: Plan
    size: int
    targets: Array
    weights: FloatArray | None
    task: Task
    threads: int

    def made(self) -> Shard:
        data = self.blocks[self.rows]
        features = self.plan.features(data, self.rows.start, self.size, self.threads)
        own = None if self.weights is None else self.plan.of_copies(self.weights, self.size)
        return Shard(features, self.plan.of_copies(self.targets, self.size), own, self.task, self.threads)


class InBlocks(Elsewhere):
    """Objects in blocks of files."""

    def __init__(self, blocks: Blocks) -> None:
        blocks.check()
        self.blocks, self.count = blocks, len(blocks)

    def take(self, rows: Array) -> Gaussians:
        """Objects, by increasing places in the whole."""
        found: list[Gaussians] = []
        for span in self.blocks.spans():
            own = rows[np.searchsorted(rows, span.start) : np.searchsorted(rows, span.stop)]
            if len(own):
                found.append(self.blocks[span][own - span.start])
        return found[0] if len(found) == 1 else concatenate(found)

    def summed(self, plan: Plan, targets: Targets, weights: FloatArray, lam: float, threads: int) -> Scores:
        size = sums_rows(self.count)
        groups = []
        for group in range(0, self.count, size):
            parts = []
            for first in range(group, min(group + size, self.count), STEP):
                rows = slice(first, min(first + STEP, self.count))
                own = targets(rows), weights[rows], first, STEP, threads
                parts += plan.sums(self.blocks[rows], *own)
            groups.append(reduce(add, parts))
        total: Sums = reduce(add, groups)
        return total.ridge(lam)

    def solved(self, plan: Plan, targets: Targets, weights: FloatArray, task: Task, options: Any) -> Scores:
        size = feature_group(plan, self.count)
        step = size * self._groups_at_a_time(plan, size)
        spans = [slice(a, min(a + step, self.count)) for a in range(0, self.count, step)]
        c = None if not np.ptp(weights) else weights / weights.mean()

        def core_of(k: int) -> Any:
            parts = [
                _Part(
                    self.blocks,
                    rows,
                    plan,
                    size,
                    targets(rows)[k],
                    None if c is None else c[rows],
                    task,
                    options.threads,
                )
                for rows in spans
            ]
            return mapped(one_after_another, parts)

        return solve_each(core_of, len(targets(slice(0, 1))), plan.feature_map.outputs, options)

    def _groups_at_a_time(self, plan: Plan, size: int) -> int:
        """As many groups of `size` rows as there is memory for; too little is an error."""
        row = self.blocks.row_bytes + plan.copies * plan.feature_map.outputs * plan.dtype.itemsize
        fixed = OF_EXAMPLE * self.count * plan.copies
        least, memory = COPIES * size * row + fixed, self.blocks.memory
        if memory < least:
            raise ValueError(
                f"memory: {in_words(memory)} ({memory} bytes) are too few for {plan.feature_map.outputs} "
                f"features of {self.count} examples made as they are read; at least {least} bytes "
                f"({in_words(least)}) are needed"
            )
        return int(max(1, min((memory - fixed) // (COPIES * size * row), -(-self.count // size))))


def labelled(X: Any, y: Any, sample_weight: Any, groups: Any, classes: Any, doubt: str) -> tuple[Any, ...]:
    """(blocks, classes, codes, weights, groups) of y or of what the files have."""
    given, groups = weights_of_blocks(X, sample_weight), groups_of(groups, len(X))
    if y is None and X.classes is not None:
        y, classes = X.labels(), X.classes if classes is None else classes
    if y is None or not has_soft_labels(y):
        if classes is not None:
            raise ValueError("classes: they name the columns of class probabilities, and y has none")
        return X, *labels_of_blocks(X, None if y is None else labels_of(y)), given, groups
    if doubt == "error":
        raise ValueError('doubt: "error" is for examples in memory; blocks take "share", the expected loss')
    names, codes, each = read_labels(y, len(X), classes)
    given = each.weights(given)
    if each.source is not None:  # all copies of an example stay on one side of a fold
        groups = each.source if groups is None else groups[each.source]
        X = RepeatedBlocks(X, each.source)
    return X, names, codes, given, groups
