"""Populations from noisy objects: what the core is given, where it starts, and how many components."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..data.coercion import as_covariance
from ..data.covariances import Covariance
from ..data.gaussians import Gaussians, names_of
from ..support.arrays import dense
from ..support.errors import words_of
from ..support.labels import check_weights
from ..support.progress import ProgressBar
from ..support.validation import (
    Array,
    FloatArray,
    as_float_array,
    check_column_order,
    check_finite,
    check_row_order,
    place_of,
)

START_SIZE = 20_000  # objects that choose among starts
SHORT = 30  # steps of a start that is only tried
CANDIDATES = (1, 2, 3, 4, 6, 8, 11, 15, 20, 27, 36)  # numbers of components for "auto"
FOLDS = 3
FAR = 1e140  # a difference of values whose square, and that of its noise, is still a number


@dataclass
class Observed:
    """Objects as they were seen: NaN is missing."""

    values: Array
    cov: Covariance | None
    names: list[str] | None
    projection: FloatArray | None = None
    weights: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def features(self) -> int:
        """Of the truth; there are others values where these are projections."""
        return int(self.values.shape[1] if self.projection is None else self.projection.shape[2])

    def core(self, rows: Array | None = None) -> Any:
        """The core's view of all objects, or of some."""
        count, m = self.values.shape
        terms = () if self.cov is None else self.cov.terms(count, m, None)
        chosen = None if rows is None else np.ascontiguousarray(rows, dtype=np.int64)
        data = _core.Gaussians(_core.dense_means(self.values), terms, chosen)
        weights = self.weights if rows is None or self.weights is None else self.weights[rows]
        return _core.Observations(data, self.projection, weights)


def observe(
    X: Any, cov: Any = None, std: Any = None, projection: Any = None, sample_weight: Any = None
) -> Observed:
    """X, `Gaussians` or an array in which NaN, or infinite noise, means that a value is missing."""
    if isinstance(X, Gaussians):
        if cov is not None or std is not None:
            raise ValueError("cov: X is a Gaussians and has its covariance already; pass one of the two")
        if X.test_noise is not None:
            raise ValueError(
                "X: a population is of what was measured; noise of deployment has no place in it"
            )
        seen = Observed(np.ascontiguousarray(dense(X.mean)), X.cov, X.feature_names_in_)
    else:
        seen = _read(X, cov, std)
    if projection is not None:
        seen.projection = _check_projection(projection, seen.values.shape)
        seen.names = None
    if sample_weight is not None:
        check_row_order(X, sample_weight=sample_weight)
        seen.weights = check_weights(sample_weight, len(seen))
    return seen


def _read(X: Any, cov: Any, std: Any) -> Observed:
    values = as_float_array(_plain(X), "X", (2,))
    if 0 in values.shape:
        what = "sample" if values.shape[0] == 0 else "feature"
        raise ValueError(
            f"X: Found array with 0 {what}(s) (shape={values.shape}) while a minimum of 1 is required."
        )
    infinite = np.isinf(values)
    if infinite.any():
        first = words_of(place_of(int(infinite.argmax()), values.shape))
        raise ValueError(
            f"X: {first} is infinite (Input X contains inf); a missing value is NaN, or has infinite noise"
        )
    names = names_of(X, None, values.shape[1])
    check_column_order(names, cov=cov, std=std)
    check_row_order(X, cov=cov, std=std)
    missing = np.isnan(values)
    for name, given in (("std", std), ("cov", cov)):
        if given is not None and not isinstance(given, Covariance):
            noise = as_float_array(given, name, (0, 1, 2, 3))
            if not np.isfinite(noise).all():
                missing, noise = _without_infinite(noise, name, missing)
            std, cov = (noise, cov) if name == "std" else (std, noise)
    if missing.any():
        values = np.where(missing, np.asarray(np.nan, dtype=values.dtype), values)
    return Observed(values, as_covariance(cov, std, values.shape), names)


