"""The search of cross-validated estimators: scores along warm-started paths of λ, and the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..data.covariances import chosen_rows
from ..fit.classification import follow_path
from ..fit.problem import check_scale
from ..support.parallel import Team
from ..support.progress import counter
from ..support.validation import Array, FloatArray

Fold = tuple[Array, Array]


def check_scales(cov_scales: Any) -> FloatArray:
    """The factors of the covariances to try."""
    scales = np.array([check_scale(c) for c in np.atleast_1d(cov_scales)])
    if not len(scales):
        raise ValueError("cov_scales: there are none")
    return scales


def check_folds(splits: Iterable[Any], weights: FloatArray) -> list[Fold]:
    """Indices of the training and the validation examples of each fold, checked."""
    count = len(weights)
    folds = [(chosen_rows(known, count), chosen_rows(new, count)) for known, new in splits]
    if not folds:
        raise ValueError("cv: it gives no folds; an iterator is used up by one fit, a list is not")
    for k, rows in enumerate(folds):
        for what, some in zip(("training", "validation"), rows, strict=True):
            if not weights[some].any():
                raise ValueError(f"sample_weight: the {what} examples of fold {k} have no weight; change cv")
    return folds


def search_path(
    problem: Any,
    lams: FloatArray,
    scales: FloatArray,
    folds: list[Fold],
    score: Callable[..., float],
    make_options: Callable[[Any, float, int | None], Any],
    team: Team,
    report: Any,
    verbose: bool,
) -> tuple[dict[str, Array], int]:
    """`cv_results_` of all (λ, scale), and the place of the best.

    (fold, scale) pairs run in parallel, each along a path of λ. `score(problem, model, training rows,
    validation rows)` is greater for the better; `report.step()` is called after each fit.
    """
    jobs = [(s, f) for f in range(len(folds)) for s in range(len(scales))]
    out = np.empty((len(scales), len(lams), len(folds)))
    count = counter(verbose, len(jobs) * len(lams), "svmgsu cross-validation")

    def done() -> None:
        team.go_on()
        count()
        report.step()

    def scored(model: Any, rows: Fold) -> float:
        team.go_on()
        return float(score(problem, model, *rows))

    def run(job: tuple[int, int]) -> None:
        s, f = job
        models = follow_path(
            problem,
            lams,
            make_options(problem, 1.0, 1),
            rows=folds[f][0],
            cov_scale=float(scales[s]),
            team=Team(1, 1),
            report=lambda progress: not team.stopped,
            progress=done,
        )
        out[s, :, f] = [scored(model, folds[f]) for model in models]

    team.map(run, jobs)
    results = _results(lams, scales, out)
    return results, _best(results)


def _results(lams: FloatArray, scales: FloatArray, scores: FloatArray) -> dict[str, Array]:
    flat = scores.reshape(-1, scores.shape[2])
    mean = flat.mean(axis=1)
    results: dict[str, Array] = {
        "param_lam": np.tile(lams, len(scales)),
        "param_cov_scale": np.repeat(scales, len(lams)),
        "mean_test_score": mean,
        "std_test_score": flat.std(axis=1),
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
