"""The cells of a table by column: numbers, labels and ids, each with its place for messages.

`Cells` are tables in memory (pandas, polars, astropy, pyarrow), `CsvCells` files of text.
"""

from __future__ import annotations

import csv
import decimal
import io
import itertools
import numbers as number_types
import os
import re
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..data.columns import ColumnError
from ..data.frames import PRECISION, UNIT, VARIANCE, is_id
from ..support.errors import option
from ..support.types import Cell, Table
from ..support.validation import Array, FloatArray

PLAIN = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
NUMBER = re.compile(rf"{PLAIN}|[+-]?(inf|infinity|nan)", re.IGNORECASE)
PERCENT = re.compile(rf"({PLAIN})\s*%")
WITH_ERROR = re.compile(rf"({PLAIN})\s*(?:±|\+/-|\+-)\s*({PLAIN})")  # 1.2±0.3
SHORT = re.compile(r"([+-]?[0-9]*\.?([0-9]*))\(([0-9]+\.?[0-9]*)\)(?:[eE]([+-]?[0-9]+))?")  # 1.62(48)
LIMIT = re.compile(rf"([<>≤≥])\s*({PLAIN})")
WITH_COMMAS = re.compile(r"[+-]?[0-9][0-9.]*(,[0-9.]+)+([eE][+-]?[0-9]+)?")  # 0,5 or 1,234.5
MARKED = re.compile(r"[±(<>≤≥]|\+/?-")  # in cells with an error or a limit
NOTHING = ("", "--", "—", "...", "-", "nan", "null", "none", "n/a", "na", "#n/a", "nodata", "masked")
NULLS = [*dict.fromkeys([*NOTHING, "NaN", "NULL", "None", "N/A", "NA", "#N/A", "-nan"])]
INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]+)?")
# Ids and labels such as 007, +1 and 0x1A, which are no numbers.
AS_WRITTEN = re.compile(r"^\s*((-?0|\+)[0-9]|-?0[xX])")
TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
UNNAMED = "Unnamed: "  # how pandas calls a column without a name, with its number from 0 on
HEAD = 100  # records of a text that are looked at before it is read
MOST_SAMPLED = 1000  # cells of text by which a column is told apart
BLOCK = 2**20  # bytes of a text that are parsed at a time, if its lines are not longer
FEW_RUNNING, LEAST_RUNNING = 10, 20  # rows: fewer integers may be in order, or texts all different, by chance
LARGE_ID = 10**6
MOST_CLASSES = 20  # whole numbers of more values are numbers to predict, not classes


class Kinds(NamedTuple):
    """Which columns hold numbers, which number rows or name objects, which are empty or have 0,5 for 0.5."""

    numeric: set[str]
    running: set[str]
    empty: set[str]
    with_commas: dict[str, str]


class Spelled(NamedTuple):
    """A number in a cell of text with its error, both NaN in an empty one, or a limit such as <0.5."""

    value: float
    error: float = float("nan")
    limit: str = ""


def spelled(text: str) -> Spelled | None:
    """Read a number as people write it: 48.6%, 1.2±0.3, 1.62(48), <0.5, true; None for anything else."""
    text = text.strip().replace("\u2212", "-")
    if NUMBER.fullmatch(text):
        return Spelled(float(text))
    if text.casefold() in NOTHING:
        return Spelled(float("nan"))
    if text in TRUTH:
        return Spelled(float(TRUTH[text]))
    if found := PERCENT.fullmatch(text):
        return Spelled(float(found[1]) / 100)
    if found := WITH_ERROR.fullmatch(text):
        return Spelled(float(found[1]), float(found[2]))
    if found := SHORT.fullmatch(text):
        power = 10.0 ** int(found[4] or 0)
        places = 0 if "." in found[3] else len(found[2])
        return Spelled(float(found[1]) * power, float(found[3]) * 10.0**-places * power)
    if found := LIMIT.fullmatch(text):
        return Spelled(float(found[2]), limit=found[1])
    return None


def guess_task(y: Array) -> str:
    """Guess the task: numbers with fractions, or with many different values, are a regression."""
    if y.dtype.kind not in "iuf":
        return "classification"
    known = y[np.isfinite(y)] if y.dtype.kind == "f" else y
    whole = bool((known == np.floor(known)).all())
    return "classification" if whole and len(np.unique(known)) <= MOST_CLASSES else "regression"


