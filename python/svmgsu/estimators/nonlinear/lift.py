"""From measured objects to what a map sees: units, the population, error bars as features."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data.concatenation import concatenate
from ...data.covariances import Diagonal
from ...data.gaussians import Gaussians, with_gaps
from ...data.mixtures import Mixtures
from ...exceptions import PopulationWarning
from ...fit.population import check_unit
from ...propagate.features import FeatureMap
from ...support.validation import Array, FloatArray

BATCH = 8192  # objects whose mixtures are held at a time
NOTHING = 1e-6  # the weight of a component below which it is left out
LITTLE = 1e-3  # the same where settings are chosen
RARE = 0.02  # a share of error bars at either end
COMMON = 0.9  # of the objects of a fit: their error bars are like those of the fit
LOOSE = 0.01  # added to the variances of error bars, which may depend on each other
MANY = 0.3  # a share of objects with error bars unlike those of the fit that is worth a word
LEAST_BAR = 1e-4  # of a feature's spread: smaller error bars look alike as features
POPULATION_ROWS = 50_000  # objects that a population is learnt from, at the most


@dataclass
class Bars:
    """Error bars as features: the logarithms of some standard deviations, in units of their own spread.

    Beyond what was common in the fit, `least` to `largest`, nothing is known of them: a bar there counts as
    the nearest common one. And of objects whose error bars together are further from the mean than those of
    nine tenths of the fit (`limit`, by the Mahalanobis distance) nothing shall be said by them.
    """

    columns: Array
    centre: FloatArray
    scale: FloatArray
    least: FloatArray  # of the logarithms, but for a hundredth
    largest: FloatArray
    precision: FloatArray
    limit: float

    @classmethod
    def of(cls, deviations: FloatArray) -> Bars | None:
        """Those that differ between the objects; None where there are none."""
        logs = np.log(np.maximum(deviations, LEAST_BAR))
        logs = np.ma.array(logs, mask=np.isinf(logs))  # missing values have no say
        spread = logs.std(axis=0).filled(0.0)
        columns = np.flatnonzero(spread > 1e-3)
        if not len(columns):
            return None
        centre = np.asarray(logs.mean(axis=0)[columns])
        known = logs[:, columns].filled(np.nan)
        least, largest = np.nanquantile(known, [RARE, 1 - RARE], axis=0, method="nearest")
        standard = np.nan_to_num((known - centre) / spread[columns])
        precision = np.linalg.inv(standard.T @ standard / len(standard) + LOOSE * np.eye(len(columns)))
        limit = float(np.quantile(_squares(standard, precision), COMMON, method="higher"))
        return cls(columns, centre, spread[columns], least, largest, precision, limit)

    def values(self, deviations: FloatArray) -> FloatArray:
        logs = np.log(np.maximum(deviations[:, self.columns], LEAST_BAR))
        return np.asarray((np.clip(logs, self.least, self.largest) - self.centre) / self.scale)

    def outside(self, deviations: FloatArray) -> Array:
        """Whether the error bars of an object are beyond `limit`; missing values have none."""
        logs = np.log(np.maximum(deviations[:, self.columns], LEAST_BAR))
        standard = np.where(np.isinf(logs), 0.0, (logs - self.centre) / self.scale)
        return np.asarray(_squares(standard, self.precision) > self.limit)


def _squares(standard: FloatArray, precision: FloatArray) -> FloatArray:
    return np.asarray(((standard @ precision) * standard).sum(axis=1))


@dataclass
class Lift:
    """What is done to objects before the map."""

    centre: FloatArray
    scale: FloatArray
    population: Any = None  # a fitted Deconvolution
    announced: bool = False  # whether noise of deployment was, so that noisier objects are no surprise
    bars: Bars | None = None

    @classmethod
    def of(cls, data: Gaussians, weights: FloatArray) -> Lift:
        """The units of the data."""
        X = np.asarray(data.mean, dtype=np.float64)
        if np.isnan(X).any():
            X = np.ma.masked_invalid(X)
        first, last = (np.nan_to_num(np.asarray(end)) for end in (X.min(axis=0), X.max(axis=0)))
        for j in range(len(first)):
            check_unit(f"feature {j}", first[j], last[j])
        size = np.where(last > first, last - first, 1.0)  # of a constant feature differences are exactly 0
        part = (X - first) / size  # whose squares neither over- nor underflow
        middle = np.asarray(np.ma.average(part, axis=0, weights=weights))
        spread = np.asarray(np.sqrt(np.ma.average((part - middle) ** 2, axis=0, weights=weights)))
        return cls(first + middle * size, np.where(spread > 0, spread, 1.0) * size)

    def standard(self, data: Gaussians) -> Gaussians:
        """The objects in units of the training data's spread."""
        mean = (np.asarray(data.mean, dtype=np.float64) - self.centre) / self.scale
        return with_gaps(mean, None if data.cov is None else data.cov.scale_features(1 / self.scale))

    def posterior(self, data: Gaussians) -> Gaussians | Mixtures:
        """Standard objects given the population, without error bars as features."""
        if self.population is None:
            return data
        with warnings.catch_warnings():
            if self.announced:
                warnings.simplefilter("ignore", PopulationWarning)
            found: Mixtures = self.population.transform(data)
        # components that do not matter are not looked at again
        weights = np.where(found.weights > NOTHING, found.weights, 0.0)
        weights /= weights.sum(axis=1, keepdims=True)
        return Mixtures._of(weights, found.mean, found.cov, None)

    def objects(self, data: Gaussians) -> Gaussians | Mixtures:
        """What the map sees of standard objects."""
        found = self.posterior(data)
        return found if self.bars is None else with_bars(found, self.bars.values(deviations(data)))

    def batches(self, data: Gaussians) -> Iterator[tuple[slice, Gaussians | Mixtures]]:
        """Measured objects as the map sees them, some at a time."""
        for first in range(0, len(data), BATCH):
            rows = slice(first, min(len(data), first + BATCH))
            yield rows, self.objects(self.standard(data[rows]))

    def strange(self, data: Gaussians) -> Array:
        """Whether the error bars of a measured object are features, and unlike those of the fit."""
        if self.bars is None:
            return np.zeros(len(data), dtype=bool)
        found = self.bars.outside(deviations(data) / self.scale)
        if found.sum() > MANY * len(data):
            warnings.warn(
                f"{found.sum()} of {len(data)} objects have error bars unlike those of the fit, and error "
                "bars are features of this model: one without them, of the same fit, predicts these",
                PopulationWarning,
                stacklevel=5,
            )
        return found

    def features(self, data: Gaussians, feature_map: FeatureMap, threads: int) -> Array:
        """E z of measured objects; float32 where there are many."""
        large = len(data) * feature_map.outputs > 2**25
        out = np.empty((len(data), feature_map.outputs), dtype=np.float32 if large else np.float64)
        for rows, objects in self.batches(data):
            out[rows] = feature_map.mean(objects, out.dtype, threads)
        return out


