"""The rows of the evidence: what is trained on, what comes later, and what is known about its noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    GroupShuffleSplit,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

import svmgsu
from svmgsu.uncertainty import from_repeats, from_welch

from ..paper import eeg, images, recordings, surveys, tv
from ..paper.wdbc import examples
from . import catalogues
from .catalogues import CHANDRA, CHANDRA_PUBLISHED, FERMI_3, FERMI_4, VVDS_DEEP, VVDS_WIDE

Array = NDArray[Any]
TRAIN, TEST = 600, 1500  # samples of large tables
FEWER, FEW = 800, 500  # new samples where a table has some thousands
RARE = 1000  # training samples where one class is rare
SPLITS = 10
FOLDS = 3  # of the training samples, by which rivals are tuned
INSTANCES = 3  # points drawn from a held-out summary
NOISIEST = 0.75  # quantile of the total variance beyond which noise to add is taken from

LIKE, SHIFT, SUMMARIES = "like train", "noise shift", "summaries"
GROUPS = (SHIFT, LIKE, SUMMARIES)


@dataclass(frozen=True)
class Samples:
    """Measured values with variances (l, n), matrices (l, n, n), a covariance kind, or none.

    NaN is a missing value.
    """

    values: Array
    cov: Any = None

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Array) -> Samples:
        return Samples(self.values[rows], None if self.cov is None else self.cov[rows])

    @property
    def deviations(self) -> Array:
        """Standard error of each value, 0 where there is none."""
        if self.cov is None:
            return np.zeros(self.values.shape)
        if not isinstance(self.cov, np.ndarray):
            return np.sqrt(self.cov.diagonals(*self.values.shape))
        return np.sqrt(self.cov if self.cov.ndim == 2 else np.diagonal(self.cov, axis1=1, axis2=2))

    @property
    def missing(self) -> bool:
        return bool(np.isnan(self.values).any())

    def for_fit(self) -> dict[str, Any]:
        """Arguments X and std of this library's estimators."""
        if self.missing:
            return {"X": self.values, "std": self.deviations}
        if self.cov is None:
            return {"X": svmgsu.Gaussians(self.values)}
        kind = self.cov
        if isinstance(kind, np.ndarray):
            kind = svmgsu.Diagonal(kind) if kind.ndim == 2 else svmgsu.Full(kind)
        return {"X": svmgsu.Gaussians(self.values, kind)}

    def noise(self, rng: np.random.Generator) -> Array:
        """Draw one error of each sample."""
        if self.cov is None:
            return np.zeros(self.values.shape)
        if not isinstance(self.cov, np.ndarray):
            return self.for_fit()["X"].sample(1, rng)[:, 0] - self.values
        if self.cov.ndim == 2:
            return np.sqrt(self.cov) * rng.standard_normal(self.cov.shape)
        values, vectors = np.linalg.eigh(self.cov)
        z = np.sqrt(np.maximum(values, 0)) * rng.standard_normal(values.shape)
        return np.einsum("lij,lj->li", vectors, z)

    def measured_again(self, pool: Array, rng: np.random.Generator) -> Samples:
        """Add noise with a random covariance of a pool to each sample."""
        more = Samples(self.values, pool[rng.integers(len(pool), size=len(self))])
        return Samples(self.values + more.noise(rng), self.cov + more.cov)


