"""What a measurement says: rows of the table, each a ratio with what was asked of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from .timing import Time

LAM = 1e-3


@dataclass(frozen=True)
class Settings:
    """How much to measure: `quick` asks for small problems."""

    quick: bool = False
    repeat: int = 7
    threads: int = 2  # the most that are compared with one


@dataclass
class Row:
    """One figure: how many times faster than a rival, or a share of something; larger is better.

    With `less`, smaller is. `target` is what is asked: at least that much, or at most.
    """

    name: str
    figure: float
    target: float | None = None
    unit: str = "×"
    less: bool = False
    note: str = ""
    times: dict[str, Time] = field(default_factory=dict)  # a rival, and the least time it took
    curves: dict[str, Any] = field(default_factory=dict)  # of a picture
    group: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None without one."""
        if self.target is None:
            return None
        return self.figure <= self.target if self.less else self.figure >= self.target

    def worse_than(self, other: float, share: float) -> bool:
        """Whether the figure is worse than `other` by more than the share, say 0.2."""
        return not (self.figure <= other / (1 - share) if self.less else self.figure >= other * (1 - share))

    def asked(self) -> str:
        return "" if self.target is None else f"{'≤' if self.less else '≥'} {self.show(self.target)}"

    def show(self, figure: float) -> str:
        if self.unit == "%":
            return f"{100 * figure:.0f}%"
        digits = f"{figure:.3g}" if figure < 1000 else f"{figure:,.0f}"
        return digits + (self.unit if self.unit == "×" else f" {self.unit}" if self.unit else "")

    def as_dict(self) -> dict[str, Any]:
        times = {name: time._asdict() for name, time in self.times.items()}
        return asdict(self) | {"times": times, "met": self.met}


@dataclass
class Case:
    """A measurement by name; `run` makes its data, measures and forgets them."""

    name: str
    run: Callable[[], list[Row]]


class Skipped(Exception):
    """A case cannot be measured here; the message says why."""


def versus(
    name: str,
    times: dict[str, Time],
    rival: str,
    target: float | None = None,
    ours: str = "ours",
    note: str = "",
) -> Row:
    """How many times faster `ours` is than `rival`, by the clock."""
    taken = {who: times[who] for who in (ours, rival)}
    return Row(name, times[rival].wall / times[ours].wall, target, times=taken, note=note)


def team(threads: int) -> str:
    """How the name of a measurement ends that uses so many threads."""
    return "" if threads == 1 else f", {threads} threads"
