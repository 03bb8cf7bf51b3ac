"""Learning in linear subspaces: the two readings of the paper's Sect. 3.2."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .covariances import Array, Factors


def _leading(cov_full: Array, p: float) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Eigenvalues (l, n), descending; eigenvectors (l, n, n), in columns; and which of them are kept."""
    values, vectors = np.linalg.eigh(cov_full)
    values, vectors = np.maximum(values[:, ::-1], 0.0), vectors[:, :, ::-1]
    n = values.shape[1]
    rank = (values > n * np.finfo(float).eps * values[:, :1]).sum(axis=1)
    if p < 1:  # the smallest d_i with sum_{t <= d_i} lambda_t / trace > p
        not_enough = np.cumsum(values, axis=1) <= p * values.sum(axis=1, keepdims=True)
        rank = np.minimum(rank, not_enough.sum(axis=1) + 1)
    return values, vectors, np.arange(n) < rank[:, None]


def eigen_subspace(S: Array, p: float) -> tuple[Array, Array]:
    """The leading eigenvalues that hold more than the share p of S's trace, and their vectors U' (n, d).

    At p = 1 the numerical rank is kept; of a zero matrix, nothing.
    """
    values, vectors, keep = _leading(S[None], p)
    return values[0, keep[0]], vectors[0][:, keep[0]]


def truncate(cov_full: Array, p: float) -> Factors:
    """Sigma_i -> U' Lambda' U'', the mean kept (beyond the paper): eq. (6) itself at p = 1."""
    values, vectors, keep = _leading(cov_full, p)
    F = np.sqrt(values * keep)[:, :, None] * vectors.transpose(0, 2, 1)
    return Factors(F[:, : int(keep.sum(axis=1).max(initial=0))])


def project(X: Array, cov_full: Array, p: float) -> tuple[Array, Factors]:
    """The paper's reading: z = P x with P = U'', for which eqs. (9)-(12) are (6)-(8) at P' P x, P' Lambda' P.

    What x has outside its subspace is lost, all of x where Sigma_i = 0: at p = 1 this is eq. (6) only where
    the covariances have full rank.
    """
    _, vectors, keep = _leading(cov_full, p)
    z = keep * np.einsum("ijd,ij->id", vectors, X)
    return np.einsum("ijd,id->ij", vectors, z), truncate(cov_full, p)
