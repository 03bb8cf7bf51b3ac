"""Covariances as a user gives them, read as kinds that fit the examples.

Kinds add (`Diagonal(V) + Shared(S)`) and scale (`0.5 * cov`); `to_full()` shows any of them as matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..support.precision import squared
from ..support.validation import Array, as_float_array, is_sparse
from .covariances import Covariance, Diagonal, Full, Isotropic, Psd, Shared, check_psd
from .covariances.full import SYMMETRY_TOLERANCE


def as_covariance(cov: Any, std: Any, shape: tuple[int, int], psd: Psd = "clip") -> Covariance | None:
    """What a user gave as `cov` or `std`, as a kind that fits (l, n) examples.

    Plain arrays mean by their shape: a number or (l,) isotropic, (l, n) diagonal, (l, n, n) full, for which
    `psd` is as in `Full`.
    """
    check_psd(psd)
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
        kind = _by_shape(array, "cov", shape, psd)
    _check_fits(kind, shape)
    return kind


def _by_shape(array: Array, name: str, shape: tuple[int, int], psd: Psd = "clip") -> Covariance:
    count, n = shape
    if name == "std" and array.shape == shape:  # error bars have no other meaning
        return Diagonal(array, check=False)
    if array.ndim in (1, 2) and count == n and array.shape == (n,) * array.ndim and n > 1:
        readings = {
            1: "one variance per example (svmgsu.Isotropic) or one per feature (svmgsu.Shared)",
            2: "variances (svmgsu.Diagonal) or one covariance matrix for all examples (svmgsu.Shared)",
        }[array.ndim] + "? Pass one of these kinds"
        if name == "std":
            readings = (
                "one per example, as cov=svmgsu.Isotropic(np.square(std)), or one per feature, as "
                "cov=svmgsu.Shared(np.square(std))? Pass one of these instead of std"
            )
        raise ValueError(
            f"{name}: shape {array.shape} is ambiguous, since there are as many examples as features: "
            + readings
        )
    if array.shape in ((n,), (n, n)) and count != n:
        shared = "svmgsu.Shared(cov)" if name == "cov" else "cov=svmgsu.Shared(np.square(std)) instead of std"
        raise ValueError(
            f"{name}: shape {array.shape} fits the features but not the {count} examples; for one covariance "
            f"for all examples pass {shared}"
        )
    if array.ndim <= 1:
        if array.ndim == 1 and len(array) != count:
            what = "variances" if name == "cov" else "standard deviations"
            raise ValueError(f"{name}: {len(array)} {what} for {count} examples")
        return Isotropic(array, name=name, check=name == "cov")
    if array.shape[:2] != (count, n) or (array.ndim == 3 and array.shape[2] != n):
        more = f" or ({count}, {n}, {n}), or one of svmgsu.Isotropic, Diagonal, Full, LowRank, Shared"
        raise ValueError(
            f"{name}: shape {array.shape} does not fit {count} examples of {n} features; expected a number, "
            f"({count},), " + (f"({count}, {n})" + more if name == "cov" else f"or ({count}, {n})")
        )
    return Diagonal(array, name=name) if array.ndim == 2 else Full(array, psd=psd)


def _from_std(std: Any, shape: tuple[int, int]) -> Covariance:
    return _by_shape(squared(as_float_array(std, "std", (0, 1, 2)), "std"), "std", shape)


def _check_fits(cov: Covariance, shape: tuple[int, int]) -> None:
    for name, have, want in zip(
        ("examples", "features"), (cov.n_examples, cov.n_features), shape, strict=True
    ):
        if have is not None and have != want:
            raise ValueError(f"cov: {type(cov).__name__} has {have} {name}, but X has {want}")


def as_deployment(
    cov: Any, shape: tuple[int, int], seed: int, psd: Psd = "clip", name: str = "deployment_cov"
) -> Covariance:
    """Noise of deployment as a covariance of every example: one for all, or one each from a pool."""
    pool = as_pool(cov, shape[1], psd, name)
    return pool if pool.n_examples is None else pool.take(drawn(pool, shape[0], seed))


def drawn(pool: Covariance, count: int, seed: int) -> Array:
    """Which of a pool of covariances each of `count` examples draws."""
    return np.random.default_rng(seed).integers(pool.n_examples or 1, size=count)


def as_pool(cov: Any, n: int, psd: Psd = "clip", name: str = "deployment_cov") -> Covariance:
    """Noise of deployment for n features: one covariance for all, or a pool, which has `n_examples`."""
    if isinstance(cov, Covariance):
        pool = cov
    else:
        array = as_float_array(cov, name, (0, 1, 2, 3))
        if array.shape[-1:] not in ((), (n,)):
            raise ValueError(f"{name}: shape {array.shape} does not fit {n} features")
        if array.ndim == 0:
            return Isotropic(array, name=name)
        if array.shape == (n, n) and n > 1:
            _check_is_matrix(array, name)
        if array.shape in ((n,), (n, n)):
            return Shared(array, psd=psd, name=name)
        full = array.ndim == 3
        pool = Full(array, psd=psd, name=name) if full else Diagonal(array, name=name)
    if pool.n_features not in (None, n):
        raise ValueError(f"{name}: {pool.n_features} features, but X has {n}")
    return pool


def _check_is_matrix(array: Array, name: str) -> None:
    """Refuses n variances of n features, a pool of as many covariances as features."""
    same = bool((array == array[0, 0]).all())
    if same or not np.allclose(array, array.T, rtol=SYMMETRY_TOLERANCE, atol=0.0, equal_nan=True):
        why = "all its entries are the same" if same else "it is not symmetric"
        raise ValueError(
            f"{name}: shape {array.shape} means one covariance matrix, but {why}; for a pool of "
            f"{len(array)} covariances pass svmgsu.Diagonal(variances), for a matrix svmgsu.Shared(matrix)"
        )