def learn_population(
    data: Gaussians, weights: FloatArray, components: Any, seed: int, threads: int | None
) -> Any:
    """The population of standard objects; of very many a part is enough."""
    from ..deconvolution import Deconvolution

    rng = np.random.default_rng(seed)
    if len(data) > POPULATION_ROWS:
        chosen = np.sort(rng.permutation(len(data))[:POPULATION_ROWS])
        data, weights = data[chosen], weights[chosen]
    inner = Deconvolution(components, random_state=seed, threads=threads, tol=1e-4, n_init=1)
    even = bool((weights == weights[0]).all())
    return inner.fit(data, sample_weight=None if even else weights)


def deviations(data: Gaussians) -> FloatArray:
    """The error bar of each value; 0 where there is none, infinite where the value is missing."""
    found = np.zeros(data.shape)
    if data.cov is not None:
        found = np.sqrt(np.maximum(data.cov.diagonals(*data.shape), 0.0))
    return np.where(np.isnan(data.mean), np.inf, found)


def with_bars(objects: Gaussians | Mixtures, bars: FloatArray) -> Gaussians | Mixtures:
    """The objects with further features that are certain."""
    count, n = objects.shape
    more = bars.shape[1]
    if isinstance(objects, Mixtures):
        k = objects.n_components
        each = np.broadcast_to(bars[:, np.newaxis], (count, k, more))
        cov = np.zeros((count, k, n + more, n + more))
        if objects.is_diagonal:
            cov[:, :, np.arange(n), np.arange(n)] = objects.cov
        else:
            cov[:, :, :n, :n] = objects.cov
        mean = np.concatenate([objects.mean, each], axis=2)
        return Mixtures._of(objects.weights, mean, cov, None)
    mean = np.hstack([np.asarray(objects.mean, dtype=np.float64), bars])
    return Gaussians(mean, None if objects.cov is None else objects.cov.map(np.eye(n + more, n)))


