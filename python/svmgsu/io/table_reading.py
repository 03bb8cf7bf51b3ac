"""From the cells of a table, or of a part of it, to examples: which column is what, and what is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .. import _core
from ..data.covariances import Diagonal, Isotropic
from ..data.error_bars import (
    LOWER,
    UNITS,
    Pairing,
    check_centre,
    combine,
    pair_columns,
    with_bars,
    with_errors,
)
from ..data.gaussians import Gaussians
from ..support.precision import stored_as
from ..support.validation import Array, check_choice
from .cells import NAME_IT, Cells, error_sizes
from .chances import chance_columns, class_names, probabilities
from .dataset import Dataset, Report
from .targets import Target, find_target, load, targets_of

LABELS, IDS = ("label", "y"), ("id", "doc_id")


@dataclass
class TableReader:
    """What `read_table` was told of the columns; it reads a table at once, or one part after another.

    The parts of a table agree in what their columns mean: `signs` keeps those of lower errors.
    """

    label: str | Literal[False] | None = None
    id: str | None = None
    features: list[str] | None = None
    ignore: list[str] | None = None
    asymmetric: str = "median"
    units: str = "same"
    missing: Literal["error", "drop"] = "error"
    text_labels: bool = False
    chances: str | None = None
    target: str | bool = False
    target_error: str | None = None
    weight: str | None = None
    signs: dict[str, tuple[float, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.missing not in ("error", "drop"):
            raise ValueError(f'missing: expected "error" or "drop", got {self.missing!r}')
        self.centre = check_centre(self.asymmetric)
        check_choice(self.units, "units", UNITS)

    def read(self, cells: Cells) -> Dataset:
        """The examples of a whole table."""
        found = self.part(cells, whole=True)
        if found is None:
            raise _core.FormatError(f"{cells.name}: there is no example in this file")
        return found[0]

    def part(self, cells: Cells, whole: bool = False) -> tuple[Dataset, Array | None] | None:
        """The examples of some rows, and their weights; None where no row is left.

        A part may have no example, and a column without a number; the `whole` table may not.
        """
        plan = self._plan(cells)
        texts = [c for c in dict.fromkeys((plan.y_column, plan.ids)) if c is not None]
        load(cells, plan.numeric, texts, plan.goal)
        if cells.rows == 0:
            return None
        numbers = {c: cells.numbers(c) for c in plan.numeric}
        keep = _complete(cells, numbers, plan.y_column, self.missing, whole)
        if not keep.any():
            return None
        self._check_signs(cells, plan.pairing, numbers)
        pairing, centre = plan.pairing, self.centre
        mean, cov = _assembled(cells, pairing, numbers, keep, centre, self.units)
        notes = plan.notes(cells.name)
        y = None if plan.y_column is None else cells.labels(plan.y_column, keep, self.text_labels)
        classes = y_std = None
        if plan.goal:
            y, y_std = targets_of(cells, plan.goal, numbers, keep, centre)
        if plan.doubtful:
            y = probabilities(cells, [numbers[c] for c in plan.doubtful], keep)
            names = [c.removeprefix(str(self.chances)) for c in plan.doubtful]
            classes = class_names(names, self.text_labels)
            notes.append(f"{cells.name}: labels in doubt: {', '.join(plan.doubtful)}")
        ids = plan.ids
        dataset = Dataset(
            Gaussians(mean, cov, feature_names=pairing.features),
            y,
            None if ids is None else np.array([str(v) for v in cells.present(ids, keep)]),
            Report({cells.name: cells.rows}, {cells.name: int((~keep).sum())}, notes),
            classes,
            y_std,
        )
        return dataset, None if self.weight is None else numbers[self.weight][keep].astype(np.float64)

    def _plan(self, cells: Cells) -> _Plan:
        """Which column is what."""
        features, ignore, label = self.features, self.ignore, self.label
        ids = _pick(cells, self.id, IDS, "id", features)
        weight = _pick(cells, self.weight, (), "weight", features)
        given: dict[str, Any] = {"features": features, "ignore": ignore, "ids": ids}
        goal = find_target(cells, self.target, self.target_error, **given) if self.target else None
        labels = None if goal else _pick(cells, label or None, LABELS, "label", features)
        wanted = self.chances if label is None and not labels and not goal else None
        doubtful = chance_columns(cells, wanted, features, ignore) if wanted else []
        more = [*(goal.columns if goal else doubtful), *([weight] if weight else [])]
        pairing, ignored = _paired(cells, features, {labels, ids, *more} - {None}, ignore)
        y_column = None if label is False else labels
        return _Plan(pairing, ignored, ids, y_column, goal, doubtful, [*pairing.columns, *more])

    def _check_signs(self, cells: Cells, pairing: Pairing, numbers: dict[str, Array]) -> None:
        """Lower errors have one sign in all parts of a table."""
        pairs = [*pairing.errors.values(), pairing.whole]
        for column in [found[LOWER] for found in pairs if LOWER in found]:
            signs = np.sign(numbers[column])
            rows = np.flatnonzero(np.isfinite(signs) & (signs != 0))
            if not len(rows):
                continue
            before, there = self.signs.setdefault(column, (float(signs[rows[0]]), cells.place(int(rows[0]))))
            if signs[rows[0]] != before:
                raise cells.fail(
                    int(rows[0]),
                    f"column {column!r} is {numbers[column][rows[0]]:g}, of another sign than at {there}; "
                    "lower errors must have one sign",
                )


@dataclass
class _Plan:
    """What the columns of a table are."""

    pairing: Pairing
    ignored: set[str]
    ids: str | None
    y_column: str | None
    goal: Target | None
    doubtful: list[str]
    numeric: list[str]

    def notes(self, name: str) -> list[str]:
        unused = [c for c in self.pairing.unused if c not in self.ignored]
        notes = [f"{name}: not used: {', '.join(unused)}"] if unused else []
        if self.pairing.certain:
            notes.insert(0, f"{name}: no errors for {', '.join(self.pairing.certain)}: taken as certain")
        return notes


def _pick(
    cells: Cells, asked: str | None, usual: tuple[str, ...], what: str, features: list[str] | None
) -> str | None:
    present = set(cells.columns)
    if asked is not None and asked not in present:
        known = ", ".join(cells.columns[:10]) + (", ..." if len(cells.columns) > 10 else "")
        raise ValueError(f"{cells.name}: {what}: there is no column {asked!r}; there are {known}")
    if asked is not None:
        return asked
    # A column with errors of its own is a measurement, whatever its name: the y of a place, say.
    free = [c for c in usual if c in present and c not in (features or ())]
    plain = [c for c in free if len(with_errors([c], present)) == 1]
    return plain[0] if plain else None


def _paired(
    cells: Cells, features: list[str] | None, known: set[Any], ignore: list[str] | None
) -> tuple[Pairing, set[str]]:
    """The pairing, and which columns are left out because a user said so."""
    present = set(cells.columns)
    strange = [c for c in ignore or () if c not in present]
    if strange:
        raise ValueError(f"{cells.name}: ignore: there is no column {', '.join(map(repr, strange))}")
    ignored = with_errors(ignore or (), present)
    named = known | ignored
    unnamed = next((k for k, c in enumerate(cells.columns) if not c.strip() and c not in named), None)
    if unnamed is not None and features is None:
        raise _core.FormatError(
            f"{cells.name}: column {unnamed + 1} has no name; if it numbers the rows, as pandas does, write "
            "the table without it (index=False)"
        )
    index = set() if features else set(cells.index) - known - ignored
    try:
        pairing = pair_columns(cells.columns, features, aside=known | ignored | index)
    except ValueError as error:
        raise _core.FormatError(f"{cells.name}: {error}") from None
    pairing.unused += [c for c in cells.columns if c in index]
    if not pairing.features:
        raise _core.FormatError(f"{cells.name}: there is no column to take as a feature")
    return pairing, ignored


def _assembled(
    cells: Cells, pairing: Pairing, numbers: dict[str, Array], keep: Array, centre: str, units: str
) -> tuple[Array, Any]:
    """Means and covariance of the rows to keep."""
    mean = np.column_stack([numbers[c][keep] for c in pairing.features])

    def bars(column: str, what: str) -> Any:
        return error_sizes(cells, column, what, numbers[column], keep)

    if pairing.whole and units == "same":
        shift, variance = combine(pairing.whole, bars, centre)
        if shift is not None:
            mean = (mean + shift[:, np.newaxis]).astype(mean.dtype)
        return mean, Isotropic(stored_as(variance, mean.dtype))
    errors = [pairing.whole or found for found in pairing.errors.values()]
    if not any(errors):
        return mean, None
    variances = with_bars(mean, errors, bars, centre, units)
    return mean, Diagonal(stored_as(variances, mean.dtype))


def _complete(cells: Cells, numbers: dict[str, Array], label: str | None, missing: str, whole: bool) -> Array:
    """Which rows have all their numbers."""
    keep = np.ones(cells.rows, dtype=bool)
    for column, values in numbers.items():
        wrong = ~np.isfinite(values)
        if not wrong.any():
            continue
        row = int(np.argmax(wrong))
        if whole and np.isnan(values).all():
            raise _core.FormatError(f"{cells.name}: column {column!r} is empty in every row; {NAME_IT}")
        if missing == "error":
            shown = "missing" if np.isnan(values[row]) else values[row]
            count = int(wrong.sum())
            more = f", one of {count} such rows" if count > 1 else ""
            raise cells.fail(
                row, f'column {column!r} is {shown}{more}; missing="drop" leaves such examples out'
            )
        keep &= ~wrong
    if label is not None and missing == "drop":
        keep &= [value is not None and value == value for value in cells.values(label)]
    if whole and not keep.any():
        raise _core.FormatError(f"{cells.name}: there is no example without a missing number")
    return keep
