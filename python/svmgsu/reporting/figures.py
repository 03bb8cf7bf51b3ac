"""Pictures of a report as SVG that stands in the page itself, in the page's colours."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from ..plot.style import BLUE, CYCLE, GREEN, GREY, VERMILLION, legend_above
from ..plot.whatif import draw_what_if
from .result import Feature, Reliability, Report

INK = "#000000"  # becomes the colour of the page's text
SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be read, searched and, from any column name, escaped
    "text.parse_math": False,  # a dollar in a column's name is a dollar
    "font.family": ["sans-serif"],
    "font.size": 10.0,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
}
LONGEST = 28  # letters of a name in a picture
SHOWN = 15  # features in a picture


def svg(draw: Callable[[Any], None], alt: str, name: str, size: tuple[float, float] = (4.6, 3.0)) -> str:
    """What `draw` draws on axes, as an <svg> element with a text for those who cannot see it."""
    with mpl.rc_context({**SETTINGS, "svg.hashsalt": f"svmgsu {name}"}):
        figure = Figure(figsize=size, layout="constrained")
        ax = figure.add_subplot()
        ax.spines[["top", "right"]].set_visible(False)
        draw(ax)
        ax.set_xlabel(ax.get_xlabel(), loc="right")  # long ones go to the left, under the names
        ax.set_ylabel(ax.get_ylabel(), loc="top")
        for legend in [found for found in (ax.get_legend(),) if found is not None]:
            legend.get_frame().set_facecolor("none")
        figure.patch.set_alpha(0)
        ax.patch.set_alpha(0)
        file = io.StringIO()
        figure.savefig(
            file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    text = file.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"(fill|stroke): ?#000000", r"\1: currentColor", text)
    for colour, own in ((BLUE, "mark"), (VERMILLION, "warm"), (GREEN, "green"), (GREY, "grey")):
        text = text.replace(f": {colour.lower()}", f": var(--{own})")
    text = re.sub(r"(fill|stroke): ?#ffffff", r"\1: none", text)
    # Text of figures has no colour of its own where it is black: SVG would take black.
    text = re.sub(r"<style type=\"text/css\">.*?</style>", "", text, flags=re.DOTALL)
    text = re.sub(r'(id|xlink:href|href)="(#?)([^"]+)"', rf'\1="\2{name}-\3"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    first = text.index(">")
    head = re.sub(r'\s(width|height)="[^"]*"', "", text[:first])
    label = html.escape(alt, quote=True)
    return f'{head} role="img" aria-label="{label}" class="figure">{text[first + 1 :]}'


def comparison(found: Report) -> str:
    """Scores of the systems as points with standard errors."""
    fine = [s for s in found.systems if s.score is not None]

    def draw(ax: Any) -> None:
        for k, system in enumerate(fine):
            own = system.key == found.advice.system
            colour = VERMILLION if own else BLUE
            style = {"color": colour, "marker": "D" if own else "o", "linestyle": "none", "capsize": 3}
            ax.errorbar([system.score], [k], xerr=[system.score_error], **style)
        ax.set_yticks(range(len(fine)), [_wrapped(s.name) for s in fine])
        ax.set(xlabel=f"{found.measure} on held-out objects (less is better)", ylim=(len(fine) - 0.5, -0.5))
        ax.grid(axis="x", color=GREY, alpha=0.25)

    said = "; ".join(f"{s.name} {s.score:.3g} ± {s.score_error:.2g}" for s in fine)
    alt = f"Points with error bars: {found.measure} of each model. {said}."
    return svg(draw, alt, "comparison", (4.6, 0.9 + 0.48 * len(fine)))


def sizes(features: list[Feature]) -> str:
    """Error over spread of the features with the largest."""
    some = _largest(features, lambda f: f.ratio if f.ratio is not None and np.isfinite(f.ratio) else None)

    def draw(ax: Any) -> None:
        ratios = [float(f.ratio or 0) for f in some]
        ax.barh(range(len(some)), ratios, color=BLUE, height=0.6)
        ax.axvline(1, color=VERMILLION, linestyle="--", linewidth=1.2, label="error = spread")
        ax.set_yticks(range(len(some)), [_short(f.name) for f in some])
        ax.set(xlabel="typical error / spread of the values", ylim=(len(some) - 0.5, -0.5))
        if max(ratios) < 0.5:
            ax.set_xlim(0, 1.15 * max(ratios))

    said = ", ".join(f"{f.name} {f.ratio:.2g}" for f in some)
    return svg(draw, f"Bars: typical error over spread of features: {said}.", "sizes", _height(some))


def reliability(found: Reliability) -> str:
    """Observed against stated, one curve with bars and one without."""

    def draw(ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, label="right")
        for (name, stated), (colour, dashes, marker) in zip(found.stated.items(), CYCLE[1:], strict=False):
            style = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 5}
            ax.plot(stated, found.observed[name], label=f"{name}: off by {found.error[name]:.3f}", **style)
        ax.set(xlabel=f"stated {found.what}", ylabel="what came true", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ax.xaxis.label.set_wrap(True)
        legend_above(ax)

    said = "; ".join(f"{name}: {error:.3f} off on average" for name, error in found.error.items())
    return svg(draw, f"Curves of observed against stated {found.what}. {said}.", "reliability", (4.2, 4.0))


def weights(features: list[Feature]) -> str:
    """The largest weights with their errors over the folds."""
    some = _largest(features, lambda f: None if f.weight is None else abs(f.weight))

    def draw(ax: Any) -> None:
        values, errors = [f.weight for f in some], [f.weight_error for f in some]
        style = {"color": BLUE, "marker": "o", "linestyle": "none", "capsize": 3}
        ax.errorbar(values, range(len(some)), xerr=errors, **style)
        ax.axvline(0, color=INK, linewidth=0.8)
        ax.set_yticks(range(len(some)), [_short(f.name) for f in some])
        ax.set(xlabel="weight of a feature in units of its spread", ylim=(len(some) - 0.5, -0.5))
        ax.grid(axis="x", color=GREY, alpha=0.25)

    said = ", ".join(f"{f.name} {f.weight:.2g} ± {f.weight_error:.1g}" for f in some)
    return svg(
        draw, f"Points with error bars: weights of the linear model: {said}.", "weights", _height(some)
    )


def what_if(found: Report) -> str:
    """The score against the factor of all bars."""
    curve = found.what_if
    assert curve is not None

    def draw(ax: Any) -> None:
        draw_what_if(ax, curve, found.measure)

    pairs = zip(curve.factors, curve.scores, strict=True)
    said = ", ".join(f"{factor:g} times: {score:.3g}" for factor, score in pairs)
    return svg(draw, f"Curve of {found.measure} against the size of all error bars. {said}.", "what-if")


def gains(features: list[Feature], measure: str) -> str:
    """What halving the bars of one feature would gain."""
    some = _largest(features, lambda f: f.gain)

    def draw(ax: Any) -> None:
        style = {"color": BLUE, "marker": "o", "linestyle": "none", "capsize": 3}
        errors = [f.gain_error for f in some]
        ax.errorbar([f.gain for f in some], range(len(some)), xerr=errors, **style)
        ax.axvline(0, color=INK, linewidth=0.8)
        ax.set_yticks(range(len(some)), [_short(f.name) for f in some])
        ax.set(xlabel=f"fall of {measure} if its bars were halved", ylim=(len(some) - 0.5, -0.5))
        ax.grid(axis="x", color=GREY, alpha=0.25)

    said = ", ".join(f"{f.name} {f.gain:.2g} ± {f.gain_error:.1g}" for f in some)
    return svg(draw, f"Points with error bars: gain by halved error bars: {said}.", "gains", _height(some))


def _largest(features: list[Feature], size: Callable[[Feature], float | None]) -> list[Feature]:
    known = [f for f in features if size(f) is not None]
    return sorted(known, key=lambda f: -float(size(f) or 0.0))[:SHOWN]


def _height(some: list[Any]) -> tuple[float, float]:
    return 4.6, 0.9 + 0.26 * max(2, len(some))


def _short(name: str) -> str:
    shown = " ".join(name.split()) or "(no name)"
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"


def _wrapped(name: str) -> str:
    head, _, rest = name.partition(", ")
    return f"{head},\n{rest}" if rest else name
