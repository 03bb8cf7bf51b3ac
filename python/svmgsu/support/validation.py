"""Checks of arguments. Each error names the argument, the place, what was found and what is wanted."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _core
from .errors import InvalidValue, words_of
from .memory import require_memory

Array: TypeAlias = npt.NDArray[Any]
FloatArray: TypeAlias = npt.NDArray[np.float64]
# What a user gives where an array is wanted: an array, a sparse matrix, a data frame, a list, or None. It has
# no attributes until somebody has looked.
ArrayLike: TypeAlias = object
Matrix: TypeAlias = Any  # an array or a sparse matrix of SciPy, which has no types
RandomState: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
LARGEST_FACTOR = 1e150
LARGEST_DEVIATION = float(np.sqrt(np.finfo(np.float64).max))
FROM_MISSING = "svmgsu.uncertainty.from_missing(X) makes Gaussians of a table with missing values"


def is_sparse(a: object) -> bool:
    """Return whether `a` is one of SciPy's sparse matrices and arrays, without importing SciPy."""
    return hasattr(type(a), "tocsr") and hasattr(type(a), "nnz")


class Numbers(NamedTuple):
    """What numbers are and how large they may be; they are finite."""

    what: str = ""
    least: float = -np.inf
    most: float = np.inf


FINITE = Numbers()
VARIANCES = Numbers("variance", 0.0)
DEVIATIONS = Numbers("standard deviation", 0.0, LARGEST_DEVIATION)


def as_float_array(a: ArrayLike, name: str, ndim: tuple[int, ...], numbers: Numbers | None = None) -> Array:
    """Return `a` as a C-contiguous float64 or float32 array; itself if it is one already (np.memmap too).

    Integers and booleans become float64; anything that is not made of numbers is refused, and so are numbers
    that are not what `numbers` says.
    """
    if hasattr(type(a), "tocsr"):
        raise TypeError(f"{name}: got a sparse matrix, which is not supported here; pass {name}.toarray()")
    if isinstance(a, dict):
        raise TypeError(f"{name}: expected an array or a table, got a dict; pass pandas.DataFrame({name})")
    if type(a) is not np.ndarray and isinstance(a, np.ma.MaskedArray) and np.ma.is_masked(a):
        advice = FROM_MISSING if name == "X" else "fill in an estimate, or leave such samples out"
        raise InvalidValue(name, "is masked", place_of(int(np.ma.getmaskarray(a).argmax()), a.shape), advice)
    try:
        array = np.asarray(a)
        if array.dtype == object:
            array = _numbers_of(array)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: could not be read as an array of numbers ({error})") from None
    if array.dtype.kind == "c":
        raise ValueError(f"{name}: Complex data not supported; got {array.dtype}")
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name}: expected numbers, got dtype {array.dtype}")
    if array.ndim not in ndim:
        wanted = " or ".join(str(k) for k in ndim)
        hint = ". Reshape your data: one row per sample, one column per feature" if 2 in ndim else ""
        raise ValueError(f"{name}: expected {wanted} dimensions, got an array of shape {array.shape}{hint}")
    kept = array.dtype if array.dtype in _FLOATS else np.dtype(np.float64)
    if not array.ndim:
        array = array.astype(kept)
    elif not (array.dtype == kept and array.flags.c_contiguous and array.flags.aligned):
        if array.dtype != kept:
            require_memory(kept.itemsize * array.size, f"{name}: a copy of {array.size} numbers as {kept}")
        with np.errstate(over="ignore", invalid="ignore"):  # infinities are named below
            array = np.require(np.ascontiguousarray(array, dtype=kept), requirements="A")
    if numbers is not None and array.size and _core.first_outside(array, numbers.least, numbers.most) >= 0:
        check_range(array, name, *numbers)
    return array


def _numbers_of(objects: Array) -> Array:
    """Return objects as float64; the error names the first that is no number, such as pandas' NA."""
    for i, value in enumerate(objects.flat):
        if isinstance(value, (str, bytes)):
            raise ValueError(f"it holds strings: {words_of(place_of(i, objects.shape))} is {value!r}")
    try:
        return objects.astype(np.float64)
    except (TypeError, ValueError) as error:
        for i, value in enumerate(objects.flat):
            if not isinstance(value, numbers.Real) and value is not None:
                where = words_of(place_of(i, objects.shape))
                raise type(error)(f"{where} is {value!r} of type {type(value).__name__}: {error}") from None
        raise


