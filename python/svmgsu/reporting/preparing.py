"""What a user gives, as the problem that models are compared on; what cannot be used is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..data.gaussians import Gaussians, as_gaussians
from ..data.soft_labels import has_soft_labels, read_labels
from ..fit.regression import check_target_errors
from ..io.cells import guess_task, names_of
from ..io.frames import is_frame, read_frame
from ..support.labels import as_labels
from ..support.validation import Array, check_choice, check_count
from .comparing import Problem, chosen
from .effort import Effort
from .systems import target_weights

TASKS = ("auto", "classification", "regression")
LEAST_OBJECTS = 10
BY_ERRORS = "Targets count by their errors e, with 1/(τ² + e²): τ is 0.3 of their spread; in scores too."


def prepare(
    data: Any,
    y: Any,
    cov: Any,
    std: Any,
    groups: Any,
    ids: Any,
    task: str,
    seed: int,
    effort: Effort,
    y_std: Any = None,
    classes: Any = None,
) -> tuple[Problem, list[str]]:
    """The problem, and notes of what was left out."""
    check_choice(task, "task", TASKS)
    check_count(seed, "seed", least=0)
    notes: list[str] = []
    if is_frame(data) and not isinstance(data, Gaussians) and cov is None and std is None:
        whole = not isinstance(y, str) or groups is not None or ids is not None
        data, y, found, more = from_frame(data, y, task, whole)
        notes, y_std = notes + more, found if y_std is None else y_std
    objects = as_gaussians(data, cov, std)
    if y is None:
        raise ValueError("y: a report needs labels, or the numbers of a regression")
    if has_soft_labels(y):
        task = "classification"
    if task == "auto":
        task = guess_task(np.asarray(y)) if y_std is None else "regression"
    if y_std is not None and task != "regression":
        raise ValueError("y_std: labels have no error bars; these are of the numbers of a regression")
    names = (
        np.arange(len(objects)).astype(str) if ids is None else _column(ids, "ids", len(objects)).astype(str)
    )
    together = None if groups is None else _column(groups, "groups", len(objects))
    if task == "regression":
        problem = _numbers(objects, y, together, names, seed)
        errors = check_target_errors(y_std, len(objects))
        if errors is not None:
            problem.y_std, problem.weight = errors, target_weights(problem.y, errors)
            notes.append(BY_ERRORS)
    elif has_soft_labels(y):
        problem = _chances(objects, y, classes, together, names, seed)
        notes.append(
            "Labels are in doubt: the log-loss is expected over them; reliability takes the likeliest."
        )
    else:
        problem, more = _labels(objects, y, together, names, seed, effort.folds)
        notes += more
    if len(problem.y) < max(LEAST_OBJECTS, 2 * effort.folds):
        raise ValueError(
            f"data: {len(problem.y)} objects are too few to compare models on; at least "
            f"{max(LEAST_OBJECTS, 2 * effort.folds)} are needed"
        )
    if len(problem.y) > effort.most:
        rows = chosen(np.arange(len(problem.y)), problem.codes, effort.most, seed)
        notes.append(f"{len(rows)} of {len(problem.y)} objects take part, drawn at random, to save time.")
        problem = problem.part(rows)
    return problem, notes


def varied(problem: Problem) -> tuple[Problem, Array]:
    """The problem without features that are the same for all objects, and the places of the others."""
    data = problem.data
    mean = np.asarray(data.mean)
    places = np.flatnonzero(mean.min(axis=0) < mean.max(axis=0))
    if len(places) == data.shape[1]:
        return problem, places
    if not len(places):
        raise ValueError("data: all features are constant; there is nothing to learn from")
    names = data.feature_names_in_
    cov = None if data.cov is None else data.cov.select(places)
    shown = None if names is None else [names[j] for j in places]
    return replace(problem, data=Gaussians(mean[:, places], cov, feature_names=shown)), places


def _column(given: Any, name: str, count: int) -> Array:
    values = np.asarray(given)
    if values.shape != (count,):
        raise ValueError(f"{name}: shape {values.shape}; one for each of {count} objects is needed")
    return values


def _numbers(data: Gaussians, y: Any, groups: Array | None, ids: Array, seed: int) -> Problem:
    try:
        targets = _column(y, "y", len(data)).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y: a regression needs numbers ({error})") from None
    bad = np.flatnonzero(~np.isfinite(targets))
    if len(bad):
        raise ValueError(f"y: object {bad[0]} has {targets[bad[0]]}; targets must be finite")
    if targets.min() == targets.max():
        raise ValueError(f"y: all targets are {targets[0]:g}; there is nothing to learn")
    return Problem("regression", data, targets, np.empty(0, int), np.empty(0), groups, ids, seed)


def _labels(
    data: Gaussians, y: Any, groups: Array | None, ids: Array, seed: int, folds: int
) -> tuple[Problem, list[str]]:
    """Classes of fewer objects than folds (or groups, where there are some) cannot be held out: left out."""
    labels = as_labels(y, len(data))
    classes, codes = np.unique(labels, return_inverse=True)
    if groups is None:
        counts = np.bincount(codes)
    else:
        counts = np.array([len(np.unique(groups[codes == k])) for k in range(len(classes))])
    rare = np.flatnonzero(counts < folds)
    notes = []
    what = "objects" if groups is None else "groups"
    if len(classes) - len(rare) < 2:
        shown = ", ".join(f"{classes[k]} has {counts[k]}" for k in range(min(5, len(classes))))
        raise ValueError(
            f"y: two classes of at least {folds} {what} each are needed to compare models in {folds} folds; "
            f"{shown}" + (f", ... ({len(classes)} classes)" if len(classes) > 5 else "")
        )
    if len(rare):
        shown = ", ".join(f"{classes[k]} ({counts[k]})" for k in rare[:10])
        more = f" and {len(rare) - 10} more" if len(rare) > 10 else ""
        notes.append(f"Left out, with fewer than {folds} {what}: class {shown}{more}.")
        keep = ~np.isin(codes, rare)
        data, labels, ids = data[keep], labels[keep], ids[keep]
        groups = None if groups is None else groups[keep]
        classes, codes = np.unique(labels, return_inverse=True)
    return Problem("classification", data, labels, codes, classes, groups, ids, seed), notes


def _chances(data: Gaussians, y: Any, classes: Any, groups: Any, ids: Array, seed: int) -> Problem:
    """Labels in doubt, with classes in order."""
    known, codes, each = read_labels(y, len(data), classes)
    chances = np.zeros((len(data), len(known)))
    chances[each.places(np.arange(len(codes))), codes] = each.weights(np.ones(len(data)))
    best = chances.argmax(axis=1)
    if len(np.unique(best)) < 2:
        raise ValueError(
            f"y: {known[best[0]]} is the likeliest class of all objects; there is nothing to learn"
        )
    return Problem("classification", data, known[best], best, known, groups, ids, seed, chances=chances)


def from_frame(frame: Any, y: Any, task: str, whole: bool) -> tuple[Any, Any, Any, list[str]]:
    """The objects of a data frame, y, and its errors; `whole` refuses rows with missing numbers."""
    options: dict[str, Any] = {"missing": "error" if whole else "drop", "target": False}
    if isinstance(y, str):
        if y not in names_of(frame):
            raise ValueError(f"y: the frame has no column {y!r}")
        options |= {"target": y, "task": task}
    found = read_frame(frame, **options)
    return found.data, found.y if isinstance(y, str) else y, found.y_std, found.report.notes
