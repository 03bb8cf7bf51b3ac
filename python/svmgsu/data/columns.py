"""What the columns of a table were understood as, which `data.frames` finds out."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..support.types import Fields

Errors = Fields  # {what it is: column}; {standard deviation: number} for one that all rows share


class ColumnError(ValueError):
    """A table whose columns cannot be understood; the message shows the option that settles it."""


@dataclass
class Columns:
    """What the columns of a table are: `values` are {feature: its uncertainty}, {} for an exact one."""

    values: dict[str, Errors]
    whole: Errors = field(default_factory=dict)  # the uncertainty of all values at once
    joint: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)  # {features: (what, column)}
    ids: list[str] = field(default_factory=list)
    target: str | None = None
    target_errors: Errors = field(default_factory=dict)
    unused: dict[str, str] = field(default_factory=dict)  # {column: why}
    errors_empty: list[str] = field(default_factory=list)  # features that are exact for want of errors
    error_scale: float = 1.0
    remarks: list[str] = field(default_factory=list)  # about values that may not be what they seem

    @property
    def features(self) -> list[str]:
        """Return the names of the values."""
        return list(self.values)

    @property
    def exact(self) -> list[str]:
        """Return the features without uncertainty."""
        return [] if self.whole else [name for name, errors in self.values.items() if not errors]

    @property
    def numeric(self) -> list[str]:
        """Return all columns of features and uncertainties, in which numbers are wanted."""
        found = [c for f, errors in self.values.items() for c in (f, *errors.values())]
        found += [*self.whole.values(), *(column for _, column in self.joint.values())]
        return [c for c in dict.fromkeys(found) if isinstance(c, str)]

    def __str__(self) -> str:
        """Say what was understood in one line, with names where columns are not used as they might be."""
        known = len(self.values) - len(self.exact)
        parts = [f"{known} value{'s' * (known > 1)} with errors"] if known else []
        if self.exact:
            parts.append(f"{len(self.exact)} exact ({listed(self.exact) if known else 'no errors found'})")
        parts += [f"{len(self.joint)} covariances"] if self.joint else []
        parts += [f"{len(self.ids)} id{'s' * (len(self.ids) > 1)} ({listed(self.ids)})"] if self.ids else []
        unused = [f"{c}: {why}" for c, why in self.unused.items()]
        parts += [f"{len(unused)} unused ({listed(unused, 5)})"] if unused else []
        return ", ".join(parts + ([f"target {self.target}"] if self.target else []))


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return the first names, and how many there are."""
    return ", ".join(names[:most]) + (f", ... ({len(names)})" if len(names) > most else "")


def check_names(names: Sequence[str], **asked: Iterable[str] | None) -> None:
    """Refuse names that a table does not have, or has twice."""
    present = set(names)
    if len(present) < len(names):
        raise ColumnError(f"the column {Counter(names).most_common(1)[0][0]!r} appears twice; rename one")
    for argument, given in asked.items():
        if isinstance(given, str):
            raise TypeError(f"{argument}: expected a list of column names, got {given!r}")
        found = list(given or ())
        missing = [name for name in found if name not in present]
        if missing:
            near = [repr(_nearest(name, names)) for name in missing if _nearest(name, names)]
            advice = f"did you mean {listed(near, 5)}?" if near else f"there are {listed(names, 10)}"
            raise ColumnError(
                f"{argument}: there is no column {listed([repr(name) for name in missing], 5)}; {advice}"
            )
        if len(set(found)) < len(found):
            raise ColumnError(f"{argument}: {Counter(found).most_common(1)[0][0]!r} is named twice")


def _nearest(name: str, names: Sequence[str]) -> str | None:
    """Find the column that may be meant: of another case, without its table's name, or misspelt."""
    by_word = {word: c for c in reversed(names) for word in (c.lower().rpartition(".")[2], c.lower())}
    return next((by_word[word] for word in difflib.get_close_matches(name.lower(), by_word, 1, 0.75)), None)
