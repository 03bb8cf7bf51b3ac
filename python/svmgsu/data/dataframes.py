"""Tables of values and error bars, from pandas or polars, as arrays.

A data frame is read through its own columns: neither library is imported here.
"""

from __future__ import annotations

import decimal
import numbers
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..support.validation import FloatArray, check_choice
from .error_bars import (
    LOWER,
    STD,
    UNITS,
    UPPER,
    ErrorColumns,
    SignError,
    check_centre,
    endings_of,
    lower_sizes,
    pair_columns,
    with_bars,
    with_errors,
)


def read_frame(
    frame: Any,
    values: Any,
    std: Any,
    *,
    suffix: str | None,
    asymmetric: str,
    units: str,
    floor: Any,
    missing: Any,
    ignore: Any,
) -> tuple[list[str], FloatArray, FloatArray | None]:
    """(names, means, variances or None) as `Gaussians.from_frame` says."""
    centre = check_centre(asymmetric)
    check_choice(units, "units", UNITS)
    columns = _columns(frame)
    if values is None and std is not None:
        raise ValueError("std: it names the errors of `values`; pass values= too")
    if std is not None:
        names = _checked(values, columns, "values")
        errors = _named_errors(std, columns, len(names))
    else:
        names, errors = _paired(frame, values, columns, suffix, ignore)
    floors = _floors(floor, len(names))
    mean = np.column_stack([_values(frame, name) for name in names])

    def bars(column: str, what: str) -> FloatArray:
        return _errors(frame, column, what, missing)

    variances = with_bars(mean, errors, bars, centre, units, floors)
    return names, mean, None if all(error is None for error in errors) else variances


def _paired(
    frame: Any, values: Any, columns: list[Any], suffix: str | None, ignore: Any
) -> tuple[list[str], list[ErrorColumns]]:
    """Features and their errors by the names of the columns; none is left out without being named."""
    chosen = None if values is None else _checked(values, columns, "values")
    ignored = [] if ignore is None else _checked(ignore, columns, "ignore")
    candidates = set(columns)
    away = with_errors(ignored, candidates, suffix)
    try:
        pairing = pair_columns(columns, chosen, suffix=suffix, aside=away)
    except ValueError as error:
        raise ValueError(f"frame: {error}") from None
    errors: list[ErrorColumns] = [pairing.whole or pairing.errors[name] or None for name in pairing.features]
    without = [name for name, error in zip(pairing.features, errors, strict=True) if error is None]
    if len(without) == len(errors):
        raise ValueError(_nothing_found(without, chosen, suffix))
    if without and chosen is None:
        shown = ", ".join(f"{name!r} ({frame[name].dtype})" for name in without[:5])
        raise ValueError(
            f"values: columns without errors beside them: {shown}{', ...' if len(without) > 5 else ''}; name "
            "the features in values= (those without errors are then taken as certain), or these in ignore="
        )
    if without:
        warnings.warn(
            f"from_frame: no errors for {', '.join(without)}: taken as certain; std= can say so, by None",
            UserWarning,
            stacklevel=4,
        )
    return _checked(pairing.features, columns, "values"), errors


def _nothing_found(names: list[Any], chosen: list[str] | None, suffix: str | None) -> str:
    wanted = [e for e, what in endings_of(suffix).items() if what not in (UPPER, LOWER)]
    if chosen is None:
        return (
            "suffix: no column has errors beside it: none is named like another with "
            f"{', '.join(map(repr, wanted))} at its end; pass values= and std="
        )
    return (
        f"values: {names[0]!r} has no column of errors {' or '.join(repr(names[0] + e) for e in wanted)}; "
        "name it in std=, or put None there for a value without error"
    )


def _named_errors(std: Any, columns: list[Any], count: int) -> list[ErrorColumns]:
    """What a user wrote as `std`, one for each value."""
    given = list(std)
    if len(given) != count:
        raise ValueError(f"std: {len(given)} entries for {count} values")
    found: list[ErrorColumns] = []
    for error in given:
        if isinstance(error, (tuple, list)):
            if len(_checked(error, columns, "std")) != 2:
                raise ValueError(f"std: expected a pair (upper, lower) of columns, got {error!r}")
            found.append({UPPER: error[0], LOWER: error[1]})
        elif isinstance(error, str):
            found.append({STD: _checked([error], columns, "std")[0]})
        else:
            found.append(None if error is None else _constant(error))
    return found


