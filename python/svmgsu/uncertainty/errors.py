"""Values with error bars as Gaussians."""

from __future__ import annotations

import contextlib

from ..data.covariances import Diagonal
from ..data.error_bars import UNITS, SignError, bar_unit, combine, lower_sizes
from ..data.frames import LOWER, STD, UPPER
from ..data.gaussians import Gaussians
from ..support.arrays import stored_as
from ..support.validation import (
    DEVIATIONS,
    Array,
    ArrayLike,
    check_choice,
    check_column_order,
    check_range,
    check_row_order,
    column_names,
)
from ._support import as_samples, over_samples

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
    (use `svmgsu.Propagate`). Harms if errors are overestimated: then every sample says little. Compare
    `cov_scale=0` in `LinearSVMGSU`. Standard errors se of averages of N values describe new averages; for
    single values, pass se √N.

    Parameters
    ----------
    X : array of shape (l, n)
        Measured values.
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
    means = as_samples(X)
    shape = (means.shape[0], means.shape[1])
    given = {"std": std, "upper": upper, "lower": lower}
    check_column_order(column_names(X), **given)
    check_row_order(X, **given)
    check_choice(units, "units", UNITS)
    check_choice(centre, "centre", CENTRES)
    if std is not None and (upper is not None or lower is not None):
        raise ValueError("std: give either std or upper and lower, not both")
    if std is None and (upper is None or lower is None):
        raise ValueError("std: missing; give std, or both upper and lower")

    def bars(name: str, what: str) -> Array:
        sizes = over_samples(given[name], shape, name)
        if what == LOWER:
            # Lower errors of both signs stay as they are: the check names the first that is negative.
            with contextlib.suppress(SignError):
                sizes = lower_sizes(sizes)
        check_range(sizes, name, *DEVIATIONS)
        return sizes

    found = {UPPER: "upper", LOWER: "lower"} if std is None else {STD: "std"}
    moved, variances = combine(found, bars, centre, bar_unit(means, units), floor)
    means = means if moved is None else (means + moved).astype(means.dtype)
    return Gaussians(means, Diagonal(stored_as(variances, means.dtype)), feature_names=column_names(X))
