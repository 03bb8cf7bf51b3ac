"""Tables in pieces: Parquet and Arrow by their record batches, CSV by stretches of whole lines."""

from __future__ import annotations

import contextlib
import gzip
import lzma
from collections.abc import Iterator
from typing import IO, Any

from .. import _core
from ..io.cells import ArrowCells, Cells, CsvCells, is_remark
from ..io.files import GZIP, XZ, damaged, extension, name_of
from ..io.table_reading import TableReader
from ..io.tables import DELIMITERS, _pyarrow
from ..support.validation import Array
from .flat import fingerprint_of_file
from .sources import Piece, Source

CELL = 8  # bytes of a number
MOST_LINE = 2**26  # bytes of one


class TableSource(Source):
    """Tables of the same columns, one after another; `options` are those of `svmgsu.io.read_table`."""

    def __init__(self, paths: list[str], ending: str | None, options: dict[str, Any]) -> None:
        self.paths, self.options = paths, options
        self.endings = ["." + ending.lstrip(".") if ending else extension(path) for path in paths]
        self.name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
        self.arrow = _pyarrow()
        TableReader(**options)  # wrong options are told before anything is read

    def mark(self) -> Any:
        return [fingerprint_of_file(path) for path in self.paths]

    def least(self) -> int:
        """A row group of Parquet is decoded page by page, but held packed."""
        groups = [0]
        for path, ending in zip(self.paths, self.endings, strict=True):
            if ending == ".parquet":
                about = self._metadata(path)
                groups += [_packed(about.row_group(k)) for k in range(about.num_row_groups)]
        return max(groups)

    def _metadata(self, path: str) -> Any:
        from pyarrow import parquet

        with damaged(path, "table"):
            return self._guarded(path, lambda: parquet.read_metadata(path))

    def _guarded(self, path: str, ask: Any) -> Any:
        """What Arrow's errors of damaged files become."""
        try:
            return ask()
        except self.arrow.ArrowException as error:
            raise _core.FormatError(f"{name_of(path)}: {' '.join(str(error).split())}") from None

    def pieces(self, room: int) -> Iterator[Piece]:
        reader = TableReader(**self.options)
        columns: list[str] | None = None
        for path, ending in zip(self.paths, self.endings, strict=True):
            for cells in self._cells(path, ending, room):
                if columns is None:
                    columns = cells.columns
                if sorted(cells.columns) != sorted(columns):
                    other = sorted(set(cells.columns) ^ set(columns))
                    raise _core.FormatError(
                        f"{cells.name}: its columns are not those of {self.paths[0]}: {', '.join(other)} "
                        "in one of them alone"
                    )
                found = _read(reader, cells, columns)
                if found is not None:
                    yield Piece.of(*found)

    def _cells(self, path: str, ending: str, room: int) -> Iterator[Cells]:
        if ending in DELIMITERS:
            yield from _csv_cells(path, DELIMITERS[ending], room)
            return
        first = 0
        batches = self._parquet(path, room) if ending == ".parquet" else self._ipc(path, room)
        with damaged(path, "table"):
            while True:
                batch = self._guarded(path, lambda: next(batches, None))
                if batch is None:
                    break
                table = self.arrow.Table.from_batches([batch])
                self._guarded(path, lambda table=table: table.validate(full=True))
                yield PartCells(table, name_of(path), first)
                first += table.num_rows
        if not first:
            yield PartCells(self._empty(path, ending), name_of(path), 0)

    def _empty(self, path: str, ending: str) -> Any:
        if ending == ".parquet":
            from pyarrow import parquet

            return parquet.read_schema(path).empty_table()
        with self.arrow.memory_map(path) as file:
            return self.arrow.ipc.open_file(file).schema.empty_table()

    def _parquet(self, path: str, room: int) -> Iterator[Any]:
        from pyarrow import parquet

        with parquet.ParquetFile(path, pre_buffer=False, buffer_size=2**20) as file:
            rows = max(1, room // (CELL * max(1, file.metadata.num_columns)))
            yield from file.iter_batches(batch_size=min(rows, 2**20), use_threads=False)

    def _ipc(self, path: str, room: int) -> Iterator[Any]:
        with self.arrow.memory_map(path) as source:
            reader = self.arrow.ipc.open_file(source)
            rows = max(1, room // (CELL * max(1, len(reader.schema))))
            for k in range(reader.num_record_batches):
                batch = reader.get_batch(k)
                for first in range(0, batch.num_rows, rows):
                    yield batch.slice(first, rows)


def _packed(group: Any) -> int:
    return int(sum(group.column(j).total_compressed_size for j in range(group.num_columns)))


def _read(reader: TableReader, cells: Cells, columns: list[str]) -> tuple[Any, Array | None] | None:
    """A part whose features stand in the order of the first file's."""
    if cells.columns != columns and hasattr(cells, "table"):
        cells.table = cells.table.select(columns)
        cells.columns = list(columns)
    elif cells.columns != columns:
        raise _core.FormatError(
            f"{cells.name}: its columns stand in another order than those of the first file"
        )
    return reader.part(cells)


class PartCells(ArrowCells):
    """Some rows of a table, which begin at row `first` of the whole."""

    def __init__(self, table: Any, name: str, first: int) -> None:
        super().__init__(table, name)
        self.first = first

    def place(self, row: int) -> str:
        return super().place(row + self.first)


class LineCells(CsvCells):
    """Some lines of a CSV file below its header; `skipped` lines stand between the two in the file."""

    def __init__(self, content: bytes, name: str, delimiter: str, skipped: int) -> None:
        self.skipped = skipped
        super().__init__(content, name, delimiter)

    def _numbered(self, file: Any) -> Iterator[tuple[int, list[str]]]:
        for k, (line, record) in enumerate(super()._numbered(file)):
            yield (line + self.skipped if k else line), record


def _csv_cells(path: str, delimiter: str, room: int) -> Iterator[LineCells]:
    """Stretches of whole records, each behind the header of the file."""
    name, size = name_of(path), max(room // 4, 2**12)  # a cell of text takes a byte or more, and becomes 8
    with unpacked(path) as file:
        header, begun = _header(file, name, delimiter)
        skipped, first = 0, True
        for stretch in _stretches(file, size, begun):
            yield LineCells(header + stretch, name, delimiter, skipped)
            skipped += stretch.count(b"\n")
            first = False
        if first:
            yield LineCells(header, name, delimiter, 0)


@contextlib.contextmanager
def unpacked(path: str) -> Iterator[IO[bytes]]:
    """A file to read from its beginning, unpacked if it is packed; a packed one that is cut off is named."""
    with contextlib.ExitStack() as closing:
        raw: Any = closing.enter_context(open(path, "rb"))
        head = raw.read(len(XZ))
        raw.seek(0)
        if head.startswith(GZIP):
            raw = closing.enter_context(gzip.GzipFile(fileobj=raw))
        elif head == XZ:
            raw = closing.enter_context(lzma.LZMAFile(raw))
        try:
            yield raw
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError) as error:
            raise _core.FormatError(f"{name_of(path)}: not a readable packed file ({error})") from None


def _header(file: IO[bytes], name: str, delimiter: str) -> tuple[bytes, bytes]:
    """The header record with what stands above it, and what was read of the rest."""
    above, line = b"", file.readline(MOST_LINE)
    mark = b"\xef\xbb\xbf"
    while is_remark(
        line.removeprefix(mark).decode("utf-8", "replace"),
        (after := file.readline(MOST_LINE)).decode("utf-8", "replace"),
        delimiter,
    ):
        above, line = above + line, after
    text = line
    while after and (not text.strip(b"\r\n \xef\xbb\xbf") or text.count(b'"') % 2):
        text, after = text + after, file.readline(MOST_LINE)
    if not text.strip(b"\r\n \xef\xbb\xbf"):
        raise _core.FormatError(f"{name}: Empty CSV file")
    return above + (text if text.endswith(b"\n") else text + b"\n"), after


def _stretches(file: IO[bytes], size: int, begun: bytes) -> Iterator[bytes]:
    """Pieces of about `size` bytes that end where a record does: after a newline outside of quotes."""
    rest = begun
    while True:
        more = file.read(size)
        text = rest + more
        if not more:
            if text.strip():
                yield text
            return
        end = _last_end(text)
        if end:
            yield text[:end]
        rest = text[end:]


def _last_end(text: bytes) -> int:
    """The place behind the last newline that stands outside of quotes, 0 if there is none."""
    end = text.rfind(b"\n") + 1
    if b'"' not in text:
        return end
    quotes = text.count(b'"', 0, end)
    while end and quotes % 2:
        before = text.rfind(b"\n", 0, end - 1) + 1
        quotes -= text.count(b'"', before, end)
        end = before
    return end
