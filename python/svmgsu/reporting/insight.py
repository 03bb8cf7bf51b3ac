"""What the pool knows beyond its score: reliability, samples to measure again, the size of uncertainties."""

from __future__ import annotations

import contextlib
import copy
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ..data.gaussians import Gaussians, with_gaps
from ..data.mixtures import Mixtures
from ..estimators.deconvolution import Deconvolution
from ..metrics.reliability import calibration_error, reliability_bins
from ..support.validation import Array, FloatArray
from .comparison import Folds, Trial, gathered, root_or_mean, standard_error
from .problem import Problem
from .result import Feature, PoolMember, Reliability, Remeasure, WhatIf
from .systems import LEAST, Effort, Fitted

FACTORS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
LEVELS = (0.5, 0.68, 0.8, 0.9, 0.95)  # of intervals
LISTED = 10  # samples to measure again
SETTLES = (0.5, 0.25, 0.1)  # factors of the uncertainties that are tried
SETTLED = 0.9  # probability that the class is that of the true values
CLOSE = 1 / 3  # of the present movement of a predicted number, likewise
COMPONENTS = 5
BELIEVED = 1.6  # ratio of losses up to which simulated samples are like the real ones


def pool_members(trial: Trial) -> list[PoolMember]:
    """Return the members of the pool with their weights and held-out losses, averaged over the folds."""
    found: dict[str, list[tuple[float, float]]] = {}
    for model in trial.models:
        pool = model.pool_
        for name, weight, loss in zip(pool.members, pool.weights, pool.losses, strict=True):
            found.setdefault(name, []).append((float(weight), float(loss)))
    count = len(trial.models)
    members = [
        PoolMember(name, sum(w for w, _ in pairs) / count, sum(loss for _, loss in pairs) / len(pairs))
        for name, pairs in found.items()
    ]
    return sorted(members, key=lambda member: -member.weight)


def reliability(problem: Problem, trials: list[Trial], folds: Folds) -> Reliability:
    """Compare predicted with observed frequencies, of held-out samples."""
    found = Reliability("")
    for trial in trials:
        assert trial.predicted is not None
        name = "values + uncertainties" if trial.system.uncertainties else "values only"
        if not problem.is_classification:
            _coverage(problem, trial, folds, found, name)
            continue
        proba = trial.predicted.mean
        if len(problem.classes) == 2:
            chance = proba[:, 1]
            right = problem.codes == 1
            found.what = f"probability of class {problem.classes[1]}"
        else:
            chance = proba.max(axis=1)
            right = proba.argmax(axis=1) == problem.codes
            found.what = "probability of the predicted class"
        bins = reliability_bins(right, np.clip(chance, 0, 1))
        found.predicted[name] = bins.probability.tolist()
        found.observed[name] = bins.frequency.tolist()
        found.error[name] = calibration_error(right, np.clip(chance, 0, 1))
    return found


def _coverage(problem: Problem, trial: Trial, folds: Folds, found: Reliability, name: str) -> None:
    """Measure how many targets lie within the intervals of each level, and how wide these are."""
    found.what = "fraction of targets within an interval"
    inside = np.zeros((len(LEVELS), len(problem.y)))
    width = np.zeros_like(inside)
    for model, (_, held_out) in zip(trial.models, folds, strict=True):
        data = trial.system.seen(problem.data[held_out])  # type: ignore[attr-defined]
        for k, level in enumerate(LEVELS):
            low, high = model.predict_interval(data, level=level)
            y = problem.y[held_out]
            inside[k, held_out] = (low <= y) & (y <= high)
            width[k, held_out] = high - low
    observed = inside.mean(axis=1)
    found.predicted[name] = list(LEVELS)
    found.observed[name] = observed.tolist()
    found.error[name] = float(np.abs(observed - LEVELS).mean())
    found.width[name] = np.median(width, axis=1).tolist()


