"""Probabilities of a classifier: scores of held-out samples, from folds and fits without them."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..exceptions import ConvergenceWarning
from ..models.calibration import Calibration, fit, own
from ..support.progress import counter
from ..support.validation import Array, FloatArray, listed
from ..support.warning import warn
from .options import changed

if TYPE_CHECKING:
    from ..models.classifier import Model
    from ..support.parallel import Team
    from .multiclass import Classification
    from .problem import Problem

FOLDS = 5
RESERVED = 0.1  # of max_time, for fitting the probabilities to the scores
LATE_SAMPLE = 20_000  # training scores that the probabilities are fitted to when the time is over
FOLD_TOLERANCE = 1e-3  # held-out scores need no more: their noise is larger
Splits = list[tuple[Array, Array]]


class Scores(NamedTuple):
    """Decision values and variances of one subproblem for some rows; a row may be there several times."""

    rows: Array
    margin: FloatArray
    variance: FloatArray


class _OutOfTime(Exception):
    """There is no time to calibrate all subproblems."""


def calibrate(
    problem: Problem,
    task: Classification,
    model: Model,
    how: str,
    options: _core.Options,
    team: Team,
    groups: Any = None,
) -> None:
    """Give `model` its probabilities, from held-out scores (`how` is "cv") or training scores ("train").

    With "own" the loss makes log-odds of the decision values, and scores only tell how far the classes
    spread. Scores and variances are those that prediction will see: of the data without test-time noise.
    Samples count by their sample weights; class weights shape the hyperplanes, not the probabilities.
    """
    try:
        seen = training_scores(problem, task, model, team)
        scores = seen
        if how == "cv" and problem.options.seconds_left():
            scores = held_out(problem, task, model, options, team, seen, groups)
        elif how == "cv":
            _warn_late(problem, task, list(range(len(task))))
        model.calibration_ = tuple(_fitted(problem, task, k, how, scores[k]) for k in range(len(task)))
    except _OutOfTime:
        warn(
            f"max_time={problem.options.max_time} seconds were over before the probabilities of all "
            f"{len(task)} binary subproblems were calibrated: the model predicts classes, but has no "
            "predict_proba. Raise max_time",
            ConvergenceWarning,
        )


def _check_time(problem: Problem, task: Classification) -> None:
    """End the calibration of many subproblems at the deadline; that of one always fits."""
    if len(task) > 1 and not problem.options.seconds_left():
        raise _OutOfTime


def _fitted(problem: Problem, task: Classification, k: int, how: str, scores: Scores) -> Calibration:
    _check_time(problem, task)
    chosen = _in_time(problem, task, k, scores.rows)
    rows, margin, variance = (column[chosen] for column in scores)
    _, place, times = np.unique(rows, return_inverse=True, return_counts=True)
    weights = task.sample_weights[rows] / times[place.ravel()]
    used = weights > 0
    signs = task.signs(k, rows[used])
    known = None if problem.source.cov is None else variance[used]
    if how == "own":
        return own(margin[used], known, signs, weights[used], task.side_odds(k))
    return fit(margin[used], known, signs, weights[used])


def _in_time(problem: Problem, task: Classification, k: int, rows: Array) -> Any:
    """Return the places of the rows to fit probabilities to: all, or a sample when the time is over."""
    if len(rows) <= LATE_SAMPLE or problem.options.seconds_left():
        return slice(None)
    # Evenly spaced among the rows sorted by class, which keeps the class priors, and both classes.
    order = np.argsort(task.signs(k, rows), kind="stable")
    return np.sort(order[np.linspace(0, len(rows) - 1, LATE_SAMPLE).astype(np.int64)])


def training_scores(problem: Problem, task: Classification, model: Model, team: Team) -> list[Scores]:
    """Return the scores of the training samples, for each subproblem."""
    inner = team.inner(len(task))

    def scores(k: int) -> Scores:
        _check_time(problem, task)
        chosen = task.rows(k)
        rows = np.arange(len(problem)) if chosen is None else chosen
        rows = rows[_in_time(problem, task, k, rows)]
        mean, variance = problem.source.margins(model.coef_[k : k + 1], rows, inner, noise=False)
        return Scores(rows, mean[:, 0] + model.intercept_[k], variance[:, 0])

    return team.map(scores, range(len(task)), small=problem.small or not problem.in_memory)


def held_out(
    problem: Problem,
    task: Classification,
    model: Model,
    options: _core.Options,
    team: Team,
    seen: list[Scores] | None = None,
    groups: Any = None,
) -> list[Scores]:
    """Return scores by models that have not seen the sample, nor, with `groups`, its group.

    Where a side cannot be divided (one sample, one group, one decision value for all), or no fold is trained
    in time, they are training scores, `seen`. All subproblems and folds run in parallel.
    """
    seen = seen or training_scores(problem, task, model, team)
    splits = _splits(task, seen, groups)
    jobs = [(k, *rows) for k, folds in enumerate(splits) for rows in folds or ()]
    done = counter(problem.options.verbose is True, len(jobs), "svmgsu calibration")
    tolerance = max(options.tolerance, 0.0 if problem.small else FOLD_TOLERANCE)

    def scores(job: tuple[int, Array, Array], threads: int) -> Scores | None:
        k, known, new = job
        left = problem.options.seconds_left(RESERVED)
        if not left:
            return None
        asked = changed(options, threads=threads, tolerance=tolerance, max_seconds=left)
        result = task.solve_one(
            problem, k, asked, start=model, rows=known, report=lambda progress: not team.stopped
        )
        if result.stop == "time":  # it began at the full model, which has seen the samples
            return None
        mean, variance = problem.source.margins(result.w[np.newaxis], new, threads, noise=False)
        done()
        return Scores(new, mean[:, 0] + result.b, variance[:, 0])

    found = zip(jobs, problem.map_fits(scores, jobs, team), strict=True)
    out = list(seen)
    late = []
    for k, some in groupby(found, key=lambda pair: pair[0][0]):  # the folds of a subproblem stand together
        finished = [scores for _, scores in some if scores is not None]
        if not finished:
            late.append(k)
            continue
        joined = Scores(*(np.concatenate(column) for column in zip(*finished, strict=True)))
        out[k] = joined if len(joined.rows) else seen[k]
    if late:
        _warn_late(problem, task, late)
    return out


def _warn_late(problem: Problem, task: Classification, places: list[int]) -> None:
    warn(
        f"max_time={problem.options.max_time} seconds were over before a held-out fold was trained"
        f"{task.named(places)}: probabilities are fitted to training scores, which makes them "
        "overconfident. Raise max_time",
        ConvergenceWarning,
    )


def _splits(task: Classification, seen: list[Scores], groups: Any) -> list[Splits | None]:
    """Return (training rows, held-out rows) of each fold of each subproblem; None where it has none."""
    used = task.given_weights > 0
    together = rows_together(task.copies, groups, len(task.codes))
    if together is None:
        out: list[Splits | None] = []
        for k, (rows, margin, _) in enumerate(seen):
            folds = _folds_by_score(margin, task.signs(k, rows), used[rows])
            out.append(None if folds is None else [(rows[known], rows[new]) for known, new in divided(folds)])
        return out
    folds = group_folds(together, task.codes, len(task.classes), used)
    if folds is None:
        single = [len(np.unique(together[used & (task.codes == c)])) < 2 for c in range(len(task.classes))]
        warn(
            "groups: they cannot be held out with samples of every class left to train on (of one group: "
            f"{listed(task.classes[single]) or 'none'}); probabilities are fitted to training scores, which "
            "makes them overconfident"
        )
        return [None] * len(task)
    each = [
        zip(task.rows_of_each(known), task.rows_of_each(new), strict=True) for known, new in divided(folds)
    ]
    return [list(splits) for splits in zip(*each, strict=True)]


def rows_together(copies: Any, groups: Any, rows: int) -> Array | None:
    """Return the number of each row's group; the rows of one sample are a group, too. None without groups."""
    if groups is None:
        members: Array | None = copies.source
        return members
    given = np.asarray(groups)
    if given.shape != (copies.samples,):
        raise ValueError(
            f"groups: expected one for each of {copies.samples} samples, got shape {given.shape}"
        )
    numbers = np.asarray(np.unique(given, return_inverse=True)[1]).ravel()
    return np.asarray(numbers[copies.places(np.arange(rows))])


