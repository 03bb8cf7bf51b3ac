"""Two small studies beside the table: how many draws a rival needs, and sweeps of noise."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import svmgsu

from ..paper.forest import ProbabilisticForest
from ..paper.systems import Array
from . import records
from .noise import standardised
from .rivals import FAMILIES, Rival
from .tasks import CELLS, kepler
from .trial import measures, trial

DRAWS = (1, 3, 30, 100)  # ten are in the table
DRAWN = ("logistic regression", "random forest", "boosting")
COST = {"cost-kepler": "kepler-noisy", "cost-wdbc": "wdbc-noisy"}
SPREADS = (0.0, 0.5, 1.0, 1.5)  # mean noise of a value, in units of its feature's spread
WRONG = (0.15, 0.3, 0.45)  # share of wrong labels
SWEEP_TRAIN, SWEEP_TEST = 400, 1000
FOREST, PROBABILISTIC, OURS = "random forest", "probabilistic random forest", "GSUClassifier"
TOLD = "random forest, told the doubt"
Wanted = Callable[[str], bool]
Found = Iterator[tuple[str, dict[str, Any]]]


def cost(part: str, folder: Path, split: int, seed: int, quick: bool, done: Any) -> Found:
    """Rivals on few and many draws, with the setting that the table's split chose at ten."""
    cell = next(cell for cell in CELLS if cell.name == COST[part])
    task = cell.make(folder, seed=seed, **({"train": 150} if quick else {}))
    for family in DRAWN:
        make, settings, _ = FAMILIES[family]
        tuned = done.get((cell.name, split, f"{family}, 10 draws"))
        if tuned is None:
            continue
        setting = tuned["setting"]
        taken = (tuple(setting) if isinstance(setting, list) else setting, tuned["mode"])
        for count in DRAWS[: 2 if quick else None]:
            rival = Rival(family, make, settings, "draws", count)
            if (part, split, rival.name) not in done:
                yield rival.name, trial(task, rival, seed, taken)


def sweep(part: str, folder: Path, split: int, seed: int, quick: bool, done: Any) -> Found:
    """Accuracy where features, or labels, are more and more noisy; fixed settings, nothing tuned."""
    X, y = _kepler(folder, seed) if part == "sweep-kepler" else _synthetic(seed)
    train = np.arange(SWEEP_TRAIN // (4 if quick else 1))
    test = np.arange(SWEEP_TRAIN, SWEEP_TRAIN + SWEEP_TEST)
    X, _ = standardised(X, np.ones_like(X), train)
    levels = [("features", r) for r in SPREADS] + [("labels", q) for q in WRONG]
    for what, level in levels[:: 3 if quick else 1]:
        rng = np.random.default_rng([seed, 41, int(100 * level), what == "labels"])
        std = np.zeros_like(X)
        doubt = np.zeros(len(y))
        if what == "features":
            std = rng.uniform(0, 2 * level, X.shape) if level else std
        else:
            doubt = rng.uniform(0, 2 * level, len(y))
        seen = X + std * rng.standard_normal(X.shape)
        told = np.where(rng.uniform(size=len(y)) < doubt, 1 - y, y)
        for name, make in _sweepers(seen, std, told, doubt, train, test, seed, quick).items():
            system = f"{name}, {what} {level:g}"
            if (part, split, system) in done:
                continue
            began = time.process_time()
            found = measures(make(), y[test])
            yield system, found | {"seconds": time.process_time() - began}


def _sweepers(
    X: Array, std: Array, y: Array, doubt: Array, train: Array, test: Array, seed: int, quick: bool
) -> dict[str, Callable[[], Array]]:
    """What each makes of the training objects: probabilities of the new ones."""
    wrong = doubt[train]
    chances = np.where(np.eye(2)[y[train]] > 0, 1 - wrong[:, None], wrong[:, None])
    trees = 10 if quick else 100

    def forest() -> Array:
        made = RandomForestClassifier(trees, min_samples_leaf=3, random_state=seed).fit(X[train], y[train])
        return np.asarray(made.predict_proba(X[test]))

    def told() -> Array:
        twice, both = np.tile(X[train], (2, 1)), np.repeat([0, 1], len(train))
        made = RandomForestClassifier(trees, min_samples_leaf=3, random_state=seed)
        made.fit(twice, both, sample_weight=chances.T.ravel())
        return np.asarray(made.predict_proba(X[test]))

    def probabilistic() -> Array:
        made = ProbabilisticForest(10 if quick else 50, seed=seed).fit(X[train], std[train], chances)
        return made.predict_proba(X[test], std[test])

    def ours() -> Array:
        first, second = (
            svmgsu.Gaussians(X[rows], svmgsu.Diagonal(std[rows] ** 2) if std.any() else None)
            for rows in (train, test)
        )
        made = svmgsu.GSUClassifier(noisy_labels=True, random_state=seed, threads=1)
        made.fit(first, chances if doubt.any() else y[train])
        return np.asarray(made.predict_proba(second))

    makers = {FOREST: forest, PROBABILISTIC: probabilistic, OURS: ours}
    return makers | ({TOLD: told} if doubt.any() else {})


def _synthetic(seed: int) -> tuple[Array, Array]:
    count = SWEEP_TRAIN + SWEEP_TEST
    return make_classification(
        count, 15, n_informative=10, n_redundant=2, n_clusters_per_class=2, random_state=seed
    )


def _kepler(folder: Path, seed: int) -> tuple[Array, Array]:
    task = kepler(folder, "test like train", seed, train=SWEEP_TRAIN)
    X = np.concatenate([task.train.mean, task.test.mean[:SWEEP_TEST]])
    return X, np.concatenate([task.y, task.truth[:SWEEP_TEST]])


EXTRAS = {**{part: cost for part in COST}, "sweep-synthetic": sweep, "sweep-kepler": sweep}


def run(part: str, folder: Path, split: int, seed: int, quick: bool, path: Path) -> None:
    """One split of an extra part: what is not recorded yet."""
    done = records.known(records.read(path))
    for system, found in EXTRAS[part](part, folder, split, seed, quick, done):
        rounded = {k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in found.items()}
        record = {"cell": part, "split": split, "seed": seed, "system": system}
        records.append(path, record | {"ours": system.startswith(OURS), **rounded})
