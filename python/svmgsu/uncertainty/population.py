"""Noisy and missing values, estimated from the population that the samples come from: empirical Bayes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..data.gaussians import Gaussians
from ..support.validation import ArrayLike
from ._support import check_no_noise

if TYPE_CHECKING:
    from ..estimators.deconvolution import Deconvolution


def posterior(data: Gaussians, population: Deconvolution | None = None) -> Gaussians:
    """Estimate the true value of each sample from its measurement and from the other samples.

    Model: true values come from one population N(m, T) and are measured with the noise of their given
    covariances, x_i ~ N(truth_i, Σ_i). m and T maximise the likelihood Π N(x_i; m, T + Σ_i), which takes the
    noise out of the spread; then truth_i given x_i is Gaussian with

        mean  m + T (T + Σ_i)⁻¹ (x_i − m),   covariance  T − T (T + Σ_i)⁻¹ T.

    Assumes one Gaussian population for all classes, which are drawn towards the common mean, and noise that
    is independent of the truth. For training on noisy samples and use on precise ones: there the measured
    means are spread too widely. Harms on samples as noisy as those of training, unless they are treated
    alike.

    Parameters
    ----------
    data : Gaussians
        The measurements with their noise.
    population : fitted Deconvolution, optional
        By default `svmgsu.Deconvolution(1)`, one Gaussian, fitted to the data. For test data pass that of the
        training data.

    Returns
    -------
    Gaussians
        With `Full` covariances; float32 if the means are.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> from svmgsu.uncertainty import posterior
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=(2000, 1))
    >>> noisy = svmgsu.Gaussians(truth + rng.normal(size=truth.shape), std=np.ones(truth.shape))
    >>> shrunk = posterior(noisy)  # half signal, half noise: halfway to the mean
    >>> bool(abs(shrunk.cov.to_full().mean() - 0.5) < 0.05)
    True
    """
    if not isinstance(data, Gaussians) or data.cov is None:
        raise ValueError(
            "data: expected Gaussians with covariances; without noise there is nothing to estimate"
        )
    check_no_noise(data, "posterior")
    prior = one_gaussian().fit(data) if population is None else population
    return prior.transform(data).to_gaussians()


def from_missing(X: ArrayLike, population: Deconvolution | None = None) -> Gaussians:
    """Fill in missing values (NaN) with what is known of them given what is observed.

    Model: samples are draws from one Gaussian N(μ, Σ), fitted to all observed values by expectation
    maximisation. For a sample with observed values o and missing values m,

        mean  x_m = μ_m + Σ_mo Σ_oo⁻¹ (x_o − μ_o),   covariance  Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om,

    and observed values are exact.

    Assumes that values are missing at random: whether one is missing may depend on what is observed, not on
    itself. Harms where large values tend to be missing: both mean and covariance are wrong then. The classes
    are not told apart, so the fit averages over distant ones.

    Parameters
    ----------
    X : array or DataFrame of shape (l, n)
        NaN where missing; also pandas.NA, null, or masked.
    population : fitted Deconvolution, optional
        The distribution of the samples; by default `svmgsu.Deconvolution(1)`, one Gaussian, fitted to X. For
        test data pass that of the training data.

    Returns
    -------
    Gaussians
        With `Full` covariances; float32 if X is.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> rng = np.random.default_rng(0)
    >>> X = rng.multivariate_normal([0, 0], [[1.0, 0.5], [0.5, 1.0]], size=5000)
    >>> X[0] = [1.0, np.nan]
    >>> data = svmgsu.uncertainty.from_missing(X)
    >>> data.mean[0].round(1), data.cov.to_full()[0].round(1)
    (array([1. , 0.5]), array([[0. , 0. ],
           [0. , 0.8]]))
    """
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X if X.dtype.kind == "f" else X.astype(np.float64), np.nan)
    if population is None:
        count, n = np.asarray(X).shape
        if count <= n:
            raise ValueError(
                f"X: {count} samples do not determine the covariance of {n} features; pass a population, "
                "such as svmgsu.Deconvolution(1, reg_covar=0.1).fit(X)"
            )
        population = one_gaussian().fit(X)
    return population.transform(X).to_gaussians()


def one_gaussian() -> Deconvolution:
    """Return a population of one Gaussian whose fit goes on until it is exact to about six digits."""
    from ..estimators.deconvolution import Deconvolution

    return Deconvolution(1, init=1, tol=1e-10, max_iter=5000)
