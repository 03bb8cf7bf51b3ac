"""From measured samples to what members of a pool see, and the folds they are judged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...data.coercion import as_test_noise
from ...data.covariances import Diagonal
from ...data.gaussians import Gaussians, with_gaps
from ...outofcore.blocks import Blocks
from ...support.types import Fields
from ...support.validation import Array, ArrayLike, FloatArray
from ..observations import Observed, check_unit
from .mixture import Budget, Mixture, learn_mixtures

WIDE = 100  # features: above, a full covariance for each sample costs too much
DIRECTIONS = 50  # principal directions that stand for more features than that, with noise="spread"
WIDE_SHARE = 0.01  # the weight of the wide component, which keeps posteriors of distant samples sane
WIDER = 4.0  # its covariance, in units of that of the training values
POPULATION_ROWS = 50_000
NEGLIGIBLE = 1e-3  # components of a posterior with less weight are left out
LITTLE = 1e-2  # shares outside the support that count as 0: most samples need no members without weight
SMALLEST = 1e-4  # of a feature's spread: smaller standard errors look alike as features
LEAST_OF_CLASS = 50  # samples of a rare class that take part in choices


class Posterior(NamedTuple):
    """What each sample may be: a mixture of K Gaussians."""

    weights: FloatArray | None  # (l, K); None for a single Gaussian
    means: FloatArray  # (l, K, n)
    covs: FloatArray | None = None  # (l, K, n, n), or variances (l, K, n); None: known exactly

    def take(self, rows: Array) -> Posterior:
        """Return some of the samples, by their indices."""
        weights = None if self.weights is None else self.weights[rows]
        return Posterior(weights, self.means[rows], None if self.covs is None else self.covs[rows])

    def mean(self) -> FloatArray:
        """Return the expected values, (l, n)."""
        if self.weights is None:
            return self.means[:, 0]
        return np.asarray(np.einsum("lk,lkn->ln", self.weights, self.means))


@dataclass
class View:
    """Samples as members see them, in units of the training values' spread."""

    seen: Observed  # values and their noise; NaN is missing
    points: FloatArray  # values, with posterior means for what is missing
    posterior: Posterior | None  # None: there is no noise, and nothing is missing
    errors: FloatArray | None  # logarithms of standard errors
    far: FloatArray  # log-densities of the wide component with its weight
    outside: FloatArray  # how far each sample is outside the training set's support, from 0 to 1
    threads: int = 1

    def __len__(self) -> int:
        return len(self.points)

    def take(self, rows: Array) -> View:
        """Return some of the samples, by their indices."""
        return View(
            self.seen.take(rows),
            self.points[rows],
            None if self.posterior is None else self.posterior.take(rows),
            None if self.errors is None else self.errors[rows],
            self.far[rows],
            self.outside[rows],
            self.threads,
        )


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
        """Take those that differ between samples; return None if there are none.

        A standard error that takes about as many values as there are groups identifies the group. It is not
        made a feature: folds by group could not tell how misleading it is for new groups.
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
        return cls(
            np.array(columns, dtype=np.int64),
            np.nanmean(known, axis=0),
            np.nanstd(known, axis=0),
            np.nanmin(known, axis=0),
            np.nanmax(known, axis=0),
        )

    def values(self, deviations: FloatArray) -> FloatArray:
        """Return the features, (l, columns); a missing value counts as the least precise one."""
        logs = np.log(np.maximum(deviations[:, self.columns], SMALLEST))
        return np.ascontiguousarray((np.clip(logs, self.least, self.largest) - self.centre) / self.scale)


@dataclass
class Inputs:
    """What is done to samples before members see them: units, population, standard errors."""

    centre: FloatArray
    scale: FloatArray
    constant: Array  # features without any spread, which are ignored
    uncertain: bool  # whether there was noise, or anything missing, in the fit
    rotation: FloatArray | None = None  # principal directions that replace very many features, (n, p)
    population: Mixture | None = None  # the last component is the wide one; None for very many features
    variances: FloatArray | None = None  # of the population instead, for very many features
    errors: StandardErrors | None = None
    largest: FloatArray | None = None  # the largest standard error of each feature in the fit

    @classmethod
    def of(cls, data: Gaussians, weights: FloatArray, uncertain: bool) -> Inputs:
        """Learn the units of the data."""
        X = np.asarray(data.mean, dtype=np.float64)
        known = ~np.isnan(X)
        filled = np.where(known, X, 0.0)
        low = np.where(known, X, np.inf).min(axis=0)
        high = np.where(known, X, -np.inf).max(axis=0)
        for j in range(X.shape[1]):
            check_unit(f"X: feature {j}", low[j], high[j])
        mass = np.maximum((known * weights[:, np.newaxis]).sum(axis=0), 1e-300)
        middle = np.clip((weights @ filled) / mass, low, high)
        away = np.where(known, X - middle, 0.0)
        spread = np.sqrt((weights @ away**2) / mass)
        constant = ~(high > low)
        if constant.all():
            raise ValueError("X: every feature is constant; there is nothing to learn from")
        return cls(middle, np.where(constant, 1.0, spread), constant, uncertain)

    def rotate(self, data: Gaussians) -> None:
        """Replace very many features by principal directions, in units that all of them share."""
        X = np.asarray(data.mean, dtype=np.float64)
        if np.isnan(X).any():
            raise ValueError(f'X: missing values of more than {WIDE} features need noise="measurement"')
        away = X - self.centre
        count = min(DIRECTIONS, len(X) - 1)
        _, sizes, directions = np.linalg.svd(away, full_matrices=False)
        self.rotation = np.ascontiguousarray(directions[:count].T)
        unit = np.sqrt((sizes[:count] ** 2).mean() / len(X))
        self.scale = np.full(len(self.centre), unit)

    def learn_population(
        self,
        data: Gaussians,
        weights: FloatArray,
        components: int | None,
        seed: int,
        budget: Budget,
    ) -> None:
        """Learn the distribution of the true values, without labels, and add the wide component."""
        seen = self.standard(data)
        if len(seen) > POPULATION_ROWS:
            chosen = np.sort(np.random.default_rng([seed, 12]).permutation(len(seen))[:POPULATION_ROWS])
            seen, weights = seen.take(chosen), weights[chosen]
        X = seen.values
        count, n = X.shape
        centre = np.nanmean(X, axis=0)
        filled = np.where(np.isnan(X), centre, X)
        if n > WIDE:
            noise = np.where(np.isnan(X), np.nan, seen.deviations() ** 2)
            total = np.average((filled - centre) ** 2, axis=0, weights=weights)
            self.variances = np.maximum(total - np.nanmean(noise, axis=0), 0.03 * np.maximum(total, 1e-6))
            return
        if components is None:
            # Each component should have ten samples for each feature.
            components = max(1, min(10, count // (10 * n)))
        (found,) = learn_mixtures(seen, min(components, count), seed, budget, weights=weights)
        away = filled - centre
        wide = WIDER * (away.T @ away / count + 1e-6 * np.eye(n))
        self.population = Mixture(
            np.append((1 - WIDE_SHARE) * found.weights / found.weights.sum(), WIDE_SHARE),
            np.ascontiguousarray(np.vstack([found.means, centre])),
            np.ascontiguousarray(np.concatenate([found.covs, wide[np.newaxis]])),
        )

    def standard(self, data: Gaussians) -> Observed:
        """Return samples in units of the training values' spread."""
        values = (np.asarray(data.mean, dtype=np.float64) - self.centre) / self.scale
        if self.constant.any():
            values[:, self.constant] = np.where(np.isnan(values[:, self.constant]), np.nan, 0.0)
        cov = None if data.cov is None else data.cov.scale_features(1 / self.scale)
        if self.rotation is not None:
            values = values @ self.rotation
            cov = None if cov is None else cov.map(np.ascontiguousarray(self.rotation.T))
        return Observed(np.ascontiguousarray(values), cov, None)

    def view(self, data: Gaussians, threads: int) -> View:
        """Return samples as members see them."""
        seen = self.standard(data)
        missing = np.isnan(seen.values)
        errors = None if self.errors is None else self.errors.values(seen.deviations())
        population = self.population
        if population is None:
            return self._wide_view(seen, missing, errors, threads)
        noisy = seen.cov is not None or bool(missing.any())
        logs, _, shares, means, covs = population.posterior(seen, threads, moments=noisy)
        with np.errstate(divide="ignore"):
            far = logs + np.log(shares[:, -1])
        outside = np.where(shares[:, -1] > LITTLE, shares[:, -1], 0.0)
        points = seen.values
        posterior = Posterior(None, points[:, np.newaxis]) if self.uncertain else None
        if missing.any():
            points = np.where(missing, np.einsum("lk,lkn->ln", shares, means), points)
        if noisy:
            weights = np.where(shares > NEGLIGIBLE, shares, 0.0)
            weights /= weights.sum(axis=1, keepdims=True)
            posterior = Posterior(weights, means, covs)
        return View(seen, points, posterior, errors, far, outside, threads)

    def _wide_view(self, seen: Observed, missing: Array, errors: FloatArray | None, threads: int) -> View:
        """Treat features as independent: each value is drawn towards its mean, 0, as far as it is noisy."""
        assert self.variances is not None
        S = self.variances
        noise = np.where(missing, 1.0, seen.deviations() ** 2)
        share = np.where(missing, 0.0, S / (S + noise))
        values = np.where(missing, 0.0, seen.values)
        mean = share * values
        # The log-ratio of the wide Gaussian and the population at each sample's own noise.
        narrow = S + noise
        wide = WIDER * (S + 1e-6) + noise
        terms = 0.5 * (np.log(narrow / wide) + values**2 * (1 / narrow - 1 / wide))
        ratio = np.where(missing, 0.0, terms).sum(axis=1) + np.log(WIDE_SHARE / (1 - WIDE_SHARE))
        outside = 0.5 * (1 + np.tanh(ratio / 2))
        outside = np.where(outside > LITTLE, outside, 0.0)
        posterior = None
        if self.uncertain:
            posterior = Posterior(None, mean[:, np.newaxis], ((1 - share) * S)[:, np.newaxis])
        return View(seen, np.where(missing, mean, values), posterior, errors, ratio, outside, threads)


