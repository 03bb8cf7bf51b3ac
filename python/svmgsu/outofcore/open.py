"""`svmgsu.open`: from files of any format to blocks, in place where they are flat, else by way of a cache."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..data.covariances import Psd, check_psd
from ..io import TABLES, format_of
from ..io.files import is_path, shown
from ..support.memory import in_words
from . import cache as caches
from .blocks import Blocks
from .sources import IteratorSource, Source, memory_source, npy_source, npz_source

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_MEMORY = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][0-9]+)?)\s*([KMGT]i?|k|)B?\s*")


def open(
    source: Any,
    labels: Any = None,
    cov: Any = None,
    *,
    memory: int | str = "2GB",
    cache: Any = None,
    format: str | None = None,
    dtype: Any = None,
    psd: Psd = "clip",
    **options: Any,
) -> Blocks:
    """Opens data that need not fit into memory, for training and prediction block by block.

    Parameters
    ----------
    source : path, list of paths, folder, np.memmap or iterable of blocks
        Files of one format, one after another: .npy, uncompressed .npz, Parquet, Arrow, Feather or CSV. Flat
        arrays (.npy, aligned .npz, memory-mapped) are used where they lie; all else is decoded once, in
        bounded memory, into a cache. For any other format pass an iterable, such as a generator. Its blocks
        are (X, y), (X, y, std), dicts with some of X, y, cov, std, sample_weight, y_std and feature_names,
        `Gaussians`, or data frames, whose columns of values and errors are paired as those of a table.
    labels, cov : path or list of paths, optional
        Files of their own, for the formats that have such.
    memory : int or str, default="2GB"
        Bytes that decoding, training and prediction may take, such as "512MB".
    cache : path, optional
        The folder to decode into. It is used again if it was made from the same sources in the same way, and
        made anew if they have changed. By default a temporary one, removed when Python ends.
    format : str, optional
        As in `svmgsu.io.read`.
    dtype : {"float32", "float64"}, optional
        Of the cache; by default that of the source.
    psd : {"clip", "strict"}
        Of full covariances: as for `svmgsu.Full`.
    **options
        For the reader of the format: as for `svmgsu.io.read_table` (`label`, `features`, `target`, ...) with
        `weight`, a column of weights.

    Returns
    -------
    Blocks

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X, y = np.array([[-2.0, 0.1], [-1.0, -0.2], [1.0, 0.3], [2.0, -0.1]]), np.array([0, 0, 1, 1])
    >>> blocks = svmgsu.open([(X[:2], y[:2], 0.3), (X[2:], y[2:], 0.3)])  # any iterable of blocks
    >>> len(blocks), blocks.kind
    (4, 'isotropic')
    """
    budget = memory_of(memory)
    check_psd(psd)
    kept = None if dtype is None else _checked_dtype(dtype)
    target = None if cache is None else os.fspath(cache)
    if target is not None:
        caches.check_target(target)
    if is_path(source) and caches.manifest(os.fspath(source)) is not None:
        return _checked(caches.load(os.fspath(source), memory=budget, psd=psd))
    found = _source(source, labels, cov, format, psd, options)
    in_place = getattr(found, "in_place", lambda memory: None)(budget) if kept is None else None
    if in_place is not None:
        return _checked(in_place)
    return _decoded(found, target, budget, kept, psd, [format, repr(options)])


def _decoded(
    source: Source, target: str | None, memory: int, dtype: Any, psd: Psd, asked: list[Any]
) -> Blocks:
    """By way of the cache: the one that is there, if it is of these sources, or a new one."""
    least = source.least() + 2**20
    if memory < least:
        raise ValueError(_too_small(memory, least))
    mark = source.mark()
    print_of = hashlib.sha256(
        json.dumps([caches.VERSION, mark, str(dtype), psd, *asked]).encode()
    ).hexdigest()
    if target is not None and mark is not None:
        about = caches.manifest(target)
        if about is not None and about.get("fingerprint") == print_of:
            return _checked(caches.load(target, memory=memory, psd=psd))
    folder = caches.Folder(target)
    try:
        about = caches.decode(source, folder, min(memory // 4, 2**28), dtype)
        if mark is not None and source.mark() != mark:
            raise ValueError(f"{source.name}: it has changed while it was read")
        path = folder.finish({**about, "fingerprint": print_of if mark is not None else None})
        held = caches.Temporary(folder) if target is None else None
        return _checked(caches.load(path, memory=memory, psd=psd, folder=held))
    except BaseException:
        if target is None or folder.path != folder.target:
            folder.abandon()
        raise


def _checked(blocks: Blocks) -> Blocks:
    """Refuse a budget that is too small: for reading, and for training where there are labels."""
    least = blocks.needed
    if blocks.memory >= least and blocks.has_labels:
        from .training import Files

        least = max(least, Files(blocks).least_memory())
    if blocks.memory < least:
        raise ValueError(_too_small(blocks.memory, least))
    return blocks


def _too_small(memory: int, least: int) -> str:
    return (
        f"memory: {in_words(memory)} ({memory} bytes) are too few for these data; at least {least} bytes "
        f"({in_words(least)}) are needed"
    )


def memory_of(given: Any) -> int:
    """A number of bytes, or a text such as "2GB", "512 MB" or "1.5GiB"."""
    if isinstance(given, str):
        found = _MEMORY.fullmatch(given)
        unit = None if found is None else found[2].replace("k", "K")
        if found is None or unit not in _UNITS:
            raise ValueError(f'memory: expected a number of bytes or a text such as "2GB", got {given!r}')
        value = float(found[1]) * _UNITS[unit]
    elif isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool):
        value = float(given)
    else:
        raise TypeError(f'memory: expected a number of bytes or a text such as "2GB", got {given!r}')
    if not (value >= 1 and np.isfinite(value)):
        raise ValueError(f"memory: must be >= 1 byte, got {given!r}")
    return int(value)


def _checked_dtype(dtype: Any) -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if found not in (np.float32, np.float64):
        raise ValueError(f'dtype: expected "float32" or "float64", got {dtype!r}')
    return found


def _source(
    source: Any, labels: Any, cov: Any, format: str | None, psd: Psd, options: dict[str, Any]
) -> Source:
    paths = _paths(source)
    if paths is not None:
        return _files(
            paths, _beside(labels, "labels", paths), _beside(cov, "cov", paths), format, psd, options
        )
    if isinstance(source, np.ndarray):
        return memory_source(source, labels, cov, psd)
    for name, value in (("labels", labels), ("cov", cov)):
        if value is not None:
            raise ValueError(f"{name}: blocks of an iterable have their own; got {value!r}")
    if isinstance(source, (str, bytes)) or not isinstance(source, Iterable):
        raise TypeError(
            f"source: expected paths, a memory-mapped array or an iterable of blocks, got {source!r}"
        )
    if isinstance(source, (list, tuple)) and not source:
        raise ValueError("source: there is no file and no block")
    return IteratorSource(source, psd, options)


def _paths(source: Any) -> list[str] | None:
    """Paths of files that are there; None if the source is something else."""
    given = [source] if is_path(source) else source
    if not isinstance(given, (list, tuple)) or not given or not all(is_path(path) for path in given):
        return None
    found: list[str] = []
    for path in map(os.fspath, given):
        if not os.path.exists(path) and glob.has_magic(path):
            matches = sorted(glob.glob(path))
            if not matches:
                raise FileNotFoundError(2, "no file has such a name", path)
            found += matches
        elif os.path.isdir(path):
            found += _files_in(path)
        else:
            os.stat(path)  # for Python's own errors
            found.append(path)
    return found


def _files_in(folder: str) -> list[str]:
    known = (*TABLES, ".npz")
    names = sorted(name for name in os.listdir(folder) if os.path.splitext(name)[1].lower() in known)
    if not names:
        raise ValueError(f"{shown(folder)}: there is no file in this folder that ends in {', '.join(known)}")
    return [os.path.join(folder, name) for name in names]


def _beside(given: Any, name: str, paths: list[str]) -> list[str] | None:
    if given is None:
        return None
    found = _paths(given)
    if found is None:
        raise TypeError(f"{name}: expected a path or a list of paths, got {given!r}")
    if len(found) != len(paths):
        raise ValueError(f"{name}: {len(found)} files for {len(paths)} of means")
    return found


def _files(
    paths: list[str],
    labels: list[str] | None,
    cov: list[str] | None,
    format: str | None,
    psd: Psd,
    options: dict[str, Any],
) -> Source:
    kinds = {format_of(path, format) for path in paths}
    if len(kinds) > 1:
        raise ValueError(f"source: files of several formats ({', '.join(sorted(kinds))}); give those of one")
    kind = kinds.pop()
    if kind in ("npy", "npz"):
        if options:
            raise TypeError(f"{next(iter(options))}: there is no such option for the format {kind}")
        if kind == "npy":
            return npy_source(paths, labels, cov, psd, paths[0])
        _refuse(kind, labels=labels, cov=cov)
        return npz_source(paths, psd, paths[0])
    if kind in ("text", "svmlight"):
        raise ValueError(
            f"source: {shown(paths[0])} is of the format {kind}, which is not read in blocks; convert it to "
            "Parquet or .npz, or pass a generator of blocks"
        )
    from .tables import TableSource

    _refuse(kind, labels=labels, cov=cov)
    return TableSource(paths, None if format is None else kind, options)


def _refuse(kind: str, **others: Any) -> None:
    for name, value in others.items():
        if value is not None:
            raise ValueError(f"{name}: the format {kind} has no file of its own for it, got {value!r}")
