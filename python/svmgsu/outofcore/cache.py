"""The cache: decoded samples in a folder that is there completely or not at all.

    blocks.json             what it holds, and the fingerprint of the sources
    mean.npy, var.npy, ...  one flat array per key of .npz files
    ids.jsonl               ids of the samples, one JSON text per line, if they have some

A named folder is made as `name.<hex>.partial` and renamed in the end.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from .. import _core
from ..data.gaussians import Gaussians
from ..io.arrays import map_array
from ..io.dataset import Dataset
from ..io.files import shown
from ..support.arrays import dense
from ..support.errors import counted_from
from ..support.types import Fields
from ..support.validation import FINITE, Array, ArrayLike, as_float_array, listed
from .blocks import Blocks, FlatFile

MANIFEST = "blocks.json"
VERSION = 2
HEADER = 256  # bytes of the header of each .npy file, which is written last
LABEL_KINDS = {"i": "int", "u": "int", "f": "float", "b": "bool", "U": "str", "O": "str", "T": "str"}

Layout = dict[str, tuple[str, tuple[int, ...]]]  # by the key of each array: its dtype, and the shape of a row


class TemporaryFolder:
    """A folder that is removed with this object, or when Python ends."""

    def __init__(self, path: str) -> None:
        weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)


class CacheWriter:
    """Write pieces of samples, which must fit together, into a cache.

    Parameters
    ----------
    target : path or None
        The folder to make; None makes a temporary one.
    source : str
        Name of the source, for messages.
    """

    def __init__(self, target: str | None, source: str) -> None:
        self.target = None if target is None else os.path.abspath(target)
        self.source = source
        self.rows = 0
        self.pieces = 0
        self.names: list[str] | None = None
        self.features = 0
        self.fixed: dict[str, Array] = {}
        self.y_kind = ""
        self.texts: dict[str, int] = {}  # labels that are texts, with their codes
        self.classes: list[Any] | None = None  # of soft labels
        self.dropped: Counter[str] = Counter()  # by the name of the file
        self.notes: list[str] = []
        self.files: dict[str, IO[bytes]] = {}
        self.layout: Layout = {}
        if self.target is None:
            self.path = tempfile.mkdtemp(prefix="svmgsu-blocks-")
        else:
            os.makedirs(os.path.dirname(self.target), exist_ok=True)
            self.path = f"{self.target}.{os.urandom(6).hex()}.partial"
            os.mkdir(self.path)

    def add(self, piece: Dataset, weight: ArrayLike) -> None:
        """Append samples, with their weights if they have some."""
        with counted_from(self.rows):
            written = self._decoded(piece, weight)
        with self._disk_errors():
            for key, array in written.items():
                self._file(f"{key}.npy", bytes(HEADER)).write(np.ascontiguousarray(array).tobytes())
            if piece.ids is not None:
                lines = "".join(json.dumps(str(i)) + "\n" for i in piece.ids)
                self._file("ids.jsonl").write(lines.encode("ascii"))
        self.rows += len(piece.data)
        self.pieces += 1
        self.dropped.update(piece.report.dropped)
        self.notes += [note for note in piece.report.notes if note not in self.notes]

    def _file(self, name: str, header: bytes = b"") -> IO[bytes]:
        if name not in self.files:
            self.files[name] = open(os.path.join(self.path, name), "wb")  # noqa: SIM115
            self.files[name].write(header)
        return self.files[name]

    def finish(self, fingerprint: str | None) -> str:
        """Complete the folder, give it its name in place of an older one, and return its path."""
        if not self.rows:
            raise ValueError(f"X: {self.source} has no samples")
        texts = list(self.texts) if self.y_kind == "str" else self.classes
        dropped = [f"{name}: {count} of its samples dropped" for name, count in self.dropped.items() if count]
        about = {
            "version": VERSION,
            "fingerprint": fingerprint,
            "texts": texts,
            "y_kind": self.y_kind,
            "names": self.names,
            "source": self.source,
            "notes": dropped + self.notes,
            "fixed": {key: value.tolist() for key, value in self.fixed.items()},
            "arrays": list(self.layout),
        }
        with self._disk_errors():
            for key, (dtype, shape) in self.layout.items():
                file = self._file(f"{key}.npy")
                file.seek(0)
                file.write(_npy_header(dtype, (self.rows, *shape)))
            for file in self.files.values():
                file.close()
            with open(os.path.join(self.path, MANIFEST), "w", encoding="utf-8") as manifest:
                json.dump(about, manifest)
        if self.target is not None:
            if os.path.isdir(self.target):
                old = f"{self.target}.{os.urandom(6).hex()}.partial"
                os.rename(self.target, old)
                shutil.rmtree(old, ignore_errors=True)
            os.rename(self.path, self.target)
            self.path = self.target
        return self.path

    def abandon(self) -> None:
        """Remove what was written."""
        for file in self.files.values():
            with contextlib.suppress(OSError):
                file.close()
        shutil.rmtree(self.path, ignore_errors=True)

    @contextlib.contextmanager
    def _disk_errors(self) -> Iterator[None]:
        """Say that it was the cache which could not be written, and what to do about a full disk."""
        try:
            yield
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            advice = "; name a folder on a larger disk in cache=" if full else ""
            reason = f"the cache could not be written: {error.strerror}{advice}"
            raise OSError(error.errno, reason, self.path) from None

    def _decoded(self, piece: Dataset, weight: ArrayLike) -> dict[str, Array]:
        """Return the arrays to write, if the piece fits to those before."""
        data = piece.data
        count = len(data)
        mean = as_float_array(dense(data.mean), "X", (2,), FINITE)  # those of a table may have missing values
        arrays, fixed = _covariance_arrays(data)
        written = {"mean": mean, **arrays}
        if weight is not None:
            written["weight"] = _one_number_each(weight, "sample_weight", count)
        if piece.y_std is not None:
            written["y_std"] = _one_number_each(piece.y_std, "y_std", count)
        if piece.y is not None:
            y = np.asarray(piece.y)
            soft = y.ndim == 2 and y.shape[1] > 1
            written["y"] = self._soft_labels(y, piece.classes, count) if soft else self._labels(y, count)
        self._check(data, {key: (a.dtype.str, a.shape[1:]) for key, a in written.items()}, fixed)
        return written

    def _check(self, data: Gaussians, layout: Layout, fixed: dict[str, Array]) -> None:
        """Check that a piece has the features and arrays of those before."""
        features = data.shape[1]
        names = data.feature_names_in_
        if not self.pieces:
            self.features, self.names, self.layout, self.fixed = features, names, layout, fixed
            return
        here = f"X: block {self.pieces}, from sample {self.rows} on,"
        if features != self.features:
            raise ValueError(f"{here} has {features} features, but the blocks before have {self.features}")
        if names != self.names:
            own, before = ("no names" if n is None else listed(n) for n in (names, self.names))
            raise ValueError(f"{here} has the features {own}, but the blocks before have {before}")
        if layout != self.layout or set(fixed) != set(self.fixed):
            own, before = (_described(*each) for each in ((layout, fixed), (self.layout, self.fixed)))
            raise ValueError(
                f"{here} has {own}, but the blocks before have {before}; all must have the same kind of "
                "covariance, labels and weights all or none, and the same types of numbers"
            )
        for key, array in fixed.items():
            if not np.array_equal(array, self.fixed[key]):
                raise ValueError(f"{here} has another shared covariance than the blocks before")

    def _soft_labels(self, y: Array, classes: ArrayLike, count: int) -> Array:
        """Return class probabilities, if their classes are those before."""
        names = list(range(y.shape[1])) if classes is None else np.asarray(classes).tolist()
        if y.shape != (count, len(names)) or y.dtype.kind not in "fiub":
            raise ValueError(
                f"y: {y.dtype} values of shape {y.shape} for {count} samples and {len(names)} classes; class "
                "probabilities are numbers, one for each of them"
            )
        if self.y_kind and names != self.classes:
            before = f"labels of kind {self.y_kind}" if self.classes is None else listed(self.classes)
            raise ValueError(
                f"y: block {self.pieces} has probabilities of {listed(names)}; those before have {before}"
            )
        self.y_kind, self.classes = "soft", names
        return y.astype(np.float64)

    def _labels(self, y: Array, count: int) -> Array:
        """Return labels as numbers: themselves, or codes of texts."""
        if y.shape != (count,):
            raise ValueError(
                f"y: shape {y.shape} for {count} samples; blocks take labels (l,), or probabilities of K "
                "classes (l, K)"
            )
        kind = LABEL_KINDS.get(y.dtype.kind, "")
        if y.dtype.kind == "O" and not all(isinstance(v, str) for v in y.tolist()):
            kind = ""
        both = {kind, self.y_kind or kind}
        if not kind or (len(both) > 1 and both != {"int", "float"}):
            before = f"those before are {self.y_kind}" if self.y_kind else "expected numbers or texts"
            raise ValueError(f"y: block {self.pieces} has labels of dtype {y.dtype}; {before}")
        self.y_kind = "float" if "float" in both else kind
        if kind == "str":
            return np.array([self.texts.setdefault(str(v), len(self.texts)) for v in y.tolist()], np.float64)
        if kind == "int" and (y.astype(np.float64).astype(y.dtype) != y).any():
            raise ValueError("y: labels beyond 2**53 are not exact here; pass them as texts")
        return _one_number_each(y, "y", count)


def _described(layout: Layout, fixed: dict[str, Array]) -> str:
    """Return the names of arrays with their types, where these are not float64."""
    types = {key: np.dtype(dtype).name for key, (dtype, _) in layout.items()}
    names = [key if kind == "float64" else f"{key} ({kind})" for key, kind in types.items()]
    return ", ".join(sorted([*names, *fixed]))


def _one_number_each(values: ArrayLike, name: str, count: int) -> Array:
    array = as_float_array(values, name, (1,), FINITE).astype(np.float64, copy=False)
    if len(array) != count:
        raise ValueError(f"{name}: {len(array)} values for {count} samples")
    return array


def _covariance_arrays(data: Gaussians) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the arrays of the covariances: those with a row per sample, and those for all samples."""
    if data.cov is None:
        return {}, {}
    count, n = data.shape
    found = data.cov.arrays(count, n, None)
    if "shared" in found:
        return {}, found
    # Variances of float32 samples are float64 in the blocks where float32 does not hold them: here in all.
    if "isotropic" in found:
        return {"isotropic": np.array(np.broadcast_to(found["isotropic"], count), np.float64)}, {}
    if "var" in found or "var_data" in found:
        return {"var": dense(data.cov.independent(count, n)).astype(np.float64, copy=False)}, {}
    if "start" in found:
        start = found.pop("start")
        rank = int(start[1] - start[0])
        if (np.diff(start) != rank).any():
            raise _core.FormatError(
                "cov: blocks take low-rank covariances of one rank for all samples, (l, r, n); fill up with "
                "rows of zeros"
            )
        found["factors"] = found["factors"].reshape(count, rank, n)
    return found, {}


