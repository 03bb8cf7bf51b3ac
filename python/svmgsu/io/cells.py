"""The cells of a table by column: numbers, labels and ids, each with its place in the file for messages."""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..data.frames import PRECISION, UNIT, ColumnError
from ..support.validation import Array, FloatArray

PLAIN = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
NUMBER = rf"(?i)^{PLAIN}$|^[+-]?(inf|infinity|nan)$"
PERCENT = re.compile(rf"({PLAIN})\s*%")
WITH_ERROR = re.compile(rf"({PLAIN})\s*(?:±|\+/-|\+-)\s*({PLAIN})")  # 1.2±0.3
SHORT = re.compile(r"([+-]?[0-9]*\.?([0-9]*))\(([0-9]+\.?[0-9]*)\)(?:[eE]([+-]?[0-9]+))?")  # 1.62(48)
LIMIT = re.compile(rf"([<>≤≥])\s*({PLAIN})")
NOTHING = ("", "--", "—", "...", "-", "nan", "null", "none", "n/a", "na", "#n/a", "nodata", "masked")
PLAIN_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]+)?")
TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
SAMPLE = 2**20  # bytes of a text in which its columns are looked at
LEAST_RUNNING = 20  # rows: fewer integers may be in order, or texts all different, by chance
LARGE_ID = 10**6


class Kinds(NamedTuple):
    """What the cells of columns are: numbers, numbers of rows or names of objects, or nothing at all."""

    numeric: set[str]
    running: set[str]
    empty: set[str]


class Spelled(NamedTuple):
    """A cell of text as a number with its error, both NaN where it is empty, or an upper limit."""

    value: float
    error: float = float("nan")
    limit: str = ""


def spelled(text: str) -> Spelled | None:
    """Read a number as people write it: 48.6%, 1.2±0.3, 1.62(48), <0.5; None for what is none."""
    text = text.strip().replace("\u2212", "-")
    if text.casefold() in NOTHING:
        return Spelled(float("nan"))
    if re.match(NUMBER, text):
        return Spelled(float(text))
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


