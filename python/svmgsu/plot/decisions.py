"""Decision values of uncertain examples as a histogram with error bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..data.gaussians import Gaussians, as_gaussians
from ..models.classifier import probability_right
from ..support.validation import Array, FloatArray, as_float_array, check_count
from .style import (
    CLASS_STYLES,
    GREY,
    Hyperplane,
    check_labels,
    decision_values,
    hyperplane,
    is_curved,
    legend,
    own_axes,
    sides,
)


def histogram(model: Any, data: Any, y: Any, ax: Any = None, *, bins: Any = 30, class_: Any = None) -> Any:
    """Draws how the decision values of both classes are distributed, with error bars from the uncertainty.

    An example N(x, Σ) has the decision value N(w·x + b, wᵀΣw), so it is in each bin with a certain
    probability. Drawn are the expected number of examples in each bin and, as an error bar, that number's
    standard deviation, both exact. Without covariances it is the ordinary histogram.

    Parameters
    ----------
    model : Model, estimator or pipeline that ends with one
        For a nonlinear one (`GSUClassifier`) decision values are log-odds.
    data : Gaussians or array of shape (l, n)
    y : array of shape (l,)
        Labels, of the classes the model knows.
    ax : matplotlib Axes, optional
    bins : int or array of edges, default=30
        A number is that of bins between the smallest and the greatest value, with some room for their spread.
    class_ : label, optional
        The class to set against all others, needed if the model has more than two; or a pair of classes,
        the second positive, where it has a hyperplane for each pair ("ovo").

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> y = np.repeat(["no", "yes"], 30)
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) + 2.0 * (y == "yes")[:, np.newaxis]
    >>> data = svmgsu.Gaussians(X, std=0.5)
    >>> svmgsu.plot.histogram(svmgsu.train(data, y), data, y, bins=12).get_xlabel()
    'decision value  w·x + b'
    """
    data = as_gaussians(data)
    curved = is_curved(model)
    plane = sides(model) if curved else hyperplane(model, class_)
    if not curved and data.shape[1] != len(plane.w):
        raise ValueError(f"data: {data.shape[1]} features, but the model has {len(plane.w)}")
    labels = check_labels(y, len(data), model)
    about = plane.is_about(labels)
    if not about.all():
        data, labels = data[about], labels[about]
    mean, std = decision_values(model, data) if curved else _decision_values(plane, data, labels)
    edges = _edges(bins, mean, std)
    centres, width = (edges[:-1] + edges[1:]) / 2, np.diff(edges)
    ax = own_axes() if ax is None else ax
    positive = labels == plane.positive
    bars = "examples ± standard deviation" if std.any() else "examples"
    for side, name, shift, (colour, marker) in zip(
        (False, True), plane.names, (-0.13, 0.13), CLASS_STYLES, strict=True
    ):
        number, deviation = _expected_counts(mean[positive == side], std[positive == side], edges)
        ax.stairs(number, edges, fill=True, color=colour, alpha=0.22)
        ax.stairs(number, edges, color=colour, linewidth=1.4, linestyle="-" if side else "--")
        style = {"color": colour, "marker": marker, "markersize": 3, "linestyle": "none", "elinewidth": 1.0}
        shown = deviation if std.any() else None
        ax.errorbar(centres + shift * width, number, shown, label=name, **style)
    ax.axvline(0, color="black", linewidth=1.4, label="boundary")
    for level in () if curved else (-1, 1):
        ax.axvline(level, color=GREY, linestyle=":", linewidth=1.1, label="margins" if level == 1 else None)
    ax.set(
        xlabel="decision value" if curved else "decision value  w·x + b",
        ylabel=bars,
        xlim=(edges[0], edges[-1]),
    )
    ax.set_ylim(bottom=0)
    legend(ax, fontsize=9)
    return ax


def _decision_values(plane: Hyperplane, data: Gaussians, y: Array) -> tuple[FloatArray, FloatArray]:
    """Means and standard deviations."""
    w = np.ascontiguousarray(plane.w, dtype=np.float64)
    mean, variance = _core.margins(data.core(y), w[np.newaxis], 1)
    return mean[:, 0] + plane.b, np.sqrt(variance[:, 0])


def _edges(bins: Any, mean: FloatArray, std: FloatArray) -> FloatArray:
    if np.ndim(bins) == 0:
        room = 2 * np.median(std)
        return np.histogram_bin_edges(mean, check_count(bins, "bins"), (mean.min() - room, mean.max() + room))
    edges = as_float_array(bins, "bins", (1,)).astype(np.float64)
    if len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise ValueError("bins: edges must be at least two numbers that increase")
    return edges


def _expected_counts(mean: FloatArray, std: FloatArray, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the number of examples in each bin, a sum of independent events."""
    number, variance = np.empty(len(edges) - 1), np.empty(len(edges) - 1)
    below = _probability_below(mean, std, edges[0])
    for k, edge in enumerate(edges[1:]):
        last = k == len(edges) - 2  # as in np.histogram, the last bin has its right edge
        until = _probability_below(mean, std, np.nextafter(edge, np.inf) if last else edge)
        inside = until - below
        number[k], variance[k] = inside.sum(), (inside * (1 - inside)).sum()
        below = until
    return number, np.sqrt(np.maximum(variance, 0))


def _probability_below(mean: FloatArray, std: FloatArray, edge: float) -> FloatArray:
    uncertain = probability_right(edge - mean, std, np.ones_like(mean))
    return np.asarray(np.where(std > 0, uncertain, mean < edge), dtype=np.float64)
