"""Tables in pieces: Parquet, Arrow and Feather by record batches, CSV by stretches of whole records."""

from __future__ import annotations

import contextlib
import gzip
import lzma
from collections.abc import Iterator
from typing import IO, Any

from .. import _core
from ..io.cells import Cells, CsvCells, FrameCells
from ..io.files import GZIP, XZ, damaged, extension, name_of
from ..io.table_files import DELIMITERS, import_pyarrow
from ..io.tables import TableReader
from .flat import fingerprint_of_file
from .sources import Piece, Source

MOST_ROWS = 2**20  # of a batch
LEAST_STRETCH = 2**16  # bytes of a CSV file, which hold its header


class TableSource(Source):
    """Tables with the same columns, one after another; `options` are those of `svmgsu.io.read_table`."""

    def __init__(self, paths: list[str], format: str | None, options: dict[str, Any]) -> None:
        self.paths, self.options = paths, options
        self.endings = ["." + format if format else extension(path) for path in paths]
        self.name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
        self.arrow = import_pyarrow()
        TableReader(**options)  # wrong options are refused before anything is read

    def fingerprint(self) -> Any:
        return [fingerprint_of_file(path) for path in self.paths]

    def least_memory(self) -> int:
        """A row group of Parquet is decoded page by page, but held compressed."""
        largest = 0
        for path, ending in zip(self.paths, self.endings, strict=True):
            if ending == ".parquet":
                from pyarrow import parquet

                with self._damaged(path):
                    about = parquet.read_metadata(path)
                for group in map(about.row_group, range(about.num_row_groups)):
                    columns = map(group.column, range(group.num_columns))
                    largest = max(largest, sum(column.total_compressed_size for column in columns))
        return largest

    @contextlib.contextmanager
    def _damaged(self, path: str) -> Iterator[None]:
        """Turn Arrow's errors of damaged files into `FormatError`."""
        try:
            with damaged(path, "table"):
                yield
        except self.arrow.ArrowException as error:
            raise _core.FormatError(f"{name_of(path)}: {' '.join(str(error).split())}") from None

    def pieces(self, room: int) -> Iterator[Piece]:
        reader = TableReader(**self.options)
        columns: list[str] = []
        for path, ending in zip(self.paths, self.endings, strict=True):
            cut = _csv_cells if ending in DELIMITERS else self._arrow_cells
            for cells in cut(path, ending, room):
                columns = columns or cells.columns
                if sorted(cells.columns) != sorted(columns):
                    other = sorted(set(cells.columns) ^ set(columns))
                    raise _core.FormatError(
                        f"{cells.name}: its columns are not those of {self.paths[0]}: {', '.join(other)} "
                        "in one of them alone"
                    )
                # Features are in the order of the first file.
                if cells.columns != columns and isinstance(cells, FrameCells):
                    cells = FrameCells(cells.frame.select(columns), cells.name, cells.first)
                elif cells.columns != columns:
                    raise _core.FormatError(f"{cells.name}: its columns are in another order than before")
                found = reader.part(cells)
                if found is not None:
                    yield Piece.of(*found)

    def _arrow_cells(self, path: str, ending: str, room: int) -> Iterator[Cells]:
        from pyarrow import dataset

        with self._damaged(path):
            table = dataset.dataset(path, format="parquet" if ending == ".parquet" else "ipc")
            rows = max(1, min(room // (8 * max(1, len(table.schema))), MOST_ROWS))
            first = 0
            # Nothing is read ahead, so that no more than one row group is in memory.
            batches = table.to_batches(
                batch_size=rows, batch_readahead=0, fragment_readahead=0, use_threads=False
            )
            for batch in batches:
                batch.validate(full=True)
                yield FrameCells(self.arrow.Table.from_batches([batch]), name_of(path), first)
                first += batch.num_rows
        if not first:
            yield FrameCells(table.schema.empty_table(), name_of(path), 0)


def _csv_cells(path: str, ending: str, room: int) -> Iterator[CsvCells]:
    """Yield stretches of whole records, each behind the header of the file and the remarks above it."""
    name = name_of(path)
    delimiter = DELIMITERS[ending]
    size = max(room // 4, LEAST_STRETCH)  # a cell of text takes a byte or more, and becomes a number of eight
    with _unpacked(path) as file:
        text = file.read(size)
        line = CsvCells(text, name, delimiter).header
        end = start = 0
        for _ in range(line):
            start = end
            end = text.find(b"\n", start) + 1 or len(text)
        while text.count(b'"', start, end) % 2 and end < len(text):
            end = text.find(b"\n", end) + 1 or len(text)
        header = text[:end] if text.endswith(b"\n", 0, end) else text[:end] + b"\n"
        text = text[end:]
        skipped = 0
        more = b"-"
        while more:
            more = file.read(size)
            text += more
            # A stretch ends at a newline outside of quotes, the last one where the file does.
            end = text.rfind(b"\n") + 1 if more else len(text)
            while more and text.count(b'"', 0, end) % 2:
                end = text.rfind(b"\n", 0, end - 1) + 1
            if text[:end].strip():
                yield CsvCells(header + text[:end], name, delimiter, skipped)
            skipped += text.count(b"\n", 0, end)
            text = text[end:]
        if not skipped:
            yield CsvCells(header, name, delimiter)


@contextlib.contextmanager
def _unpacked(path: str) -> Iterator[IO[bytes]]:
    """Open a file to read forwards, decompressed; one that is truncated is named."""
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