def _plain(X: Any) -> Any:
    """X; a data frame of pandas that has its own mark for missing values with NaN instead."""
    if not (hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "to_numpy")):
        return X
    own = [getattr(dtype, "na_value", None) for dtype in np.asarray(X.dtypes, dtype=object)]
    if not any(value is not None and value is not np.nan for value in own):
        return X
    try:
        return X.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return X  # what is no number will be named


def _without_infinite(noise: Array, name: str, missing: Array) -> tuple[Array, Array]:
    """What is missing, and the noise with zeros there."""
    variances = np.diagonal(noise, axis1=1, axis2=2) if noise.ndim == 3 else noise
    if noise.ndim < 2:
        variances = np.broadcast_to(noise if noise.ndim == 0 else noise[:, np.newaxis], missing.shape)
    if variances.shape != missing.shape:
        return missing, noise  # whose shape is wrong, as will be said
    known = missing | (variances == np.inf)
    if noise.ndim < 2:
        return known, np.where(np.isposinf(noise) | (np.isnan(noise) & known.all()), 0.0, noise)
    empty = known if noise.ndim == 2 else known[:, :, np.newaxis] | known[:, np.newaxis, :]
    noise = np.where(empty, np.asarray(0, dtype=noise.dtype), noise)
    check_finite(noise, name)
    return known, noise


def _check_projection(projection: Any, shape: tuple[int, ...]) -> FloatArray:
    array = as_float_array(projection, "projection", (2, 3)).astype(np.float64)
    if array.ndim == 2:  # one for all
        array = np.broadcast_to(array, (shape[0], *array.shape))
    if array.shape[:2] != shape or array.shape[2] == 0:
        raise ValueError(
            f"projection: shape {np.shape(projection)}; for {shape[0]} examples of {shape[1]} values it "
            f"should be ({shape[1]}, n) for all, or ({shape[0]}, {shape[1]}, n)"
        )
    array = np.ascontiguousarray(array)
    check_finite(array, "projection")
    return array


def check_unit(name: str, low: float, high: float) -> None:
    """Refuses values of a feature whose squares are no numbers."""
    with np.errstate(over="ignore"):
        size = float(np.float64(high) - low)
    if size > FAR or 0 < size < 1 / FAR:
        raise ValueError(
            f"X: {name} has values from {low:g} to {high:g}; take a unit in which they differ by {1 / FAR:g} "
            f"to {FAR:g}"
        )


def check_spread(seen: Observed) -> None:
    """Refuses features of which there is nothing to learn, by their names."""
    if seen.projection is not None:
        return
    if len(seen) == 1:
        raise ValueError("X: a population needs at least 2 examples, got n_samples=1")
    for j in range(seen.values.shape[1]):
        column = seen.values[:, j]
        known = column[~np.isnan(column)]
        name = f"feature {j}" if seen.names is None else f"feature {j}, {seen.names[j]!r},"
        if not len(known):
            raise ValueError(f"X: {name} is missing, or has infinite noise, in every example; leave it out")
        if known.min() == known.max():
            raise ValueError(
                f"X: {name} is {known[0]:g} in every example that has it; a population needs some spread in "
                "each feature, so leave it out"
            )
        check_unit(name.rstrip(","), known.min(), known.max())


def check_near(seen: Observed, centre: FloatArray, scale: FloatArray) -> None:
    """Refuses values so far from a population that no distance can be computed."""
    if seen.projection is not None:
        return
    far = np.abs(seen.values / scale - centre / scale) > FAR
    if far.any():
        first = int(far.argmax())
        where = words_of(place_of(first, far.shape))
        raise ValueError(
            f"X: {where} is {seen.values.flat[first]:g}, further from the population than "
            f"{FAR:g} times its spread; is that a value?"
        )


