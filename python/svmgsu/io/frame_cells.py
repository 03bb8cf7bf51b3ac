"""Tables in memory by column: data frames of pandas and polars, tables of astropy."""

from __future__ import annotations

import decimal
import numbers
from typing import Any

import numpy as np

from ..support.validation import Array
from .cells import LEAST_RUNNING, Cells, Kinds, is_running, kinds_of_texts


class FrameCells(Cells):
    """A data frame of pandas or polars, or a Table of astropy, read through its own columns."""

    def __init__(self, frame: Any, name: str = "frame") -> None:
        if hasattr(frame, "collect") and not hasattr(frame, "to_numpy"):
            raise TypeError("frame: a lazy frame; pass frame.collect()")
        if not hasattr(frame, "columns") or not hasattr(frame, "__getitem__"):
            raise TypeError(
                f"frame: expected a table of pandas, polars, astropy or pyarrow, got {type(frame).__name__}"
            )
        self.frame, self.name, self.rows = frame, name, len(frame)
        self.columns = list(getattr(frame, "colnames", frame.columns))
        for column in self.columns:
            if not isinstance(column, str):
                raise TypeError(
                    f"frame: expected columns with names that are strings, got {column!r}; rename them, or "
                    "use svmgsu.Gaussians(values, std=errors)"
                )
        if self.rows == 0:
            raise ValueError("frame: it has no rows")
        if len(set(self.columns)) < len(self.columns):
            twice = next(c for c in self.columns if self.columns.count(c) > 1)
            raise ValueError(f"frame: the column {twice!r} appears twice; rename one")
        self._arrays = {c: self._array(c) for c in self.columns}
        self._spread({c: a.tolist() for c, a in self._arrays.items() if a.dtype.kind == "O"})

    def load(self, numbers: list[str], texts: list[str]) -> None:
        single = numbers and all(self._arrays[c].dtype == np.float32 for c in numbers if c in self._arrays)
        self.dtype = np.float32 if single else np.float64

    def kinds(self) -> Kinds:
        kinds = kinds_of_texts({c: a.tolist() for c, a in self._arrays.items() if a.dtype.kind == "O"})
        for column, array in self._arrays.items():
            if array.dtype.kind in "iuf":
                kinds.numeric.add(column)
                if array.dtype.kind == "f" and np.isnan(array).all():
                    kinds.empty.add(column)
                whole = array.dtype.kind in "iu" and self.rows >= LEAST_RUNNING
                if whole and is_running(array) and len(np.unique(array)) == self.rows:
                    kinds.running.add(column)
        kinds.numeric.update(self.in_cells)
        return kinds

    def _array(self, column: str) -> Array:
        """A column as integers, floats with NaN for nothing, or objects with None for nothing."""
        series = self.frame[column]
        mask = getattr(series, "mask", None)  # of astropy; pandas has a method of this name
        series = getattr(series, "value", series) if hasattr(series, "unit") else series
        kind = getattr(series.dtype, "kind", None)
        if kind in tuple("iuf") and hasattr(series, "isna"):
            missing = bool(series.isna().any())
            array = series.to_numpy(dtype=np.float64, na_value=np.nan) if missing else series.to_numpy()
        elif hasattr(series, "to_numpy"):
            array = series.to_numpy()
        else:
            array = np.ma.getdata(np.asanyarray(series))
        array = np.asarray(array)
        if array.ndim != 1:
            raise ValueError(
                f"frame: column {column!r} has cells of shape {array.shape[1:]}; expected numbers"
            )
        if array.dtype.kind in "iuf":
            array = array.astype(array.dtype.newbyteorder("="))  # FITS is big-endian
            if isinstance(mask, np.ndarray) and mask.any():
                array = np.where(mask, np.nan, array)
            return array
        cells = [_plain(cell) for cell in array.tolist()]
        if isinstance(mask, np.ndarray):
            cells = [None if hidden else cell for cell, hidden in zip(cells, mask.tolist(), strict=True)]
        if all(cell is None or (isinstance(cell, float)) for cell in cells):
            return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
        out = np.empty(len(cells), dtype=object)
        out[:] = cells
        return out

    def numbers(self, column: str) -> Array:
        owner = self.in_cells.get(column, column)
        array = self._arrays[owner]
        if array.dtype.kind == "O":
            return self._of_texts(column, array.tolist())
        return np.array(array, dtype=self.dtype)

    def values(self, column: str) -> list[Any]:
        array = self._arrays[column]
        if (
            array.dtype.kind == "f"
            and (array == np.floor(array)).all()
            and "int" in str(self.frame[column].dtype)
        ):
            return list(array.astype(np.int64).tolist())
        return [None if cell != cell else cell for cell in array.tolist()]

    def unit(self, column: str) -> Any:
        own = getattr(self.frame[column], "unit", None) if column in self._arrays else None
        return super().unit(column) if own is None else own

    def place(self, row: int) -> str:
        label = self.frame.index[row] if hasattr(self.frame, "index") else row
        return f"{self.name}: row {row}" if label == row else f"{self.name}: row {row} ({label!r})"


def _plain(cell: Any) -> Any:
    """A cell of an array of objects: None for nothing, a number, the text of ufloats, or what it is."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace").strip()
    if isinstance(cell, (bool, np.bool_)):
        return bool(cell)
    if isinstance(cell, (numbers.Real, decimal.Decimal)):
        return float(cell)
    if hasattr(cell, "nominal_value") and hasattr(cell, "std_dev"):  # of the package uncertainties
        return f"{float(cell.nominal_value)!r}±{float(cell.std_dev)!r}"
    return cell
