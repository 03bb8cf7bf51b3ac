"""A look at a table before it is read: which columns hold numbers, and which can be used as features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .._core import FormatError
from ..data.error_bars import ENDINGS, with_errors
from .files import Source, extension
from .tables import open_cells

MOST_MISSING = 0.3  # of a column's cells: more, and the column is left out rather than the rows
TEXT = "no numbers"
CLASSES = 30  # different texts of a column that may hold labels


@dataclass
class Survey:
    """What a look at a table found; `ignore` are columns to leave out, with the reason for each."""

    columns: list[str]
    rows: int
    numeric: set[str] = field(default_factory=set)
    missing: dict[str, int] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)  # that may be classes, for advice
    ignore: dict[str, str] = field(default_factory=dict)


def survey_table(source: Source, format: str | None = None, keep: tuple[str, ...] = ()) -> Survey:
    """Looks at all columns; those to `keep` (the target, ids, groups) are no features anyway."""
    cells = open_cells(source, extension(source) if format is None else "." + format)
    if len(set(cells.columns)) < len(cells.columns):
        twice = next(c for k, c in enumerate(cells.columns) if c in cells.columns[:k])
        raise FormatError(f"{cells.name}: the column {twice!r} appears twice")
    cells.load([], cells.columns)
    if cells.rows == 0:
        raise FormatError(f"{cells.name}: there is no example in this file")
    found = Survey(cells.columns, cells.rows)
    for column in cells.columns:
        is_numeric, found.missing[column] = cells.survey(column)
        if is_numeric and found.missing[column] < cells.rows:
            found.numeric.add(column)
    aside = set(keep)
    present = set(cells.columns)
    for column in cells.columns:
        if column in aside or column in found.ignore:
            continue
        reason = _reason(found, column)
        if reason is None:
            continue
        if reason == TEXT:
            reason = _about_text(cells.values(column))
        if column not in found.numeric and len(set(cells.values(column)) - {None}) <= CLASSES:
            found.labels.append(column)
        for name in _belonging(column, present):
            found.ignore.setdefault(name, reason if name == column else f"belongs to {column}")
    return found


def _about_text(values: list[Any]) -> str:
    """That a column holds no numbers; or, where most are, the first that is none."""
    filled = [value for value in values if value is not None and str(value).strip()]
    odd = [value for value in filled if not _is_number(value)]
    if 2 * len(odd) > len(filled) or not odd:
        return TEXT
    return f"{odd[0]!r} is no number" + (f", nor are {len(odd) - 1} more" if len(odd) > 1 else "")


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _reason(found: Survey, column: str) -> str | None:
    if found.missing[column] == found.rows:
        return "empty"
    if column not in found.numeric:
        return TEXT
    share = found.missing[column] / found.rows
    return f"{share:.0%} missing" if share > MOST_MISSING else None


def _belonging(column: str, present: set[str]) -> list[Any]:
    """A value with its errors; or an error with the other errors of its value, which stays."""
    ending = next((e for e in ENDINGS if column.endswith(e) and column.removesuffix(e) in present), None)
    if ending is None:
        return sorted(with_errors([column], present))
    base = column.removesuffix(ending)
    return sorted(with_errors([base], present) - {base})
