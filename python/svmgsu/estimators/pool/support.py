"""Where the pool may be trusted: standard errors like those of the fit, values within its support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...fit.population import Observed
from ...support.validation import Array, FloatArray
from ..nodes import Node
from .inputs import Mixture, View, learn_mixture
from .task import Deadline, Task

COMPONENTS = 8
FLOOR = 0.01
LIMIT_FOLDS = 2  # folds whose held-out densities set the limit
UNLIKELY = 0.01  # the quantile of held-out densities below which a sample is unlike those of the fit
EVEN_SHARE = 0.1  # of even odds in the answer for a sample far outside the support


@dataclass
class Gate:
    """The joint density of values and standard errors; below `limit` standard errors are not to be used."""

    mixture: Mixture
    limit: float

    @classmethod
    def learn(cls, view: View, task: Task, seed: int, deadline: Deadline) -> Gate:
        """Fit the density, and its limit by held-out samples."""
        joint = _joint(view)
        least = min(len(known) for known, _ in task.folds)
        components = max(1, min(COMPONENTS, least // (2 * joint.values.shape[1])))
        logs = []
        for known, out in task.folds[:LIMIT_FOLDS]:
            inner = _learn(joint, components, seed, task.threads, deadline, known)
            logs.append(inner.log_density(joint.values[out]))
        mixture = _learn(joint, components, seed, task.threads, deadline, None)
        return cls(mixture, float(np.quantile(np.concatenate(logs), UNLIKELY)))

    def __call__(self, view: View) -> Array:
        """Whether the standard errors of a sample are unlike those of the fit, given its values."""
        return np.asarray(self.mixture.log_density(_joint(view).values) < self.limit)

    def state(self) -> dict[str, Any]:
        return {**self.mixture.state(), "limit": self.limit}

    @classmethod
    def read(cls, node: Node, inputs: int) -> Gate:
        return cls(Mixture.read(node, inputs), node.number("limit"))


def _joint(view: View) -> Observed:
    assert view.errors is not None
    return Observed(np.ascontiguousarray(np.hstack([view.points, view.errors])), None, None)


def _learn(
    joint: Observed, components: int, seed: int, threads: int, deadline: Deadline, rows: Array | None
) -> Mixture:
    return learn_mixture(
        joint, components, seed, threads, deadline, rows=rows, floor=FLOOR, tol=3e-3, steps=30
    )


def within_support(p: FloatArray, members: FloatArray, outside: FloatArray) -> FloatArray:
    """Probabilities drawn towards the members' mean and even odds, as far as a sample is `outside`.

    `p` are those of the pool, (l, K), `members` those of its members, (M, l, K).
    """
    o = outside[:, np.newaxis]
    fallback = (1 - EVEN_SHARE) * members.mean(axis=0) + EVEN_SHARE / p.shape[1]
    return np.asarray((1 - o) * p + o * fallback)
