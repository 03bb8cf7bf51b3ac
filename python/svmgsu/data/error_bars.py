"""What an uncertainty says of a value: upper and lower errors, units, and least sizes.

Upper and lower errors are a normal distribution of one width above the value and another below it; its mean
and variance are taken (`asymmetric_bars`). Which columns belong together, `data.frames` says.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..support.validation import Array, ArrayLike, FloatArray, as_float_array, check_choice
from .columns import Errors
from .frames import LOWER, LOWER_BOUND, STD, UPPER, UPPER_BOUND

UNITS = ("same", "relative", "linear of log10", "linear of log")
CENTRES = ("median", "mode", "mean")


def check_centre(asymmetric: object) -> str:
    """Check how upper and lower errors are read; "split-normal" is another word for "mode"."""
    centre = "mode" if asymmetric == "split-normal" else asymmetric
    check_choice(centre, "asymmetric", CENTRES)
    return str(centre)


def combine(
    found: Errors,
    bars: Callable[[str, str], Array],
    centre: str,
    unit: FloatArray | float = 1.0,
    floor: ArrayLike = None,
) -> tuple[FloatArray | None, FloatArray]:
    """Return how far the mean moves (or None) and the variance, by the uncertainties of the columns `found`.

    `bars(column, what)` returns those of a column as sizes, which are not negative. A size of 1 is worth
    `unit` (of `bar_unit`); sizes are then raised to at least `floor` (by `raised`).
    """

    def size(what: str) -> FloatArray:
        sizes = bars(found[what], what)
        sizes = (sizes if np.ndim(unit) == 0 and unit == 1 else sizes * unit).astype(np.float64, copy=False)
        return sizes if floor is None else raised(sizes, floor)

    if UPPER in found:
        return asymmetric_bars(size(UPPER), size(LOWER), centre)
    if UPPER_BOUND in found:
        return asymmetric_bars(size(UPPER_BOUND), size(LOWER_BOUND), centre)
    if STD in found:
        return None, size(STD) ** 2
    (what,) = found  # a variance, or what was an inverse variance
    return None, np.asarray(bars(found[what], what), dtype=np.float64) * np.square(unit)


def asymmetric_bars(up: FloatArray, down: FloatArray, centre: str) -> tuple[FloatArray, FloatArray]:
    """Return how far the mean of two half normals lies from where they meet, and their variance.

    They meet at the "median", where each has half of the mass, or at the "mode", where the density is
    continuous. "mean" is a custom, no distribution: the value stays, and the deviation is the mean of both.
    """
    skew = up - down
    if centre == "median":
        return skew / np.sqrt(2 * np.pi), (up**2 + down**2) / 2 - skew**2 / (2 * np.pi)
    if centre == "mode":
        return np.sqrt(2 / np.pi) * skew, (1 - 2 / np.pi) * skew**2 + up * down
    return np.zeros_like(skew), ((up + down) / 2) ** 2


def lower_sizes(bars: Array) -> Array:
    """Return lower errors (l,) or (l, n) as sizes: a column has minus signs or none, not both."""
    negative, positive = bars < 0, bars > 0
    both = np.atleast_1d(negative.any(axis=0) & positive.any(axis=0))
    if both.any():
        column = (slice(None), int(both.argmax()))[: bars.ndim]
        raise SignError(int(positive[column].argmax()), int(negative[column].argmax()))
    return np.abs(bars)


class SignError(ValueError):
    """Lower errors of both signs, at the samples `positive` and `negative`."""

    def __init__(self, positive: int, negative: int) -> None:
        super().__init__(f"lower errors have both signs, in samples {positive} and {negative}")
        self.positive, self.negative = positive, negative


def bar_unit(means: Array, units: str) -> FloatArray | float:
    """Return what an error of 1 is worth in units of X, by the derivative."""
    if units == "same":
        return 1.0
    x = means.astype(np.float64)
    if units == "relative":
        return np.abs(x)
    return np.asarray(10.0**-x / np.log(10) if units == "linear of log10" else np.exp(-x))


def raised(bars: Array, floor: ArrayLike) -> FloatArray:
    """Return errors (l, n) of at least `floor`: a number, one for each feature, or "smallest"."""
    bars = bars.astype(np.float64)
    if isinstance(floor, str):
        if floor != "smallest":
            raise ValueError(f'floor: expected one of "smallest", got {floor!r}')
        least = np.min(bars, axis=0, initial=np.inf, where=bars > 0)
        least = np.where(np.isinf(least), 0.0, least)
    else:
        least = as_float_array(floor, "floor", (0, 1))
        if least.ndim == 1 and len(least) != bars.shape[1]:
            raise ValueError(f"floor: {len(least)} values for {bars.shape[1]} features")
        if not (np.isfinite(least).all() and (least >= 0).all()):
            raise ValueError(f"floor: must be >= 0 and finite, got {floor!r}")
    return np.asarray(np.maximum(bars, least))
