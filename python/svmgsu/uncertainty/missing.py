"""Tables with holes: what is missing becomes uncertainty instead of a guess."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..data.covariances import Diagonal, LowRank
from ..data.gaussians import Gaussians
from ..exceptions import ConvergenceWarning
from ..support.arrays import blocks
from ..support.precision import stored_as
from ..support.validation import (
    Array,
    FloatArray,
    as_float_array,
    check_choice,
    check_count,
    check_positive,
    column_names,
)
from ._support import need, track

Population = tuple[FloatArray, FloatArray]


def from_missing(
    X: Any,
    *,
    method: str = "conditional",
    population: tuple[Any, Any] | None = None,
    shrink: float | str = 0.0,
    tol: float = 1e-3,
    max_iter: int = 500,
    verbose: bool = False,
) -> Gaussians:
    """A table with missing values (NaN): what is known of them given what is observed.

    Model: rows are draws from one Gaussian N(μ, Σ), fitted to all observed values by expectation and
    maximisation (`fit_gaussian`). For a row with observed values o and missing values m,

        mean  x_m = μ_m + Σ_mo Σ_oo⁻¹ (x_o − μ_o),   covariance  Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om,

    and observed values are certain.

    Assumes that values are missing at random: whether one is missing may depend on what is observed, not
    on itself. If large values tend to be missing, both mean and covariance are wrong. The classes are
    not told apart, so the fit blurs between two far ones. On data missing at random in training and use
    alike, the conditional mean is what helps; the covariance adds little.

    Parameters
    ----------
    X : array or DataFrame of shape (l, n)
        NaN where missing; also pandas.NA, null, or masked.
    method : {"conditional", "marginal"}
        "conditional" is the model above. "marginal" ignores the other features: a missing value has the
        mean and the variance of its column.
    population : (mean, cov), optional
        The Gaussian, instead of fitting it: for test data, that of the training data by `fit_gaussian`.
    shrink : float in [0, 1] or "ledoit_wolf" or "oas", default=0.0
        See `fit_gaussian`.
    tol, max_iter, verbose
        See `fit_gaussian`.

    Returns
    -------
    Gaussians
        With `LowRank` covariances of as many factors as values are missing in the row ("conditional"), or
        `Diagonal` ones ("marginal"); float32 if X is. The factors take l × missing × n numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from svmgsu.uncertainty import from_missing
    >>> table = [[1.0, np.nan], [0.0, 2.0]]
    >>> data = from_missing(table, population=([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]]))
    >>> data.mean
    array([[1. , 0.5],
           [0. , 2. ]])
    >>> data.cov.to_full()[0]
    array([[0.  , 0.  ],
           [0.  , 0.75]])
    """
    check_choice(method, "method", ("conditional", "marginal"))
    table, holes = _as_table(X, complete_columns=population is not None)
    known = None if population is None else _as_population(population, table.shape[1])
    if method == "marginal":
        centre, variances = _column_moments(table) if known is None else (known[0], np.diag(known[1]))
        means = np.where(holes, centre, table).astype(table.dtype)
        cov = Diagonal(stored_as(holes * variances, table.dtype))
        return Gaussians(means, cov, feature_names=column_names(X))
    if known is None:
        fit = fit_gaussian(table, shrink=shrink, tol=tol, max_iter=max_iter, verbose=verbose)
        known = _as_population(fit, table.shape[1])
    means, factors = _conditional(table, holes, known)
    return Gaussians(means, factors, feature_names=column_names(X))


def fit_gaussian(
    X: Any,
    *,
    shrink: float | str = 0.0,
    tol: float = 1e-3,
    max_iter: int = 500,
    verbose: bool = False,
) -> Population:
    """Mean and covariance of a table with missing values, by expectation and maximisation.

    The likelihood of the observed values under N(μ, Σ) is maximised: each step fills in the conditional
    means, and adds the conditional covariances to the scatter.

    Parameters
    ----------
    X : array of shape (l, n), NaN where missing
    shrink : float in [0, 1] or "ledoit_wolf" or "oas", default=0.0
        The share s of the columns' own variances in (1 − s) Σ + s diag(variances), in every step. With
        more features tha samples it must be above 0. The two names take the share that scikit-learn
        finds on the standardised table with its holes filled by means.
    tol : float, default=1e-3
        Stop when no mean or covariance changes by more, in units of the columns' deviations.
    max_iter : int, default=500
        Steps at the most; a `ConvergenceWarning` says if they were not enough.
    verbose : bool, default=False
        Show a progress bar (with tqdm where it is installed).

    Returns
    -------
    mean : array of shape (n,)
    cov : array of shape (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from svmgsu.uncertainty import fit_gaussian
    >>> x = np.array([-1.0, 0.0, 1.0, 2.0])
    >>> mean, cov = fit_gaussian(np.column_stack([x, -x]))
    >>> mean, cov
    (array([ 0.5, -0.5]), array([[ 1.25, -1.25],
           [-1.25,  1.25]]))
    """
    table, holes = _as_table(X, complete_columns=False)
    check_positive(tol, "tol")
    check_count(max_iter, "max_iter")
    count, n = table.shape
    centre, variances = _column_moments(table)
    scale = np.sqrt(np.where(variances > 0, variances, 1.0))
    Z = np.where(holes, 0.0, (table - centre) / scale)
    target = np.where(variances > 0, 1.0, 0.0)
    share = _share(shrink, Z)
    if share == 0 and count <= n and holes.any():
        raise ValueError(
            f"shrink: {count} samples do not determine the covariance of {n} features; "
            'pass shrink="ledoit_wolf" or a number above 0'
        )
    mean, S = np.zeros(n), np.diag(target)
    if not holes.any():
        mean, S = _maximised(Z, np.zeros((n, n)), share, target)
        return _unscaled(mean, S, centre, scale)
    for _ in track(range(max_iter), max_iter, "expectation and maximisation", verbose):
        filled, extra = _expected(Z, holes, (mean, S))
        new_mean, new_S = _maximised(filled, extra, share, target)
        change = max(np.abs(new_mean - mean).max(), np.abs(new_S - S).max())
        mean, S = new_mean, new_S
        if change <= tol:
            break
    else:
        warnings.warn(
            f"fit_gaussian: after {max_iter} steps the covariance still changes by {change:.2g} "
            f"(tol is {tol:g}); raise max_iter, or shrink",
            ConvergenceWarning,
            stacklevel=2,
        )
    return _unscaled(mean, S, centre, scale)


def _unscaled(mean: FloatArray, S: FloatArray, centre: FloatArray, scale: FloatArray) -> Population:
    return centre + scale * mean, scale[:, None] * S * scale


def _maximised(filled: FloatArray, extra: FloatArray, share: float, target: FloatArray) -> Population:
    """The M-step; a fixed share of a fixed target is the mode under an inverse Wishart prior."""
    mean = filled.mean(axis=0)
    D = filled - mean
    S = (D.T @ D + extra) / len(filled)
    return mean, (1 - share) * S + share * np.diag(target)


def _expected(Z: FloatArray, holes: Array, population: Population) -> Population:
    """The E-step: conditional means, and the sum of the conditional covariances."""
    n = Z.shape[1]
    filled, extra = Z.copy(), np.zeros((n, n))
    for rows, where, mean, L in _conditionals(Z, holes, population):
        filled[rows[:, None], where] = mean
        C = L.transpose(0, 2, 1) @ L
        np.add.at(extra, (where[:, :, None], where[:, None, :]), C)
    return filled, extra


def _conditionals(
    X: Array, holes: Array, population: Population
) -> Iterator[tuple[Array, Array, FloatArray, FloatArray]]:
    """(rows, missing columns, conditional means, factors) for every number m of missing values, batched.

    With the precision Λ = Σ⁻¹ the conditional covariance is Λ_mm⁻¹ and the conditional mean
    μ_m − Λ_mm⁻¹ Λ_mo (x_o − μ_o): systems of the missing values alone. Factors F, (m, m), have FᵀF = Λ_mm⁻¹.
    """
    mean, S = population
    precision, constant = _precision(S)
    counts = holes.sum(axis=1)
    for m in np.unique(counts[counts > 0]).tolist():
        same = np.flatnonzero(counts == m)
        for part in blocks(len(same), 4 * m * m + 2 * X.shape[1]):
            rows = same[part]
            where = np.nonzero(holes[rows])[1].reshape(len(rows), m)
            D = np.where(holes[rows], 0.0, X[rows] - mean)
            D[:, constant] = 0.0
            pull = np.take_along_axis(D @ precision, where, axis=1)
            L = np.linalg.cholesky(precision[where[:, :, None], where[:, None, :]])
            F = np.linalg.inv(L)
            F[np.broadcast_to(constant[where][:, None, :], F.shape)] = 0.0
            C_pull = (F.transpose(0, 2, 1) @ (F @ pull[:, :, None]))[:, :, 0]
            yield rows, where, mean[where] - C_pull, F


def _precision(S: FloatArray) -> tuple[FloatArray, Array]:
    """Σ⁻¹, and which columns are constant; a constant column is its mean whatever the others."""
    constant = np.diag(S) <= 0
    safe = S + np.diag(np.where(constant, 1.0, 0.0))
    scale = np.sqrt(np.diag(safe))
    correlation = safe / scale / scale[:, None]
    values, vectors = np.linalg.eigh(correlation)
    if values[0] < -1e-8 * len(S):
        raise ValueError(f"population: the covariance has the negative eigenvalue {values[0]:.3g}")
    values = np.maximum(values, 1e-12 * len(S))  # columns that determine each other, up to rounding
    return (vectors / values) @ vectors.T / scale / scale[:, None], constant


def _conditional(table: Array, holes: Array, population: Population) -> tuple[Array, LowRank]:
    n = table.shape[1]
    means = np.where(holes, 0.0, table).astype(table.dtype)
    start = np.concatenate([[0], np.cumsum(holes.sum(axis=1))])
    factors = np.zeros((int(start[-1]), n), dtype=table.dtype)
    for rows, where, mean, F in _conditionals(table, holes, population):
        means[rows[:, None], where] = mean
        lines = start[rows, None] + np.arange(where.shape[1])
        factors[lines[:, :, None], where[:, None, :]] = F
    return means, LowRank(factors, start=start)


def _as_table(X: Any, complete_columns: bool) -> tuple[Array, Array]:
    """X and where its holes are; `complete_columns` allows a column without any value."""
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X if X.dtype.kind == "f" else X.astype(np.float64), np.nan)
    if hasattr(X, "iloc") and np.asarray(X).dtype == object:  # pandas.NA is no number, but can be told to be
        X = X.to_numpy(dtype=np.float64, na_value=np.nan)
    table = as_float_array(X, "X", (2,))
    if 0 in table.shape:
        raise ValueError(f"X: expected at least one sample and one feature, got shape {table.shape}")
    infinite = np.argwhere(np.isinf(table))
    if len(infinite):
        i, j = infinite[0].tolist()
        raise ValueError(f"X: sample {i}, feature {j} is {table[i, j]}; missing values are NaN")
    holes = np.isnan(table)
    empty = holes.all(axis=0)
    if empty.any() and not complete_columns:
        raise ValueError(f"X: feature {int(empty.argmax())} is missing in every sample; leave it out")
    return table, holes


def _column_moments(table: Array) -> Population:
    """Mean and variance of the observed values of each column."""
    wide = table.astype(np.float64)
    mean = np.nanmean(wide, axis=0)
    return mean, np.nanmean((wide - mean) ** 2, axis=0)


def _as_population(population: tuple[Any, Any], n: int) -> Population:
    try:
        mean, cov = population
    except (TypeError, ValueError):
        raise ValueError("population: expected a pair (mean, cov), as fit_gaussian returns") from None
    m = as_float_array(mean, "population", (1,)).astype(np.float64)
    S = as_float_array(cov, "population", (2,)).astype(np.float64)
    if m.shape != (n,) or S.shape != (n, n):
        raise ValueError(f"population: mean and cov have shapes {m.shape} and {S.shape}; X has {n} features")
    if not (np.isfinite(m).all() and np.isfinite(S).all()) or not np.allclose(S, S.T):
        raise ValueError("population: the mean must be finite, the covariance finite and symmetric")
    if (np.diag(S) < 0).any():
        j = int(np.argmax(np.diag(S) < 0))
        raise ValueError(f"population: feature {j} has variance {S[j, j]:g}; variances must be >= 0")
    return m, S


def _share(shrink: float | str, Z: FloatArray) -> float:
    if isinstance(shrink, str):
        check_choice(shrink, "shrink", ("ledoit_wolf", "oas"))
        library = need("sklearn.covariance", f'fit_gaussian(shrink="{shrink}")')
        found = library.oas(Z)[1] if shrink == "oas" else library.ledoit_wolf_shrinkage(Z)
        return float(np.clip(found, 0.0, 1.0))  # which rounding may leave
    share = float(as_float_array(shrink, "shrink", (0,)))
    if not 0 <= share <= 1:
        raise ValueError(f"shrink: must be from 0 to 1, got {shrink!r}")
    return share
