"""Where blocks come from: pieces of samples out of NumPy files, memory-mapped arrays and iterables."""

from __future__ import annotations

import math
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from ..data.covariances import Psd
from ..data.covariances.base import READERS
from ..data.gaussians import Gaussians, as_gaussians
from ..io.arrays import check_keys, examples_of, map_array
from ..io.dataset import Dataset
from ..io.files import damaged, name_of
from ..support.places import counted_from
from ..support.validation import Array
from .blocks import Blocks
from .flat import FlatFile, fingerprint_of_file


@dataclass
class Piece:
    """Some examples that stand together in the whole."""

    data: Gaussians
    y: Array | None = None
    weight: Array | None = None
    y_std: Array | None = None
    ids: Array | None = None
    classes: Array | None = None  # of the columns of y, where labels are in doubt
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, dataset: Dataset, weight: Array | None = None) -> Piece:
        """A piece that a reader of files has read."""
        report = dataset.report
        notes = [
            f"{name}: {count} of its examples dropped" for name, count in report.dropped.items() if count
        ]
        about = dataset.ids, dataset.classes, [*notes, *report.notes]
        return cls(dataset.data, dataset.y, weight, dataset.y_std, *about)


class Source(ABC):
    """A source of examples that is read from its beginning, any number of times unless it says otherwise."""

    name: str

    @abstractmethod
    def pieces(self, room: int) -> Iterator[Piece]:
        """The examples, in pieces that take about `room` bytes each while they are made."""

    def least(self) -> int:
        """The least room that its pieces can do with, if that is known before reading."""
        return 0

    def mark(self) -> Any:
        """What is another thing if the source has changed; None if that cannot be known."""
        return None