def divided(folds: Array) -> Splits:
    """Return (training places, held-out places) from the fold of each place, -1 for those left out."""
    numbers = range(int(folds.max()) + 1)
    return [(np.flatnonzero((folds >= 0) & (folds != k)), np.flatnonzero(folds == k)) for k in numbers]


def _folds_by_score(scores: FloatArray, signs: FloatArray, used: Array) -> Array | None:
    """Return the fold of each sample of a subproblem, -1 without weight; None where a side has too few.

    Each side's samples are dealt out in the order of their scores, equal ones to the same fold. So the
    folds depend neither on the order of the samples nor on whether one is there twice or has weight 2, and
    a copy of a sample is never held out from itself.
    """
    dealt = []
    for side in (-1, 1):
        members = np.flatnonzero((signs == side) & used)
        different, place = np.unique(scores[members], return_inverse=True)
        dealt.append((members, place.ravel(), len(different)))
    count = min(FOLDS, *[different for _, _, different in dealt])
    if count < 2:
        return None
    folds = np.full(len(scores), -1)
    for members, place, _ in dealt:
        folds[members] = place % count
    return folds


def group_folds(groups: Array, codes: Array, classes: int, used: Array) -> Array | None:
    """Return the fold of each row, with whole groups: as many folds as leave every class to train on.

    The largest group comes first, each to the fold that has least of its classes.
    """
    table = np.zeros((int(groups.max()) + 1, classes))
    np.add.at(table, (groups[used], codes[used]), 1.0)
    share = table / table.sum(axis=0)
    for count in range(min(FOLDS, int((table > 0).sum(axis=0).min())), 1, -1):
        taken = np.zeros((count, classes))
        fold_of = np.empty(len(table), dtype=np.int64)
        for group in np.argsort(-share.max(axis=1), kind="stable"):
            present = table[group] > 0
            load = (taken[:, present] + share[group, present]).max(axis=1, initial=0.0)
            fold_of[group] = np.lexsort((taken.sum(axis=1), load))[0]
            taken[fold_of[group]] += share[group]
        held = np.stack([table[fold_of == k].sum(axis=0) for k in range(count)])
        if (held < table.sum(axis=0)).all() and held.any(axis=1).all():
            return np.where(used, fold_of[groups], -1)
    return None