def compact(objects: Gaussians | Mixtures) -> Gaussians | Mixtures:
    """The objects with the components that matter to a choice of settings, the heaviest first."""
    if not isinstance(objects, Mixtures):
        return objects
    weights = np.where(objects.weights > LITTLE, objects.weights, 0.0)
    most = int((weights > 0).sum(axis=1).max())
    order = np.argsort(-weights, axis=1, kind="stable")[:, :most]
    rows = np.arange(len(weights))[:, np.newaxis]
    weights = weights[rows, order]
    weights /= weights.sum(axis=1, keepdims=True)
    return Mixtures._of(weights, objects.mean[rows, order], objects.cov[rows, order], None)


def noisy_copies(data: Gaussians, noise: Any, copies: int, seed: int) -> Gaussians:
    """Draws of all objects with noise of deployment, one copy of all after the other; they know its size."""
    from ...data.coercion import as_deployment

    rng = np.random.default_rng([seed, 1])
    made = []
    for copy in range(copies):
        kind = as_deployment(noise, data.shape, seed + copy)
        mean = np.asarray(data.mean, dtype=np.float64)
        mean = mean + kind.noise(rng, (len(data), 1, data.shape[1]))[:, 0]
        made.append(with_gaps(mean, kind if data.cov is None else _added(data.cov, kind, data.shape)))
    if copies == 1:
        return made[0]
    cov = concatenate([Gaussians(np.nan_to_num(part.mean), part.cov) for part in made]).cov
    return with_gaps(np.concatenate([part.mean for part in made]), cov)


def as_deployed(data: Gaussians, noise: Any, copies: int, seed: int, *, drawn: bool) -> Gaussians:
    """Objects as they will be seen: with noise of deployment, and as points where no population is learnt."""
    if noise is not None:
        seen = noisy_copies(data, noise, copies, seed)
        return draws(seen, 1, seed) if drawn else seen
    return draws(data, copies, seed) if drawn and data.cov is not None else data


def _added(cov: Any, kind: Any, shape: tuple[int, int]) -> Any:
    """The sum of two covariances as one kind, where that holds no more numbers than both."""
    total, (count, n) = cov + kind, shape
    if total.is_diagonal and total.n_examples is not None:
        return Diagonal(total.diagonals(*shape))
    return total.as_full(*shape) if 2 * total.numbers(*shape) >= count * n * (n + 1) else total


def draws(data: Gaussians, copies: int, seed: int) -> Gaussians:
    """Points drawn from the examples' Gaussians, one copy of all after the other."""
    found = data.sample(copies, random_state=seed)
    return Gaussians(np.ascontiguousarray(np.moveaxis(found, 1, 0).reshape(-1, data.shape[1])))
