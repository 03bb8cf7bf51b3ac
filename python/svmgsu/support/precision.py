"""Variances in single precision, whose range is short: squares of 1e-20 are not in it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .. import _core
from .validation import Array, FloatArray, check_deviations

_SINGLE = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)  # what float32 has all digits of
_ROOTS = 1.0001 * _SINGLE[0] ** 0.5, 0.9999 * _SINGLE[1] ** 0.5  # whose squares are surely among them


def squared(deviations: Array, name: str) -> Array:
    """Variances of standard deviations, which are checked; float32 stays float32 where the squares fit in."""
    single = deviations.dtype == np.float32
    if not (single and _core.first_outside(deviations, *_ROOTS, True) < 0):
        check_deviations(deviations, name)
        with np.errstate(under="ignore"):
            squares = np.square(deviations, dtype=np.float64)
        if not (single and _in_range(squares)):
            return np.asarray(squares)
    return np.asarray(deviations * deviations)


def stored_as(variances: FloatArray, dtype: npt.DTypeLike | None) -> Array:
    """Variances as `dtype`; as float64 where one would vanish, lose its digits or become infinite."""
    return variances.astype(dtype) if dtype != np.float32 or _in_range(variances) else variances


def _in_range(variances: FloatArray) -> bool:
    """Whether float32 holds variances with all its digits."""
    return _core.first_outside(np.ascontiguousarray(variances), *_SINGLE, True) < 0
