"""Monte Carlo checks: sample moments against the ones that were claimed, within a stated bound."""

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