def make_folds(
    codes: Array | None, groups: Array | None, count: int, n_folds: int, seed: int, copies: int
) -> list[tuple[Array, Array]]:
    """Make folds, stratified by class and by group, of samples that are there `copies` times."""
    by_group = groups is not None
    codes = np.zeros(count, dtype=np.int64) if codes is None else codes
    groups = np.arange(count) if groups is None else groups
    own = np.zeros((int(groups.max()) + 1, int(codes.max()) + 1))
    np.add.at(own, (groups, codes), 1)
    n_folds = min(n_folds, len(own))
    if n_folds < 2:
        raise ValueError("groups: all samples are of one group; folds need at least two")
    if by_group and own.shape[1] > 1 and np.count_nonzero((own > 0).sum(axis=0) > 1) < 2:
        raise ValueError("groups: folds by group need two classes with samples of at least two groups each")
    # Groups, the largest first, go to the fold with the least of their classes, and then of all classes.
    total = np.maximum(own.sum(axis=0), 1)
    order = np.random.default_rng([seed, 11]).permutation(len(own))
    order = order[np.argsort(-(own / total).max(axis=1)[order], kind="stable")]
    taken = np.zeros((n_folds, len(total)))
    fold = np.empty(len(own), dtype=np.int64)
    for g in order.tolist():
        shares = (taken + own[g]) / total
        fold[g] = k = np.lexsort((shares.sum(axis=1), shares[:, own[g] > 0].max(axis=1)))[0]
        taken[k] += own[g]
    fold = fold[groups]
    repeated = np.tile(fold, copies)
    return [(np.flatnonzero(repeated != k), np.flatnonzero(repeated == k)) for k in np.unique(fold)]