def without_sizes(problem: Problem, trial: Trial, folds: Folds) -> Trial:
    """Return the pool without its members that use the standard errors as features.

    Where the size of an error tells something about the target, the full pool would predict another class for
    a better measurement even if the values stayed as they are.
    """
    models = []
    for model in trial.models:
        other = copy.copy(model)
        other.pool_ = replace(model.pool_, weights=model.pool_.fallback_weights)
        models.append(other)
    parts = [trial.system.predict(m, problem.data[out]) for m, (_, out) in zip(models, folds, strict=True)]
    return replace(trial, models=models, predicted=gathered(parts, folds))


class TrueValues:
    """Draw possible true values of samples: given the population if it can be learnt, else the noise."""

    def __init__(self, problem: Problem, effort: Effort) -> None:
        self.seed = problem.seed
        self.population: Deconvolution | None = None
        data = problem.data
        if len(data) > effort.training:
            rows = np.random.default_rng([self.seed, 5]).permutation(len(data))[: effort.training]
            data = data[np.sort(rows)]
        count = max(1, min(COMPONENTS, len(data) // (10 * data.shape[1])))
        with warnings.catch_warnings(), contextlib.suppress(ValueError):
            warnings.simplefilter("ignore")
            self.population = Deconvolution(count, random_state=self.seed).fit(data)

    def draw(self, data: Gaussians, count: int) -> FloatArray:
        """Return (l, count, n) possible true values; where a value is missing it stays missing."""
        source: Gaussians | Mixtures = data if self.population is None else self.population.transform(data)
        drawn = np.array(source.sample(count, self.seed))
        drawn[np.broadcast_to(np.isnan(np.asarray(data.mean))[:, np.newaxis], drawn.shape)] = np.nan
        return drawn


def remeasure(
    problem: Problem, trial: Trial, folds: Folds, truth: TrueValues, features: list[Feature], effort: Effort
) -> tuple[float, list[Remeasure]]:
    """Return how much would change if all were measured exactly, and the samples for which it is most.

    The true values of each sample are drawn, and the model predicts them as exact measurements.
    """
    assert trial.predicted is not None
    now = trial.predicted.mean
    total = 0.0
    found: list[tuple[float, int, Fitted, int]] = []
    rng = np.random.default_rng([problem.seed, 11])
    for model, (_, held_out) in zip(trial.models, folds, strict=True):
        rows = held_out
        if problem.is_classification:
            # Samples whose class is almost certain do not change it; the least certain are looked at.
            rows = held_out[np.argsort(now[held_out].max(axis=1), kind="stable")]
        else:
            rows = rng.permutation(held_out)
        rows = rows[: effort.candidates]
        drawn = truth.draw(problem.data[rows], effort.draws)
        predicted = trial.system.predict(model, _exact(problem, drawn)).mean
        predicted = predicted.reshape(len(rows), effort.draws, -1)
        if problem.is_classification:
            best = predicted.argmax(axis=2)
            other = best != now[rows].argmax(axis=1)[:, np.newaxis]
            change = other.mean(axis=1)
            total += float(change.sum()) / len(problem.y)
            seen = [
                int(np.bincount(b[o], minlength=now.shape[1]).argmax()) if o.any() else -1
                for b, o in zip(best, other, strict=True)
            ]
        else:
            change = predicted[:, :, 0].std(axis=1)
            total += float((change**2).mean()) * len(held_out) / len(problem.y)
            seen = [-1] * len(rows)
        found += [(float(c), int(i), model, k) for c, i, k in zip(change, rows, seen, strict=True)]
    found.sort(key=lambda entry: (-entry[0], entry[1]))
    listed = [
        _settled(problem, trial, model, truth, i, change, other, features, effort)
        for change, i, model, other in found[:LISTED]
        if change > 0
    ]
    return total if problem.is_classification else float(np.sqrt(total)), listed


def _exact(problem: Problem, values: FloatArray) -> Gaussians:
    return with_gaps(values.reshape(-1, values.shape[-1]), None, problem.data.feature_names_in_)


def _settled(
    problem: Problem,
    trial: Trial,
    model: Fitted,
    truth: TrueValues,
    i: int,
    change: float,
    other: int,
    features: list[Feature],
    effort: Effort,
) -> Remeasure:
    """Find the feature that matters most for a sample, and the precision that settles it."""
    assert trial.predicted is not None and problem.data.cov is not None
    draws = 4 * effort.draws
    one = problem.data[np.array([i])]
    many = problem.data[np.full(draws, i)]
    assert many.cov is not None and one.cov is not None
    n = many.shape[1]
    errors = np.sqrt(one.cov.diagonals(1, n))[0]
    true = truth.draw(one, draws)[0]
    noise = np.asarray(many.sample(1, problem.seed + 3)[:, 0]) - np.asarray(many.mean)

    def predict(values: FloatArray, scale: FloatArray) -> FloatArray:
        cov = many.cov.scale_features(scale) if scale.any() else None  # type: ignore[union-attr]
        return trial.system.predict(model, with_gaps(values, cov, many.feature_names_in_)).mean

    def disagreement(a: FloatArray, b: FloatArray) -> float:
        if problem.is_classification:
            return float((a.argmax(axis=1) != b.argmax(axis=1)).mean())
        return float(np.sqrt(((a - b) ** 2).mean()))

    exact = predict(true, np.zeros(n))
    enough = 1 - SETTLED if problem.is_classification else CLOSE * change
    factor = None
    for tried in SETTLES:
        if disagreement(predict(true + tried * noise, np.full(n, tried)), exact) <= enough:
            factor = tried
            break
    # Of each feature: how much its exact value alone, the others as they are, would change.
    uncertain = np.flatnonzero(errors > 0)
    spreads = np.array([f.spread or 1.0 for f in features])
    uncertain = uncertain[np.argsort(-(errors / spreads)[uncertain], kind="stable")][: effort.features]
    present = np.broadcast_to(trial.predicted.mean[i], exact.shape)
    effects = []
    for j in uncertain:
        values = np.array(many.mean, dtype=np.float64)
        values[:, j] = true[:, j]
        scale = np.ones(n)
        scale[j] = 0.0
        effects.append(disagreement(predict(values, scale), present))
    main = int(uncertain[int(np.argmax(effects))]) if effects else None
    said = trial.predicted.mean[i]
    return Remeasure(
        id=str(problem.ids[i]),
        truth=_plain(problem.y[i]),
        predicted=_plain(problem.classes[int(said.argmax())] if problem.is_classification else said),
        change=change,
        other=_plain(problem.classes[other]) if other >= 0 else None,
        feature=None if main is None else features[main].name,
        now=None if main is None else float(errors[main]),
        factor=factor,
        needed=None if main is None or factor is None else float(factor * errors[main]),
    )


def _plain(value: Any) -> Any:
    plain = value.item() if hasattr(value, "item") else value
    return plain if isinstance(plain, (float, int)) and not isinstance(plain, bool) else str(plain)


def what_if(
    problem: Problem, trial: Trial, folds: Folds, truth: TrueValues, features: list[Feature], effort: Effort
) -> tuple[WhatIf, list[str]]:
    """Return the score with all uncertainties multiplied by a factor, and set each feature's gain if halved.

    Larger ones are measured: noise is added to held-out samples, whose targets are known. Smaller ones are
    modelled: true values are drawn, the model says what their targets would be, and the change from factor 1
    is added to the measured score. They are left out where such samples score unlike the real ones.
    """
    rng = np.random.default_rng([problem.seed, 9])
    smaller = [f for f in FACTORS if f < 1] if truth.population is not None else []
    order = sorted(range(problem.data.shape[1]), key=lambda j: -(features[j].ratio or 0.0))
    halved = [j for j in order[: effort.features] if features[j].ratio] if smaller else []
    changes: dict[object, list[FloatArray]] = {}
    real: list[FloatArray] = []
    simulated: list[FloatArray] = []
    groups: list[Array] = []
    for model, (_, held_out) in zip(trial.models, folds, strict=True):
        rows = held_out[np.sort(rng.permutation(len(held_out))[: effort.simulated])]
        part = problem.part(rows)
        own = part.losses(trial.system.predict(model, part.data))
        real.append(own)
        groups.append(rows if part.groups is None else part.groups)
        for factor in FACTORS:
            if factor > 1:
                changes.setdefault(factor, []).append(_with_more_noise(part, trial, model, factor) - own)
        if smaller:
            found = _with_less_noise(part, trial, model, truth, smaller, halved)
            now = found.pop("now")
            simulated.append(now)
            for key, losses in found.items():
                changes.setdefault(key, []).append(losses - now)
    notes = []
    if simulated:
        ratio = np.concatenate(simulated).mean() / max(np.concatenate(real).mean(), 1e-300)
        if not 1 / BELIEVED < ratio < BELIEVED:
            notes.append(
                "What smaller uncertainties would do is not shown: samples drawn from the learnt population "
                "score unlike the real ones. A usual reason are features with long tails: take logarithms."
            )
            smaller, halved = [], []
    factors = [*smaller, *(f for f in FACTORS if f >= 1)]
    assert trial.predicted is not None
    measured = float(problem.losses(trial.predicted).mean())
    together = None if problem.groups is None else np.concatenate(groups)
    slope = 1.0 if problem.is_classification else 1 / (2 * max(np.sqrt(measured), 1e-300))
    curve = WhatIf(factors, [], [], [f >= 1 for f in factors])
    for factor in factors:
        each = np.zeros(1) if factor == 1 else np.concatenate(changes[factor])
        curve.scores.append(root_or_mean(problem, np.array([max(measured + float(each.mean()), 0.0)]))[0])
        curve.errors.append(0.0 if factor == 1 else slope * standard_error(each, together))
    for j in halved:
        each = np.concatenate(changes["half", j])
        features[j].gain = -slope * float(each.mean())
        features[j].gain_error = slope * standard_error(each, together)
    return curve, notes


def _with_more_noise(part: Problem, trial: Trial, model: Fitted, factor: float) -> FloatArray:
    """Return losses of the samples with noise added, so that their errors are `factor` times as large."""
    assert part.data.cov is not None
    noisy = np.asarray(part.data.scale_cov(factor**2 - 1).sample(1, part.seed + 1)[:, 0])
    data = with_gaps(noisy, factor**2 * part.data.cov, part.data.feature_names_in_)
    return part.losses(trial.system.predict(model, data))


def _with_less_noise(
    part: Problem, trial: Trial, model: Fitted, truth: TrueValues, factors: list[float], halved: list[int]
) -> dict[object, FloatArray]:
    """Return expected losses of simulated samples: now, for smaller factors, and with one feature halved."""
    cov = part.data.cov
    assert cov is not None
    names = part.data.feature_names_in_
    true = truth.draw(part.data, 1)[:, 0]
    noise = np.asarray(part.data.sample(1, part.seed + 2)[:, 0]) - np.asarray(part.data.mean)
    targets = trial.system.predict(model, with_gaps(true, None, names))

    def expected(scale: FloatArray) -> FloatArray:
        own = cov.scale_features(scale) if scale.any() else None
        found = trial.system.predict(model, with_gaps(true + noise * scale, own, names))
        if part.is_classification:
            return np.asarray(-(targets.mean * np.log(np.maximum(found.mean, LEAST))).sum(axis=1))
        assert targets.std is not None
        squares = (targets.mean - found.mean) ** 2 + targets.std**2
        return np.asarray(squares if part.weight is None else part.weight * squares)

    n = part.data.shape[1]
    losses: dict[object, FloatArray] = {"now": expected(np.ones(n))}
    for factor in factors:
        losses[factor] = expected(np.full(n, factor))
    for j in halved:
        scale = np.ones(n)
        scale[j] = 0.5
        losses["half", j] = expected(scale)
    return losses
