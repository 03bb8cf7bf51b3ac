"""Tables: from their cells to samples, by the convention of `data.frames`."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .. import _core
from ..data.columns import ColumnError, Columns, Errors, check_names, listed
from ..data.covariances import Diagonal, Full, Isotropic
from ..data.error_bars import UNITS, SignError, bar_unit, check_centre, combine, lower_sizes
from ..data.frames import (
    LOWER,
    LOWER_BOUND,
    PRECISION,
    STD,
    UPPER,
    UPPER_BOUND,
    VARIANCE,
    understand,
)
from ..data.gaussians import with_gaps
from ..data.leaks import repeated_ids
from ..support.arrays import stored_as
from ..support.errors import option
from ..support.labels import SOFT_TOLERANCE
from ..support.types import Fields
from ..support.validation import Array, FloatArray, Matrix, check_choice
from .cells import UNNAMED, Cells, guess_task
from .dataset import Dataset, Report
from .files import Source
from .table_files import ending_of, open_cells

BY_HAND = {"std": (STD,), "var": (VARIANCE,), "ivar": (PRECISION,), "bounds": (LOWER_BOUND, UPPER_BOUND)}
# What surveys write where nothing was measured, also with a minus sign.
NINES = (9.99, 99.0, 99.9, 99.99, 999.0, 999.9, 999.99, 9999.0, 99999.0, 999999.0)
# A nine as it is read, from a column of either precision, and as it was written.
WRITTEN = {float(np.float32(nine)): nine for nine in NINES} | {nine: nine for nine in NINES}
SEVERAL = 3  # samples with such a value that are no chance
ROWS = 4096  # that are joined at a time
TASKS = ("auto", "classification", "regression")


def read_table(
    path: Source,
    *,
    target: str | bool | None = True,
    task: str = "auto",
    id: str | None = None,
    groups: str | None = None,
    features: list[str] | None = None,
    errors: object = None,
    exact: list[str] | None = None,
    ignore: list[str] | None = None,
    error_scale: float = 1.0,
    asymmetric: str = "median",
    units: str = "same",
    missing: Literal["error", "drop", "keep"] = "error",
    na_values: Sequence[float] = (),
    limits: str | None = None,
    text_labels: bool = False,
    class_probabilities: str | None = None,
    delimiter: str | None = None,
    format: str | None = None,
) -> Dataset:
    """Read a table and pair values with their uncertainties by the names of the columns.

    `x` belongs to `x_err`, `e_x`, `sigma_x` and many more, as in `svmgsu.Gaussians.from_frame`. Nothing is
    left out silently: the report says which columns are ids, exact, or not used because they hold text, and
    an uncertainty without its value is refused.

    Parameters
    ----------
    path : path, "-" or file
        Its ending tells the format: .csv, .tsv, .tab, .txt, .dat (delimiters are seen from the first lines),
        .parquet, .feather, .arrow, .ipc, .json, .jsonl, .ndjson, .fits, .vot, .ecsv (astropy), .xlsx
        (pandas). Those that end in .gz, .xz or .zst are unpacked.
    target : str, bool or None, default=True
        Column to predict. True finds it by its name (label, y, class, target, type, ...) if there is one,
        False does so and leaves it out, None takes no column for it.
    task : {"auto", "classification", "regression"}
        Whether the target is classes or numbers. "auto": numbers if it has an uncertainty, fractions, or more
        than 20 different values. The uncertainties of numbers become `y_std`.
    id : str, optional
        Column of ids, by default one of the usual names (id, name, objid, ...), or one that numbers
        the rows. Ids are text: 001 stays 001.
    groups : str, optional
        Column of groups, such as the star that several rows were measured of: the `groups` of the result,
        which `GSUClassifier.fit` and `svmgsu.report` keep together.
    features, errors, exact, ignore, error_scale, asymmetric, units, limits
        As for `svmgsu.Gaussians.from_frame`.
    missing : {"error", "drop", "keep"}
        What to do with rows where a number or the target is missing; "keep" leaves NaN in the means, for
        estimators that take missing values, such as `GSUClassifier`.
    na_values : list of float, default=()
        Numbers that mean a missing value, such as -99 or 999. None is taken for one unless it is named here,
        but the report says where such a number occurs far outside the rest of its column.
    text_labels : bool, default=False
        Take labels as text. By default they are numbers where all are, and a mixture is refused.
    class_probabilities : str, optional
        Beginning of the names of columns with class probabilities, such as "p_": without a target, `p_star`
        and `p_quasar` then are y, of shape (l, 2), and star and quasar the `classes`.
    delimiter : str, optional
        What separates the cells of a text; "blanks" for any blanks.
    format : str, optional
        The ending to assume, such as "csv".

    Examples
    --------
    >>> import io, svmgsu
    >>> file = io.BytesIO(b"id,flux,flux_err,label\\ns1,1.5,0.5,star\\nq1,3.0,0.25,quasar\\n")
    >>> data, y = svmgsu.io.read_table(file, format="csv")
    >>> data.cov.variances
    array([[0.25  ],
           [0.0625]])
    >>> y
    array(['star', 'quasar'], dtype='<U6')
    """
    options = {name: value for name, value in locals().items() if name not in ("path", "delimiter", "format")}
    as_text = [c for c in (id, target if text_labels else None) if isinstance(c, str)]
    cells = open_cells(path, ending_of(path, format), delimiter, as_text)
    dataset = TableReader(**options).read(cells)
    assert dataset.columns is not None
    if target and groups is None:
        every = np.ones(cells.rows, dtype=bool)
        others = {column: cells.ids(column, every) for column in dataset.columns.ids[1:]}
        first = {} if dataset.ids is None else {dataset.columns.ids[0]: dataset.ids}
        remarks = repeated_ids(first | others)
        dataset.columns.remarks += remarks
        dataset.report.notes += [f"{cells.name}: {remark}" for remark in remarks]
    return dataset


@dataclass
class TableReader:
    """Read a table at once, or one part after another, by the options of `read_table`.

    The parts of a table agree in what their columns mean: the first one decides, and `signs` keeps the signs
    of lower errors. `weight` names a column of sample weights; where not `by_content`, ids go by names alone;
    `advice` says what to do about missing values, and `through` names the function that has the options, if
    the user called one without them.
    """

    target: str | bool | None = True
    task: str = "auto"
    id: str | None = None
    groups: str | None = None
    features: list[str] | None = None
    errors: Any = None
    exact: list[str] | None = None
    ignore: list[str] | None = None
    error_scale: float = 1.0
    asymmetric: str = "median"
    units: str = "same"
    missing: Literal["error", "drop", "keep"] = "error"
    na_values: Sequence[float] = ()
    limits: str | None = None
    text_labels: bool = False
    class_probabilities: str | None = None
    weight: str | None = None
    by_content: bool = True
    advice: str = ""
    through: str = ""
    signs: dict[str, tuple[float, str]] = field(default_factory=dict)
    columns: Columns | None = None

    def __post_init__(self) -> None:
        check_choice(self.missing, "missing", ("error", "drop", "keep"))
        check_choice(self.task, "task", TASKS)
        self.centre = check_centre(self.asymmetric)
        check_choice(self.units, "units", UNITS)
        self.soft_labels: list[str] = []
        if self.limits not in (None, "half-normal"):
            raise ValueError(f'limits: expected "half-normal" or None, got {self.limits!r}')
        if not (isinstance(self.error_scale, (int, float)) and 0 < self.error_scale < np.inf):
            raise ValueError(f"error_scale: must be > 0 and finite, got {self.error_scale!r}")

    def read(self, cells: Cells) -> Dataset:
        """Read a whole table."""
        found = self.part(cells, whole=True)
        if found is None:
            raise _core.FormatError(f"{cells.name}: there are no samples in this file")
        return found[0]

    def part(self, cells: Cells, whole: bool = False) -> tuple[Dataset, Array | None] | None:
        """Read some rows: their samples and weights, or None where no row is left.

        A part may have no sample, and a column without a number; the `whole` table may not.
        """
        cells.limits = self.limits
        try:
            plan = self.understand(cells)
        except ColumnError as error:
            raise _core.FormatError(f"{cells.name}: {error}") from None
        numeric = [*plan.numeric, *self.soft_labels, *([self.weight] if self.weight else [])]
        label = None
        if plan.target and self.task == "regression":
            numeric += [plan.target, *(c for c in plan.target_errors.values() if isinstance(c, str))]
        elif plan.target and self.target is not False:
            label = plan.target
        if cells.rows == 0:
            return None
        numbers = cells.numbers(dict.fromkeys(numeric))
        if len(self.na_values):
            numbers = {c: np.where(_among(v, self.na_values), np.nan, v) for c, v in numbers.items()}
        plan.remarks = self._standardise(cells, plan, numbers)
        plan.remarks += self._suspicions(plan, numbers) if whole else []
        notes = plan.remarks.copy()
        keep = self._complete(cells, plan, numbers, label, notes, whole)
        if not keep.any():
            return None
        self._check_signs(cells, plan, numbers)
        mean, cov = self._assemble(cells, plan, numbers, keep)
        data = with_gaps(mean, cov, plan.features)
        data.columns = plan
        dataset = Dataset(data, report=Report({cells.name: cells.rows}, {cells.name: int((~keep).sum())}))
        dataset.columns = plan
        if label is not None:
            dataset.y = cells.labels(label, keep, self.text_labels)
        elif plan.target and self.task == "regression":
            dataset.y, dataset.y_std = self._numbers_to_predict(cells, plan, numbers, keep)
        elif self.soft_labels:
            dataset.y = _probabilities(cells, [numbers[c] for c in self.soft_labels], keep)
            names = [c.removeprefix(str(self.class_probabilities)) for c in self.soft_labels]
            whole_names = all(name.removeprefix("-").isdecimal() for name in names) and not self.text_labels
            dataset.classes = np.array([int(name) for name in names] if whole_names else names)
            notes.append(f"class probabilities: {', '.join(self.soft_labels)}")
        dataset.task = None if dataset.y is None else self.task
        if plan.ids:
            dataset.ids = cells.ids(plan.ids[0], keep)
        if self.groups:
            dataset.groups = cells.ids(self.groups, keep)
        notes = [str(plan), *notes] if whole else notes
        dataset.report.notes = [f"{cells.name}: {note}" for note in notes]
        return dataset, None if self.weight is None else numbers[self.weight][keep].astype(np.float64)

    def understand(self, cells: Cells) -> Columns:
        """Decide, by the first part, what the columns are, and whether the target is classes or numbers."""
        if self.columns is None:
            self.columns = self._understand(cells)
        return self.columns

    def _understand(self, cells: Cells) -> Columns:
        names = cells.columns
        asked = [*(self.features or ()), *(self.ignore or ())]
        aside = [column for column in (self.weight, self.groups) if column]
        check_names(names, id=self.id and [self.id], weight=self.weight and [self.weight])
        check_names(names, groups=self.groups and [self.groups])
        kinds = cells.kinds()
        if self.features is None:
            free = [c for c in names if c not in (*asked, self.id, self.target, *kinds.empty)]
            for column, text in kinds.with_commas.items():
                if column in free:
                    raise ColumnError(
                        f"column {column!r} holds numbers with commas, such as {text!r}; write them with a "
                        f"decimal point and without other marks; {option('ignore', [column])} leaves it out"
                    )
            # The first column without a name numbers the rows, as pandas writes it.
            for column in free:
                if column.startswith(UNNAMED) and column != f"{UNNAMED}0":
                    raise ColumnError(f"column {int(column[len(UNNAMED) :]) + 1} has no name; give it one")
        guessed = self.target in (True, False) and not (self.target is False and self.features is not None)
        given: Fields = {
            "numeric": kinds.numeric,
            "running": [c for c in kinds.running if c not in asked] if self.by_content else (),
            "features": self.features,
            "errors": errors_by_hand(self.errors, names),
            "exact": self.exact or (),
            "ids": None if self.id is None else [self.id],
            "target": self.target if isinstance(self.target, str) else guessed,
            "regression": self.task == "regression",
            "ignore": self.ignore or (),
            "error_scale": self.error_scale,
        }
        found = understand(names, aside=aside, **given)
        if not found.values and found.ids:
            # A table of nothing but ids has values that look like ids.
            found = understand(names, aside=aside, **{**given, "running": ()})
        if self.class_probabilities and self.target is True and not found.target:
            exact = [c for c, e in found.values.items() if not e and c not in asked]
            soft = [
                c for c in exact if c.startswith(self.class_probabilities) and c != self.class_probabilities
            ]
            if len(soft) > 1:
                self.soft_labels = soft
                found = understand(names, aside=[*aside, *soft], **given)
        if self.task == "regression" and self.target is True and not found.target:
            raise ColumnError(
                f"name the column to predict in {option('target')}: {', '.join(names[:10])}, ..."
            )
        if self.task == "regression" and found.target and found.target not in kinds.numeric:
            raise ColumnError(
                f"column {found.target!r}: a regression predicts numbers, and this holds none; name another "
                f"{option('target')}, or train a classifier"
            )
        if self.task == "auto":
            self.task = self._task(cells, found, kinds.numeric)
        not_numeric = [repr(c) for c in found.values if c not in kinds.numeric]
        if not_numeric:
            raise ColumnError(f"no numbers in column {listed(not_numeric, 5)}, which was asked for")
        if self.features is None:
            for c in [c for c in found.values if c in kinds.empty]:
                found.values.pop(c)
                found.unused[c] = "empty"
        if not found.values:
            left = listed([f"{c} ({why})" for c, why in found.unused.items()], 5)
            raise ColumnError(f"there is no column to take as a feature{': ' + left if left else ''}")
        return found

    def _task(self, cells: Cells, found: Columns, numeric: set[str]) -> str:
        """Decide whether the target holds classes or numbers."""
        if found.target is None or found.target not in numeric or self.text_labels:
            return "classification"
        if found.target_errors:
            return "regression"
        return guess_task(cells.array(found.target))

    def _standardise(self, cells: Cells, plan: Columns, numbers: dict[str, Array]) -> list[str]:
        """Turn units, scales, inverse variances and bounds into uncertainties in units of their values."""
        sentinels, example = 0, ""
        pairs = [*plan.values.items()]
        pairs += [(str(plan.target), plan.target_errors)] if self.task == "regression" else []
        for value, found in pairs:
            for what, column in found.items():
                if not isinstance(column, str):
                    continue
                if self.units == "same" and column in cells.percentages and value not in cells.percentages:
                    raise _core.FormatError(
                        f"{cells.name}: column {column!r} holds percentages, and its value {value!r} does "
                        f"not; {option('units', 'relative')} takes all errors as fractions of their values, "
                        f"{option('ignore', [column])} leaves these out"
                    )
                factor = cells.conversion(column, value, what) / plan.error_scale
                error = numbers[column]
                # Comparing the largest first spares most tables the search for nines.
                largest = max(np.nanmax(error, initial=0), -np.nanmin(error, initial=0))
                if what == STD and largest >= min(WRITTEN):
                    nothing = _among(np.abs(error), NINES) & _among(np.abs(numbers[value]), NINES)
                    sentinels += int(nothing.sum())
                    if nothing.any() and not example:
                        first = int(np.argmax(nothing))
                        example = f"{numbers[value][first]:g} and {error[first]:g}"
                    numbers[value] = np.where(nothing, np.nan, numbers[value])
                    error = np.where(nothing, np.nan, error)
                if what == VARIANCE:
                    error = error * factor**2
                elif what == PRECISION:
                    with np.errstate(divide="ignore"):
                        error = np.where(error > 0, factor**2 / error, np.nan)
                elif what in (UPPER_BOUND, LOWER_BOUND):
                    error = (1 if what == UPPER_BOUND else -1) * (error - numbers[value]) * factor
                elif factor != 1:
                    error = error * factor
                numbers[column] = error
        if not sentinels:
            return []
        return [f"{sentinels} values of nines with an error of nines, such as {example}, are missing"]

    def _suspicions(self, plan: Columns, numbers: dict[str, Array]) -> list[str]:
        """Name the numbers far outside the rest of their column that may mean missing values."""
        target = [plan.target] if plan.target and self.task == "regression" else []
        found = {c: _codes_of_nothing(numbers[c]) for c in [*plan.values, *target]}
        shown = [f"{c} ({v:g}: {n} samples)" for c, codes in found.items() for v, n in codes.items()]
        if not shown:
            return []
        values = sorted({v for codes in found.values() for v in codes})
        values = [int(v) if v == int(v) else v for v in values]
        remedy = option("na_values", values)
        if self.through:
            remedy = f"{self.through}(table, {remedy})"
        return [
            f"numbers far outside the rest, taken as they are: {listed(shown, 5)}; if they mean missing "
            f"values, say {remedy}"
        ]

    def _complete(
        self,
        cells: Cells,
        plan: Columns,
        numbers: dict[str, Array],
        label: str | None,
        notes: list[str],
        whole: bool,
    ) -> Array:
        """Find the rows to keep; missing values are refused, or NaN where they are kept."""
        keep = np.ones(cells.rows, dtype=bool)
        by_column = {c: v for v, found in plan.values.items() for c in (v, *found.values())}
        order = plan.features
        dispensable = whole and self.missing != "error" and not self.features
        gaps = 0
        for column, values in list(numbers.items()):
            wrong = ~np.isfinite(values)
            if not wrong.any():
                continue
            count, owner = int(wrong.sum()), by_column.get(column)
            if wrong.all() and owner is not None and dispensable:
                # A value goes with its errors; without errors it is exact.
                if owner in plan.values:
                    found = plan.values.pop(owner)
                    plan.joint = {pair: about for pair, about in plan.joint.items() if owner not in pair}
                    plan.unused |= {c: f"belongs to {owner}" for c in found.values() if isinstance(c, str)}
                    plan.unused[column] = "empty"
                    if column != owner:
                        plan.values[owner] = {}
                        plan.errors_empty += [] if owner in plan.errors_empty else [owner]
                continue
            if self.missing == "error":
                row = int(np.argmax(wrong))
                what = "has no value" if np.isnan(values[row]) else f"is {values[row]}"
                raise self._missing(cells, column, wrong, what)
            if owner is None or self.missing == "drop":
                keep &= ~wrong
            else:
                # A value whose uncertainty is not known says nothing that can be weighed: it is missing, too.
                gaps += int((wrong & np.isfinite(numbers[owner])).sum()) if column != owner else count
                numbers[owner] = np.where(wrong, np.nan, numbers[owner])
                numbers[column] = np.where(wrong, np.nan if column == owner else 0.0, values)
        plan.values = {value: plan.values[value] for value in order if value in plan.values}
        if label is not None:
            known = cells.codes(label)[0] >= 0
            if self.missing == "error" and not known.all():
                raise self._missing(cells, label, ~known)
            keep &= known
        if not plan.values:
            left = listed([f"{c} ({why})" for c, why in plan.unused.items()], 5)
            raise _core.FormatError(f"{cells.name}: no column is left to learn from: {left}")
        if whole and not keep.any():
            raise _core.FormatError(f"{cells.name}: there is no sample without a missing number")
        if gaps:
            notes.append(f"{gaps} missing value{'s' * (gaps > 1)}")
        return keep

    def _missing(
        self, cells: Cells, column: str, wrong: Array, what: str = "has no value"
    ) -> _core.FormatError:
        more = f", one of {wrong.sum()} such rows" if wrong.sum() > 1 else ""
        keep, drop = option("missing", "keep"), option("missing", "drop")
        advice = (
            self.advice or f"{drop} leaves such samples out, {keep} is for models that take missing values"
        )
        return cells.fail(int(wrong.argmax()), f"column {column!r} {what}{more}; {advice}")

    def _check_signs(self, cells: Cells, plan: Columns, numbers: dict[str, Array]) -> None:
        """Check that lower errors have one sign in all parts of a table."""
        for column in [found[LOWER] for found in (*plan.values.values(), plan.whole) if LOWER in found]:
            signs = np.sign(numbers[column])
            rows = np.flatnonzero(np.isfinite(signs) & (signs != 0))
            if not len(rows):
                continue
            row = int(rows[0])
            before, there = self.signs.setdefault(column, (float(signs[row]), cells.place(row)))
            if signs[row] != before:
                raise cells.fail(
                    row,
                    f"column {column!r} is {numbers[column][row]:g}, of another sign than at {there}; "
                    "lower errors must have one sign",
                )

    def _assemble(
        self, cells: Cells, plan: Columns, numbers: dict[str, Array], keep: Array
    ) -> tuple[Array, Any]:
        """Put together means and covariance of the rows to keep."""
        every = bool(keep.all())
        means = [numbers[column] if every else numbers[column][keep] for column in plan.values]

        def bars(column: str, what: str) -> Any:
            return _sizes(cells, column, what, numbers[column], keep)

        if plan.whole and self.units == "same":
            shift, variance = combine(plan.whole, bars, self.centre)
            mean = _by_row(
                means if shift is None else [(values + shift).astype(values.dtype) for values in means]
            )
            return mean, Isotropic(stored_as(variance / plan.error_scale**2, mean.dtype))
        if not plan.whole and not any(plan.values.values()):
            return _by_row(means), None
        columns: list[Array] = []
        deviations: set[int] = set()
        for j, own in enumerate(plan.values.values()):
            found = plan.whole or own
            unit = bar_unit(means[j], self.units)
            if STD in found or not found:
                std = found.get(STD, 0.0)  # a number is for all rows
                std = bars(std, STD) if isinstance(std, str) else std
                columns.append(np.broadcast_to(std if self.units == "same" else std * unit, len(means[j])))
                deviations.add(j)
                continue
            shift, variance = combine(found, bars, self.centre, unit)
            columns.append(variance)
            if shift is not None:
                means[j] = (means[j] + shift).astype(means[j].dtype)
        mean = _by_row(means)
        variances = _by_row(columns, deviations)
        if plan.joint:
            return mean, _full(plan, numbers, keep, variances)
        if np.isnan(mean).any():
            variances = np.where(np.isnan(mean), 0.0, variances)
        return mean, Diagonal(stored_as(variances, mean.dtype))

    def _numbers_to_predict(
        self, cells: Cells, plan: Columns, numbers: dict[str, Array], keep: Array
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return the target of the rows to keep, and its standard deviations, if it has errors."""
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


