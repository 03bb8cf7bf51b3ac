"""Landmarks: the kernel between an example and chosen points, combined as Nyström has it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..support.validation import FloatArray
from .features import FeatureMap


def landmark_map(
    landmarks: FloatArray, gamma: float, metric: FloatArray | None = None, *, exact: bool = False
) -> FeatureMap:
    """K^(-½) k(x, c) of the landmarks c, K the kernel among them, of exp(-γ‖A(x - c)‖²).

    Parameters
    ----------
    landmarks : array of shape (M, n)
    gamma : float
    metric : array of shape (p, n), optional
        A; by default the identity.
    exact : bool, default=False
        L⁻¹ k(x, c) with K = LLᵀ instead: the landmarks themselves have the rows of L as features.
    """
    n = landmarks.shape[1]
    T = np.sqrt(2 * gamma) * (np.eye(n) if metric is None else metric)
    made_of = (np.ascontiguousarray(landmarks, dtype=np.float64), np.ascontiguousarray(T))
    c = (landmarks - landmarks.mean(axis=0)) @ T.T  # else an offset would take the digits of distances
    norms = (c**2).sum(axis=1)
    kernel = np.exp(-0.5 * np.maximum(norms[:, np.newaxis] + norms - 2 * c @ c.T, 0.0))
    np.fill_diagonal(kernel, 1.0)
    return FeatureMap("landmarks", made_of, _inverse_cholesky(kernel) if exact else _inverse_root(kernel))


def _inverse_root(kernel: FloatArray) -> FloatArray:
    """K^(-½), as in scikit-learn's Nystroem, but with eigenvalues of 1e-7 at the least.

    Second moments of features have K^(-1) around the rounding of E kkᵀ: with 1e-12 there would be nothing
    left but four digits, and negative eigenvalues far beyond λ.
    """
    values, vectors = np.linalg.eigh(kernel)
    return np.asarray((vectors / np.sqrt(np.maximum(values, 1e-7))) @ vectors.T)


def _inverse_cholesky(kernel: FloatArray) -> FloatArray:
    """L⁻¹ with LLᵀ = K, to which as little is added as the Cholesky decomposition needs."""
    from scipy.linalg import LinAlgError, cholesky, solve_triangular

    eye = np.eye(len(kernel))
    for jitter in (0.0, 1e-12, 1e-10, 1e-8):
        try:
            lower = cholesky(kernel + jitter * eye, lower=True)
        except LinAlgError:
            continue
        return np.asarray(solve_triangular(lower, eye, lower=True))
    raise ValueError("gamma: the kernel matrix of the examples is not positive definite; take a larger gamma")


def choose_landmarks(X: FloatArray, count: int, how: str, rng: np.random.Generator) -> FloatArray:
    """`count` landmarks for the rows of X: centres of "kmeans", or rows "drawn" at random."""
    if how not in ("kmeans", "drawn"):
        raise ValueError(f'landmarks: expected "kmeans", "drawn" or an array, got {how!r}')
    if how == "drawn" or len(X) <= count:
        return np.asarray(X[np.sort(rng.permutation(len(X))[:count])])
    from sklearn.cluster import MiniBatchKMeans

    seed = int(rng.integers(2**31 - 1))
    inner: Any = MiniBatchKMeans(count, random_state=seed, n_init=1, batch_size=max(1024, 4 * count))
    return np.asarray(inner.fit(X).cluster_centers_)
