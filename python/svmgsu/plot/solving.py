"""Pictures of what is minimised, and of the way to the minimum."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import reference
from ..support.validation import FloatArray
from .style import BLUE, CYCLE, VERMILLION, last_step, legend, legend_above, own_axes


def loss(ax: Any = None, s: tuple[float, ...] = (0, 0.25, 0.5, 1)) -> Any:
    """Draws the expected hinge against the margin y(w·x + b), a curve for each uncertainty (paper, Fig. 2c).

    Parameters
    ----------
    ax : matplotlib Axes, optional
    s : tuple of float
        Uncertainties √(wᵀΣw) of the decision value. At s = 0 the loss is the ordinary hinge.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import svmgsu
    >>> len(svmgsu.plot.loss(s=(0, 0.5, 1)).get_lines())
    3
    """
    wrong = [value for value in s if not (value >= 0 and np.isfinite(value))]
    if wrong:
        raise ValueError(f"s: {wrong[0]!r} is not an uncertainty; standard deviations must be >= 0")
    ax = own_axes() if ax is None else ax
    margin = np.linspace(-1, 3, 401)
    for i, uncertainty in enumerate(s):
        value = reference.expected_hinge(1 - margin, np.full_like(margin, uncertainty))[0]
        colour, dashes, _ = CYCLE[i % len(CYCLE)]
        name = "s = 0 (hinge)" if uncertainty == 0 else f"s = {uncertainty:g}"
        ax.plot(margin, value, color=colour, linestyle=dashes, linewidth=1.7, label=name)
    ax.set(xlabel="margin  y (w·x + b)", ylabel="expected hinge", xlim=(margin[0], margin[-1]))
    ax.set_ylim(bottom=0)
    legend(ax)
    return ax


def convergence(model: Any, ax: Any = None, *, against: str = "passes") -> Any:
    """Draws the objective and its proven gap to the optimum, on a logarithmic scale.

    Parameters
    ----------
    model : Model, estimator or pipeline that ends with one
        Trained here: a model from a file has no history.
    ax : matplotlib Axes, optional
    against : {"passes", "seconds"}
        What runs to the right: passes over the data, or time (in milliseconds if it is less than one second).

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X, y = np.array([[-1.0], [-2.0], [1.0], [0.5]]), [0, 0, 1, 1]
    >>> svmgsu.plot.convergence(svmgsu.train(X, y, std=0.5), against="seconds").get_xlabel()
    'time, ms'
    """
    if against not in ("passes", "seconds"):
        raise ValueError(f'against: expected "passes" or "seconds", got {against!r}')
    history = getattr(last_step(model), "history_", None)
    if not history:
        raise ValueError("model: it has no history; a model read from a file has none")
    if not isinstance(history[0], dict):
        raise ValueError("model: it has a history for each of its classes; pass the model of one class")
    ax = own_axes() if ax is None else ax
    where, unit = _column(history, against), "passes over the data"
    if against == "seconds":
        where, unit = (1000 * where, "time, ms") if where.max() < 1 else (where, "time, s")
    for name, label, colour, marker in (
        ("objective", "objective", BLUE, "o"),
        ("gap", "gap: proven distance to the optimum", VERMILLION, "s"),
    ):
        value = _column(history, name)
        known = np.isfinite(value) & (value > 0)
        ax.plot(where[known], value[known], color=colour, marker=marker, markersize=4, label=label)
    ax.set_yscale("log")
    ax.set(xlabel=unit, ylabel="value (logarithmic)")
    legend_above(ax)
    return ax


def _column(history: list[dict[str, float]], name: str) -> FloatArray:
    return np.array([record[name] for record in history], dtype=float)
