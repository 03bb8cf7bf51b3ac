"""`svmgsu.open`: open files of any format as blocks, in place where they are flat, else by way of a cache."""

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
from ..io import format_of
from ..io.files import is_path, shown
from ..support.memory import in_words
from ..support.types import Fields
from ..support.validation import ArrayLike, Matrix
from . import cache as caches
from .blocks import Blocks
from .sources import Arrays, Source, array_source, iterable_source, table_source

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30}
MEMORY = re.compile(r"\s*([0-9]*\.?[0-9]+(?:E[0-9]+)?)\s*([KMGT]?|[KMG]I)B?\s*")
FORMATS = ("npy", "parquet", "feather", "arrow", "ipc")
LARGEST_PIECE = 2**26  # bytes that are decoded at a time
COPIES = 4  # of a piece while it is decoded: as it is read, by column, together, and as it is written


def open(
    source: Any,
    labels: Matrix = None,
    cov: Matrix = None,
    *,
    memory: int | str = "2GB",
    cache: Any = None,
    format: str | None = None,
    psd: Psd = "clip",
    **options: Any,
) -> Blocks:
    """Open data that need not fit into memory, for training and prediction block by block.

    Parameters
    ----------
    source : path, list of paths, folder, np.memmap or iterable of blocks
        Files of one format, one after another: .npy, Parquet, Arrow or Feather. A .npy file and a
        memory-mapped array are used where they are; all else is decoded once, in bounded memory, into a
        cache. For any other format pass an iterable, such as a generator, or
        `pandas.read_csv(path, chunksize=100_000)`. Its blocks are (X, y), (X, y, std), dicts with some of X,
        y, cov, std, sample_weight, y_std, classes and feature_names, `Gaussians`, or data frames, whose
        columns of values and errors are paired as those of a table.
    labels, cov : path or list of paths, optional
        Files of labels, and of variances (l,) or (l, n) or covariances (l, n, n), for .npy files of means;
        or arrays beside an array.
    memory : int or str, default="2GB"
        Bytes that decoding, training and prediction may take, such as "512MB". Too few are refused. Decoding
        also holds one compressed row group of a Parquet file.
    cache : path, optional
        The folder to decode into. It is used again if it was made from the same sources in the same way, and
        made anew if they have changed. By default a temporary one, removed when Python ends.
    format : str, optional
        Format of the files, as in `svmgsu.io.read`; by default that of their ending.
    psd : {"clip", "strict"}, default="clip"
        Treatment of full covariances, as for `svmgsu.Full`.
    **options
        For tables, as in `svmgsu.io.read_table` (`target`, `task`, `features`, ...); `weight` names a column
        of weights.

    Returns
    -------
    Blocks
        The samples: `blocks[0:1000]` reads some, `blocks.labels()` the labels.

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
    target = None if cache is None else os.fspath(cache)
    if target is not None:
        caches.check_target(target)
    if is_path(source) and caches.manifest(os.fspath(source)) is not None:
        return _with_enough_memory(caches.load(os.fspath(source), budget, psd))
    found = _source(source, labels, cov, format, psd, options)
    blocks = None if found.arrays is None else found.arrays.in_place(budget, psd)
    if blocks is None:
        blocks = _decoded(found, target, budget, psd, [psd, format, repr(options)])
    return _with_enough_memory(blocks)


def _decoded(source: Source, target: str | None, memory: int, psd: Psd, asked: list[str | None]) -> Blocks:
    """Decode a source into the cache, unless the one that is there was made from it in the same way."""
    of_source = source.fingerprint()
    fingerprint = None
    if of_source is not None:
        text = json.dumps([caches.VERSION, of_source, *asked])
        fingerprint = hashlib.sha256(text.encode()).hexdigest()
        about = None if target is None else caches.manifest(target)
        if target is not None and about is not None and about["fingerprint"] == fingerprint:
            return caches.load(target, memory, psd)
    writer = caches.CacheWriter(target, source.name)
    try:
        for piece in source.pieces(max(min(memory // 4 // COPIES, LARGEST_PIECE), 1)):
            writer.add(*piece)
        if source.fingerprint() != of_source:
            raise ValueError(f"{source.name}: it has changed while it was read")
        path = writer.finish(fingerprint)
    except BaseException:
        writer.abandon()
        raise
    return caches.load(path, memory, psd, caches.TemporaryFolder(path) if target is None else None)


def _with_enough_memory(blocks: Blocks) -> Blocks:
    """Refuse a budget that is too small for prediction, or for training where there are labels."""
    least = blocks.needed
    if blocks.memory >= least and blocks.has_labels:
        from .training import Files

        least = max(least, Files(blocks).least_memory())
    if blocks.memory < least:
        raise ValueError(
            f"memory: {in_words(blocks.memory)} ({blocks.memory} bytes) are too few for these data; at least "
            f"{least} bytes ({in_words(least)}) are needed"
        )
    return blocks


def memory_of(given: ArrayLike) -> int:
    """Return a number of bytes, given as such or as a text such as "2GB", "512 MB" or "1.5GiB"."""
    expected = f'memory: expected a number of bytes or a text such as "2GB", got {given!r}'
    if isinstance(given, str):
        found = MEMORY.fullmatch(given.upper())
        if found is None:
            raise ValueError(expected)
        value = float(found[1]) * UNITS[found[2]]
    elif isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool):
        value = float(given)
    else:
        raise TypeError(expected)
    if not (value >= 1 and np.isfinite(value)):
        raise ValueError(f"memory: must be >= 1 byte, got {given!r}")
    return int(value)


def _source(
    source: object, labels: ArrayLike, cov: ArrayLike, format: str | None, psd: Psd, options: Fields
) -> Source:
    paths = _paths(source)
    if paths is not None:
        return _file_source(paths, labels, cov, format, psd, options)
    if isinstance(source, np.ndarray):
        return array_source([Arrays(source, labels, cov)], psd)
    for name, value in (("labels", labels), ("cov", cov)):
        if value is not None:
            raise ValueError(f"{name}: blocks of an iterable have their own; got {value!r}")
    if isinstance(source, bytes) or not isinstance(source, Iterable):
        raise TypeError(
            f"source: expected paths, a memory-mapped array or an iterable of blocks, got {source!r}"
        )
    if isinstance(source, (list, tuple)) and not source:
        raise ValueError("source: there is no file and no block")
    return iterable_source(source, psd, options)


def _paths(source: object) -> list[str] | None:
    """Return the files that a path, a folder, a pattern or a list of these names; None for anything else."""
    given = [source] if is_path(source) else source
    if not isinstance(given, (list, tuple)) or not given or not all(is_path(path) for path in given):
        return None
    known = tuple(f".{name}" for name in FORMATS if name != "npy")
    found: list[str] = []
    for path in map(os.fspath, given):
        if os.path.isdir(path):
            names = [name for name in sorted(os.listdir(path)) if os.path.splitext(name)[1].lower() in known]
            if not names:
                raise ValueError(
                    f"{shown(path)}: there is no file in this folder that ends in {', '.join(known)}"
                )
            found += [os.path.join(path, name) for name in names]
        elif not os.path.exists(path) and glob.has_magic(path) and glob.glob(path):
            found += sorted(glob.glob(path))
        else:
            os.stat(path)  # raises Python's own errors
            found.append(path)
    return found


def _file_source(
    paths: list[str], labels: ArrayLike, cov: ArrayLike, format: str | None, psd: Psd, options: Fields
) -> Source:
    formats = {format_of(path, format) for path in paths}
    if len(formats) > 1:
        raise ValueError(
            f"source: files of several formats ({', '.join(sorted(formats))}); give those of one"
        )
    kind = formats.pop()
    if kind not in FORMATS:
        raise ValueError(
            f"source: {shown(paths[0])} is of the format {kind}, which is not read in blocks; convert it to "
            "Parquet or .npy, or pass a generator of blocks, such as pandas.read_csv(path, chunksize=100_000)"
        )
    beside = {"labels": labels, "cov": cov}
    if kind != "npy":
        for name, given in beside.items():
            if given is not None:
                raise ValueError(f"{name}: the format {kind} has no file of its own for it, got {given!r}")
        return table_source(paths, kind, options)
    if options:
        raise TypeError(f"{next(iter(options))}: there is no such option for the format {kind}")
    columns: list[list[Any]] = [paths]
    for name, given in beside.items():
        own = [None] * len(paths) if given is None else _paths(given)
        if own is None:
            raise TypeError(f"{name}: expected a path or a list of paths, got {given!r}")
        if len(own) != len(paths):
            raise ValueError(f"{name}: {len(own)} files for {len(paths)} of means")
        columns.append(own)
    groups = [Arrays(*files) for files in zip(*columns, strict=True)]
    return array_source(groups, psd, [path for column in columns for path in column if path is not None])
