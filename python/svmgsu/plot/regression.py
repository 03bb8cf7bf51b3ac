"""What a regression predicts against what is true, with error bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.gaussians import as_gaussians
from ..support.validation import as_float_array, check_finite
from .style import BLUE, GREY, last_step, legend, own_axes


def predictions(model: Any, data: Any, y: Any, ax: Any = None, *, y_std: Any = None) -> Any:
    """Draws the values that a regression predicts against the targets, with error bars of both.

    Parameters
    ----------
    model : RegressionModel, estimator (`LinearSVRGSU`, `SVRGSU`) or pipeline that ends with one
    data : Gaussians or array of shape (l, n)
        With covariances, values have the error bars that these make, √(wᵀΣw).
    y : array of shape (l,)
        The targets.
    ax : matplotlib Axes, optional
    y_std : float or array of shape (l,), optional
        Errors of the targets.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> data, y = svmgsu.Gaussians(X, std=0.2), X @ [1.0, -2.0]
    >>> svmgsu.plot.predictions(svmgsu.train(data, y, loss="squared"), data, y).get_xlabel()
    'target'
    """
    data = as_gaussians(data)
    targets = as_float_array(y, "y", (1,)).astype(np.float64)
    check_finite(targets, "y")
    if len(targets) != len(data):
        raise ValueError(f"y: {len(targets)} targets for {len(data)} examples")
    known = data.cov is not None
    last = last_step(model)
    seen = data if last is model else model[:-1].transform(data)
    values, std = last.predict(seen, return_std=True) if known else (last.predict(seen), None)
    ax = own_axes((4.6, 4.4)) if ax is None else ax
    ends = [min(values.min(), targets.min()), max(values.max(), targets.max())]
    ax.plot(ends, ends, color=GREY, linestyle="--", linewidth=1.1, label="predicted = target", zorder=1)
    style = {
        "color": BLUE,
        "marker": "o",
        "markersize": 3,
        "linestyle": "none",
        "elinewidth": 0.8,
        "alpha": 0.6,
    }
    bars = "± error bars" if known or y_std is not None else ""
    ax.errorbar(
        targets, values, yerr=std, xerr=y_std, label=f"{len(targets)} examples {bars}".strip(), **style
    )
    ax.set(xlabel="target", ylabel="predicted")
    legend(ax, fontsize=9)
    return ax