@dataclass
class Task:
    """Training samples with labels, new samples with theirs, and the noise to come where it is announced.

    Attributes
    ----------
    pool : array, optional
        (Co)variances of noise that new samples carry besides; each draws one.
    spread : bool
        Covariances are the spread of what a sample summarises, and single points come later.
    augment : callable, optional
        Makes copies of training samples otherwise than from their covariances.
    points : array, optional
        What stands for a training sample where that is not its mean.
    published : array, optional
        Class probabilities of the new samples that somebody else has published.
    """

    train: Samples
    y: Array
    test: Samples
    truth: Array
    groups: Array | None = None
    pool: Array | None = None
    spread: bool = False
    regression: bool = False
    augment: Callable[[Array, int, np.random.Generator], Array] | None = None
    points: Array | None = None
    published: Array | None = None
    classes: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        if not self.regression:
            names = np.unique(self.y)
            self.y = np.searchsorted(names, self.y)
            self.truth = np.searchsorted(names, self.truth)
            self.classes = len(names)

    def values(self, rows: Array) -> Array:
        return self.train.values[rows] if self.points is None else self.points[rows]

    def copies(self, rows: Array, count: int, rng: np.random.Generator) -> Samples:
        """Return count × rows noisy copies of training samples, as new samples will be."""
        if self.augment is not None:
            return Samples(self.augment(rows, count, rng))
        many = self.train[np.tile(rows, count)]
        if self.pool is not None:
            return many.measured_again(self.pool, rng)
        return Samples(many.values + many.noise(rng), many.cov)

    def folds(self, seed: int) -> list[tuple[Array, Array]]:
        """Return the folds by which all rivals are tuned."""
        if self.regression:
            return list(KFold(FOLDS, shuffle=True, random_state=seed).split(self.y))
        if self.groups is not None:
            parts = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed)
            return list(parts.split(self.y, self.y, self.groups))
        return list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(self.y, self.y))

    def like_new(self, rows: Array, seed: int) -> tuple[Samples, Array]:
        """Return held-out training samples as new ones will look, and their labels."""
        rng = np.random.default_rng([seed, 5])
        if self.spread:
            return Samples(self.copies(rows, INSTANCES, rng).values), np.tile(self.y[rows], INSTANCES)
        if self.pool is not None:
            return self.copies(rows, 1, rng), self.y[rows]
        return self.train[rows], self.y[rows]


def _some(rows: Array, count: int, rng: np.random.Generator) -> Array:
    return rng.choice(rows, min(count, len(rows)), replace=False)


def _scaled(first: tuple[Array, Array], second: tuple[Array, Array]) -> tuple[Samples, Samples]:
    """Express training and new samples in units of the training samples' spread."""
    centre = np.nanmean(first[0], axis=0)
    scale = np.nanstd(first[0], axis=0)
    found = []
    for values, cov in (first, second):
        units = scale**2 if cov.ndim == 2 else np.outer(scale, scale)
        found.append(Samples((values - centre) / scale, cov / units))
    return found[0], found[1]


# Tables whose noise nature made. Nothing is added.


def fermi_like(folder: Path, seed: int, train: int = RARE) -> Task:
    """AGN or pulsar, within 4FGL."""
    found = catalogues.fermi(folder, FERMI_4)
    known = np.flatnonzero(np.isin(found.labels, ("AGN", "PSR")))
    order = np.random.default_rng([seed, 41]).permutation(known)
    first, new = order[FEW : FEW + train], order[:FEW]
    samples = _scaled((found.values[first], found.cov[first]), (found.values[new], found.cov[new]))
    return Task(samples[0], found.labels[first], samples[1], found.labels[new])


def fermi_shift(folder: Path, seed: int, train: int = RARE, older: bool = True) -> Task:
    """Train on one catalogue's measurements, test on the other's of other sources."""
    files = (FERMI_3, FERMI_4) if older else (FERMI_4, FERMI_3)
    first, second = (catalogues.fermi(folder, name) for name in files)
    rng = np.random.default_rng([seed, 42])
    known = _some(np.flatnonzero(np.isin(first.labels, ("AGN", "PSR"))), train, rng)
    other = np.isin(second.labels, ("AGN", "PSR")) & ~np.isin(second.names, first.names[known])
    new = _some(np.flatnonzero(other), FEW, rng)
    samples = _scaled((first.values[known], first.cov[known]), (second.values[new], second.cov[new]))
    return Task(samples[0], first.labels[known], samples[1], second.labels[new])


