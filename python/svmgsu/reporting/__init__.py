"""One table, one page: do the uncertainties matter, which model to use, which samples to measure again?"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from ..support.progress import counter
from ..support.validation import ArrayLike
from . import insight
from .checks import describe
from .comparison import MEASURES, advise, cross_validate, measure
from .problem import prepare
from .result import Report
from .systems import FULL, QUICK, systems_for

__all__ = ["Report", "report"]


def report(
    data: ArrayLike,
    y: ArrayLike = None,
    *,
    cov: ArrayLike = None,
    std: ArrayLike = None,
    y_std: ArrayLike = None,
    classes: ArrayLike = None,
    groups: ArrayLike = None,
    ids: ArrayLike = None,
    task: str = "auto",
    title: str = "Do the uncertainties matter?",
    reading: str | None = None,
    command: Callable[[list[str], bool], str] | None = None,
    cautions: Sequence[str] = (),
    notes: Sequence[str] = (),
    quick: bool = False,
    seed: int = 0,
    verbose: bool = False,
) -> Report:
    """Compare models with and without the uncertainties of a table, and recommend one.

    Compared are a linear model, a random forest and gradient boosting of scikit-learn, on the values and on
    the values with the standard errors as further columns, and `GSUClassifier` or `GSURegressor` with default
    settings. All are tested on the same held-out samples.

    Parameters
    ----------
    data : Gaussians, array or DataFrame
        The samples. Columns `x` and `x_err` of a DataFrame belong together, as in files. NaN is a missing
        value.
    y : array of shape (l,), or the name of a column of the DataFrame
        Labels, or the targets of a regression; or class probabilities, of shape (l, K).
    cov, std : optional
        Covariances or standard errors of an array, as in `svmgsu.Gaussians`.
    y_std : number or array of shape (l,), optional
        Standard errors of the targets; by default those that a DataFrame has beside its column y.
    classes : sequence of K labels, optional
        The classes of the columns of probabilities; by default the names of a DataFrame's columns.
    groups : array of shape (l,), optional
        Samples of one group (a patient, a star) are never both trained and tested on.
    ids : array of shape (l,), optional
        Names of the samples; by default their positions.
    task : {"auto", "classification", "regression"}
        By default a regression where y has fractions or more than 20 different numbers.
    title : str
        Title of the page.
    reading : str, optional
        Code that makes `data` and `y`, shown before the recommended model's.
    command : function of a list of str and a bool, optional
        Returns the shell command that trains the pool on the same table without the features in the list, and
        with the uncertainties or not.
    cautions, notes : list of str
        Warnings and notes of the reader of a file, shown at the top and at the end of the page.
    quick : bool, default=False
        Whether to use fewer samples, folds and trees: some seconds instead of some minutes.
    seed : int, default=0
        The same seed gives the same report, but for times and rounding.
    verbose : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    Report
        With `to_html(path)`, `to_json()` and, in notebooks, the page itself.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["no", "yes"], 60)
    >>> X = rng.normal(size=(120, 2)) + 2.0 * (y == "yes")[:, np.newaxis]
    >>> found = svmgsu.report(X, y, std=0.3, quick=True)
    >>> found.advice.uncertainties in ("help", "harm", "no difference")
    True
    """
    began = time.perf_counter()
    effort = QUICK if quick else FULL
    problem, said = prepare(
        data,
        y,
        cov=cov,
        std=std,
        y_std=y_std,
        classes=classes,
        groups=groups,
        ids=ids,
        task=task,
        seed=seed,
        effort=effort,
    )
    table, features, suspicions, ignored = describe(problem)
    used = np.flatnonzero(~ignored)
    problem = problem.with_features(used)
    left_out = [features[j].name for j in np.flatnonzero(ignored)]
    preparing = [reading] if reading else []
    if left_out:
        preparing.append(f"data = data.select({problem.data.feature_names_in_ or used.tolist()})")
    folds = problem.splits(effort.folds)
    systems = systems_for(problem, effort)
    done = counter(verbose, len(systems) * len(folds) + 2, "svmgsu report")
    # More threads on few samples wait for one another longer than they work.
    with threadpool_limits(1 if quick else None):
        trials = cross_validate(problem, systems, folds, done)
        if all(trial.predicted is None for trial in trials):
            raise ValueError(f"data: no model could be trained; {trials[0].score.failure}")
        measure(problem, trials)
        first, second = MEASURES[problem.task]
        found = Report(
            task=problem.task,
            title=title,
            table=table,
            features=features,
            measure=first,
            second_measure=second,
            systems=[trial.score for trial in trials],
            advice=advise(problem, trials, preparing, command and partial(command, left_out)),
            warnings=[*cautions, *suspicions],
            notes=[*notes, *said],
            settings={"seed": seed, "folds": len(folds), "quick": quick, "groups": groups is not None},
        )
        pools = [t for t in trials if t.system.family == "pool" and t.predicted is not None]
        if pools:
            found.pool = insight.pool_members(pools[-1])
            found.reliability = insight.reliability(problem, pools, folds)
            done()
            if pools[-1].system.uncertainties:
                own = [features[j] for j in used]
                with warnings.catch_warnings():
                    # Samples with other uncertainties than those of the training set are the question here.
                    warnings.simplefilter("ignore")
                    again = insight.remeasure(problem, pools[-1], folds, own, effort)
                found.expected_changes, found.remeasure, more = again
                found.notes += more
                done()
        least = min(len(training) for training, _ in folds)
        if least > effort.training:
            found.notes.append(
                f"To save time, models are trained on {effort.training} of the {least} samples of a fold."
            )
    found.seconds = time.perf_counter() - began
    return found
