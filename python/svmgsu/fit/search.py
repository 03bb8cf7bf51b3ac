"""The search for λ and the scale of the covariances: held-out scores along warm-started paths of λ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..exceptions import ConvergenceWarning
from ..models.classifier import probability_right
from ..support.parallel import Team
from ..support.progress import counter
from ..support.validation import Array, ArrayLike, FloatArray
from ..support.warning import warn
from .calibrate import divided, rows_together
from .multiclass import Classification
from .options import DEFAULT_LAM
from .problem import Memory, Problem
from .regression import Regression

_FOR_REFIT = 0.25  # of max_time
SAMPLE = 20_000  # samples on which a search is made if the data are not in memory


@dataclass
class SearchResult:
    """The best setting of a search, its held-out score, and the scores of all in `cv_results`."""

    lam: float
    cov_scale: float
    score: float = float("nan")
    index: int = 0
    cv_results: dict[str, Array] | None = None


def choose(problem: Problem, groups: ArrayLike = None) -> SearchResult:
    """Return the λ and the scale with the best held-out score; among equals the largest λ.

    Held-out samples are Gaussians, too: a classifier is scored by the expected share of draws that it
    classifies rightly (the mean over binary subproblems), a regression by the expected squared error, with
    the covariances that were given.
    (fold, scale) pairs run in parallel, each along a path of λ. Of samples that are not in memory,
    20,000 are drawn at random.
    """
    options = problem.options
    if not isinstance(problem.source, Memory):
        rows = np.arange(len(problem))
        if len(rows) > SAMPLE:
            rows = np.sort(np.random.default_rng(0).choice(len(rows), SAMPLE, replace=False))
        groups = None if groups is None else np.asarray(groups)[problem.task.copies.places(rows)]
        problem = Problem(Memory(problem.source.take(rows)), problem.task.take(rows), options)
    lams, scales = np.atleast_1d(options.lam), np.atleast_1d(options.cov_scale)
    folds = _folds(problem, groups)
    if not folds:  # there is nothing to hold out
        nearest = float(np.clip(DEFAULT_LAM, lams.min(), lams.max()))
        return SearchResult(nearest, float(scales[np.abs(scales - 1).argmin()]))
    jobs = [(s, f) for f in range(len(folds)) for s in range(len(scales))]
    scores = np.full((len(scales), len(lams), len(folds)), np.nan)
    team = Team(options.threads)
    count = counter(options.verbose is True, len(jobs) * len(lams), "svmgsu search")

    def run(job: tuple[int, int]) -> None:
        s, f = job
        if job != jobs[0] and not options.seconds_left(_FOR_REFIT):
            return
        known, new = folds[f]
        scaled = Problem(problem.source, problem.task, options, float(scales[s]))
        threads = team.inner(len(jobs))
        last: Any = None
        # Each fit starts from that of the next larger λ.
        for k in np.argsort(-lams, kind="stable").tolist():
            core = options.core(len(problem), float(lams[k]))
            core.threads = threads
            core.max_seconds = options.seconds_left(_FOR_REFIT)
            if last is not None and not core.max_seconds:
                break
            last = problem.task.solve(
                scaled,
                core,
                start=last,
                rows=known,
                report=lambda progress: not team.stopped,
                team=Team(threads),
                quiet=True,
            )
            team.go_on()
            count()
            scores[s, k, f] = _score(problem, last, new)

    team.map(run, jobs)
    tried = ~np.isnan(scores)
    if not tried.all():
        warn(
            f"max_time={options.max_time} seconds were over after {tried.sum()} of {tried.size} fits; the "
            "best setting is one of those scored in most folds. Raise max_time, or try fewer",
            ConvergenceWarning,
        )
        most = tried.sum(axis=2) == tried.sum(axis=2).max()
        scores[~most] = np.nan
    return _best(lams, scales, scores)


def _best(lams: FloatArray, scales: FloatArray, scores: FloatArray) -> SearchResult:
    flat = scores.reshape(-1, scores.shape[2])
    mean = np.full(len(flat), np.nan)
    deviation = np.full(len(flat), np.nan)
    for k in np.flatnonzero(~np.isnan(flat).all(axis=1)).tolist():
        mean[k] = np.nanmean(flat[k])
        deviation[k] = np.nanstd(flat[k])
    comparable = np.where(np.isnan(mean), -np.inf, mean)
    results: dict[str, Array] = {
        "param_lam": np.tile(lams, len(scales)),
        "param_cov_scale": np.repeat(scales, len(lams)),
        "mean_test_score": mean,
        "std_test_score": deviation,
        "rank_test_score": (comparable[:, np.newaxis] < comparable).sum(axis=1) + 1,
    }
    for k in range(flat.shape[1]):
        results[f"split{k}_test_score"] = flat[:, k]
    near = np.flatnonzero(comparable >= comparable.max() - 1e-12)
    order = np.lexsort((np.abs(results["param_cov_scale"][near] - 1), -results["param_lam"][near]))
    best = int(near[order[0]])
    return SearchResult(
        float(results["param_lam"][best]),
        float(results["param_cov_scale"][best]),
        float(mean[best]),
        best,
        results,
    )


def _folds(problem: Problem, groups: ArrayLike) -> list[tuple[Array, Array]]:
    """Return (training rows, held-out rows) of up to five folds; none where nothing can be held out.

    Folds keep groups and the rows of a sample together. Else samples are dealt out in the order of their
    projections on a random direction, class by class, and those of a regression in the order of their
    targets; equal ones to the same fold. So the folds depend neither on the order of the samples nor on
    whether one is there twice or has weight 2.
    """
    task = problem.task
    codes, classes = np.zeros(len(problem), dtype=np.int64), 1
    if isinstance(task, Classification):
        codes, classes = task.codes, len(task.classes)
    together = rows_together(task.copies, groups, len(problem))
    if together is not None:
        return divided(_core.folds_of_groups(together, codes, classes, task.given_weights))
    keys = _projections(problem)
    if isinstance(task, Regression):
        order = np.column_stack([task.targets, keys])
        keys = np.unique(order, axis=0, return_inverse=True)[1].ravel().astype(np.float64)
    return divided(_core.folds_by_key(keys, codes, classes, task.given_weights))


def _projections(problem: Problem) -> FloatArray:
    """Return a number for each sample that depends on its mean alone."""
    direction = np.random.default_rng(0).normal(size=(1, problem.source.shape[1]))
    return problem.source.margins(direction)[0][:, 0]


def _score(problem: Problem, model: Any, new: Array) -> float:
    """Return the score of held-out rows; greater is better."""
    task = problem.task
    if isinstance(task, Regression):
        mean, variance = problem.source.margins(model.coef_[np.newaxis], new, threads=1)
        residual: FloatArray = task.targets[new] - mean[:, 0] - model.intercept_
        weights = task.weights(new, model.scatter_)
        return -float(np.average(residual**2 + variance[:, 0], weights=weights))
    assert isinstance(task, Classification)
    found = []
    for k in range(task.count):
        rows = task.rows(k, new)
        if rows is None or not task.weights[rows].any():  # neither class of a pair is held out
            continue
        mean, variance = problem.source.margins(model.coef_[k : k + 1], rows, threads=1)
        margin, std = mean[:, 0] + model.intercept_[k], np.sqrt(variance[:, 0])
        right = probability_right(margin, std, task.signs(k, rows))
        found.append(np.average(right, weights=task.weights[rows]))
    return float(np.mean(found))
