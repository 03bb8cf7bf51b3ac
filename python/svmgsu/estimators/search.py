"""The search of cross-validated estimators: scores along warm-started paths of λ, and the best."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import check_cv

from ..data.covariances import chosen_rows
from ..exceptions import ConvergenceWarning
from ..fit.examples import Examples
from ..fit.held_out import check_groups
from ..fit.settings import changed_options, check_lams, check_scale
from ..support.parallel import Team
from ..support.progress import counter
from ..support.validation import Array, FloatArray
from ..support.warning import warn
from .callbacks import FitReport
from .linear import LinearEstimator

_FOR_REFIT = 0.25  # of max_time
Fold = tuple[Array, Array]
Scorer = Callable[..., float]  # (problem, model, training rows, validation rows) -> greater for the better


class LambdaSearch(LinearEstimator):
    """An estimator that tries values of λ and of the covariances' scale, and takes the best."""

    _expected: ClassVar[tuple[str, ...]]  # names of scores of our own, the default first
    _scorers: ClassVar[str]  # some of scikit-learn's, for a message
    _by_groups: ClassVar[Callable[[int], Any]]

    lams: Any
    cov_scales: Any
    cv: Any
    scoring: Any
    refit: bool
    verbose: bool

    @abstractmethod
    def _expected_scorer(self, name: str) -> Scorer:
        """One of our own scores."""

    @abstractmethod
    def _plain_score(self, scorer: Any, problem: Any, model: Any, known: Array, new: Array) -> float:
        """What a scorer of scikit-learn, shown a fitted estimator and the means, says of validation rows."""

    def _search(self, problem: Examples[Any], X: Any, y: Any, groups: Any) -> LambdaSearch:
        """The scores, the best of them, and the model of all data with the best setting."""
        team = problem.settings.team()
        lams, scales, score = check_lams(self.lams), _check_scales(self.cov_scales), self._scorer()
        folds = self._folds(problem, groups)
        report = FitReport(self, X, y, "fit", len(lams) * len(scales) * len(folds))
        reserved = _FOR_REFIT if self.refit else 0.0
        found, best = search_path(problem, lams, scales, folds, score, team, report, reserved)
        self.cv_results_, self.best_index_ = found, best
        self.best_score_ = float(found["mean_test_score"][best])
        self.lam_, self.cov_scale_ = float(found["param_lam"][best]), float(found["param_cov_scale"][best])
        if self.refit:
            options = changed_options(
                problem.settings.options(len(problem)),
                lam=self.lam_,
                max_seconds=problem.settings.seconds_left(_FOR_REFIT / 2 if problem.reserved else 0.0),
            )
            model = problem.solve(options, cov_scale=self.cov_scale_, team=team)
            users = groups is not None or not isinstance(self.cv, (int, np.integer, type(None)))
            again = [tuple(map(problem.copies.originals, rows)) for rows in folds] if users else None
            problem.finish(model, options, team, cv=again, cov_scale=self.cov_scale_)
            self._take(model)
        report.end()
        return self

    def _scorer(self) -> Scorer:
        name = self._expected[0] if self.scoring is None else self.scoring
        if name in self._expected:
            return self._expected_scorer(name)
        if not callable(name) and name not in get_scorer_names():
            raise ValueError(
                f"scoring: expected one of {', '.join(map(repr, self._expected))}, a callable, or the name "
                f"of a scorer of scikit-learn such as {self._scorers}; got {name!r}"
            )
        scorer = name if callable(name) else get_scorer(name)
        return lambda *given: self._plain_score(scorer, *given)

    def _folds(self, problem: Any, groups: Any) -> list[Fold]:
        """The rows of the training and the validation examples of each fold, checked."""
        copies, cv, targets = problem.copies, self.cv, problem.to_split
        if groups is not None:
            check_groups(groups, copies.examples)
            if cv is None or isinstance(cv, (int, np.integer)):
                cv = type(self)._by_groups(5 if cv is None else int(cv))
        splitter = check_cv(cv, targets, classifier=self._task == "classification")
        splits = splitter.split(np.empty((copies.examples, 0)), targets, groups)
        folds = [tuple(copies.of(chosen_rows(rows, copies.examples)) for rows in pair) for pair in splits]
        if not folds:
            raise ValueError("cv: it gives no folds; an iterator is used up by one fit, a list is not")
        for k, fold in enumerate(folds):
            for what, some in zip(("training", "validation"), fold, strict=True):
                if not problem.given_weights[some].any():
                    raise ValueError(
                        f"sample_weight: the {what} examples of fold {k} have no weight; change cv"
                    )
        return folds


