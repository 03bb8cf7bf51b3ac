"""Members that are logistic regressions on expected features: λ by the folds, proven optima by the core."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ... import _core
from ...fit.options import Options
from ...support.validation import Array, FloatArray
from ..nodes import Node
from .inputs import View
from .task import Deadline, Folds, Task

SEARCH_TOL = 1e-3  # relative gaps of fits that only choose λ
TOL = 1e-6  # and of those that stay
WORSE = 1  # values of λ in a row that are worse than the best: the path ends
CHOICE_FOLDS = 2  # folds that choose among maps
ABSENT = -12.0  # the score of a class without samples in a fold
FEW_GROUPS = 50  # below, the largest λ within one standard error of the best is taken


class Features(Protocol):
    """What a member makes of a sample: a row of expected features."""

    def __call__(self, view: View, threads: int) -> FloatArray: ...

    def scores(self, view: View, W: FloatArray, threads: int) -> FloatArray: ...

    def state(self) -> dict[str, Any]: ...


@dataclass
class Scores:
    """f = W z + b, one row for each problem, with the proven gap of the worst."""

    W: FloatArray
    b: FloatArray
    gap: float = 0.0

    def __call__(self, Z: FloatArray) -> FloatArray:
        return np.asarray(Z @ self.W.T.astype(Z.dtype) + self.b, dtype=np.float64)


def log_probabilities(f: FloatArray) -> FloatArray:
    """Log-probabilities (l, K) of scores: one of two classes, one against the rest for each of more."""
    if f.shape[1] == 1:
        return np.concatenate([-np.logaddexp(0, f), -np.logaddexp(0, -f)], axis=1)
    logs = -np.logaddexp(0, -f)
    logs -= logs.max(axis=1, keepdims=True)
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))


class Solver:
    """Penalised logistic regressions on the same features, for several λ and parts of the samples."""

    def __init__(self, Z: Array, task: Task) -> None:
        self.task, self.width = task, Z.shape[1]
        self.means = _core.dense_means(np.ascontiguousarray(Z))

    def solve(
        self, rows: Array, lam: float, tol: float, deadline: Deadline, start: Scores | None = None
    ) -> Scores:
        """The scores of the least λ/2 ‖w‖² + mean loss over `rows`; of more classes one for each."""
        Y, weights = self.task.targets[rows], self.task.weights[rows]
        problems = [1] if Y.shape[1] == 2 else list(range(Y.shape[1]))
        W = np.zeros((len(problems), self.width))
        b = np.zeros(len(problems))
        worst = 0.0
        for i, k in enumerate(problems):
            # A sample counts for the class with y_k and against it with 1 - y_k; one of the two is mostly 0.
            c = np.concatenate([weights * Y[:, k], weights * (1 - Y[:, k])])
            counted = np.flatnonzero(c)
            signs = np.where(counted < len(rows), 1.0, -1.0)
            if (signs > 0).all() or (signs < 0).all():
                b[i] = -ABSENT if signs[0] > 0 else ABSENT
                continue
            c = c[counted]
            chosen = np.ascontiguousarray(rows[counted % len(rows)], dtype=np.int64)
            data = _core.labelled(self.means, (), signs, np.ascontiguousarray(c / c.mean()), chosen)
            options = Options(
                loss="logistic",
                tol=tol,
                threads=self.task.threads,
                max_time=deadline.left(),
            ).core(len(chosen), lam)
            at = () if start is None else (np.ascontiguousarray(start.W[i]), float(start.b[i]))
            found = _core.solve(data, options, None, *at)
            W[i], b[i] = found.w, found.b
            worst = max(worst, found.gap / found.objective if found.objective > 0 else 0.0)
        return Scores(W, b, worst)


@dataclass
class LogisticMember:
    """A logistic regression on one of several candidate maps, chosen with λ by held-out log-loss."""

    name: str
    uncertainties: bool  # whether standard errors are features
    candidates: list[Any]
    lams: FloatArray
    features: Any = None
    scores: Scores = field(default_factory=lambda: Scores(np.zeros((1, 1)), np.zeros(1)))
    lam: float = np.nan
    like: LogisticMember | None = None  # a member whose choice of a map is a guide
    choice: int = 0

    def learn(self, view: View, task: Task, deadline: Deadline) -> FloatArray:
        """Choose the map and λ, fit to all samples; returns the held-out log-probabilities (l, K)."""
        if self.like is not None:
            # A member of the same family was before: its map, or the next smoother one, will do.
            self.candidates = self.candidates[max(0, self.like.choice - 1) : self.like.choice + 1]
        losses: list[float] = []
        if len(self.candidates) > 1:
            for candidate in self.candidates:
                if losses and deadline.passed:
                    break
                Z = candidate(view, task.threads)
                losses.append(self._path(Z, task, task.folds[:CHOICE_FOLDS], self.lams[::2], deadline)[0])
        self.choice = int(np.argmin(losses)) if losses else 0
        self.features = self.candidates[self.choice]
        if self.like is not None:
            self.choice += max(0, self.like.choice - 1)
        Z = self.features(view, task.threads)
        _, held_out, self.lam, starts = self._path(Z, task, task.folds, self.lams, deadline)
        mean = Scores(np.mean([s.W for s in starts], axis=0), np.mean([s.b for s in starts], axis=0))
        self.scores = Solver(Z, task).solve(np.arange(len(Z)), self.lam, TOL, deadline, mean)
        self.candidates = [self.features]
        return held_out

    def refit(self, Z: Array, task: Task, deadline: Deadline) -> None:
        """Fit to other samples with the same map and λ, from where the last fit ended."""
        self.scores = Solver(Z, task).solve(np.arange(len(Z)), self.lam, TOL, deadline, self.scores)

    def _path(
        self, Z: FloatArray, task: Task, folds: Folds, lams: FloatArray, deadline: Deadline
    ) -> tuple[float, FloatArray, float, list[Scores]]:
        """Folds along the λ, from large to small, until the held-out loss rises."""
        solver = Solver(Z, task)
        starts: list[Any] = [None] * len(folds)
        tried: list[tuple[float, FloatArray, float, list[Scores]]] = []
        losses: list[FloatArray] = []
        for lam in lams.tolist():
            held_out = np.zeros_like(task.targets)
            for i, (known, out) in enumerate(folds):
                starts[i] = solver.solve(known, lam, SEARCH_TOL, deadline, starts[i])
                held_out[out] = log_probabilities(starts[i](Z[out]))
            losses.append(task.losses(held_out))
            tried.append((task.mean(losses[-1]), held_out, lam, list(starts)))
            best = min(range(len(tried)), key=lambda j: tried[j][0])
            if len(tried) - 1 - best >= WORSE or deadline.passed:
                break
        if task.independent < FEW_GROUPS:
            near = [
                j
                for j in range(best)
                if tried[j][0] - tried[best][0] <= task.standard_error(losses[j] - losses[best])
            ]
            best = near[0] if near else best
        return tried[best]

    def log_proba(self, view: View, threads: int) -> FloatArray:
        """Log-probabilities of the classes, (l, K)."""
        return log_probabilities(self.features.scores(view, self.scores.W, threads) + self.scores.b)

    def state(self) -> dict[str, Any]:
        return {
            "kind": "logistic",
            "name": self.name,
            "uncertainties": self.uncertainties,
            "lam": float(self.lam),
            "gap": float(self.scores.gap),
            "W": self.scores.W,
            "b": self.scores.b,
            "features": self.features.state(),
        }

    @classmethod
    def read(cls, node: Node, features: Any, outputs: int, classes: int) -> LogisticMember:
        """A member from a file, whose map has so many outputs."""
        problems = 1 if classes == 2 else classes
        scores = Scores(
            node.array("W", (problems, outputs)), node.array("b", (problems,)), node.number("gap", nan=True)
        )
        lam = node.number("lam", 0)
        return cls(
            node.text("name"), node.flag("uncertainties"), [features], np.array([lam]), features, scores, lam
        )
