"""Noisy samples drawn towards the population they come from: empirical Bayes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..data.gaussians import Gaussians
from ._support import check_no_noise

if TYPE_CHECKING:
    from ..estimators.deconvolution import Deconvolution


def posterior(data: Gaussians, population: Deconvolution | None = None) -> Gaussians:
    """Estimate the true value of each sample from its measurement and from the other samples.

    Model: true values come from one population N(m, T) and are measured with the noise of their given
    covariances, x_i ~ N(truth_i, Σ_i). m and T maximise the likelihood Π N(x_i; m, T + Σ_i), which takes the
    noise out of the spread; then truth_i given x_i is Gaussian with

        mean  m + T (T + Σ_i)⁻¹ (x_i − m),   covariance  T − T (T + Σ_i)⁻¹ T.

    For training on noisy samples and use on precise ones: the measured means are spread too widely, and
    their raw covariance would add the noise a second time. Not for use on samples as noisy as those of
    training, where it harms, unless these are treated in the same way.

    Assumes one Gaussian population for both classes: samples are drawn towards the common mean, so that
    classes far apart compared with their widths move towards each other. It uses no labels, since those of
    new samples are not known. Assumes noise that is independent of the truth.

    Parameters
    ----------
    data : Gaussians
        The measurements with their noise.
    population : fitted Deconvolution, optional
        By default `svmgsu.Deconvolution(1)`, one Gaussian, fitted to the data. With more components nothing
        is assumed of the population's shape, and `population.transform(data)` has more than one Gaussian for
        each sample. For test data pass that of the training data.

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


def one_gaussian() -> Deconvolution:
    """Return a population of one Gaussian whose fit goes on until it is exact to about six digits."""
    from ..estimators.deconvolution import Deconvolution

    return Deconvolution(1, init=1, tol=1e-10, max_iter=5000)
