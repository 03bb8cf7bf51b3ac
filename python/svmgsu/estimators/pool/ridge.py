"""Members that are ridge regressions on expected features: λ by the folds, every λ from one decomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...support.validation import FloatArray
from ..nodes import Node
from .inputs import View
from .task import Deadline, Task


@dataclass
class Sums:
    """Weighted sums over samples that a squared loss needs; they add."""

    gram: FloatArray  # Σ c u uᵀ with u = (z, 1)
    cross: FloatArray  # Σ c u y

    @classmethod
    def of(cls, Z: FloatArray, y: FloatArray, weights: FloatArray) -> Sums:
        u = np.column_stack([Z, np.ones(len(Z))])
        weighted = u * weights[:, np.newaxis]
        return cls(weighted.T @ u, weighted.T @ y)

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.gram + other.gram, self.cross + other.cross)

    def __sub__(self, other: Sums) -> Sums:
        return Sums(self.gram - other.gram, self.cross - other.cross)

    def ridge(self, lams: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(W, b) of the least λ/2 ‖w‖² + mean of (y - w·z - b)²/2, one row for each λ."""
        mass = self.gram[-1, -1]
        mean, centre = self.gram[:-1, -1] / mass, self.cross[-1] / mass
        A = self.gram[:-1, :-1] / mass - np.outer(mean, mean)
        values, vectors = np.linalg.eigh(A)
        along = vectors.T @ (self.cross[:-1] / mass - centre * mean)
        W = (along / (np.maximum(values, 0.0) + lams[:, np.newaxis])) @ vectors.T
        return W, centre - W @ mean


@dataclass
class RidgeMember:
    """A ridge regression on one of several candidate maps, chosen with λ by held-out squared error."""

    name: str
    uncertainties: bool  # whether standard errors are features
    smooth: bool  # whether it answers for samples outside the support
    candidates: list[Any]
    lams: FloatArray
    features: Any = None
    w: FloatArray | None = None
    b: float = 0.0
    lam: float = np.nan

    def learn(self, view: View, task: Task, deadline: Deadline) -> FloatArray:
        """Choose the map and λ, fit to all samples; returns the held-out predictions (l,)."""
        best = np.inf
        held_out = np.zeros(len(view))
        y = task.targets[:, 0]
        for candidate in self.candidates:
            if best < np.inf and deadline.passed:
                break
            Z = candidate(view, task.threads)
            parts = [Sums.of(Z[out], y[out], task.weights[out]) for _, out in task.folds]
            total = parts[0]
            for part in parts[1:]:
                total = total + part
            found = np.empty((len(self.lams), len(view)))
            for part, (_, out) in zip(parts, task.folds, strict=True):
                W, b = (total - part).ridge(self.lams)
                found[:, out] = W @ Z[out].T + b[:, np.newaxis]
            losses = [task.mean(task.losses(one)) for one in found]
            place = int(np.argmin(losses))
            if losses[place] < best:
                best, held_out, self.features, self.lam = (
                    losses[place],
                    found[place],
                    candidate,
                    self.lams[place],
                )
                self.refit(total)
        self.candidates = [self.features]
        return held_out

    def refit(self, sums: Sums) -> None:
        """Fit to the samples of the sums with the same λ."""
        W, b = sums.ridge(np.array([self.lam]))
        self.w, self.b = W[0], float(b[0])

    def predict(self, view: View, threads: int) -> FloatArray:
        """Predictions (l,)."""
        assert self.w is not None
        return np.asarray(self.features.scores(view, self.w[np.newaxis], threads)[:, 0] + self.b)

    def state(self) -> dict[str, Any]:
        return {
            "kind": "ridge",
            "name": self.name,
            "uncertainties": self.uncertainties,
            "smooth": self.smooth,
            "lam": float(self.lam),
            "w": self.w,
            "b": self.b,
            "features": self.features.state(),
        }

    @classmethod
    def read(cls, node: Node, features: Any, outputs: int) -> RidgeMember:
        """A member from a file, whose map has so many outputs."""
        lam = node.number("lam", 0)
        flags = node.flag("uncertainties"), node.flag("smooth")
        w, b = node.array("w", (outputs,)), node.number("b")
        return cls(node.text("name"), *flags, [features], np.array([lam]), features, w, b, lam)
