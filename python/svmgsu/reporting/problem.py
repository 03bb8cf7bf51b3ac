"""The samples that models are compared on: reading what a user gives, folds, and losses."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold

from ..data.gaussians import Gaussians, as_gaussians, with_gaps
from ..fit.train import check_target_errors
from ..io.cells import guess_task, names_of
from ..io.dataset import Dataset
from ..io.frames import is_frame, read_frame
from ..support.labels import as_labels, has_soft_labels, read_labels
from ..support.types import Fields, Table
from ..support.validation import Array, ArrayLike, FloatArray, check_choice, check_count
from .systems import LEAST, Effort, Prediction, target_weights, unexplained

TASKS = ("auto", "classification", "regression")
FEWEST = 10  # samples


@dataclass
class Problem:
    """Samples with labels (as given, and as codes) or targets, and what belongs to each sample."""

    task: str
    data: Gaussians
    y: Array
    codes: Array
    classes: Array
    groups: Array | None
    ids: Array
    seed: int
    y_std: FloatArray | None = None
    weight: FloatArray | None = None  # by y_std, 1 on average
    soft: FloatArray | None = None  # class probabilities; y is then the most probable class
    own_ids: dict[str, Array] = field(default_factory=dict)  # columns of a table that name the samples

    @property
    def is_classification(self) -> bool:
        return self.task == "classification"

    def part(self, rows: Array) -> Problem:
        """Return some of the samples."""
        names = ("data", "y", "groups", "ids", "y_std", "weight", "soft")
        own = {name: getattr(self, name) for name in names}
        some: Any = {name: None if value is None else value[rows] for name, value in own.items()}
        return replace(self, codes=self.codes[rows] if len(self.codes) else self.codes, **some)

    def with_features(self, places: Array) -> Problem:
        """Return the same samples with some of the features, by position."""
        if not len(places):
            raise ValueError("data: all features are constant or missing; there is nothing to learn from")
        return replace(self, data=self.data.select(places))

    def splits(self, folds: int) -> list[tuple[Array, Array]]:
        """Return (training, held-out) samples of each fold; samples of a group are on one side."""
        kind: Any
        if self.groups is not None:
            count = len(np.unique(self.groups))
            if count < folds:
                raise ValueError(f"groups: there are {count}, and {folds} folds need at least as many")
            if self.is_classification:
                kind = StratifiedGroupKFold(folds, shuffle=True, random_state=self.seed)
            else:
                kind = GroupKFold(folds)
        else:
            maker = StratifiedKFold if self.is_classification else KFold
            kind = maker(folds, shuffle=True, random_state=self.seed)
        with warnings.catch_warnings():
            # scikit-learn warns of rare classes, which were left out already.
            warnings.simplefilter("ignore")
            strata = self.codes if self.is_classification else self.y
            return list(kind.split(np.zeros(len(self.y)), strata, self.groups))

    def losses(self, found: Prediction) -> FloatArray:
        """Return minus the log-probability of each sample's class, or its squared error."""
        if self.is_classification:
            logs = -np.log(np.maximum(found.mean, LEAST))
            if self.soft is not None:
                return np.asarray((self.soft * logs).sum(axis=1))
            return np.asarray(logs[np.arange(len(self.codes)), self.codes])
        squares = (found.mean - self.y) ** 2
        return np.asarray(squares if self.weight is None else self.weight * squares)

    def second_measure(self, found: Prediction) -> FloatArray:
        """Return whether each sample's class is right, or its absolute error."""
        if self.is_classification:
            best = found.mean.argmax(axis=1)
            if self.soft is not None:
                return np.asarray(self.soft[np.arange(len(best)), best])
            return np.asarray(best == self.codes, dtype=float)
        sizes = np.abs(found.mean - self.y)
        return np.asarray(sizes if self.weight is None else self.weight * sizes)


def prepare(
    data: ArrayLike,
    y: ArrayLike,
    *,
    cov: ArrayLike,
    std: ArrayLike,
    y_std: ArrayLike,
    classes: ArrayLike,
    groups: ArrayLike,
    ids: ArrayLike,
    task: str,
    seed: int,
    effort: Effort,
) -> tuple[Problem, list[str]]:
    """Return the problem, and notes of what was left out."""
    check_choice(task, "task", TASKS)
    check_count(seed, "seed", least=0)
    notes: list[str] = []
    own_ids = {}
    if is_frame(data) and not isinstance(data, Gaussians) and cov is None and std is None:
        frame: Any = data
        found = _from_frame(frame, y, task)
        assert found.columns is not None
        own_ids = {name: np.asarray(frame[name]) for name in found.columns.ids}
        notes += found.report.notes
        data = found.data
        y = found.y if isinstance(y, str) else y
        y_std = found.y_std if y_std is None else y_std
    samples = data if isinstance(data, Gaussians) and cov is None and std is None else _read(data, cov, std)
    count = len(samples)
    if samples.cov is not None and samples.cov.needs_classes:
        samples = samples.with_cov(None)
        notes.append("Covariances by class are ignored: the class of a new sample is not known.")
    if y is None:
        raise ValueError("y: a report needs labels, or the targets of a regression")
    if has_soft_labels(y):
        task = "classification"
    if task == "auto":
        task = guess_task(np.asarray(y)) if y_std is None else "regression"
    if y_std is not None and task != "regression":
        raise ValueError("y_std: these are errors of targets, but y has labels")
    names = np.arange(count).astype(str) if ids is None else _column(ids, "ids", count).astype(str)
    together = None if groups is None else _column(groups, "groups", count)
    if task == "regression":
        problem = _regression(samples, y, together, names, seed)
        errors = check_target_errors(y_std, count)
        if errors is not None:
            problem.y_std = errors
            problem.weight = target_weights(problem.y, errors)
            scale = unexplained(problem.y)
            notes.append(f"Targets, and scores, are weighted by 1/(τ² + e²): e is the error, τ {scale:g}.")
    elif has_soft_labels(y):
        problem = _soft_labels(samples, y, classes, together, names, seed)
        notes.append("Labels are class probabilities: the log-loss is expected under them.")
    else:
        problem, more = _labels(samples, y, together, names, seed, effort.folds)
        notes += more
    problem.own_ids = own_ids if groups is None else {}
    least = max(FEWEST, 2 * effort.folds)
    if len(problem.y) < least:
        raise ValueError(f"data: {len(problem.y)} samples are too few to compare models on; need {least}")
    if len(problem.y) > effort.samples:
        rows = draw_rows(np.arange(len(problem.y)), problem.codes, effort.samples, seed)
        notes.append(f"{len(rows)} of {len(problem.y)} samples take part, drawn at random, to save time.")
        problem = problem.part(rows)
    return problem, notes


