"""`Blocks`: samples in flat files, which are read block by block."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.covariances import Psd
from ..data.covariances.base import READERS, Covariance
from ..data.gaussians import Gaussians
from ..support.errors import counted_from
from ..support.memory import in_words
from ..support.types import Fields
from ..support.validation import Array, ArrayLike, FloatArray, Matrix

LARGEST_BLOCK = 2**26  # bytes; larger blocks are not read faster
SHARE = 16  # a block is at most this part of the memory: it is read, changed and multiplied
BESIDE = ("y", "y_std", "weight")  # arrays that stand beside the means and covariances

Rows = slice | Array


class ChangedError(ValueError):
    """A file is not what it was when it was opened: it was written to, replaced or truncated."""


@dataclass(frozen=True)
class FlatFile:
    """Numbers of `dtype` and `shape`, row-major, from byte `offset` on in the file `path`.

    `stamp` is the size and the modification time of the file when it was opened.
    """

    path: str
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    stamp: tuple[int, int]

    @classmethod
    def of(cls, path: str, offset: int, dtype: Any, shape: tuple[int, ...]) -> FlatFile:
        """Describe an array in a file, which must be large enough for it."""
        about = os.stat(path)
        found = cls(path, offset, np.dtype(dtype), shape, (about.st_size, about.st_mtime_ns))
        if found.offset + found.nbytes > about.st_size:
            raise ValueError(
                f"{path}: it is cut off: {found.offset + found.nbytes} bytes are wanted for shape "
                f"{shape}, and there are {about.st_size}"
            )
        return found

    @classmethod
    def of_memmap(cls, array: Matrix) -> FlatFile | None:
        """Find the numbers of a memory-mapped array in its file; None if they are not there row after row."""
        base = array
        while isinstance(base, np.memmap) and isinstance(base.base, np.memmap):
            base = base.base
        if not isinstance(base, np.memmap) or base.filename is None:
            return None
        if not array.flags.c_contiguous or not array.dtype.isnative:
            return None
        start = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return cls.of(os.fsdecode(base.filename), int(base.offset + start), array.dtype, array.shape)

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape[1:])

    @property
    def nbytes(self) -> int:
        return self.row_bytes * self.shape[0]

    def core(self) -> tuple[str, int, bool, int, int]:
        """Describe the file as the core takes it: all axes but the first make up the columns."""
        return self.path, self.offset, self.dtype == np.float32, self.shape[0], math.prod(self.shape[1:])

    def read(self, rows: slice | Array) -> Array:
        """Read consecutive rows, or those at some positions, into a new array."""
        if not isinstance(rows, slice):
            self.check()  # a file that was truncated would be a bus error
            return np.asarray(np.memmap(self.path, self.dtype, "r", self.offset, self.shape)[rows])
        first, last, _ = rows.indices(self.shape[0])
        count = max(last - first, 0) * math.prod(self.shape[1:])
        found = np.fromfile(self.path, self.dtype, count, offset=self.offset + first * self.row_bytes)
        if len(found) < count:
            raise ChangedError(f"{self.path}: it ends before sample {last - 1}; it was cut off")
        return found.reshape(-1, *self.shape[1:])

    def check(self) -> None:
        """Refuse a file that has changed since it was opened."""
        try:
            about = os.stat(self.path)
        except FileNotFoundError:
            raise ChangedError(f"{self.path}: it was removed since it was opened") from None
        if (about.st_size, about.st_mtime_ns) != self.stamp:
            raise ChangedError(f"{self.path}: it has changed since it was opened; open it anew")


def fingerprint_of_file(path: str) -> list[Any]:
    """Return what changes with a file: its path, size and modification time."""
    about = os.stat(path)
    return [os.path.realpath(path), about.st_size, about.st_mtime_ns]


class Blocks:
    """Uncertain samples in files, as `svmgsu.open` returns them; estimators take them as `Gaussians`.

    `blocks[0:1000]` and `blocks[positions]` read some samples as `Gaussians`, iteration reads one block after
    another, `labels()` returns the labels that the files have.

    Attributes
    ----------
    shape : tuple (l, n)
        Number of samples and of features.
    dtype : dtype
        Type of the stored means and covariances: float32 or float64.
    kind : str
        Kind of the covariances in lower case, "none" if there are none.
    feature_names_in_ : list of str or None
        Names of the features.
    nbytes : int
        Size of the data in the files, which each pass reads.
    memory : int
        Bytes that training and prediction may take.
    notes : list of str
        What was noticed while the samples were decoded.
    """

    # `arrays` and `fixed` (the same for all samples) have the keys of .npz files. Labels that are texts are
    # stored as their positions in `texts`, and soft labels as a probability for each of them; `y_kind` says
    # which ("int", "float", "bool", "str" or "soft"). `folder` removes a temporary cache when the last
    # `Blocks` that refer to it are gone. `ids` is an array, or a file with one JSON text per line.

    def __init__(
        self,
        arrays: Mapping[str, FlatFile],
        *,
        fixed: Mapping[str, Array] | None = None,
        texts: list[str] | None = None,
        y_kind: str = "",
        names: list[str] | None = None,
        memory: int = 2**31,
        psd: Psd = "clip",
        source: str = "",
        folder: Any = None,
        ids: ArrayLike = None,
        notes: list[str] | None = None,
    ) -> None:
        self.arrays = dict(arrays)
        self.fixed = dict(fixed or {})
        self.texts = texts
        self.y_kind = y_kind
        self.feature_names_in_ = names
        self.memory = memory
        self.psd = psd
        self.source = source
        self.notes = list(notes or ())
        self._ids = ids
        self._folder = folder
        mean = self.arrays["mean"]
        self.shape: tuple[int, int] = (mean.shape[0], mean.shape[1])
        self.dtype = mean.dtype
        for key, array in self.arrays.items():
            if array.shape[0] != len(self):
                raise ValueError(f"{array.path}: {array.shape[0]} rows of {key!r} for {len(self)} samples")
        self.kind = next((READERS[k].__name__.lower() for k in self.covariance_keys if k in READERS), "none")
        self._stored_names = names
        # What `map` and `repeat` change.
        self._functions: tuple[Callable[[Gaussians], Gaussians], ...] = ()
        self._positions: Array | None = None
        self._mapped_bytes = 0

    def _changed(self, **attributes: object) -> Blocks:
        out = copy.copy(self)
        out.__dict__.update(attributes, _folder=self._folder)
        return out

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def covariance_keys(self) -> list[str]:
        """The keys of the arrays that make up the covariances."""
        return [key for key in (*self.arrays, *self.fixed) if key != "mean" and key not in BESIDE]

    @property
    def in_files(self) -> bool:
        """Whether the samples are stored as they are, and not made of others while these are read."""
        return not self._functions and self._positions is None

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    @property
    def row_bytes(self) -> int:
        """Bytes of a sample, as it is stored and as it is made."""
        return sum(array.row_bytes for array in self.arrays.values()) + self._mapped_bytes

    @property
    def needed(self) -> int:
        """The least number of bytes that prediction takes: some vectors, and a few rows."""
        return SHARE * max(16 * self.shape[1], self.row_bytes) + 8 * 64 * self.shape[1]

    def spans(self) -> Iterator[slice]:
        """Yield the rows of one block after another."""
        row = max(1, 16 * self.shape[1], self.row_bytes)  # as float64, if need be
        step = max(1, min(len(self), LARGEST_BLOCK // row, self.memory // SHARE // row))
        for first in range(0, len(self), step):
            yield slice(first, min(first + step, len(self)))

    def __iter__(self) -> Iterator[Gaussians]:
        self.check()
        for rows in self.spans():
            yield self[rows]

    def __getitem__(self, rows: Rows) -> Gaussians:
        """Read the samples of a slice without a step, or of an array of positions."""
        if isinstance(rows, slice) and rows.step in (None, 1):
            first, last, _ = rows.indices(len(self))
            if last <= first:
                raise IndexError(f"there is no sample from {first} to {last} of {len(self)}")
            rows = slice(first, last)
        else:
            rows = np.asarray(rows)
            if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
                raise IndexError(f"expected a slice such as [0:1000] or an array of positions, got {rows!r}")
            first = 0
        with counted_from(first):
            if self._positions is None:
                data = self._stored(rows)
            else:
                # Repeated samples are near one another, and read once.
                positions = self._positions[rows]
                start = int(positions.min())
                data = self._stored(slice(start, int(positions.max()) + 1))[positions - start]
            for function in self._functions:
                made = function(data)
                if not isinstance(made, Gaussians):
                    raise TypeError(f"map: expected Gaussians of Gaussians, got {type(made).__name__}")
                if len(made) != len(data):
                    raise ValueError(f"map: it made {len(made)} samples of {len(data)}")
                data = made
        if data.shape[1] != self.shape[1]:
            raise ValueError(f"map: it made {data.shape[1]} features, and {self.shape[1]} before")
        return data

    def _stored(self, rows: Rows) -> Gaussians:
        keys = self.covariance_keys
        kind = next((READERS[key] for key in keys if key in READERS), None)
        cov: Covariance | None = None
        if kind is not None:
            found = {key: self.arrays[key].read(rows) for key in keys if key in self.arrays}
            cov = kind.from_arrays(found | self.fixed, self.psd)
        return Gaussians(self.arrays["mean"].read(rows), cov, feature_names=self._stored_names)

    @property
    def cov(self) -> Covariance | None:
        """The covariance of the first sample, which tells the kind of all; None if there are none."""
        return self[0:1].cov

    @property
    def has_labels(self) -> bool:
        return "y" in self.arrays

    @property
    def classes(self) -> Array | None:
        """The classes of soft labels, of which the files have a column of probabilities each; else None."""
        shape = self.arrays["y"].shape if "y" in self.arrays else ()
        if len(shape) != 2 or shape[1] < 2:
            return None
        return np.arange(shape[1]) if self.texts is None else np.array(self.texts)

    def labels(self, rows: Rows = slice(None)) -> Array:
        """Read the labels or targets of all samples, or of some; soft labels have a column per class."""
        if "y" not in self.arrays:
            raise ValueError(f"y: {self.source or 'the data'} has no labels; pass y=")
        values = self.arrays["y"].read(rows)
        if self.classes is not None:
            return values
        if self.texts is not None:
            return np.array(self.texts)[values.astype(np.int64)]
        kinds = {"int": np.int64, "bool": np.bool_}
        return values.astype(kinds[self.y_kind]) if self.y_kind in kinds else values

    def numbers(self, key: str, rows: Rows = slice(None)) -> FloatArray | None:
        """Read one number per sample, `key` "y_std" or "weight"; None if the files have none."""
        found = self.arrays.get(key)
        return None if found is None else found.read(rows).astype(np.float64, copy=False)

    def ids(self) -> Array | None:
        """Read the ids of the samples; None if the files have none."""
        if not isinstance(self._ids, str):
            return None if self._ids is None else np.array(self._ids)
        with open(self._ids, encoding="ascii") as file:
            return np.array([json.loads(line) for line in file])

    def map(self, transformer: object) -> Blocks:
        """Return the samples with features that are made while they are read, and never stored.

        Parameters
        ----------
        transformer : fitted transformer or function
            A function of Gaussians to Gaussians, or an object with such a method `transform`, for example
            `svmgsu.features.FourierFeatures` fitted to `blocks[:10_000]`. It must treat each sample alone.

        Returns
        -------
        Blocks
            Trained on as any others, to the bits of the mapped samples in memory if the map computes the same
            numbers for a sample whatever its neighbours.
        """
        function = getattr(transformer, "transform", transformer)
        if not callable(function):
            raise TypeError(
                f"map: expected a fitted transformer or a function of Gaussians, got {transformer!r}"
            )
        one = function(self[0:1])
        if not isinstance(one, Gaussians):
            raise TypeError(f"map: expected Gaussians of Gaussians, got {type(one).__name__}")
        held = {} if one.cov is None else one.cov.arrays(1, one.shape[1], None)
        mean = np.asarray(one.mean)
        return self._changed(
            _functions=(*self._functions, function),
            _mapped_bytes=self._mapped_bytes + mean.nbytes + sum(np.asarray(a).nbytes for a in held.values()),
            shape=(len(self), one.shape[1]),
            dtype=mean.dtype,
            kind="none" if one.cov is None else type(one.cov).__name__.lower(),
            feature_names_in_=one.feature_names_in_,
        )

    def repeat(self, positions: Array) -> Blocks:
        """Return blocks whose sample i is sample `positions[i]` of these; positions must increase."""
        return self._changed(_positions=positions, shape=(len(positions), self.shape[1]))

    def refuse_beside(self, **others: object) -> None:
        """Refuse covariances that are given beside these samples, which have their own."""
        for name, value in others.items():
            if value is not None:
                raise ValueError(f"{name}: blocks have their own covariances; pass {name} to svmgsu.open")

    def check(self) -> None:
        """Refuse files that were changed, replaced or removed since they were opened."""
        for array in self.arrays.values():
            array.check()

    def fingerprint(self) -> str:
        """Return a fingerprint of the sizes and of a few samples, which changes with the data."""
        digest = hashlib.sha256(repr((self.shape, str(self.dtype), self.feature_names_in_)).encode())
        stored = self.arrays["mean"].shape[0]
        some = np.unique(np.linspace(0, stored - 1, 16).astype(np.int64))
        for key, array in sorted(self.arrays.items()):
            digest.update(repr((key, array.shape, str(array.dtype))).encode())
            digest.update(array.read(some).tobytes())
        for _, fixed in sorted(self.fixed.items()):
            digest.update(np.ascontiguousarray(fixed).tobytes())
        if self._positions is not None:
            digest.update(self._positions.tobytes())
        if self._functions:
            made = self[0 : min(len(self), 16)]
            arrays = {} if made.cov is None else made.cov.arrays(*made.shape, None)
            for _, values in sorted({"mean": made.mean, **arrays}.items()):
                digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("blocks are no plain array; blocks[first:last].mean reads the means of some")

    def __getstate__(self) -> Fields:
        return self.__dict__ | {"_folder": None}  # a copy in another process does not remove the files

    def __repr__(self) -> str:
        folders = sorted({os.path.dirname(os.path.abspath(a.path)) for a in self.arrays.values()})
        where = "in place" if self._folder is None else "a temporary cache"
        mapped = ", mapped" if self._functions else ""
        return (
            f"Blocks({len(self)} samples, {self.shape[1]} features, cov={self.kind}, {self.dtype}{mapped}, "
            f"{in_words(self.nbytes)} in {', '.join(folders)} ({where}), memory {in_words(self.memory)})"
        )
