"""What the models of the folds know: weights, reliability, doubtful objects, what better bars would do."""

from __future__ import annotations

import contextlib
import warnings
from math import erf, sqrt
from typing import Any

import numpy as np

from ..data.gaussians import Gaussians
from ..estimators.deconvolution import Deconvolution
from ..metrics.reliability import calibration_error, reliability_bins
from ..support.validation import Array, FloatArray
from .comparing import Problem, Trial, score_of, standard_error
from .effort import Effort
from .result import Doubtful, Feature, Reliability, WhatIf
from .systems import LEAST, WIDEST, Outcome

Folds = list[tuple[Array, Array]]
FACTORS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
LISTED = 10  # doubtful objects
COMPONENTS = 5
FAR_OFF = 1.6  # a ratio of losses: the population is not believed beyond


def weigh(features: list[Feature], trial: Trial) -> None:
    """Weights of the linear model, of features in units of their spread, with jackknife errors over folds."""
    planes = [np.atleast_2d(model[-1].coef_) for model in trial.models]
    signed = len(planes[0]) == 1
    each = np.array([w[0] if signed else np.sqrt((w**2).mean(axis=0)) for w in planes])
    mean, count = each.mean(axis=0), len(each)
    error = np.sqrt((count - 1) / count * ((each - mean) ** 2).sum(axis=0))
    for j, feature in enumerate(features):
        feature.weight, feature.weight_error = float(mean[j]), float(error[j])


def reliability(problem: Problem, trial: Trial, folds: Folds) -> Reliability:
    """Stated against observed: probabilities in bins, or the share of targets within an interval."""
    said = {"with error bars": trial.said, "without": _without(problem, trial, folds)}
    if problem.data.cov is None:
        said = {"values only": trial.said}
    found = Reliability(trial.way.name, "", {}, {}, {}, {})
    for name, outcome in said.items():
        assert outcome is not None
        if problem.task == "regression":
            _coverage(problem, outcome, found, name)
        else:
            _chances(problem, outcome, found, name)
    return found


def _without(problem: Problem, trial: Trial, folds: Folds) -> Outcome:
    parts = [
        trial.way.predict(model, problem.data[out].with_cov(None))
        for model, (_, out) in zip(trial.models, folds, strict=True)
    ]
    joined, order = Outcome.joined(parts), np.argsort(np.concatenate([out for _, out in folds]))
    return Outcome(joined.mean[order], None if joined.std is None else joined.std[order])


def _chances(problem: Problem, said: Outcome, found: Reliability, name: str) -> None:
    if len(problem.classes) == 2:
        chance, right = said.mean[:, 1], problem.codes == 1
        found.what = f"probability of class {problem.classes[1]}"
    else:
        chance, right = said.mean.max(axis=1), said.mean.argmax(axis=1) == problem.codes
        found.what = "probability of the class that is said"
    chance = np.clip(chance, 0, 1)
    bins = reliability_bins(right, chance)
    found.stated[name], found.observed[name] = bins.probability.tolist(), bins.frequency.tolist()
    found.count[name] = [int(n) for n in bins.samples]
    found.error[name] = calibration_error(right, chance)


def _coverage(problem: Problem, said: Outcome, found: Reliability, name: str) -> None:
    """The share of targets that lie within the central interval of each stated probability."""
    assert said.std is not None
    std = said.std if problem.y_std is None else np.hypot(said.std, problem.y_std)
    z = np.abs(problem.y - said.mean) / np.maximum(std, 1e-300)
    inside = np.array([erf(value / sqrt(2)) for value in z])
    levels = np.arange(0.1, 1.0, 0.1)
    observed = np.array([(inside <= level).mean() for level in levels])
    found.what = "share of targets within an interval"
    found.stated[name], found.observed[name] = levels.tolist(), observed.tolist()
    found.count[name] = [len(z)] * len(levels)
    found.error[name] = float(np.abs(observed - levels).mean())


