"""Figures of predictions: against targets, and as one feature and its uncertainty change."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from ..data.covariances import Full
from ..data.gaussians import Gaussians, as_gaussians
from ..support.validation import ArrayLike, as_float_array, check_count, check_finite
from .style import (
    BLUE,
    CYCLE,
    GREY,
    Look,
    Model,
    choose_class,
    classes_of,
    feature_names,
    last_step,
    legend,
    own_axes,
    quietly,
    transformed,
)

SAMPLES = 200  # that are averaged over, at most
QUANTILES = (0.5, 0.95)  # of the feature's standard errors: those that are drawn beside 0 by default


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
    y : array of shape (l,)
        Targets.
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
    ax.plot(ends, ends, color=GREY, linestyle="--", linewidth=1.1, label="predicted = target", zorder=1)
    look: Look = {
        "color": BLUE,
        "marker": "o",
        "markersize": 3,
        "linestyle": "none",
        "elinewidth": 0.8,
        "alpha": 0.6,
    }
    label = f"{len(targets)} samples" + " ± std" * (std is not None or y_std is not None)
    xerr = None if y_std is None else as_float_array(y_std, "y_std", (0, 1))
    ax.errorbar(targets, values, yerr=std, xerr=xerr, label=label, **look)
    ax.set(xlabel="target", ylabel="predicted")
    legend(ax)
    return ax


def partial_dependence(
    model: Model,
    X: ArrayLike,
    feature: int | str,
    ax: Axes | None = None,
    *,
    std: ArrayLike = None,
    class_: object = None,
    points: int = 40,
    random_state: int = 0,
) -> Axes:
    """Draw the mean prediction as one feature changes, a line for each size of its standard error.

    Every sample is given the value and the standard error in turn; the other features stay as they were
    measured. Where the lines differ the uncertainty matters: a noisy value says less, and predictions fall
    back on the other features and the population.

    Parameters
    ----------
    model : estimator
        Fitted `GSUClassifier` or `GSURegressor`, or any whose `predict_proba` or `predict` takes `Gaussians`.
    X : Gaussians
        Samples to average over; of many 200 are drawn.
    feature : int or str
        The feature, by position or name.
    ax : matplotlib axes, optional
        By default new axes.
    std : list of float, optional
        Standard errors of the feature, 0 for an exact value; by default 0 and quantiles of those in X.
    class_ : label, optional
        The class whose probability is shown; by default the last one.
    points : int, default=40
        Values of the feature.
    random_state : int, default=0
        Seed of the samples drawn.
    """
    data = as_gaussians(X)
    names = feature_names(model, data)
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"feature: there is no {feature!r} among the features, {', '.join(names)}")
        j = names.index(feature)
    else:
        j = check_count(feature, "feature", least=0, most=data.shape[1] - 1)
    values = np.asarray(data.mean[:, j], dtype=np.float64)
    errors = np.zeros(len(data)) if data.cov is None else np.sqrt(data.cov.diagonals(*data.shape)[:, j])
    if std is None:
        sizes = sorted({0.0, *map(float, np.quantile(errors, QUANTILES))})
    else:
        sizes = [float(size) for size in np.atleast_1d(np.asarray(std, dtype=np.float64))]
        if not sizes or not all(0 <= size < np.inf for size in sizes) or len(sizes) > len(CYCLE):
            raise ValueError(f"std: expected up to {len(CYCLE)} finite numbers >= 0, got {std!r}")
    if hasattr(model, "predict_proba"):
        classes = classes_of(model)
        label = choose_class(classes, classes[-1] if class_ is None else class_)
        what = f"mean probability of class {label}"
    elif class_ is not None:
        raise ValueError("class_: a regression has no classes")
    else:
        what = "mean prediction"
    rows = np.sort(np.random.default_rng(random_state).permutation(len(data))[:SAMPLES])
    low, high = np.nanquantile(values, [0.01, 0.99]).tolist()
    grid = np.linspace(low, high, check_count(points, "points", least=2))
    ax = own_axes() if ax is None else ax
    curves = []
    for size, (colour, dashes, _) in zip(sizes, CYCLE, strict=False):
        curve = []
        for value in grid:
            changed = _changed(data[rows], j, value, size)
            with quietly():
                if hasattr(model, "predict_proba"):
                    found = model.predict_proba(changed)[:, classes.index(label)]
                else:
                    found = model.predict(changed)
            curve.append(np.mean(found))
        curves.append(curve)
        name = "exact" if size == 0 else f"std {size:.3g}"
        ax.plot(grid, curve, color=colour, linestyle=dashes, label=name)
    ax.fill_between(grid, np.min(curves, axis=0), np.max(curves, axis=0), color="0.9", linewidth=0)
    ticks = values[rows][(values[rows] >= grid[0]) & (values[rows] <= grid[-1])]
    ax.plot(ticks, np.full(len(ticks), 0.015), "|", color=GREY, transform=ax.get_xaxis_transform())
    ax.set(xlabel=names[j], ylabel=what)
    legend(ax)
    return ax


def _changed(data: Gaussians, j: int, value: float, size: float) -> Gaussians:
    """Return samples with another value and standard error of feature j; correlations stay."""
    count, n = data.shape
    mean = np.array(data.mean, dtype=np.float64)
    mean[:, j] = value
    matrices = np.zeros((count, n, n)) if data.cov is None else np.array(data.cov.to_full(count, n))
    own = np.sqrt(np.maximum(matrices[:, j, j], 0.0))
    factor = np.where(own > 0, size / np.where(own > 0, own, 1.0), 0.0)[:, np.newaxis]
    matrices[:, j, :] *= factor
    matrices[:, :, j] *= factor
    matrices[:, j, j] = size**2
    return Gaussians(mean, Full(matrices), feature_names=data.feature_names_in_)