def numbers_of(values: Any, name: str, count: int) -> Array:
    """One finite number for each of `count` examples."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected numbers, got {np.asarray(values).dtype} values") from None
    if array.shape != (count,):
        raise ValueError(f"{name}: shape {array.shape} for {count} examples")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ValueError(f"{name}: example {bad[0]} is {array[bad[0]]}; NaN and infinity are not allowed")
    return array


EACH = ("mean", "isotropic", "var", "factors", "diagonal", "y", "weight", "y_std")  # flat arrays of examples
ALL = ("shared", "feature_names")
BY_DIMENSIONS = {0: "isotropic", 1: "isotropic", 2: "var", 3: "cov"}  # of covariances in a file of their own


class ArraySource(Source):
    """Groups of arrays under the keys of .npz files, one group after another; each is sliced by rows."""

    def __init__(
        self, groups: Sequence[Mapping[str, Any]], name: str, psd: Psd, paths: list[str] | None
    ) -> None:
        self.groups, self.name, self.psd, self.paths = groups, name, psd, paths
        for group in groups:
            check_keys(group, name)
            if "mean_data" in group:
                raise _core.FormatError(
                    f"{name}: its means are sparse, which blocks are not; svmgsu.io.read reads it into memory"
                )
            _check_lengths(group, name)

    def mark(self) -> Any:
        return None if self.paths is None else [fingerprint_of_file(path) for path in self.paths]

    def pieces(self, room: int) -> Iterator[Piece]:
        for group in self.groups:
            count, own = group["mean"].shape[0], dict(group)
            by_rows = [a for k, a in own.items() if _by_rows(k, a)]
            wide = sum(max(8, a.dtype.itemsize) * math.prod(a.shape[1:]) for a in by_rows)
            step = max(1, room // max(wide, 1))
            for first in range(0, count, step):
                rows = slice(first, min(first + step, count))
                some = {k: np.asarray(a[rows] if _by_rows(k, a) else a[...]) for k, a in own.items()}
                with counted_from(first), damaged(self.name, "array"):
                    data = examples_of(some, self.psd)
                yield Piece(data, some.get("y"), some.get("weight"), some.get("y_std"), some.get("ids"))

    def in_place(self, memory: int) -> Blocks | None:
        """The examples where they lie, if all arrays are flat, mapped and of floats; else None."""
        if len(self.groups) > 1:
            return None
        group = self.groups[0]
        if any(key not in (*EACH, *ALL, "ids") for key in group):
            return None  # deviations and matrices become variances and packed ones
        arrays: dict[str, FlatFile] = {}
        for key in (key for key in group if key in EACH):
            flat = FlatFile.of_memmap(group[key]) if group[key].ndim else None
            if flat is None or (key != "y" and flat.dtype not in (np.float32, np.float64)):
                return None
            if key not in ("y", "weight", "y_std") and flat.offset % flat.dtype.itemsize:
                return None  # np.savez does not align its arrays, and the core reads them where they lie
            if key == "y" and flat.dtype.kind not in "iufbU":
                return None
            if key == "factors" and len(flat.shape) != 3:
                return None
            arrays[key] = flat
        fixed = {"shared": np.array(group["shared"])} if "shared" in group else {}
        names = (
            [str(v) for v in np.asarray(group["feature_names"]).tolist()]
            if "feature_names" in group
            else None
        )
        blocks = Blocks(
            arrays,
            fixed=fixed,
            names=names,
            memory=memory,
            psd=self.psd,
            source=self.name,
            ids=group.get("ids"),
        )
        blocks[0:1]  # shapes that do not fit are told
        return blocks


def _by_rows(key: str, array: Any) -> bool:
    return key not in ALL and len(array.shape) > 0


def _check_lengths(group: Mapping[str, Any], name: str) -> None:
    if len(group["mean"].shape) != 2:
        raise _core.FormatError(
            f"{name}: X: expected 2 dimensions, got an array of shape {group['mean'].shape}"
        )
    count = group["mean"].shape[0]
    if not count:
        raise _core.FormatError(f"{name}: X: there is no example")
    for key, array in group.items():
        if _by_rows(key, array) and array.shape[0] != count:
            raise _core.FormatError(f"{name}: {key}: {array.shape[0]} rows for {count} examples")


def npy_source(
    paths: list[str], labels: list[str] | None, cov: list[str] | None, psd: Psd, name: str
) -> ArraySource:
    """.npy files of means, with those of labels and covariances."""
    groups = []
    for k, path in enumerate(paths):
        group: dict[str, Any] = {"mean": map_array(path)}
        if labels is not None:
            group["y"] = map_array(labels[k])
        if cov is not None:
            array = map_array(cov[k])
            group[BY_DIMENSIONS.get(array.ndim, "cov")] = array
        groups.append(group)
    return ArraySource(groups, name, psd, [*paths, *(labels or ()), *(cov or ())])


def memory_source(means: Any, labels: Any, cov: Any, psd: Psd) -> ArraySource:
    """Arrays that a program has: memory-mapped ones are used in place."""
    group: dict[str, Any] = {"mean": means if isinstance(means, np.ndarray) else np.asarray(means)}
    if labels is not None:
        group["y"] = labels if isinstance(labels, np.ndarray) else np.asarray(labels)
    if cov is not None:
        array = cov if isinstance(cov, np.ndarray) else np.asarray(cov)
        group[BY_DIMENSIONS.get(array.ndim, "cov")] = array
    return ArraySource([group], getattr(means, "filename", None) or "X", psd, None)


def npz_source(paths: list[str], psd: Psd, name: str) -> ArraySource:
    """.npz files, whose arrays are mapped where they lie; compressed ones are refused."""
    return ArraySource([_members(path) for path in paths], name, psd, paths)


def _members(path: str) -> dict[str, Any]:
    with damaged(path, ".npz file"):
        try:
            archive = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise _core.FormatError(f"{name_of(path)}: not a readable .npz file ({error})") from None
        with archive:
            items = [item for item in archive.infolist() if item.filename.endswith(".npy")]
            found = {item.filename[:-4]: _member(path, archive, item) for item in items}
    if "factors" in found and "start" in found:
        _with_one_rank(found, path)
    used = {
        *EACH,
        *ALL,
        "ids",
        "std",
        *(key for kind in READERS.values() for key in (*kind.keys, *kind.more_keys)),
    }
    return {key: array for key, array in found.items() if key in used or key.startswith("mean_")}


def _member(path: str, archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> Any:
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
    with open(path, "rb") as raw:  # the length of names in the local header may be another
        raw.seek(item.header_offset + 26)
        name, extra = np.frombuffer(raw.read(4), "<u2").tolist()
    offset = item.header_offset + 30 + name + extra + header
    if not math.prod(shape):
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, "r", offset, shape, "F" if fortran else "C")


def _with_one_rank(found: dict[str, Any], path: str) -> None:
    """Factors one below the other as (l, r, n), where all examples have the same rank."""
    start = np.asarray(found.pop("start")[...])
    rank = int(start[1] - start[0]) if len(start) > 1 else 0
    factors = found["factors"]
    if (np.diff(start) != rank).any() or factors.shape[0] != rank * (len(start) - 1) or not rank:
        raise _core.FormatError(
            f"{name_of(path)}: its low-rank covariances have several ranks; blocks take one rank for all"
        )
    found["factors"] = factors.reshape(len(start) - 1, rank, factors.shape[1])


NAMES = ("X", "y", "cov", "std", "sample_weight", "y_std", "feature_names", "classes")


class IteratorSource(Source):
    """Any iterable of blocks."""

    def __init__(self, given: Any, psd: Psd, options: dict[str, Any]) -> None:
        self.given, self.psd, self.options = given, psd, options
        self.name = type(given).__name__

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
        if _is_frame(block):
            return self._framed(block, number)
        if isinstance(block, Mapping):
            strange = [key for key in block if key not in NAMES]
            if strange or "X" not in block:
                raise ValueError(
                    f"X: block {number} has the keys {list(block)}; expected some of {', '.join(NAMES)}"
                )
            given = dict(block)
        elif isinstance(block, tuple):
            if not 1 <= len(block) <= 3:
                raise ValueError(
                    f"X: block {number} is a tuple of {len(block)}; expected (X, y) or (X, y, std)"
                )
            given = dict(zip(("X", "y", "std"), block, strict=False))
        else:
            given = {"X": block}
        names = given.pop("feature_names", None)
        data = as_gaussians(given["X"], given.get("cov"), given.get("std"), self.psd)
        if names is not None:
            data = Gaussians(data.mean, data.cov, feature_names=list(names))
        y = None if given.get("y") is None else np.asarray(given["y"])
        classes = given.get("classes")
        return Piece(data, y, given.get("sample_weight"), given.get("y_std"), classes=classes)

    def _framed(self, frame: Any, number: int) -> Piece:
        """A data frame, whose columns are paired as those of a table in a file."""
        from ..io.table_reading import TableReader
        from ..io.tables import _pyarrow
        from .tables import PartCells

        arrow = _pyarrow()
        if hasattr(frame, "to_arrow"):
            table = frame.to_arrow()
        elif hasattr(frame, "iloc"):
            table = arrow.Table.from_pandas(frame, preserve_index=False)
        else:
            table = frame if hasattr(frame, "column_names") else arrow.Table.from_batches([frame])
        if not hasattr(self, "_reader"):
            self._reader = TableReader(**self.options)
        found = self._reader.part(PartCells(table, f"block {number}", 0))
        if found is None:
            raise ValueError(f"X: block {number} has no example")
        return Piece.of(*found)


def _is_frame(block: Any) -> bool:
    """Data frames of pandas and polars; tables and batches of Arrow."""
    kind = type(block).__module__.partition(".")[0]
    return kind in ("pandas", "polars", "pyarrow") and (hasattr(block, "columns") or hasattr(block, "schema"))
