"""Figures of training: the way to the optimum."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from .style import BLUE, VERMILLION, Model, last_step, legend, own_axes


def convergence(model: Model, ax: Axes | None = None, *, against: str = "passes") -> Axes:
    """Draw the objective and its proven gap to the optimum, on a logarithmic scale.

    Parameters
    ----------
    model : linear model
        Trained here: a model from a file has no history.
    ax : matplotlib Axes, optional
        By default new axes.
    against : {"passes", "seconds"}
        Passes over the data, or time (in milliseconds if it is less than one second).

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
        raise ValueError("model: it has a history for each binary subproblem; pass the model of two classes")
    columns = {name: np.array([record[name] for record in history]) for name in (against, "objective", "gap")}
    where = columns[against].astype(float)
    unit = "passes over the data"
    if against == "seconds":
        where, unit = (1000 * where, "time, ms") if where.max() < 1 else (where, "time, s")
    ax = own_axes() if ax is None else ax
    for name, label, colour, marker in (
        ("objective", "objective", BLUE, "o"),
        ("gap", "gap: proven distance to the optimum", VERMILLION, "s"),
    ):
        value = columns[name].astype(float)
        known = np.isfinite(value) & (value > 0)
        ax.plot(where[known], value[known], color=colour, marker=marker, markersize=4, label=label)
    ax.set_yscale("log")
    ax.set(xlabel=unit, ylabel="value (logarithmic)")
    legend(ax)
    return ax
