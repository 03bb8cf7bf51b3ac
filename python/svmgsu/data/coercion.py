"""Values and covariances as a user gives them, read as arrays and kinds that fit the samples.

Kinds add (`Diagonal(V) + Shared(S)`) and scale (`0.5 * cov`); `to_full()` shows any of them as matrices.
"""

from __future__ import annotations

import numpy as np

from ..support.arrays import dense, squared
from ..support.types import Quantity
from ..support.validation import DEVIATIONS, Array, ArrayLike, Matrix, as_float_array, is_sparse
from ..support.warning import warn
from .covariances import Covariance, Diagonal, Full, Isotropic, Psd, Shared
from .covariances.full import SYMMETRY_TOLERANCE

MOST_SAMPLES = 1000  # that are compared with their variances: a look at a memory map must not read it all
FEW_SAMPLES = 10  # whose spread says little


def plain_arrays(X: Matrix, cov: Quantity, std: Quantity) -> tuple[Matrix, ArrayLike, ArrayLike]:
    """Return X, cov and std as plain arrays in the unit of X.

    They may be quantities of astropy, or X an array of the package uncertainties, which brings its own
    standard deviations, and covariances where the values of a sample are correlated.
    """
    if hasattr(X, "to_value") or hasattr(cov, "to_value") or hasattr(std, "to_value"):
        unit = getattr(X, "unit", None)
        plain: dict[str, ArrayLike] = {"cov": cov, "std": std}
        for name, given, power in (("cov", cov, 2), ("std", std, 1)):
            if given is None:
                continue
            own = getattr(given, "unit", None)
            if unit is None or own is None:
                with_unit, without = (name, "X") if unit is None else ("X", name)
                raise ValueError(f"{name}: {with_unit} is in {own or unit}, but {without} has no unit")
            try:
                plain[name] = given.to_value(unit**power)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{name}: {' '.join(str(error).split())}") from None
        return (X if unit is None else X.value), plain["cov"], plain["std"]
    first = X.flat[0] if isinstance(X, np.ndarray) and X.dtype == object and X.size else None
    if not hasattr(first, "nominal_value"):
        return X, cov, std
    if cov is not None or std is not None:
        raise ValueError(f"{'std' if cov is None else 'cov'}: the values of X bring their uncertainties")
    from uncertainties import covariance_matrix, unumpy

    values = unumpy.nominal_values(X)
    variables = all(type(value).__name__ == "Variable" for value in X.flat)  # no sums and products of others
    if variables and all(len(set(map(id, row))) == len(row) for row in X):
        return values, None, unumpy.std_devs(X)
    return values, np.array([covariance_matrix(row) for row in X]), None


def as_covariance(
    cov: ArrayLike, std: ArrayLike, shape: tuple[int, int], psd: Psd = "clip", mean: Matrix = None
) -> Covariance | None:
    """Return `cov` or `std` as a kind that fits (l, n) samples.

    Plain arrays mean by their shape: a number or (l,) isotropic, (l, n) diagonal, (l, n, n) full, for which
    `psd` is as in `Full`. Variances that look like standard deviations beside the means are warned of.
    """
    if std is not None:
        if cov is not None:
            raise ValueError("std: give either cov or std, not both")
        return _by_shape(squared(as_float_array(std, "std", (0, 1, 2), DEVIATIONS)), "std", shape, psd)
    if cov is None:
        return None
    if isinstance(cov, Covariance):
        kind = cov
    elif is_sparse(cov):
        kind = Diagonal(cov, name="cov")
    else:
        array = as_float_array(cov, "cov", (0, 1, 2, 3))
        kind = _by_shape(array, "cov", shape, psd)
        if mean is not None and array.ndim in (1, 2):
            _warn_of_deviations(mean, kind, shape)
    for name, have, want in zip(
        ("samples", "features"), (kind.n_samples, kind.n_features), shape, strict=True
    ):
        if have is not None and have != want:
            raise ValueError(f"cov: {type(kind).__name__} has {have} {name}, but X has {want}")
    return kind


