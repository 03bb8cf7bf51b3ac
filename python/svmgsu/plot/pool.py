"""The members of a pool: how good each is on held-out samples, and what it weighs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .style import BLUE, GREY, ORANGE, last_step, legend, own_axes


def pool(model: Any, ax: Any = None) -> Any:
    """Draw the held-out loss of each member of a pool, and beside it the weights.

    Parameters
    ----------
    model : fitted GSUClassifier or GSURegressor
        Or a pipeline that ends with one.
    ax : matplotlib axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    axes

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
    ax = own_axes((8.4, 0.8 + 0.32 * len(order))) if ax is None else ax
    ax.plot(summary.losses[order], rows, "o", color=BLUE, label="a member")
    ax.axvline(summary.loss, color=GREY, linestyle="--", label="the pool")
    ax.set_yticks(rows, [summary.members[m] for m in order])
    ax.set_xlabel("held-out log-loss" if hasattr(last, "classes_") else "held-out mean squared error")
    if not hasattr(last, "classes_"):
        ax.set_xscale("log")
    ax.margins(x=0.08)
    beside = ax.inset_axes((1.08, 0, 0.35, 1), sharey=ax)
    beside.barh(rows + 0.18, summary.weights[order], 0.34, color=ORANGE)
    style = {"facecolor": "none", "edgecolor": GREY, "hatch": "///"}
    beside.barh(rows - 0.18, summary.fallback_weights[order], 0.34, **style)
    beside.tick_params(labelleft=False)
    beside.set_xlabel("weight (hatched:\nunlike uncertainties)")
    legend(ax)
    return ax