class Truth:
    """Draws of what objects may really be: given the population if one can be learnt, else the bars alone."""

    def __init__(self, problem: Problem, effort: Effort) -> None:
        self.seed = problem.seed
        self.prior: Any = None
        data = problem.data
        if data.cov is None or data.shape[1] > WIDEST or data.cov.needs_classes:
            return
        if len(data) > effort.population:
            rows = np.random.default_rng([self.seed, 5]).permutation(len(data))[: effort.population]
            data = data[np.sort(rows)]
        count = max(1, min(COMPONENTS, len(data) // (10 * data.shape[1])))
        with warnings.catch_warnings(), contextlib.suppress(ValueError):
            warnings.simplefilter("ignore")
            self.prior = Deconvolution(count, random_state=self.seed).fit(data)

    def draws(self, data: Gaussians, count: int) -> FloatArray:
        """(l, count, n) of what each object may be."""
        source: Any = data if self.prior is None else self.prior.transform(data)
        return np.asarray(source.sample(count, self.seed))


def doubtful(
    problem: Problem, trial: Trial, folds: Folds, truth: Truth, features: list[Feature], draws: int
) -> list[Doubtful]:
    """The objects that an exact measurement would make surest, on average over what they may be."""
    now, exact = np.zeros(len(problem.y)), np.zeros(len(problem.y))
    assert trial.said is not None
    for model, (_, out) in zip(trial.models, folds, strict=True):
        drawn = truth.draws(problem.data[out], draws)
        flat = Gaussians(drawn.reshape(-1, drawn.shape[2]), feature_names=problem.data.feature_names_in_)
        said = trial.way.predict(model, flat)
        if problem.task == "classification":
            now[out] = trial.said.mean[out].max(axis=1)
            exact[out] = said.mean.max(axis=1).reshape(len(out), draws).mean(axis=1)
        else:
            assert said.std is not None and trial.said.std is not None
            spread = said.mean.reshape(len(out), draws).std(axis=1, ddof=1)
            now[out] = np.hypot(spread, np.median(said.std))
            exact[out] = np.median(said.std)
    gain = exact - now if problem.task == "classification" else now - exact
    order = np.argsort(-gain, kind="stable")[:LISTED]
    return [_listed(problem, trial, int(i), now, exact, features) for i in order if gain[i] > 0]


def _listed(
    problem: Problem, trial: Trial, i: int, now: FloatArray, exact: FloatArray, features: list[Feature]
) -> Doubtful:
    assert trial.said is not None and problem.data.cov is not None
    one = problem.data[np.array([i])]
    assert one.cov is not None
    bars = np.sqrt(one.cov.diagonals(1, one.shape[1], problem.y[[i]] if one.cov.needs_classes else None))[0]
    spreads = np.array([f.spread for f in features])
    relative = np.divide(bars, spreads, out=np.zeros_like(bars), where=spreads > 0)
    said = trial.said.mean[i]
    if problem.task == "classification":
        said = problem.classes[int(said.argmax())]
    return Doubtful(
        str(problem.ids[i]),
        _shown(problem.y[i]),
        _shown(said),
        float(now[i]),
        float(exact[i]),
        features[int(relative.argmax())].name if relative.any() else None,
    )


def _shown(value: Any) -> Any:
    plain = value.item() if hasattr(value, "item") else value
    return plain if isinstance(plain, (float, int)) and not isinstance(plain, bool) else str(plain)


def what_if(
    problem: Problem, trial: Trial, folds: Folds, truth: Truth, features: list[Feature], effort: Effort
) -> tuple[WhatIf, list[str]]:
    """The score with all bars times a factor, and what halving the bars of one feature would gain; notes.

    Larger bars are measured: noise is added to held-out objects, whose labels are known. Smaller ones cannot
    be: what objects may really be is drawn, the model says what their labels would be, and only the change
    from factor 1 is taken; and nothing where the score of such objects is not about the one measured.
    """
    rng = np.random.default_rng([problem.seed, 9])
    factors = [f for f in FACTORS if f >= 1 or truth.prior is not None]
    n = problem.data.shape[1]
    biggest = sorted(range(n), key=lambda j: -(features[j].ratio or 0.0))[: effort.features]
    tried = [j for j in biggest if features[j].ratio] if truth.prior is not None else []
    changes: dict[Any, list[FloatArray]] = {key: [] for key in [*factors, *(("half", j) for j in tried)]}
    base: list[FloatArray] = []
    made: list[FloatArray] = []
    groups: list[Array] = []
    for model, (_, out) in zip(trial.models, folds, strict=True):
        rows = out[np.sort(rng.permutation(len(out))[: effort.simulated])]
        part = problem.part(rows)
        own = part.losses(trial.way.predict(model, part.data))
        base.append(own)
        groups.append(rows if part.groups is None else part.groups)
        for factor in factors:
            if factor > 1:
                changes[factor].append(_grown(part, trial, model, factor) - own)
        if truth.prior is not None:
            made.append(_shrunk(part, trial, model, truth, factors, tried, changes))
    notes = []
    if made and not _believable(np.concatenate(made).mean(), np.concatenate(base).mean()):
        scores = [score_of(problem.task, np.concatenate(v))[0] for v in (made, base)]
        notes.append(
            "What smaller error bars would do is not shown: objects drawn from the population that was "
            f"learnt score {scores[0]:.3g} where {scores[1]:.3g} was measured, so that it cannot be trusted. "
            "Features with long tails are a usual reason; their logarithms may serve better."
        )
        factors, tried = [f for f in factors if f >= 1], []
    curve = _collected(problem, trial, factors, tried, changes, np.concatenate(base), groups, features)
    return curve, notes


def _believable(made: float, measured: float) -> bool:
    """Whether the loss of made-up objects is about that of the real ones."""
    return bool(measured / FAR_OFF < made < measured * FAR_OFF)


def _grown(part: Problem, trial: Trial, model: Any, factor: float) -> FloatArray:
    """Losses of the objects with noise added, so that their bars are `factor` times as large."""
    assert part.data.cov is not None
    y = part.y if part.data.cov.needs_classes else None
    noisy = part.data.scale_cov(factor**2 - 1).sample(1, part.seed + 1, y=y)[:, 0]
    data = Gaussians(noisy, factor**2 * part.data.cov, feature_names=part.data.feature_names_in_)
    return part.losses(trial.way.predict(model, data))


def _shrunk(
    part: Problem,
    trial: Trial,
    model: Any,
    truth: Truth,
    factors: list[float],
    tried: list[int],
    changes: dict[Any, list[FloatArray]],
) -> FloatArray:
    """Adds the changes of made-up objects' expected loss, for smaller bars, to `changes`; their loss now."""
    cov, names = part.data.cov, part.data.feature_names_in_
    assert cov is not None
    true = truth.draws(part.data, 1)[:, 0]
    noise = part.data.sample(1, part.seed + 2)[:, 0] - np.asarray(part.data.mean)
    labels = trial.way.predict(model, Gaussians(true, feature_names=names))

    def expected(scale: FloatArray) -> FloatArray:
        data = Gaussians(true + noise * scale, feature_names=names)
        if scale.any():
            data = data.with_cov(cov.scale_features(scale))
        said = trial.way.predict(model, data)
        if part.task == "classification":
            return np.asarray(-(labels.mean * np.log(np.maximum(said.mean, LEAST))).sum(axis=1))
        assert labels.std is not None
        squares = (labels.mean - said.mean) ** 2 + labels.std**2
        return np.asarray(squares if part.weight is None else part.weight * squares)

    n = part.data.shape[1]
    now = expected(np.ones(n))
    for factor in factors:
        if factor < 1:
            changes[factor].append(expected(np.full(n, factor)) - now)
    for j in tried:
        scale = np.ones(n)
        scale[j] = 0.5
        changes["half", j].append(expected(scale) - now)
    return now


def _collected(
    problem: Problem,
    trial: Trial,
    factors: list[float],
    tried: list[int],
    changes: dict[Any, list[FloatArray]],
    base: FloatArray,
    groups: list[Array],
    features: list[Feature],
) -> WhatIf:
    """Changes as scores, anchored at what was measured with all objects."""
    assert trial.said is not None
    measured = float(problem.losses(trial.said).mean())
    together = None if problem.groups is None else np.concatenate(groups)
    now = score_of(problem.task, np.array([measured]))[0]
    slope = 1.0 if problem.task == "classification" else 1 / (2 * max(now, 1e-300))
    found = WhatIf(trial.way.name, list(factors), [], [], [f >= 1 for f in factors])
    for factor in factors:
        each = np.zeros_like(base) if factor == 1 else np.concatenate(changes[factor])
        level = max(measured + float(each.mean()), 0.0)
        found.scores.append(level if problem.task == "classification" else float(np.sqrt(level)))
        found.errors.append(slope * standard_error(each, together))
    for j in tried:
        each = np.concatenate(changes["half", j])
        features[j].gain = -slope * float(each.mean())
        features[j].gain_error = slope * standard_error(each, together)
    return found
