"""Scores of examples that a model has not seen, for its probabilities: folds, and fits without them."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..exceptions import ConvergenceWarning
from ..models.calibration import Calibration, fit, own
from ..support.progress import counter
from ..support.validation import Array, FloatArray, check_count, listed
from ..support.warning import warn
from .settings import changed_options

if TYPE_CHECKING:
    from ..models.classifier import Model
    from ..support.parallel import Team
    from .problem import Problem

FOLDS = 5
RESERVED = 0.1  # of max_time, for fitting the probabilities to the scores
LATE_SAMPLE = 20_000  # training scores that the probabilities are fitted to when the time is over
FOLD_TOLERANCE = 1e-3  # held-out scores need no more: their noise is larger
Splits = list[tuple[Array, Array]]


class Scores(NamedTuple):
    """Decision values and variances of one problem for some rows; a row may be there several times."""

    rows: Array
    margin: FloatArray
    variance: FloatArray


def calibrate(
    problem: Problem, model: Model, how: str, options: _core.Options, team: Team, **folds: Any
) -> None:
    """Gives `model` its probabilities, from held-out scores (`how` is "cv") or training scores ("train").

    Or its "own", where the loss makes log-odds of the decision values: scores then only tell how far the
    classes spread. `folds` says what `held_out` is to do.

    Scores and variances are those that prediction will see: of the data as they were given. Examples count by
    their sample weights; those of classes shape the plane, not the probabilities.
    """
    try:
        seen = _training_scores(problem, model, team)
        scores = seen
        if how == "cv" and problem.settings.seconds_left():
            scores = held_out(problem, model, options, team, seen, **folds)
        elif how == "cv":
            _warn_late(problem, list(range(problem.parts)))
        model.calibration_ = tuple(_fitted(problem, part, how, scores[part]) for part in range(problem.parts))
    except _OutOfTime:
        warn(
            f"max_time={problem.settings.max_time} seconds were over before the probabilities of all "
            f"{problem.parts} binary subproblems were calibrated: the model predicts classes, but has no "
            "predict_proba. Raise max_time",
            ConvergenceWarning,
        )


class _OutOfTime(Exception):
    """There is no time to calibrate all subproblems."""


def _go_on(problem: Problem) -> None:
    """Ends the calibration of many subproblems at the deadline; that of one always fits."""
    if problem.parts > 1 and not problem.settings.seconds_left():
        raise _OutOfTime


def _fitted(problem: Problem, part: int, how: str, scores: Scores) -> Calibration:
    _go_on(problem)
    chosen = _in_time(problem, part, scores.rows)
    rows, margin, variance = (column[chosen] for column in scores)
    _, place, times = np.unique(rows, return_inverse=True, return_counts=True)
    weights = problem.sample_weights[rows] / times[place.ravel()]
    used = weights > 0
    signs = problem.signs(part, rows[used])
    known = None if problem.observed.cov is None else variance[used]
    if how == "own":
        return own(margin[used], known, signs, weights[used], problem.side_odds(part))
    return fit(margin[used], known, signs, weights[used])


def _in_time(problem: Problem, part: int, rows: Array) -> Any:
    """Places of the rows to fit probabilities to: all, or a sample of them when the time is over."""
    if len(rows) <= LATE_SAMPLE or problem.settings.seconds_left():
        return slice(None)
    # Evenly spaced among the rows sorted by class, which keeps the class priors, and both classes.
    order = np.argsort(problem.signs(part, rows), kind="stable")
    return np.sort(order[np.linspace(0, len(rows) - 1, LATE_SAMPLE).astype(np.int64)])


def _training_scores(problem: Problem, model: Model, team: Team) -> list[Scores]:
    inner = team.inner(problem.parts)

    def scores(part: int) -> Scores:
        _go_on(problem)
        chosen = problem.rows(part)
        rows = np.arange(len(problem)) if chosen is None else chosen
        rows = rows[_in_time(problem, part, rows)]
        margin, variance = problem.margins(model.coef_[part : part + 1], rows, observed=True, threads=inner)
        return Scores(rows, margin[:, 0] + model.intercept_[part], variance[:, 0])

    return team.map(scores, range(problem.parts), small=problem.small)


def held_out(
    problem: Problem,
    model: Model,
    options: _core.Options,
    team: Team,
    seen: list[Scores] | None = None,
    *,
    groups: Any = None,
    cv: Any = None,
    cov_scale: float | None = None,
    verbose: bool = False,
) -> list[Scores]:
    """Scores of each problem from models that have not seen the example, nor, with `groups`, its group.

    `cv` is the number of folds, a splitter of scikit-learn or a list of (training rows, held-out rows).
    Where a side cannot be divided (one example, one group, one decision value for all), or no fold is trained
    in time, they are training scores, `seen`. All problems and folds run in parallel.
    """
    seen = seen or _training_scores(problem, model, team)
    splits = _splits(problem, seen, groups, cv)
    jobs = [(part, *rows) for part, folds in enumerate(splits) for rows in folds or ()]
    inner = team.inner(len(jobs))
    done = counter(verbose, len(jobs), "svmgsu calibration")
    tolerance = max(options.tolerance, 0.0 if problem.small else FOLD_TOLERANCE)

    def work(job: tuple[int, Array, Array]) -> Scores | None:
        part, known, new = job
        left = problem.settings.seconds_left(RESERVED)
        if not left:
            return None
        asked = changed_options(options, threads=inner, tolerance=tolerance, max_seconds=left)
        result = problem.run(asked, part, model, known, cov_scale, lambda progress: not team.stopped)
        if result.stop == "time":  # it began at the full model, which has seen the examples
            return None
        mean, variance = problem.margins(result.w[np.newaxis], new, observed=True, threads=inner)
        done()
        return Scores(new, mean[:, 0] + result.b, variance[:, 0])

    found = zip(jobs, problem.map_fits(work, jobs, team), strict=True)
    out = list(seen)
    late = []
    for part, some in groupby(found, key=lambda pair: pair[0][0]):  # the folds of a problem stand together
        finished = [scores for _, scores in some if scores is not None]
        if not finished:
            late.append(part)
            continue
        joined = Scores(*(np.concatenate(column) for column in zip(*finished, strict=True)))
        out[part] = joined if len(joined.rows) else seen[part]
    if late:
        _warn_late(problem, late)
    return out


def _warn_late(problem: Problem, parts: list[int]) -> None:
    warn(
        f"max_time={problem.settings.max_time} seconds were over before a held-out fold was trained"
        f"{problem.named(parts)}: probabilities are fitted to training scores, which makes them "
        "overconfident. Raise max_time",
        ConvergenceWarning,
    )


def _splits(problem: Problem, seen: list[Scores], groups: Any, cv: Any) -> list[Splits | None]:
    """(training rows, held-out rows) of each fold of each problem; None where a side cannot be divided."""
    used = problem.given_weights > 0
    given = None if groups is None else check_groups(groups, problem.copies.examples)
    if cv is not None and not isinstance(cv, (int, np.integer)):
        return _of_parts(problem, _users_splits(problem, given, cv, used))
    most = FOLDS if cv is None else check_count(cv, "cv", least=2)
    members = problem.copies.source  # copies of an example belong together
    if given is not None:
        members = given[problem.copies.places(np.arange(len(problem)))]
    if members is not None:
        folds = _group_folds(members, problem, used, most)
        return _of_parts(problem, None if folds is None else _divided(folds))
    out: list[Splits | None] = []
    for part, (rows, margin, _) in enumerate(seen):
        folds = _folds(margin, problem.signs(part, rows), used[rows], most)
        out.append(None if folds is None else [(rows[known], rows[new]) for known, new in _divided(folds)])
    return out


def _divided(folds: Array) -> Splits:
    """(training places, held-out places) from the fold of each place, -1 for those left out."""
    numbers = range(int(folds.max()) + 1)
    return [(np.flatnonzero((folds >= 0) & (folds != k)), np.flatnonzero(folds == k)) for k in numbers]


def _of_parts(problem: Problem, splits: Splits | None) -> list[Splits | None]:
    """The same folds for all problems, of the rows that each is about."""
    if splits is None:
        return [None] * problem.parts
    divided = [zip(problem.each(known), problem.each(new), strict=True) for known, new in splits]
    return [list(folds) for folds in zip(*divided, strict=True)]


def check_groups(groups: Any, examples: int) -> Array:
    """The number of each example's group; groups are of any one type."""
    given = np.asarray(groups)
    if given.shape != (examples,):
        raise ValueError(f"groups: expected one for each of {examples} examples, got shape {given.shape}")
    return np.asarray(np.unique(given, return_inverse=True)[1]).ravel()


