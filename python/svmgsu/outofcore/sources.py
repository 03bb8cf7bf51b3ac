"""Where blocks come from: NumPy files, memory-mapped arrays, tables and iterables, read piece by piece."""

from __future__ import annotations

import contextlib
import math
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from ..data.covariances import Psd
from ..data.covariances.base import READERS
from ..data.gaussians import Gaussians, as_gaussians
from ..io.arrays import KEYS, check_keys, examples_of, map_array
from ..io.cells import Cells
from ..io.dataset import Dataset
from ..io.files import damaged, extension, name_of
from ..io.frames import is_frame
from ..io.table_files import import_pyarrow
from ..io.tables import TableReader
from ..support.errors import counted_from, option
from ..support.validation import Array
from .blocks import BESIDE, Blocks, FlatFile, fingerprint_of_file

# Arrays that can be used where they are, with a row per sample; standard deviations and full matrices cannot.
IN_PLACE = ("mean", "isotropic", "var", "factors", "diagonal", *BESIDE)
FOR_ALL = ("shared", "feature_names")
COVARIANCE_KEYS = {0: "isotropic", 1: "isotropic", 2: "var", 3: "cov"}  # by the dimensions of an array
BLOCK_KEYS = ("X", "y", "cov", "std", "sample_weight", "y_std", "feature_names", "classes")

MOST_ROWS = 2**20  # of a batch


@dataclass
class Piece:
    """Consecutive samples."""

    data: Gaussians
    y: Any = None
    weight: Any = None
    y_std: Any = None
    ids: Array | None = None
    classes: Array | None = None  # of the columns of y, if these are class probabilities
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, dataset: Dataset, weight: Array | None = None) -> Piece:
        """Make a piece of what a reader of files returns."""
        dropped = dataset.report.dropped.items()
        notes = [f"{name}: {count} of its samples dropped" for name, count in dropped if count]
        notes += dataset.report.notes
        return cls(dataset.data, dataset.y, weight, dataset.y_std, dataset.ids, dataset.classes, notes)


class Source:
    """Samples that are read from the beginning to the end."""

    name: str

    def pieces(self, room: int) -> Iterator[Piece]:
        """Yield the samples in pieces that take about `room` bytes each while they are made."""
        raise NotImplementedError

    def least_memory(self) -> int:
        """Return the least room that reading takes, as far as it is known beforehand."""
        return 0

    def fingerprint(self) -> Any:
        """Return what changes with the source; None if that cannot be known."""
        return None

    def in_place(self, memory: int) -> Blocks | None:
        """Return the samples where they are; None if they must be decoded."""
        return None


