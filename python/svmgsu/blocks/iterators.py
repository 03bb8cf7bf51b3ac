"""Iterables of blocks, such as a generator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..data.definiteness import Psd
from ..data.gaussians import Gaussians, as_gaussians
from ..io.dataset import Dataset
from ..support.places import counted_from
from .pieces import Piece, Source

NAMES = ("X", "y", "cov", "std", "sample_weight", "y_std", "feature_names", "classes")


class IteratorSource(Source):
    """Any iterable of blocks."""

    def __init__(self, given: Any, psd: Psd, options: dict[str, Any]) -> None:
        self.given, self.psd, self.options = given, psd, options
        self.name = type(given).__name__

    def pieces(self, room: int) -> Iterator[Piece]:
        first = 0
        for number, block in enumerate(self.given):
            with counted_from(first):
                piece = self._piece(block, number)
            first += len(piece.data)
            yield piece

    def _piece(self, block: Any, number: int) -> Piece:
        if isinstance(block, Dataset):
            return Piece.of(block)
        if _is_frame(block):
            return self._framed(block, number)
        if isinstance(block, Mapping):
            strange = [key for key in block if key not in NAMES]
            if strange or "X" not in block:
                raise ValueError(
                    f"X: block {number} has the keys {list(block)}; expected some of {', '.join(NAMES)}"
                )
            given = dict(block)
        elif isinstance(block, tuple):
            if not 1 <= len(block) <= 3:
                raise ValueError(
                    f"X: block {number} is a tuple of {len(block)}; expected (X, y) or (X, y, std)"
                )
            given = dict(zip(("X", "y", "std"), block, strict=False))
        else:
            given = {"X": block}
        names = given.pop("feature_names", None)
        data = as_gaussians(given["X"], given.get("cov"), given.get("std"), self.psd)
        if names is not None:
            data = Gaussians(data.mean, data.cov, feature_names=list(names))
        y = None if given.get("y") is None else np.asarray(given["y"])
        classes = given.get("classes")
        return Piece(data, y, given.get("sample_weight"), given.get("y_std"), classes=classes)

    def _framed(self, frame: Any, number: int) -> Piece:
        """A data frame, whose columns are paired as those of a table in a file."""
        from ..io.table_reading import TableReader
        from ..io.tables import _pyarrow
        from .tables import PartCells

        arrow = _pyarrow()
        if hasattr(frame, "to_arrow"):
            table = frame.to_arrow()
        elif hasattr(frame, "iloc"):
            table = arrow.Table.from_pandas(frame, preserve_index=False)
        else:
            table = frame if hasattr(frame, "column_names") else arrow.Table.from_batches([frame])
        if not hasattr(self, "_reader"):
            self._reader = TableReader(**self.options)
        found = self._reader.part(PartCells(table, f"block {number}", 0))
        if found is None:
            raise ValueError(f"X: block {number} has no example")
        return Piece.of(*found)


def _is_frame(block: Any) -> bool:
    """Data frames of pandas and polars; tables and batches of Arrow."""
    kind = type(block).__module__.partition(".")[0]
    return kind in ("pandas", "polars", "pyarrow") and (hasattr(block, "columns") or hasattr(block, "schema"))
