"""What a report found, as plain records: they become a page, JSON or a few lines of text."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from math import floor, log10

from ..io.output import replacing
from ..support.arrays import plain
from ..support.types import Fields

# Factors of the uncertainties of a sample that may settle it.
FACTORS = {0.5: "half", 0.25: "a quarter", 0.1: "a tenth"}


@dataclass
class Feature:
    """A feature and its uncertainties: `ratio` is the median standard error over the spread."""

    name: str
    spread: float
    error: float | None = None
    ratio: float | None = None
    missing: int = 0
    remarks: list[str] = field(default_factory=list)


@dataclass
class Table:
    """The samples that took part: their number, classes or targets, and uncertainties."""

    samples: int
    features: int
    with_uncertainties: int
    missing: int
    classes: dict[str, int] = field(default_factory=dict)
    target: dict[str, float] = field(default_factory=dict)
    median_ratio: float | None = None


@dataclass
class SystemScore:
    """A model's scores on held-out samples.

    `change` is what the uncertainties change: its score less that of the same model on the values alone.
    `behind` is its score less that of the best model. Both are paired over samples.
    """

    key: str
    family: str
    name: str
    uses_uncertainties: bool
    score: float | None = None
    score_error: float | None = None
    second: float | None = None
    second_error: float | None = None
    change: float | None = None
    change_error: float | None = None
    behind: float | None = None
    behind_error: float | None = None
    seconds: float | None = None
    failure: str | None = None
    notes: list[str] = field(default_factory=list)


@dataclass
class Advice:
    """The answer: do the uncertainties help, which model to use, and how to train it."""

    uncertainties: str  # "help", "harm", "no difference", "unknown" or "none"
    headline: str
    system: str
    name: str
    reason: str
    code: str
    command: str | None = None
    command_says: str = ""  # what the command trains


@dataclass
class Reliability:
    """Predicted against observed frequencies: of a class, or of targets within intervals."""

    what: str
    predicted: dict[str, list[float]] = field(default_factory=dict)
    observed: dict[str, list[float]] = field(default_factory=dict)
    error: dict[str, float] = field(default_factory=dict)
    width: dict[str, list[float]] = field(default_factory=dict)


@dataclass
class Remeasure:
    """A sample to measure again.

    `change` is the probability that its predicted class changes (to `other`, most likely) if it is measured
    exactly, or the standard deviation by which its predicted number moves. `feature` matters most; standard
    errors of `factor` times the present ones settle it, for that feature `needed` instead of `now`.
    """

    id: str
    truth: object
    predicted: object
    change: float
    other: object
    feature: str
    now: float
    factor: float | None
    needed: float | None


@dataclass
class PoolMember:
    """A member of the pool: its weight and its own held-out loss, averaged over the folds."""

    name: str
    weight: float
    loss: float


@dataclass
class Report:
    """Hold what `svmgsu.report` found.

    `advice` is the answer and the recommended model; `systems` are the models that were compared, by
    `measure` (less is better) and `second_measure`. `table` and `features` describe the samples, `warnings`
    name what may make the answer wrong: leaks, ids, sorted targets, constant columns. `expected_changes` is
    the fraction of samples whose predicted class would change if all were measured exactly (for a regression,
    the root mean square by which predictions would move), and `remeasure` lists those that change most.
    `pool` has the pool's members, `reliability` predicted against observed frequencies; `notes` say what was
    left out, and why.
    """

    task: str
    title: str
    table: Table
    features: list[Feature]
    measure: str
    second_measure: str
    systems: list[SystemScore]
    advice: Advice
    warnings: list[str] = field(default_factory=list)
    reliability: Reliability | None = None
    expected_changes: float | None = None
    remeasure: list[Remeasure] = field(default_factory=list)
    pool: list[PoolMember] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    settings: dict[str, object] = field(default_factory=dict)
    seconds: float | None = None

    @property
    def second_headline(self) -> str | None:
        """Say how much better measurements would change, and how precise they must be, in a sentence or two.

        None without uncertainties.
        """
        if self.expected_changes is None:
            return None
        size = f"{self.expected_changes:.3g}"
        text = f"Measured exactly, predictions would move by {size} (root mean square)."
        if self.task == "classification":
            count = round(self.expected_changes * self.table.samples)
            share = f"{count} of {self.table.samples} samples ({self.expected_changes:.1%})"
            text = f"Measured exactly, about {share} would change their predicted class."
        count = len(self.remeasure)
        for factor, word in FACTORS.items():
            settled = sum(one.factor is not None and one.factor >= factor for one in self.remeasure)
            if count > 1 and (2 * settled >= count or factor == min(FACTORS)):
                settling = f"would settle {settled} of the {count} most uncertain."
                return f"{text} Uncertainties {word} as large {settling}"
        return text

    def to_dict(self, *, times: bool = True) -> Fields:
        """Return all of it as plain values; what is undefined is None. `times=False` leaves seconds out."""
        found: Fields = plain(asdict(self))
        if not times:
            found["seconds"] = None
            for system in found["systems"]:
                system["seconds"] = None
        return found

    def to_json(self, indent: int | None = 2, *, times: bool = True) -> str:
        """Return all of it as JSON, indented by `indent` blanks (None: one line)."""
        return json.dumps(self.to_dict(times=times), indent=indent, ensure_ascii=False, allow_nan=False)

    def to_html(self, path: str | os.PathLike[str] | None = None, *, times: bool = True) -> str:
        """Return one self-contained page, and write it to `path` if given.

        `times=False` leaves out the seconds, so that the same seed gives the same bytes.
        """
        from .page import render

        text = render(self, times=times)
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
        lines = [self.title, ""]
        lines += [f"Warning: {warning}" for warning in self.warnings] + [""] * bool(self.warnings)
        lines += [self.advice.headline, *filter(None, [self.second_headline]), ""]
        lines.append(f"{'':{width}}  {self.measure}")
        for system in self.systems:
            shown = system.failure or plus_minus(system.score, system.score_error)
            lines.append(f"{system.name:{width}}  {shown}")
        lines += ["", f"Recommended: {self.advice.name}", *self.advice.code.splitlines()]
        if self.advice.command is not None:
            lines += ["", self.advice.command_says, self.advice.command]
        return "\n".join(lines)


def plus_minus(value: float | None, error: float | None, signed: bool = False) -> str:
    """Format value ± error, to the error's second digit."""
    sign = "+" if signed else ""
    if value is None:
        return "–"
    if error is None or not error > 0:
        return f"{value:{sign}.3g}".replace("-", "−")
    places = max(0, 1 - floor(log10(error)))
    if places > 6 or abs(value) >= 1e6:
        return f"{value:{sign}.3g} ± {error:.1g}".replace("-", "−")
    return f"{value:{sign}.{places}f} ± {error:.{places}f}".replace("-", "−")
