"""Which columns of a table belong together: a feature and its error, by the ending of their names.

| column | what it is |
|---|---|
| x | the mean of feature x |
| x_err, x_std | its standard deviation |
| x_err1, x_err2 | its upper and lower error; their mean size is the standard deviation |
| x_var | its variance |
| _err, _std, _var, without x | one standard deviation or variance for all features |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from ..covariance import Covariance, Diagonal, Isotropic
from ..validation import Array

SUFFIXES = ("_err1", "_err2", "_err", "_std", "_var")


@dataclass
class Pairing:
    """Which columns are means, and which are their errors: {feature: {suffix: column}}."""

    errors: dict[str, dict[str, str]]
    whole: dict[str, str]  # the errors of all features at once

    @property
    def features(self) -> list[str]:
        return list(self.errors)

    @property
    def used(self) -> list[str]:
        of_features = [c for f, e in self.errors.items() for c in (f, *e.values())]
        return of_features + list(self.whole.values())

    def covariance(self, numbers: dict[str, Array], name: str) -> Covariance | None:
        if self.whole:
            return Isotropic(_variance(self.whole, numbers, name))
        if not any(self.errors.values()):
            return None
        count = len(next(iter(numbers.values())))
        columns = [
            _variance(e, numbers, name) if e else np.zeros(count, dtype=numbers[f].dtype)
            for f, e in self.errors.items()
        ]
        return Diagonal(np.ascontiguousarray(np.column_stack(columns)))

    def notes(self, columns: list[str], known: set[str | None], name: str) -> list[str]:
        certain = [f for f, e in self.errors.items() if not e]
        unused = [c for c in columns if c not in self.used and c not in known]
        notes = []
        if certain and len(certain) < len(self.errors):
            notes.append(f"{name}: no errors for {', '.join(certain)}: taken as certain")
        if unused:
            notes.append(f"{name}: not used: {', '.join(unused)}")
        return notes


def pair_columns(
    numeric: list[str], known: set[str | None], features: list[str] | None, name: str = "columns"
) -> Pairing:
    """Pairs the `numeric` columns by their endings.

    `known` are labels and ids; `features` are the means, by default all that are nothing else.
    """
    names = [c for c in numeric if c not in known]
    present = set(names)

    def partners(base: str) -> dict[str, str]:
        return {s: base + s for s in SUFFIXES if base + s in present and base + s != base}

    def is_error(column: str) -> bool:
        return any(column.endswith(s) and column.removesuffix(s) in present | {""} for s in SUFFIXES)

    if features is None:
        features = [c for c in names if not is_error(c)]
    for column in features:
        if column not in present:
            raise ValueError(f"{name}: features: there is no numeric column {column!r}; there are {names}")
    if not features:
        raise _core.FormatError(f"{name}: there is no numeric column to take as a feature")
    pairing = Pairing({f: partners(f) for f in features}, partners(""))
    for base, found in [*pairing.errors.items(), ("", pairing.whole)]:
        if len(found) > 1 and set(found) != {"_err1", "_err2"}:
            raise ValueError(f"{name}: {base!r} has more than one error: {', '.join(found.values())}")
        if set(found) in ({"_err1"}, {"_err2"}):
            only = next(iter(found.values()))
            raise ValueError(f"{name}: {only} alone; expected both {base}_err1 and {base}_err2")
    if pairing.whole and any(pairing.errors.values()):
        raise ValueError(
            f"{name}: {', '.join(pairing.whole.values())} is for all features, but some have their own"
        )
    return pairing


def _variance(found: dict[str, str], numbers: dict[str, Array], name: str) -> Array:
    if "_err1" in found:
        return ((np.abs(numbers[found["_err1"]]) + np.abs(numbers[found["_err2"]])) / 2) ** 2
    ((suffix, column),) = found.items()
    values = numbers[column]
    if (values < 0).any():
        row = int(np.argmax(values < 0))
        raise _core.FormatError(f"{name}: {column} is {values[row]:g} in example {row}; it must be >= 0")
    return values if suffix == "_var" else values**2