def _users_splits(problem: Problem, groups: Array | None, cv: Any, used: Array) -> Splits:
    count = problem.copies.examples
    found = cv.split(np.empty((count, 0)), problem.to_split, groups) if hasattr(cv, "split") else cv
    splits = []
    for k, (known, new) in enumerate(found):
        known, new = (problem.copies.of(np.arange(count)[np.asarray(rows)]) for rows in (known, new))
        known, new = known[used[known]], new[used[new]]
        missing = np.flatnonzero(np.bincount(problem.codes[known], minlength=len(problem.classes)) == 0)
        if len(missing):
            label = problem.classes[missing[0]].item()
            raise ValueError(f"cv: fold {k} leaves no example of class {label!r} to train on")
        splits.append((known, new))
    if not sum(len(new) for _, new in splits):
        raise ValueError("cv: it holds no example out; an iterator is used up by one fit, a list is not")
    return splits


def _folds(scores: FloatArray, signs: FloatArray, used: Array, most: int) -> Array | None:
    """The fold of each example of a problem, -1 for those without weight; None where a side has too few.

    Each side's examples are dealt out in the order of their scores, equal ones to the same fold. So the
    folds depend neither on the order of the examples nor on whether one is there twice or has weight 2, and
    a copy of an example is never held out from itself.
    """
    dealt = []
    for side in (-1, 1):
        members = np.flatnonzero((signs == side) & used)
        different, place = np.unique(scores[members], return_inverse=True)
        dealt.append((members, place.ravel(), len(different)))
    count = min(most, *[different for _, _, different in dealt])
    if count < 2:
        return None
    folds = np.full(len(scores), -1)
    for members, place, _ in dealt:
        folds[members] = place % count
    return folds


