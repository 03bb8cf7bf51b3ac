"""Mixtures of Gaussians with full covariances: the population, classes, and what the gate knows."""

from __future__ import annotations

import time
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
        self, seen: Observed, threads: int, moments: bool = False, covariances: bool = True
    ) -> tuple[FloatArray, ...]:
        """Return log-densities, distances, responsibilities, and with `moments` means and covariances."""
        n = self.means.shape[1]
        units = _core.Units(np.zeros(n), np.ones(n))
        core = _core.Mixture(self.weights, self.means, self.covs)
        return _core.posterior(seen.core(), units, core, threads, moments, covariances)

    def log_density(self, seen: Observed, threads: int) -> FloatArray:
        """Return the log-density of each sample at its own noise."""
        if seen.cov is not None or np.isnan(seen.values).any():
            return self.posterior(seen, threads)[0]
        return self.log_densities(seen.values, seen.values.shape[1])[0]

    def log_densities(self, X: FloatArray, *leading: int) -> list[FloatArray]:
        """Return log-densities of points without noise, in so many of the first features each time."""
        # Each covariance is factored once for all samples. The first rows of a factor are that of the first
        # features.
        K, n = self.means.shape
        roots = np.linalg.cholesky(self.covs)
        inverse = np.linalg.inv(roots)
        scales = np.log(np.diagonal(roots, axis1=1, axis2=2)) + 0.5 * np.log(2 * np.pi)
        offset = np.einsum("kij,kj->ki", inverse, self.means).ravel()
        found = [np.empty((len(X), K)) for _ in leading]
        step = max(1, 2**17 // (K * n))
        for first in range(0, len(X), step):
            away = X[first : first + step] @ inverse.reshape(K * n, n).T - offset
            away = away.reshape(-1, K, n)
            for m, logs in zip(leading, found, strict=True):
                logs[first : first + step] = -0.5 * np.einsum("lki,lki->lk", away[:, :, :m], away[:, :, :m])
        log_weights = np.log(np.maximum(self.weights, 1e-300))
        return [
            np.logaddexp.reduce(logs + (log_weights - scales[:, :m].sum(axis=1)), axis=1)
            for m, logs in zip(leading, found, strict=True)
        ]


class Budget:
    """What a fit may use: threads, and time until a deadline that is taken once."""

    def __init__(self, seconds: float | None, threads: int = 1) -> None:
        self.end = np.inf if seconds is None else time.monotonic() + seconds
        self.threads = threads

    @property
    def over(self) -> bool:
        return time.monotonic() >= self.end

    def left(self) -> float | None:
        """Return the seconds that are left, at least a few milliseconds; None without a deadline."""
        return None if self.end == np.inf else max(0.005, self.end - time.monotonic())

    def __call__(self, progress: Any = None) -> bool:
        """Tell the core's callbacks whether to go on."""
        return not self.over


def learn_mixtures(
    seen: Observed,
    components: int,
    seed: int,
    budget: Budget,
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
    if weights is not None and (weights == weights[0]).all():
        weights = None
    core = Observed(seen.values, seen.cov, None, weights).core(rows)
    n = seen.values.shape[1]
    units = _core.Units(np.zeros(n), np.ones(n))  # they are standardised
    threads = budget.threads
    found: list[Mixture] = []
    for k in range(starts if components > 1 else 1):
        if found and budget.over:
            break
        start = _core.start_mixture(core, units, max(1, components), seed + 1000 * k, floor, threads)
        best = _core.deconvolve(core, units, start, tol, steps, floor, threads, budget)
        found.append(Mixture(*(np.ascontiguousarray(part) for part in best.mixture.parts)))
    return found
