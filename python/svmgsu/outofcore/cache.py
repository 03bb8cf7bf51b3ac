"""The cache: a folder of flat, row-major arrays that is there completely or not at all.

    blocks.json    what it holds, and the fingerprint of the sources it was made from
    mean.bin, var.bin, packed.bin, ..., y.bin, weight.bin, y_std.bin
    ids.jsonl      names of the examples, if they have some

It is made as `name.<hex>.partial` and renamed; that is what a killed process leaves behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from .. import _core
from ..io.files import shown
from ..support.arrays import dense
from ..support.places import counted_from
from ..support.precision import stored_as
from ..support.validation import Array, check_finite, listed
from .blocks import CHANCES, Blocks
from .flat import FlatFile
from .sources import Piece, Source, numbers_of

MANIFEST, IDS, VERSION = "blocks.json", "ids.jsonl", 1
PREFIX = "svmgsu-blocks-"


class Folder:
    """A folder of arrays in the making. `add` appends rows; `finish` gives it its name."""

    def __init__(self, target: str | None) -> None:
        self.target = None if target is None else os.path.abspath(target)
        if self.target is None:
            self.path = tempfile.mkdtemp(prefix=PREFIX)
        else:
            os.makedirs(os.path.dirname(self.target), exist_ok=True)
            self.path = f"{self.target}.{os.urandom(6).hex()}.partial"
            os.mkdir(self.path)
        self.files: dict[str, IO[bytes]] = {}
        self.texts: dict[str, IO[bytes]] = {}
        self.layout: dict[str, tuple[str, tuple[int, ...]]] = {}  # dtype, shape of a row
        self.rows: dict[str, int] = {}

    def add(self, key: str, array: Any) -> None:
        """Appends rows to the array `key`."""
        if key not in self.files:
            self.files[key] = open(os.path.join(self.path, f"{key}.bin"), "wb")  # noqa: SIM115
            self.layout[key], self.rows[key] = (array.dtype.str, array.shape[1:]), 0
        with _room(self.path):
            self.files[key].write(np.ascontiguousarray(array).tobytes())
        self.rows[key] += len(array)

    def add_ids(self, ids: Any) -> None:
        """Appends names of examples, one JSON text per line."""
        if IDS not in self.texts:
            self.texts[IDS] = open(os.path.join(self.path, IDS), "wb")  # noqa: SIM115
        with _room(self.path):
            self.texts[IDS].write("".join(json.dumps(str(name)) + "\n" for name in ids).encode("ascii"))

    def close(self) -> None:
        with _room(self.path):
            for file in (*self.files.values(), *self.texts.values()):
                file.close()

    def abandon(self) -> None:
        """Removes what was made."""
        for file in (*self.files.values(), *self.texts.values()):
            with contextlib.suppress(OSError):
                file.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def finish(self, about: dict[str, Any]) -> str:
        """Writes the manifest; the folder gets its name, in place of an older one."""
        self.close()
        arrays = {key: [*self.layout[key], self.rows[key]] for key in self.files}
        with _room(self.path), open(os.path.join(self.path, MANIFEST), "w", encoding="utf-8") as file:
            json.dump({"version": VERSION, **about, "arrays": arrays}, file)
        if self.target is not None:
            if os.path.isdir(self.target):
                old = f"{self.target}.{os.urandom(6).hex()}.partial"
                os.rename(self.target, old)
                shutil.rmtree(old, ignore_errors=True)
            os.rename(self.path, self.target)
            self.path = self.target
        return self.path


class Temporary:
    """A folder that is removed with this object, or when Python ends."""

    def __init__(self, folder: Folder) -> None:
        self.remove = weakref.finalize(self, Folder.abandon, folder)


def load(path: str, **more: Any) -> Blocks:
    """The examples in a cache folder."""
    about = manifest(path)
    if about is None:
        raise ValueError(f"{shown(path)}: is no cache of svmgsu")
    arrays = {
        key: FlatFile.of(os.path.join(path, f"{key}.bin"), 0, dtype, (rows, *shape))
        for key, (dtype, shape, rows) in about["arrays"].items()
    }
    fixed = {key: np.array(value) for key, value in about["fixed"].items()}
    kept = {name: about[name] for name in ("texts", "y_kind", "names", "source", "notes")}
    ids = os.path.join(path, IDS)
    return Blocks(arrays, fixed=fixed, ids=ids if os.path.exists(ids) else None, **kept, **more)


def manifest(path: str) -> dict[str, Any] | None:
    """What a folder says of itself; None if it is no cache, or a damaged one."""
    try:
        with open(os.path.join(path, MANIFEST), encoding="utf-8") as file:
            about = json.load(file)
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) and about.get("version") == VERSION else None


def check_target(path: str) -> None:
    """Refuses a place that holds something else than a cache."""
    if os.path.lexists(path) and not os.path.isdir(path):
        raise ValueError(f"cache: {shown(path)} is a file; a folder is wanted, which will be made")
    if os.path.isdir(path) and os.listdir(path) and not os.path.exists(os.path.join(path, MANIFEST)):
        raise ValueError(f"cache: the folder {shown(path)} holds other things; name one that is new or empty")


@contextlib.contextmanager
def _room(path: str) -> Iterator[None]:
    """Says of a full disk what it was full of."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        advice = "; name a folder on a larger disk in cache=" if error.errno in (28, 122) else ""
        raise OSError(
            error.errno, f"the cache could not be written: {error.strerror}{advice}", path
        ) from None


