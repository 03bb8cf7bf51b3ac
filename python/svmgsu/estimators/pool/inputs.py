"""From measured samples to what members see: units, population, posteriors, standard errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ... import _core
from ...data.covariances import Diagonal
from ...data.gaussians import Gaussians
from ...data.mixtures import Mixtures
from ...fit.population import Observed, check_unit
from ...support.validation import Array, FloatArray
from ..nodes import Node
from .task import Deadline

WIDE = (
    100  # features: a full covariance costs their cube for each sample, so above variances are learnt alone
)
WIDE_SHARE = 0.01  # the weight of the wide component that keeps posteriors of distant samples sane
WIDER = 4.0  # its covariance, in units of that of the training values
POPULATION_FLOOR = 1e-6
POPULATION_ROWS = 50_000
NEGLIGIBLE = 1e-4  # components of a posterior with less weight are left out
SMALLEST = 1e-4  # of a feature's spread: smaller standard errors look alike as features


@dataclass
class View:
    """Samples as members see them, in units of the training values' spread."""

    seen: Observed  # values and their noise; NaN is missing
    points: FloatArray  # values, with posterior means for what is missing
    posterior: Mixtures | Gaussians | None  # None: there is no noise, and nothing is missing
    errors: FloatArray | None  # logarithms of standard errors
    outside: FloatArray  # how far each sample is outside the training set's support, from 0 to 1
    cache: dict[Any, FloatArray] = field(default_factory=dict)  # what is asked for more than once

    def __len__(self) -> int:
        return len(self.points)


@dataclass
class Mixture:
    """A mixture of Gaussians with full covariances, of standardised features."""

    weights: FloatArray
    means: FloatArray
    covs: FloatArray

    def posterior(
        self, seen: Observed, threads: int, moments: bool, covariances: bool = True
    ) -> tuple[FloatArray, ...]:
        """Log-density, distance, responsibilities, and with `moments` means and covariances."""
        n = self.means.shape[1]
        core = _core.Mixture(self.weights, self.means, self.covs)
        units = _core.Units(np.zeros(n), np.ones(n))
        return _core.posterior(seen.core(), units, core, threads, moments, covariances)

    def log_density(self, X: FloatArray) -> FloatArray:
        """Log-density of values without noise, for which each covariance is factored once."""
        K, n = self.means.shape
        roots = np.linalg.cholesky(self.covs)
        inverse = np.linalg.inv(roots)
        scale = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1) + 0.5 * n * np.log(2 * np.pi)
        away = X @ inverse.reshape(K * n, n).T - np.einsum("kij,kj->ki", inverse, self.means).ravel()
        away = away.reshape(len(X), K, n)
        logs = np.log(np.maximum(self.weights, 1e-300)) - scale - 0.5 * np.einsum("lki,lki->lk", away, away)
        return np.asarray(np.logaddexp.reduce(logs, axis=1))

    def state(self) -> dict[str, Any]:
        return {"weights": self.weights, "means": self.means, "covs": self.covs}

    @classmethod
    def read(cls, node: Node, n: int) -> Mixture:
        means = node.array("means", (None, n))
        covs = node.array("covs", (len(means), n, n))
        weights = node.array("weights", (len(means),))
        if (weights < 0).any() or abs(weights.sum() - 1) > 1e-6:
            raise node.wrong("weights", "weights >= 0 that sum to 1", weights.tolist())
        if (
            not np.allclose(covs, covs.transpose(0, 2, 1), rtol=1e-8)
            or not (np.linalg.eigvalsh(covs) > 0).all()
        ):
            raise node.wrong("covs", "symmetric, positive definite matrices", "others")
        return cls(weights, means, covs)


def learn_mixture(
    seen: Observed,
    components: int,
    seed: int,
    threads: int,
    deadline: Deadline,
    *,
    rows: Array | None = None,
    weights: FloatArray | None = None,
    floor: float = POPULATION_FLOOR,
    tol: float = 1e-4,
    steps: int = 500,
) -> Mixture:
    """Extreme deconvolution of some samples from one start; `weights` are of all samples."""
    n = seen.values.shape[1]
    units = _core.Units(np.zeros(n), np.ones(n))
    core = Observed(seen.values, seen.cov, None, None, weights).core(rows)
    start = _core.start_mixture(core, units, components, seed, floor, threads)
    found = _core.deconvolve(core, units, start, tol, steps, floor, threads, deadline)
    return Mixture(*(np.ascontiguousarray(part) for part in found.mixture.parts))


