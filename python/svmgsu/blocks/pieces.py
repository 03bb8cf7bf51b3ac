"""What sources give and the cache takes: some examples with labels, weights and errors of targets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data.gaussians import Gaussians
from ..io.dataset import Dataset
from ..support.validation import Array


@dataclass
class Piece:
    """Some examples that stand together in the whole."""

    data: Gaussians
    y: Array | None = None
    weight: Array | None = None
    y_std: Array | None = None
    ids: Array | None = None
    classes: Array | None = None  # of the columns of y, where labels are in doubt
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, dataset: Dataset, weight: Array | None = None) -> Piece:
        """A piece that a reader of files has read."""
        report = dataset.report
        notes = [
            f"{name}: {count} of its examples dropped" for name, count in report.dropped.items() if count
        ]
        about = dataset.ids, dataset.classes, [*notes, *report.notes]
        return cls(dataset.data, dataset.y, weight, dataset.y_std, *about)


class Source(ABC):
    """A source of examples that is read from its beginning, any number of times unless it says otherwise."""

    name: str

    @abstractmethod
    def pieces(self, room: int) -> Iterator[Piece]:
        """The examples, in pieces that take about `room` bytes each while they are made."""

    def least(self) -> int:
        """The least room that its pieces can do with, if that is known before reading."""
        return 0

    def size(self) -> int | None:
        """About how many bytes of numbers it holds, if that is known before reading."""
        return None

    def mark(self) -> Any:
        """What is another thing if the source has changed; None if that cannot be known."""
        return None


def numbers_of(values: Any, name: str, count: int) -> Array:
    """One finite number for each of `count` examples."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected numbers, got {np.asarray(values).dtype} values") from None
    if array.shape != (count,):
        raise ValueError(f"{name}: shape {array.shape} for {count} examples")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ValueError(f"{name}: example {bad[0]} is {array[bad[0]]}; NaN and infinity are not allowed")
    return array