COPIES = 4  # of a piece while it is made: as it is read, by column, together, and as it is written
KINDS = {"i": "int", "u": "int", "f": "float", "b": "bool", "U": "str", "S": "str", "O": "str", "T": "str"}


def decode(source: Source, folder: Folder, room: int, dtype: Any) -> dict[str, Any]:
    """Writes all pieces; what the manifest is to say of them."""
    decoder = _Decoder(folder, source.name, None if dtype is None else np.dtype(dtype))
    for piece in source.pieces(max(room // COPIES, 1)):
        with counted_from(decoder.rows):
            decoder.add(piece)
    if not decoder.rows:
        raise ValueError(f"X: {source.name} has no example; at least one is wanted")
    return decoder.about()


class _Decoder:
    """What is known of the examples so far."""

    def __init__(self, folder: Folder, source: str, dtype: np.dtype[Any] | None) -> None:
        self.folder, self.source, self.dtype = folder, source, dtype
        self.rows = self.blocks = 0
        self.shape: tuple[int, list[str] | None, list[str]] | None = None
        self.fixed: dict[str, Array] = {}
        self.codes: dict[str, int] = {}
        self.classes: list[Any] = []  # where labels are in doubt
        self.y_kind = ""
        self.y_started = -1
        self.notes: list[str] = []

    def add(self, piece: Piece) -> None:
        """Appends a piece, if it fits to those before."""
        data = piece.data
        mean = dense(data.mean)
        if self.dtype is None:
            self.dtype = mean.dtype
            self._given = mean.dtype
        elif mean.dtype != getattr(self, "_given", mean.dtype):
            raise ValueError(
                f"X: block {self.blocks} is {mean.dtype}, but the blocks before are {self._given}; "
                "pass dtype= to say how all are to be stored"
            )
        self._given = mean.dtype if not self.blocks else self._given
        arrays, fixed = _covariance(data, len(data))
        with np.errstate(over="ignore"):
            means = mean.astype(self.dtype, copy=False)
        check_finite(means, "X")
        written = {"mean": means} | {key: self._stored(key, a) for key, a in arrays.items()}
        for key, values in (("weight", piece.weight), ("y_std", piece.y_std)):
            if values is not None:
                written[key] = numbers_of(values, "sample_weight" if key == "weight" else key, len(data))
        self._check(piece, [*written, *fixed], fixed)
        if piece.y is not None:
            y = np.asarray(piece.y)
            doubtful = y.ndim == 2 and y.shape[1] > 1
            written["y"] = self._doubtful(y, piece) if doubtful else self._coded(y, len(data))
        for key, array in written.items():
            self.folder.add(key, array)
        if piece.ids is not None:
            self.folder.add_ids(piece.ids)
        self.rows += len(data)
        self.blocks += 1
        self.notes += [note for note in piece.notes if note not in self.notes]

    def _stored(self, key: str, array: Array) -> Array:
        """Covariances in the precision of the means."""
        stored = stored_as(array, self.dtype) if key in ("isotropic", "var") else array.astype(self.dtype)
        if stored.dtype != self.dtype or not np.isfinite(stored).all():
            raise ValueError(
                f"cov: block {self.blocks} has covariances that {self.dtype} cannot hold; pass "
                'dtype="float64"'
            )
        return stored

    def _check(self, piece: Piece, keys: list[str], fixed: dict[str, Array]) -> None:
        n, names = piece.data.shape[1], piece.data.feature_names_in_
        found = (n, names, sorted([*keys, *(["y"] if piece.y is not None else [])]))
        if self.shape is None:
            self.shape, self.fixed = found, fixed
            return
        here = f"X: block {self.blocks}, from example 0 on,"  # the example is counted on by who called
        if n != self.shape[0]:
            raise ValueError(f"{here} has {n} features, but the blocks before have {self.shape[0]}")
        if names != self.shape[1]:
            raise ValueError(
                f"{here} has the features {_shown(names)}, but the blocks before have {_shown(self.shape[1])}"
            )
        if found[2] != self.shape[2]:
            raise ValueError(
                f"{here} has {', '.join(found[2])}, but the blocks before have {', '.join(self.shape[2])}; "
                "all must have the same kind of covariance, and labels and weights all or none"
            )
        for key, array in fixed.items():
            if not np.array_equal(array, self.fixed[key]):
                raise ValueError(f"{here} has another covariance for all examples than the blocks before")

    def _doubtful(self, y: Array, piece: Piece) -> Array:
        """Probabilities of classes, which are the same in all blocks."""
        given = range(y.shape[1]) if piece.classes is None else np.asarray(piece.classes).tolist()
        known = list(given)
        if len(y) != len(piece.data) or len(known) != y.shape[1] or y.dtype.kind not in "fiub":
            raise ValueError(
                f"y: {y.dtype} values of shape {y.shape} for {len(piece.data)} examples and {len(known)} "
                "classes; class probabilities are numbers, one for each of them"
            )
        if self.y_kind and (self.y_kind != CHANCES or known != self.classes):
            before = listed(self.classes) if self.y_kind == CHANCES else f"labels of kind {self.y_kind}"
            raise ValueError(
                f"y: block {self.blocks} has probabilities of {listed(known)}; those before have {before}"
            )
        self.y_kind, self.classes = CHANCES, known
        return y.astype(np.float64)

    def _coded(self, y: Array, count: int) -> Array:
        """Labels as numbers: themselves, or their places among the texts so far."""
        if y.shape != (count,):
            raise ValueError(
                f"y: shape {y.shape} for {count} examples; blocks take labels (l,), or probabilities of K "
                "classes (l, K)"
            )
        kind = KINDS.get(y.dtype.kind, "")
        if y.dtype.kind == "O" and not all(isinstance(v, str) for v in y.tolist()):
            kind = ""
        both = {kind, self.y_kind or kind}
        if not kind or (len(both) > 1 and both != {"int", "float"}):
            before = f"those before are {self.y_kind}" if self.y_kind else "expected numbers or texts"
            raise ValueError(f"y: block {self.blocks} has labels of dtype {y.dtype}; {before}")
        self.y_kind = "float" if "float" in both else kind
        if kind == "str":
            return np.array([self.codes.setdefault(str(v), len(self.codes)) for v in y.tolist()], np.float64)
        values = y.astype(np.float64)
        if kind == "int" and (values.astype(y.dtype) != y).any():
            raise ValueError("y: labels beyond 2**53 are not exact here; pass them as texts")
        return numbers_of(values, "y", count)

    def about(self) -> dict[str, Any]:
        assert self.shape is not None
        return {
            "texts": {"str": list(self.codes), CHANCES: self.classes}.get(self.y_kind),
            "y_kind": self.y_kind,
            "names": self.shape[1],
            "source": self.source,
            "notes": self.notes,
            "fixed": {key: value.tolist() for key, value in self.fixed.items()},
        }


def _covariance(data: Any, count: int) -> tuple[dict[str, Array], dict[str, Array]]:
    """The arrays of the covariance: those of each example, and what is the same for all."""
    if data.cov is None:
        return {}, {}
    n = data.shape[1]
    found = data.cov.arrays(count, n, None)
    if "shared" in found:
        return {}, found
    if "isotropic" in found:
        return {"isotropic": np.array(np.broadcast_to(found["isotropic"], count))}, {}
    if "var_data" in found:
        return {"var": np.asarray(dense(data.cov.independent(count, n)))}, {}
    if "start" in found:
        start = found.pop("start")
        rank = int(start[1] - start[0]) if count else 0
        if (np.diff(start) != rank).any():
            raise _core.FormatError(
                "cov: blocks take low-rank covariances of one rank for all examples, (l, r, n); fill up with "
                "rows of zeros"
            )
        found["factors"] = found["factors"][start[0] : start[-1]].reshape(count, rank, n)
    return found, {}


def _shown(names: list[str] | None) -> str:
    return "no names" if names is None else listed(names)
