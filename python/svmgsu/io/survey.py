"""A look at a table before it is read: which columns hold numbers, and which can be used as features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..data.error_bars import ENDINGS, with_errors
from .files import Source, extension
from .tables import open_cells

MOST_MISSING = 0.3  # of a column's cells: more, and the column is left out rather than the rows
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
    cells.load([], cells.columns)
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
        if column not in found.numeric and len(set(cells.values(column)) - {None}) <= CLASSES:
            found.labels.append(column)
        for name in _belonging(column, present):
            found.ignore.setdefault(name, reason if name == column else f"belongs to {column}")
    return found


def _reason(found: Survey, column: str) -> str | None:
    if found.missing[column] == found.rows:
        return "empty"
    if column not in found.numeric:
        return "no numbers"
    share = found.missing[column] / found.rows
    return f"{share:.0%} missing" if share > MOST_MISSING else None


def _belonging(column: str, present: set[str]) -> list[Any]:
    """A value with its errors; or an error with the other errors of its value, which stays."""
    ending = next((e for e in ENDINGS if column.endswith(e) and column.removesuffix(e) in present), None)
    if ending is None:
        return sorted(with_errors([column], present))
    base = column.removesuffix(ending)
    return sorted(with_errors([base], present) - {base})
