"""The models that a report compares, each behind the same two methods: `fit` and `predict`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..data.gaussians import Gaussians
from ..estimators.pool.classifier import GSUClassifier
from ..estimators.pool.regressor import GSURegressor
from ..support.types import Fields
from ..support.validation import Array, FloatArray

if TYPE_CHECKING:
    from .problem import Problem

Fitted: TypeAlias = Any  # a model of scikit-learn, GSUClassifier or GSURegressor
LEAST = 1e-3  # probability: a forest says 0 of what its trees have not seen
UNEXPLAINED = 0.3  # of the spread of the targets
FAMILIES = ("linear", "forest", "boosting", "pool")  # the simplest first


@dataclass(frozen=True)
class Effort:
    """How much work a report does. All models are tested on the same samples."""

    folds: int
    samples: int  # that take part at all
    training: int  # samples that models are trained on in a fold
    trees: int
    rounds: int  # of boosting
    candidates: int  # samples of a fold that may be listed to be measured again
    draws: int  # of the true values of a sample
    features: int  # of a sample that may be named to be measured again
    cv: int  # folds within the pool


FULL = Effort(5, 5000, 2000, trees=200, rounds=80, candidates=300, draws=24, features=12, cv=5)
QUICK = Effort(3, 1500, 500, trees=60, rounds=40, candidates=100, draws=12, features=6, cv=3)


@dataclass
class Prediction:
    """Probabilities of all classes, or predicted numbers with their standard deviations."""

    mean: FloatArray
    std: FloatArray | None = None


def unexplained(y: FloatArray) -> float:
    """Return what a model may leave unexplained of targets: a part of their spread.

    The spread is a robust one, so that a few targets of large errors do not make it large.
    """
    spread = 1.4826 * float(np.median(np.abs(y - np.median(y)))) or float(y.std())
    return float(f"{UNEXPLAINED * spread:.4g}")


def target_weights(y: FloatArray, y_std: FloatArray) -> FloatArray:
    """Return weights of targets with errors, 1 on average: 1/(τ² + e²), τ what may be left unexplained."""
    weights = 1 / (unexplained(y) ** 2 + y_std**2)
    return np.asarray(weights / weights.mean())


def table_of(data: Gaussians, uncertainties: bool) -> FloatArray:
    """Return the values, and beside them the standard errors."""
    values = np.asarray(data.mean, dtype=np.float64)
    if not uncertainties or data.cov is None:
        return values
    return np.column_stack([values, np.sqrt(data.cov.diagonals(*data.shape))])


class System:
    """A model of scikit-learn on columns: values, and beside them the standard errors if they are used."""

    def __init__(self, family: str, problem: Problem, effort: Effort, uncertainties: bool) -> None:
        self.family = family
        self.classes = problem.classes
        self.is_classifier = problem.is_classification
        self.effort = effort
        self.seed = problem.seed
        self.uncertainties = uncertainties
        self.key = family + "-uncertainties" * uncertainties
        names = {
            "linear": "Logistic regression" if self.is_classifier else "Ridge regression",
            "forest": "Random forest",
            "boosting": "Gradient boosting",
            "pool": "GSUClassifier" if self.is_classifier else "GSURegressor",
        }
        self.family_name = names[family]
        self.name = f"{self.family_name}, {'values + uncertainties' if uncertainties else 'values only'}"

    def all_classes(self, proba: FloatArray, known: Array) -> FloatArray:
        """Return probabilities with a column for every class, none below `LEAST`."""
        out = np.full((len(proba), len(self.classes)), LEAST)
        out[:, np.searchsorted(self.classes, known)] = np.maximum(proba, LEAST)
        return np.asarray(out / out.sum(axis=1, keepdims=True))

    def model(self) -> Fitted:
        """Return the model before training."""
        if self.family == "linear":
            last = LogisticRegression(max_iter=1000) if self.is_classifier else RidgeCV(np.logspace(-3, 3, 7))
            filled = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
            return make_pipeline(filled, StandardScaler(), last)
        if self.family == "forest":
            forest = RandomForestClassifier if self.is_classifier else RandomForestRegressor
            return forest(self.effort.trees, min_samples_leaf=3, random_state=self.seed)
        boosting = HistGradientBoostingClassifier if self.is_classifier else HistGradientBoostingRegressor
        return boosting(max_iter=self.effort.rounds, random_state=self.seed)

    def fit(self, part: Problem) -> Fitted:
        """Train on some samples."""
        X = table_of(part.data, self.uncertainties)
        y = part.y
        weights = part.weight
        if part.soft is not None:
            # Every sample is there once for each class, with the probability as its weight.
            X = X.repeat(len(self.classes), axis=0)
            y = np.tile(self.classes, len(part.y))
            weights = part.soft.ravel()
        model = self.model()
        if weights is None:
            return model.fit(X, y)
        prefix = f"{type(model[-1]).__name__.lower()}__" if self.family == "linear" else ""
        return model.fit(X, y, **{f"{prefix}sample_weight": weights})

    def predict(self, model: Fitted, data: Gaussians) -> Prediction:
        """Predict samples."""
        X = table_of(data, self.uncertainties)
        if self.is_classifier:
            return Prediction(self.all_classes(model.predict_proba(X), model.classes_))
        return Prediction(np.asarray(model.predict(X), dtype=float))

    def code(self, problem: Problem) -> list[str]:
        """Return the lines that train this model, given `data` and `y`."""
        if self.family == "linear":
            last = (
                "LogisticRegression(max_iter=1000)"
                if self.is_classifier
                else "RidgeCV(np.logspace(-3, 3, 7))"
            )
            name = last.partition("(")[0]
            lines = [
                "from sklearn.impute import SimpleImputer",
                f"from sklearn.linear_model import {name}",
                "from sklearn.pipeline import make_pipeline",
                "from sklearn.preprocessing import StandardScaler",
                'imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)',
                f"model = make_pipeline(imputer, StandardScaler(), {last})",
            ]
            weighted = f"{name.lower()}__sample_weight"
        else:
            shown = " ".join(str(self.model()).split())
            lines = [f"from sklearn.ensemble import {shown.partition('(')[0]}", f"model = {shown}"]
            weighted = "sample_weight"
        columns = "data.mean"
        if self.uncertainties:
            columns = "np.column_stack([data.mean, np.sqrt(data.cov.diagonals(*data.shape))])"
        if problem.soft is not None:
            lines.append(f"columns = np.repeat({columns}, len(classes), axis=0)")
            lines.append(f"model.fit(columns, list(classes) * len(data), {weighted}=np.ravel(y))")
        elif problem.y_std is not None:
            scale = unexplained(problem.y)
            lines.append(f"weights = 1 / ({scale}**2 + y_std**2)")
            lines.append(f"model.fit({columns}, y, {weighted}=weights / weights.mean())")
        else:
            lines.append(f"model.fit({columns}, y)")
        return ["import numpy as np", *lines] if "np." in "".join(lines) else lines


class Pool(System):
    """`GSUClassifier()` or `GSURegressor()` with default settings."""

    def seen(self, data: Gaussians) -> Gaussians:
        """Return what this system sees of samples."""
        return data if self.uncertainties else data.with_cov(None)

    def fit(self, part: Problem) -> Fitted:
        kind: Any = GSUClassifier if self.is_classifier else GSURegressor
        more: Fields = {}
        if part.soft is not None:
            more["classes"] = self.classes
        if part.y_std is not None:
            more["y_std"] = part.y_std
        y = part.y if part.soft is None else part.soft
        return kind(cv=self.effort.cv, random_state=self.seed).fit(
            self.seen(part.data), y, groups=part.groups, **more
        )

    def predict(self, model: Fitted, data: Gaussians) -> Prediction:
        if self.is_classifier:
            return Prediction(self.all_classes(model.predict_proba(self.seen(data)), model.classes_))
        return Prediction(*model.predict(self.seen(data), return_std=True))

    def code(self, problem: Problem) -> list[str]:
        """Return the line that trains this model, given `data` and `y`."""
        given = "data" if self.uncertainties or problem.data.cov is None else "data.with_cov(None)"
        optional = {"classes": problem.soft, "y_std": problem.y_std, "groups": problem.groups}
        more = "".join(f", {name}={name}" for name, value in optional.items() if value is not None)
        return [f"model = svmgsu.{self.family_name}().fit({given}, y{more})"]


def systems_for(problem: Problem, effort: Effort) -> list[System]:
    """Return the models to compare, the simplest first."""
    return [
        (Pool if family == "pool" else System)(family, problem, effort, uncertainties)
        for family in FAMILIES
        for uncertainties in ([False, True] if problem.data.cov is not None else [False])
    ]