def fermi_blind(folder: Path, seed: int, train: int = 10_000) -> Task:
    """Sources that 3FGL could not name and 4FGL did, by their measurements in 3FGL.

    Each split tests another tenth of them and trains on nine tenths of the sources that 3FGL names.
    """
    first, second = (catalogues.fermi(folder, name) for name in (FERMI_3, FERMI_4))
    later = dict(zip(second.names, second.labels, strict=True))
    truth = np.array([later.get(name, "unknown") for name in first.names])
    blind = np.flatnonzero((first.labels == "unknown") & np.isin(truth, ("AGN", "PSR")))
    folds = StratifiedKFold(SPLITS, shuffle=True, random_state=0).split(blind, truth[blind])
    new = blind[[held_out for _, held_out in folds][seed % SPLITS]]
    named = np.flatnonzero(np.isin(first.labels, ("AGN", "PSR")))
    rng = np.random.default_rng([seed, 43])
    known = _some(named, min(train, 9 * len(named) // 10), rng)
    samples = _scaled((first.values[known], first.cov[known]), (first.values[new], first.cov[new]))
    return Task(samples[0], first.labels[known], samples[1], truth[new])


def vvds(folder: Path, seed: int, train: int = TRAIN, shift: bool = False, numbers: bool = False) -> Task:
    """Star or galaxy, or the redshift of galaxies: within the deep survey's or the wide one's limits."""
    rng = np.random.default_rng([seed, 44])
    surveys_ = [catalogues.vvds(folder, name) for name in (VVDS_DEEP, VVDS_WIDE)]
    (first, z), (second, later) = surveys_ if shift else (surveys_[1], surveys_[1])
    if numbers and not shift:
        (first, z), (second, later) = surveys_[0], surveys_[0]
    known, new = (
        rng.permutation(np.flatnonzero(c.labels == "galaxy") if numbers else len(c.labels))
        for c in (first, second)
    )
    if not shift:
        new = known
        known = known[FEWER:]
    known, new = known[:train], new[:FEWER]
    samples = _scaled((first.values[known], first.cov[known]), (second.values[new], second.cov[new]))
    if numbers:
        return Task(samples[0], z[known], samples[1], later[new], regression=True)
    return Task(samples[0], first.labels[known], samples[1], second.labels[new])


def chandra(folder: Path, seed: int, train: int = 10_000) -> Task:
    """Eight classes of X-ray sources with missing values; splits are the folds of a cross-validation."""
    found, published = catalogues.chandra(folder)
    folds = StratifiedKFold(SPLITS, shuffle=True, random_state=0).split(found.labels, found.labels)
    known, new = list(folds)[seed % SPLITS]
    if train < len(known):
        part = StratifiedShuffleSplit(1, train_size=train, random_state=seed)
        known = known[next(part.split(known, found.labels[known]))[0]]
    samples = _scaled((found.values[known], found.cov[known]), (found.values[new], found.cov[new]))
    return Task(samples[0], found.labels[known], samples[1], found.labels[new], published=published[new])


@lru_cache(maxsize=2)
def _quasars(folder: Path) -> tuple[Array, Array, Array]:
    return surveys.redshifts(folder)


def quasar_halves(folder: Path, seed: int, train: int = TRAIN) -> Task:
    """SDSS quasars: from the half with small errors to the other, whose errors (not labels) are known."""
    X, cov, z = _quasars(folder)
    rng = np.random.default_rng([seed, 32])
    total = np.trace(cov, axis1=1, axis2=2)
    precise = total < np.median(total)
    known = rng.choice(np.flatnonzero(precise), train, replace=False)
    new = rng.choice(np.flatnonzero(~precise), TEST, replace=False)
    unlabelled = rng.choice(np.flatnonzero(~precise), 1000, replace=False)
    first, second = _scaled((X[known], cov[known]), (X[new], cov[new]))
    scale = X[known].std(axis=0)
    pool = cov[unlabelled] / np.outer(scale, scale)
    return Task(first, z[known] >= 2.2, second, z[new] >= 2.2, pool=pool)


@lru_cache(maxsize=2)
def _channel(folder: Path, name: str) -> tuple[Array, Array, Array]:
    return tv.load_channel(folder, name)


def shots(folder: Path, seed: int, train: int = TRAIN, shift: bool = False) -> Task:
    """Commercials of TV news, by averages over a shot with their deviations."""
    rng = np.random.default_rng([seed, 37])
    X, std, y = _channel(folder, "NDTV")
    order = rng.permutation(len(y))
    new = order[:TEST]
    first, errors, labels = (v[order[TEST : TEST + train]] for v in (X, std, y))
    if shift:
        first, errors, labels = _channel(folder, "BBC")
        known = rng.permutation(len(labels))[:train]
        first, errors, labels = first[known], errors[known], labels[known]
    samples = _scaled((first, errors**2), (X[new], std[new] ** 2))
    return Task(samples[0], labels, samples[1], y[new])


# Tables to which noise is added where a setting says so.

PRECISE_TO_NOISY, NOISY_TO_PRECISE, UNEVEN = "precise → noisy", "noisy → precise", "heteroscedastic"


def _observed(
    samples: tuple[Samples, Samples], setting: str, pool: Array, rng: np.random.Generator
) -> tuple[Samples, Samples, Array | None]:
    """Add noise of the pool to the sides that the setting names; and the noise that is announced."""

    def seen(side: Samples, noisy: bool) -> Samples:
        if not noisy:
            return side
        if setting != UNEVEN:
            return side.measured_again(pool, rng)
        own = pool[rng.integers(len(pool), size=len(side))]
        factors = 10 ** rng.uniform(-2, 0.5, len(side))
        more = Samples(side.values, own * factors.reshape(-1, *[1] * (own.ndim - 1)))
        return Samples(side.values + more.noise(rng), side.cov + more.cov)

    first = seen(samples[0], setting in (UNEVEN, NOISY_TO_PRECISE))
    second = seen(samples[1], setting in (UNEVEN, PRECISE_TO_NOISY))
    return first, second, pool if setting == PRECISE_TO_NOISY else None


def _noisiest(cov: Array) -> Array:
    total = cov.sum(axis=1) if cov.ndim == 2 else np.trace(cov, axis1=1, axis2=2)
    return cov[total >= np.quantile(total, NOISIEST)]


@lru_cache(maxsize=2)
def _kepler(folder: Path) -> surveys.Objects:
    return surveys.kepler(folder)


def kepler(folder: Path, seed: int, train: int = TRAIN, setting: str = "") -> Task:
    """Planets against false positives; a quarter of the stars is new."""
    found = _kepler(folder)
    split = GroupShuffleSplit(1, test_size=0.25, random_state=seed)
    known, new = next(split.split(found.X, groups=found.star))
    rng = np.random.default_rng([seed, 31])
    known, new = _some(known, train, rng), _some(new, TEST, rng)
    variances = found.std**2
    samples = _scaled((found.X[known], variances[known]), (found.X[new], variances[new]))
    first, second, pool = _observed(samples, setting, _noisiest(samples[0].cov), rng)
    return Task(first, found.y[known], second, found.y[new], groups=found.star[known], pool=pool)


def quasars(folder: Path, seed: int, train: int = TRAIN, setting: str = "", cut: float | None = 2.2) -> Task:
    """SDSS quasars by four colours: redshift at least `cut` or not, or the redshift itself."""
    X, cov, z = _quasars(folder)
    rng = np.random.default_rng([seed, 32])
    chosen = rng.choice(len(X), train + TEST, replace=False)
    known, new = chosen[TEST:], chosen[:TEST]
    samples = _scaled((X[known], cov[known]), (X[new], cov[new]))
    first, second, pool = _observed(samples, setting, _noisiest(samples[0].cov), rng)
    y = z if cut is None else z >= cut
    return Task(first, y[known], second, y[new], pool=pool, regression=cut is None)


def breast_cancer(folder: Path, seed: int, train: int = TRAIN, setting: str = "") -> Task:
    """Malignant or not, from ten averages; added noise has ten squared standard errors of some sample."""
    X, errors, y = examples()
    X, variances = X[:, :10], errors[:, :10] ** 2
    known, new = next(StratifiedShuffleSplit(1, test_size=0.25, random_state=seed).split(X, y))
    rng = np.random.default_rng([seed, 33])
    known = _some(known, train, rng)
    if setting in (PRECISE_TO_NOISY, UNEVEN):
        new = np.tile(new, 5)  # five measurements of each
    samples = _scaled((X[known], variances[known]), (X[new], variances[new]))
    first, second, pool = _observed(samples, setting, 10 * samples[0].cov, rng)
    return Task(first, y[known], second, y[new], pool=pool)


# Summaries: trained on means and covariances, tested on single points.


def vowels(folder: Path, seed: int, train: int = TRAIN) -> Task:
    """Nine speakers: an utterance is the mean and covariance of its frames; single frames come later."""
    everything = recordings.vowels(folder)
    speaker = everything.speaker
    split = StratifiedShuffleSplit(1, test_size=0.25, random_state=seed)
    known, new = next(split.split(speaker, speaker))
    rng = np.random.default_rng([seed, 34])
    if train < len(known):
        part = StratifiedShuffleSplit(1, train_size=train, random_state=seed)
        known = known[next(part.split(known, speaker[known]))[0]]
    frames, owner = everything.of(known)
    later, whose = everything.of(new)
    centre, scale = frames.mean(axis=0), frames.std(axis=0)
    data = from_repeats((frames - centre) / scale, owner, covariance="full")
    rows = _some(np.arange(len(later)), TEST, rng)
    train_samples = Samples(np.asarray(data.mean), np.asarray(data.cov.to_full()))
    test = Samples((later[rows] - centre) / scale)
    return Task(train_samples, speaker[known], test, speaker[new][whose[rows]], spread=True)


@lru_cache(maxsize=1)
def _bands(folder: Path) -> tuple[Array, Array, Array, Array]:
    signals, sets, rate = recordings.bonn(folder)
    data = from_welch(signals, rate, bands=eeg.BANDS)
    variances = np.asarray(data.cov.diagonals(*data.shape))
    return np.asarray(data.mean), variances, eeg.windows(signals, rate), sets


def segments(folder: Path, seed: int, train: int = TRAIN, windows: bool = False) -> Task:
    """Five sets of EEG by log powers of six bands: whole segments, or single windows of 1.5 s."""
    X, V, each, sets = _bands(folder)
    known, new = next(StratifiedShuffleSplit(1, test_size=0.25, random_state=seed).split(sets, sets))
    if train < len(known):
        part = StratifiedShuffleSplit(1, train_size=train, random_state=seed)
        known = known[next(part.split(known, sets[known]))[0]]
    count = each.shape[1]
    if not windows:
        samples = _scaled((X[known], V[known] / count), (X[new], V[new] / count))
        return Task(samples[0], sets[known], samples[1], sets[new])
    rows = _some(np.arange(len(new) * count), TEST, np.random.default_rng([seed, 35]))
    points = each[new].reshape(len(new) * count, -1)[rows]
    samples = _scaled((X[known], V[known]), (points, np.zeros_like(points)))
    truth = np.repeat(sets[new], count)[rows]
    return Task(samples[0], sets[known], Samples(samples[1].values), truth, spread=True)


def digits(folder: Path, seed: int, train: int = 50) -> Task:
    """Ones and sevens, few images of each, turned and shifted (the paper's D3)."""
    rng = np.random.default_rng([seed, 36])
    found, y, later, truth = images.draw(folder, "D3", min(train, 50) // 2, rng)
    rows = _some(np.arange(len(later)), TEST, rng)

    def augment(chosen: Array, count: int, rng: np.random.Generator) -> Array:
        return images.augmented(found[chosen], count, rng).reshape(count * len(chosen), -1).astype(float)

    data = images.moments(found, seed)
    points = found.reshape(len(found), -1).astype(float)
    first = Samples(np.asarray(data.mean, dtype=float), data.cov)
    test = Samples(later[rows].astype(float))
    return Task(first, y, test, truth[rows], spread=True, augment=augment, points=points)


# The rows


@dataclass(frozen=True)
class Row:
    """A row of the evidence.

    Attributes
    ----------
    shared : float
        Chance that a new sample of one split is among those of another, by which standard errors are
        corrected (Nadeau and Bengio 2003).
    natural : bool
        Whether the noise is that of nature alone.
    """

    name: str
    title: str
    setting: str
    group: str
    make: Callable[..., Task]
    shared: float = 0.0
    natural: bool = True
    needs: tuple[str, ...] = ()

    def missing(self, folder: Path) -> list[Path]:
        return [folder / name for name in self.needs if not (folder / name).exists()]


BOTH_FERMI, BOTH_VVDS = (FERMI_3, FERMI_4), (VVDS_DEEP, VVDS_WIDE)
NOISE = {"noisy": PRECISE_TO_NOISY, "precise": NOISY_TO_PRECISE, "uneven": UNEVEN, "like": "like train"}
BY_NOISE = {"noisy": SHIFT, "precise": SHIFT, "uneven": LIKE, "like": LIKE}
QUARTER = 0.25


def _with_noise(name: str, title: str, make: Any, shared: float, settings: str, *needs: str) -> list[Row]:
    return [
        Row(
            f"{name}-{key}",
            title,
            NOISE[key],
            BY_NOISE[key],
            partial(make, setting=NOISE[key]),
            shared,
            key == "like",
            needs,
        )
        for key in settings.split()
    ]


QUASARS = "SDSS quasars, z ≥ 2.2"
NATURAL = [
    Row("fermi-like", "Fermi, AGN or pulsar", "4FGL", LIKE, fermi_like, 0.13, needs=(FERMI_4,)),
    Row("fermi-34", "Fermi, AGN or pulsar", "3FGL → 4FGL", SHIFT, fermi_shift, 0.15, needs=BOTH_FERMI),
    Row("vvds-like", "VVDS, star or galaxy", "wide", LIKE, vvds, 0.09, needs=BOTH_VVDS),
    Row(
        "vvds-shift",
        "VVDS, star or galaxy",
        "deep → wide",
        SHIFT,
        partial(vvds, shift=True),
        0.09,
        needs=BOTH_VVDS,
    ),
    Row(
        "fermi-43",
        "Fermi, AGN or pulsar",
        "4FGL → 3FGL",
        SHIFT,
        partial(fermi_shift, older=False),
        0.3,
        needs=BOTH_FERMI,
    ),
    Row("fermi-blind", "Fermi, named later", "3FGL", LIKE, fermi_blind, needs=BOTH_FERMI),
    Row("vvds-z-like", "VVDS, redshift", "deep", LIKE, partial(vvds, numbers=True), 0.16, needs=BOTH_VVDS),
    Row(
        "vvds-z-shift",
        "VVDS, redshift",
        "deep → wide",
        SHIFT,
        partial(vvds, numbers=True, shift=True),
        0.17,
        needs=BOTH_VVDS,
    ),
    Row(
        "chandra",
        "Chandra, 8 classes",
        "cross-validation",
        LIKE,
        chandra,
        0.1,
        needs=(CHANDRA, CHANDRA_PUBLISHED),
    ),
    Row("sdss-half", QUASARS, "precise half → noisy half", SHIFT, quasar_halves, 0.04, needs=(surveys.SDSS,)),
    Row("tv-like", "TV news", "NDTV", LIKE, shots, 0.09, needs=tv.FILES),
    Row("tv-shift", "TV news", "BBC → NDTV", SHIFT, partial(shots, shift=True), 0.09, needs=tv.FILES),
    Row("eeg-like", "EEG, five sets", "segments", LIKE, segments, QUARTER, needs=(recordings.BONN,)),
]
ADDED = [
    *_with_noise("kepler", "Kepler", kepler, QUARTER, "like noisy uneven precise", surveys.KEPLER),
    *_with_noise("sdss", QUASARS, quasars, 0.02, "like noisy uneven", surveys.SDSS),
    *_with_noise("sdss-z", "SDSS, redshift", partial(quasars, cut=None), 0.02, "like noisy", surveys.SDSS),
    *_with_noise("wdbc", "WDBC", breast_cancer, QUARTER, "like noisy uneven precise"),
]
POINTS = [
    Row("vowels", "Japanese Vowels", "frames", SUMMARIES, vowels, QUARTER, needs=(recordings.VOWELS,)),
    Row(
        "eeg-windows",
        "EEG, five sets",
        "windows",
        SUMMARIES,
        partial(segments, windows=True),
        QUARTER,
        needs=(recordings.BONN,),
    ),
    Row(
        "mnist",
        "MNIST 1 v. 7, 25 images each",
        "moved images",
        SUMMARIES,
        digits,
        0.25,
        natural=False,
        needs=(images.FILE,),
    ),
]
ROWS = (*NATURAL, *ADDED, *POINTS)  # the most telling first: a run that is stopped has these
