"""What the builders share: shapes of standard errors, optional libraries."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ..data.gaussians import Gaussians
from ..support.validation import Array, ArrayLike, as_float_array, check_finite


def need(module: str, what: str) -> Any:
    """Import an optional library; if it is missing, the error says how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        library = (error.name or module).split(".")[0]
        if library != module.split(".")[0]:
            raise
        raise ImportError(
            f"svmgsu.uncertainty.{what} needs {library}: pip install 'svmgsu[uncertainty]'"
        ) from error


def check_no_noise(data: Gaussians, what: str) -> None:
    """Refuse data with test-time noise, which would be lost."""
    if data.test_noise is not None:
        raise ValueError(f"data: {what} does not carry test-time noise; call add_noise afterwards")


def as_samples(X: ArrayLike, name: str = "X") -> Array:
    """Return a finite (l, n) array of float32 or float64 with at least one sample and one feature."""
    array = as_float_array(X, name, (2,))
    if 0 in array.shape:
        raise ValueError(f"{name}: expected at least one sample and one feature, got shape {array.shape}")
    check_finite(array, name)
    return array


def over_samples(a: ArrayLike, shape: tuple[int, int], name: str) -> Array:
    """Return `a`, a number, (n,), (l,), (l, 1), (1, n) or (l, n), for every value of (l, n) samples."""
    array = as_float_array(a, name, (0, 1, 2))
    count, n = shape
    if array.ndim == 1:
        if count == n and len(array) == n > 1:
            raise ValueError(
                f"{name}: shape {array.shape} is ambiguous, since there are as many samples as features: "
                f"pass {name}[:, None] for one per sample or {name}[None, :] for one per feature"
            )
        if len(array) not in (count, n):
            raise ValueError(f"{name}: {len(array)} values for {count} samples of {n} features")
        array = array[np.newaxis, :] if len(array) == n else array[:, np.newaxis]
    if array.ndim == 2 and any(have not in (1, want) for have, want in zip(array.shape, shape, strict=True)):
        raise ValueError(
            f"{name}: shape {array.shape} does not fit {count} samples of {n} features; expected a number, "
            f"({n},) per feature, ({count},) per sample, or ({count}, {n})"
        )
    return np.ascontiguousarray(np.broadcast_to(array, shape))