def _codes_of_nothing(values: Array) -> dict[float, int]:
    """Find values such as -99 that occur several times far outside the rest, and how often they do."""
    found: dict[float, int] = {}
    for end in (np.fmin, np.fmax):
        # Most columns end here: their least and greatest values are ordinary numbers.
        while abs(value := float(end.reduce(values, initial=np.nan))) in WRITTEN:
            own = values == value
            rest = values[~own & np.isfinite(values)]
            if own.sum() < SEVERAL or not len(rest):
                break
            away = min(abs(value - rest.min()), abs(value - rest.max()))
            if away <= np.ptp(rest) and not (value < 0 <= rest.min()):
                break
            found[math.copysign(WRITTEN[abs(value)], value)] = int(own.sum())
            values = rest
    return found


def _among(values: Array, codes: Sequence[float]) -> Array:
    """Tell which values are one of `codes`, also where they were rounded to float32."""
    wanted = np.asarray(codes, dtype=np.float64)
    with np.errstate(over="ignore"):
        rounded = wanted.astype(np.float32)
    return np.isin(values, np.concatenate([wanted, rounded[np.isfinite(rounded)]]))


def _by_row(columns: list[Array], squared: Collection[int] = ()) -> Array:
    """Join columns, some of them `squared`, in an (l, n) array.

    Some rows at a time, since whole columns would not stay in the cache.
    """
    out = np.empty((len(columns[0]), len(columns)), dtype=np.result_type(*columns))
    for first in range(0, len(out), ROWS):
        rows = slice(first, first + ROWS)
        for j, column in enumerate(columns):
            out[rows, j] = np.square(column[rows]) if j in squared else column[rows]
    return out


