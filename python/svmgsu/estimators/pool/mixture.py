"""Mixtures of Gaussians with full covariances: the population, classes, and what the gate knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _core
from ...support.validation import Array, FloatArray
from ..observations import Observed


@dataclass
class Mixture:
    """A mixture of Gaussians in standardised features."""

    weights: FloatArray  # (K,)
    means: FloatArray  # (K, n)
    covs: FloatArray  # (K, n, n)

    def check(self) -> None:
        """Raise ValueError unless this is a mixture; for those read from files."""
        K, n = self.means.shape
        if self.weights.shape != (K,) or self.covs.shape != (K, n, n):
            raise ValueError("expected weights, means and covariances of as many components")
        if (self.weights < 0).any() or abs(self.weights.sum() - 1) > 1e-6:
            raise ValueError("expected weights >= 0 that sum to 1")
        if not np.allclose(self.covs, self.covs.transpose(0, 2, 1), rtol=1e-8):
            raise ValueError("expected symmetric covariances")
        np.linalg.cholesky(self.covs)

    def posterior(
        self, seen: Observed, threads: int, moments: bool, covariances: bool = True
    ) -> tuple[FloatArray, ...]:
        """Return log-densities, distances, responsibilities, and with `moments` means and covariances."""
        n = self.means.shape[1]
        core = _core.Mixture(self.weights, self.means, self.covs)
        units = _core.Units(np.zeros(n), np.ones(n))
        return _core.posterior(seen.core(), units, core, threads, moments, covariances)

    def log_density(self, seen: Observed, threads: int) -> FloatArray:
        """Return the log-density of each sample at its own noise."""
        X = seen.values
        if seen.cov is not None or np.isnan(X).any():
            return self.posterior(seen, threads, False)[0]
        # Without noise each covariance is factored once for all samples.
        K, n = self.means.shape
        roots = np.linalg.cholesky(self.covs)
        inverse = np.linalg.inv(roots)
        scale = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1) + 0.5 * n * np.log(2 * np.pi)
        offset = np.einsum("kij,kj->ki", inverse, self.means).ravel()
        logs = np.empty((len(X), K))
        step = max(1, 2**22 // (K * n))
        for first in range(0, len(X), step):
            away = X[first : first + step] @ inverse.reshape(K * n, n).T - offset
            away = away.reshape(-1, K, n)
            logs[first : first + step] = -0.5 * np.einsum("lki,lki->lk", away, away)
        logs += np.log(np.maximum(self.weights, 1e-300)) - scale
        return np.asarray(np.logaddexp.reduce(logs, axis=1))


def learn_mixtures(
    seen: Observed,
    components: int,
    seed: int,
    threads: int,
    deadline: Callable[[Any], bool],
    *,
    rows: Array | None = None,
    weights: FloatArray | None = None,
    starts: int = 1,
    floor: float = 1e-6,
    tol: float = 1e-4,
    steps: int = 500,
) -> list[Mixture]:
    """Fit a mixture to some samples by extreme deconvolution, from each start; without samples there is none.

    `weights` are those of all samples.
    """
    if rows is not None and not len(rows):
        return []
    n = seen.values.shape[1]
    units = _core.Units(np.zeros(n), np.ones(n))
    if weights is not None and (weights == weights[0]).all():
        weights = None
    core = Observed(seen.values, seen.cov, None, None, weights).core(rows)
    found: list[Mixture] = []
    for k in range(starts if components > 1 else 1):
        if found and not deadline(None):
            break
        start = _core.start_mixture(core, units, max(1, components), seed + 1000 * k, floor, threads)
        best = _core.deconvolve(core, units, start, tol, steps, floor, threads, deadline)
        found.append(Mixture(*(np.ascontiguousarray(part) for part in best.mixture.parts)))
    return found
