"""Members for summaries of many instances: covariances are the samples' own spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...support.validation import Array, FloatArray
from .deconvolved import CLASS_FLOOR, DensityMember
from .mixture import Mixture
from .samples import Deadline, Task

BANDWIDTHS = (0.01, 0.03, 0.1, 0.3, 1.0)  # variances, in units of the spread


@dataclass
class QuadraticDiscriminant(DensityMember):
    """A Gaussian for each class, with the exact moments of its samples' instances."""

    def _settings(self, task: Task) -> list[float]:
        return [CLASS_FLOOR]

    def _fit(
        self, task: Task, rows: Array, setting: float, starts: int, deadline: Deadline
    ) -> list[list[Mixture]]:
        """Return a Gaussian for each class; `setting` is its least variance in any direction."""
        found: list[list[Mixture]] = []
        for weights, means, covs in _classes(task, rows):
            found.append([])
            if len(weights):
                mean = weights @ means
                away = means - mean
                total = np.einsum("i,ijk->jk", weights, covs) + (away * weights[:, np.newaxis]).T @ away
                values, vectors = np.linalg.eigh(total)
                cov = (vectors * np.maximum(values, setting)) @ vectors.T
                found[-1].append(Mixture(np.ones(1), mean[np.newaxis], (cov + cov.T)[np.newaxis] / 2))
        return found


@dataclass
class OwnCovariances(DensityMember):
    """The density of a class is the mean of its samples' own Gaussians N(m_i, Σ_i + h² I)."""

    def _settings(self, task: Task) -> list[float]:
        return list(BANDWIDTHS)

    def _fit(
        self, task: Task, rows: Array, setting: float, starts: int, deadline: Deadline
    ) -> list[list[Mixture]]:
        """Return the samples' Gaussians, class by class; `setting` is h²."""
        return [
            [Mixture(weights, means, covs + setting * np.eye(means.shape[1]))] if len(weights) else []
            for weights, means, covs in _classes(task, rows)
        ]


def _classes(task: Task, rows: Array) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Return weights, means and covariances of the samples of each class whose instances are `rows`."""
    assert task.summaries is not None
    count = len(task.summaries)
    chosen = np.unique(rows % count)
    n = task.summaries.values.shape[1]
    found = []
    for k in range(task.targets.shape[1]):
        counts = task.weights[:count] * task.targets[:count, k]
        own = chosen[counts[chosen] > 0]
        some = task.summaries.take(own)
        covs = np.zeros((len(own), n, n))
        if some.cov is not None and len(own):
            covs = np.asarray(some.cov.to_full(len(own), n), dtype=np.float64)
        found.append((counts[own] / max(counts[own].sum(), 1e-300), some.values, covs))
    return found
