"""Noise that is added to measured objects, and what an object with it looks like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import svmgsu

from ..paper.systems import Array

LIKE, PRECISE_TO_NOISY, UNEVEN = "test like train", "precise → noisy", "heteroscedastic"
NOISY_TO_PRECISE = "noisy → precise"
NOISIEST = 0.75  # the quantile of the total variance from which error bars are drawn


@dataclass(frozen=True)
class Noise:
    """A pool of variances (m, n) or matrices (m, n, n), of which every object draws one."""

    pool: Array

    @classmethod
    def noisiest(cls, cov: Array) -> Noise:
        """The noisiest quarter of the training objects."""
        total = cov.sum(axis=1) if cov.ndim == 2 else np.trace(cov, axis1=1, axis2=2)
        return cls(cov[total >= np.quantile(total, NOISIEST)])

    def some(self, count: int, rng: np.random.Generator) -> Noise:
        return Noise(self.pool[rng.integers(len(self.pool), size=count)])

    def scaled(self, factors: Array) -> Noise:
        return Noise(self.pool * factors.reshape(-1, *[1] * (self.pool.ndim - 1)))

    @property
    def kind(self) -> svmgsu.Diagonal | svmgsu.Full:
        return svmgsu.Diagonal(self.pool) if self.pool.ndim == 2 else svmgsu.Full(self.pool)

    @property
    def deviations(self) -> Array:
        return np.sqrt(self.pool if self.pool.ndim == 2 else np.diagonal(self.pool, axis1=1, axis2=2))

    def noise(self, rng: np.random.Generator) -> Array:
        """One draw of each."""
        if self.pool.ndim == 2:
            return np.sqrt(self.pool) * rng.standard_normal(self.pool.shape)
        values, vectors = np.linalg.eigh(self.pool)
        z = np.sqrt(np.maximum(values, 0)) * rng.standard_normal(values.shape)
        return np.einsum("lij,lj->li", vectors, z)

    def added(self, data: svmgsu.Gaussians, rng: np.random.Generator) -> svmgsu.Gaussians:
        """The objects measured once more, each with a noise of the pool on top."""
        bars = self.some(len(data), rng)
        return with_noise(data, bars, rng)


def with_noise(data: svmgsu.Gaussians, bars: Noise, rng: np.random.Generator) -> svmgsu.Gaussians:
    cov = data.cov
    full = cov.to_full() if bars.pool.ndim == 3 else cov.diagonals(*data.shape)
    return svmgsu.Gaussians(data.mean + bars.noise(rng), Noise(np.asarray(full) + bars.pool).kind)


def standardised(X: Array, cov: Array, known: Array) -> tuple[Array, Array]:
    """Values and (co)variances in units of the training objects' spread."""
    centre, scale = X[known].mean(axis=0), X[known].std(axis=0)
    return (X - centre) / scale, cov / (scale**2 if cov.ndim == 2 else np.outer(scale, scale))


def observed(
    X: Array, cov: Array, known: Array, new: Array, setting: str, noise: Noise, rng: np.random.Generator
) -> tuple[svmgsu.Gaussians, svmgsu.Gaussians, Noise | None]:
    """Training objects, new objects, and the noise that lies ahead where it is no part of training."""

    def seen(rows: Array, noisy: bool) -> svmgsu.Gaussians:
        measured = svmgsu.Gaussians(X[rows], Noise(cov[rows]).kind)
        if not noisy:
            return measured
        bars = noise.some(len(rows), rng)
        if setting == UNEVEN:
            bars = bars.scaled(10 ** rng.uniform(-2, 0.5, len(rows)))
        return with_noise(measured, bars, rng)

    first = seen(known, setting in (UNEVEN, NOISY_TO_PRECISE))
    second = seen(new, setting in (UNEVEN, PRECISE_TO_NOISY))
    return first, second, noise if setting == PRECISE_TO_NOISY else None
