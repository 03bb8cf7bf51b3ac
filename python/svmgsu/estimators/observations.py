"""Samples as they were measured: values, of which NaN is missing, with their noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..data.coercion import as_covariance, plain_arrays
from ..data.covariances import Covariance
from ..data.gaussians import Gaussians, names_of
from ..support.arrays import dense
from ..support.errors import words_of
from ..support.labels import check_weights
from ..support.types import Cell
from ..support.validation import (
    Array,
    ArrayLike,
    FloatArray,
    as_float_array,
    check_column_order,
    check_finite,
    check_row_order,
    place_of,
)

FAR = 1e140  # a difference of values whose square, and that of its noise, is still a number


@dataclass
class Observed:
    """Measured samples; NaN is a missing value."""

    values: Array
    cov: Covariance | None
    names: list[str] | None
    weights: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.values)

    def core(self, rows: Array | None = None) -> Any:
        """Return all samples, or some, as the core takes them."""
        count, m = self.values.shape
        terms = () if self.cov is None else self.cov.terms(count, m, None)
        chosen = None if rows is None else np.ascontiguousarray(rows, dtype=np.int64)
        data = _core.Gaussians(_core.dense_means(self.values), terms, chosen)
        weights = self.weights if rows is None or self.weights is None else self.weights[rows]
        return _core.Observations(data, None, weights)

    def take(self, rows: slice | Array) -> Observed:
        """Return some of the samples."""
        places = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        cov = None if self.cov is None else self.cov.take(places)
        weights = None if self.weights is None else self.weights[rows]
        return Observed(self.values[rows], cov, self.names, weights)

    def deviations(self) -> FloatArray:
        """Return the standard error of each value: 0 without noise, infinite for a missing value."""
        found = np.zeros(self.values.shape)
        if self.cov is not None:
            found = np.sqrt(np.maximum(self.cov.diagonals(*self.values.shape), 0.0))
        return np.where(np.isnan(self.values), np.inf, found)


def observe(
    X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None, sample_weight: ArrayLike = None
) -> Observed:
    """Read X, `Gaussians` or an array in which NaN, or infinite noise, is a missing value."""
    if isinstance(X, Gaussians):
        if cov is not None or std is not None:
            raise ValueError("cov: X is a Gaussians and has its covariance already; pass one of the two")
        if X.test_noise is not None:
            raise ValueError(
                "X: a population is fitted to what was measured; test-time noise has no place in it"
            )
        seen = Observed(np.ascontiguousarray(dense(X.mean)), X.cov, X.feature_names_in_)
    else:
        seen = _read(X, cov, std)
    if sample_weight is not None:
        check_row_order(X, sample_weight=sample_weight)
        seen.weights = check_weights(sample_weight, len(seen))
    return seen


def _read(X: ArrayLike, cov: ArrayLike, std: ArrayLike) -> Observed:
    X, cov, std = plain_arrays(X, cov, std)
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


def _plain(X: ArrayLike) -> Cell:
    """Return X, with NaN for the mark that pandas has for missing values."""
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
    """Return what is missing, and the noise with zeros there."""
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


def check_unit(name: str, low: float, high: float) -> None:
    """Refuse values whose squares overflow or underflow; `name` is that of the argument and its feature."""
    with np.errstate(over="ignore"):
        size = float(np.float64(high) - low)
    if size > FAR or 0 < size < 1 / FAR:
        raise ValueError(
            f"{name} has values from {low:g} to {high:g}; take a unit in which they differ by {1 / FAR:g} "
            f"to {FAR:g}"
        )


def check_spread(seen: Observed) -> None:
    """Refuse features without anything to learn from, by their names."""
    if len(seen) == 1:
        raise ValueError("X: a population needs at least 2 samples, got n_samples=1")
    for j in range(seen.values.shape[1]):
        column = seen.values[:, j]
        known = column[~np.isnan(column)]
        name = f"feature {j}" if seen.names is None else f"feature {j}, {seen.names[j]!r},"
        if not len(known):
            raise ValueError(f"X: {name} is missing, or has infinite noise, in every sample; leave it out")
        if known.min() == known.max():
            raise ValueError(
                f"X: {name} is {known[0]:g} in every sample that has it; a population needs some spread in "
                "each feature, so leave it out"
            )
        check_unit(f"X: {name.rstrip(',')}", known.min(), known.max())


def check_near(seen: Observed, centre: FloatArray, scale: FloatArray) -> None:
    """Refuse values so far from a population that no distance can be computed."""
    far = np.abs(seen.values / scale - centre / scale) > FAR
    if far.any():
        first = int(far.argmax())
        where = words_of(place_of(first, far.shape))
        raise ValueError(
            f"X: {where} is {seen.values.flat[first]:g}, further from the population than "
            f"{FAR:g} times its spread; is that a value?"
        )
