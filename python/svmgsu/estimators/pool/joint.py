"""Joint deconvolution of values and target: the conditional mean and variance at each sample's noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...data.covariances import Diagonal
from ...fit.population import Observed
from ...support.validation import Array, FloatArray
from ..nodes import Node
from .inputs import Mixture, View, learn_mixture, taken
from .task import Deadline, Task

COMPONENTS = (1, 2, 3, 5, 8, 12)
FLOOR = 0.01  # the least variance of a component, in units of the spread
STARTS = 5  # whose conditional means are averaged
EACH = 5  # samples for each feature that a component should have
CHOICE_FOLDS = 2
ROWS = 4096  # samples at a time: their posteriors have a matrix for each component


@dataclass
class JointMember:
    """E[y | x, Σ] and Var[y | x, Σ] of a mixture of Gaussians for (x, y): y is missing in new samples."""

    seed: int = 0
    name: str = "joint deconvolution"
    uncertainties: bool = False
    smooth: bool = False
    mixtures: list[Mixture] = field(default_factory=list)
    components: int = 1
    variance: FloatArray = field(default_factory=lambda: np.zeros(0))  # held out, of the last `learn`

    def learn(self, view: View, task: Task, deadline: Deadline) -> FloatArray:
        """Choose the number of components, fit to all samples; returns the held-out predictions (l,)."""
        assert task.base is not None
        count = len(task.base)
        joint = _joined(task.base, task.targets[:count, 0], task.targets[:count, 1])
        parts = [known[known < count] for known, _ in task.folds]
        best = np.inf
        for components in COMPONENTS:
            if best < np.inf and (components * EACH * joint.values.shape[1] > count or deadline.passed):
                break
            loss = 0.0
            for known, (_, out) in zip(parts[:CHOICE_FOLDS], task.folds, strict=False):
                one = self._fit(joint, task, known, components, 0, deadline)
                mean, _ = _conditional(taken(view.seen, out), [one], task.threads)
                loss += float(task.weights[out] @ (task.targets[out, 0] - mean) ** 2)
            if loss > best:
                break
            best, self.components = loss, components
        everyone = np.arange(count)
        fits: list[list[Mixture]] = []
        for known in [*parts, everyone]:
            fits.append([self._fit(joint, task, known, self.components, 0, deadline)])
            for start in range(1, STARTS if self.components > 1 else 1):
                if not deadline.passed:
                    fits[-1].append(self._fit(joint, task, known, self.components, start, deadline))
        self.mixtures = fits.pop()
        held_out = np.empty(len(view))
        self.variance = np.empty(len(view))
        for mixtures, (_, out) in zip(fits, task.folds, strict=True):
            held_out[out], self.variance[out] = _conditional(taken(view.seen, out), mixtures, task.threads)
        return held_out

    def _fit(
        self, joint: Observed, task: Task, rows: Array, components: int, start: int, deadline: Deadline
    ) -> Mixture:
        counts = task.weights[: len(joint)]
        even = bool((counts == counts[0]).all())
        return learn_mixture(
            joint,
            max(1, min(components, len(rows) // 2)),
            self.seed + 1000 * start,
            task.threads,
            deadline,
            rows=rows,
            weights=None if even else counts,
            floor=FLOOR,
            tol=1e-3,
            steps=100,
        )

    def predict(self, view: View, threads: int) -> FloatArray:
        """Predictions (l,); variances, which cost more, are computed where `moments` asks for them."""
        if ("joint",) in view.cache:
            return np.asarray(view.cache["joint",][0])
        return _conditional(view.seen, self.mixtures, threads, False)[0]

    def moments(self, view: View, threads: int) -> tuple[FloatArray, FloatArray]:
        """Conditional means and variances (l,)."""
        key = ("joint",)
        if key not in view.cache:
            view.cache[key] = np.stack(_conditional(view.seen, self.mixtures, threads))
        return view.cache[key][0], view.cache[key][1]

    def state(self) -> dict[str, Any]:
        return {
            "kind": "joint",
            "name": self.name,
            "components": self.components,
            "mixtures": [mixture.state() for mixture in self.mixtures],
        }

    @classmethod
    def read(cls, node: Node, n: int) -> JointMember:
        """A member from a file."""
        trees = node.tree.get("mixtures")
        if not isinstance(trees, list) or not trees:
            raise node.wrong("mixtures", "a list of mixtures", trees)
        place = f"{node.place}.mixtures"
        found = [Mixture.read(Node(tree, node.arrays, node.file, place), n + 1) for tree in trees]
        return cls(name=node.text("name"), mixtures=found, components=node.count("components", 1))


def _joined(seen: Observed, targets: FloatArray, noise: FloatArray | None = None) -> Observed:
    """Samples with their targets as one more feature, which have `noise`; NaN is a missing one."""
    n = seen.values.shape[1]
    cov = None if seen.cov is None else seen.cov.map(np.eye(n + 1, n))
    if noise is not None and noise.any():
        own = Diagonal(np.column_stack([np.zeros((len(seen), n)), noise]))
        cov = own if cov is None else cov + own
    return Observed(np.ascontiguousarray(np.column_stack([seen.values, targets])), cov, None)


def _conditional(
    seen: Observed, mixtures: list[Mixture], threads: int, spreads: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Means and variances of the target, averaged over mixtures; without `spreads` the means alone count."""
    means = np.empty((len(mixtures), len(seen)))
    variances = np.empty_like(means)
    for first in range(0, len(seen), ROWS):
        rows = np.arange(first, min(len(seen), first + ROWS))
        part = _joined(taken(seen, rows), np.full(len(rows), np.nan))
        for i, mixture in enumerate(mixtures):
            found = mixture.posterior(part, threads, True, spreads)
            r, m = found[2], found[3][:, :, -1]
            v = found[4][:, :, -1, -1] if spreads else 0.0
            means[i, rows] = (r * m).sum(axis=1)
            variances[i, rows] = (r * (v + m**2)).sum(axis=1) - means[i, rows] ** 2
    return means.mean(axis=0), np.maximum(variances.mean(axis=0) + means.var(axis=0), 1e-12)
