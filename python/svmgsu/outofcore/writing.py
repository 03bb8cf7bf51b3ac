"""Write blocks to a file one after another, for `svmgsu convert --memory`: no more than one is in memory."""

from __future__ import annotations

import io
import zipfile
from typing import IO, Any

import numpy as np

from ..io import format_of
from ..io.arrays import refuse_packed
from ..io.dataset import Dataset
from ..io.files import Source
from ..io.output import replacing
from ..support.validation import Array
from .blocks import Blocks, MappedBlocks


def write_blocks(blocks: Blocks, path: Source, *, format: str | None = None) -> None:
    """Write a .npz or a Parquet file, which appears complete or not at all."""
    if isinstance(blocks, MappedBlocks):
        raise ValueError("blocks: features that a map makes are not written; write blocks without one")
    kind = format_of(path, format)
    if kind not in ("npz", "parquet"):
        raise ValueError(f"format: blocks are written as npz or parquet, got {kind}")
    blocks.check()
    if kind == "npz":
        refuse_packed(path, "use svmgsu.io.write_npz with compress=True")
    with replacing(path) as files:
        (_write_npz if kind == "npz" else _write_parquet)(blocks, files[0])


def _write_rows(blocks: Blocks, key: str, file: Any) -> None:
    """Write an array as a .npy file, block by block."""
    array = blocks.arrays[key]
    dtype, shape = array.dtype, array.shape
    if key == "y":
        first = blocks.labels(slice(0, 1))
        dtype, shape = first.dtype if blocks.texts is None else np.array(blocks.texts).dtype, (len(blocks),)
    elif key == "factors":  # one below the other
        shape = (shape[0] * shape[1], shape[2])
    about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, about)
    for rows in blocks.spans():
        part = blocks.labels(rows).astype(dtype) if key == "y" else array.read(rows)
        file.write(part.tobytes())


def _write_npz(blocks: Blocks, file: IO[bytes]) -> None:
    small: dict[str, Array] = dict(blocks.fixed)
    if blocks.feature_names_in_ is not None:
        small["feature_names"] = np.array(blocks.feature_names_in_)
    ids = blocks.ids()
    if ids is not None:
        small["ids"] = ids
    if "factors" in blocks.arrays:
        count, rank, _ = blocks.arrays["factors"].shape
        small["start"] = np.arange(0, count * rank + 1, rank)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for key in blocks.arrays:
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                _write_rows(blocks, key, member)
        for key, values in small.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, values, allow_pickle=False)


def _write_parquet(blocks: Blocks, file: IO[bytes]) -> None:
    """Append the table that `svmgsu.io.write_table` writes of each block."""
    from pyarrow import feather, parquet

    from ..io.tables import write_table

    ids = blocks.ids()
    writer: Any = None
    for rows in blocks.spans():
        y = blocks.labels(rows) if blocks.has_labels else None
        held = io.BytesIO()
        write_table(Dataset(blocks[rows], y, None if ids is None else ids[rows]), held, format="arrow")
        table = feather.read_table(held)
        if writer is None:
            writer = parquet.ParquetWriter(file, table.schema)
        writer.write_table(table)
    writer.close()
