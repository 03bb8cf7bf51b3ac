"""From scores to an answer: do the bars help, which model to take, and the code that trains it."""

from __future__ import annotations

from typing import Any

from .comparing import Problem, Trial, difference
from .result import Advice
from .systems import SCALES, UNEXPLAINED

CLEAR = 2.0  # standard errors of a difference that is called clear
TWINS = {"linear": "linear-bars", "rbf": "rbf-bars"}
MEASURES = {"classification": ("log-loss", "accuracy"), "regression": ("RMSE", "mean absolute error")}


def advise(problem: Problem, trials: list[Trial], reading: str | None) -> Advice:
    """The simplest way within one standard error of the best, and what the error bars are good for."""
    fine = [t for t in trials if t.said is not None]
    best = min(fine, key=lambda t: t.system.score or 0.0)
    behind = {t.way.key: difference(problem, t, best) for t in fine}
    taken = next(t for t in fine if behind[t.way.key][0] <= behind[t.way.key][1])  # the simplest is first
    beside = behind[taken.way.key]
    measure = MEASURES[problem.task][0]
    if taken is best:
        reason = f"It has the lowest {measure} on held-out objects."
    else:
        reason = (
            f"It is the simplest within one standard error of the best: {best.system.name} has a {measure} "
            f"that is lower by {beside[0]:.2g} ± {beside[1]:.2g}."
        )
    gains = _gains(problem, fine)
    kind, verdict = _verdict(problem, fine, gains, measure)
    code = "\n".join(line for line in (reading, *_code(problem, taken)) if line)
    return Advice(kind, verdict, taken.way.key, taken.system.name, reason, code, gains)


def _gains(problem: Problem, fine: list[Trial]) -> list[dict[str, Any]]:
    """What the bars change, of the two families that are there with and without them."""
    known, found = {t.way.key: t for t in fine}, []
    for plain, barred in TWINS.items():
        if plain in known and barred in known:
            change, error = difference(problem, known[barred], known[plain])
            score = min(known[k].system.score or 0.0 for k in (plain, barred))
            found.append({"family": plain, "change": change, "error": error, "best": score})
    return found


def _verdict(
    problem: Problem, fine: list[Trial], gains: list[dict[str, Any]], measure: str
) -> tuple[str, str]:
    if problem.data.cov is None:
        return "none", (
            "There are no error bars in this table, so they cannot help. What follows compares models on the "
            "values alone. A column x_err, x_std or x_var beside x, or a pair x_err1, x_err2, would be taken "
            "as its error bars."
        )
    if not gains:
        return "unclear", "Whether the error bars help could not be measured: see the table of models."
    own = min(gains, key=lambda gain: float(gain["best"]))
    family = {"linear": "a linear model", "rbf": "an RBF model"}[own["family"]]
    change, error = float(own["change"]), float(own["error"])
    size = f"{abs(change):.3g} ± {error:.2g}"
    if change < -CLEAR * error:
        return "help", f"Yes, the error bars help: told of them, {family} has a {measure} lower by {size}."
    if change > CLEAR * error:
        return "harm", (
            f"No: told of the error bars, {family} has a {measure} higher by {size}. They may be too large, "
            "or say something else than the noise of these values."
        )
    return "no difference", (
        f"The error bars make no clear difference here: told of them, the {measure} of {family} changes by "
        f"{change:+.2g} ± {error:.2g}. They may still matter where new objects are noisier than these."
    )


def _code(problem: Problem, taken: Trial) -> list[str]:
    """Lines that train the model that was measured, given `data` and `y` (and `y_std`, or `classes`)."""
    key, classes = taken.way.key, problem.task == "classification"
    more = "classes" if problem.chances is not None else "y_std" if problem.y_std is not None else ""
    if key in ("linear", "linear-bars"):
        kind = "LinearSVMGSU" if classes else "LinearSVRGSU"
        scales = f"[{', '.join(f'{s:g}' for s in SCALES)}]" if key == "linear-bars" else "[0]"
        search = f"svmgsu.{kind}(cov_scale={scales})"
        extra = f", {kind.lower()}__{more}={more}" if more else ""
        return [
            "from sklearn.pipeline import make_pipeline",
            "from sklearn.preprocessing import StandardScaler",
            "scaler = svmgsu.Propagate(StandardScaler())",
            f"model = make_pipeline(scaler, {search}).fit(data, y{extra})",
        ]
    if key in ("rbf", "rbf-bars"):
        given = "data" if key == "rbf-bars" or problem.data.cov is None else "data.with_cov(None)"
        extra = f", {more}={more}" if more else ""
        return [f"model = svmgsu.{'GSUClassifier' if classes else 'GSURegressor'}().fit({given}, y{extra})"]
    return _trees(problem, taken.way, more)


def _trees(problem: Problem, way: Any, more: str) -> list[str]:
    """A forest or boosting on draws; what they predict of an object is the mean over draws of it."""
    copies = way.copies(problem.data) if problem.data.cov is not None else 1
    X, rows = "draws(data)", copies
    y, extra = f"y.repeat({copies})", ""
    lines = [f"def draws(objects): return objects.sample({copies}, {way.seed}).reshape(-1, objects.shape[1])"]
    if more == "y_std":
        lines.append(f"weights = 1 / (({UNEXPLAINED} * y.std()) ** 2 + y_std**2)")
        extra = f", sample_weight=(weights / weights.mean()).repeat({copies})"
    if more == "classes":
        rows *= len(problem.classes)
        X, y = f"{X}.repeat(len(classes), axis=0)", f"list(classes) * ({copies} * len(data))"
        extra = f", sample_weight=y.repeat({copies}, axis=0).ravel()"
    shown = " ".join(str(way.model(rows)).split())
    name, ask = shown.partition("(")[0], "predict_proba" if problem.task == "classification" else "predict"
    shape = f"(len(objects), {copies}, -1)" if ask == "predict_proba" else f"(len(objects), {copies})"
    return [
        f"from sklearn.ensemble import {name}",
        *lines,
        f"model = {shown}.fit({X}, {y}{extra})",
        f"def predict(objects): return model.{ask}(draws(objects)).reshape{shape}.mean(axis=1)",
    ]
