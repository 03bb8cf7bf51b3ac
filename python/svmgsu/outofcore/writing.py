"""Write blocks to a file one after another, for `svmgsu convert --memory`."""

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
from .blocks import Blocks


def write_blocks(blocks: Blocks, path: Source, *, format: str | None = None) -> None:
    """Write a .npz or a Parquet file, which appears complete or not at all."""
    if not blocks.in_files:
        raise ValueError("blocks: features that a map makes are not written; write blocks without one")
    kind = format_of(path, format)
    if kind not in ("npz", "parquet"):
        raise ValueError(f"format: blocks are written as npz or parquet, got {kind}")
    blocks.check()
    if kind == "npz":
        refuse_packed(path, "use svmgsu.io.write_npz with compress=True")
    with replacing(path) as files:
        (_write_npz if kind == "npz" else _write_parquet)(blocks, files[0])


def _write_npz(blocks: Blocks, file: IO[bytes]) -> None:
    small: dict[str, Array | None] = {**blocks.fixed, "ids": blocks.ids()}
    if blocks.feature_names_in_ is not None:
        small["feature_names"] = np.array(blocks.feature_names_in_)
    if "factors" in blocks.arrays:
        count, rank, _ = blocks.arrays["factors"].shape
        small["start"] = np.arange(0, count * rank + 1, rank)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for key, array in blocks.arrays.items():
            read = blocks.labels if key == "y" else array.read
            first = read(slice(0, 1))
            shape = (len(blocks), *first.shape[1:])
            if key == "factors":  # those of one sample are below those of the one before
                shape = (len(blocks) * array.shape[1], array.shape[2])
            dtype = np.array(blocks.texts).dtype if first.dtype.kind == "U" and blocks.texts else first.dtype
            about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(member, about)
                for rows in blocks.spans():
                    member.write(read(rows).astype(dtype, copy=False).tobytes())
        for key, values in small.items():
            if values is not None:
                with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, values, allow_pickle=False)


def _write_parquet(blocks: Blocks, file: IO[bytes]) -> None:
    """Append the table that `svmgsu.io.write_table` writes of each block."""
    from pyarrow import feather, parquet

    from ..io.table_files import write_table

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