def canonical_order(data: Gaussians, *others: FloatArray) -> Array:
    """Return an order of samples by their content, so that the order in which they come changes nothing."""
    parts = [np.asarray(data.mean, dtype=np.float64)]
    if data.cov is not None:
        parts.append(np.asarray(data.cov.diagonals(*data.shape), dtype=np.float64))
        if not data.cov.is_diagonal:  # covariances with the same variances differ in some direction
            direction = np.cos(np.arange(1.0, data.shape[1] + 1))[np.newaxis]
            parts.append(data.cov.map(direction).diagonals(len(data), 1))
    parts += [np.asarray(other, dtype=np.float64).reshape(len(data), -1) for other in others]
    table = np.hstack(parts)
    table = np.where(np.isnan(table), np.nan, table + 0.0)  # one NaN and one zero, not several
    rows = np.ascontiguousarray(table).view(np.dtype((np.void, table.shape[1] * 8))).ravel()
    return np.argsort(rows, kind="stable")


def some_of(codes: Array | None, count: int, most: int, seed: int) -> Array:
    """Draw at most about `most` of the samples, in their order, with some of every class."""
    if count <= most:
        return np.arange(count)
    rng = np.random.default_rng([seed, 14])
    if codes is None:
        return np.sort(rng.permutation(count)[:most])
    kept = []
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        kept.append(rows[: max(LEAST_OF_CLASS, len(rows) * most // count)])
    return np.sort(np.concatenate(kept))


def some_of_blocks(blocks: Blocks, most: int, seed: int, columns: Fields) -> tuple[Gaussians, Fields]:
    """Draw samples out of core, by their content, and what belongs to each of them.

    `columns` are what was given beside the blocks: y, the weights and the errors of targets are those of the
    files otherwise.
    """
    if columns["y"] is None:
        columns["y"] = blocks.labels()
        if "classes" in columns and columns["classes"] is None:
            columns["classes"] = blocks.classes
        if "y_std" in columns and columns["y_std"] is None:
            columns["y_std"] = blocks.numbers("y_std")
    if columns["sample_weight"] is None:
        columns["sample_weight"] = blocks.numbers("weight")
    # A pseudo-random number of each sample that depends on its values alone; the least of these are taken.
    drawn = np.empty(len(blocks), dtype=np.uint64)
    for span in blocks.spans():
        bits = np.ascontiguousarray(blocks[span].mean, dtype=np.float64).view(np.uint64)
        found = np.full(len(bits), seed + 1, dtype=np.uint64)
        for column in bits.T:
            found = (found ^ column) * np.uint64(0x9E3779B97F4A7C15)
            found ^= found >> np.uint64(29)
        drawn[span] = found
    chosen = np.sort(np.argsort(drawn, kind="stable")[:most])
    parts = []
    for span in blocks.spans():
        own = chosen[np.searchsorted(chosen, span.start) : np.searchsorted(chosen, span.stop)]
        if len(own):
            parts.append(blocks[span][own - span.start])
    for name, column in columns.items():
        if name != "classes" and column is not None and np.ndim(column):
            if len(column) != len(blocks):
                raise ValueError(f"{name}: {len(column)} for {len(blocks)} samples")
            columns[name] = np.asarray(column)[chosen]
    return parts[0] if len(parts) == 1 else Gaussians.concatenate(parts), columns


def with_test_noise(data: Gaussians, noise: ArrayLike, seed: int, copies: int) -> Gaussians:
    """Return copies of all samples with test-time noise, block after block; its size is known of each."""
    rng = np.random.default_rng([seed, 13])
    made = []
    for copy in range(copies):
        kind = as_test_noise(noise, data.shape, seed + copy, name="test_noise")
        mean = np.asarray(data.mean, dtype=np.float64)
        mean = mean + kind.noise(rng, (len(data), 1, data.shape[1]))[:, 0]
        total = kind if data.cov is None else data.cov + kind
        if total.is_diagonal:
            total = Diagonal(total.diagonals(*data.shape))
        elif 2 * total.numbers() >= len(data) * data.shape[1] * (data.shape[1] + 1):
            total = total.as_full(*data.shape)
        made.append(with_gaps(mean, total))
    cov = Gaussians.concatenate([Gaussians(np.nan_to_num(part.mean), part.cov) for part in made]).cov
    return with_gaps(np.concatenate([part.mean for part in made]), cov)


def instances(data: Gaussians, seed: int, copies: int) -> Gaussians:
    """Return points drawn from the samples' own spread, `copies` of each, block after block."""
    if data.cov is None:
        return with_gaps(np.tile(np.asarray(data.mean, dtype=np.float64), (copies, 1)), None)
    rng = np.random.default_rng([seed, 15])
    drawn = data.cov.noise(rng, (len(data), copies, data.shape[1]))
    mean = np.asarray(data.mean, dtype=np.float64)
    return with_gaps(np.concatenate([mean + drawn[:, k] for k in range(copies)]), None)
