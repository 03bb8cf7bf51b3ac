"""Figures of regressions: predictions against targets."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from ..data.gaussians import as_gaussians
from ..support.validation import ArrayLike, as_float_array, check_finite
from .style import BLUE, GREY, Look, Model, last_step, legend, own_axes, transformed


def predictions(
    model: Model, X: ArrayLike, y: ArrayLike, ax: Axes | None = None, *, y_std: ArrayLike = None
) -> Axes:
    """Draw the values that a regression predicts against the targets, with the uncertainties of both.

    Parameters
    ----------
    model : regressor
        Fitted.
    X : Gaussians or array of shape (l, n)
        Samples. With covariances, predictions have standard deviations.
    y : array or Series of shape (l,)
        Targets; the name of a Series is the label of the axis.
    ax : matplotlib Axes, optional
        By default new axes.
    y_std : float or array of shape (l,), optional
        Standard errors of the targets.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> data, y = svmgsu.Gaussians(X, std=0.2), X @ [1.0, -2.0]
    >>> svmgsu.plot.predictions(svmgsu.LinearSVRGSU().fit(data, y), data, y).get_xlabel()
    'target'
    """
    data = as_gaussians(X)
    name = getattr(y, "name", None) or "target"
    targets = as_float_array(y, "y", (1,)).astype(np.float64)
    check_finite(targets, "y")
    if len(targets) != len(data):
        raise ValueError(f"y: {len(targets)} targets for {len(data)} samples")
    last = last_step(model)
    seen = transformed(model, data)
    std = None
    if data.cov is None:
        values = np.asarray(last.predict(seen))
    else:
        values, std = last.predict(seen, return_std=True)
    ax = own_axes((4.6, 4.4)) if ax is None else ax
    ends = [min(values.min(), targets.min()), max(values.max(), targets.max())]
    ax.plot(ends, ends, color=GREY, linestyle="--", linewidth=1.1, label=f"predicted = {name}", zorder=1)
    look: Look = {"color": BLUE, "marker": "o", "markersize": 3, "linestyle": "none", "ecolor": (BLUE, 0.3)}
    label = f"{len(targets)} samples" + " ± std" * (std is not None or y_std is not None)
    xerr = None if y_std is None else as_float_array(y_std, "y_std", (0, 1))
    ax.errorbar(targets, values, yerr=std, xerr=xerr, elinewidth=0.8, label=label, **look)
    ax.set(xlabel=str(name), ylabel=f"predicted {name}")
    legend(ax)
    return ax
