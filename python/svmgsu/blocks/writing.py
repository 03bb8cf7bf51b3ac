"""Blocks into files of every format, one after another: no more than one is in memory."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from ..data.blocks import Blocks
from ..data.flat import FlatArray
from ..data.mapped_blocks import MappedBlocks
from ..io import format_of
from ..io.arrays import refuse_packed
from ..io.dataset import Dataset
from ..io.files import Source
from ..io.output import replacing
from ..support.validation import Array

KEYS = {"isotropic": 1, "var": 2}  # covariances that a .npy file can hold as they are, by their dimensions


def write_blocks(
    blocks: Blocks,
    path: Source,
    labels: Source | None = None,
    cov: Source | None = None,
    *,
    format: str | None = None,
) -> None:
    """As `svmgsu.io.write`, of blocks. Files appear complete or not at all."""
    if isinstance(blocks, MappedBlocks):
        raise ValueError("blocks: features that a map makes are not written; write blocks without one")
    kind = format_of(path, format)
    given = {"labels": labels, "cov": cov}
    for name, file in given.items():
        alone = kind not in ("text", "npy") and not (kind == "svmlight" and name == "cov")
        if file is not None and alone:
            raise ValueError(f"{name}: the format {kind} has no file of its own for it, got {file!r}")
    if labels is not None and not blocks.has_labels:
        raise ValueError("y: there are no labels to write")
    if cov is not None and blocks.kind == "none":
        raise ValueError("cov: the examples have no covariance to write")
    blocks.check()
    targets = [file for file in (path, labels, cov) if file is not None]
    if kind in ("npz", "npy"):
        for target in targets:
            refuse_packed(target, "use svmgsu.io.write_npz with compress=True")
    with replacing(*targets) as files:
        if kind == "npz":
            _write_npz(blocks, files[0])
        elif kind == "npy":
            _write_npy(blocks, files, labels is not None, cov is not None)
        elif kind in ("text", "svmlight"):
            _write_lines(blocks, files, kind, labels is not None, cov is not None)
        else:
            _write_table(blocks, files[0], kind)


def _datasets(blocks: Blocks) -> Iterator[Dataset]:
    ids = blocks.ids()
    for rows in blocks.spans():
        y = blocks.labels(rows) if blocks.has_labels else None
        yield Dataset(blocks[rows], y, None if ids is None else ids[rows])


def _write_array(array: FlatArray, blocks: Blocks, file: Any, shape: tuple[int, ...] | None = None) -> None:
    """An array of a file as a .npy, copied block by block."""
    _header(file, array.dtype, array.shape if shape is None else shape)
    for rows in blocks.spans():
        file.write(array.read(rows).tobytes())


def _header(file: Any, dtype: Any, shape: tuple[int, ...]) -> None:
    about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, about)


def _write_labels(blocks: Blocks, file: Any) -> None:
    first = blocks.labels(slice(0, 1))
    dtype = first.dtype if blocks.texts is None else np.array(blocks.texts).dtype
    _header(file, dtype, (len(blocks),))
    for rows in blocks.spans():
        file.write(blocks.labels(rows).astype(dtype).tobytes())


def _write_npz(blocks: Blocks, file: IO[bytes]) -> None:
    small: dict[str, Array] = dict(blocks.fixed)
    if blocks.feature_names_in_ is not None:
        small["feature_names"] = np.array(blocks.feature_names_in_)
    ids = blocks.ids()
    if ids is not None:
        small["ids"] = ids
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for key, array in blocks.arrays.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                if key == "y":
                    _write_labels(blocks, member)
                elif key == "factors":  # one below the other, with the place where each example's begin
                    count, rank, n = array.shape
                    small["start"] = np.arange(0, count * rank + 1, rank)
                    _write_array(array, blocks, member, (count * rank, n))
                else:
                    _write_array(array, blocks, member)
        for key, values in small.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, values, allow_pickle=False)


def _write_npy(blocks: Blocks, files: list[IO[bytes]], labels: bool, cov: bool) -> None:
    _write_array(blocks.arrays["mean"], blocks, files[0])
    if labels:
        _write_labels(blocks, files[1])
    if not cov:
        return
    keys = blocks.covariance_keys
    if len(keys) == 1 and keys[0] in KEYS and keys[0] in blocks.arrays:
        _write_array(blocks.arrays[keys[0]], blocks, files[-1])
        return
    n = blocks.shape[1]
    _header(files[-1], np.dtype(np.float64), (len(blocks), n, n))
    for data in blocks:
        assert data.cov is not None
        files[-1].write(data.cov.to_full(*data.shape).tobytes())


def _write_lines(blocks: Blocks, files: list[IO[bytes]], kind: str, labels: bool, cov: bool) -> None:
    from ..io.text_writing import write_svmlight, write_text

    first = 0
    for part in _datasets(blocks):
        if kind == "svmlight":
            write_svmlight(part, files[0], files[-1] if cov else None)
            continue
        if part.ids is None:
            part.ids = np.array([str(k + 1) for k in range(first, first + len(part.data))])
        first += len(part.data)
        write_text(part, files[0], files[1] if labels else None, files[-1] if cov else None)


def _write_table(blocks: Blocks, file: IO[bytes], kind: str) -> None:
    """Record batches of the tables that `write_table` would write of each block."""
    import io as streams

    from pyarrow import csv, feather, ipc, parquet

    from ..io.tables import DELIMITERS, write_table

    writer: Any = None
    for part in _datasets(blocks):
        held = streams.BytesIO()
        write_table(part, held, format="arrow")
        table = feather.read_table(held)
        if writer is None and kind == "parquet":
            writer = parquet.ParquetWriter(file, table.schema)
        elif writer is None and "." + kind in DELIMITERS:
            options = csv.WriteOptions(delimiter=DELIMITERS["." + kind])
            writer = csv.CSVWriter(file, table.schema, write_options=options)
        elif writer is None:
            writer = ipc.new_file(file, table.schema)
        writer.write_table(table)
    writer.close()
