"""From the cells of a table, or of a part of it, to examples: the convention of `data.frames` applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .. import _core
from ..data.covariances import Diagonal, Full, Isotropic
from ..data.error_bars import UNITS, SignError, check_centre, combine, lower_sizes, with_bars
from ..data.frames import (
    LOWER,
    LOWER_BOUND,
    STD,
    UPPER,
    UPPER_BOUND,
    ColumnError,
    Columns,
    Errors,
    check_names,
    understand,
)
from ..data.frames import PRECISION as IVAR
from ..data.frames import VARIANCE as VAR
from ..data.gaussians import with_gaps
from ..data.soft_labels import TOLERANCE
from ..support.precision import stored_as
from ..support.validation import Array, FloatArray, check_choice
from .cells import Cells
from .dataset import Dataset, Report

KINDS = {"std": (STD,), "var": (VAR,), "ivar": (IVAR,), "bounds": (LOWER_BOUND, UPPER_BOUND)}
MISSING = ("error", "drop", "keep")
NINES = (9.99, 99.0, 99.9, 99.99, 999.0, 999.9, 9999.0)  # what surveys write where nothing was measured


@dataclass
class TableReader:
    """What `read_table` was told of the columns; it reads a table at once, or one part after another.

    The parts of a table agree in what their columns mean: the first one is asked, and `signs` keeps the signs
    of lower errors.
    """

    label: str | Literal[False] | None = None
    id: str | None = None
    features: list[str] | None = None
    ignore: list[str] | None = None
    errors: Any = None
    exact: list[str] | None = None
    error_scale: float = 1.0
    asymmetric: str = "median"
    units: str = "same"
    missing: Literal["error", "drop", "keep"] = "error"
    most_missing: float = 1.0
    text_labels: bool = False
    chances: str | None = None
    target: str | bool = False
    weight: str | None = None
    limits: str | None = None
    by_content: bool = True
    guess_target: bool = True
    signs: dict[str, tuple[float, str]] = field(default_factory=dict)
    columns: Columns | None = None

    def __post_init__(self) -> None:
        check_choice(self.missing, "missing", MISSING)
        self.centre = check_centre(self.asymmetric)
        check_choice(self.units, "units", UNITS)
        if self.limits not in (None, "half-normal"):
            raise ValueError(f'limits: expected "half-normal" or None, got {self.limits!r}')
        if not (isinstance(self.error_scale, (int, float)) and 0 < self.error_scale < np.inf):
            raise ValueError(f"error_scale: must be > 0 and finite, got {self.error_scale!r}")

    def read(self, cells: Cells) -> Dataset:
        """Read a whole table."""
        found = self.part(cells, whole=True)
        if found is None:
            raise _core.FormatError(f"{cells.name}: there is no example in this file")
        return found[0]

    def part(self, cells: Cells, whole: bool = False) -> tuple[Dataset, Array | None] | None:
        """Read some rows: their examples and weights, or None where no row is left.

        A part may have no example, and a column without a number; the `whole` table may not.
        """
        cells.limits = self.limits
        plan = self._plan(cells)
        doubtful = self._doubtful if not plan.target else []
        label = plan.target if plan.target and not self.target and self.label is not False else None
        numeric = list(dict.fromkeys([*plan.numeric, *doubtful]))
        if self.target and plan.target:
            numeric += [plan.target, *plan.target_errors.values()]
        numeric += [self.weight] if self.weight else []
        texts = [c for c in dict.fromkeys((label, *plan.ids[:1])) if c is not None and c not in numeric]
        cells.load(list(dict.fromkeys(numeric)), texts)
        if cells.rows == 0:
            return None
        numbers = {c: cells.numbers(c) for c in dict.fromkeys(numeric)}
        notes = self._standard_deviations(cells, plan, numbers)
        keep = self._complete(cells, plan, numbers, label, notes, whole)
        if not keep.any():
            return None
        self._check_signs(cells, plan, numbers)
        mean, cov = self._assembled(cells, plan, numbers, keep)
        y = None if label is None else cells.labels(label, keep, self.text_labels)
        classes = y_std = None
        if self.target and plan.target:
            y, y_std = self._targets(cells, plan, numbers, keep)
        if doubtful:
            y = _probabilities(cells, [numbers[c] for c in doubtful], keep)
            classes = _class_names([c.removeprefix(str(self.chances)) for c in doubtful], self.text_labels)
            notes.append(f"labels in doubt: {', '.join(doubtful)}")
        ids = [str(v) for v in cells.present(plan.ids[0], keep)] if plan.ids else None
        said = self._said(cells, plan) if whole else []
        report = Report({cells.name: cells.rows}, {cells.name: int((~keep).sum())})
        report.notes = [f"{cells.name}: {note}" for note in (*said, *notes)]
        data = with_gaps(mean, cov, plan.features)
        data.columns = plan
        dataset = Dataset(
            data,
            y,
            None if ids is None else np.array(ids),
            report,
            classes,
            y_std,
            plan,
        )
        return dataset, None if self.weight is None else numbers[self.weight][keep].astype(np.float64)

    def _plan(self, cells: Cells) -> Columns:
        """Which column is what; all parts are read alike."""
        if self.columns is None:
            try:
                self.columns = self._understood(cells)
            except ColumnError as error:
                raise _core.FormatError(f"{cells.name}: {error}") from None
        return self.columns

    def _understood(self, cells: Cells) -> Columns:
        names, asked = cells.columns, [*(self.features or ()), *(self.ignore or ())]
        check_names(names, id=self.id and [self.id], weight=self.weight and [self.weight])
        kinds = cells.kinds()
        unnamed = next((k for k, c in enumerate(names) if not str(c).strip()), None)
        if unnamed is not None and self.features is None:
            raise ColumnError(
                f"column {unnamed + 1} has no name; if it numbers the rows, as pandas does, write the table "
                "without it (index=False)"
            )
        aside = [c for c in (*cells.index, self.weight) if c and c not in asked and c != self.id]
        target: str | bool | None = self.target or (True if self.label in (None, False) else self.label)
        if self.label is False and not self.target and (self.features is not None or not self.guess_target):
            target = None
        errors = errors_by_hand(self.errors, names)
        given: dict[str, Any] = {
            "numeric": kinds.numeric,
            "running": [c for c in kinds.running if c not in asked] if self.by_content else (),
            "features": self.features,
            "errors": errors,
            "exact": self.exact or (),
            "ids": None if self.id is None else [self.id],
            "target": target,
            "regression": bool(self.target),
            "ignore": self.ignore or (),
            "error_scale": self.error_scale,
        }
        found = understand(names, aside=aside, **given)
        if not found.values and found.ids:
            found = understand(names, aside=aside, **{**given, "running": ()})
        self._doubtful: list[str] = []
        if self.chances and not found.target and self.label is None:
            free = [
                c
                for c, e in found.values.items()
                if not e and c.startswith(self.chances) and c != self.chances
            ]
            self._doubtful = [c for c in free if c not in asked] if len(free) > 1 else []
            if len(self._doubtful) > 1:
                found = understand(names, aside=[*aside, *self._doubtful], **given)
            else:
                self._doubtful = []
        if self.target is True and not found.target:
            raise ColumnError(f"target: name the column to predict, one of {', '.join(names[:10])}, ...")
        if self.target and found.target not in kinds.numeric:
            raise ColumnError(
                f"column {found.target!r}: a regression predicts numbers, and this holds none; name another "
                "target=, or train a classifier"
            )
        text = [c for c in found.values if c not in kinds.numeric]
        if text:
            raise ColumnError(f"no numbers in column {', '.join(map(repr, text[:5]))}, which was asked for")
        if self.features is None:
            for c in [c for c in found.values if c in kinds.empty]:
                found.values.pop(c)
                found.unused[c] = "empty"
        if not found.values:
            left = ", ".join(f"{c} ({why})" for c, why in list(found.unused.items())[:5])
            raise ColumnError(f"there is no column to take as a feature{': ' + left if left else ''}")
        return found

    def _said(self, cells: Cells, plan: Columns) -> list[str]:
        """What was understood, in one line, with names where columns are not used as they might be."""
        more = [f"ids {', '.join(plan.ids)}"] if plan.ids else []
        some_exact = plan.exact and len(plan.exact) < len(plan.values)
        more += [f"no errors for {_listed(plan.exact)}: exact"] if some_exact else []
        if self.features is None:
            unused = [c for c, why in plan.unused.items() if why != "as asked"]
            more += [f"not used: {_listed([f'{c} ({plan.unused[c]})' for c in unused])}"] if unused else []
        return ["; ".join([str(plan), *more])]

    def _standard_deviations(self, cells: Cells, plan: Columns, numbers: dict[str, Array]) -> list[str]:
        """Turn units, scales, inverse variances and bounds into uncertainties in units of their values."""
        sentinels = 0
        targets = plan.target_errors if self.target else {}
        for value, found in [*plan.values.items(), (plan.target, targets)]:
            for what, column in found.items():
                if not isinstance(column, str):
                    continue
                factor = cells.conversion(column, str(value), what) / plan.error_scale
                if what == VAR:
                    numbers[column] = numbers[column] * factor**2
                elif what == IVAR:
                    with np.errstate(divide="ignore"):
                        numbers[column] = np.where(numbers[column] > 0, factor**2 / numbers[column], np.nan)
                elif what in (UPPER_BOUND, LOWER_BOUND):
                    sign = 1 if what == UPPER_BOUND else -1
                    numbers[column] = sign * (numbers[column] - numbers[str(value)]) * factor
                elif factor != 1:
                    numbers[column] = numbers[column] * factor
                if what == STD and value in numbers:
                    nothing = np.isin(np.abs(numbers[str(value)]), NINES)
                    nothing &= np.isin(np.abs(numbers[column] * plan.error_scale), NINES)
                    if nothing.any():
                        sentinels += int(nothing.sum())
                        for name in (str(value), column):
                            numbers[name] = np.where(nothing, np.nan, numbers[name])
        if not sentinels:
            return []
        return [f"{sentinels} values of nines with an error of nines, such as 99.9 and 99.9, are missing"]

    def _complete(
        self,
        cells: Cells,
        plan: Columns,
        numbers: dict[str, Array],
        label: str | None,
        notes: list[str],
        whole: bool,
    ) -> Array:
        """Which rows to keep; missing values are refused, or NaN in the end where they are kept."""
        keep = np.ones(cells.rows, dtype=bool)
        by_column = {c: v for v, found in plan.values.items() for c in (v, *found.values())}
        order = plan.features
        for column, values in list(numbers.items()):
            wrong = ~np.isfinite(values)
            if not wrong.any():
                continue
            count, owner = int(wrong.sum()), by_column.get(column)
            sparse = wrong.all() or count > self.most_missing * cells.rows
            if whole and sparse and owner is not None and self.missing != "error" and not self.features:
                why = "empty" if wrong.all() else f"{count / cells.rows:.0%} missing"
                self._leave_out(plan, column, owner, why)
            elif self.missing == "error":
                row = int(np.argmax(wrong))
                shown = "missing" if np.isnan(values[row]) else values[row]
                more = f", one of {count} such rows" if count > 1 else ""
                raise cells.fail(
                    row, f'column {column!r} is {shown}{more}; missing="drop" leaves such examples out'
                )
            elif self.missing == "keep" and owner is not None:
                # A value whose uncertainty is not known says nothing that can be weighed: it is missing, too.
                numbers[owner] = np.where(wrong, np.nan, numbers[owner])
                numbers[column] = np.where(wrong, np.nan if column == owner else 0.0, numbers[column])
        plan.values = {value: plan.values[value] for value in order if value in plan.values}
        for column in plan.numeric if self.missing == "drop" else ():
            keep &= np.isfinite(numbers[column])
        for column in (plan.target, *plan.target_errors.values()) if self.target else ():
            keep &= np.isfinite(numbers[str(column)])
        if label is not None and self.missing != "error":
            keep &= [value is not None and value == value and value != "" for value in cells.values(label)]
        if not plan.values:
            left = ", ".join(f"{c} ({why})" for c, why in list(plan.unused.items())[:5])
            raise _core.FormatError(f"{cells.name}: no column is left to learn from: {left}")
        if whole and not keep.any():
            raise _core.FormatError(f"{cells.name}: there is no example without a missing number")
        if self.missing == "keep":
            known = np.column_stack([np.isfinite(numbers[c]) for c in plan.values])
            gaps = int((~known[keep]).sum())
            notes += [f"{gaps} missing values"] if gaps else []
        return keep

    def _leave_out(self, plan: Columns, column: str, value: str, why: str) -> None:
        """Leave out a column that is mostly empty: a value with its errors, or the errors alone."""
        found = plan.values.pop(value, None)
        if found is None:
            return
        plan.joint = {pair: about for pair, about in plan.joint.items() if value not in pair}
        plan.unused |= {c: f"belongs to {value}" for c in found.values() if isinstance(c, str)}
        plan.unused[column] = why
        if column != value:
            plan.values[value] = {}

    def _check_signs(self, cells: Cells, plan: Columns, numbers: dict[str, Array]) -> None:
        """Lower errors have one sign in all parts of a table."""
        for column in [found[LOWER] for found in (*plan.values.values(), plan.whole) if LOWER in found]:
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

    def _assembled(
        self, cells: Cells, plan: Columns, numbers: dict[str, Array], keep: Array
    ) -> tuple[Array, Any]:
        """Means and covariance of the rows to keep."""
        mean = np.column_stack([numbers[c][keep] for c in plan.features])

        def bars(column: str, what: str) -> Any:
            return _sizes(cells, column, what, numbers[column], keep)

        if plan.whole and self.units == "same":
            shift, variance = combine(plan.whole, bars, self.centre)
            if shift is not None:
                mean = (mean + shift[:, np.newaxis]).astype(mean.dtype)
            return mean, Isotropic(stored_as(variance / plan.error_scale**2, mean.dtype))
        errors = [plan.whole or found for found in plan.values.values()]
        if not any(errors):
            return mean, None
        variances = with_bars(mean, errors, bars, self.centre, self.units)
        if plan.joint:
            return mean, self._full(cells, plan, numbers, keep, variances)
        return mean, Diagonal(stored_as(np.where(np.isnan(mean), 0.0, variances), mean.dtype))

    def _full(
        self, cells: Cells, plan: Columns, numbers: dict[str, Array], keep: Array, variances: FloatArray
    ) -> Full:
        """Covariance matrices, where columns hold covariances or correlations."""
        count, n = variances.shape
        full = np.zeros((count, n, n))
        full[:, np.arange(n), np.arange(n)] = variances
        places = {name: j for j, name in enumerate(plan.features)}
        for (x, y), (what, column) in plan.joint.items():
            j, k = places[x], places[y]
            shared = np.nan_to_num(numbers[column][keep])
            if what == "correlation":
                shared = shared * np.sqrt(variances[:, j] * variances[:, k])
            else:
                shared = shared / plan.error_scale**2
            full[:, j, k] = full[:, k, j] = shared
        return Full(full)

    def _targets(
        self, cells: Cells, plan: Columns, numbers: dict[str, Array], keep: Array
    ) -> tuple[FloatArray, FloatArray | None]:
        """The targets of the rows to keep, and their standard deviations, all > 0, if there are errors."""
        values = numbers[str(plan.target)][keep].astype(np.float64)
        if not plan.target_errors:
            return values, None

        def bars(column: str, what: str) -> Any:
            return _sizes(cells, column, what, numbers[column], keep)

        shift, variance = combine(plan.target_errors, bars, self.centre)
        if (variance <= 0).any():
            row = int(np.flatnonzero(keep)[int((variance <= 0).argmax())])
            shown = " and ".join(map(repr, plan.target_errors.values()))
            raise cells.fail(
                row, f"the error of the target, column {shown}, is 0; errors of targets must be > 0"
            )
        return values if shift is None else values + shift, np.sqrt(variance)


def errors_by_hand(errors: Any, names: Sequence[str]) -> dict[str, Errors]:
    """What a user wrote as `errors`: {value: {what it is: column}}.

    {value: column, (upper, lower), "upper,lower", "var:column", "ivar:column", "bounds:low,high", a number
    for all rows, or None}; or patterns, one or a list, such as "e_{}" and "MP_{}=EP_{}".
    """
    if errors is None:
        return {}
    if isinstance(errors, Mapping):
        return {str(value): _spelled(value, given, names) for value, given in errors.items()}
    found, present = {}, set(names)
    for text in [errors] if isinstance(errors, str) else list(errors):
        value, _, error = text.rpartition("=") if "=" in text else ("{}", "", text)
        if "{}" not in value:
            found[value] = _spelled(value, error, names)
            continue
        before, _, after = value.partition("{}")
        inner = [c for c in names if c.startswith(before) and c.endswith(after)]
        bodies = [c[len(before) : len(c) - len(after)] for c in inner]
        pairs = {
            before + b + after: error.replace("{}", b) for b in bodies if error.replace("{}", b) in present
        }
        if not pairs:
            raise ColumnError(
                f"errors: no columns are named like {text!r}; there are {', '.join(names[:10])}"
            )
        found |= {value: _spelled(value, error, names) for value, error in pairs.items()}
    return found


def _spelled(value: str, given: Any, names: Sequence[str]) -> Errors:
    """One uncertainty by hand, with what it is."""
    if given is None or given == "":
        return {}
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        if not 0 <= given < np.inf:
            raise ColumnError(f"errors: the error of {value!r} must be >= 0 and finite, got {given!r}")
        return {STD: float(given)}
    kind, colon, rest = given.partition(":") if isinstance(given, str) else ("", "", "")
    columns = list(given) if isinstance(given, (tuple, list)) else (rest if colon else given).split(",")
    if isinstance(given, str) and given in names:
        kind, colon, columns = "", "", [given]
    wanted = KINDS.get(kind, ()) if colon else ((STD,), (UPPER, LOWER))[len(columns) == 2]
    if len(wanted) != len(columns):
        raise ColumnError(
            f"errors: expected one column, (upper, lower), 'var:...', 'ivar:...' or 'bounds:low,high' for "
            f"{value!r}, got {given!r}"
        )
    check_names(names, errors=columns)
    return dict(zip(wanted, columns, strict=True))


def _sizes(cells: Cells, column: str, what: str, values: Array, keep: Array) -> Array:
    """Errors as sizes, which must not be negative."""
    sizes = values.astype(np.float64)
    if what == LOWER:
        try:
            sizes = lower_sizes(sizes)
        except SignError as sign:
            raise cells.fail(
                sign.negative,
                f"column {column!r} is {values[sign.negative]:g}, but {values[sign.positive]:g} at "
                f"{cells.place(sign.positive)}; lower errors must have one sign",
            ) from None
    if (sizes < 0).any():
        row = int(np.argmax(sizes < 0))
        raise cells.fail(row, f"column {column!r} is {sizes[row]:g}; errors must be >= 0")
    return sizes[keep]


def _probabilities(cells: Cells, columns: list[Array], keep: Array) -> Array:
    """Columns of probabilities as one array; rows must sum to 1."""
    found = np.column_stack(columns).astype(np.float64)
    wrong = keep & ((np.abs(found.sum(axis=1) - 1) > TOLERANCE) | (found < 0).any(axis=1))
    if wrong.any():
        row = int(wrong.argmax())
        shown = ", ".join(f"{value:g}" for value in found[row])
        raise cells.fail(row, f"the probabilities of classes are {shown}; they must be >= 0 and sum to 1")
    return found[keep]


def _class_names(names: list[str], as_text: bool) -> Array:
    """Names of classes as whole numbers, where all are, as labels would be."""
    whole = all(name.removeprefix("-").isdecimal() for name in names)
    return np.array([int(name) for name in names] if whole and not as_text else names)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f", ... ({len(names)})" if len(names) > 8 else "")
