"""The page of a report: one HTML file without a script, a network address or anything that is not escaped."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

from ..support.types import Fields
from .result import Feature, Report, plus_minus

MOST_ROWS = 30  # features in the table


def render(found: Report, *, times: bool) -> str:
    """Return the whole page."""
    try:
        from jinja2 import Environment, StrictUndefined
    except ModuleNotFoundError as error:
        raise ImportError("a page needs jinja2: pip install 'svmgsu[report]'") from error

    folder = Path(__file__).parent
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, finalize=_allowed
    )
    environment.filters |= {"number": number, "plus_minus": plus_minus, "percent": percent}
    template = environment.from_string((folder / "page.html").read_text(encoding="utf-8"))
    return template.render(
        report=found,
        style=(folder / "page.css").read_text(encoding="utf-8"),
        times=times and found.seconds is not None,
        families=_families(found),
        shown_features=_worth_showing(found.features),
        axis=Axis.of(found),
    )


def _allowed(value: object) -> Any:
    """Replace what HTML does not allow: control characters, and halves of characters."""
    if type(value) is not str:
        return value
    return "".join(
        c if c in "\n\t" or (c >= " " and not "\ud800" <= c <= "\udfff") else "\ufffd" for c in value
    )


def number(value: float | None, digits: int = 3) -> str:
    """Format a number."""
    return "–" if value is None else f"{value:.{digits}g}".replace("-", "−")


def percent(value: float | None) -> str:
    """Format a fraction."""
    return "–" if value is None else f"{value:.0%}"


@dataclass
class Axis:
    """The axis of the figure of differences: from values to places between 225 and 445."""

    low: float
    high: float
    ticks: list[float]

    @classmethod
    def of(cls, found: Report) -> Axis:
        """Return the axis that shows all models with their errors."""
        known = [(s.behind or 0.0, s.behind_error or 0.0) for s in found.systems if s.score is not None]
        low = min(value - error for value, error in known)
        high = max(value + error for value, error in known)
        if not high > low:
            high = low + 1.0
        # The first of 1, 2, 5, 10 times a power of ten that makes at most five steps.
        power = 10.0 ** floor(log10((high - low) / 5))
        step = next(m * power for m in (1, 2, 5, 10) if (high - low) / (m * power) <= 5)
        return cls(low, high, [k * step for k in range(ceil(low / step), floor(high / step) + 1)])

    def at(self, value: float) -> float:
        """Return the place of a value."""
        return round(225 + 220 * (value - self.low) / (self.high - self.low), 1)


def _families(found: Report) -> list[Fields]:
    """Return the rows of the table of models: each family with its values-only and its other system."""
    rows: dict[str, Fields] = {}
    for system in found.systems:
        row = rows.setdefault(system.family, {"name": system.family, "plain": None, "full": None})
        row["full" if system.uses_uncertainties else "plain"] = system
    for row in rows.values():
        both = [s for s in (row["plain"], row["full"]) if s is not None]
        row["taken"] = next((s for s in both if s.key == found.advice.system), None)
        fine = [s for s in both if s.score is not None]
        row["best"] = min(fine, key=lambda s: s.score) if fine else None
    return list(rows.values())


def _worth_showing(features: list[Feature]) -> list[Feature]:
    if len(features) <= MOST_ROWS:
        return features
    return sorted(features, key=lambda f: (-len(f.remarks), -(f.ratio or 0.0)))[:MOST_ROWS]