@dataclass
class StandardErrors:
    """Standard errors as features: logarithms in units of their spread, clipped to the range of the fit."""

    columns: Array
    centre: FloatArray
    scale: FloatArray
    least: FloatArray
    largest: FloatArray

    @classmethod
    def of(cls, deviations: FloatArray, groups: Array | None) -> StandardErrors | None:
        """Those that differ between samples; None where there are none.

        A standard error that takes about as many values as there are groups identifies the group, and is
        none of the features: it would tell the folds nothing about new groups.
        """
        logs = np.log(np.maximum(deviations, SMALLEST))
        known = np.where(np.isinf(logs), np.nan, logs)
        columns = []
        for j in range(known.shape[1]):
            column = known[~np.isnan(known[:, j]), j]
            if len(column) < 2 or column.std() <= 1e-3:
                continue
            if groups is not None:
                different = len(np.unique(column))
                if different <= 1.5 * len(np.unique(groups)) and different < len(column) / 2:
                    continue
            columns.append(j)
        if not columns:
            return None
        known = known[:, columns]
        centre, scale = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
        least, largest = np.nanmin(known, axis=0), np.nanmax(known, axis=0)
        return cls(np.array(columns, dtype=np.int64), centre, scale, least, largest)

    def values(self, deviations: FloatArray) -> FloatArray:
        """The features, (l, columns); a missing value counts as the least precise one."""
        logs = np.log(np.maximum(deviations[:, self.columns], SMALLEST))
        return np.asarray((np.clip(logs, self.least, self.largest) - self.centre) / self.scale)