class Cells(ABC):
    """A table that was opened. `load` reads the columns that are wanted."""

    name: str
    columns: list[str]
    rows: int
    index: tuple[str, ...] = ()  # columns that pandas wrote as the index of a data frame
    limits: str | None = None  # what becomes of upper limits
    in_cells: dict[str, str]  # columns of errors that stand in the cells of others: {x_err: x}

    @abstractmethod
    def load(self, numbers: list[str], texts: list[str]) -> None:
        """Reads columns of numbers, and of labels and ids."""

    @abstractmethod
    def kinds(self) -> Kinds:
        """What the columns hold."""

    @abstractmethod
    def numbers(self, column: str) -> Array:
        """A column as floats, NaN where a cell is empty; what is no number is refused with its place."""

    @abstractmethod
    def values(self, column: str) -> list[Any]:
        """A column as it is, None where a cell is empty."""

    @abstractmethod
    def place(self, row: int) -> str:
        """Where a row of the table is: file and line, or file and row."""

    def unit(self, column: str) -> Any:
        """The unit of a column, here by brackets at the end of its name."""
        found = UNIT.search(column)
        return found[1][1:-1].strip() if found else None

    def conversion(self, column: str, value: str, what: str) -> float:
        """What an uncertainty of 1 is worth in units of its value, if the units can be converted."""
        own, wanted = self.unit(column), self.unit(value)
        if own is None or wanted is None or str(own) == str(wanted):
            return 1.0
        power = {PRECISION: -2, "variance": 2}.get(what, 1)
        try:
            from astropy import units

            factor = float(units.Unit(own).to(units.Unit(wanted) ** power))
            return abs(factor) ** (1 / power) if power != 1 else factor
        except ImportError:
            why = "astropy would convert them: pip install 'svmgsu[astro]'"
        except (ValueError, TypeError) as error:
            why = " ".join(str(error).split())
        raise ColumnError(f"column {column!r} is in {own}, its value {value!r} in {wanted}: {why}")

    def fail(self, row: int, reason: str) -> _core.FormatError:
        return _core.FormatError(f"{self.place(row)}: {reason}")

    def labels(self, column: str, keep: Array, as_text: bool) -> Array:
        """Labels: numbers where all are, else strings; a mixture is refused unless taken `as_text`."""
        values = self.present(column, keep)
        kinds = {"text" if isinstance(v, str) else "number" for v in values}
        if "text" in kinds and not as_text:
            return self._from_texts(column, values, np.flatnonzero(keep))
        if as_text:
            values = [str(v) for v in values]
        elif not all(isinstance(v, (bool, int, float)) for v in values):
            bad = next(v for v in values if not isinstance(v, (bool, int, float)))
            raise _core.FormatError(f"{self.name}: column {column!r} holds {type(bad).__name__}, no labels")
        return np.array(values)

    def _from_texts(self, column: str, values: list[str], rows: Array) -> Array:
        return np.array(values)

    def present(self, column: str, keep: Array) -> list[Any]:
        """The cells of some rows, none of which may be empty."""
        values = self.values(column)
        empty = [i for i in np.flatnonzero(keep).tolist() if values[i] is None or values[i] != values[i]]
        if empty:
            more = f", one of {len(empty)} such rows" if len(empty) > 1 else ""
            raise self.fail(empty[0], f"column {column!r} is missing{more}")
        return [v for v, k in zip(values, keep.tolist(), strict=True) if k]

    def _of_texts(self, column: str, texts: list[Any]) -> FloatArray:
        """Cells of text as numbers; `x_err` that is no column of its own has the errors in the cells of x."""
        owner = self.in_cells.get(column, column)
        found = [Spelled(float("nan")) if t is None else spelled(str(t)) for t in texts]
        bad = [i for i, cell in enumerate(found) if cell is None]
        if bad:
            count = f", one of {len(bad)} such rows" if len(bad) > 1 else ""
            raise self.fail(
                bad[0],
                f"column {owner!r} is {texts[bad[0]]!r}, which is no number as others in this column are"
                f"{count}; name it in ignore=, label= or id= if it holds none",
            )
        known = [cell for cell in found if cell is not None]
        values = np.array([cell.value for cell in known])
        errors = np.array([cell.error for cell in known])
        limited = [i for i, cell in enumerate(known) if cell.limit]
        if limited and (self.limits is None or any(known[i].limit in ">≥" for i in limited)):
            raise self.fail(
                limited[0],
                f"column {owner!r} is {texts[limited[0]]!r}, a limit, one of {len(limited)}; "
                'limits="half-normal" takes an upper limit L as a half-normal distribution of scale L, '
                f"ignore=[{owner!r}] leaves the column out",
            )
        # The mean and the standard deviation of |Z| L, Z standard normal.
        errors[limited] = np.sqrt(1 - 2 / np.pi) * values[limited]
        values[limited] *= np.sqrt(2 / np.pi)
        if column == owner:
            return values
        return np.where(np.isnan(errors) & ~np.isnan(values), 0.0, errors)

    def _spread(self, samples: dict[str, list[Any]]) -> None:
        """Adds columns for errors that stand in the cells of their values."""
        self.in_cells = {}
        for column, cells in samples.items():
            found = [spelled(str(t)) for t in cells[:1000] if isinstance(t, str)]
            with_error = any(cell is not None and (cell.error == cell.error or cell.limit) for cell in found)
            if with_error and f"{column}_err" not in self.columns:
                self.in_cells[f"{column}_err"] = column
        self.columns = [
            c
            for column in self.columns
            for c in (column, f"{column}_err")
            if c == column or c in self.in_cells
        ]


def kinds_of_texts(samples: dict[str, list[Any]]) -> Kinds:
    """What columns of texts hold: numbers, where most of the cells are some."""
    kinds = Kinds(set(), set(), set())
    for column, cells in samples.items():
        filled = [str(c).strip() for c in cells if c is not None and str(c).strip().casefold() not in NOTHING]
        found = [spelled(text) for text in filled]
        fine = sum(cell is not None for cell in found)
        if not filled:
            kinds.numeric.add(column)
            kinds.empty.update([column] if cells else [])
        elif 2 * fine >= len(filled):
            kinds.numeric.add(column)
        whole = bool(filled) and all(PLAIN_INTEGER.fullmatch(text) for text in filled)
        if len(set(filled)) == len(cells) >= LEAST_RUNNING and (
            is_running([int(text) for text in filled]) if whole else not fine
        ):
            kinds.running.add(column)
    return kinds


def is_running(numbers: Any) -> bool:
    """Whether whole numbers, all different, number rows or objects: in order, or large as of catalogues."""
    values = np.asarray(numbers, dtype=np.float64)
    steps = np.diff(values)
    return bool((steps == 1).all() or values.min() >= LARGE_ID)


