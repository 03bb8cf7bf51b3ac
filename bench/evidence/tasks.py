"""What is learnt and what comes later: the tasks of the evidence, by name and setting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    StratifiedGroupKFold,
    StratifiedShuffleSplit,
)

import svmgsu
from svmgsu.uncertainty import from_samples, from_welch

from ..paper import eeg, images, recordings, surveys, tv
from ..paper.systems import Array
from ..paper.wdbc import examples
from .noise import LIKE, NOISY_TO_PRECISE, PRECISE_TO_NOISY, UNEVEN, Noise, observed, standardised

SUMMARIES = "summaries → instances"
OTHER_HALF, OTHER_CHANNEL = "precise half → noisy half", "other channel"
TRAIN, TEST = 600, 1500  # objects of the large catalogues
INSTANCES = 5  # draws of a held-out summary that stand for its instances
Draw = Callable[[Array, int, np.random.Generator], Array]


@dataclass
class Task:
    """Training objects with labels, new objects with theirs, and the noise to come where it differs.

    `spread` says that covariances are the objects' own spread, and that single points come later. `augment`
    makes other draws of objects than those from their Gaussians; `points` are what stands for an object where
    that is not the mean.
    """

    train: svmgsu.Gaussians
    y: Array
    groups: Array  # objects of one group are never on both sides of a split
    test: svmgsu.Gaussians
    truth: Array
    noise: Noise | None = None
    spread: bool = False
    regression: bool = False
    augment: Draw | None = None
    points: Array | None = None
    classes: Array = field(init=False)

    def __post_init__(self) -> None:
        self.classes = np.array([]) if self.regression else np.unique(self.y)
        if not self.regression:  # everybody learns the codes 0, 1, ...
            self.y, self.truth = (np.searchsorted(self.classes, v) for v in (self.y, self.truth))

    def values(self, rows: Array) -> Array:
        return np.asarray(self.train.mean if self.points is None else self.points)[rows]

    def draws(self, rows: Array, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """(count × rows, n) draws of training objects as new ones will be, and the bars of each."""
        if self.augment is not None:
            drawn = self.augment(rows, count, rng)
            return drawn, np.zeros_like(drawn)
        if self.noise is not None:
            bars = self.noise.some(count * len(rows), rng)
            return np.tile(self.train.mean[rows], (count, 1)) + bars.noise(rng), bars.deviations
        drawn = np.concatenate(list(np.moveaxis(self.train[rows].sample(count, rng), 1, 0)))
        return drawn, np.tile(deviations(self.train[rows]), (count, 1))

    def held_out(self, seed: int) -> tuple[Array, Array]:
        """The objects that settings are tried on, and those that judge them: a third."""
        if self.regression:
            return next(GroupKFold(3).split(self.y, groups=self.groups))
        parts = StratifiedGroupKFold(3, shuffle=True, random_state=seed)
        return next(parts.split(self.y, self.y, groups=self.groups))

    def like_new(self, rows: Array, rng: np.random.Generator) -> tuple[svmgsu.Gaussians, Array]:
        """Training objects as new ones will look, and their labels: what settings are judged by."""
        if self.spread:
            drawn, _ = self.draws(rows, INSTANCES, rng)
            return svmgsu.Gaussians(drawn), np.tile(self.y[rows], INSTANCES)
        if self.noise is None:
            return self.train[rows], self.y[rows]
        return self.noise.added(self.train[rows], rng), self.y[rows]


def deviations(data: svmgsu.Gaussians) -> Array:
    """The error bar of each value, 0 where there is none."""
    return np.zeros(data.shape) if data.cov is None else np.sqrt(data.cov.diagonals(*data.shape))


@lru_cache(maxsize=2)
def _kepler(folder: Path) -> surveys.Objects:
    return surveys.kepler(folder)


@lru_cache(maxsize=2)
def _quasars(folder: Path) -> tuple[Array, Array, Array]:
    return surveys.redshifts(folder)


def kepler(folder: Path, setting: str, seed: int, train: int = TRAIN) -> Task:
    """Planets against false positives; a quarter of the stars is new."""
    found = _kepler(folder)
    split = GroupShuffleSplit(1, test_size=0.25, random_state=seed)
    known, new = next(split.split(found.X, groups=found.star))
    rng = np.random.default_rng([seed, 31])
    known, new = _some(known, train, rng), _some(new, TEST, rng)
    X, V = standardised(found.X, found.std**2, known)
    noise = Noise.noisiest(V[known])
    first, second, ahead = observed(X, V, known, new, setting, noise, rng)
    return Task(first, found.y[known], found.star[known], second, found.y[new], ahead)


def quasars(folder: Path, setting: str, seed: int, cut: float | None, train: int = TRAIN) -> Task:
    """Redshift at least `cut` or not, from four colours; without a cut, the redshift itself."""
    X, S, z = _quasars(folder)
    rng = np.random.default_rng([seed, 32])
    if setting == OTHER_HALF:
        total = np.trace(S, axis1=1, axis2=2)
        precise = total < np.median(total)
        known = rng.choice(np.flatnonzero(precise), train, replace=False)
        new = rng.choice(np.flatnonzero(~precise), TEST, replace=False)
    else:
        chosen = rng.choice(len(X), train + TEST, replace=False)
        known, new = chosen[TEST:], chosen[:TEST]
    y = z if cut is None else (z >= cut).astype(float)
    unlabelled = rng.choice(len(X), 2000, replace=False)
    X, S = standardised(X, S, known)
    if setting == OTHER_HALF:  # whose bars lie ahead is known, not whose labels
        total = np.trace(S[unlabelled], axis1=1, axis2=2)
        noise = Noise(S[unlabelled[total >= np.median(total)]])
        first, second = (svmgsu.Gaussians(X[rows], svmgsu.Full(S[rows])) for rows in (known, new))
        ahead: Noise | None = noise
    else:
        noise = Noise.noisiest(S[known])
        first, second, ahead = observed(X, S, known, new, setting, noise, rng)
    groups = np.arange(len(known))
    return Task(first, y[known], groups, second, y[new], ahead, regression=cut is None)


def cells(folder: Path, setting: str, seed: int, train: int = TRAIN) -> Task:
    """Malignant or not, from ten averages; noise is ten squared standard errors of some cell sample."""
    X, se, y = examples()
    X, se = X[:, :10], se[:, :10]
    known, new = next(StratifiedShuffleSplit(1, test_size=0.25, random_state=seed).split(X, y))
    rng = np.random.default_rng([seed, 33])
    known = _some(known, train, rng)
    X, V = standardised(X, se**2, known)
    if setting in (PRECISE_TO_NOISY, UNEVEN):
        new = np.tile(new, 5)  # five measurements of each
    first, second, ahead = observed(X, V, known, new, setting, Noise(10 * V[known]), rng)
    return Task(first, y[known], np.arange(len(known)), second, y[new], ahead)


def vowels(folder: Path, setting: str, seed: int, train: int = TRAIN) -> Task:
    """Nine speakers: an utterance is the mean and covariance of its frames; single frames come later."""
    everything = recordings.vowels(folder)
    split = StratifiedShuffleSplit(1, test_size=0.25, random_state=seed)
    known, new = next(split.split(everything.speaker, everything.speaker))
    frames, owner = everything.of(known)
    later, whose = everything.of(new)
    centre, scale = frames.mean(axis=0), frames.std(axis=0)
    data = from_samples((frames - centre) / scale, owner, covariance="full")
    rng = np.random.default_rng([seed, 34])
    rows = _some(np.arange(len(later)), TEST, rng)
    test = svmgsu.Gaussians((later[rows] - centre) / scale)
    y = everything.speaker
    return Task(data, y[known], np.arange(len(known)), test, y[new][whose[rows]], spread=True)


@lru_cache(maxsize=1)
def _bands(folder: Path) -> tuple[svmgsu.Gaussians, Array, Array]:
    signals, sets, rate = recordings.bonn(folder)
    return from_welch(signals, rate, bands=eeg.BANDS), eeg.windows(signals, rate), sets


def segments(folder: Path, setting: str, seed: int, train: int = TRAIN) -> Task:
    """Five sets of EEG by log powers of six bands: whole segments, or single windows of 1.5 s."""
    data, windows, sets = _bands(folder)
    y = np.unique(sets, return_inverse=True)[1]
    known, new = next(StratifiedShuffleSplit(1, test_size=0.25, random_state=seed).split(y, y))
    V = np.asarray(data.cov.variances)
    centre, scale = data.mean[known].mean(axis=0), data.mean[known].std(axis=0)
    X, V, each = (data.mean - centre) / scale, V / scale**2, (windows - centre) / scale
    groups, count = np.arange(len(known)), windows.shape[1]
    if setting == SUMMARIES:
        rng = np.random.default_rng([seed, 35])
        rows = _some(np.arange(len(new) * count), TEST, rng)
        test = svmgsu.Gaussians(each[new].reshape(len(new) * count, -1)[rows])
        first = svmgsu.Gaussians(X[known], svmgsu.Diagonal(V[known]))
        return Task(first, y[known], groups, test, np.repeat(y[new], count)[rows], spread=True)
    first, test = (svmgsu.Gaussians(X[rows], svmgsu.Diagonal(V[rows] / count)) for rows in (known, new))
    return Task(first, y[known], groups, test, y[new])


def digits(folder: Path, setting: str, seed: int, train: int = TRAIN) -> Task:
    """Ones and sevens, 25 images of each, turned and shifted (the paper's D3)."""
    rng = np.random.default_rng([seed, 36])
    found, y, T, truth = images.draw(folder, "D3", 25, rng)
    rows = _some(np.arange(len(T)), TEST, rng)

    def augment(chosen: Array, count: int, rng: np.random.Generator) -> Array:
        return images.augmented(found[chosen], count, rng).reshape(count * len(chosen), -1).astype(float)

    data = images.moments(found, seed)
    points = found.reshape(len(found), -1).astype(float)
    test = svmgsu.Gaussians(T[rows].astype(float))
    return Task(data, y, np.arange(len(y)), test, truth[rows], spread=True, augment=augment, points=points)


@lru_cache(maxsize=2)
def _channel(folder: Path, name: str) -> tuple[Array, Array, Array]:
    return tv.load_channel(folder, name)


def shots(folder: Path, setting: str, seed: int, train: int = TRAIN) -> Task:
    """Commercials or not: nine averages over a shot with their deviations; NDTV, or from BBC to NDTV."""
    rng = np.random.default_rng([seed, 37])
    X, S, y = _channel(folder, "NDTV")
    order = rng.permutation(len(y))
    new, known = order[:TEST], order[TEST : TEST + train]
    A, D, labels = (v[known] for v in (X, S, y))
    if setting == OTHER_CHANNEL:
        A, D, labels = _channel(folder, "BBC")
        known = rng.permutation(len(labels))[:train]
        A, D, labels = A[known], D[known], labels[known]
    centre, scale = A.mean(axis=0), A.std(axis=0)
    first = svmgsu.Gaussians((A - centre) / scale, svmgsu.Diagonal((D / scale) ** 2))
    test = svmgsu.Gaussians((X[new] - centre) / scale, svmgsu.Diagonal((S[new] / scale) ** 2))
    return Task(first, labels, np.arange(train), test, y[new])


def _some(rows: Array, count: int, rng: np.random.Generator) -> Array:
    return rng.choice(rows, min(count, len(rows)), replace=False)


@dataclass(frozen=True)
class Cell:
    """A row of the evidence: a task in a setting. `overlap` is test over training objects of a split where
    splits share their objects (Nadeau and Bengio 2003); 0 where each draws its own from very many."""

    name: str
    title: str
    setting: str
    make: Callable[..., Task]
    overlap: float
    needs: tuple[str, ...] = ()

    def missing(self, folder: Path) -> list[Path]:
        return [folder / name for name in self.needs if not (folder / name).exists()]


def _cell(name: str, title: str, setting: str, make: Any, overlap: float, *needs: str) -> Cell:
    return Cell(name, title, setting, partial(make, setting=setting), overlap, needs)


def _of_quasars(name: str, setting: str, cut: float | None) -> Cell:
    title = "SDSS, redshift" if cut is None else f"SDSS quasars, redshift ≥ {cut:g}"
    return _cell(name, title, setting, partial(quasars, cut=cut), 0.0, surveys.SDSS)


THIRD = 1 / 3
CELLS = (  # the most telling first: a run that is stopped has these
    _cell("kepler-noisy", "Kepler", PRECISE_TO_NOISY, kepler, THIRD, surveys.KEPLER),
    _of_quasars("sdss2.2-uneven", UNEVEN, 2.2),
    _cell("kepler-uneven", "Kepler", UNEVEN, kepler, THIRD, surveys.KEPLER),
    _cell("wdbc-noisy", "WDBC", PRECISE_TO_NOISY, cells, THIRD),
    _of_quasars("redshift-noisy", PRECISE_TO_NOISY, None),
    _cell("vowels", "Japanese Vowels", SUMMARIES, vowels, THIRD, recordings.VOWELS),
    _cell("kepler-like", "Kepler", LIKE, kepler, THIRD, surveys.KEPLER),
    _of_quasars("sdss2.2-noisy", PRECISE_TO_NOISY, 2.2),
    _cell("kepler-precise", "Kepler", NOISY_TO_PRECISE, kepler, THIRD, surveys.KEPLER),
    _cell("wdbc-uneven", "WDBC", UNEVEN, cells, THIRD),
    _of_quasars("sdss2.2-like", LIKE, 2.2),
    _cell("mnist", "MNIST 1 v. 7, 25 images each", SUMMARIES, digits, 0.0, images.FILE),
    _cell("eeg-windows", "EEG, five sets", SUMMARIES, segments, THIRD, recordings.BONN),
    _of_quasars("redshift-like", LIKE, None),
    _cell("tv-channel", "TV news, BBC to NDTV", OTHER_CHANNEL, shots, 0.0, *tv.FILES),
    _cell("wdbc-like", "WDBC", LIKE, cells, THIRD),
    _of_quasars("sdss1.5-uneven", UNEVEN, 1.5),
    _of_quasars("sdss2.2-half", OTHER_HALF, 2.2),
    _cell("tv-like", "TV news, NDTV", LIKE, shots, 0.0, *tv.FILES),
    _cell("eeg-like", "EEG, five sets", LIKE, segments, THIRD, recordings.BONN),
    _cell("wdbc-precise", "WDBC", NOISY_TO_PRECISE, cells, THIRD),
    _of_quasars("sdss1.5-like", LIKE, 1.5),
)