def _npy_header(dtype: str, shape: tuple[int, ...]) -> bytes:
    """Return the header of a .npy file, of a length that does not depend on the shape."""
    text = repr({"descr": dtype, "fortran_order": False, "shape": shape})
    return (
        b"\x93NUMPY\x01\x00" + (HEADER - 10).to_bytes(2, "little") + text.ljust(HEADER - 11).encode() + b"\n"
    )


def load(path: str, memory: int, psd: Any, folder: TemporaryFolder | None = None) -> Blocks:
    """Open the samples in a cache."""
    about = manifest(path)
    if about is None:
        raise ValueError(f"{shown(path)}: not a cache of svmgsu")
    arrays = {}
    for key in about["arrays"]:
        flat = FlatFile.of_memmap(map_array(os.path.join(path, f"{key}.npy")))
        assert flat is not None
        arrays[key] = flat
    ids = os.path.join(path, "ids.jsonl")
    return Blocks(
        arrays,
        fixed={key: np.array(value) for key, value in about["fixed"].items()},
        texts=about["texts"],
        y_kind=about["y_kind"],
        names=about["names"],
        memory=memory,
        psd=psd,
        source=about["source"],
        folder=folder,
        ids=ids if os.path.exists(ids) else None,
        notes=about["notes"],
    )


def manifest(path: str) -> Fields | None:
    """Return what a cache says of itself; None if the folder is no cache, or a damaged one."""
    try:
        with open(os.path.join(path, MANIFEST), encoding="utf-8") as file:
            about = json.load(file)
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) and about.get("version") == VERSION else None


def check_target(path: str) -> None:
    """Refuse to make a cache in place of something else."""
    if os.path.lexists(path) and not os.path.isdir(path):
        raise ValueError(f"cache: {shown(path)} is a file; expected a folder, which will be made")
    if os.path.isdir(path) and os.listdir(path) and not os.path.exists(os.path.join(path, MANIFEST)):
        raise ValueError(f"cache: the folder {shown(path)} holds other things; name one that is new or empty")