class ArrowCells(Cells):
    """A table whose columns have types: Parquet, Feather, Arrow, JSON."""

    def __init__(self, table: Any, name: str) -> None:
        self.table, self.name, self.rows = table, name, table.num_rows
        self.columns = list(table.column_names)
        written = (table.schema.pandas_metadata or {}).get("index_columns", [])
        self.index = tuple(c for c in written if isinstance(c, str) and c in set(self.columns))
        self._texts = {
            c for c in dict.fromkeys(self.columns) if self.columns.count(c) == 1 and self._is_text(c)
        }
        self._spread({c: self.table[c].slice(0, 1000).to_pylist() for c in self._texts})

    def load(self, numbers: list[str], texts: list[str]) -> None:
        single = all(
            c not in self._texts and c not in self.in_cells and str(self._type(c)) == "float" for c in numbers
        )
        self.dtype = np.float32 if single and numbers else np.float64

    def kinds(self) -> Kinds:
        kinds = kinds_of_texts({c: self.values(c) for c in self._texts})
        for column in self.columns:
            if column in self.in_cells:
                kinds.numeric.add(column)
            elif column not in self._texts and self._is_numeric(column):
                kinds.numeric.add(column)
                cells = self.table[column]
                whole = "int" in str(cells.type) and cells.null_count == 0 and self.rows >= LEAST_RUNNING
                if whole and is_running(cells.to_numpy()) and len(cells.unique()) == self.rows:
                    kinds.running.add(column)
                if cells.null_count == self.rows:
                    kinds.empty.add(column)
            elif str(self._type(column)) == "null":
                kinds.numeric.add(column)
                kinds.empty.add(column)
        return kinds

    def _type(self, column: str) -> Any:
        return self.table.schema.field(column).type

    def _is_text(self, column: str) -> bool:
        return str(self._type(column)) in ("string", "large_string", "string_view") or "dictionary" in str(
            self._type(column)
        )

    def _is_numeric(self, column: str) -> bool:
        from pyarrow import types

        kind = self._type(column)
        return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))

    def numbers(self, column: str) -> Array:
        from pyarrow import types

        owner = self.in_cells.get(column, column)
        if owner in self._texts:
            return self._of_texts(column, self.values(owner))
        cells = self.table[column]
        if types.is_decimal(cells.type) or types.is_null(cells.type):
            cells = cells.cast("float64")
        return np.asarray(cells.to_numpy(), dtype=self.dtype)

    def values(self, column: str) -> list[Any]:
        return list(self.table[column].to_pylist())

    def place(self, row: int) -> str:
        return f"{self.name}: row {row}"