def draw_rows(rows: Array, codes: Array, most: int, seed: int) -> Array:
    """Return at most `most` of the rows, drawn at random, with some of every class."""
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


def _read(data: ArrayLike, cov: ArrayLike, std: ArrayLike) -> Gaussians:
    """Return arrays as Gaussians; NaN among the values is a missing value."""
    values = np.asarray(data.mean if isinstance(data, Gaussians) else data)
    if values.dtype.kind == "f" and values.ndim == 2 and np.isnan(values).any():
        filled = as_gaussians(np.nan_to_num(values), cov, std)
        return with_gaps(values, filled.cov, filled.feature_names_in_)
    return as_gaussians(data, cov, std)


def _column(given: ArrayLike, name: str, count: int) -> Array:
    values = np.asarray(given)
    if values.shape != (count,):
        raise ValueError(f"{name}: shape {values.shape}; expected one for each of {count} samples")
    return values


def _regression(data: Gaussians, y: ArrayLike, groups: Array | None, ids: Array, seed: int) -> Problem:
    try:
        targets = _column(y, "y", len(data)).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y: a regression needs numbers ({error})") from None
    bad = np.flatnonzero(~np.isfinite(targets))
    if len(bad):
        raise ValueError(f"y: sample {bad[0]} has {targets[bad[0]]}; targets must be finite")
    if targets.min() == targets.max():
        raise ValueError(f"y: all targets are {targets[0]:g}; there is nothing to learn")
    return Problem("regression", data, targets, np.empty(0, int), np.empty(0), groups, ids, seed)


def _labels(
    data: Gaussians, y: ArrayLike, groups: Array | None, ids: Array, seed: int, folds: int
) -> tuple[Problem, list[str]]:
    """Leave out classes with fewer samples (or groups) than folds: they cannot be held out in each."""
    labels = as_labels(y, len(data))
    classes, codes = np.unique(labels, return_inverse=True)
    counts = np.bincount(codes)
    if groups is not None:
        counts = np.array([len(np.unique(groups[codes == k])) for k in range(len(classes))])
    rare = np.flatnonzero(counts < folds)
    what = "samples" if groups is None else "groups"
    if len(classes) - len(rare) < 2:
        shown = ", ".join(f"{classes[k]} has {counts[k]}" for k in range(min(5, len(classes))))
        more = f", ... ({len(classes)} classes)" if len(classes) > 5 else ""
        raise ValueError(
            f"y: need two classes with at least {folds} {what} each for {folds} folds; {shown}{more}"
        )
    notes = []
    if len(rare):
        shown = ", ".join(f"{classes[k]} ({counts[k]})" for k in rare[:10])
        more = f" and {len(rare) - 10} more" if len(rare) > 10 else ""
        notes.append(f"Classes with fewer than {folds} {what} are left out: {shown}{more}.")
    whole = Problem("classification", data, labels, codes, classes, groups, ids, seed)
    kept = whole.part(np.flatnonzero(~np.isin(codes, rare))) if len(rare) else whole
    kept.classes, kept.codes = np.unique(kept.y, return_inverse=True)
    return kept, notes


def _soft_labels(
    data: Gaussians, y: ArrayLike, classes: ArrayLike, groups: Array | None, ids: Array, seed: int
) -> Problem:
    known, codes, each = read_labels(y, len(data), classes)
    soft = each.table(codes)
    best = soft.argmax(axis=1)
    if len(np.unique(best)) < 2:
        raise ValueError(f"y: {known[best[0]]} is the most probable class of all samples; nothing to learn")
    return Problem("classification", data, known[best], best, known, groups, ids, seed, soft=soft)


def _from_frame(frame: Table, y: ArrayLike, task: str) -> Dataset:
    options: Fields = {"missing": "keep", "target": False}
    if isinstance(y, str):
        if y not in names_of(frame):
            raise ValueError(f"y: the frame has no column {y!r}")
        options |= {"target": y, "task": task}
    return read_frame(frame, **options)
