"""Partial dependence: what a feature does to predictions, and where its error bar matters."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..data.covariances import Full
from ..data.gaussians import Gaussians
from ..exceptions import PopulationWarning
from ..support.validation import FloatArray, check_count
from .style import CYCLE, GREY, legend, own_axes

OBJECTS = 200  # that are averaged over, at the most
QUANTILES = (0.0, 0.5, 0.95)  # of the feature's error bars: those that are drawn by default


def partial_dependence(
    model: Any,
    data: Gaussians,
    feature: int | str,
    *,
    std: Any = None,
    target: Any = None,
    points: int = 40,
    random_state: int = 0,
    ax: Any = None,
) -> Any:
    """The mean prediction as one feature changes, one line for each size of its error bar.

    Every object is given the value and the error bar in turn; the others stay as they were measured, their
    correlations with it too. Where lines lie apart the error bar matters: a blurred value says less, and
    predictions fall back to what the other features and the population say. Shaded is how far apart the
    outer lines are.

    Parameters
    ----------
    model : fitted GSUClassifier or GSURegressor
        Or any estimator whose `predict_proba`, or `predict`, takes `Gaussians`.
    data : Gaussians
        The objects to average over; of many 200 are drawn.
    feature : int or str
    std : list of float, optional
        Sizes of the error bar, 0 for a value that is certain; by default some quantiles of those in `data`.
    target : label, optional
        The class whose probability is shown; by default the last one.
    points : int, default=40
    random_state : int, default=0
        Of the objects drawn.
    ax : matplotlib axes, optional

    Returns
    -------
    axes
    """
    if not isinstance(data, Gaussians):
        raise TypeError(f"data: expected Gaussians, got {type(data).__name__}")
    j, name = _feature(data, feature)
    values = np.asarray(data.mean[:, j], dtype=np.float64)
    bars = np.zeros(len(data))
    if data.cov is not None:
        bars = np.sqrt(np.maximum(data.cov.diagonals(*data.shape)[:, j], 0.0))
    sizes = _sizes(bars, std)
    rows = np.random.default_rng(random_state).permutation(len(data))[:OBJECTS]
    some = data[np.sort(rows)]
    first, last = (float(end) for end in np.quantile(values, [0.01, 0.99]))
    grid = np.linspace(first, last, check_count(points, "points", least=2))
    predict, what = _predictor(model, target)
    curves = np.array([[predict(_changed(some, j, x, size)).mean() for x in grid] for size in sizes])
    ax = own_axes() if ax is None else ax
    if len(sizes) > 1:
        ax.fill_between(grid, curves.min(axis=0), curves.max(axis=0), color="0.9", linewidth=0)
    for size, curve, (colour, dashes, _) in zip(sizes, curves, CYCLE, strict=False):
        words = "certain" if size == 0 else f"error bar {size:.3g}"
        ax.plot(grid, curve, color=colour, linestyle=dashes, label=words)
    ticks = values[rows][(values[rows] >= grid[0]) & (values[rows] <= grid[-1])]
    ax.plot(ticks, np.full(len(ticks), 0.015), "|", color=GREY, transform=ax.get_xaxis_transform())
    ax.set_xlabel(name)
    ax.set_ylabel(what)
    legend(ax)
    return ax


def _feature(data: Gaussians, feature: Any) -> tuple[int, str]:
    names = data.feature_names_in_
    if isinstance(feature, str):
        if names is None or feature not in names:
            known = "which have no names" if names is None else f"which are {', '.join(names)}"
            raise ValueError(f"feature: there is no {feature!r} among the features, {known}")
        return names.index(feature), feature
    j = check_count(feature, "feature", least=0, most=data.shape[1] - 1)
    return j, f"feature {j}" if names is None else names[j]


def _sizes(bars: FloatArray, std: Any) -> list[float]:
    if std is None:
        found = np.quantile(bars, QUANTILES)
        found[0] = 0.0
        return sorted({float(size) for size in found})
    sizes = [float(size) for size in np.atleast_1d(np.asarray(std, dtype=np.float64))]
    if not sizes or not all(0 <= size < np.inf for size in sizes) or len(sizes) > len(CYCLE):
        raise ValueError(f"std: expected up to {len(CYCLE)} finite numbers >= 0, got {std!r}")
    return sizes


def _predictor(model: Any, target: Any) -> tuple[Any, str]:
    """What is drawn of Gaussians, and what it is called."""

    def quietly(predict: Any, data: Gaussians) -> FloatArray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PopulationWarning)  # unusual objects are what is asked for
            return np.asarray(predict(data), dtype=np.float64)

    if not hasattr(model, "predict_proba"):
        if target is not None:
            raise ValueError("target: a regression has no classes")
        return lambda data: quietly(model.predict, data), "mean prediction"
    classes = model.classes_.tolist()
    label = classes[-1] if target is None else target
    if label not in classes:
        raise ValueError(f"target: expected one of {', '.join(map(repr, classes))}, got {target!r}")
    k = classes.index(label)
    return lambda data: quietly(model.predict_proba, data)[:, k], f"mean probability of {label}"


def _changed(data: Gaussians, j: int, value: float, size: float) -> Gaussians:
    """The objects with another value and error bar of feature j; correlations stay."""
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
