"""What reading a file gives: samples, labels, ids, and a report of what was left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data.columns import Columns
from ..data.gaussians import Gaussians
from ..support.labels import as_labels
from ..support.validation import Array, ArrayLike


@dataclass
class Report:
    """What a reader found: samples of each file, how many were dropped, and notes of what was chosen.

    Samples are dropped where another file lacks their id, or a value is missing.
    """

    found: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"{name}: {count} samples"
            + (f", {self.dropped[name]} of them dropped" if self.dropped.get(name) else "")
            for name, count in self.found.items()
        ]
        return "\n".join(lines + self.notes)


@dataclass(eq=False)
class Dataset:
    """Samples from files. Unpacks into its first two parts: `data, y = svmgsu.read(...)`.

    `y` holds labels, numbers, or probabilities of the `classes` in columns; `y_std` the standard errors of
    numbers. `ids` name the samples, `groups` say which of them belong together. `report` says what was found
    and dropped, `columns` what the columns of a table were understood as, and `task` what its target was
    taken for.

    Examples
    --------
    >>> import svmgsu
    >>> data, y = svmgsu.io.Dataset(svmgsu.Gaussians([[0.0], [1.0]]), [-1, 1])
    >>> data.shape
    (2, 1)
    """

    data: Gaussians
    y: Array | None = None
    ids: Array | None = None
    report: Report = field(default_factory=Report)
    classes: Array | None = None
    y_std: Array | None = None
    columns: Columns | None = None
    task: str | None = None
    groups: Array | None = None

    def variances(self) -> Any:
        """Return the variances of isotropic or diagonal covariances as an (l, n) array or sparse matrix."""
        cov = self.data.cov
        found = None if cov is None else cov.independent(*self.data.shape)
        if found is None:
            held = "no covariance" if cov is None else repr(cov)
            raise ValueError(
                f"cov: this format holds isotropic and diagonal covariances, got {held}; use text or .npz"
            )
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter((self.data, self.y))


def as_dataset(data: object, y: ArrayLike = None, ids: ArrayLike = None) -> Dataset:
    """Return `data`, a Dataset, Gaussians or an array, as a Dataset with this `y` and these `ids`, if any."""
    if not isinstance(data, Dataset):
        data = Dataset(data if isinstance(data, Gaussians) else Gaussians(data))
    y = data.y if y is None else np.asarray(y)
    ids = data.ids if ids is None else np.asarray(ids)
    for name, array in (("y", y), ("ids", ids)):
        if array is not None and np.shape(array) != (len(data.data),):
            raise ValueError(f"{name}: shape {np.shape(array)}, but there are {len(data.data)} samples")
    return Dataset(data.data, None if y is None else as_labels(y, len(data.data)), ids, data.report)


def plain_labels(values: Array) -> Array:
    """Return float labels as integers if all of them are."""
    if np.all(np.abs(values) < 2**53) and np.all(values == np.floor(values)):
        return values.astype(np.int64)
    return values
