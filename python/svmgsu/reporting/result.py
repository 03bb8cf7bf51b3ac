"""What a report found, as plain records: they become a page, JSON or a line in a notebook."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..io.output import replacing


@dataclass
class Feature:
    """One feature beside its error bars: `ratio` is the median error over the spread of the values."""

    name: str
    spread: float
    error: float | None = None
    ratio: float | None = None
    weight: float | None = None
    weight_error: float | None = None
    gain: float | None = None
    gain_error: float | None = None
    remarks: list[str] = field(default_factory=list)


@dataclass
class Table:
    """The data: how many, of which classes, and whether there are error bars."""

    examples: int
    features: int
    with_bars: int
    covariance: str | None
    classes: dict[str, int] = field(default_factory=dict)
    target: dict[str, float] = field(default_factory=dict)
    median_ratio: float | None = None


@dataclass
class System:
    """One way to learn, measured on held-out objects; the difference is to the plain linear model."""

    key: str
    name: str
    uses_bars: bool
    score: float | None = None
    score_error: float | None = None
    second: float | None = None
    second_error: float | None = None
    difference: float | None = None
    difference_error: float | None = None
    trained_on: int = 0
    seconds: float | None = None
    failure: str | None = None
    notes: list[str] = field(default_factory=list)


@dataclass
class Advice:
    """The answer: do the bars help, which model, and the code that trains it."""

    bars: str  # "help", "harm", "no difference" or "none"
    verdict: str
    system: str
    name: str
    reason: str
    code: str
    gains: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Reliability:
    """What came true against what was stated, with error bars of the objects and without them."""

    model: str
    what: str
    stated: dict[str, list[float]]
    observed: dict[str, list[float]]
    count: dict[str, list[int]]
    error: dict[str, float]


@dataclass
class Doubtful:
    """An object that would be known better if it had been measured exactly."""

    id: str
    truth: Any
    said: Any
    now: float
    exact: float
    feature: str | None


@dataclass
class WhatIf:
    """The score if all error bars were a factor of what they are; below 1 by a model of the population."""

    model: str
    factors: list[float]
    scores: list[float]
    errors: list[float]
    measured: list[bool]


@dataclass
class Report:
    """What `svmgsu.report` found.

    Attributes
    ----------
    task : {"classification", "regression"}
    title : str
    table : Table
        The data as they were taken.
    features : list of Feature
        Spread, error bars, weight and remarks of each feature.
    measure, second_measure : str
        What the systems are compared by; less of the first is better.
    systems : list of System
    advice : Advice
    reliability : Reliability or None
    doubtful : list of Doubtful
    what_if : WhatIf or None
    notes : list of str
        What was left out or chosen, and why.
    settings : dict
        Seed, folds, and whether it was quick.
    seconds : float or None
        What it took; None where times were left out.
    """

    task: str
    title: str
    table: Table
    features: list[Feature]
    measure: str
    second_measure: str
    systems: list[System]
    advice: Advice
    reliability: Reliability | None = None
    doubtful: list[Doubtful] = field(default_factory=list)
    what_if: WhatIf | None = None
    notes: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: float | None = None

    def to_dict(self, *, times: bool = True) -> dict[str, Any]:
        """All of it as plain values; what is undefined is None. `times=False` leaves the seconds out."""
        found: dict[str, Any] = _plain(asdict(self))
        if not times:
            found["seconds"] = None
            for system in found["systems"]:
                system["seconds"] = None
        return found

    def to_json(self, indent: int | None = 2, *, times: bool = True) -> str:
        """All of it as JSON, indented by `indent` blanks (None: one line); `times` as in `to_dict`."""
        return json.dumps(self.to_dict(times=times), indent=indent, ensure_ascii=False, allow_nan=False)

    def to_html(self, path: str | os.PathLike[str] | None = None, *, times: bool = True) -> str:
        """One self-contained page: its text, which is also written to `path` if there is one.

        `times=False` leaves out the seconds, so that the same seed gives the same bytes.
        """
        from .page import page_of

        text = page_of(self, times=times)
        if path is not None:
            with replacing(path) as (file,):
                file.write(text.encode("utf-8"))
        return text

    def _repr_html_(self) -> str:
        import html

        inner = html.escape(self.to_html(), quote=True)
        style = "width:100%;height:40em;border:1px solid #8888"
        title = html.escape(self.title, quote=True)
        return f'<iframe title="{title}" srcdoc="{inner}" style="{style}"></iframe>'

    def __repr__(self) -> str:
        width = max(len(system.name) for system in self.systems)
        lines = [self.title, self.advice.verdict, f"{'':{width}}  {self.measure}"]
        for system in self.systems:
            shown = system.failure or f"{system.score:.4f} ± {system.score_error:.4f}"
            lines.append(f"{system.name:{width}}  {shown}")
        return "\n".join([*lines, f"recommended: {self.advice.name}"])


def _plain(value: Any) -> Any:
    """Without NumPy's types, and None for what is not finite."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