def check_collected(frame: Table) -> None:
    """Refuse a lazy frame."""
    if hasattr(frame, "collect") and not hasattr(frame, "to_numpy"):
        raise TypeError("X: a lazy frame has no rows yet; pass X.collect()")


def names_of(frame: Table) -> list[Any]:
    """Return the names of the columns of a table in memory."""
    return list(getattr(frame, "colnames", getattr(frame, "column_names", frame.columns)))


class Cells:
    """A table in memory, which begins at row `first` of the whole, read through its own columns."""

    limits: str | None = None  # what becomes of upper limits
    is_text = False  # numbers were written as text

    def __init__(self, frame: Table, name: str = "frame", first: int = 0) -> None:
        check_collected(frame)
        if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
            raise TypeError(
                f"frame: expected a table of pandas, polars, astropy or pyarrow, got {type(frame).__name__}"
            )
        self.frame = frame
        self.name = name
        self.first = first
        self.rows = len(frame)
        self.columns = names_of(frame)
        for column in self.columns:
            if not isinstance(column, str):
                raise TypeError(
                    f"frame: expected columns with names that are strings, got {column!r}; rename them, or "
                    "use svmgsu.Gaussians(values, std=errors)"
                )
        if len(set(self.columns)) < len(self.columns):
            twice = next(c for c in self.columns if self.columns.count(c) > 1)
            raise _core.FormatError(f"{name}: the column {twice!r} appears twice; rename one")
        # What pandas wrote as the index of a data frame are ids.
        about = getattr(getattr(frame, "schema", None), "pandas_metadata", None) or {}
        self.index = [c for c in about.get("index_columns", []) if isinstance(c, str) and c in self.columns]
        self._arrays: dict[str, Array] = {}
        self._codes: dict[str, tuple[Array, list[Any]]] = {}
        self._spelled: dict[str, tuple[FloatArray, FloatArray]] = {}
        self.percentages: set[str] = set()  # columns with cells such as 48.6%
        # Errors that stand in the cells of their values, such as 1.2±0.3, are columns of their own.
        self.in_cells: dict[str, str] = {}
        for column in list(self.columns):
            if not self.has_texts(column) or f"{column}_err" in self.columns:
                continue
            texts = itertools.islice(self.texts(column), MOST_SAMPLED)
            found = [spelled(text) for text in texts if MARKED.search(text)]
            if any(cell is not None and (cell.error == cell.error or cell.limit) for cell in found):
                self.in_cells[f"{column}_err"] = column
                self.columns.insert(self.columns.index(column) + 1, f"{column}_err")

    def array(self, column: str) -> Array:
        """Return a column as numbers with NaN for nothing, or as objects with None for nothing."""
        if column not in self._arrays:
            self._arrays[column] = self._array(column)
        return self._arrays[column]

    def _array(self, column: str) -> Array:
        series = self.frame[column]
        mask = getattr(series, "mask", None)  # of astropy; pandas has a method of this name
        series = getattr(series, "value", series) if hasattr(series, "unit") else series
        if hasattr(series, "chunks"):
            array = _of_arrow(series)
        elif getattr(series.dtype, "kind", None) in tuple("iuf") and hasattr(series, "isna"):
            missing = bool(series.isna().any())
            array = series.to_numpy(dtype=np.float64, na_value=np.nan) if missing else series.to_numpy()
        elif hasattr(series, "to_numpy"):
            array = series.to_numpy()
        else:
            array = np.ma.getdata(np.asanyarray(series))
        array = np.asarray(array)
        if array.ndim != 1:
            raise ValueError(
                f"frame: column {column!r} has cells of shape {array.shape[1:]}; expected numbers"
            )
        hidden = isinstance(mask, np.ndarray) and mask.any()
        if array.dtype.kind in "iuf" or (array.dtype.kind == "b" and not hidden):
            array = array.astype(array.dtype.newbyteorder("="), copy=False)  # FITS is big-endian
            return np.where(mask, np.nan, array) if hidden else array  # type: ignore[arg-type]
        cells = array.tolist() if self.is_text else [_plain(cell) for cell in array.tolist()]
        if hidden:
            cells = [None if masked else cell for cell, masked in zip(cells, mask, strict=True)]  # type: ignore[arg-type]
        if cells and not self.is_text and all(cell is None or isinstance(cell, float) for cell in cells):
            return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
        out = np.empty(len(cells), dtype=object)
        out[:] = cells
        return out

    def has_texts(self, column: str) -> bool:
        """Tell whether a column holds something else than numbers."""
        return self.array(column).dtype.kind == "O"

    def texts(self, column: str) -> Iterator[str]:
        """Yield the cells of a column that are not empty."""
        texts = (str(cell).strip() for cell in self.array(column) if cell is not None)
        return (text for text in texts if text.casefold() not in NOTHING)

    def kinds(self) -> Kinds:
        """Tell columns of numbers from text, ids and empty ones, by what they hold."""
        kinds = Kinds(set(self.in_cells), set(self.index), set(), {})
        for column in self.columns:
            if column in self.in_cells:
                continue
            if not self.has_texts(column):
                cells = self.array(column)
                kinds.numeric.add(column)
                if cells.dtype.kind == "f" and len(cells) and np.isnan(cells[0]) and np.isnan(cells).all():
                    kinds.empty.add(column)
                elif cells.dtype.kind in "iu" and len(cells):
                    # In the first column fewer rows will do: tables begin with the numbers of their rows.
                    first = column == self.columns[0] and cells[0] in (0, 1)
                    if len(cells) >= (FEW_RUNNING if first else LEAST_RUNNING) and _is_running(cells):
                        kinds.running.add(column)
                continue
            filled = [*itertools.islice(self.texts(column), MOST_SAMPLED)]
            known = {text: spelled(text) is not None for text in set(filled)}
            fine = sum(known[text] for text in filled)
            if 2 * fine >= len(filled):
                kinds.numeric.add(column)
            elif 2 * sum(WITH_COMMAS.fullmatch(text) is not None for text in filled) > len(filled):
                kinds.with_commas[column] = next(t for t in filled if WITH_COMMAS.fullmatch(t))
            if not filled and self.rows:
                kinds.empty.add(column)
            different = len(set(filled)) == min(self.rows, MOST_SAMPLED) >= LEAST_RUNNING
            if not different or is_id(column):
                continue  # no id, or one by its name
            whole = all(INTEGER.fullmatch(text) for text in filled)
            running = _is_running(np.array(list(map(int, filled)), dtype=object)) if whole else not fine
            if running and len({*self.array(column).tolist(), None}) == self.rows + 1:
                kinds.running.add(column)
        return kinds

    def numbers(self, columns: Collection[str]) -> dict[str, Array]:
        """Return columns as floats, NaN where a cell is empty; refuse what is no number."""
        own = [self.array(c).dtype for c in columns if c not in self.in_cells]
        dtype = np.float32 if own and all(kind == np.float32 for kind in own) else np.float64
        found: dict[str, Array] = {}
        for c in columns:
            if c in self.in_cells:
                values, errors = self._of_texts(self.in_cells[c])
                found[c] = np.where(np.isnan(errors) & ~np.isnan(values), 0.0, errors)
            elif self.array(c).dtype.kind == "O":
                found[c] = self._of_texts(c)[0]
            else:
                found[c] = self.array(c).astype(dtype, copy=False)
        return found

    def values(self, column: str) -> list[Any]:
        """Return a column as it is, None where a cell is empty."""
        array = self.array(column)
        if array.dtype.kind == "f" and "int" in str(_type_of(self.frame[column])).lower():
            return [None if cell != cell else int(cell) for cell in array.tolist()]
        return [None if cell != cell else cell for cell in array.tolist()]

    def codes(self, column: str) -> tuple[Array, list[Any]]:
        """Number the different cells: return the number of each row's cell, -1 for none, and the cells."""
        if column not in self._codes:
            self._codes[column] = self._coded(column)
        return self._codes[column]

    def _coded(self, column: str) -> tuple[Array, list[Any]]:
        series = self.frame[column]
        if hasattr(series, "chunks") and series.type == "string":
            encoded = series.combine_chunks().dictionary_encode()
            codes = np.array(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
            texts = encoded.dictionary.to_pylist()
            codes[np.isin(codes, [k for k, text in enumerate(texts) if not text.strip()])] = -1
            return codes, texts
        if self.array(column).dtype.kind in "biu":
            known, codes = np.unique(self.array(column), return_inverse=True)
            return codes, known.tolist()
        values = [None if value == "" else value for value in self.values(column)]
        strange = next((type(value).__name__ for value in values if isinstance(value, (list, dict))), None)
        if strange is not None:
            raise _core.FormatError(f"{self.name}: column {column!r} holds {strange}, no labels")
        places: dict[Any, int] = {}
        for value in values:
            if value is not None:
                places.setdefault(value, len(places))
        return np.fromiter((places.get(v, -1) for v in values), np.int64, len(values)), list(places)

    def labels(self, column: str, keep: Array, as_text: bool) -> Array:
        """Return the labels of some rows, none of which is empty: numbers where all are, else strings.

        A mixture is refused unless taken `as_text`.
        """
        codes, known = self.codes(column)
        used, order = np.unique(codes[keep], return_inverse=True)
        different = [known[k] for k in used]
        if as_text:
            return np.array(list(map(str, different)))[order]
        strange = next((t for t in set(map(type, different)) if t not in (str, bool, int, float)), None)
        if strange is not None:
            raise _core.FormatError(f"{self.name}: column {column!r} holds {strange.__name__}, no labels")
        if self.is_text and isinstance(different[0], str):
            texts = [text.strip() for text in different]
            numeric = [NUMBER.fullmatch(text) is not None for text in texts]
            if any(numeric) and not all(numeric):
                bad = numeric.index(False)
                raise self.fail(
                    int(np.flatnonzero(keep & (codes == used[bad]))[0]),
                    f"column {column!r} is {different[bad]!r}, where other labels are numbers, such as "
                    f"{different[numeric.index(True)]!r}; {option('text_labels', True)} takes all as text",
                )
            different = _typed(texts)
        return np.array(different)[order]

    def ids(self, column: str, keep: Array) -> Array:
        """Return ids as text, "" where a cell is empty."""
        if self.is_text and self.has_texts(column):
            found = np.array(self.frame[column].fill_null("").to_pylist())
        else:
            found = np.array(["" if value is None else str(value) for value in self.values(column)])
        return found if keep.all() else found[keep]

    def _of_texts(self, column: str) -> tuple[FloatArray, FloatArray]:
        """Read cells of text as numbers, with the errors in them, such as 1.2±0.3."""
        if column in self._spelled:
            return self._spelled[column]
        values, texts = self._plain_numbers(column)
        errors = np.full(self.rows, np.nan)
        bad: list[int] = []
        limits: dict[int, str] = {}
        for row, text in texts.items():
            cell = Spelled(np.nan) if text is None else spelled(str(text))
            if cell is None:
                bad.append(row)
                continue
            values[row], errors[row] = cell.value, cell.error
            if cell.limit:
                limits[row] = cell.limit
            if text is not None and str(text).rstrip().endswith("%"):
                self.percentages.add(column)
        if bad:
            count = f", one of {len(bad)} such rows" if len(bad) > 1 else ""
            raise self.fail(
                bad[0],
                f"column {column!r} is {texts[bad[0]]!r}, which is no number as others in it are{count}; "
                f"name it in {option('ignore')}, {option('target')} or {option('id')} if it holds none",
            )
        limited = list(limits)
        if limited and (self.limits is None or any(limit in ">≥" for limit in limits.values())):
            raise self.fail(
                limited[0],
                f"column {column!r} is {texts[limited[0]]!r}, a limit, one of {len(limited)}; "
                f"{option('limits', 'half-normal')} takes an upper limit L as a half-normal distribution of "
                f"scale L, {option('ignore', [column])} leaves the column out",
            )
        # The mean and the standard deviation of |Z| L, Z standard normal.
        errors[limited] = np.sqrt(1 - 2 / np.pi) * values[limited]
        values[limited] *= np.sqrt(2 / np.pi)
        self._spelled[column] = values, errors
        return values, errors

    def _plain_numbers(self, column: str) -> tuple[FloatArray, dict[int, Any]]:
        """Return numbers where cells are written plainly, and {row: cell} where they may not be."""
        return np.full(self.rows, np.nan), dict(enumerate(self.array(column).tolist()))

    def unit(self, column: str) -> Any:
        """Return the unit of a column: its own, or that in brackets at the end of its name."""
        own = None if column in self.in_cells else getattr(self.frame[column], "unit", None)
        found = UNIT.search(column)
        return own if own is not None or found is None else found[1][1:-1].strip()

    def conversion(self, column: str, value: str, what: str) -> float:
        """Return what an uncertainty of 1 is worth in the unit of its value."""
        own, wanted = self.unit(column), self.unit(value)
        if own is None or wanted is None or str(own) == str(wanted):
            return 1.0
        power = {PRECISION: -2, VARIANCE: 2}.get(what, 1)
        try:
            from astropy import units

            factor = float(units.Unit(own).to(units.Unit(wanted) ** power))
            return abs(factor) ** (1 / power) if power != 1 else factor
        except ImportError:
            why = "astropy would convert them: pip install 'svmgsu[astro]'"
        except (ValueError, TypeError) as error:
            why = " ".join(str(error).split())
        raise ColumnError(f"column {column!r} is in {own}, its value {value!r} in {wanted}: {why}")

    def place(self, row: int) -> str:
        """Return where a row of the table is: file and line, or file and row."""
        number = self.first + row
        label = self.frame.index[row] if hasattr(self.frame, "index") else number
        return f"{self.name}: row {number}" if label == number else f"{self.name}: row {number} ({label!r})"

    def fail(self, row: int, reason: str) -> _core.FormatError:
        """Return an error about a row."""
        return _core.FormatError(f"{self.place(row)}: {reason}")


def _is_running(values: Array) -> bool:
    """Tell whether whole numbers number rows (in order) or objects (large and all different)."""
    in_order = bool((np.diff(values) == 1).all())
    return in_order or (values.min() >= LARGE_ID and len(np.unique(values)) == len(values))


def _typed(texts: list[str]) -> list[Any]:
    """Return labels as integers, floats, or true and false, where all of them are."""
    if all(INTEGER.fullmatch(text) for text in texts):
        return list(map(int, texts))
    if all(DECIMAL.fullmatch(text) for text in texts):
        return list(map(float, texts))
    return [TRUTH[text] for text in texts] if all(text in TRUTH for text in texts) else texts


def _type_of(series: Table) -> Any:
    return getattr(series, "type", None) or getattr(series, "dtype", "")


def _of_arrow(series: Table) -> Array:
    """Return a column of a pyarrow table as numbers, or as a list of what it holds."""
    from pyarrow import types

    kind = series.type
    if types.is_decimal(kind) or types.is_null(kind):
        series = series.cast("float64")
        kind = series.type
    if (
        types.is_integer(kind)
        or types.is_floating(kind)
        or (types.is_boolean(kind) and not series.null_count)
    ):
        return np.asarray(series.to_numpy())
    out = np.empty(len(series), dtype=object)
    out[:] = series.to_pylist()
    return out


def _plain(cell: object) -> Cell:
    """Return a cell of an array of objects: None for nothing, a number, a text, or what it is."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace").strip()
    if isinstance(cell, (bool, np.bool_)):
        return bool(cell)
    if isinstance(cell, (number_types.Real, decimal.Decimal)):
        return float(cell)
    if hasattr(cell, "nominal_value") and hasattr(cell, "std_dev"):  # of the package uncertainties
        return f"{float(cell.nominal_value)!r}±{float(cell.std_dev)!r}"
    return cell


class CsvText:
    """The records of a text, each with the line that it begins in, for all that pyarrow does not tell.

    Remarks, which begin with #, may stand above the header.
    """

    def __init__(self, content: str | bytes, name: str, delimiter: str) -> None:
        self.content = content
        self.name = name
        self.delimiter = delimiter
        self.remarks = 0
        with self.records() as records:
            first = next(records, None)
            if first is None:
                raise _core.FormatError(f"{name}: the file is empty")
            self.header, names = first  # its line
            self._check_encoding(self.header, names)
            self.head = [record for _, record in itertools.islice(records, HEAD)]
        self.columns = [column.strip() or f"{UNNAMED}{k}" for k, column in enumerate(names)]
        other = next((d for d in ";\t," if d in names[0] and d != delimiter), None)
        if len(names) == 1 and other:
            raise _core.FormatError(
                f"{name}:{self.header}: a single column {names[0]!r}: are its fields separated by "
                f"{other!r} instead of {delimiter!r}?"
            )
        # Names that are numbers in order may be wavelengths.
        numbers = [column for column in self.columns if DECIMAL.fullmatch(column)]
        steps = np.sign(np.diff(list(map(float, numbers))))
        in_order = len(steps) == abs(steps.sum()) and (len(numbers) > 2 or all(map(str.isdecimal, numbers)))
        if numbers and not in_order:
            raise _core.FormatError(
                f"{name}:{self.header}: the first line holds numbers ({', '.join(names[:4])}, ...), not the "
                "names of the columns; add a line with names"
            )

    @contextmanager
    def records(self) -> Iterator[Iterator[tuple[int, list[str]]]]:
        """Yield (first line, cells) of each record, the header first; blank lines are skipped."""
        content, limit = self.content, csv.field_size_limit(sys.maxsize)
        try:
            with (
                io.BytesIO(content) if isinstance(content, bytes) else open(content, "rb") as raw,
                io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="") as file,
            ):
                yield self._numbered(file)
        finally:
            csv.field_size_limit(limit)

    def _numbered(self, file: Any) -> Iterator[tuple[int, list[str]]]:
        self.remarks = 0
        first = file.readline()
        while _is_remark(first, after := file.readline(), self.delimiter):
            self.remarks += 1
            first = after
        reader = csv.reader(itertools.chain(filter(None, (first, after)), file), delimiter=self.delimiter)
        line = self.remarks + 1
        try:
            for record in reader:
                if record:
                    yield line, record
                line = self.remarks + reader.line_num + 1
        except csv.Error as error:
            raise _core.FormatError(f"{self.name}:{line}: {error}") from None

    def line(self, row: int) -> int | None:
        """Return the line of a row."""
        with self.records() as records:
            next(records)
            return next((line for k, (line, _) in enumerate(records) if k == row), None)

    def check(self) -> None:
        """Refuse a line with more or fewer cells than the header, and bytes that are no UTF-8."""
        want = len(self.columns)
        with self.records() as records:
            for line, record in records:
                if len(record) != want:
                    raise _core.FormatError(
                        f"{self.name}:{line}: {len(record)} cells, but the header has {want} columns"
                    )
                self._check_encoding(line, record)

    def check_quotes(self, last: int) -> None:
        """Refuse a quotation mark without a second one, which makes a cell of all lines after it."""
        content = self.content
        if not isinstance(content, bytes):
            with open(content, "rb") as file:
                content = file.read()
        if content.count(b'"') % 2:
            raise _core.FormatError(
                f"{self.name}:{self.line(last)}: a quotation mark without a second one; the rest of the file "
                "would be one cell"
            )

    def _check_encoding(self, line: int, record: list[str]) -> None:
        if any("\ufffd" in cell for cell in record):
            raise _core.FormatError(f"{self.name}:{line}: not UTF-8 text; save the file as UTF-8")


class CsvCells(Cells):
    """A table of text, whose columns pyarrow reads as numbers where all of their cells are.

    Ids, those named in `as_text`, times, and columns with cells such as 007 stay text; such a cell below the
    first records makes text of labels alone.
    """

    is_text = True

    def __init__(
        self, content: str | bytes, name: str, delimiter: str, as_text: Collection[str] = ()
    ) -> None:
        self.text = CsvText(content, name, delimiter)
        texts = {c for c in self.text.columns if c in as_text or is_id(c)}
        for record in self.text.head:
            cells = zip(self.text.columns, record, strict=False)
            texts |= {c for c, cell in cells if cell[:1] in "0+- \t" and AS_WRITTEN.match(cell)}
        super().__init__(self._read(texts), name)

    def _read(self, texts: Collection[str]) -> Any:
        import pyarrow
        from pyarrow import types

        content = self.text.content
        size = len(content) if isinstance(content, bytes) else os.stat(content).st_size
        self.block = BLOCK
        try:
            try:
                table = self._parse(texts)
            except pyarrow.ArrowInvalid:
                # A record must fit into a block, and one with a line end in a cell must not be divided.
                self.text.check()
                self.block = min(size + 1, 2**31 - 1)
                table = self._parse(texts)
        except pyarrow.ArrowException as error:
            raise _core.FormatError(f"{self.text.name}: {' '.join(str(error).split())}") from None
        for kind in table.schema.types:
            if types.is_binary(kind):
                self.text.check()
        last = table.slice(len(table) - 1).to_pylist() if len(table) else []
        if any("\n" in cell for record in last for cell in record.values() if isinstance(cell, str)):
            self.text.check_quotes(len(table) - 1)
        times = [k for k, kind in enumerate(table.schema.types) if types.is_temporal(kind)]
        if times:
            written = self._parse([self.text.columns[k] for k in times], times)
            for k in times:
                table = table.set_column(k, str(k), written.column(str(k)))
        return table.rename_columns(self.text.columns)

    def _coded(self, column: str) -> tuple[Array, list[Any]]:
        """Take labels that were read as whole numbers as text, where some are written like 007."""
        from pyarrow import compute, types

        if types.is_integer(self.frame[column].type):
            k = self.text.columns.index(column)
            written = self._parse([column], [k]).column(0)
            if compute.any(compute.match_substring_regex(written, AS_WRITTEN.pattern)).as_py():
                self.frame = self.frame.set_column(k, column, written)
                del self._arrays[column]
        return super()._coded(column)

    def _parse(self, texts: Collection[str], only: Collection[int] = ()) -> Any:
        """Parse the columns, or some `only`, and leave `texts` as they are written."""
        import pyarrow
        from pyarrow import csv as arrow_csv

        text = self.text
        content = text.content
        return arrow_csv.read_csv(
            pyarrow.BufferReader(content) if isinstance(content, bytes) else content,
            read_options=arrow_csv.ReadOptions(
                column_names=[str(k) for k in range(len(text.columns))],
                skip_rows=text.remarks,
                skip_rows_after_names=text.header - text.remarks,
                block_size=self.block,
            ),
            # Blocks are divided faster where no cell holds the end of a line; else pyarrow raises an error.
            parse_options=arrow_csv.ParseOptions(
                delimiter=text.delimiter, newlines_in_values=self.block != BLOCK
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types={str(k): "string" for k, c in enumerate(text.columns) if c in texts},
                include_columns=[str(k) for k in only],
                null_values=NULLS,
                true_values=[word for word, value in TRUTH.items() if value],
                false_values=[word for word, value in TRUTH.items() if not value],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )

    def has_texts(self, column: str) -> bool:
        return bool(self.frame[column].type == "string")

    def texts(self, column: str) -> Iterator[str]:
        for chunk in self.frame[column].chunks:
            yield from filter(None, map(str.strip, chunk.drop_null().to_pylist()))

    def _plain_numbers(self, column: str) -> tuple[FloatArray, dict[int, Any]]:
        import pyarrow

        values = np.full(self.rows, np.nan)
        texts: dict[int, Any] = {}
        first = 0
        for chunk in self.frame[column].chunks:
            span = slice(first, first + len(chunk))
            try:
                values[span] = chunk.cast("float64").to_numpy(zero_copy_only=False)
            except pyarrow.ArrowInvalid:
                texts |= zip(range(first, span.stop), chunk.to_pylist(), strict=True)
            first = span.stop
        return values, texts

    def place(self, row: int) -> str:
        line = self.text.line(row)
        return self.name if line is None else f"{self.name}:{line}"


def _is_remark(line: str, after: str, delimiter: str) -> bool:
    """Tell whether a line above a table is a remark: it begins with # and has another number of cells.

    A header may begin with # as well: it has as many cells as the line after it.
    """
    if not line.startswith("#") or not after:
        return False
    try:
        own, other = (len(next(csv.reader([text], delimiter=delimiter), [])) for text in (line, after))
    except csv.Error:
        return False
    return own != other or (own < 2 and after.startswith("#"))
