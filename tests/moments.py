"""Checks by other means: moments of draws, and derivatives by differences."""

import numpy as np

SIGMAS = 6  # standard errors of the sample moments; by chance alone less than one in 10^8 is outside


def assert_moments(draws, mean, cov, slack=0.0):
    """`draws` (N, n) have mean (n,) and covariance (n, n), or variances (n,), within 6 standard errors.

    `slack` is added to the bound, relative to the largest covariance: the error that a first-order model may
    have beside that of sampling.
    """
    draws = np.asarray(draws, dtype=float)
    count = len(draws)
    D = draws - draws.mean(axis=0)
    scale = D.var(axis=0).max()
    bound = SIGMAS * D.std(axis=0) / np.sqrt(count) + slack * np.sqrt(scale) + 1e-12
    assert (np.abs(draws.mean(axis=0) - mean) <= bound).all()
    products = D**2 if np.ndim(cov) == 1 else D[:, :, None] * D[:, None, :]
    bound = SIGMAS * products.std(axis=0) / np.sqrt(count) + slack * scale + 1e-12
    assert (np.abs(products.mean(axis=0) - cov) <= bound).all()


def differences(function, X, step=1e-4):
    """The Jacobian (l, m, n) of a function of rows, by differences of fourth order."""
    columns = []
    for j in range(X.shape[1]):
        e = step * np.eye(X.shape[1])[j]
        near = function(X + e) - function(X - e)
        far = function(X + 2 * e) - function(X - 2 * e)
        columns.append((8 * near - far) / (12 * step))
    return np.stack(columns, axis=2)
