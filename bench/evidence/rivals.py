"""What one would use without the library: each rival on values, on bars as features, and on draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC, SVR, LinearSVC

import svmgsu

from ..paper.forest import ProbabilisticForest
from ..paper.systems import Array
from .tasks import Task, deviations

FOREST, FOREST_TUNING = 100, 30  # trees
PROBABILISTIC, PROBABILISTIC_TUNING = 40, 10
TEST_DRAWS = 10  # of a new object, over which predictions are averaged
AT_VALUES, AVERAGED = "at the values", "averaged over draws"
WIDE = 100  # features, from which the slowest rivals stay out
Make = Callable[[Any, int, bool], Any]


class Scored:
    """Decision values of a machine without probabilities, and a sigmoid fitted to a held-out third."""

    def __init__(self, machine: Any) -> None:
        self.machine = machine

    def fit(self, X: Array, y: Array, owner: Array) -> Scored:
        held_out = owner % 3 == 0  # all draws of an object on one side
        if len(np.unique(y[~held_out])) < len(np.unique(y)):
            held_out = np.arange(len(y)) % 3 == 0
        self.machine.fit(X[~held_out], y[~held_out])
        self.sigmoid = LogisticRegression(C=1e3, max_iter=1000).fit(self._scores(X[held_out]), y[held_out])
        return self

    def _scores(self, X: Array) -> Array:
        scores = self.machine.decision_function(X)
        return scores[:, None] if scores.ndim == 1 else scores

    def predict_proba(self, X: Array) -> Array:
        return self.sigmoid.predict_proba(self._scores(X))


class Kernel(Scored):
    """An RBF-SVC whose γ is `factor` over (features × variance)."""

    def __init__(self, C: float, factor: float) -> None:
        self.C, self.factor = C, factor

    def fit(self, X: Array, y: Array, owner: Array) -> Scored:
        self.machine = SVC(C=self.C, gamma=self.factor / (X.shape[1] * X.var()), cache_size=300)
        return super().fit(X, y, owner)


def answering(fitted: Any) -> Any:
    """Probabilities of the classes, or numbers."""
    return fitted.predict_proba if hasattr(fitted, "predict_proba") else fitted.predict


@dataclass(frozen=True)
class Rival:
    """`make(setting, seed, final)` makes an estimator; `view` is what it sees of an object."""

    family: str
    make: Make
    settings: tuple[Any, ...]
    view: str  # "values", "bars", "draws", "draws and bars"
    count: int = 1  # draws of an object
    tuned_as: str = ""  # the system whose chosen setting is taken over
    ours: bool = False

    @property
    def name(self) -> str:
        words = {"values": "values", "bars": "values + bars"}
        seen = words.get(self.view, f"{self.count} {self.view}")
        return f"{self.family}, {seen}"

    @property
    def modes(self) -> tuple[str, ...]:
        return (AT_VALUES, AVERAGED) if self.view.startswith("draws") else (AT_VALUES,)

    def fit(self, task: Task, rows: Array, setting: Any, seed: int, final: bool) -> Any:
        rng = np.random.default_rng([seed, self.count, int(final)])
        y, owner = task.y[rows], np.arange(len(rows))
        if self.view.startswith("draws"):
            X, bars = task.draws(rows, self.count, rng)
            y, owner = np.tile(y, self.count), np.tile(owner, self.count)
        else:
            X, bars = task.values(rows), deviations(task.train[rows])
        made = self.make(setting, seed, final)
        seen = self._features(X, bars)
        return made.fit(seen, y, owner) if isinstance(made, Scored) else made.fit(seen, y)

    def _features(self, X: Array, bars: Array) -> Array:
        return np.hstack([X, bars]) if self.view.endswith("bars") else X

    def predict(self, fitted: Any, data: svmgsu.Gaussians, mode: str, seed: int) -> Array:
        ask = answering(fitted)
        bars = deviations(data)
        if mode == AT_VALUES or data.cov is None:
            return np.asarray(ask(self._features(np.asarray(data.mean), bars)))
        drawn = data.sample(TEST_DRAWS, np.random.default_rng([seed, 9]))
        return np.mean([ask(self._features(X, bars)) for X in np.moveaxis(drawn, 1, 0)], axis=0)

    def suits(self, task: Task) -> bool:
        wide = task.train.shape[1] > WIDE
        if wide and (self.family == "QDA" or (self.family == "boosting" and "bars" in self.view)):
            return False
        if self.family == "boosting" and self.count > 10 and (wide or len(task.classes) > 2):
            return False
        return not (task.augment is not None and self.view == "draws and bars")


class Probabilistic:
    """The probabilistic random forest: objects with their bars go down both branches of a node."""

    name, family, ours, modes, tuned_as = "probabilistic random forest", "forest", False, (AT_VALUES,), ""
    settings = ((2, 12), (5, 12), (15, 12), (5, 6), (2, 20), (5, 20))  # least weight of a leaf, depth

    def fit(self, task: Task, rows: Array, setting: Any, seed: int, final: bool) -> ProbabilisticForest:
        leaf, depth = setting
        forest = ProbabilisticForest(PROBABILISTIC if final else PROBABILISTIC_TUNING, leaf, depth, seed)
        return forest.fit(task.values(rows), deviations(task.train[rows]), task.y[rows])

    def predict(self, fitted: ProbabilisticForest, data: svmgsu.Gaussians, mode: str, seed: int) -> Array:
        return fitted.predict_proba(np.asarray(data.mean), deviations(data))

    def suits(self, task: Task) -> bool:
        return not task.regression


def _forest(kind: Any) -> Make:
    def make(setting: Any, seed: int, final: bool) -> Any:
        leaf, share = setting
        trees = FOREST if final else FOREST_TUNING
        return kind(trees, min_samples_leaf=leaf, max_features=share, random_state=seed)

    return make


def _boosting(kind: Any) -> Make:
    def make(setting: Any, seed: int, final: bool) -> Any:
        leaves, rate = setting
        return kind(max_leaf_nodes=leaves, learning_rate=rate, early_stopping=False, random_state=seed)

    return make


LEAVES = ((1, "sqrt"), (3, "sqrt"), (10, "sqrt"), (1, 0.5), (3, 0.5), (10, 0.5))
BOOSTS = ((4, 0.1), (8, 0.1), (16, 0.1), (4, 0.05), (8, 0.05), (31, 0.05))
COSTS = (1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0)
KERNELS = ((1.0, 0.3), (10.0, 0.3), (100.0, 0.3), (1.0, 1.0), (10.0, 1.0), (10.0, 0.1))
SHRINKS = (0.0, 1e-3, 1e-2, 0.1, 0.3, 0.9)

FAMILIES: dict[str, tuple[Make, tuple[Any, ...], tuple[tuple[str, int], ...]]] = {
    "linear SVM": (
        lambda C, seed, final: Scored(LinearSVC(C=C, max_iter=20_000)),
        COSTS,
        (("values", 1), ("bars", 1), ("draws", 10)),
    ),
    "logistic regression": (
        lambda C, seed, final: LogisticRegression(C=C, max_iter=2000),
        COSTS,
        (("values", 1), ("bars", 1), ("draws", 10), ("draws", 50)),
    ),
    "RBF-SVC": (
        lambda setting, seed, final: Kernel(*setting),
        KERNELS,
        (("values", 1), ("bars", 1), ("draws", 5)),
    ),
    "random forest": (
        _forest(RandomForestClassifier),
        LEAVES,
        (("values", 1), ("bars", 1), ("draws", 10)),
    ),
    "boosting": (
        _boosting(HistGradientBoostingClassifier),
        BOOSTS,
        (("values", 1), ("bars", 1), ("draws", 10), ("draws", 50), ("draws and bars", 10)),
    ),
    "LDA": (
        lambda shrink, seed, final: LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrink),
        SHRINKS,
        (("values", 1), ("draws", 10)),
    ),
    "QDA": (
        lambda shrink, seed, final: QuadraticDiscriminantAnalysis(reg_param=shrink),
        SHRINKS,
        (("values", 1), ("draws", 10)),
    ),
}
NUMBERS: dict[str, tuple[Make, tuple[Any, ...], tuple[tuple[str, int], ...]]] = {
    "ridge": (
        lambda a, seed, final: Ridge(alpha=a),
        (1e-3, 1e-1, 1.0, 10.0, 100.0, 1000.0),
        (("values", 1), ("bars", 1), ("draws", 10), ("draws", 50)),
    ),
    "RBF-SVR": (
        lambda s, seed, final: SVR(C=s[0], gamma=s[1]),
        ((1.0, 0.1), (1.0, 0.3), (1.0, 1.0), (10.0, 0.1), (10.0, 0.3), (10.0, 1.0)),
        (("values", 1), ("bars", 1), ("draws", 5)),
    ),
    "random forest": (
        _forest(RandomForestRegressor),
        LEAVES,
        (("values", 1), ("bars", 1), ("draws", 10)),
    ),
    "boosting": (
        _boosting(HistGradientBoostingRegressor),
        BOOSTS,
        (("values", 1), ("bars", 1), ("draws", 10), ("draws", 50), ("draws and bars", 10)),
    ),
}


def rivals(regression: bool) -> list[Any]:
    """All of them; 50 draws take over the setting that was chosen with 10."""
    found: list[Any] = []
    for family, (make, settings, views) in (NUMBERS if regression else FAMILIES).items():
        for view, count in views:
            tuned_as = f"{family}, 10 draws" if count == 50 else ""
            found.append(Rival(family, make, settings, view, count, tuned_as))
    return found if regression else [*found, Probabilistic()]
