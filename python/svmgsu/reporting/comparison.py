"""Paired cross-validation of the models, and from its scores to an answer."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..support.validation import Array, FloatArray
from .problem import Problem, draw_rows
from .result import Advice, SystemScore, plus_minus
from .systems import Fitted, Prediction, System

CLEAR = 2.0  # standard errors of a difference that is called clear
MEASURES = {"classification": ("log-loss", "accuracy"), "regression": ("RMSE", "mean absolute error")}
Folds = list[tuple[Array, Array]]


@dataclass
class Trial:
    """A system, its models of the folds, and what they predicted of held-out samples."""

    system: System
    score: SystemScore
    predicted: Prediction | None = None
    models: list[Fitted] = field(default_factory=list)


def cross_validate(
    problem: Problem, systems: list[System], folds: Folds, done: Callable[[], None]
) -> list[Trial]:
    """Train every system in every fold. One that fails is named with its reason, and the others go on."""
    trials = []
    for system in systems:
        trial = Trial(system, SystemScore(system.key, system.family_name, system.name, system.uncertainties))
        trials.append(trial)
        began = time.perf_counter()
        parts = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for training, held_out in folds:
                try:
                    if trial.score.failure is None:
                        rows = draw_rows(training, problem.codes, system.effort.training, problem.seed)
                        model = system.fit(problem.part(rows))
                        trial.models.append(model)
                        parts.append(system.predict(model, problem.data[held_out]))
                except (ValueError, MemoryError, np.linalg.LinAlgError) as error:
                    trial.score.failure = str(error)[:300] or type(error).__name__
                done()
        said = sorted({str(w.message) for w in caught if issubclass(w.category, UserWarning)})
        trial.score.notes = said[:1]
        trial.score.seconds = time.perf_counter() - began
        if trial.score.failure is None:
            trial.predicted = gathered(parts, folds)
    return trials


def gathered(parts: list[Prediction], folds: Folds) -> Prediction:
    """Return the predictions of all folds in the order of the samples."""
    order = np.argsort(np.concatenate([held_out for _, held_out in folds]), kind="stable")
    mean = np.concatenate([part.mean for part in parts])[order]
    stds = [part.std for part in parts if part.std is not None]
    return Prediction(mean, np.concatenate(stds)[order] if stds else None)


def measure(problem: Problem, trials: list[Trial]) -> None:
    """Set scores with standard errors, and paired differences to the values alone and to the best."""
    fine = [t for t in trials if t.predicted is not None]
    for trial in fine:
        assert trial.predicted is not None
        score = trial.score
        score.score, each = root_or_mean(problem, problem.losses(trial.predicted))
        score.score_error = standard_error(each, problem.groups)
        second = problem.second_measure(trial.predicted)
        score.second = float(second.mean())
        score.second_error = standard_error(second, problem.groups)
    best = best_of(fine)
    plain = {t.system.family: t for t in fine if not t.system.uncertainties}
    for trial in fine:
        if trial is not best:
            trial.score.behind, trial.score.behind_error = difference(problem, trial, best)
        if trial.system.uncertainties and trial.system.family in plain:
            own = difference(problem, trial, plain[trial.system.family])
            trial.score.change, trial.score.change_error = own


def best_of(trials: list[Trial]) -> Trial:
    """Return the trial with the lowest score."""
    return min(trials, key=lambda t: t.score.score or 0.0)


def root_or_mean(problem: Problem, losses: FloatArray) -> tuple[float, FloatArray]:
    """Return the mean loss or its root, and what each sample contributes, to first order."""
    if problem.is_classification:
        return float(losses.mean()), losses
    root = float(np.sqrt(losses.mean()))
    return root, losses / (2 * root) + root / 2 if root > 0 else losses


def difference(problem: Problem, one: Trial, other: Trial) -> tuple[float, float]:
    """Return the score of `one` less that of `other`, and its standard error over pairs of losses."""
    assert one.predicted is not None and other.predicted is not None
    a = problem.losses(one.predicted)
    b = problem.losses(other.predicted)
    each = a - b
    if not problem.is_classification:
        roots = np.sqrt(a.mean()) + np.sqrt(b.mean())
        each = each / roots if roots > 0 else each
    return float(each.mean()), standard_error(each, problem.groups)


def standard_error(values: FloatArray, groups: Array | None) -> float:
    """Return the standard error of a mean; values of a group are not independent and count together."""
    centred = values - values.mean()
    if groups is not None:
        centred = np.bincount(np.unique(groups, return_inverse=True)[1], centred)
    count = len(centred)
    return float(np.sqrt(count / max(1, count - 1) * (centred**2).sum()) / len(values))


def advise(
    problem: Problem, trials: list[Trial], preparing: list[str], command: Callable[[bool], str] | None
) -> Advice:
    """Answer whether the uncertainties help, and recommend the simplest of the best models.

    `preparing` are the lines of code that make `data` and `y`; `command` returns the shell command that
    trains the pool with the uncertainties or without.
    """
    fine = [t for t in trials if t.predicted is not None]
    measured = MEASURES[problem.task][0]
    answer, headline = _answer(problem, fine, measured)
    # What the answer says of the uncertainties, the recommended model does.
    wanted = answer == "help"
    able = [t for t in fine if t.system.uncertainties == wanted]
    best = best_of(able)
    behind = [(trial, *difference(problem, trial, best)) for trial in able]
    taken, less, error = next(entry for entry in behind if entry[1] <= entry[2])
    if taken is best:
        reason = f"It has the lowest {measured} on held-out samples"
        if problem.data.cov is not None:
            reason += (
                " of the models that use the uncertainties" if wanted else " of the models on the values"
            )
        reason += "."
    else:
        reason = (
            f"It is the simplest within one standard error of the best: the {measured} of {best.score.name} "
            f"is lower by only {plus_minus(less, error)}."
        )
    is_pool = taken.system.family == "pool"
    lines = ["import svmgsu"] if preparing or is_pool else []
    code = "\n".join([*lines, *preparing, *taken.system.code(problem)])
    advice = Advice(answer, headline, taken.system.key, taken.score.name, reason, code)
    # The shell trains the pool alone, with default settings where another model is recommended.
    used = wanted if is_pool else answer not in ("harm", "none")
    pools = [t for t in fine if t.system.family == "pool" and t.system.uncertainties == used]
    if command is not None and pools:
        own = pools[0].score
        score = f"{measured} {plus_minus(own.score, own.score_error)}"
        advice.command = command(used)
        advice.command_says = "In the shell:" if is_pool else f"The shell trains {own.name} ({score}):"
    return advice


def _answer(problem: Problem, fine: list[Trial], measured: str) -> tuple[str, str]:
    """Return what the uncertainties do to the family of the best model, as a word and as a sentence."""
    if problem.data.cov is None:
        return "none", (
            "The table has no uncertainties, so they cannot help. A column x_err (or e_x, sigma_x, x_std) "
            "beside x is read as the standard errors of x."
        )
    plain = {t.system.family: t.score for t in fine if not t.system.uncertainties}
    both = [t.score for t in fine if t.score.change is not None]
    if not both:
        return "unknown", "Whether the uncertainties help could not be measured: see the table of models."
    family = {t.score.key: t.system.family for t in fine}
    own = min(both, key=lambda s: min(s.score or 0.0, plain[family[s.key]].score or 0.0))
    before = plain[family[own.key]]
    change = own.change or 0.0
    error = own.change_error or 0.0
    article = "an" if measured == "RMSE" else "a"
    # The same digits as in the table.
    scores = (
        f"{own.family} has {article} {measured} of {plus_minus(own.score, own.score_error)} with them and "
        f"{plus_minus(before.score, before.score_error)} without"
    )
    size = f"change {plus_minus(change, error, signed=True)}"
    if change < -CLEAR * error:
        return "help", f"Yes, the uncertainties help: {scores} ({size})."
    if change > CLEAR * error:
        return "harm", (
            f"No, the uncertainties make it worse: {scores} ({size}). They may be too large, or not "
            "be the noise of these values."
        )
    return "no difference", (f"The uncertainties make no clear difference: {scores} ({size}).")