def _group_folds(groups: Array, problem: Problem, used: Array, most: int) -> Array | None:
    """As `_folds`, with whole groups: as many folds as leave examples of every class to train on."""
    table = np.zeros((int(groups.max()) + 1, len(problem.classes)))
    np.add.at(table, (groups[used], problem.codes[used]), 1.0)
    for count in range(min(most, int((table > 0).sum(axis=0).min())), 1, -1):
        fold_of = _dealt(table, count)
        held = np.stack([table[fold_of == k].sum(axis=0) for k in range(count)])
        if (held < table.sum(axis=0)).all() and held.any(axis=1).all():
            return np.where(used, fold_of[groups], -1)
    warn(
        "groups: they cannot be held out with examples of every class left to train on (of one group: "
        f"{listed(problem.classes[(table > 0).sum(axis=0) < 2]) or 'none'}); probabilities are fitted to "
        "training scores, which are too sure"
    )
    return None


def _dealt(table: FloatArray, count: int) -> Array:
    """The fold of each group (its row counts examples by class): the largest first, each to the fold that has
    least of its classes."""
    share = table / table.sum(axis=0)
    taken = np.zeros((count, table.shape[1]))
    fold_of = np.empty(len(table), dtype=np.int64)
    for group in np.argsort(-share.max(axis=1), kind="stable"):
        present = table[group] > 0
        load = (taken[:, present] + share[group, present]).max(axis=1, initial=0.0)
        fold_of[group] = np.lexsort((taken.sum(axis=1), load))[0]
        taken[fold_of[group]] += share[group]
    return fold_of
