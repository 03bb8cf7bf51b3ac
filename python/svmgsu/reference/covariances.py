"""Covariances by example: products, quadratic forms, and any of them as full matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.integer[Any]]  # one integer an example


class Factors(NamedTuple):
    """Sigma_i = F_i' F_i, with F of shape (l, r, n)."""

    F: Array


class SharedMatrix(NamedTuple):
    """One S (n, n) for all examples, or Sigma_i = S[group[i]] with S (K, n, n) and group (l,)."""

    S: Array
    group: Rows | None = None


# An array is read by its dimensions: () or (l,) isotropic variances, (l, n) diagonal variances, (l, n, n)
# full matrices. None is no uncertainty, a list is the sum of its members.
Covariance = None | float | Array | Factors | SharedMatrix | list["Covariance"]


def take(cov: Covariance, rows: Rows) -> Covariance:
    """The covariances of the examples `rows`, one for each even where all examples share one."""
    if cov is None:
        return np.zeros(len(rows))
    if isinstance(cov, list):
        return [take(part, rows) for part in cov]
    if isinstance(cov, Factors):
        return Factors(cov.F[rows])
    if isinstance(cov, SharedMatrix):
        if cov.group is None:
            return SharedMatrix(cov.S[None], np.zeros(len(rows), dtype=np.intp))
        return SharedMatrix(cov.S, cov.group[rows])
    cov = np.asarray(cov)
    return cov[rows] if cov.ndim else np.full(len(rows), cov, dtype=float)


def times(cov: Covariance, v: Array, rows: Rows | None = None) -> Array:
    """Sigma_i v, (l, n); without `rows`, (1, n) where all examples share one covariance."""
    if rows is not None:
        cov = take(cov, rows)
    if cov is None:
        return np.zeros((1, len(v)))
    if isinstance(cov, list):
        return sum((times(part, v) for part in cov), np.zeros((1, len(v))))
    if isinstance(cov, Factors):
        return np.asarray(((cov.F @ v)[:, None, :] @ cov.F)[:, 0])
    if isinstance(cov, SharedMatrix):
        Sv = cov.S @ v
        return np.asarray(Sv[None] if cov.group is None else Sv[cov.group])
    cov = np.asarray(cov)
    if cov.ndim == 3:
        return np.asarray(cov @ v)
    return np.asarray((cov if cov.ndim == 2 else cov.reshape(-1, 1)) * v)


def quadratic(cov: Covariance, w: Array, rows: Rows | None = None) -> Array:
    """w' Sigma_i w, (l,), never negative; without `rows`, (1,) where all examples share one covariance."""
    if rows is not None:
        cov = take(cov, rows)
    if isinstance(cov, list):
        return sum((quadratic(part, w) for part in cov), np.zeros(1))
    if isinstance(cov, Factors):
        return np.asarray(((cov.F @ w) ** 2).sum(axis=1))
    if isinstance(cov, SharedMatrix):
        q = np.maximum(cov.S @ w @ w, 0.0)
        return np.asarray(np.atleast_1d(q) if cov.group is None else q[cov.group])
    cov = np.asarray(0.0 if cov is None else cov)
    if cov.ndim == 3:
        return np.maximum(cov @ w @ w, 0.0)
    return np.asarray(cov @ w**2 if cov.ndim == 2 else cov.reshape(-1) * (w @ w))


def to_full(cov: Covariance, count: int, n: int) -> Array:
    """Any covariance of `count` examples as (count, n, n)."""
    if isinstance(cov, np.ndarray) and cov.ndim == 3:
        return cov.copy()
    columns = [np.broadcast_to(times(cov, unit), (count, n)) for unit in np.eye(n)]
    return np.stack(columns, axis=2)
