"""Error bars and standard errors as Gaussians."""

from __future__ import annotations

import numpy as np

from ..data.covariances import Diagonal
from ..data.error_bars import UNITS, SignError, bar_unit, combine, lower_sizes, raised
from ..data.frames import LOWER, STD, UPPER
from ..data.gaussians import Gaussians
from ..support.arrays import stored_as
from ..support.validation import (
    Array,
    ArrayLike,
    FloatArray,
    check_choice,
    check_column_order,
    check_row_order,
    column_names,
)
from ._support import as_samples, deviations, over_samples

CENTRES = ("median", "mode")


def from_errors(
    X: ArrayLike,
    std: ArrayLike = None,
    *,
    upper: ArrayLike = None,
    lower: ArrayLike = None,
    centre: str = "median",
    units: str = "same",
    floor: ArrayLike = 0.0,
) -> Gaussians:
    """Describe measured values with error bars.

    Model: the value of sample i and feature j is N(X_ij, std_ij²), and all errors are independent.
    Asymmetric errors are a normal distribution of width `upper` above X and `lower` below it, of which the
    mean and the variance are taken: the mean moves to the longer side.

    Assumes that an error is one standard deviation (68 %), not two and not a range, and that errors of
    different features have nothing to do with each other: colours u − g and g − r share the error of g
    (use `propagate`). Harms if errors are overestimated, since then every sample says little: compare
    `cov_scale=0` in `LinearSVMGSU`.

    Parameters
    ----------
    X : array of shape (l, n)
    std : number or array of shape (n,) per feature, (l,) per sample, or (l, n)
        Symmetric error bars. With as many samples as features, pass (l, 1) or (1, n).
    upper, lower : as `std`
        Asymmetric error bars, instead of `std`. Catalogues print lower errors with a minus sign: a
        feature's errors that are all <= 0 are taken without it.
    centre : {"median", "mode"}
        What X is where errors are asymmetric. "median": X − lower and X + upper are the 16 % and 84 %
        quantiles, half of the mass on each side. "mode": the density is continuous at its peak X.
    units : {"same", "relative", "linear of log10", "linear of log"}
        Of the errors. "relative": fractions of |X|. "linear of log10": X is log10 of a quantity and errors
        are the quantity's own, so that to first order std(X) = std/(ln(10) 10^X); likewise for the natural
        logarithm. First order is good while an error is below about a third of the quantity.
    floor : number, array of shape (n,) or "smallest", default=0.0
        The smallest error believed, in units of X: smaller errors are raised to it. "smallest" is the
        feature's smallest error above zero, for tables in which an unknown error is printed as 0.

    Returns
    -------
    Gaussians
        With `Diagonal` covariances; float32 if X is.

    Examples
    --------
    >>> import numpy as np
    >>> from svmgsu.uncertainty import from_errors
    >>> data = from_errors([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], std=[0.1, 0.2])
    >>> data.cov.variances[0].round(3)
    array([0.01, 0.04])
    >>> flux = from_errors(np.log10([[100.0]]), std=10.0, units="linear of log10")
    >>> flux.cov.variances.round(5)  # (10/100/ln 10)²
    array([[0.00189]])
    >>> skewed = from_errors([[10.0]], upper=2.0, lower=-1.0)
    >>> skewed.mean.round(3), skewed.cov.variances.round(3)
    (array([[10.399]]), array([[2.341]]))
    """
    means, shape = _samples(X, std=std, upper=upper, lower=lower)
    check_choice(units, "units", UNITS)
    check_choice(centre, "centre", CENTRES)
    if std is not None and (upper is not None or lower is not None):
        raise ValueError("std: give either std or upper and lower, not both")
    if std is None and (upper is None or lower is None):
        raise ValueError("std: missing; give std, or both upper and lower")
    given = {"std": std, "upper": upper, "lower": lower}

    def bars(name: str, what: str) -> Array:
        return _lower(lower, shape) if what == LOWER else deviations(given[name], shape, name)

    found = {UPPER: "upper", LOWER: "lower"} if std is None else {STD: "std"}
    moved, variances = combine(found, bars, centre, bar_unit(means, units), floor)
    return _diagonal(means if moved is None else (means + moved).astype(means.dtype), variances, X)


def from_standard_errors(
    X: ArrayLike,
    se: ArrayLike,
    *,
    n: ArrayLike = None,
    floor: ArrayLike = 0.0,
) -> Gaussians:
    """Describe averages with their standard errors.

    Model: X_ij is the average of N values of variance σ², so its standard error is se = σ/√N. Without
    `n` the sample is the average: its variance is se². With `n` the sample stands for single values:
    their variance is n se². Errors are independent between features.

    Choose by what will be classified: new averages of about as many values, or single values. The wrong
    one harms: n se² for averages drowns the classes in noise that never comes.

    Parameters
    ----------
    X : array of shape (l, n)
        Averages.
    se : number or array of shape (n,), (l,) or (l, n)
        Standard errors.
    n : number or array of shape (n,), (l,) or (l, n), optional
        How many values were averaged.
    floor : number, array of shape (n,) or "smallest", default=0.0
        The smallest standard deviation of the result, in units of X.

    Returns
    -------
    Gaussians
        With `Diagonal` covariances; float32 if X is.

    Examples
    --------
    >>> from svmgsu.uncertainty import from_standard_errors
    >>> X, se = [[10.0], [14.0], [20.0]], [[0.5], [1.0], [2.0]]
    >>> from_standard_errors(X, se).cov.variances.ravel()
    array([0.25, 1.  , 4.  ])
    >>> from_standard_errors(X, se, n=25).cov.variances.ravel()
    array([  6.25,  25.  , 100.  ])
    """
    means, shape = _samples(X, se=se)
    errors = deviations(se, shape, "se").astype(np.float64)
    if n is not None:
        counts = over_samples(n, shape, "n")
        if not (counts >= 1).all():
            i, j = np.argwhere(~(counts >= 1))[0].tolist()
            raise ValueError(f"n: sample {i} has {counts[i, j]:g} at feature {j}; an average is of 1 or more")
        errors = errors * np.sqrt(counts)
    return _diagonal(means, raised(errors, floor) ** 2, X)


def _samples(X: ArrayLike, **errors: ArrayLike) -> tuple[Array, tuple[int, int]]:
    """Return the means and their shape; refuse errors in another order."""
    means = as_samples(X)
    check_column_order(column_names(X), **errors)
    check_row_order(X, **errors)
    return means, (means.shape[0], means.shape[1])


def _lower(lower: ArrayLike, shape: tuple[int, int]) -> Array:
    bars = over_samples(lower, shape, "lower")
    try:
        return deviations(lower_sizes(bars), shape, "lower")
    except SignError:
        return deviations(bars, shape, "lower")  # which names the first that is negative


def _diagonal(means: Array, variances: FloatArray, X: ArrayLike) -> Gaussians:
    cov = Diagonal(stored_as(variances, means.dtype))
    return Gaussians(means, cov, feature_names=column_names(X))
