"""Targets of a regression in tables: a column of numbers, and the columns of its errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..data.error_bars import STD, combine, partners
from ..support.validation import Array, FloatArray
from .cells import NAME_IT, Cells, error_sizes

TARGETS = ("target", "y", "label")


@dataclass
class Target:
    """Which column is to be predicted, and which hold its errors: {what it is: column}."""

    column: str
    errors: dict[str, str]

    @property
    def columns(self) -> list[str]:
        return [self.column, *self.errors.values()]


def find_target(
    cells: Cells, asked: str | bool, error: str | None, *, features: Any, ignore: Any, ids: str | None
) -> Target:
    """The column `asked` for, or of the usual names, with the errors beside it or the column `error`.

    Columns to `ignore` are no errors of it, and neither they nor `features` and `ids` are the target.
    """
    present = set(cells.columns)
    taken = {"among the features": features or (), "to be ignored": ignore or (), "the id": (ids,)}
    usual = [c for c in TARGETS if c in present and not any(c in names for names in taken.values())]
    column = asked if isinstance(asked, str) else next(iter(usual), None)
    known = ", ".join(cells.columns[:10]) + (", ..." if len(cells.columns) > 10 else "")
    if column is None:
        raise ValueError(
            f"{cells.name}: target: there is no column {' or '.join(map(repr, TARGETS))}; name the target, "
            f"one of {known}"
        )
    for name, what in ((column, "target"), (error, "target_error")):
        if name is not None and name not in present:
            raise ValueError(f"{cells.name}: {what}: there is no column {name!r}; there are {known}")
    for what, names in taken.items():
        if column in names:
            raise ValueError(f"{cells.name}: target: {column!r} is {what}; name another column")
    if error == column:
        raise ValueError(f"{cells.name}: target_error: {error!r} is the target itself")
    if error is not None:
        return Target(column, {STD: error})
    try:
        return Target(column, partners(column, present - set(ignore or ())))
    except ValueError as wrong:
        raise _core.FormatError(f"{cells.name}: {wrong}") from None


def load(cells: Cells, numbers: list[str], texts: list[str], target: Target | None) -> None:
    """Reads the columns; a target that holds no numbers is told so."""
    try:
        cells.load(numbers, texts)
    except _core.FormatError as error:
        if target is None or f"column {target.column!r}" not in str(error):
            raise
        advice = "a regression predicts numbers; name another target=, or train a classifier"
        raise _core.FormatError(str(error).replace(NAME_IT, advice)) from None


def targets_of(
    cells: Cells, target: Target, numbers: dict[str, Array], keep: Array, centre: str
) -> tuple[FloatArray, FloatArray | None]:
    """The targets of the rows to keep, and their standard deviations, all > 0, if there are errors."""
    values = numbers[target.column][keep].astype(np.float64)
    if not target.errors:
        return values, None

    def bars(column: str, what: str) -> Any:
        return error_sizes(cells, column, what, numbers[column], keep)

    shift, variance = combine(target.errors, bars, centre)
    if (variance <= 0).any():
        row = int(np.flatnonzero(keep)[int((variance <= 0).argmax())])
        shown = " and ".join(map(repr, target.errors.values()))
        raise cells.fail(row, f"the error of the target, column {shown}, is 0; errors of targets must be > 0")
    return values if shift is None else values + shift, np.sqrt(variance)