class ArraySource(Source):
    """Groups of arrays by the keys of .npz files, one group after another."""

    def __init__(
        self, groups: Sequence[Mapping[str, Any]], name: str, psd: Psd, paths: list[str] | None = None
    ) -> None:
        self.groups, self.name, self.psd, self.paths = groups, name, psd, paths
        for group in groups:
            check_keys(group, name)
            if "mean_data" in group:
                raise _core.FormatError(
                    f"{name}: its means are sparse, which blocks are not; svmgsu.io.read reads it into memory"
                )
            shape = group["mean"].shape
            if len(shape) != 2 or not shape[0]:
                raise _core.FormatError(f"{name}: X: expected samples in rows, got an array of shape {shape}")
            for key, array in group.items():
                if _has_rows(key, array) and array.shape[0] != shape[0]:
                    raise _core.FormatError(f"{name}: {key}: {array.shape[0]} rows for {shape[0]} samples")

    def fingerprint(self) -> Any:
        return None if self.paths is None else [fingerprint_of_file(path) for path in self.paths]

    def pieces(self, room: int) -> Iterator[Piece]:
        dtype = np.result_type(*(group["mean"].dtype for group in self.groups))
        for group in self.groups:
            count = group["mean"].shape[0]
            rowwise = [array for key, array in group.items() if _has_rows(key, array)]
            row_bytes = sum(max(8, a.dtype.itemsize) * math.prod(a.shape[1:]) for a in rowwise)
            step = max(1, room // max(row_bytes, 1))
            for first in range(0, count, step):
                rows = slice(first, min(first + step, count))
                some = {k: np.asarray(a[rows] if _has_rows(k, a) else a[...]) for k, a in group.items()}
                some["mean"] = some["mean"].astype(dtype, copy=False)
                with damaged(self.name, "array"), counted_from(first):
                    data = examples_of(some, self.psd)
                yield Piece(data, some.get("y"), some.get("weight"), some.get("y_std"), some.get("ids"))

    def in_place(self, memory: int) -> Blocks | None:
        if len(self.groups) > 1:
            return None
        group = self.groups[0]
        if any(key not in (*IN_PLACE, *FOR_ALL, "ids") for key in group):
            return None
        arrays: dict[str, FlatFile] = {}
        for key in (key for key in group if key in IN_PLACE):
            flat = FlatFile.of_memmap(group[key]) if group[key].ndim else None
            kinds = "iufbU" if key == "y" else "f"
            if flat is None or flat.dtype.kind not in kinds or (key != "y" and flat.dtype.itemsize < 4):
                return None
            # np.savez does not align its arrays, and the core reads the samples where they are.
            if key not in BESIDE and flat.offset % flat.dtype.itemsize:
                return None
            if key == "factors" and len(flat.shape) != 3:
                return None
            arrays[key] = flat
        names = group.get("feature_names")
        blocks = Blocks(
            arrays,
            fixed={"shared": np.array(group["shared"])} if "shared" in group else {},
            names=None if names is None else [str(name) for name in np.asarray(names).tolist()],
            memory=memory,
            psd=self.psd,
            source=self.name,
            ids=group.get("ids"),
        )
        blocks[0:1]  # shapes that do not fit together are refused now
        return blocks


def _has_rows(key: str, array: Any) -> bool:
    return key not in FOR_ALL and array.ndim > 0


def array_group(means: Any, labels: Any = None, cov: Any = None) -> dict[str, Any]:
    """Return arrays that a program has, or .npy files, by the keys of .npz files."""
    group = {"mean": means}
    if labels is not None:
        group["y"] = labels
    if cov is not None:
        group["cov"] = cov
    for key, given in group.items():
        group[key] = map_array(given) if isinstance(given, str) else np.asanyarray(given)
    if cov is not None:
        array = group.pop("cov")
        group[COVARIANCE_KEYS.get(array.ndim, "cov")] = array
    return group


def npz_group(path: str) -> dict[str, Any]:
    """Map the arrays of an uncompressed .npz file where they are."""
    with damaged(path, ".npz file"):
        try:
            archive = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise _core.FormatError(f"{name_of(path)}: not a readable .npz file ({error})") from None
        with archive:
            items = [item for item in archive.infolist() if item.filename.endswith(".npy")]
            found = {item.filename[:-4]: _mapped_member(path, archive, item) for item in items}
    if "factors" in found and "start" in found:
        start = np.asarray(found.pop("start"))
        factors = found["factors"]
        rank = int(start[1] - start[0]) if len(start) > 1 else 0
        if (np.diff(start) != rank).any() or factors.shape[0] != rank * (len(start) - 1) or not rank:
            raise _core.FormatError(
                f"{name_of(path)}: its low-rank covariances have several ranks; blocks take one rank for all"
            )
        found["factors"] = factors.reshape(len(start) - 1, rank, factors.shape[1])
    known = {*KEYS, *BESIDE}.union(*((*kind.keys, *kind.more_keys) for kind in READERS.values()))
    return {key: array for key, array in found.items() if key in known or key.startswith("mean_")}


def _mapped_member(path: str, archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> Any:
    with archive.open(item) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version[0] == 1 else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(file)
        header = file.tell()
    if dtype.hasobject:
        raise _core.FormatError(f"{name_of(path)}: not a readable .npz file (objects are not allowed)")
    if item.compress_type != zipfile.ZIP_STORED or item.flag_bits & 1:
        raise _core.FormatError(
            f"{name_of(path)}: {item.filename} is compressed, and cannot be read in blocks; save it with "
            "np.savez or svmgsu.io.write, or pass svmgsu.open a generator of blocks"
        )
    # The local header has lengths of its own, which may differ from those of the directory.
    with open(path, "rb") as raw:
        raw.seek(item.header_offset + 26)
        name_length, extra_length = np.frombuffer(raw.read(4), "<u2").tolist()
    offset = item.header_offset + 30 + name_length + extra_length + header
    if not math.prod(shape):
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, "r", offset, shape, "F" if fortran else "C")


def _table_reader(options: dict[str, Any]) -> TableReader:
    """Return a reader of tables without missing values, which blocks do not have."""
    drop = f"{option('missing', 'drop')} leaves such samples out"
    if options.get("missing") == "keep":
        raise ValueError(f"missing: blocks have no missing values; {drop}, and svmgsu.io.read keeps them")
    return TableReader(**{"advice": drop, **options})


class IterableSource(Source):
    """Any iterable of blocks: tuples, dicts, `Gaussians`, data frames or what readers of files return."""

    def __init__(self, given: Any, psd: Psd, options: dict[str, Any]) -> None:
        self.given, self.psd, self.options = given, psd, options
        self.name = type(given).__name__
        self._reader: TableReader | None = None

    def pieces(self, room: int) -> Iterator[Piece]:
        first = 0
        for number, block in enumerate(self.given):
            with counted_from(first):
                piece = self._piece(block, number)
            first += len(piece.data)
            yield piece

    def _piece(self, block: Any, number: int) -> Piece:
        if isinstance(block, Dataset):
            return Piece.of(block)
        if is_frame(block):
            # What the columns are is decided by the first block.
            if self._reader is None:
                self._reader = _table_reader(self.options)
            found = self._reader.part(Cells(block, f"block {number}"))
            if found is None:
                raise ValueError(f"X: block {number} has no samples")
            return Piece.of(*found)
        given: dict[str, Any] = {"X": block}
        if isinstance(block, Mapping):
            given = dict(block)
            if "X" not in given or not given.keys() <= set(BLOCK_KEYS):
                raise ValueError(
                    f"X: block {number} has the keys {list(block)}; expected some of {', '.join(BLOCK_KEYS)}"
                )
        elif isinstance(block, tuple):
            if not 1 <= len(block) <= 3:
                raise ValueError(
                    f"X: block {number} is a tuple of {len(block)}; expected (X, y) or (X, y, std)"
                )
            given = dict(zip(("X", "y", "std"), block, strict=False))
        data = as_gaussians(given["X"], given.get("cov"), given.get("std"), self.psd)
        if given.get("feature_names") is not None:
            data = Gaussians(data.mean, data.cov, feature_names=list(given["feature_names"]))
        return Piece(
            data,
            given.get("y"),
            given.get("sample_weight"),
            given.get("y_std"),
            classes=given.get("classes"),
        )


class TableSource(Source):
    """Tables with the same columns, one after another; `options` are those of `svmgsu.io.read_table`."""

    def __init__(self, paths: list[str], format: str | None, options: dict[str, Any]) -> None:
        self.paths, self.options = paths, options
        self.endings = ["." + format if format else extension(path) for path in paths]
        self.name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
        self.arrow = import_pyarrow()
        _table_reader(options)  # wrong options are refused before anything is read

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
        reader = _table_reader(self.options)
        columns: list[str] = []
        for path, ending in zip(self.paths, self.endings, strict=True):
            for cells in self._cells(path, ending, room):
                columns = columns or cells.columns
                if sorted(cells.columns) != sorted(columns):
                    other = sorted(set(cells.columns) ^ set(columns))
                    raise _core.FormatError(
                        f"{cells.name}: its columns are not those of {self.paths[0]}: {', '.join(other)} "
                        "in one of them alone"
                    )
                cells.columns = columns  # features are in the order of the first file
                found = reader.part(cells)
                if found is not None:
                    yield Piece.of(*found)

    def _cells(self, path: str, ending: str, room: int) -> Iterator[Cells]:
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
                yield Cells(self.arrow.Table.from_batches([batch]), name_of(path), first)
                first += batch.num_rows
        if not first:
            yield Cells(table.schema.empty_table(), name_of(path), 0)
