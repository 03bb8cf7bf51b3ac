"""Noisy catalogues: how the noise of training and of new objects may differ, on Kepler and SDSS."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import GroupShuffleSplit

import svmgsu

from .surveys import kepler, quasars
from .systems import Array

TRAIN, TEST = 2000, 2500
SETTINGS = ("precise → noisy", "heteroscedastic", "noisy → precise", "test like train")
NOISIEST = 0.75  # the quantile of the total variance from which error bars are drawn


class Task(NamedTuple):
    """What was measured of the objects, with error bars; `pool` are the bars to come where they differ."""

    train: svmgsu.Gaussians
    y: Array
    groups: Array  # objects of one star are never on both sides of a split
    test: svmgsu.Gaussians
    truth: Array
    pool: Array | None


def kepler_task(folder: Path, setting: str, seed: int, quick: bool = False) -> Task:
    """Planets against false positives, split by star; noise as in the catalogue's noisiest quarter."""
    found = kepler(folder)
    split = GroupShuffleSplit(1, test_size=0.4, random_state=seed)
    known, new = next(split.split(found.X, groups=found.star))
    rng = np.random.default_rng([seed, 17])
    known = rng.choice(known, TRAIN // (4 if quick else 1), replace=False)
    new = rng.choice(new, min(TEST, len(new)), replace=False)
    centre, scale = found.X[known].mean(axis=0), found.X[known].std(axis=0)
    X, V = (found.X - centre) / scale, (found.std / scale) ** 2
    total = V[known].sum(axis=1)
    pool = V[known[total >= np.quantile(total, NOISIEST)]]

    def seen(rows: Array, noisy: bool, uneven: bool = False) -> svmgsu.Gaussians:
        if not noisy:
            return svmgsu.Gaussians(X[rows], svmgsu.Diagonal(V[rows]))
        bars = pool[rng.integers(len(pool), size=len(rows))]
        if uneven:
            bars = bars * 10 ** rng.uniform(-2, 0.5, (len(rows), 1))
        values = X[rows] + np.sqrt(bars) * rng.standard_normal(bars.shape)
        return svmgsu.Gaussians(values, svmgsu.Diagonal(bars + V[rows]))

    uneven = setting == "heteroscedastic"
    train = seen(known, uneven or setting == "noisy → precise", uneven)
    test = seen(new, uneven or setting == "precise → noisy", uneven)
    ahead = pool if setting == "precise → noisy" else None
    return Task(train, found.y[known], found.star[known], test, found.y[new], ahead)


def quasar_task(folder: Path, seed: int, quick: bool = False) -> Task:
    """High redshift against low from four colours, test like train."""
    X, S, y = quasars(folder)
    rng = np.random.default_rng([seed, 18])
    chosen = rng.choice(len(X), TRAIN // (4 if quick else 1) + TEST, replace=False)
    known, new = chosen[TEST:], chosen[:TEST]
    centre, scale = X[known].mean(axis=0), X[known].std(axis=0)
    X, S = (X - centre) / scale, S / np.outer(scale, scale)
    train, test = (svmgsu.Gaussians(X[rows], svmgsu.Full(S[rows])) for rows in (known, new))
    return Task(train, y[known], np.arange(len(known)), test, y[new], None)


def deviations(data: svmgsu.Gaussians) -> Array:
    """The error bar of each value."""
    return np.sqrt(data.cov.diagonals(*data.shape))


def copies(task: Task, rows: Array, count: int, rng: np.random.Generator) -> Array:
    """Draws of training objects with the noise that new ones will have, (count × rows, n)."""
    if task.pool is None:
        return np.concatenate(list(np.moveaxis(task.train[rows].sample(count, rng), 1, 0)))
    bars = task.pool[rng.integers(len(task.pool), size=count * len(rows))]
    return np.tile(task.train.mean[rows], (count, 1)) + np.sqrt(bars) * rng.standard_normal(bars.shape)