@dataclass
class Inputs:
    """What is done to samples before members see them."""

    centre: FloatArray
    scale: FloatArray
    constant: Array  # features without any spread, which are ignored
    uncertain: bool  # whether there was noise, or anything missing, in the fit
    population: Mixture | None = None  # the last component is the wide one; None for very many features
    variances: FloatArray | None = None  # of the population instead, for very many features
    errors: StandardErrors | None = None

    @classmethod
    def of(cls, data: Gaussians, weights: FloatArray, uncertain: bool) -> Inputs:
        """The units of the data."""
        X = np.asarray(data.mean, dtype=np.float64)
        known = ~np.isnan(X)
        filled = np.where(known, X, 0.0)
        low, high = np.where(known, X, np.inf).min(axis=0), np.where(known, X, -np.inf).max(axis=0)
        for j in range(X.shape[1]):
            check_unit(f"feature {j}", low[j], high[j])
        mass = np.maximum((known * weights[:, np.newaxis]).sum(axis=0), 1e-300)
        middle = np.clip((weights @ filled) / mass, low, high)
        away = np.where(known, X - middle, 0.0)
        spread = np.sqrt((weights @ away**2) / mass)
        constant = ~(high > low)
        return cls(middle, np.where(constant, 1.0, spread), constant, uncertain)

    def learn_population(
        self,
        data: Gaussians,
        weights: FloatArray,
        components: Any,
        seed: int,
        threads: int,
        deadline: Deadline,
    ) -> None:
        """Learn the distribution of the true values, without labels, and add the wide component."""
        seen = self.standard(data)
        count, n = seen.values.shape
        if count > POPULATION_ROWS:
            chosen = np.sort(np.random.default_rng([seed, 12]).permutation(count)[:POPULATION_ROWS])
            seen, weights, count = taken(seen, chosen), weights[chosen], len(chosen)
        X = seen.values
        centre = np.nanmean(X, axis=0)
        filled = np.where(np.isnan(X), centre, X)
        if n > WIDE:
            noise = np.where(np.isnan(X), np.nan, deviations(seen) ** 2)
            total = np.average((filled - centre) ** 2, axis=0, weights=weights)
            self.variances = np.maximum(total - np.nanmean(noise, axis=0), 0.03 * np.maximum(total, 1e-6))
            return
        if components is None:
            # Each component should have ten samples for each feature.
            components = max(1, min(10, count // (10 * n)))
        even = bool((weights == weights[0]).all())
        counts = None if even else weights
        found = learn_mixture(seen, min(components, count), seed, threads, deadline, weights=counts)
        away = filled - centre
        wide = WIDER * (away.T @ away / count + POPULATION_FLOOR * np.eye(n))
        self.population = Mixture(
            np.append((1 - WIDE_SHARE) * found.weights / found.weights.sum(), WIDE_SHARE),
            np.ascontiguousarray(np.vstack([found.means, centre])),
            np.ascontiguousarray(np.concatenate([found.covs, wide[np.newaxis]])),
        )

    def standard(self, data: Gaussians) -> Observed:
        """Samples in units of the training values' spread."""
        values = (np.asarray(data.mean, dtype=np.float64) - self.centre) / self.scale
        if self.constant.any():
            values[:, self.constant] = np.where(np.isnan(values[:, self.constant]), np.nan, 0.0)
        cov = None if data.cov is None else data.cov.scale_features(1 / self.scale)
        return Observed(np.ascontiguousarray(values), cov, None)

    def view(self, data: Gaussians, threads: int) -> View:
        """Samples as members see them."""
        seen = self.standard(data)
        missing = np.isnan(seen.values)
        errors = None if self.errors is None else self.errors.values(deviations(seen))
        if self.population is None:
            return self._wide_view(seen, missing, errors)
        noisy = seen.cov is not None or bool(missing.any())
        found = self.population.posterior(seen, threads, noisy)
        outside = np.ascontiguousarray(found[2][:, -1])
        if not noisy:
            objects = None if not self.uncertain else Gaussians(seen.values)
            return View(seen, seen.values, objects, errors, outside)
        points = seen.values
        if missing.any():
            points = np.where(missing, np.einsum("lk,lkn->ln", found[2], found[3]), points)
        weights = np.where(found[2] > NEGLIGIBLE, found[2], 0.0)
        weights /= weights.sum(axis=1, keepdims=True)
        return View(seen, points, Mixtures._of(weights, found[3], found[4], None), errors, outside)

    def _wide_view(self, seen: Observed, missing: Array, errors: FloatArray | None) -> View:
        """With independent features: each value is drawn towards its mean, 0, as far as it is noisy."""
        assert self.variances is not None
        S = self.variances
        noise = deviations(seen) ** 2
        share = np.where(missing, 0.0, S / (S + np.where(missing, 1.0, noise)))
        values = np.where(missing, 0.0, seen.values)
        mean, variance = share * values, (1 - share) * S
        both = np.where(missing, 1.0, noise)
        # The log-ratio of the wide Gaussian and the population at each sample's own noise.
        narrow, wide = S + both, WIDER * (S + 1e-6) + both
        terms = 0.5 * (np.log(narrow / wide) + values**2 * (1 / narrow - 1 / wide))
        ratio = np.where(missing, 0.0, terms).sum(axis=1) + np.log(WIDE_SHARE / (1 - WIDE_SHARE))
        outside = 0.5 * (1 + np.tanh(ratio / 2))
        objects = Gaussians(mean, Diagonal(variance)) if self.uncertain else None
        return View(seen, np.where(missing, mean, values), objects, errors, outside)

    def state(self) -> dict[str, Any]:
        return {
            "centre": self.centre,
            "scale": self.scale,
            "constant": self.constant.astype(np.int64),
            "uncertain": bool(self.uncertain),
            "population": None if self.population is None else self.population.state(),
            "variances": self.variances,
            "errors": None if self.errors is None else dict(vars(self.errors)),
        }

    @classmethod
    def read(cls, node: Node, n: int) -> Inputs:
        out = cls(
            node.array("centre", (n,)),
            node.array("scale", (n,), positive=True),
            node.array("constant", (n,), kind="i").astype(bool),
            node.flag("uncertain"),
        )
        if node.has("population"):
            out.population = Mixture.read(node.part("population"), n)
        else:
            out.variances = node.array("variances", (n,), positive=True)
        if node.has("errors"):
            part = node.part("errors")
            columns = part.array("columns", (None,), kind="i")
            if columns.min() < 0 or columns.max() >= n or len(np.unique(columns)) < len(columns):
                raise part.wrong("columns", f"different features below {n}", columns.tolist())
            shape = (len(columns),)
            rest = [part.array(key, shape) for key in ("centre", "least", "largest")]
            out.errors = StandardErrors(
                columns, rest[0], part.array("scale", shape, positive=True), rest[1], rest[2]
            )
        return out


def deviations(seen: Observed) -> FloatArray:
    """The standard error of each value; 0 where there is none, infinite where the value is missing."""
    found = np.zeros(seen.values.shape)
    if seen.cov is not None:
        found = np.sqrt(np.maximum(seen.cov.diagonals(*seen.values.shape), 0.0))
    return np.where(np.isnan(seen.values), np.inf, found)


def taken(seen: Observed, rows: Array) -> Observed:
    """Some of the samples."""
    return Observed(seen.values[rows], None if seen.cov is None else seen.cov.take(rows), None)
