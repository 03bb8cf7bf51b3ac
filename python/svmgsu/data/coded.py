"""Arrays in files by codes of one or two bytes: a copy that is near the numbers, and read in less time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..support.validation import Array, FloatArray
from .flat import FlatArray

Kind = Literal["levels", "logarithms"]
BYTES = {"levels": 2, "logarithms": 1}  # of a code
_LEVELS, _LOGARITHMS = 65535, 254  # steps between the least and the largest


@dataclass(frozen=True)
class CodedArray:
    """Codes in a file, and for each part of so many `rows` the `parameters` (parts, 2, columns) a and b.

    "levels" are int16 codes c of a + b c. "logarithms" are uint8 codes of exp(a + b c), of which 0 stands for
    0.
    """

    file: FlatArray
    kind: Kind
    rows: int
    parameters: FloatArray


def encode(kind: Kind, values: Array) -> tuple[Array, FloatArray]:
    """The codes of some rows of finite numbers, and a and b of each column: (2, columns)."""
    flat = values.reshape(len(values), -1)
    return _levels(flat) if kind == "levels" else _logarithms(flat)


def _levels(values: Array) -> tuple[Array, FloatArray]:
    low, high = values.min(axis=0).astype(np.float64), values.max(axis=0).astype(np.float64)
    step = high / _LEVELS - low / _LEVELS
    inverse = np.divide(1.0, step, out=np.zeros_like(step), where=step > 1e-300)
    codes = np.subtract(values, low, dtype=np.float64)
    codes *= inverse
    np.rint(codes, out=codes)
    codes -= 2**15
    return codes.astype(np.int16), np.stack([low + 2**15 * step, step])


def _logarithms(values: Array) -> tuple[Array, FloatArray]:
    """Rounded so that the numbers between two codes become these on average, and not their logarithms."""
    precise = np.float32 if values.dtype == np.float32 else np.float64
    with np.errstate(divide="ignore"):
        logs = np.log(values, dtype=precise)
    positive = values > 0
    low = np.min(logs, axis=0, where=positive, initial=np.inf).astype(np.float64)
    high = np.max(logs, axis=0, where=positive, initial=-np.inf).astype(np.float64)
    low, high = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    step = (high - low) / _LOGARITHMS
    up = np.divide(
        np.logaddexp(0.0, step) - np.log(2.0), step, out=np.full_like(step, 0.5), where=step > 1e-9
    )
    inverse = np.divide(1.0, step, out=np.zeros_like(step), where=step > 1e-9)
    logs[~positive] = 0.0
    logs -= low.astype(precise)
    logs *= inverse.astype(precise)
    logs += (1.0 - up).astype(precise)
    np.floor(logs, out=logs)
    codes = np.clip(logs, 0, _LOGARITHMS).astype(np.uint8) + np.uint8(1)
    codes[~positive] = 0
    return codes, np.stack([low - step, step])
