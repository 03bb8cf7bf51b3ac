"""Paired cross-validation: every way is tested on the same held-out objects, with standard errors."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from ..data.gaussians import Gaussians
from ..support.validation import Array, FloatArray
from .result import System
from .systems import LEAST, Outcome, Way


@dataclass
class Problem:
    """The objects that take part: data, labels as codes or numbers, groups."""

    task: str
    data: Gaussians
    y: Array  # labels or numbers, as given
    codes: Array  # places among the classes; empty for a regression
    classes: Array
    groups: Array | None
    ids: Array
    seed: int
    y_std: FloatArray | None = None  # errors of the numbers
    weight: FloatArray | None = None  # of each object by them, 1 on average
    chances: FloatArray | None = None  # of the classes, where labels are in doubt; y is the likeliest

    def part(self, rows: Array) -> Problem:
        """Some of the objects."""
        names = ("data", "y", "groups", "ids", "y_std", "weight", "chances")
        own = {name: getattr(self, name) for name in names}
        some: Any = {name: None if value is None else value[rows] for name, value in own.items()}
        return replace(self, codes=self.codes[rows] if len(self.codes) else self.codes, **some)

    def splits(self, folds: int) -> list[tuple[Array, Array]]:
        """(known, held out) of each fold; objects of a group are on one side."""
        kind: Any
        if self.groups is not None:
            count = len(np.unique(self.groups))
            if count < folds:
                raise ValueError(f"groups: there are {count}, and {folds} folds need as many at the least")
            if self.task == "classification":
                kind = StratifiedGroupKFold(folds, shuffle=True, random_state=self.seed)
            else:
                kind = GroupKFold(folds)
        elif self.task == "classification":
            kind = StratifiedKFold(folds, shuffle=True, random_state=self.seed)
        else:
            kind = KFold(folds, shuffle=True, random_state=self.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scikit-learn, that a class is rare: we look ourselves
            given = self.codes if self.task == "classification" else self.y
            return list(kind.split(np.zeros(len(self.y)), given, self.groups))

    def losses(self, said: Outcome) -> FloatArray:
        """Of each object: minus the logarithm of its class's probability, or the squared error."""
        if self.task == "classification":
            logs = -np.log(np.maximum(said.mean, LEAST))
            if self.chances is not None:
                return np.asarray((self.chances * logs).sum(axis=1))
            return np.asarray(logs[np.arange(len(self.codes)), self.codes])
        squares = (said.mean - self.y) ** 2
        return np.asarray(squares if self.weight is None else self.weight * squares)

    def seconds(self, said: Outcome) -> FloatArray:
        """Of each object the second measure: is it right, or the absolute error."""
        if self.task == "classification":
            best = said.mean.argmax(axis=1)
            if self.chances is not None:
                return np.asarray(self.chances[np.arange(len(best)), best])
            return np.asarray(best == self.codes, dtype=float)
        sizes = np.abs(said.mean - self.y)
        return np.asarray(sizes if self.weight is None else self.weight * sizes)


@dataclass
class Trial:
    """What a way said of all objects, each held out once, and the models of the folds."""

    way: Way
    system: System
    said: Outcome | None = None
    models: list[Any] = field(default_factory=list)


def compare(
    problem: Problem, ways: list[Way], folds: list[tuple[Array, Array]], done: Callable[[], None]
) -> list[Trial]:
    """Fits every way in every fold. One that fails is named with its reason, and the others go on."""
    trials = [Trial(way, System(way.key, way.name, way.bars)) for way in ways]
    for trial in trials:
        began, parts = time.perf_counter(), []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for known, held_out in folds:
                try:
                    if trial.system.failure is None:
                        parts.append(_one(problem, trial, known, held_out))
                except (ValueError, MemoryError, np.linalg.LinAlgError) as error:
                    trial.system.failure = str(error)[:300] or type(error).__name__
                done()
        found = {str(w.message) for w in caught if issubclass(w.category, UserWarning)}
        trial.system.notes = sorted(found)[:1]
        trial.system.seconds = time.perf_counter() - began
        if trial.system.failure is None:
            order = np.argsort(np.concatenate([out for _, out in folds]), kind="stable")
            joined = Outcome.joined(parts)
            trial.said = Outcome(joined.mean[order], None if joined.std is None else joined.std[order])
    return trials


def _one(problem: Problem, trial: Trial, known: Array, held_out: Array) -> Outcome:
    """One fold of a way: the model is kept, and what it says of the held-out objects returned."""
    way = trial.way
    rows = known if way.most is None else chosen(known, problem.codes, way.most, way.seed)
    part = problem.part(rows)
    model = way.fit(part)
    trial.models.append(model)
    trial.system.trained_on = max(trial.system.trained_on, len(rows))
    return way.predict(model, problem.data[held_out])


def chosen(rows: Array, codes: Array, most: int, seed: int) -> Array:
    """At most so many of the rows, drawn; of every class some."""
    if len(rows) <= most:
        return rows
    rng = np.random.default_rng([seed, 7])
    if not len(codes):
        return np.sort(rng.permutation(rows)[:most])
    kept = []
    for code in np.unique(codes[rows]):
        own = rng.permutation(rows[codes[rows] == code])
        kept.append(own[: max(min(len(own), 5), round(most * len(own) / len(rows)))])
    return np.sort(np.concatenate(kept))


def standard_error(values: FloatArray, groups: Array | None) -> float:
    """Of the mean of values; those of a group are not independent, and count together."""
    centred = values - values.mean()
    if groups is not None:
        places = np.unique(groups, return_inverse=True)[1]
        centred = np.bincount(places, centred)
    count = len(centred)
    return float(np.sqrt(count / max(1, count - 1) * (centred**2).sum()) / len(values))


def measure(problem: Problem, trials: list[Trial]) -> None:
    """Scores with standard errors, and paired differences to the first way that did not fail."""
    first = next((t for t in trials if t.said is not None), None)
    for trial in trials:
        if trial.said is None:
            continue
        system, second = trial.system, problem.seconds(trial.said)
        losses = problem.losses(trial.said)
        system.score, each = score_of(problem.task, losses)
        system.score_error = standard_error(each, problem.groups)
        system.second, system.second_error = float(second.mean()), standard_error(second, problem.groups)
        assert first is not None and first.said is not None
        if trial is not first:
            system.difference, system.difference_error = difference(problem, trial, first)


def score_of(task: str, losses: FloatArray) -> tuple[float, FloatArray]:
    """Mean loss, or the root of the mean square; and what each object adds, whose mean it is."""
    if task == "classification":
        return float(losses.mean()), losses
    root = float(np.sqrt(losses.mean()))
    return root, losses / (2 * root) + root / 2 if root > 0 else losses  # linear in the losses


def difference(problem: Problem, one: Trial, other: Trial) -> tuple[float, float]:
    """Score of `one` minus that of `other`, and its standard error over the pairs of losses."""
    assert one.said is not None and other.said is not None
    a, b = problem.losses(one.said), problem.losses(other.said)
    if problem.task == "classification":
        each = a - b
    else:
        roots = np.sqrt(a.mean()) + np.sqrt(b.mean())
        each = (a - b) / roots if roots > 0 else a - b
    return float(each.mean()), standard_error(each, problem.groups)