def _check_scales(cov_scales: Any) -> FloatArray:
    """The factors of the covariances to try."""
    scales = np.array([check_scale(c) for c in np.atleast_1d(cov_scales)])
    if not len(scales):
        raise ValueError("cov_scales: there are none")
    return scales


def search_path(
    problem: Examples[Any],
    lams: FloatArray,
    scales: FloatArray,
    folds: list[Fold],
    score: Scorer,
    team: Team,
    report: Any,
    reserved: float = 0.0,
) -> tuple[dict[str, Array], int]:
    """`cv_results_` of all (λ, scale), and the place of the best.

    (fold, scale) pairs run in parallel, each along a path of λ; `report.step()` is called after each fit.
    When the time, without the share that is `reserved`, is over, the settings that were scored in most folds
    are compared; at least one is scored in one fold.
    """
    options = changed_options(problem.settings.options(len(problem)), threads=1)
    jobs = [(s, f) for f in range(len(folds)) for s in range(len(scales))]
    out = np.full((len(scales), len(lams), len(folds)), np.nan)
    tried = np.zeros(out.shape, dtype=bool)
    count = counter(problem.settings.verbose, len(jobs) * len(lams), "svmgsu cross-validation")

    def done() -> None:
        team.go_on()
        count()
        report.step()

    def scored(model: Any, rows: Fold) -> float:
        team.go_on()
        return float(score(problem, model, *rows))

    def run(job: tuple[int, int]) -> None:
        s, f = job
        if job != jobs[0] and not problem.settings.seconds_left(reserved):
            return
        models = problem.follow(
            lams,
            changed_options(options),
            rows=folds[f][0],
            cov_scale=float(scales[s]),
            team=Team(1, 1),
            report=lambda progress: not team.stopped,
            progress=done,
            reserved=reserved,
        )
        for k, model in models.items():
            out[s, k, f] = scored(model, folds[f])
            tried[s, k, f] = True

    team.map(run, jobs)
    if not tried.all():
        warn(
            f"max_time={problem.settings.max_time} seconds were over after {tried.sum()} of {tried.size} "
            "fits; the best setting is one of those scored in most folds. Raise max_time, or try fewer",
            ConvergenceWarning,
        )
        most = tried.sum(axis=2) == tried.sum(axis=2).max()
        tried &= most[:, :, np.newaxis]
    results = _results(lams, scales, np.where(tried, out, np.nan), tried)
    return results, _best(results)


def _results(lams: FloatArray, scales: FloatArray, scores: FloatArray, tried: Array) -> dict[str, Array]:
    flat = scores.reshape(-1, scores.shape[2])
    done = tried.reshape(flat.shape)
    mean = np.full(len(flat), np.nan)
    deviation = np.full(len(flat), np.nan)
    for k in np.flatnonzero(done.any(axis=1)).tolist():
        mean[k] = flat[k, done[k]].mean()
        deviation[k] = flat[k, done[k]].std()
    results: dict[str, Array] = {
        "param_lam": np.tile(lams, len(scales)),
        "param_cov_scale": np.repeat(scales, len(lams)),
        "mean_test_score": mean,
        "std_test_score": deviation,
        "rank_test_score": (_comparable(mean)[:, np.newaxis] < _comparable(mean)).sum(axis=1) + 1,
    }
    for k in range(flat.shape[1]):
        results[f"split{k}_test_score"] = flat[:, k]
    return results


def _comparable(mean: FloatArray) -> FloatArray:
    """Mean scores where NaN, which a scorer may give, is worst."""
    return np.where(np.isnan(mean), -np.inf, mean)


def _best(results: dict[str, Array]) -> int:
    """The best mean score; among equals the largest λ, then the scale nearest to 1."""
    mean = _comparable(results["mean_test_score"])
    if np.isneginf(mean).all():
        raise ValueError("scoring: no setting has a finite score in all folds")
    near = np.flatnonzero(mean >= mean.max() - 1e-12)
    order = np.lexsort((np.abs(results["param_cov_scale"][near] - 1), -results["param_lam"][near]))
    return int(near[order[0]])
