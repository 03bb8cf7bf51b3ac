"""Where blocks come from: NumPy arrays, tables and iterables, read piece by piece."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..data.covariances import Diagonal, Full, Isotropic, Psd
from ..data.gaussians import Gaussians, as_gaussians
from ..io.arrays import map_array
from ..io.cells import Cells
from ..io.dataset import Dataset
from ..io.files import damaged, name_of
from ..io.frames import is_frame
from ..io.table_files import import_pyarrow
from ..io.tables import TableReader
from ..support.errors import counted_from, option
from ..support.types import Fields
from ..support.validation import Matrix
from .blocks import Blocks, FlatFile, fingerprint_of_file

BLOCK_KEYS = ("X", "y", "cov", "std", "sample_weight", "y_std", "feature_names", "classes")
MOST_ROWS = 2**20  # of a batch

Piece = tuple[Dataset, Any]  # consecutive samples, and their weights or None


@dataclass
class Source:
    """Samples that are read from the beginning to the end.

    `pieces(room)` yields them in pieces that take about `room` bytes each while they are made. `paths` are
    the files that are read; None if it cannot be known whether the next time gives the same. `arrays` may be
    used where they are.
    """

    name: str
    pieces: Callable[[int], Iterator[Piece]]
    paths: list[str] | None = None
    arrays: Arrays | None = None

    def fingerprint(self) -> Any:
        """Return what changes with the source; None if that cannot be known."""
        return None if self.paths is None else [fingerprint_of_file(path) for path in self.paths]


class Arrays:
    """Means, labels and covariances in arrays with a row per sample, or in .npy files."""

    def __init__(self, means: Matrix, labels: Matrix, cov: Matrix) -> None:
        self.name = name_of(means) if isinstance(means, str) else getattr(means, "filename", None) or "X"
        given = {"X": means, "labels": labels, "cov": cov}
        arrays = {
            name: map_array(value) if isinstance(value, str) else np.asanyarray(value)
            for name, value in given.items()
            if value is not None
        }
        self.mean, self.y, self.cov = arrays["X"], arrays.get("labels"), arrays.get("cov")
        if self.mean.ndim != 2 or not len(self.mean):
            raise _core.FormatError(
                f"{self.name}: X: expected samples in rows, got an array of shape {self.mean.shape}"
            )
        for name, array in arrays.items():
            if array.shape[:1] != self.mean.shape[:1]:
                raise _core.FormatError(
                    f"{self.name}: {name}: an array of shape {array.shape} for {len(self.mean)} samples"
                )
        if self.cov is not None and self.cov.ndim > 3:
            raise _core.FormatError(f"{self.name}: cov: expected (l,), (l, n) or (l, n, n), got {cov.shape}")

    def pieces(self, room: int, dtype: Any, psd: Psd) -> Iterator[Piece]:
        """Yield the samples with means of a dtype."""
        stored = [array for array in (self.mean, self.y, self.cov) if array is not None]
        row_bytes = sum(max(8, array.dtype.itemsize) * math.prod(array.shape[1:]) for array in stored)
        step = max(1, room // max(row_bytes, 1))
        for first in range(0, len(self.mean), step):
            rows = slice(first, first + step)
            try:
                with counted_from(first):
                    data = Gaussians(np.asarray(self.mean[rows], dtype), self._covariance(rows, psd))
            except (TypeError, ValueError) as error:
                raise _core.FormatError(f"{self.name}: {error}") from None
            yield Dataset(data, None if self.y is None else np.asarray(self.y[rows])), None

    def _covariance(self, rows: slice, psd: Psd) -> Isotropic | Diagonal | Full | None:
        if self.cov is None:
            return None
        array = np.asarray(self.cov[rows])
        # Not what the shape of a piece says: a piece may have as many samples as features.
        return Full(array, psd=psd) if array.ndim == 3 else (Isotropic, Diagonal)[array.ndim - 1](array)

    def in_place(self, memory: int, psd: Psd) -> Blocks | None:
        """Return the samples where they are; None if they must be decoded, as full matrices must."""
        kind = {1: "isotropic", 2: "var"}.get(0 if self.cov is None else self.cov.ndim, "")
        arrays: dict[str, FlatFile] = {}
        for key, array in (("mean", self.mean), (kind, self.cov), ("y", self.y)):
            if array is None:
                continue
            flat = FlatFile.of_memmap(array)
            if not key or flat is None:
                return None
            if key == "y" and flat.dtype.kind not in "iufbU":
                return None
            # The core reads these where they are.
            if key != "y" and (
                flat.dtype not in (np.float32, np.float64) or flat.offset % flat.dtype.itemsize
            ):
                return None
            arrays[key] = flat
        blocks = Blocks(arrays, memory=memory, psd=psd, source=self.name)
        blocks[0:1]  # shapes that do not fit together are refused now
        return blocks


def array_source(groups: list[Arrays], psd: Psd, paths: list[str] | None = None) -> Source:
    """Return arrays, one group after another."""
    dtype = np.float32 if all(group.mean.dtype == np.float32 for group in groups) else np.float64

    def pieces(room: int) -> Iterator[Piece]:
        for group in groups:
            yield from group.pieces(room, dtype, psd)

    return Source(groups[0].name, pieces, paths, groups[0] if len(groups) == 1 else None)


def _table_reader(options: Fields) -> TableReader:
    """Return a reader of tables without missing values, which blocks do not have."""
    drop = f"{option('missing', 'drop')} leaves such samples out"
    if options.get("missing") == "keep":
        raise ValueError(f"missing: blocks have no missing values; {drop}, and svmgsu.io.read keeps them")
    return TableReader(**{"advice": drop, **options})


def iterable_source(given: Iterable[Any], psd: Psd, options: Fields) -> Source:
    """Return an iterable of blocks: tuples, dicts, `Gaussians`, data frames or what `svmgsu.read` returns."""

    def pieces(room: int) -> Iterator[Piece]:
        first = 0
        reader: TableReader | None = None
        for number, block in enumerate(given):
            with counted_from(first):
                if is_frame(block):
                    # What the columns are is decided by the first block.
                    reader = reader or _table_reader(options)
                    found = reader.part(Cells(block, f"block {number}"))
                    if found is None:
                        raise ValueError(f"X: block {number} has no samples")
                elif isinstance(block, Dataset):
                    found = block, None
                else:
                    found = _read_block(block, number, psd)
            first += len(found[0].data)
            yield found

    return Source(type(given).__name__, pieces)


def _read_block(block: Any, number: int, psd: Psd) -> Piece:
    """Return the samples of a tuple, a dict, `Gaussians` or an array."""
    given: Fields = {"X": block}
    if isinstance(block, Mapping):
        given = dict(block)
        if "X" not in given or not given.keys() <= set(BLOCK_KEYS):
            raise ValueError(
                f"X: block {number} has the keys {list(block)}; expected some of {', '.join(BLOCK_KEYS)}"
            )
    elif isinstance(block, tuple):
        if not 1 <= len(block) <= 3:
            raise ValueError(f"X: block {number} is a tuple of {len(block)}; expected (X, y) or (X, y, std)")
        given = dict(zip(("X", "y", "std"), block, strict=False))
    data = as_gaussians(given["X"], given.get("cov"), given.get("std"), psd)
    if given.get("feature_names") is not None:
        data = Gaussians(data.mean, data.cov, feature_names=list(given["feature_names"]))
    dataset = Dataset(data, given.get("y"), y_std=given.get("y_std"), classes=given.get("classes"))
    return dataset, given.get("sample_weight")


def table_source(paths: list[str], format: str, options: Fields) -> Source:
    """Return tables of a format with the same columns; `options` are those of `svmgsu.io.read_table`."""
    _table_reader(options)  # wrong options are refused before anything is read
    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"

    def pieces(room: int) -> Iterator[Piece]:
        reader = _table_reader(options)
        columns: list[str] = []
        for path in paths:
            for cells in _batches(path, format, room):
                columns = columns or cells.columns
                if sorted(cells.columns) != sorted(columns):
                    other = sorted(set(cells.columns) ^ set(columns))
                    raise _core.FormatError(
                        f"{cells.name}: its columns are not those of {paths[0]}: {', '.join(other)} "
                        "in one of them alone"
                    )
                cells.columns = columns  # features are in the order of the first file
                found = reader.part(cells)
                if found is not None:
                    yield found

    return Source(name, pieces, paths)


def _batches(path: str, format: str, room: int) -> Iterator[Cells]:
    """Yield the rows of a Parquet or Arrow file in batches of about `room` bytes, and none read ahead."""
    arrow = import_pyarrow()
    from pyarrow import dataset

    with damaged(path, "table"):
        table = dataset.dataset(path, format="parquet" if format == "parquet" else "ipc")
        rows = max(1, min(room // (8 * max(1, len(table.schema))), MOST_ROWS))
        first = 0
        for batch in table.to_batches(
            batch_size=rows, batch_readahead=0, fragment_readahead=0, use_threads=False
        ):
            batch.validate(full=True)
            yield Cells(arrow.Table.from_batches([batch]), name_of(path), first)
            first += batch.num_rows
    if not first:
        yield Cells(table.schema.empty_table(), name_of(path), 0)
