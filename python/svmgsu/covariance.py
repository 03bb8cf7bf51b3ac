"""Covariances as a user gives them, read as kinds that fit the examples.

Kinds add (`Diagonal(V) + Shared(S)`) and scale (`0.5 * cov`); `to_full()` shows any of them as matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .covariance_base import Covariance, Sum
from .kinds import Diagonal, Full, Isotropic, LowRank, Shared
from .validation import Array, as_float_array, check_deviations, is_sparse

__all__ = [
    "Covariance",
    "Diagonal",
    "Full",
    "Isotropic",
    "LowRank",
    "Shared",
    "Sum",
    "as_covariance",
    "as_deployment",
]


def as_covariance(cov: Any, std: Any, shape: tuple[int, int]) -> Covariance | None:
    """What a user gave as `cov` or `std`, as a kind that fits (l, n) examples.

    Plain arrays mean by their shape: a number or (l,) isotropic, (l, n) diagonal, (l, n, n) full.
    """
    if std is not None:
        if cov is not None:
            raise ValueError("std: give either cov or std, not both")
        return _from_std(std, shape)
    if cov is None:
        return None
    if isinstance(cov, Covariance):
        _check_fits(cov, shape)
        return cov
    if is_sparse(cov):
        kind: Covariance = Diagonal(cov, name="cov")
    else:
        array = as_float_array(cov, "cov", (0, 1, 2, 3))
        kind = _by_shape(array, "cov", shape)
    _check_fits(kind, shape)
    return kind


def _by_shape(array: Array, name: str, shape: tuple[int, int]) -> Covariance:
    count, n = shape
    if name == "std" and array.shape == shape:  # error bars have no other meaning
        return Diagonal(array, name=name)
    if array.ndim in (1, 2) and count == n and array.shape == (n,) * array.ndim and n > 1:
        readings = {
            1: "one variance an example (svmgsu.Isotropic) or one a feature (svmgsu.Shared)",
            2: "variances (svmgsu.Diagonal) or one covariance matrix for all examples (svmgsu.Shared)",
        }[array.ndim]
        raise ValueError(
            f"{name}: shape {array.shape} is ambiguous, since there are as many examples as features: "
            f"{readings}? Pass one of these kinds"
        )
    if array.shape in ((n,), (n, n)) and count != n:
        raise ValueError(
            f"{name}: shape {array.shape} fits the features but not the {count} examples; for one covariance "
            f"for all examples pass svmgsu.Shared({name})"
        )
    if array.ndim <= 1:
        if array.ndim == 1 and len(array) != count:
            raise ValueError(f"{name}: {len(array)} variances for {count} examples")
        return Isotropic(array, name=name)
    if array.shape[:2] != (count, n) or (array.ndim == 3 and array.shape[2] != n):
        raise ValueError(
            f"{name}: shape {array.shape} does not fit {count} examples of {n} features; expected a number, "
            f"({count},), ({count}, {n}) or ({count}, {n}, {n}), or one of svmgsu.Isotropic, Diagonal, Full, "
            "LowRank, Shared"
        )
    return Diagonal(array, name=name) if array.ndim == 2 else Full(array)


def _from_std(std: Any, shape: tuple[int, int]) -> Covariance:
    array = as_float_array(std, "std", (0, 1, 2))
    check_deviations(array, "std")
    return _by_shape(array * array, "std", shape)


def _check_fits(cov: Covariance, shape: tuple[int, int]) -> None:
    for name, have, want in zip(
        ("examples", "features"), (cov.n_examples, cov.n_features), shape, strict=True
    ):
        if have is not None and have != want:
            raise ValueError(f"cov: {type(cov).__name__} has {have} {name}, but X has {want}")


def as_deployment(cov: Any, shape: tuple[int, int], seed: int) -> Covariance:
    """Noise of deployment as a covariance of every example: one for all, or one each from a pool."""
    count, n = shape
    if isinstance(cov, Covariance):
        pool = cov
    else:
        array = as_float_array(cov, "deployment_cov", (0, 1, 2, 3))
        if array.shape[-1:] not in ((), (n,)):
            raise ValueError(f"deployment_cov: shape {array.shape} does not fit {n} features")
        if array.ndim == 0:
            return Isotropic(array)
        if array.shape in ((n,), (n, n)):
            return Shared(array)
        pool = Full(array) if array.ndim == 3 else Diagonal(array)
    if pool.n_features not in (None, n):
        raise ValueError(f"deployment_cov: {pool.n_features} features, but X has {n}")
    if pool.n_examples is None:
        return pool
    return pool.take(np.random.default_rng(seed).integers(pool.n_examples, size=count))
