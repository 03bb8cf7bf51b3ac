"""Class-wise deconvolution: the true values of each class, and Bayes' rule at each sample's noise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...fit.population import Observed
from ...support.validation import Array, FloatArray
from ..nodes import Node
from .inputs import Mixture, View, learn_mixture, taken
from .task import Deadline, Task
from .weights import classification_weights, log_pool

COMPONENTS = (1, 2, 3, 5, 8)
FLOOR = 0.03  # the least variance of a component, in units of the spread
STARTS = 3  # whose densities are averaged
CHOICE_FOLDS = 2  # folds that choose the number of components
EACH = 5  # samples that each component should have
WIDE_SHARE = 0.01
RARE = 1e-6  # the prior of a class without samples in a fold
CALIBRATION = 1e-4  # the penalty of temperature and biases

Classes = list[list[Mixture]]  # for each class its mixtures, one for each start


@dataclass
class ClasswiseMember:
    """p(y | x, Σ) ∝ π_y Σ_k π_yk N(x; μ_yk, S_yk + Σ), with a temperature and biases by held-out samples."""

    wide: Mixture  # a share of every class's density, for distant samples
    seed: int = 0
    name: str = "class-wise deconvolution"
    uncertainties: bool = False
    mixtures: Classes = field(default_factory=list)
    log_priors: FloatArray = field(default_factory=lambda: np.zeros(0))
    calibration: FloatArray = field(default_factory=lambda: np.zeros(0))
    components: int = 1

    def learn(self, view: View, task: Task, deadline: Deadline) -> FloatArray:
        """Choose the number of components, fit to all samples; returns held-out log-probabilities (l, K)."""
        assert task.base is not None
        count = len(task.base)
        smallest = int(np.count_nonzero(task.targets[:count], axis=0).min())
        parts = [known[known < count] for known, _ in task.folds]
        best = np.inf
        for components in COMPONENTS:
            if best < np.inf and (components * EACH > smallest or deadline.passed):
                break
            tried = [self._fit(task, known, components, 0, deadline) for known in parts[:CHOICE_FOLDS]]
            rows, logs = self._held_out(view, task, tried)
            pooled = log_pool(_with_biases(logs), self._calibrate(logs, task, rows))
            loss = -float(task.weights[rows] @ (task.targets[rows] * pooled).sum(axis=1))
            if loss > best:
                break
            best, self.components = loss, components
        everyone = np.arange(count)
        fits: list[Classes] = []
        for known in [*parts, everyone]:
            one = self._fit(task, known, self.components, 0, deadline)
            for start in range(1, STARTS if self.components > 1 else 1):
                if not deadline.passed:
                    more = self._fit(task, known, self.components, start, deadline)
                    one = [[*a, *b] for a, b in zip(one, more, strict=True)]
            fits.append(one)
        self.mixtures = fits.pop()
        self.log_priors = _log_priors(task, everyone)
        rows, logs = self._held_out(view, task, fits)
        self.calibration = self._calibrate(logs, task, rows)
        held_out = np.empty_like(task.targets)
        held_out[rows] = log_pool(_with_biases(logs), self.calibration)
        return held_out

    def _fit(self, task: Task, rows: Array, components: int, start: int, deadline: Deadline) -> Classes:
        """A mixture for each class, of some of the samples; a class without any has none."""
        assert task.base is not None
        found: Classes = []
        for k in range(task.targets.shape[1]):
            counts = task.weights[rows] * task.targets[rows, k]
            own = rows[counts > 0]
            if not len(own):
                found.append([])
                continue
            counts = task.weights * task.targets[:, k]
            even = bool((counts[own] == counts[own[0]]).all())
            mixture = learn_mixture(
                task.base,
                max(1, min(components, len(own) // EACH)),
                self.seed + 1000 * start + k,
                task.threads,
                deadline,
                rows=own,
                weights=None if even else counts[: len(task.base)],
                floor=FLOOR,
                tol=3e-3,
                steps=50,
            )
            found.append([mixture])
        return found

    def _held_out(self, view: View, task: Task, fits: list[Classes]) -> tuple[Array, FloatArray]:
        """Held-out samples of the first folds, and their log-probabilities without calibration."""
        assert task.base is not None
        found = []
        for mixtures, (known, held) in zip(fits, task.folds, strict=False):
            logs = self._densities(taken(view.seen, held), mixtures, task.threads)
            found.append(logs + _log_priors(task, known[known < len(task.base)]))
        return np.concatenate([held for _, held in task.folds[: len(fits)]]), np.concatenate(found)

    def _densities(self, seen: Observed, mixtures: Classes, threads: int) -> FloatArray:
        """Log-densities of samples in each class, (l, K)."""
        far = self.wide.posterior(seen, threads, False)[0] + np.log(WIDE_SHARE)
        out = np.empty((len(seen), len(mixtures)))
        for k, starts in enumerate(mixtures):
            logs = far
            for mixture in starts:
                one = mixture.posterior(seen, threads, False)[0] + np.log((1 - WIDE_SHARE) / len(starts))
                logs = np.logaddexp(logs, one)
            out[:, k] = logs
        return out

    def _calibrate(self, logs: FloatArray, task: Task, rows: Array) -> FloatArray:
        """A temperature and a bias for each class of the least held-out loss."""
        targets, weights = task.targets[rows], task.weights[rows]
        return classification_weights(_with_biases(logs), targets, weights, CALIBRATION).values

    def log_proba(self, view: View, threads: int) -> FloatArray:
        """Log-probabilities of the classes, (l, K)."""
        logs = self._densities(view.seen, self.mixtures, threads) + self.log_priors
        return log_pool(_with_biases(logs), self.calibration)

    def state(self) -> dict[str, Any]:
        return {
            "kind": "classwise",
            "name": self.name,
            "wide": self.wide.state(),
            "mixtures": [[mixture.state() for mixture in starts] for starts in self.mixtures],
            "log_priors": self.log_priors,
            "calibration": self.calibration,
            "components": self.components,
        }

    @classmethod
    def read(cls, node: Node, n: int, classes: int) -> ClasswiseMember:
        """A member from a file."""
        lists = node.tree.get("mixtures")
        if (
            not isinstance(lists, list)
            or len(lists) != classes
            or not all(isinstance(s, list) for s in lists)
        ):
            raise node.wrong("mixtures", f"mixtures of {classes} classes", lists)
        place = f"{node.place}.mixtures"
        mixtures = [
            [Mixture.read(Node(tree, node.arrays, node.file, place), n) for tree in starts]
            for starts in lists
        ]
        calibration = node.array("calibration", (classes + 1,))
        if (calibration < 0).any():
            raise node.wrong("calibration", "numbers >= 0", calibration.tolist())
        return cls(
            Mixture.read(node.part("wide"), n),
            name=node.text("name"),
            mixtures=mixtures,
            log_priors=node.array("log_priors", (classes,)),
            calibration=calibration,
            components=node.count("components", 1),
        )


def _with_biases(logs: FloatArray) -> FloatArray:
    """Scores of a pool whose weights are a temperature and one bias for each class, (1 + K, l, K).

    Biases only count up to a constant, so that weights >= 0 are no restriction.
    """
    count, K = logs.shape
    logs = logs - logs.max(axis=1, keepdims=True)
    return np.concatenate([logs[np.newaxis], np.broadcast_to(np.eye(K)[:, np.newaxis], (K, count, K))])


def _log_priors(task: Task, rows: Array) -> FloatArray:
    mass = task.weights[rows] @ task.targets[rows]
    return np.asarray(np.log(np.maximum(mass / mass.sum(), RARE)))
