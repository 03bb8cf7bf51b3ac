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
from typing import Any

import numpy as np

from .. import _core
from ..data.error_bars import LOWER, SignError, lower_sizes
from ..support.validation import Array, FloatArray

NUMBER = r"(?i)^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$|^[+-]?(inf|infinity|nan)$"
PLAIN_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]+)?")
TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
NAME_IT = "name it in ignore=, label= or id="


class Cells(ABC):
    """A table that was opened. `load` reads the columns that are wanted."""

    name: str
    columns: list[str]
    rows: int
    index: tuple[str, ...] = ()  # columns that pandas wrote as the index of a data frame

    @abstractmethod
    def load(self, numbers: list[str], texts: list[str]) -> None:
        """Reads columns of numbers, and of labels and ids."""

    @abstractmethod
    def numbers(self, column: str) -> Array:
        """A column as floats, NaN where a cell is empty; what is no number is refused with its place."""

    @abstractmethod
    def survey(self, column: str) -> tuple[bool, int]:
        """Whether a loaded column holds numbers and nothing else, and how many of its cells are empty."""

    @abstractmethod
    def values(self, column: str) -> list[Any]:
        """A column as it is, None where a cell is empty."""

    @abstractmethod
    def place(self, row: int) -> str:
        """Where a row of the table is: file and line, or file and row."""

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


class ArrowCells(Cells):
    """A table whose columns have types: Parquet, Feather, Arrow."""

    def __init__(self, table: Any, name: str) -> None:
        self.table, self.name, self.rows = table, name, table.num_rows
        self.columns = list(table.column_names)
        written = (table.schema.pandas_metadata or {}).get("index_columns", [])
        self.index = tuple(c for c in written if isinstance(c, str) and c in set(self.columns))

    def load(self, numbers: list[str], texts: list[str]) -> None:
        wrong = {c: str(self._type(c)) for c in numbers if not self._is_numeric(c)}
        if wrong:
            shown = ", ".join(f"{c!r} ({kind})" for c, kind in list(wrong.items())[:5])
            raise _core.FormatError(
                f"{self.name}: no numbers in column {shown}{', ...' if len(wrong) > 5 else ''}; {NAME_IT}"
            )
        single = all(str(self._type(c)) == "float" for c in numbers)
        self.dtype = np.float32 if single else np.float64

    def _type(self, column: str) -> Any:
        return self.table.schema.field(column).type

    def _is_numeric(self, column: str) -> bool:
        from pyarrow import types

        kind = self._type(column)
        return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))

    def numbers(self, column: str) -> Array:
        from pyarrow import types

        cells = self.table[column]
        if types.is_decimal(cells.type):
            cells = cells.cast("float64")
        return np.asarray(cells.to_numpy(), dtype=self.dtype)

    def survey(self, column: str) -> tuple[bool, int]:
        import pyarrow.compute as pc

        cells, numeric = self.table[column], self._is_numeric(column)
        return numeric, int(pc.sum(pc.is_null(cells, nan_is_null=numeric)).as_py() or 0)

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
        other = next((d for d in ";\t," if d in self.columns[0] and d != delimiter), None)
        if len(self.columns) == 1 and other:
            raise _core.FormatError(
                f"{name}:{self.header}: a single column {self.columns[0]!r}: are its fields separated by "
                f"{other!r} instead of {delimiter!r}?"
            )
        self._text = False

    def load(self, numbers: list[str], texts: list[str]) -> None:
        from pyarrow import ArrowException, ArrowInvalid

        self._numeric, chosen = numbers, [*numbers, *texts]
        try:
            try:
                self.table = self._read(chosen, set(numbers))
            except ArrowInvalid:
                self._check_shape()
                self.table, self._text = self._read(chosen, set()), True
        except ArrowException as error:
            raise _core.FormatError(f"{self.name}: {' '.join(str(error).split())}") from None
        self.rows = self.table.num_rows
        if self._text:
            self._check_texts()

    def _read(self, chosen: list[str], numeric: set[str]) -> Any:
        import pyarrow
        from pyarrow import csv as arrow_csv

        source = pyarrow.BufferReader(self.content) if isinstance(self.content, bytes) else self.content
        place = {column: str(k) for k, column in enumerate(self.columns)}
        kinds = {place[c]: pyarrow.float64() if c in numeric else pyarrow.string() for c in chosen}
        table = arrow_csv.read_csv(
            source,
            read_options=arrow_csv.ReadOptions(
                column_names=[str(k) for k in range(len(self.columns))],
                skip_rows=self.remarks,
                skip_rows_after_names=self.header - self.remarks,
                block_size=None if numeric else self._size(),  # a line must fit into a block
            ),
            parse_options=arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=kinds,
                include_columns=list(kinds),
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        return table.rename_columns(chosen)

    def _size(self) -> int:
        size = len(self.content) if isinstance(self.content, bytes) else os.stat(self.content).st_size
        return min(size + 1, 2**31 - 1)

    def numbers(self, column: str) -> Array:
        if not self._text:
            return np.asarray(self.table[column].to_numpy(), dtype=np.float64)
        numbers, bad = self._parsed(column)
        if bad is not None:
            row = int(bad.argmax())
            count = int(bad.sum())
            raise self.fail(
                row,
                f"column {column!r} is {self.values(column)[row]!r}, which is no number as others in this "
                f"column are{f', one of {count} such rows' if count > 1 else ''}; {NAME_IT} if it holds none",
            )
        return numbers

    def _parsed(self, column: str) -> tuple[FloatArray, Array | None]:
        """Cells of text as numbers, and which of them are none."""
        import pyarrow.compute as pc

        cells = pc.utf8_trim_whitespace(self.table[column])
        cells = pc.if_else(pc.equal(cells, ""), None, cells)
        fine = np.asarray(pc.fill_null(pc.match_substring_regex(cells, NUMBER), True).to_numpy(), dtype=bool)
        if not fine.all():
            return np.zeros(0), ~fine
        texts = cells.to_pylist()
        return np.array([np.nan if t is None else float(t) for t in texts]), None

    def survey(self, column: str) -> tuple[bool, int]:
        import pyarrow.compute as pc

        cells = pc.utf8_trim_whitespace(self.table[column].cast("string"))
        empty = pc.or_kleene(pc.is_null(cells), pc.match_substring_regex(cells, r"(?i)^(nan)?$"))
        filled = cells.filter(pc.invert(pc.fill_null(empty, True)))
        fine = pc.all(pc.match_substring_regex(filled, NUMBER), min_count=0).as_py()
        return bool(fine), len(cells) - len(filled)

    def _check_texts(self) -> None:
        """Refuses columns that hold no number at all."""
        import pyarrow.compute as pc

        wrong = []
        for column in self._numeric:
            _, bad = self._parsed(column)
            filled = len(self.table[column]) - self.table[column].null_count
            if bad is not None and bad.sum() == filled:
                wrong.append(column)
        if wrong:
            shown = ", ".join(map(repr, wrong[:5])) + (f", ... ({len(wrong)})" if len(wrong) > 5 else "")
            row = int(np.argmax(pc.is_valid(self.table[wrong[0]]).to_numpy()))
            raise self.fail(
                row, f"no numbers in column {shown}, but such as {self.values(wrong[0])[row]!r}; {NAME_IT}"
            )

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
        want = len(self.columns)
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


def error_sizes(cells: Cells, column: str, what: str, values: Array, keep: Array) -> Array:
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
