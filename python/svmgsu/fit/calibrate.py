"""Probabilities of a classifier: scores of held-out samples, from folds and fits without them."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..exceptions import ConvergenceWarning
from ..models.calibration import Calibration, fit, own
from ..support.progress import counter
from ..support.validation import Array, ArrayLike, FloatArray, listed
from ..support.warning import warn
from .options import changed

if TYPE_CHECKING:
    from ..models.classifier import Model
    from ..support.parallel import Team
    from .multiclass import Classification
    from .problem import Problem

RESERVED = 0.1  # of max_time, for fitting the probabilities to the scores
LATE_SAMPLE = 20_000  # training scores that the probabilities are fitted to when the time is over
FOLD_TOLERANCE = 1e-3  # held-out scores need no more: their noise is larger
Splits = list[tuple[Any, Any]]  # rows to train on and rows that are held out


class Scores(NamedTuple):
    """Decision values and variances of one subproblem for some rows."""

    rows: Array
    margin: FloatArray
    variance: FloatArray


class _OutOfTime(Exception):
    """There is no time to calibrate all subproblems."""


def calibrate(
    problem: Problem, model: Model, how: str, options: _core.Options, team: Team, groups: ArrayLike = None
) -> None:
    """Give `model` its probabilities, from held-out scores (`how` is "cv") or training scores ("train").

    With "own" the loss makes log-odds of the decision values, and scores only tell how far the classes
    spread. Scores and variances are those that prediction will see: of the data without test-time noise.
    Samples count by their sample weights; class weights shape the hyperplanes, not the probabilities.
    """
    task: Any = problem.task
    try:
        scores = _training_scores(problem, task, model, team)
        if how == "cv":
            scores = _held_out(problem, task, model, options, team, scores, groups)
        model.calibration_ = tuple(_fitted(problem, task, k, how, scores[k]) for k in range(task.count))
    except _OutOfTime:
        warn(
            f"max_time={problem.options.max_time} seconds were over before the probabilities of all "
            f"{task.count} binary subproblems were calibrated: the model predicts classes, but has no "
            "predict_proba. Raise max_time",
            ConvergenceWarning,
        )


def _check_time(problem: Problem, task: Classification) -> None:
    """End the calibration of many subproblems at the deadline; that of one always fits."""
    if task.count > 1 and not problem.options.seconds_left():
        raise _OutOfTime


def _fitted(problem: Problem, task: Classification, k: int, how: str, scores: Scores) -> Calibration:
    _check_time(problem, task)
    chosen = _in_time(problem, task, k, scores.rows)
    weights = task.sample_weights[scores.rows[chosen]]
    used = weights > 0
    rows, margin, variance = [column[chosen][used] for column in scores]
    known = None if problem.source.cov is None else variance
    signs = task.signs(k, rows)
    if how == "own":
        return own(margin, known, signs, weights[used], task.side_odds(k))
    return fit(margin, known, signs, weights[used])


def _in_time(problem: Problem, task: Classification, k: int, rows: Array) -> Any:
    """Return the places of the rows to fit probabilities to: all, or a sample when the time is over."""
    if len(rows) <= LATE_SAMPLE or problem.options.seconds_left():
        return slice(None)
    # Evenly spaced among the rows sorted by class, which keeps the class priors, and both classes.
    order = np.argsort(task.signs(k, rows), kind="stable")
    return np.sort(order[np.linspace(0, len(rows) - 1, LATE_SAMPLE).astype(np.int64)])


def _training_scores(problem: Problem, task: Classification, model: Model, team: Team) -> list[Scores]:
    """Return the scores of the training samples, for each subproblem."""
    threads = team.inner(task.count)

    def scores(k: int) -> Scores:
        _check_time(problem, task)
        chosen = task.rows(k)
        rows = np.arange(len(problem)) if chosen is None else chosen
        rows = rows[_in_time(problem, task, k, rows)]
        mean, variance = problem.source.margins(model.coef_[k : k + 1], rows, threads, noise=False)
        return Scores(rows, mean[:, 0] + model.intercept_[k], variance[:, 0])

    return team.map(scores, range(task.count), small=problem.small or not problem.in_memory)


def _held_out(
    problem: Problem,
    task: Classification,
    model: Model,
    options: _core.Options,
    team: Team,
    seen: list[Scores],
    groups: ArrayLike,
) -> list[Scores]:
    """Return scores by models that have not seen the sample, nor, with `groups`, its group.

    Where a side cannot be divided (one sample, one group, one decision value for all), or no fold is trained
    in time, they are training scores, `seen`. All subproblems and folds run in parallel.
    """
    splits = _splits(task, seen, groups) if problem.options.seconds_left() else []
    jobs = [(k, *rows) for k, folds in enumerate(splits) for rows in folds]
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
    late = [] if splits else list(range(task.count))
    for k, some in groupby(found, key=lambda pair: pair[0][0]):  # the folds of a subproblem stand together
        finished = [scores for _, scores in some if scores is not None]
        if not finished:
            late.append(k)
            continue
        joined = Scores(*(np.concatenate(column) for column in zip(*finished, strict=True)))
        out[k] = joined if len(joined.rows) else seen[k]
    if late:
        warn(
            f"max_time={problem.options.max_time} seconds were over before a held-out fold was trained"
            f"{task.named(late)}: probabilities are fitted to training scores, which makes them "
            "overconfident. Raise max_time",
            ConvergenceWarning,
        )
    return out


def _splits(task: Classification, seen: list[Scores], groups: ArrayLike) -> list[Splits]:
    """Return the splits of each subproblem; none where it cannot be divided."""
    weights = task.given_weights
    together = rows_together(task.copies, groups, len(task.codes))
    if together is None:
        # Dealt out in the order of the scores: a copy of a sample is never held out from itself.
        out = []
        for k, (rows, margin, _) in enumerate(seen):
            folds = _core.folds_by_key(margin, task.signs(k, rows) > 0, 2, weights[rows])
            out.append([(rows[known], rows[new]) for known, new in divided(folds)])
        return out
    splits = divided(_core.folds_of_groups(together, task.codes, len(task.classes), weights))
    if not splits:
        used = weights > 0
        single = [len(np.unique(together[used & (task.codes == c)])) < 2 for c in range(len(task.classes))]
        warn(
            "groups: they cannot be held out with samples of every class left to train on (of one group: "
            f"{listed(task.classes[single]) or 'none'}); probabilities are fitted to training scores, which "
            "makes them overconfident"
        )
    # A fold may have nothing of a pair of classes.
    each = [[(task.rows(k, known), task.rows(k, new)) for known, new in splits] for k in range(task.count)]
    return [[(known, new) for known, new in folds if new is not None and len(new)] for folds in each]


def rows_together(copies: Any, groups: ArrayLike, rows: int) -> Array | None:
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


def divided(folds: Array | None) -> Splits:
    """Return (training places, held-out places) from the fold of each place, -1 for those left out."""
    if folds is None:
        return []
    numbers = range(int(folds.max()) + 1)
    return [(np.flatnonzero((folds >= 0) & (folds != k)), np.flatnonzero(folds == k)) for k in numbers]
