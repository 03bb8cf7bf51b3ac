"""Missing values: what is unknown becomes uncertainty instead of a guess."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.gaussians import Gaussians
from .population import one_gaussian

if TYPE_CHECKING:
    from ..estimators.deconvolution import Deconvolution


def from_missing(X: Any, population: Deconvolution | None = None) -> Gaussians:
    """Fill in missing values (NaN) with what is known of them given what is observed.

    Model: samples are draws from one Gaussian N(μ, Σ), fitted to all observed values by expectation
    maximisation. For a sample with observed values o and missing values m,

        mean  x_m = μ_m + Σ_mo Σ_oo⁻¹ (x_o − μ_o),   covariance  Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om,

    and observed values are exact.

    Assumes that values are missing at random: whether one is missing may depend on what is observed, not
    on itself. If large values tend to be missing, both mean and covariance are wrong. The classes are
    not told apart, so the fit averages over two distant ones. On data missing at random in training and at
    test time alike, the conditional mean is what helps; the covariance adds little.

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
        count, n = np.shape(X)
        if count <= n:
            raise ValueError(
                f"X: {count} samples do not determine the covariance of {n} features; pass a population, "
                "such as svmgsu.Deconvolution(1, reg_covar=0.1).fit(X)"
            )
        population = one_gaussian().fit(X)
    return population.transform(X).to_gaussians()