class Settings(NamedTuple):
    """How a mixture is fitted."""

    n_init: int
    tol: float
    max_iter: int
    floor: float
    threads: int
    verbose: bool
    deadline: float = math.inf  # by time.monotonic()
    start: Any = None  # a _core.Mixture

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() >= self.deadline

    def run(self, seen: Any, units: Any, start: Any, *, short: bool = False) -> Any:
        """The core's fit from a start; a `short` one is tried only."""
        tol, steps = (10 * self.tol, min(SHORT, self.max_iter)) if short else (self.tol, self.max_iter)
        named = SimpleNamespace(solver="deconvolution", steps=0)
        watch = None if self.deadline == math.inf else (lambda progress: not self.late)
        with ProgressBar(self.verbose and not short, named, watch) as callback:
            return _core.deconvolve(seen, units, start, tol, steps, self.floor, self.threads, callback)


def fit_mixture(
    seen: Observed, units: Any, components: int, settings: Settings, rng: Any, rows: Array | None = None
) -> Any:
    """The best of several starts, which are tried for some steps on at most `START_SIZE` objects."""
    everybody = seen.core(rows)
    if settings.start is not None:
        return settings.run(everybody, units, settings.start)
    count = len(seen) if rows is None else len(rows)
    some = everybody
    if count > START_SIZE:
        chosen = np.sort(rng.choice(count, START_SIZE, replace=False))
        some = seen.core(chosen if rows is None else rows[chosen])
    seeds = rng.integers(2**62, size=settings.n_init).tolist()
    starts: list[Any] = []
    for seed in seeds:
        if not starts or not settings.late:
            start = _core.start_mixture(some, units, components, seed, settings.floor, settings.threads)
            starts.append(start)
    if len(starts) == 1 or components == 1:
        return settings.run(everybody, units, starts[0])
    tried = [settings.run(some, units, start, short=True) for start in starts]
    best = max(tried, key=lambda found: found.log_likelihood)
    return settings.run(everybody, units, best.mixture)


def choose_components(
    seen: Observed, units: Any, settings: Settings, rng: Any, done: Callable[[], None]
) -> dict[int, float]:
    """The mean log-likelihood of objects held out, for numbers of components until it falls twice."""
    count = len(seen)
    most = START_SIZE * FOLDS
    order = rng.permutation(count)[:most]
    folds = np.array_split(order, FOLDS)
    tried = settings._replace(
        n_init=min(2, settings.n_init), tol=10 * settings.tol, verbose=False, start=None
    )
    scores: dict[int, float] = {}
    for components in CANDIDATES:
        if scores and (components * 2 * FOLDS > len(order) or settings.late):
            break
        total = 0.0
        for i, fold in enumerate(folds):
            known = np.sort(np.concatenate([part for j, part in enumerate(folds) if j != i]))
            found = fit_mixture(seen, units, components, tried, rng, known)
            values = _core.posterior(seen.core(fold), units, found.mixture, settings.threads, False)[0]
            weights = None if seen.weights is None else seen.weights[fold]
            total += float(np.average(values, weights=weights)) / FOLDS
        scores[components] = total
        done()
        last = list(scores.values())
        if len(last) > 2 and max(last[-2:]) < max(last[:-2]):
            break
    return scores


def batches(count: int, size: int) -> Iterator[slice]:
    """Slices of at most `size` of `count` examples."""
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))


def variances_of(seen: Observed) -> FloatArray:
    """The noise of every value, (l, m)."""
    if seen.cov is None:
        return np.zeros(seen.values.shape)
    return seen.cov.diagonals(*seen.values.shape)


def taken(seen: Observed, rows: slice | Array) -> Observed:
    """Some of the objects."""
    places = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
    cov = None if seen.cov is None else seen.cov.take(places)
    projection = None if seen.projection is None else seen.projection[rows]
    weights = None if seen.weights is None else seen.weights[rows]
    return Observed(seen.values[rows], cov, seen.names, projection, weights)
