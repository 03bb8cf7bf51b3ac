"""What the pool knows beyond its score: reliability, and samples that are worth measuring again."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np

from ..data.gaussians import Gaussians, with_gaps
from ..data.mixtures import Mixtures
from ..metrics.reliability import calibration_error, reliability_bins
from ..support.types import Cell
from ..support.validation import FloatArray
from .comparison import Folds, Trial, gathered
from .problem import Problem
from .result import FACTORS, Feature, PoolMember, Reliability, Remeasure
from .systems import Effort, Fitted

LEVELS = (0.5, 0.68, 0.8, 0.9, 0.95)  # of intervals
LISTED = 10  # samples to measure again
SETTLED = 0.9  # probability that the class is that of the true values
CLOSE = 1 / 3  # of the present movement of a predicted number, likewise
DRIFT = 0.2  # of a probability, or one standard deviation of a number: see `remeasure`


def pool_members(trial: Trial) -> list[PoolMember]:
    """Return the members of the pool with their weights and held-out losses, the heaviest first."""
    weights: dict[str, list[float]] = {}
    losses: dict[str, list[float]] = {}
    for model in trial.models:
        summary = model.pool_
        for name, weight, loss in zip(summary.members, summary.weights, summary.losses, strict=True):
            weights.setdefault(name, []).append(float(weight))
            losses.setdefault(name, []).append(float(loss))
    count = len(trial.models)
    members = [PoolMember(name, sum(weights[name]) / count, float(np.mean(losses[name]))) for name in weights]
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


def remeasure(
    problem: Problem, pool: Trial, folds: Folds, features: list[Feature], effort: Effort
) -> tuple[float, list[Remeasure], list[str]]:
    """Return how much would change if all were measured exactly, the samples that change most, and notes.

    The true values of each sample are drawn, and the model predicts them as exact measurements. On average
    these predictions should be what the model predicts of the noisy sample; where they are not, simulated
    values are unlike real ones, and the sample is not judged.
    """
    trial = _without_sizes(problem, pool, folds)
    assert trial.predicted is not None
    now = trial.predicted.mean.reshape(len(problem.y), -1)
    total = 0.0
    doubtful = 0
    found: list[tuple[float, int, Fitted]] = []
    rng = np.random.default_rng([problem.seed, 11])
    for model, (_, held_out) in zip(trial.models, folds, strict=True):
        rows = rng.permutation(held_out)
        if problem.is_classification:
            # Samples whose class is almost certain do not change it; the least certain are looked at.
            rows = held_out[np.argsort(now[held_out].max(axis=1), kind="stable")]
        rows = rows[: effort.candidates]
        drawn = _true_values(model, problem.data[rows], effort.draws, problem.seed)
        exact = with_gaps(drawn.reshape(-1, drawn.shape[2]), None, problem.data.feature_names_in_)
        predicted = trial.system.predict(model, exact).mean.reshape(len(rows), effort.draws, -1)
        change = _changes(problem, predicted)
        away = np.abs(predicted.mean(axis=1) - now[rows]).max(axis=1)
        believed = away <= (DRIFT if trial.predicted.std is None else trial.predicted.std[rows])
        doubtful += int((~believed).sum())
        if problem.is_classification:
            total += float(change[believed].sum())
        else:
            total += float((change[believed] ** 2).sum()) * len(held_out) / len(rows)
        found += [
            (float(size), int(i), model)
            for size, i in zip(change[believed], rows[believed], strict=True)
            if size > 0
        ]
    found.sort(key=lambda entry: (-entry[0], entry[1]))
    listed = [_settled(problem, trial, model, i, features, effort) for _, i, model in found[:LISTED]]
    listed.sort(key=lambda one: -one.change)
    notes = []
    if doubtful:
        notes.append(
            f"Not judged for measuring again: {doubtful} samples whose possible true values are, on average, "
            "predicted unlike the samples themselves. A usual reason is a feature with a long tail: take its "
            "logarithm."
        )
    if any((model.pool_.weights != model.pool_.fallback_weights).any() for model in pool.models):
        notes.append(
            "Samples to measure again are found by the pool without uncertainties as features, which does "
            "not react to their size alone."
        )
    mean = total / len(problem.y)
    return mean if problem.is_classification else float(np.sqrt(mean)), listed, notes


def _without_sizes(problem: Problem, trial: Trial, folds: Folds) -> Trial:
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


def _true_values(model: Fitted, data: Gaussians, count: int, seed: int) -> FloatArray:
    """Draw (l, count, n) possible true values, given the samples and the population that the model learnt.

    Missing values stay missing.
    """
    weights, means, covs = model.inputs_.view(data, 1).posterior
    if weights is None:
        weights = np.ones((len(data), 1))
    drawn = Mixtures(weights, means, covs).sample(count, seed)
    drawn = np.asarray(model.inputs_.centre + model.inputs_.scale * drawn)
    missing = np.isnan(np.asarray(data.mean))
    drawn[np.broadcast_to(missing[:, np.newaxis], drawn.shape)] = np.nan
    return drawn


def _changes(problem: Problem, predicted: FloatArray) -> FloatArray:
    """Return how far predictions of possible true values, (l, draws, K), differ from their mean.

    This is the fraction of draws with another class than the mean prediction, or a standard deviation.
    """
    if not problem.is_classification:
        return np.asarray(predicted[:, :, 0].std(axis=1))
    usual = predicted.mean(axis=1).argmax(axis=1)
    return np.asarray((predicted.argmax(axis=2) != usual[:, np.newaxis]).mean(axis=1))


def _settled(
    problem: Problem, trial: Trial, model: Fitted, i: int, features: list[Feature], effort: Effort
) -> Remeasure:
    """Find the feature that matters most for a sample, and the precision that settles it."""
    draws = 4 * effort.draws
    many = problem.data[np.full(draws, i)]
    assert trial.predicted is not None and many.cov is not None
    cov = many.cov
    n = many.shape[1]
    errors = np.sqrt(cov.diagonals(draws, n))[0]
    true = _true_values(model, many[:1], draws, problem.seed)[0]
    noise = np.asarray(many.sample(1, problem.seed + 3)[:, 0]) - np.asarray(many.mean)

    def predict(values: FloatArray, scale: FloatArray) -> FloatArray:
        own = cov.scale_features(scale) if scale.any() else None
        found = trial.system.predict(model, with_gaps(values, own, many.feature_names_in_))
        return found.mean.reshape(draws, -1)

    def disagreement(a: FloatArray, b: FloatArray) -> float:
        if problem.is_classification:
            return float((a.argmax(axis=1) != b.argmax(axis=1)).mean())
        return float(np.sqrt(((a - b) ** 2).mean()))

    exact = predict(true, np.zeros(n))
    change = float(_changes(problem, exact[np.newaxis])[0])
    enough = 1 - SETTLED if problem.is_classification else CLOSE * change
    factor = None
    for tried in FACTORS:
        if disagreement(predict(true + tried * noise, np.full(n, tried)), exact) <= enough:
            factor = tried
            break
    # How much the exact value of each feature, the others as they are, would move the prediction.
    spreads = np.array([feature.spread or 1.0 for feature in features])
    uncertain = np.flatnonzero(errors > 0)
    uncertain = uncertain[np.argsort(-(errors / spreads)[uncertain], kind="stable")][: effort.features]
    effects = []
    for j in uncertain:
        values = np.array(many.mean, dtype=np.float64)
        values[:, j] = true[:, j]
        scale = np.ones(n)
        scale[j] = 0.0
        effects.append(float(predict(values, scale).std(axis=0).sum()))
    main = int(uncertain[int(np.argmax(effects))])
    predicted = trial.predicted.mean[i]
    other = None
    if problem.is_classification:
        usual = exact.mean(axis=0).argmax()
        counts = np.bincount(exact.argmax(axis=1), minlength=len(problem.classes))
        counts[usual] = 0
        predicted = problem.classes[usual]
        other = _plain(problem.classes[counts.argmax()]) if counts.any() else None
    return Remeasure(
        id=str(problem.ids[i]),
        truth=_plain(problem.y[i]),
        predicted=_plain(predicted),
        change=change,
        other=other,
        feature=features[main].name,
        now=float(errors[main]),
        factor=factor,
        needed=None if factor is None else float(factor * errors[main]),
    )


def _plain(value: object) -> Cell:
    plain = value.item() if hasattr(value, "item") else value
    return plain if isinstance(plain, (float, int)) and not isinstance(plain, bool) else str(plain)
