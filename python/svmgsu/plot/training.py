"""Figures of training: the way to the optimum, members of a pool."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .style import BLUE, GREY, ORANGE, VERMILLION, Look, Model, last_step, legend, own_axes


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


def pool(model: Model, ax: Axes | None = None) -> Axes:
    """Draw the held-out loss of each member of a pool, and beside it the weights.

    Parameters
    ----------
    model : fitted GSUClassifier or GSURegressor
        Or a pipeline that ends with one.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Notes
    -----
    Points are losses of the members, the line is that of the pool. Bars are weights: full for samples like
    those of the training set, hatched for samples whose standard errors are unlike those.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> model = svmgsu.GSUClassifier(n_frequencies=5).fit(X, X[:, 0] > 0, std=0.1)
    >>> svmgsu.plot.pool(model).get_xlabel()
    'held-out log-loss'
    """
    last = last_step(model)
    summary = getattr(last, "pool_", None)
    if summary is None:
        raise ValueError(f"model: expected a fitted GSUClassifier or GSURegressor, got {model!r}")
    order = np.argsort(-summary.losses, kind="stable")
    rows = np.arange(len(order))
    if ax is None:
        ax = own_axes((9.2, 0.8 + 0.32 * len(order)))
        assert isinstance(ax.figure, Figure)
        ax.figure.set_layout_engine("constrained", rect=(0, 0, 0.87, 1))  # the weights are on the right
    ax.plot(summary.losses[order], rows, "o", color=BLUE, label="a member")
    ax.axvline(summary.loss, color=GREY, linestyle="--", label="the pool")
    ax.set_yticks(rows, [summary.members[m] for m in order])
    ax.set_xlabel("held-out log-loss" if hasattr(last, "classes_") else "held-out mean squared error")
    if not hasattr(last, "classes_"):
        ax.set_xscale("log")
    ax.margins(x=0.08)
    beside = ax.inset_axes((1.08, 0, 0.35, 1), sharey=ax)
    beside.barh(rows + 0.18, summary.weights[order], 0.34, color=ORANGE)
    style: Look = {"facecolor": "none", "edgecolor": GREY, "hatch": "///"}
    beside.barh(rows - 0.18, summary.fallback_weights[order], 0.34, **style)
    beside.tick_params(labelleft=False)
    beside.spines[["top", "right"]].set_visible(False)
    beside.set_xlabel("weight (hatched:\nother uncertainties)")
    legend(ax)
    return ax