def column_names(a: ArrayLike) -> list[str] | None:
    """Return the columns of a DataFrame, if they are strings."""
    columns = getattr(a, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return list(columns)


def check_column_order(known: list[str] | None, **tables: ArrayLike) -> None:
    """Refuse data frames with the `known` columns in another order: errors would go to other features."""
    for name, table in tables.items():
        columns = column_names(table)
        if known and columns and columns != known and set(columns) == set(known):
            raise ValueError(f"{name}: its columns are {listed(columns)}, but those of X are {listed(known)}")


def check_row_order(X: ArrayLike, **tables: ArrayLike) -> None:
    """Refuse data frames of pandas with other labels of rows than X has: they may be of other samples."""
    if not (hasattr(X, "iloc") and hasattr(X, "index")):  # of pandas; tables of astropy have iloc, too
        return
    index = X.index
    for name, table in tables.items():
        own = table.index if hasattr(table, "iloc") and hasattr(table, "index") else index
        if len(own) == len(index) and not own.equals(index):
            raise ValueError(
                f"{name}: its rows are labelled {listed(own)}, but those of X {listed(index)}; pass "
                f"{name}.loc[X.index], or {name}.to_numpy() if the rows are in the order of X"
            )


def place_of(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a flat index as (sample, feature, ...)."""
    return tuple(int(k) for k in np.unravel_index(index, shape)) if shape else ()


def check_range(
    a: Array,
    name: str,
    what: str = "",
    least: float = -np.inf,
    most: float = np.inf,
    where: Callable[[int], tuple[int, ...]] | None = None,
) -> None:
    """Refuse the first number that is not finite, below `least` or above `most`, in one reading.

    `what` is what the numbers are, `where` turns a flat index into a place.
    """
    found = _core.first_outside(a, least, most) if a.size else -1
    if found < 0:
        return
    value = a.flat[found]
    place = where(found) if where else place_of(found, a.shape)
    if not np.isfinite(value):
        advice = "NaN and infinity are not allowed"
        if name == "X":  # scikit-learn looks for its own words about X
            missing = f"; {FROM_MISSING}" if np.isnan(value) else ""
            advice += f"{missing} (Input X contains NaN or inf)"
        raise InvalidValue(name, f"is {value}", place, advice)
    feature = "".join(f" at feature {k}" for k in place[1:2])
    wanted = f"{what}s must be >= {least:g}" if value < least else f"its square is not finite ({what}s)"
    raise InvalidValue(name, f"has {what} {value:g}{feature}", place[:1], wanted)


def check_finite(a: Array, name: str) -> None:
    """Refuse NaN and infinity, naming the first one."""
    check_range(a, name)


def check_factors(a: Array, name: str) -> None:
    """Refuse what is not finite or has no finite square, naming the first one."""
    found = _core.first_outside(a, -LARGEST_FACTOR, LARGEST_FACTOR) if a.size else -1
    if found >= 0:
        check_finite(a, name)
        raise ValueError(
            f"{name}: {a.flat[found]:g} at feature {found % a.shape[-1]} has no finite square; factors "
            f"may be up to {LARGEST_FACTOR:g}"
        )


def check_choice(value: object, name: str, choices: Iterable[str]) -> None:
    """Refuse what is not one of the words."""
    words = tuple(choices)
    if not isinstance(value, str) or value not in words:
        wanted = ", ".join(f'"{word}"' for word in words)
        raise ValueError(f"{name}: expected one of {wanted}, got {value!r}")


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Return a Generator for a seed, Generator, RandomState or None."""
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(2**31 - 1)
    return np.random.default_rng(random_state)


def check_positive(value: object, name: str) -> float:
    """Return a positive finite number."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected a number, got {value!r}") from None
    if not (number > 0 and math.isfinite(number)):
        raise ValueError(f"{name}: must be positive and finite, got {value!r}")
    return number


def check_count(value: object, name: str, least: int = 1, most: int = 2**31 - 1) -> int:
    """Return a whole number from `least` to `most`."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}: expected a whole number, got {value!r}") from None
    if number < least:
        raise ValueError(f"{name}: must be at least {least}, got {number}")
    if number > most:
        raise ValueError(f"{name}: must be at most {most}, got {number}")
    return number


def listed(values: ArrayLike) -> str:
    """Return labels for a message, at most five of them."""
    shown = [repr(value) for value in np.asarray(values).tolist()]
    return ", ".join(shown[:5]) + (", ..." if len(shown) > 5 else "")
