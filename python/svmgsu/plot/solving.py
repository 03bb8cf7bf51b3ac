"""Pictures of what is minimised, and of the way to the minimum."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..support.validation import FloatArray
from .style import BLUE, VERMILLION, last_step, legend_above, own_axes


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
