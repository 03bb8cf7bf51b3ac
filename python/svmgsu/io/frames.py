"""Tables in memory, of pandas, polars, astropy or pyarrow, read as files are."""

from __future__ import annotations

from typing import Any

from .. import _core
from ..support.warning import warn
from .cells import ArrowCells, Cells
from .dataset import Dataset
from .frame_cells import FrameCells
from .table_reading import TableReader

LIBRARIES = ("pandas", "polars", "astropy", "pyarrow")


def is_frame(X: Any) -> bool:
    """Whether X is a table with names of columns."""
    return type(X).__module__.partition(".")[0] in LIBRARIES and hasattr(X, "columns") and len(X.shape) == 2


def cells_of(frame: Any, name: str = "frame") -> Cells:
    """The cells of a table in memory."""
    if type(frame).__module__.partition(".")[0] == "pyarrow":
        return ArrowCells(frame, name)
    return FrameCells(frame, name)


def read_frame(frame: Any, **options: Any) -> Dataset:
    """Read a table in memory; `options` are those of `read_table`."""
    try:
        return TableReader(**options).read(cells_of(frame))
    except _core.FormatError as error:
        raise ValueError(str(error)) from None


def say(dataset: Dataset, named: Any = None) -> None:
    """Warn of what was decided without being asked: exact values beside others, ids, columns not used."""
    found = dataset.columns
    assert found is not None
    alone = [c for c in found.exact if c not in (named or ())] if len(found.exact) < len(found.values) else []
    unused = [c for c, why in found.unused.items() if why in ("text", "empty")]
    if alone or unused or found.ids:
        warn(dataset.report.notes[0].removeprefix("frame: "))
