"""Tables of values and error bars, from pandas or polars, as arrays.

A frame is read through its own columns: neither library is imported here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .validation import FloatArray

ErrorColumn = str | tuple[str, str] | float | None


def read_frame(
    frame: Any, values: Any, std: Any, *, suffix: str, asymmetric: str, floor: Any, missing: Any
) -> tuple[list[str], FloatArray, FloatArray | None]:
    """(names, means, variances or None) as `Gaussians.from_frame` says."""
    if asymmetric not in ("mean", "split-normal"):
        raise ValueError(f'asymmetric: expected "mean" or "split-normal", got {asymmetric!r}')
    columns = _columns(frame)
    names = _pairs(columns, suffix) if values is None else _checked(values, columns, "values")
    if values is None and std is not None:
        raise ValueError("std: it names the errors of `values`; pass values= too")
    errors = [_find_error(name, columns, suffix) for name in names] if std is None else list(std)
    if len(errors) != len(names):
        raise ValueError(f"std: {len(errors)} entries for {len(names)} values")
    floors = _floors(floor, len(names))
    mean = np.empty((len(frame), len(names)))
    variances = np.zeros_like(mean)
    for j, (name, error) in enumerate(zip(names, errors, strict=True)):
        mean[:, j] = _values(frame, name)
        if isinstance(error, (tuple, list)):
            upper, lower = _sides(frame, _checked(error, columns, "std"), floors[j], missing)
            shift, variances[:, j] = _combined(upper, lower, asymmetric)
            mean[:, j] += shift
        elif isinstance(error, str):
            _checked([error], columns, "std")
            variances[:, j] = _errors(frame, error, _numbers(frame, error), floors[j], missing) ** 2
        elif error is not None:
            variances[:, j] = _constant(error) ** 2
    return names, mean, None if all(error is None for error in errors) else variances


def _columns(frame: Any) -> list[str]:
    if hasattr(frame, "collect") and not hasattr(frame, "to_numpy"):
        raise TypeError("frame: a lazy frame; pass frame.collect()")
    if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
        raise TypeError(f"frame: expected a DataFrame of pandas or polars, got {type(frame).__name__}")
    columns = list(frame.columns)
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise ValueError(f"frame: column {twice!r} is there twice")
    if len(frame) == 0:
        raise ValueError("frame: it has no rows")
    return columns


def _checked(names: Any, columns: list[str], argument: str) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(f"{argument}: expected a list of column names, got {names!r}")
    for name in names:
        if name not in columns:
            raise ValueError(f"{argument}: the frame has no column {name!r}; it has {', '.join(columns)}")
    if argument == "values" and not names:
        raise ValueError("values: no column is named")
    return list(names)


def _partners(name: str, columns: list[str], suffix: str) -> list[ErrorColumn]:
    both = (f"{name}{suffix}1", f"{name}{suffix}2")
    found: list[ErrorColumn] = [name + suffix] if name + suffix in columns else []
    return [*found, both] if set(both) <= set(columns) else found


def _pairs(columns: list[str], suffix: str) -> list[str]:
    names = [name for name in columns if isinstance(name, str) and _partners(name, columns, suffix)]
    if not names:
        raise ValueError(
            f"suffix: no column has errors beside it: none is named like another with {suffix!r}, or with "
            f"{suffix + '1'!r} and {suffix + '2'!r}, at its end; pass values= and std="
        )
    return names


def _find_error(name: str, columns: list[str], suffix: str) -> ErrorColumn:
    found = _partners(name, columns, suffix)
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(f"std: {name!r} has errors both in {found[0]!r} and in {found[1]!r}; pass std=")
    raise ValueError(
        f"values: {name!r} has no column of errors {name + suffix!r}, nor {name + suffix + '1'!r} with "
        f"{name + suffix + '2'!r}; name it in std=, or put None there for a value without error"
    )


def _numbers(frame: Any, column: str) -> FloatArray:
    """A column as float64, NaN where it has nothing."""
    series = frame[column]
    try:
        if hasattr(series, "iloc"):  # pandas, whose nullable columns must be told what nothing is
            return np.array(series.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.array(series.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"frame: column {column!r} does not hold numbers (it is {series.dtype})") from None


def _row(frame: Any, i: int) -> str:
    label = frame.index[i] if hasattr(frame, "iloc") else i
    return f"row {i}" if label == i else f"row {i} ({label!r})"


def _values(frame: Any, column: str) -> FloatArray:
    numbers = _numbers(frame, column)
    bad = ~np.isfinite(numbers)
    if bad.any():
        i = int(bad.argmax())
        raise ValueError(
            f"frame: {_row(frame, i)} of column {column!r} is {numbers[i]}, one of {bad.sum()} such rows. "
            "A missing value is no Gaussian: leave those rows out, or fill in an estimate with an error that "
            "says how uncertain it is"
        )
    return numbers


def _errors(frame: Any, column: str, errors: FloatArray, floor: float | None, missing: Any) -> FloatArray:
    """The standard deviations `errors` of a column, checked and completed."""
    where = f"column {column!r}"
    absent = ~np.isfinite(errors)
    if absent.any():
        errors[absent] = _stand_in(frame, where, errors, absent, missing)
    negative = errors < 0
    if negative.any():
        i = int(negative.argmax())
        raise ValueError(f"frame: {_row(frame, i)} of {where} is {errors[i]:g}; errors must be >= 0")
    if floor is None and (errors == 0).any():
        i = int((errors == 0).argmax())
        raise ValueError(
            f"frame: {_row(frame, i)} of {where} is an error of 0, one of {(errors == 0).sum()} such rows; "
            "pass floor= for the least error there can be, or floor=0 if the value is known exactly"
        )
    return errors if floor is None else np.maximum(errors, floor)


def _constant(error: Any) -> float:
    if not isinstance(error, (int, float, np.integer, np.floating)) or not (
        np.isfinite(error) and error >= 0
    ):
        raise ValueError(f"std: expected a column, a pair of columns, a number >= 0 or None, got {error!r}")
    return float(error)


def _stand_in(frame: Any, where: str, errors: FloatArray, absent: Any, missing: Any) -> float:
    i = int(absent.argmax())
    if missing is None:
        raise ValueError(
            f"frame: {_row(frame, i)} of {where} is {errors[i]}, one of {absent.sum()} such rows. "
            'A missing error is not an error of 0: pass missing="max", "median" or a number to stand for it, '
            "or leave those rows out"
        )
    if missing in ("median", "max"):
        if absent.all():
            raise ValueError(
                f"frame: {where} has no error at all, of which missing={missing!r} could be taken"
            )
        known = errors[~absent]
        return float(np.median(known) if missing == "median" else known.max())
    if isinstance(missing, str) or not (np.isfinite(missing) and missing >= 0):
        raise ValueError(f'missing: expected "median", "max" or a number >= 0, got {missing!r}')
    return float(missing)


def _sides(
    frame: Any, columns: list[str], floor: float | None, missing: Any
) -> tuple[FloatArray, FloatArray]:
    """Upper and lower errors as sizes. Tables write lower ones as negative or as positive numbers."""
    if len(columns) != 2:
        raise ValueError(f"std: expected a pair (upper, lower) of columns, got {columns!r}")
    upper, lower = columns
    numbers = _numbers(frame, lower)
    if (numbers > 0).any() and (numbers < 0).any():
        i, k = int((numbers > 0).argmax()), int((numbers < 0).argmax())
        raise ValueError(
            f"frame: the lower errors in column {lower!r} have both signs: {_row(frame, i)} is "
            f"{numbers[i]:g}, {_row(frame, k)} is {numbers[k]:g}"
        )
    return (
        _errors(frame, upper, _numbers(frame, upper), floor, missing),
        _errors(frame, lower, np.abs(numbers), floor, missing),
    )


def _combined(upper: FloatArray, lower: FloatArray, asymmetric: str) -> tuple[FloatArray, FloatArray]:
    """(shift of the mean, variance) of a value with an upper and a lower error."""
    if asymmetric == "mean":
        return np.zeros_like(upper), ((upper + lower) / 2) ** 2
    # Two half normals that meet at the mode, as heavy as they are wide.
    skew = upper - lower
    return np.sqrt(2 / np.pi) * skew, (1 - 2 / np.pi) * skew**2 + upper * lower


def _floors(floor: Any, count: int) -> list[float | None]:
    """The least error of each value."""
    each = list(floor) if isinstance(floor, (Sequence, np.ndarray)) else [floor] * count
    if isinstance(floor, str) or len(each) != count:
        raise ValueError(f"floor: expected a number, or one for each of {count} values, got {floor!r}")
    for least in each:
        if least is not None and not (np.isfinite(least) and least >= 0):
            raise ValueError(f"floor: must be >= 0 and finite, got {least!r}")
    return each
