"""`Blocks`: samples in files, read a block at a time."""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..data.covariances import Psd
from ..data.covariances.base import READERS, Covariance
from ..data.gaussians import Gaussians
from ..support.memory import in_words
from ..support.places import counted_from
from ..support.validation import Array, FloatArray
from .flat import FlatFile

LARGEST_BLOCK = 2**26  # bytes; larger ones are not read faster
CHANCES = "chances"  # says of y that it has the probabilities of classes
SHARE = 16  # a block is at most this part of the memory: it is read, changed and multiplied


class Blocks:
    """Uncertain examples in files: what `svmgsu.open` returns. It is trained on like `Gaussians`.

    Attributes
    ----------
    shape : (l, n)
    dtype : dtype
        Of the means and covariances as they are stored: float32 or float64.
    kind : str
        The covariance in a word, "none" if there is none.
    feature_names_in_ : list of str or None
    memory : int
        The bytes that training and prediction may take.
    needed : int
        The bytes that they will take.
    nbytes : int
        The size of what lies in the files, of which each pass reads all.

    Notes
    -----
    `svmgsu.open` makes it: of `arrays` in files, by the keys of .npz files, with what is `fixed` for all;
    `texts` and `y_kind` say what the numbers of labels mean, `names` are those of the features, `psd` is as
    for `Full`, `source`, `folder`, `ids` and `notes` tell where they come from. `blocks[first:last]` reads
    some examples as `Gaussians`; `labels()` gives the labels that the files have.
    """

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
        ids: Any = None,
        notes: list[str] | None = None,
    ) -> None:
        self.arrays, self.fixed = dict(arrays), dict(fixed or {})
        self.texts, self.y_kind = texts, y_kind
        self.feature_names_in_ = names
        self.memory, self.psd, self.source, self.notes = memory, psd, source, list(notes or ())
        self._ids = ids
        self._folder = folder  # a temporary one, removed with the last of what uses it
        mean = self.arrays["mean"]
        self.shape: tuple[int, int] = (mean.shape[0], mean.shape[1])
        self.dtype = mean.dtype
        for key, array in self.arrays.items():
            if array.shape[0] != self.shape[0]:
                raise ValueError(f"{array.path}: {array.shape[0]} rows of {key!r} for {len(self)} examples")

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def covariance_keys(self) -> list[str]:
        """The arrays that make up the covariance, by their keys of .npz files."""
        return [key for key in (*self.arrays, *self.fixed) if key not in ("mean", "y", "y_std", "weight")]

    @property
    def kind(self) -> str:
        keys = self.covariance_keys
        return next((READERS[key].__name__.lower() for key in keys if key in READERS), "none")

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    @property
    def row_bytes(self) -> int:
        return sum(array.row_bytes for array in self.arrays.values())

    @property
    def block_rows(self) -> int:
        """How many examples are read at a time."""
        wide = max(1, max(16 * self.shape[1], self.row_bytes))  # as float64, if need be
        return max(1, min(len(self), LARGEST_BLOCK // wide, self.memory // SHARE // wide))

    @property
    def needed(self) -> int:
        return least_memory(self.shape[1], self.row_bytes)

    def __getitem__(self, rows: Any) -> Gaussians:
        """Some examples that stand together, read from the files: `rows` is a slice without a step."""
        if not isinstance(rows, slice) or rows.step not in (None, 1):
            raise IndexError(f"blocks are read by slices such as [0:1000], got {rows!r}")
        first, last, _ = rows.indices(len(self))
        if last <= first:
            raise IndexError(f"there is no example from {first} to {last} of {len(self)}")
        part = slice(first, last)
        with counted_from(first):
            mean = self.arrays["mean"].read(part)
            return Gaussians(mean, self._covariance(part), feature_names=self.feature_names_in_)

    def _covariance(self, rows: slice) -> Covariance | None:
        keys = self.covariance_keys
        kind = next((READERS[key] for key in keys if key in READERS), None)
        if kind is None:
            return None
        found = {key: self.arrays[key].read(rows) for key in keys if key in self.arrays}
        return kind.from_arrays(found | self.fixed, self.psd)

    def spans(self) -> Iterator[slice]:
        """The rows of one block after another."""
        step = self.block_rows
        for first in range(0, len(self), step):
            yield slice(first, min(first + step, len(self)))

    def __iter__(self) -> Iterator[Gaussians]:
        """The examples, block by block."""
        self.check()
        for rows in self.spans():
            yield self[rows]

    @property
    def has_labels(self) -> bool:
        return "y" in self.arrays

    @property
    def classes(self) -> Array | None:
        """Where labels are in doubt, the classes of whose probabilities the files have a column each."""
        shape = self.arrays["y"].shape if "y" in self.arrays else ()
        if len(shape) != 2 or shape[1] < 2:
            return None
        return np.arange(shape[1]) if self.texts is None else np.array(self.texts)

    def labels(self, rows: slice = slice(None)) -> Array:
        """The labels or targets that the files have, of all examples or of `rows`, a slice.

        Where labels are in doubt, the probabilities of `classes`, one column for each.
        """
        if "y" not in self.arrays:
            raise ValueError(f"y: {self.source or 'the data'} has no labels; pass y=")
        values = self.arrays["y"].read(rows)
        if self.classes is not None:
            return values
        if self.texts is not None:
            return np.array(self.texts)[values.astype(np.int64)]
        kinds = {"int": np.int64, "bool": np.bool_}
        return values.astype(kinds[self.y_kind]) if self.y_kind in kinds else values

    def numbers(self, key: str, rows: slice = slice(None)) -> FloatArray | None:
        """One number of each of `rows`, by `key` "y_std" or "weight"; None if the files have none."""
        found = self.arrays.get(key)
        return None if found is None else found.read(rows).astype(np.float64, copy=False)

    def ids(self) -> Array | None:
        """The names of the examples, if the files have some."""
        if not isinstance(self._ids, str):  # an array, or nothing
            return None if self._ids is None else np.array(self._ids)
        import json

        with open(self._ids, encoding="ascii") as file:
            return np.array([json.loads(line) for line in file])

    @property
    def cov(self) -> Covariance | None:
        """The covariance of the first example, which tells the kind of all; None if there are none."""
        return self[0:1].cov

    def with_std(self, std: float | None) -> Blocks:
        """The same means with one standard deviation `std` for all numbers; None is no covariance."""
        out = copy.copy(self)
        out._folder = self._folder
        out.arrays = {k: a for k, a in self.arrays.items() if k in ("mean", "y", "y_std", "weight")}
        out.fixed = {} if std is None else {"shared": np.full(self.shape[1], float(std) ** 2)}
        return out

    def map(self, transformer: Any) -> Blocks:
        """The same examples with the features that a map makes of them, as they are read; none are stored.

        Parameters
        ----------
        transformer : fitted transformer or function
            With a method `transform`, such as `svmgsu.features.FourierFeatures` fitted to `blocks[:10_000]`,
            or a function, of Gaussians to Gaussians. It must treat each example for itself.

        Returns
        -------
        Blocks
            Trained on as any others, to the bits of the mapped examples in memory if the map gives the same
            numbers for an example whatever its neighbours.
        """
        function = getattr(transformer, "transform", transformer)
        if not callable(function):
            raise TypeError(
                f"map: expected a fitted transformer or a function of Gaussians, got {transformer!r}"
            )
        return MappedBlocks(self, function)

    def check(self) -> None:
        """Refuses files that were changed, replaced or removed since they were opened."""
        for array in self.arrays.values():
            array.check()

    def fingerprint(self) -> str:
        """A text that is another one if the data are: of sizes, times and a sample of the numbers."""
        digest = hashlib.sha256(repr((self.shape, str(self.dtype), self.feature_names_in_)).encode())
        for key in sorted(self.arrays):
            array = self.arrays[key]
            digest.update(repr((key, array.shape, str(array.dtype))).encode())
            places = np.unique(np.linspace(0, max(len(self) - 1, 0), 16).astype(np.int64)).tolist()
            for row in places:
                digest.update(array.read(slice(row, row + 1)).tobytes())
        for key in sorted(self.fixed):
            digest.update(np.ascontiguousarray(self.fixed[key]).tobytes())
        return digest.hexdigest()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("blocks are no plain array; blocks[first:last].mean reads the means of some")

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_folder": None}  # a copy reads the files; it does not remove them

    def __repr__(self) -> str:
        folders = sorted({os.path.dirname(os.path.abspath(a.path)) for a in self.arrays.values()})
        where = "in place" if self._folder is None else "a temporary cache"
        return (
            f"Blocks({len(self)} examples, {self.shape[1]} features, cov={self.kind}, {self.dtype}, "
            f"{in_words(self.nbytes)} in {', '.join(folders)} ({where}), memory {in_words(self.memory)})"
        )


def least_memory(n: int, row_bytes: int) -> int:
    """The least number of bytes that training and prediction can do with: vectors, and a few rows."""
    return SHARE * max(16 * n, row_bytes) + 8 * 64 * n


Map = Callable[[Gaussians], Gaussians]


class _View(Blocks):
    """The same files with samples that are made when they are read; labels and weights are those of `of`."""

    def __init__(self, of: Blocks) -> None:
        super().__init__(
            of.arrays,
            fixed=of.fixed,
            texts=of.texts,
            y_kind=of.y_kind,
            names=of.feature_names_in_,
            memory=of.memory,
            psd=of.psd,
            source=of.source,
            folder=of._folder,
            ids=of._ids,
            notes=of.notes,
        )
        self.of = of


class MappedBlocks(_View):
    """What `Blocks.map` returns; see there. Labels, weights and names of examples are those of the blocks."""

    def __init__(self, of: Blocks, function: Map) -> None:
        super().__init__(of)
        self._function = function
        self._width: int | None = None  # of the features, once it is known
        one = self[0:1]
        self._width = one.shape[1]
        self.shape = (len(of), one.shape[1])
        self.dtype = np.asarray(one.mean).dtype
        self.feature_names_in_ = one.feature_names_in_
        self._kind = "none" if one.cov is None else type(one.cov).__name__.lower()
        held = {} if one.cov is None else one.cov.arrays(1, one.shape[1], None)
        self._made_bytes = np.asarray(one.mean).nbytes + sum(np.asarray(a).nbytes for a in held.values())

    @property
    def kind(self) -> str:
        return self._kind

    @property
    def row_bytes(self) -> int:
        return self.of.row_bytes + self._made_bytes

    def __getitem__(self, rows: Any) -> Gaussians:
        data = self.of[rows]
        with counted_from(rows.indices(len(self.of))[0]):
            made = self._function(data)
        if not isinstance(made, Gaussians):
            raise TypeError(f"map: it must make Gaussians of Gaussians, but made {type(made).__name__}")
        expected = (len(data), made.shape[1] if self._width is None else self._width)
        if made.shape != expected:
            raise ValueError(f"map: it made {made.shape} examples and features; {expected} are wanted")
        return made

    def with_std(self, std: float | None) -> Blocks:
        return MappedBlocks(self, lambda data: Gaussians(data.mean, std=std))

    def fingerprint(self) -> str:
        digest = hashlib.sha256(self.of.fingerprint().encode())
        made = self[0 : min(len(self), 16)]
        arrays: dict[str, Array] = {"mean": np.asarray(made.mean)}
        if made.cov is not None:
            arrays |= {key: np.asarray(a) for key, a in made.cov.arrays(*made.shape, None).items()}
        for key in sorted(arrays):
            digest.update(key.encode() + np.ascontiguousarray(arrays[key]).tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        return f"MappedBlocks({self.shape[1]} features, cov={self.kind}, of {self.of!r})"


class RepeatedBlocks(_View):
    """Blocks some of whose examples are there several times: example i is row places[i], in order."""

    def __init__(self, of: Blocks, places: Array) -> None:
        super().__init__(of)
        self.places = places
        self.shape = (len(places), of.shape[1])
        self._kind, self._row_bytes = of.kind, of.row_bytes

    @property
    def kind(self) -> str:
        return self._kind

    @property
    def row_bytes(self) -> int:
        return self._row_bytes

    def __getitem__(self, rows: Any) -> Gaussians:
        first, last, _ = rows.indices(len(self))
        places = self.places[first:last]
        return self.of[int(places[0]) : int(places[-1]) + 1][places - places[0]]

    def fingerprint(self) -> str:
        return hashlib.sha256(self.of.fingerprint().encode() + self.places.tobytes()).hexdigest()