class CsvCells(Cells):
    """A table of text. Numbers are read as such at once; only where that fails is text read, to say why.

    Remarks, which begin with #, may stand above its header.
    """

    def __init__(self, content: str | bytes, name: str, delimiter: str) -> None:
        self.content, self.name, self.delimiter = content, name, delimiter
        self.rows = self.remarks = 0
        with self._records() as records:
            first = next(records, None)
        if first is None:
            raise _core.FormatError(f"{name}: Empty CSV file")
        self.header, self.columns = first
        self._check_text(self.header, self.columns)
        self.columns = [column.strip() for column in self.columns]
        other = next((d for d in ";\t," if d in self.columns[0] and d != delimiter), None)
        if len(self.columns) == 1 and other:
            raise _core.FormatError(
                f"{name}:{self.header}: a single column {self.columns[0]!r}: are its fields separated by "
                f"{other!r} instead of {delimiter!r}?"
            )
        self._text: set[str] = set()
        self._sample = self._sampled()
        self._spread(self._sample)

    def kinds(self) -> Kinds:
        kinds = kinds_of_texts(self._sample)
        kinds.numeric.update(self.in_cells)
        return kinds

    def _sampled(self) -> dict[str, list[Any]]:
        """The texts of the first rows by column, by which columns are told apart."""
        rows: list[list[str]] = []
        size = 0
        with self._records() as records:
            next(records, None)
            for _, record in records:
                if len(record) == len(self.columns):
                    rows.append(record)
                size += sum(map(len, record))
                if size > SAMPLE:
                    break
        columns = zip(*rows, strict=True) if rows else [()] * len(self.columns)
        return {c: list(cells) for c, cells in zip(self.columns, columns, strict=True)}

    def load(self, numbers: list[str], texts: list[str]) -> None:
        from pyarrow import ArrowException, ArrowInvalid

        owners = [self.in_cells.get(c, c) for c in numbers]
        odd = set(self.in_cells.values()) & set(owners)
        chosen = list(dict.fromkeys([*owners, *texts]))
        if not chosen:
            self.rows = self._count()
            return
        try:
            try:
                self.table, self._text = self._read(chosen, set(owners) - odd), odd
            except ArrowInvalid:
                self._check_shape()
                self.table, self._text = self._read(chosen, set()), set(owners)
        except ArrowException as error:
            raise _core.FormatError(f"{self.name}: {' '.join(str(error).split())}") from None
        self.rows = self.table.num_rows

    def _count(self) -> int:
        with self._records() as records:
            return sum(1 for _ in records) - 1

    def _read(self, chosen: list[str], numeric: set[str]) -> Any:
        import pyarrow
        from pyarrow import csv as arrow_csv

        source = pyarrow.BufferReader(self.content) if isinstance(self.content, bytes) else self.content
        own = [column for column in self.columns if column not in self.in_cells]
        place = {column: str(k) for k, column in enumerate(own)}
        kinds = {place[c]: pyarrow.float64() if c in numeric else pyarrow.string() for c in chosen}
        table = arrow_csv.read_csv(
            source,
            read_options=arrow_csv.ReadOptions(
                column_names=[str(k) for k in range(len(own))],
                skip_rows=self.remarks,
                skip_rows_after_names=self.header - self.remarks,
                block_size=None if numeric else self._size(),  # a line must fit into a block
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=kinds,
                include_columns=list(kinds),
                null_values=[*dict.fromkeys([*NOTHING, "NaN", "NULL", "None", "N/A", "NA", "#N/A", "-nan"])],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        return table.rename_columns(chosen)

    def _size(self) -> int:
        size = len(self.content) if isinstance(self.content, bytes) else os.stat(self.content).st_size
        return min(size + 1, 2**31 - 1)

    def numbers(self, column: str) -> Array:
        owner = self.in_cells.get(column, column)
        if owner in self._text:
            return self._of_texts(column, self.values(owner))
        return np.asarray(self.table[column].to_numpy(), dtype=np.float64)

    def values(self, column: str) -> list[Any]:
        return list(self.table[column].to_pylist())

    def _from_texts(self, column: str, values: list[str], rows: Array) -> Array:
        texts = [value.strip() for value in values]
        if all(PLAIN_INTEGER.fullmatch(t) for t in texts):
            return np.array([int(t) for t in texts])
        if all(PLAIN_NUMBER.fullmatch(t) for t in texts):
            return np.array([float(t) for t in texts])
        if all(t in TRUTH for t in texts):
            return np.array([TRUTH[t] for t in texts])
        numeric = [re.match(NUMBER, t) is not None for t in texts]
        if any(numeric) and not all(numeric):
            k = numeric.index(False)
            raise self.fail(
                int(rows[k]),
                f"column {column!r} is {values[k]!r}, where other labels are numbers, such as "
                f"{values[numeric.index(True)]!r}; text_labels=True takes all of them as text",
            )
        return np.array(values)

    def place(self, row: int) -> str:
        with self._records() as records:
            next(records)
            line = next((line for k, (line, _) in enumerate(records) if k == row), None)
        return self.name if line is None else f"{self.name}:{line}"

    def _check_shape(self) -> None:
        """Refuses a line with more or fewer cells than the header, and bytes that are no UTF-8."""
        want = len(self.columns) - len(self.in_cells)
        with self._records() as records:
            for line, record in records:
                if len(record) != want:
                    raise _core.FormatError(
                        f"{self.name}:{line}: {len(record)} cells, but the header has {want} columns"
                    )
                self._check_text(line, record)

    def _check_text(self, line: int, record: list[str]) -> None:
        if any("\ufffd" in cell for cell in record):
            raise _core.FormatError(f"{self.name}:{line}: not UTF-8 text; save the file as UTF-8")

    @contextmanager
    def _records(self) -> Iterator[Iterator[tuple[int, list[str]]]]:
        """(line on which it begins, cells) of the records, the header first; blank lines are none."""
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
        self.remarks, first = 0, file.readline()
        while is_remark(first, after := file.readline(), self.delimiter):
            self.remarks, first = self.remarks + 1, after
        lines = itertools.chain(filter(None, (first, after)), file)
        reader, line = csv.reader(lines, delimiter=self.delimiter), self.remarks + 1
        try:
            for record in reader:
                if record:
                    yield line, record
                line = self.remarks + reader.line_num + 1
        except csv.Error as error:
            raise _core.FormatError(f"{self.name}:{line}: {error}") from None


def is_remark(line: str, after: str, delimiter: str) -> bool:
    """Whether a line above a table is none of it: it begins with #, and its cells are not as many as below.

    A header may begin with # as well: it has as many cells as the line after it.
    """
    if not line.startswith("#") or not after:
        return False
    try:
        own, other = (len(next(csv.reader([text], delimiter=delimiter), [])) for text in (line, after))
    except csv.Error:
        return False
    return own != other or (own < 2 and after.startswith("#"))