def _full(plan: Columns, numbers: dict[str, Array], keep: Array, variances: FloatArray) -> Full:
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


def _sizes(cells: Cells, column: str, what: str, values: Array, keep: Array) -> Array:
    """Return errors as sizes; refuse negative ones."""
    sizes = values.astype(np.float64, copy=False)
    if what == LOWER:
        try:
            sizes = lower_sizes(sizes)
        except SignError as sign:
            raise cells.fail(
                sign.negative,
                f"column {column!r} is {values[sign.negative]:g}, but {values[sign.positive]:g} at "
                f"{cells.place(sign.positive)}; lower errors must have one sign",
            ) from None
    if np.nanmin(sizes, initial=0) < 0:
        row = int(np.argmax(sizes < 0))
        raise cells.fail(row, f"column {column!r} is {sizes[row]:g}; errors must be >= 0")
    return sizes if keep.all() else sizes[keep]


def _probabilities(cells: Cells, columns: list[Array], keep: Array) -> Array:
    """Join columns of probabilities in one array; rows must sum to 1."""
    found = np.column_stack(columns).astype(np.float64)
    wrong = keep & ((np.abs(found.sum(axis=1) - 1) > SOFT_TOLERANCE) | (found < 0).any(axis=1))
    if wrong.any():
        row = int(wrong.argmax())
        shown = ", ".join(f"{value:g}" for value in found[row])
        raise cells.fail(row, f"the probabilities of classes are {shown}; they must be >= 0 and sum to 1")
    return found[keep]


