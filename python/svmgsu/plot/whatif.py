"""How good a model would be if error bars were smaller or larger."""

from __future__ import annotations

from typing import Any

import numpy as np

from .style import BLUE, GREY, VERMILLION, legend_above, own_axes


def what_if(report: Any, ax: Any = None) -> Any:
    """Draws the score against the size of the error bars: where better measurements pay.

    Parameters
    ----------
    report : Report
        What `svmgsu.report` returned, of data with error bars. Factors above 1 were measured, with noise
        added to held-out objects; those below 1 are a model's, drawn dashed.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 60)
    >>> X = rng.normal(size=(120, 2)) + 2.0 * y[:, np.newaxis]
    >>> found = svmgsu.report(X, y, std=0.5, quick=True)
    >>> svmgsu.plot.what_if(found).get_xlabel()
    'error bars, times what they are'
    """
    curve = getattr(report, "what_if", None)
    if curve is None:
        raise ValueError("report: it has no what-if curve; expected a report of data with error bars")
    ax = own_axes() if ax is None else ax
    draw_what_if(ax, curve, report.measure)
    return ax


def draw_what_if(ax: Any, curve: Any, measure: str) -> None:
    """Draws a curve on axes."""
    factors, scores, errors = (np.array(v) for v in (curve.factors, curve.scores, curve.errors))
    measured = np.array(curve.measured)
    ax.fill_between(factors, scores - errors, scores + errors, color=BLUE, alpha=0.18, linewidth=0)
    modelled = factors <= 1
    if modelled.sum() > 1:
        ax.plot(factors[modelled], scores[modelled], color=BLUE, linestyle="--", marker="o", label="modelled")
    if measured.any():
        ax.plot(factors[measured], scores[measured], color=BLUE, linestyle="-", marker="s", label="measured")
    now = factors == 1
    style = {"color": VERMILLION, "marker": "D", "markersize": 8, "linestyle": "none", "zorder": 4}
    ax.plot(factors[now], scores[now], label="now", **style)
    ax.axvline(1, color=GREY, linewidth=0.8)
    ax.set(xlabel="error bars, times what they are", ylabel=f"{measure} (less is better)")
    legend_above(ax, ncols=3)