def _by_shape(array: Array, name: str, shape: tuple[int, int], psd: Psd) -> Covariance:
    """Return the kind that the shape of a plain array means; an ambiguous shape is an error."""
    count, n = shape
    is_std = name == "std"
    if is_std and array.shape == shape:  # standard deviations of a table have no other meaning
        return Diagonal(array, check=False)
    if array.shape in ((n,), (n, n)) and (n > 1 or count > 1):
        given = "cov=svmgsu.{}(np.square(std))" if is_std else "cov=svmgsu.{}(cov)"
        one_each = "variances" if array.ndim == 2 else "one per sample"
        one_for_all = "one matrix for all samples" if array.ndim == 2 else "one per feature"
        shared = f"{one_for_all}, pass {given.format('Shared')}"
        if count == n:
            kind = "Diagonal" if array.ndim == 2 else "Isotropic"
            raise ValueError(
                f"{name}: shape {array.shape} is ambiguous, since there are as many samples as features; for "
                f"{one_each}, pass {given.format(kind)}, for {shared}"
            )
        raise ValueError(
            f"{name}: shape {array.shape} fits the features but not the {count} samples; for {shared}"
        )
    if array.ndim <= 1:
        if array.ndim == 1 and len(array) != count:
            what = "standard deviations" if is_std else "variances"
            raise ValueError(f"{name}: {len(array)} {what} for {count} samples")
        return Isotropic(array, name=name, check=not is_std)
    if array.shape not in (shape, (*shape, n)):
        more = (
            "" if is_std else f", ({count}, {n}, {n}), or svmgsu.Isotropic, Diagonal, Full, LowRank or Shared"
        )
        raise ValueError(
            f"{name}: shape {array.shape} does not fit {count} samples of {n} features; expected a number, "
            f"({count},), or ({count}, {n})" + ("" if is_std else more)
        )
    return Diagonal(array, name=name) if array.ndim == 2 else Full(array, psd=psd)


def _warn_of_deviations(mean: Matrix, cov: Covariance, shape: tuple[int, int]) -> None:
    """Warn if variances imply more noise than the data are spread in most features: as deviations do."""
    count, n = shape
    if count < FEW_SAMPLES or cov.n_samples != count:
        return
    rows = np.unique(np.linspace(0, count - 1, min(count, MOST_SAMPLES)).astype(np.int64))
    with np.errstate(all="ignore"):
        spread = dense(mean[rows]).std(axis=0, dtype=np.float64)
        variance = np.median(cov.take(rows).diagonals(len(rows), n), axis=0)
    # Noise widens the spread: were these variances, most features could not be narrower than their noise.
    narrow = int(np.count_nonzero((variance > spread**2) & (spread > 0)))
    if 2 * narrow > n:
        warn(
            f"cov: the noise that it implies (the square root of each variance) exceeds the spread of the "
            f"data in {narrow} of {n} features. For standard deviations, pass std=; if these are variances, "
            "pass svmgsu.Diagonal(cov) or svmgsu.Isotropic(cov)"
        )


def as_test_noise(
    cov: ArrayLike, shape: tuple[int, int], seed: int, psd: Psd = "clip", name: str = "deployment_cov"
) -> Covariance:
    """Return test-time noise as a covariance of (l, n) samples: one for all, or one each from a pool."""
    count, n = shape
    if isinstance(cov, Covariance):
        pool = cov
    else:
        array = as_float_array(cov, name, (0, 1, 2, 3))
        if array.shape[-1:] not in ((), (n,)):
            raise ValueError(f"{name}: shape {array.shape} does not fit {n} features")
        if array.ndim == 0:
            return Isotropic(array, name=name)
        if array.shape == (n, n) and n > 1:
            # As many covariances as features, (k, n) variances, have the shape of one matrix.
            same = bool((array == array[0, 0]).all())
            if same or not np.allclose(array, array.T, rtol=SYMMETRY_TOLERANCE, atol=0.0, equal_nan=True):
                why = "all its entries are the same" if same else "it is not symmetric"
                raise ValueError(
                    f"{name}: shape {array.shape} means one covariance matrix, but {why}; for a pool of "
                    f"{n} covariances pass svmgsu.Diagonal(variances), for a matrix svmgsu.Shared(matrix)"
                )
        if array.shape in ((n,), (n, n)):
            return Shared(array, psd=psd, name=name)
        pool = Full(array, psd=psd, name=name) if array.ndim == 3 else Diagonal(array, name=name)
    if pool.n_features not in (None, n):
        raise ValueError(f"{name}: {pool.n_features} features, but X has {n}")
    if pool.n_samples is None:
        return pool
    return pool.take(np.random.default_rng(seed).integers(pool.n_samples or 1, size=count))
