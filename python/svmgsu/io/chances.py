"""Labels in doubt in tables: columns with the probability of each class."""

from __future__ import annotations

import numpy as np

from ..data.doubt import TOLERANCE
from ..data.error_bars import with_errors
from ..support.validation import Array
from .cells import Cells


def chance_columns(
    cells: Cells, begin: str, features: list[str] | None, ignore: list[str] | None
) -> list[str]:
    """The columns of class probabilities: two or more of that name, which are nothing else."""
    taken = {*(features or ()), *(ignore or ())}
    free = [c for c in cells.columns if c.startswith(begin) and c != begin and c not in taken]
    plain = [c for c in free if len(with_errors([c], set(cells.columns))) == 1]
    return plain if len(plain) > 1 else []


def probabilities(cells: Cells, columns: list[Array], keep: Array) -> Array:
    """Columns of probabilities as one array; rows must sum to 1."""
    found = np.column_stack(columns).astype(np.float64)
    wrong = keep & ((np.abs(found.sum(axis=1) - 1) > TOLERANCE) | (found < 0).any(axis=1))
    if wrong.any():
        row = int(wrong.argmax())
        shown = ", ".join(f"{value:g}" for value in found[row])
        raise cells.fail(row, f"the probabilities of classes are {shown}; they must be >= 0 and sum to 1")
    return found[keep]


def class_names(names: list[str], as_text: bool) -> Array:
    """Names of classes as whole numbers, where all are, as labels would be."""
    whole = all(name.removeprefix("-").isdecimal() for name in names)
    return np.array([int(name) for name in names] if whole and not as_text else names)