def _columns(frame: Any) -> list[Any]:
    if hasattr(frame, "collect") and not hasattr(frame, "to_numpy"):
        raise TypeError("frame: a lazy frame; pass frame.collect()")
    if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
        raise TypeError(f"frame: expected a DataFrame of pandas or polars, got {type(frame).__name__}")
    columns = list(frame.columns)
    if len(set(columns)) < len(columns):
        twice = next(name for name, count in Counter(columns).items() if count > 1)
        raise ValueError(f"frame: column {twice!r} is there twice")
    if len(frame) == 0:
        raise ValueError("frame: it has no rows")
    return columns


def _checked(names: Any, columns: list[Any], argument: str) -> list[str]:
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise TypeError(f"{argument}: expected a list of column names, got {names!r}")
    chosen: list[str] = list(names)
    present = set(columns)
    for name in chosen:
        if not isinstance(name, str):
            raise TypeError(
                f"{argument}: expected names that are strings, got {name!r}; rename the columns, or use "
                "svmgsu.Gaussians(values, std=errors)"
            )
        if name not in present:
            known = ", ".join(map(str, columns))
            raise ValueError(f"{argument}: the frame has no column {name!r}; it has {known}")
    if argument == "values" and not chosen:
        raise ValueError("values: no column is named")
    return chosen


def _numbers(frame: Any, column: str) -> FloatArray:
    """A column as float64, NaN where it has nothing. What holds no numbers is refused."""
    series = frame[column]
    kind = getattr(series.dtype, "kind", None)
    if hasattr(series, "iloc") and kind in tuple("iuf"):
        # pandas' nullable columns must be told what nothing is
        return np.array(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind is None and series.dtype.is_numeric():  # polars
        return np.array(series.to_numpy(), dtype=np.float64)
    if kind in (None, "O", "U", "T"):
        return _of_objects(frame, column, series)
    raise ValueError(f"frame: column {column!r} does not hold numbers (it is {series.dtype})")


def _of_objects(frame: Any, column: str, series: Any) -> FloatArray:
    """Numbers among objects; a cell that is none, where others are, is named with its row."""
    cells = series.to_list()
    found = [_number(cell) for cell in cells]
    bad = [i for i, number in enumerate(found) if number is None]
    if not bad:
        return np.array(found, dtype=np.float64)
    like = sum(number is not None or _is_numeric(cell) for cell, number in zip(cells, found, strict=True))
    i = next((i for i in bad if not _is_numeric(cells[i])), None)
    if i is None or like == sum(number is not None and number != number for number in found):
        raise ValueError(
            f"frame: column {column!r} does not hold numbers (it is {series.dtype}, such as "
            f"{cells[bad[0]]!r})"
        )
    raise ValueError(
        f"frame: {_row(frame, i)} of column {column!r} is {cells[i]!r}, which is no number as others in this "
        f"column are; {sum(not _is_numeric(cells[k]) for k in bad)} such rows"
    )


def _number(cell: Any) -> float | None:
    """A number, NaN for nothing, or None for what is neither."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return float("nan")
    if isinstance(cell, (bool, np.bool_)):
        return None
    return float(cell) if isinstance(cell, (numbers.Real, decimal.Decimal)) else None


def _is_numeric(cell: Any) -> bool:
    """Whether a cell is text that reads as a number."""
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return isinstance(cell, str)


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


def _errors(frame: Any, column: str, what: str, missing: Any) -> FloatArray:
    """The errors in a column as sizes, checked and completed."""
    where = f"column {column!r}"
    errors = _numbers(frame, column)
    if what == LOWER:
        try:
            errors = np.asarray(lower_sizes(errors))
        except SignError as sign:
            i, k = sign.positive, sign.negative
            raise ValueError(
                f"frame: the lower errors in column {column!r} have both signs: {_row(frame, i)} is "
                f"{errors[i]:g}, {_row(frame, k)} is {errors[k]:g}"
            ) from None
    absent = ~np.isfinite(errors)
    if absent.any():
        errors[absent] = _stand_in(frame, where, errors, absent, missing)
    negative = errors < 0
    if negative.any():
        i = int(negative.argmax())
        raise ValueError(f"frame: {_row(frame, i)} of {where} is {errors[i]:g}; errors must be >= 0")
    return errors


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


def _floors(floor: Any, count: int) -> list[float | None]:
    """The least error of each value."""
    each = list(floor) if isinstance(floor, (Sequence, np.ndarray)) else [floor] * count
    if isinstance(floor, str) or len(each) != count:
        raise ValueError(f"floor: expected a number, or one for each of {count} values, got {floor!r}")
    for least in each:
        if least is not None and not (np.isfinite(least) and least >= 0):
            raise ValueError(f"floor: must be >= 0 and finite, got {least!r}")
    return each
