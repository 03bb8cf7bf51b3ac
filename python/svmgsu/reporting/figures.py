"""Figures of a report as SVG inside the page, in the page's colours."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..plot.style import BLUE, CYCLE, GREEN, GREY, VERMILLION, Look, legend
from ..plot.training import draw_what_if
from .result import Feature, Reliability, Report

INK = "#000000"  # becomes the colour of the page's text
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be read, searched and, from any column name, escaped
    "text.parse_math": False,  # a dollar in a column's name is a dollar
    "font.family": ["sans-serif"],
    "font.size": 9.5,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
}
WIDTH = 4.3  # inches: legible on a telephone, too
LONGEST = 24  # letters of a name
SHOWN = 12  # features


def svg(draw: Callable[[Axes], None], alt: str, name: str, height: float = 2.8) -> str:
    """Return what `draw` draws on axes, as an <svg> element with a text for those who cannot see it."""
    with mpl.rc_context({**SETTINGS, "svg.hashsalt": f"svmgsu {name}"}):
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        ax = figure.add_subplot()
        ax.spines[["top", "right"]].set_visible(False)
        draw(ax)
        # Long labels extend to the left, under the names.
        ax.set_xlabel(ax.get_xlabel(), loc="right")
        ax.set_ylabel(ax.get_ylabel(), loc="top")
        legend = ax.get_legend()
        if legend is not None:
            legend.get_frame().set_facecolor("none")
        figure.patch.set_alpha(0)
        ax.patch.set_alpha(0)
        file = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing)
    text = file.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"(fill|stroke): ?#000000", r"\1: currentColor", text)
    for colour, own in ((BLUE, "mark"), (VERMILLION, "warm"), (GREEN, "green"), (GREY, "grey")):
        text = text.replace(f": {colour.lower()}", f": var(--{own})")
    text = re.sub(r"(fill|stroke): ?#ffffff", r"\1: none", text)
    # matplotlib's own style would colour black text black, also on a dark page.
    text = re.sub(r"<style type=\"text/css\">.*?</style>", "", text, flags=re.DOTALL)
    # Several figures share the page: their ids must differ.
    text = re.sub(r'(id|xlink:href|href)="(#?)([^"]+)"', rf'\1="\2{name}-\3"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    first = text.index(">")
    head = re.sub(r'\s(width|height)="[^"]*"', "", text[:first])
    label = html.escape(alt, quote=True)
    return f'{head} role="img" aria-label="{label}" class="figure">{text[first + 1 :]}'


def points(ax: Axes, rows: list[tuple[str, float, float, bool]]) -> None:
    """Draw a value with its error for each name, from above; marked rows are diamonds."""
    for k, (_, value, error, marked) in enumerate(rows):
        style: Look = {"color": VERMILLION if marked else BLUE, "marker": "D" if marked else "o"}
        ax.errorbar([value], [k], xerr=[error], linestyle="none", capsize=3, **style)
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_yticks(range(len(rows)), [name for name, *_ in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.grid(axis="x", color=GREY, alpha=0.25)


def comparison(found: Report) -> str:
    """Draw paired differences from the best model."""
    rows = [
        (
            f"{s.family},\n{'+ uncertainties' if s.uses_uncertainties else 'values only'}",
            s.behind or 0.0,
            s.behind_error or 0.0,
            s.key == found.advice.system,
        )
        for s in found.systems
        if s.score is not None
    ]

    def draw(ax: Axes) -> None:
        points(ax, rows)
        ax.set_xlabel(f"{found.measure} above that of the best (0)")

    said = "; ".join(f"{name} {value:.3g} ± {error:.2g}" for name, value, error, _ in rows).replace("\n", " ")
    alt = f"Points with error bars: {found.measure} less that of the best model. {said}."
    return svg(draw, alt, "comparison", 0.7 + 0.42 * len(rows))


def sizes(features: list[Feature]) -> str:
    """Draw standard error over spread of the features with the largest."""
    some = _largest(features, "ratio")

    def draw(ax: Axes) -> None:
        ratios = [float(f.ratio or 0) for f in some]
        ax.barh(range(len(some)), ratios, color=BLUE, height=0.6)
        if max(ratios) > 0.5:
            ax.axvline(1, color=VERMILLION, linestyle="--", linewidth=1.2, label="error = spread")
            legend(ax, loc="lower right", fontsize=8)
        ax.set_yticks(range(len(some)), [short(f.name) for f in some])
        ax.set(xlabel="typical standard error / spread", ylim=(len(some) - 0.5, -0.5))

    said = ", ".join(f"{f.name} {f.ratio:.2g}" for f in some)
    return svg(draw, f"Bars: standard error over spread: {said}.", "sizes", 0.8 + 0.24 * max(2, len(some)))


def reliability(found: Reliability) -> str:
    """Draw observed against predicted frequencies."""

    def draw(ax: Axes) -> None:
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, label="calibrated")
        for (name, predicted), (colour, dashes, marker) in zip(
            found.predicted.items(), CYCLE[1:], strict=False
        ):
            style: Look = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 4}
            ax.plot(predicted, found.observed[name], label=name, **style)
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel=f"predicted {found.what}", ylabel="observed")
        legend(ax, loc="upper left", fontsize=8)

    said = "; ".join(f"{name}: mean distance {error:.3f}" for name, error in found.error.items())
    return svg(draw, f"Observed against predicted frequencies. {said}.", "reliability", 3.0)


def what_if(found: Report) -> str:
    """Draw the score against the size of all uncertainties."""
    curve = found.what_if
    assert curve is not None
    said = ", ".join(f"{f:g}: {s:.3g}" for f, s in zip(curve.factors, curve.scores, strict=True))
    alt = f"Curve of {found.measure} against the size of all uncertainties. {said}."
    return svg(lambda ax: draw_what_if(ax, curve, found.measure), alt, "what-if")


def gains(found: Report) -> str:
    """Draw what halving the uncertainties of one feature would gain."""
    some = _largest(found.features, "gain")
    rows = [(short(f.name), f.gain or 0.0, f.gain_error or 0.0, False) for f in some]

    def draw(ax: Axes) -> None:
        points(ax, rows)
        ax.set_xlabel(f"{found.measure} gained if halved")

    said = ", ".join(f"{f.name} {f.gain:.2g} ± {f.gain_error:.1g}" for f in some)
    height = 0.8 + 0.24 * max(2, len(some))
    return svg(draw, f"Points with error bars: gain by halved uncertainties: {said}.", "gains", height)


def _largest(features: list[Feature], name: str) -> list[Feature]:
    known = [f for f in features if getattr(f, name) is not None and np.isfinite(getattr(f, name))]
    return sorted(known, key=lambda f: -float(getattr(f, name)))[:SHOWN]


def short(name: str) -> str:
    """Return a name that fits beside a figure."""
    shown = " ".join(name.split()) or "(no name)"
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"
