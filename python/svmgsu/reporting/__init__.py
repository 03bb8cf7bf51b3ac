"""One table, one answer: do the error bars matter, and which model to use? `svmgsu.report`.

The result holds all numbers; `to_html` makes one self-contained page of them, `to_json` is for machines.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ..support.progress import counter
from . import insight
from .advice import MEASURES, advise
from .comparing import Problem, Trial, compare, measure
from .describing import describe
from .effort import FULL, QUICK, Effort
from .preparing import prepare, varied
from .result import Feature, Report
from .systems import WIDEST, Curved, ways_for

__all__ = ["Report", "report"]


def report(
    data: Any,
    y: Any = None,
    *,
    cov: Any = None,
    std: Any = None,
    y_std: Any = None,
    classes: Any = None,
    groups: Any = None,
    ids: Any = None,
    task: str = "auto",
    title: str = "Do the error bars matter?",
    reading: str | None = None,
    notes: Any = (),
    quick: bool = False,
    seed: int = 0,
    verbose: bool = False,
) -> Report:
    """Looks at a table, compares models with and without its error bars, and recommends one.

    Parameters
    ----------
    data : Gaussians, array or DataFrame
        The objects. Columns `x` and `x_err` of a DataFrame belong together, as in files.
    y : array of shape (l,), or the name of a column of the DataFrame
        Labels, or the numbers of a regression. Or, of shape (l, K), the probability of each class.
    cov, std : optional
        Covariances or error bars of an array, as in `svmgsu.Gaussians`.
    y_std : number or array of shape (l,), optional
        Errors of the numbers to predict; by default those that a DataFrame has beside its column y.
    classes : sequence of K labels, optional
        What the columns of probabilities are of; by default the names of a DataFrame's.
    groups : array of shape (l,), optional
        Objects of one group (a patient, a star) are never on both sides of a fold.
    ids : array of shape (l,), optional
        Names of the objects; by default their rows.
    task : {"auto", "classification", "regression"}
        By default a regression where y has more than 20 different numbers, or fractions.
    title : str
        Of the page.
    reading : str, optional
        A line of code that makes `data` and `y`, to stand before the recommended one.
    notes : list of str
        What a reader of files has left out, to be shown.
    quick : bool, default=False
        Some seconds instead of a minute or two: fewer objects, folds and trees.
    seed : int, default=0
        The same seed gives the same report, but for times.
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
    >>> found.advice.bars in ("help", "harm", "no difference")
    True
    """
    began, effort = time.perf_counter(), QUICK if quick else FULL
    problem, said = prepare(data, y, cov, std, groups, ids, task, seed, effort, y_std, classes)
    table, features = describe(problem.data, problem.y, problem.task, problem.classes)
    if problem.y_std is not None:
        table.target["typical error"] = float(np.median(problem.y_std))
    problem, used = varied(problem)
    folds = problem.splits(effort.folds)
    ways = ways_for(problem.task, problem.classes, problem.data, effort, seed)
    done = counter(verbose, len(ways) * len(folds) + 3, "svmgsu report")
    with threadpool_limits(effort.threads):
        trials = compare(problem, ways, folds, done)
    if all(trial.said is None for trial in trials):
        raise ValueError(f"data: no model could be trained; {trials[0].system.failure}")
    measure(problem, trials)
    first, second = MEASURES[problem.task]
    found = Report(
        task=problem.task,
        title=title,
        table=table,
        features=features,
        measure=first,
        second_measure=second,
        systems=[trial.system for trial in trials],
        advice=advise(problem, trials, reading),
        notes=[*notes, *said, *_about_sizes(problem, trials)],
        settings={"seed": seed, "folds": len(folds), "quick": quick, "groups": groups is not None},
    )
    with threadpool_limits(effort.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of objects that are noisier than any: that is the question here
        _look_into(problem, trials, folds, found, [features[j] for j in used], done, effort)
    found.seconds = time.perf_counter() - began
    return found


def _look_into(
    problem: Problem,
    trials: list[Trial],
    folds: Any,
    found: Report,
    features: list[Feature],
    done: Callable[[], None],
    effort: Effort,
) -> None:
    """Weights, reliability, doubtful objects and the what-if curve, as far as there are models for them."""
    fine = {trial.way.key: trial for trial in trials if trial.said is not None}
    linear = fine.get("linear-bars", fine.get("linear"))
    if linear is not None:
        insight.weigh(features, linear)
    bars = problem.data.cov is not None
    keys = ("rbf-bars", "linear-bars") if bars else ("rbf", "linear")
    able = [_steady(problem, fine[key], folds, found) for key in keys if key in fine]
    if able:
        model = min(able, key=lambda trial: (trial.way.key != found.advice.system, trial.system.score))
        found.reliability = insight.reliability(problem, model, folds)
    done()
    if not (able and bars):
        done()
        done()
        return
    truth = insight.Truth(problem, effort)
    found.doubtful = insight.doubtful(problem, able[0], folds, truth, features, effort.draws)
    done()
    found.what_if, doubts = insight.what_if(problem, able[0], folds, truth, features, effort)
    found.notes += doubts
    done()


def _steady(problem: Problem, trial: Trial, folds: Any, found: Report) -> Trial:
    """A trial whose model can be asked about other error bars than these."""
    if not isinstance(trial.way, Curved) or not trial.way.sees_sizes:
        return trial
    (other,) = compare(problem, [trial.way.steady()], folds, lambda: None)
    if other.said is None:
        return trial
    measure(problem, [other])
    own = f"{other.system.score:.3g} ± {other.system.score_error:.2g}"
    found.advice.verdict += (
        " The sizes of the bars tell about the target by themselves, and the RBF model uses them as "
        f"features: without that its {found.measure} is {own}."
    )
    found.notes.append(
        "Reliability, objects in doubt and the what-if curve are of the RBF model without the sizes of bars "
        "as features, which can be asked about other sizes."
    )
    return other


def _about_sizes(problem: Problem, trials: list[Trial]) -> list[str]:
    """What was made smaller so that the report is ready in time."""
    notes = []
    least = min(len(known) for known, _ in problem.splits(len(trials[0].models) or 2))
    some = [t for t in trials if t.way.most is not None and 0 < t.system.trained_on < least]
    if some:
        shown = "; ".join(f"{t.system.name}: {t.system.trained_on}" for t in some)
        notes.append(
            f"To save time, some models are trained on a part of the {least} objects that a fold has. With "
            f"all they would be as good or better. {shown}."
        )
    if problem.data.shape[1] > WIDEST:
        notes.append(
            f"There are more than {WIDEST} features: RBF models and the population behind the objects are "
            "left out."
        )
    notes.append("Settings are chosen in the first fold, among its known objects; the others take them over.")
    return notes