def errors_by_hand(errors: Any, names: Sequence[str]) -> dict[str, Errors]:
    """Read what a user wrote as `errors`: {value: {what it is: column}}.

    {value: column, (upper, lower), "upper,lower", "var:column", "ivar:column", "bounds:low,high", a number
    for all rows, or None}; or patterns, one or a list, such as "e_{}" and "MP_{}=EP_{}".
    """
    if errors is None:
        return {}
    if isinstance(errors, Mapping):
        return {str(value): _by_hand(value, given, names) for value, given in errors.items()}
    found, present = {}, set(names)
    for text in [errors] if isinstance(errors, str) else list(errors):
        value, _, error = text.rpartition("=") if "=" in text else ("{}", "", text)
        if "{}" not in value:
            found[value] = _by_hand(value, error, names)
            continue
        before, _, after = value.partition("{}")
        bodies = [
            c[len(before) : len(c) - len(after)] for c in names if c.startswith(before) and c.endswith(after)
        ]
        pairs = {
            before + b + after: error.replace("{}", b) for b in bodies if error.replace("{}", b) in present
        }
        if not pairs:
            raise ColumnError(
                f"errors: no columns are named like {text!r}; there are {', '.join(names[:10])}"
            )
        found |= {value: _by_hand(value, error, names) for value, error in pairs.items()}
    return found


def _by_hand(value: str, given: Matrix, names: Sequence[str]) -> Errors:
    """Read one uncertainty by hand: {what it is: column}."""
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
    wanted = BY_HAND.get(kind, ()) if colon else ((STD,), (UPPER, LOWER))[len(columns) == 2]
    if len(wanted) != len(columns):
        raise ColumnError(
            f"errors: expected one column, (upper, lower), 'var:...', 'ivar:...' or 'bounds:low,high' for "
            f"{value!r}, got {given!r}"
        )
    check_names(names, errors=columns)
    return dict(zip(wanted, columns, strict=True))
