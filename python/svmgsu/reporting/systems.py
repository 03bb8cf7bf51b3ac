"""The ways to learn that a report compares, each behind the same two methods: `fit` and `predict`."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..data.gaussians import Gaussians
from ..estimators.linear import LinearSVMGSU, LinearSVRGSU
from ..estimators.pool.classifier import GSUClassifier
from ..estimators.pool.regressor import GSURegressor
from ..estimators.propagate import Propagate
from ..support.validation import Array, FloatArray
from .effort import Effort

SCALES = (0.0, 0.1, 0.3, 1.0)  # of the covariances, that a linear model may choose from
LAMS = (1.0, 0.1, 0.01, 1e-3, 1e-4)
WIDEST = 100  # features: of more a population cannot be learnt in the time of a report
MOST_NUMBERS = 4_000_000  # drawn for trees
LEAST = 1e-15  # probability
IN_DOUBT = "expected_log_loss"  # the score that takes labels in doubt
UNEXPLAINED = 0.3  # of the targets' spread


class Outcome:
    """What is said of objects: probabilities of all classes, or values with deviations."""

    def __init__(self, mean: FloatArray, std: FloatArray | None = None) -> None:
        self.mean, self.std = mean, std

    @classmethod
    def joined(cls, parts: list[Outcome]) -> Outcome:
        std = None
        if all(part.std is not None for part in parts):
            std = np.concatenate([np.asarray(part.std) for part in parts])
        return cls(np.concatenate([part.mean for part in parts]), std)


class Known(Protocol):
    """Objects to train on: a `Problem`, or a part of one."""

    data: Gaussians
    y: Array
    groups: Array | None
    y_std: FloatArray | None
    chances: FloatArray | None


def target_weights(y: FloatArray, y_std: FloatArray) -> FloatArray:
    """How much numbers with errors count, 1 on average: 1/(τ² + e²), τ what may be left unexplained."""
    weights = 1 / ((UNEXPLAINED * y.std()) ** 2 + y_std**2)
    return np.asarray(weights / weights.mean())


class Way:
    """A way to learn; `bars` says whether it is shown the error bars."""

    key: str
    name: str

    def __init__(self, task: str, classes: Array, effort: Effort, *, bars: bool, seed: int) -> None:
        self.task, self.classes, self.effort, self.bars, self.seed = task, classes, effort, bars, seed
        self.most: int | None = None  # objects to train on

    @property
    def is_classifier(self) -> bool:
        return self.task == "classification"

    def fit(self, part: Known) -> Any:
        """A model, for `predict`."""
        raise NotImplementedError

    def told(self, part: Known) -> tuple[Array, dict[str, Any]]:
        """What our own models are told of targets: y, and what is known of its doubt."""
        if part.chances is not None:
            return part.chances, {"classes": self.classes}
        return part.y, {} if part.y_std is None else {"y_std": part.y_std}

    def predict(self, model: Any, data: Gaussians) -> Outcome:
        """What the model says of objects, with the error bars that they have."""
        if self.is_classifier:
            return Outcome(self.aligned(model.predict_proba(data), model.classes_))
        return Outcome(np.asarray(model.predict(data), dtype=float))

    def aligned(self, chances: FloatArray, known: Array) -> FloatArray:
        """Columns for all classes; one that a fold has not seen has no chance."""
        out = np.full((len(chances), len(self.classes)), LEAST)
        out[:, np.searchsorted(self.classes, known)] = np.clip(chances, LEAST, None)
        return np.asarray(out / out.sum(axis=1, keepdims=True))


class Linear(Way):
    """A linear model on features in units of their spread; λ, and how much bars count, by validation.

    The first fit chooses them, those of the other folds take them over.
    """

    def __init__(self, *given: Any, bars: bool, seed: int) -> None:
        super().__init__(*given, bars=bars, seed=seed)
        self.key = "linear-bars" if bars else "linear"
        self.name = "Linear, with error bars" if bars else "Linear, values only"
        self._found: dict[str, Any] | None = None

    def fit(self, part: Known) -> Any:
        step = self._search(part) if self._found is None else self._known()
        y, extra = self.told(part)
        classes = extra.pop("classes", None)
        if classes is not None:
            y = {label: y[:, k] for k, label in enumerate(np.asarray(classes).tolist())}
        if part.groups is not None:
            extra["groups"] = part.groups
        named = {f"{type(step).__name__.lower()}__{name}": value for name, value in extra.items()}
        model = make_pipeline(Propagate(StandardScaler()), step).fit(self.seen(part.data), y, **named)
        if self._found is None:
            self._found = {"lam": step.lam_, "cov_scale": step.cov_scale_}
        return model

    def _search(self, part: Known) -> Any:
        """Chooses λ, and how much bars count."""
        threads = self.effort.threads
        scales = SCALES if self.bars and part.data.cov is not None else (0.0,)
        kind = LinearSVMGSU if self.is_classifier else LinearSVRGSU
        return kind(LAMS, cov_scale=scales, threads=threads)

    def _known(self) -> Any:
        """A model with what was chosen."""
        threads, found = self.effort.threads, self._found or {}
        if self.is_classifier:
            return LinearSVMGSU(threads=threads, **found)
        return LinearSVRGSU(threads=threads, **found)

    def seen(self, data: Gaussians) -> Gaussians:
        return data if self.bars else data.with_cov(None)

    def predict(self, model: Any, data: Gaussians) -> Outcome:
        seen = self.seen(data)
        if self.is_classifier:
            return super().predict(model, seen)
        scatter = model[-1].scatter_
        if seen.cov is None:
            values = np.asarray(model.predict(seen), dtype=float)
            return Outcome(values, np.full(len(values), scatter))
        values, deviation = model[-1].predict(model[:-1].transform(seen), return_std=True)
        return Outcome(values, np.hypot(deviation, scatter))


class Curved(Way):
    """`GSUClassifier` or `GSURegressor`."""

    sees_sizes = False  # samples with other standard errors are predicted without these as features

    def __init__(self, *given: Any, bars: bool, seed: int) -> None:
        super().__init__(*given, bars=bars, seed=seed)
        self.key = "rbf-bars" if bars else "rbf"
        self.name = "Pool, with error bars (posterior)" if bars else "Pool, values only"
        self.most = self.effort.curved

    def fit(self, part: Known) -> Any:
        kind: Any = GSUClassifier if self.is_classifier else GSURegressor
        frequencies = max(2, self.effort.frequencies // 2)
        model = kind(n_frequencies=frequencies, random_state=self.seed, threads=self.effort.threads)
        y, extra = self.told(part)
        seen = part.data if self.bars else part.data.with_cov(None)
        return model.fit(seen, y, groups=part.groups, **extra)

    def steady(self) -> Curved:
        """The same way for other sizes of error bars."""
        return self

    def predict(self, model: Any, data: Gaussians) -> Outcome:
        seen = data if self.bars else data.with_cov(None)
        if self.is_classifier:
            return super().predict(model, seen)
        values, deviation = model.predict(seen, return_std=True)
        return Outcome(values, deviation)


class Trees(Way):
    """A forest or boosting on draws from the objects; predictions are means over draws of an object."""

    def __init__(self, *given: Any, boosting: bool, bars: bool, seed: int) -> None:
        super().__init__(*given, bars=bars, seed=seed)
        self.boosting = boosting
        self.key = "boosting" if boosting else "forest"
        kind = "Gradient boosting" if boosting else "Random forest"
        self.name = f"{kind}, {'on draws from the error bars' if bars else 'values only'}"
        self.most = self.effort.trees

    def fit(self, part: Known) -> Any:
        X, copies = self.draws(part.data)
        y, weights = np.repeat(part.y, copies), None
        if part.y_std is not None:
            weights = np.repeat(target_weights(part.y, part.y_std), copies)
        if part.chances is not None:  # each draw is there for every class
            weights = part.chances.repeat(copies, axis=0).ravel()
            X, y = X.repeat(len(self.classes), axis=0), np.tile(self.classes, len(X))
        return self.model(len(y) // len(part.y)).fit(X, y, sample_weight=weights)

    def model(self, rows: int) -> Any:
        """The trees, for so many rows of an object."""
        if self.boosting:
            kind = HistGradientBoostingClassifier if self.is_classifier else HistGradientBoostingRegressor
            return kind(max_iter=self.effort.rounds, early_stopping=False, random_state=self.seed)
        kind = RandomForestClassifier if self.is_classifier else RandomForestRegressor
        return kind(
            self.effort.trees_of_forest,
            min_samples_leaf=rows,
            random_state=self.seed,
            n_jobs=self.effort.threads or -1,
        )

    def draws(self, data: Gaussians) -> tuple[FloatArray, int]:
        if not self.bars or data.cov is None:
            return np.asarray(data.sample(1, self.seed)[:, 0] if data.cov is None else data.mean), 1
        copies = self.copies(data)
        drawn = data.sample(copies, self.seed)
        return drawn.reshape(-1, data.shape[1]), copies

    def copies(self, data: Gaussians) -> int:
        """Draws of each object."""
        return max(1, min(self.effort.copies, MOST_NUMBERS // (data.shape[0] * data.shape[1])))

    def predict(self, model: Any, data: Gaussians) -> Outcome:
        X, copies = self.draws(data)
        if self.is_classifier:
            chances = model.predict_proba(X).reshape(len(data), copies, -1).mean(axis=1)
            return Outcome(self.aligned(chances, model.classes_))
        return Outcome(model.predict(X).reshape(len(data), copies).mean(axis=1))


def ways_for(task: str, classes: Array, data: Gaussians, effort: Effort, seed: int) -> list[Way]:
    """The ways that suit the data, in the order of the page, the simplest first."""
    given, bars = (task, classes, effort), data.cov is not None
    ways: list[Way] = [Linear(*given, bars=False, seed=seed)]
    if bars:
        ways.append(Linear(*given, bars=True, seed=seed))
    if data.shape[1] <= WIDEST:
        ways.append(Curved(*given, bars=False, seed=seed))
        if bars:
            ways.append(Curved(*given, bars=True, seed=seed))
    ways.append(Trees(*given, boosting=False, bars=bars, seed=seed))
    if data.shape[1] <= effort.widest_boosting:
        ways.append(Trees(*given, boosting=True, bars=bars, seed=seed))
    return ways
