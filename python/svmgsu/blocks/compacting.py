"""The compact copy of blocks: three bytes per feature, for the passes of a solver before the last ones."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

import numpy as np

from ..data.blocks import Blocks
from ..data.coded import BYTES, CodedArray, Kind, encode
from ..data.flat import FlatArray
from . import cache as caches

KINDS: dict[str, Kind] = {
    "mean": "levels",
    "factors": "levels",
    "var": "logarithms",
    "diagonal": "logarithms",
}
PARTS, LEAST = 1024, 1024  # of the rows, each of at least so many


def compacted(blocks: Blocks, cache: str | None) -> Blocks:
    """The same blocks with a compact copy beside them: the one that is there, or a new one."""
    if blocks.kind == "full":
        raise ValueError(
            "cache: full covariances cannot be compact, since rounding would not leave them positive; those "
            "that are none, isotropic, diagonal, of low rank or shared can"
        )
    target = None if cache is None else f"{os.path.abspath(cache)}.compact"
    keys = [key for key in blocks.arrays if key in KINDS]
    marks = [[*caches.mark_of_file(blocks.arrays[key].path), blocks.arrays[key].offset] for key in keys]
    rows = _part(blocks)
    print_of = hashlib.sha256(json.dumps([caches.VERSION, "compact", keys, marks, rows]).encode()).hexdigest()
    if target is not None:
        caches.check_target(target)
        about = caches.manifest(target)
        if about is not None and about.get("fingerprint") == print_of and about.get("coded"):
            return _with(blocks, target, about, None)
    size = sum(BYTES[KINDS[key]] * _columns(blocks.arrays[key]) for key in keys) * len(blocks)
    caches.require_disk(size, target)
    folder = caches.Folder(target)
    try:
        for first in range(0, len(blocks), rows):
            blocks[first : first + rows]  # what is no number is told with its example
            for key in keys:
                codes, parameters = encode(KINDS[key], blocks.arrays[key].read(slice(first, first + rows)))
                folder.add(key, codes)
                folder.add(f"{key}_parameters", parameters[np.newaxis])
        blocks.check()
        about = {"fingerprint": print_of, "coded": {key: [KINDS[key], rows] for key in keys}}
        path = folder.finish(about)
        held = caches.Temporary(folder) if target is None else None
        return _with(blocks, path, caches.manifest(path) or {}, held)
    except BaseException:
        if target is None or folder.path != folder.target:
            folder.abandon()
        raise


def _part(blocks: Blocks) -> int:
    """The rows of a part: a thousandth of them, unless these are too few or too many for the memory."""
    return min(max(-(-len(blocks) // PARTS), LEAST), blocks.block_rows)


def _columns(array: FlatArray) -> int:
    return array.row_bytes // array.dtype.itemsize


def _with(blocks: Blocks, path: str, about: dict[str, Any], folder: Any) -> Blocks:
    def opened(name: str) -> FlatArray:
        dtype, shape, count = about["arrays"][name]
        return FlatArray.of(os.path.join(path, f"{name}.bin"), 0, dtype, (count, *shape))

    coded = {
        key: CodedArray(opened(key), kind, rows, opened(f"{key}_parameters").read(slice(None)))
        for key, (kind, rows) in about["coded"].items()
    }
    return blocks.with_compact(coded, folder)
