"""Examples of two features, their Gaussians, and the boundaries between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.patches import Ellipse, Patch

from ..data.gaussians import Gaussians, as_gaussians
from ..support.arrays import dense
from ..support.validation import Array, FloatArray
from .style import (
    CLASS_STYLES,
    GREY,
    Hyperplane,
    check_labels,
    decision_values,
    hyperplane,
    is_curved,
    legend_above,
    own_axes,
    sides,
)

STEPS = 150  # of the grid that a curved boundary is found on


def boundary(
    model: Any,
    data: Any,
    y: Any,
    ax: Any = None,
    *,
    mass: float = 0.5,
    other: Any = None,
    labels: tuple[str, str] = ("SVM-GSU", "SVM"),
    class_: Any = None,
    names: tuple[str, str] | None = None,
) -> Any:
    """Draws examples of two features and the boundary that a model puts between them.

    Parameters
    ----------
    model : Model, estimator or pipeline that ends with one
        Its boundary is solid, and its margins, if it is linear (decision values of -1 and 1), are dotted. A
        nonlinear one (`GSUClassifier`) is drawn of two classes, for objects known exactly.
    data : Gaussians of shape (l, 2)
        Each example is its mean and the ellipse that holds `mass` of its probability.
    y : array of shape (l,)
        Labels, of the classes the model knows.
    ax : matplotlib Axes, optional
        Where to draw; by default new axes of equal scale.
    mass : float in (0, 1), default=0.5
    other : a second model, optional
        To compare with, as the SVM trained on the means; its boundary is dashed.
    labels : (str, str)
        Names of the two models in the legend.
    class_ : label, optional
        The class to set against all others, needed if the model has more than two; or a pair of classes,
        the second positive, where it has a hyperplane for each pair ("ovo").
    names : (str, str), optional
        Labels of the two axes; by default the feature names of the data, or of the model.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X, y = np.array([[-1.0, 0.5], [-2.0, 0.0], [1.0, -0.5], [2.0, 0.0]]), ["a", "a", "b", "b"]
    >>> data = svmgsu.Gaussians(X, std=[[0.2, 0.9]] * 4)
    >>> gsu, svm = svmgsu.train(data, y), svmgsu.train(X, y)
    >>> ax = svmgsu.plot.boundary(gsu, data, y, other=svm, mass=0.9, names=("mass, kg", "length, m"))
    >>> len(ax.patches)
    4
    """
    data = as_gaussians(data)
    if data.shape[1] != 2:
        raise ValueError(f"data: only examples of 2 features can be drawn, got {data.shape[1]}")
    if not 0 < mass < 1:
        raise ValueError(f"mass: must be between 0 and 1, got {mass!r}")
    plane = _plane(model, class_, "model") if not is_curved(model) else sides(model)
    rival = None
    if other is not None and not is_curved(other):
        rival = _plane(other, class_, "other")
    classes = check_labels(y, len(data), model)
    about = plane.is_about(classes)
    if not about.all():
        data, classes = data[about], classes[about]
    ax = own_axes((5.6, 4.6), equal=True) if ax is None else ax

    _draw_examples(ax, plane, data, classes, mass)
    view = ax.axis()
    if not is_curved(model):
        _line(ax, plane, 0.0, color="black", linestyle="-", linewidth=1.8, label=labels[0])
        for level in (-1.0, 1.0):
            _line(ax, plane, level, color="black", linestyle=":", linewidth=1.1)
    else:
        _curve(ax, model, view, data, color="black", linestyle="-", linewidth=1.8, label=labels[0])
    if rival is not None:
        _line(ax, rival, 0.0, color=GREY, linestyle="--", linewidth=1.8, label=labels[1])
    elif other is not None:
        _curve(ax, other, view, data, color=GREY, linestyle="--", linewidth=1.8, label=labels[1])
    ax.axis(view)
    xlabel, ylabel = _axis_names(model, data) if names is None else names
    ax.set(xlabel=xlabel, ylabel=ylabel)
    _legend(ax, None if data.cov is None else mass)
    return ax


def _axis_names(model: Any, data: Gaussians) -> list[str]:
    """Return the names of the two features, of the data or of the model."""
    known = data.feature_names_in_
    if known is None:
        known = getattr(model, "feature_names_in_", None)
    return ["feature 1", "feature 2"] if known is None else [str(name) for name in known]


def _plane(model: Any, class_: Any, name: str) -> Hyperplane:
    plane = hyperplane(model, class_, name)
    if len(plane.w) != 2:
        raise ValueError(f"{name}: only models of 2 features can be drawn, got {len(plane.w)}")
    return plane


def _curve(ax: Any, model: Any, view: Any, data: Any, **style: Any) -> None:
    """Where the decision values of a curved model are 0, of objects that are known exactly."""
    x, y = np.linspace(view[0], view[1], STEPS), np.linspace(view[2], view[3], STEPS)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    values, _ = decision_values(model, Gaussians(grid, feature_names=data.feature_names_in_))
    look = {
        "colors": [style["color"]],
        "linestyles": [style["linestyle"]],
        "linewidths": [style["linewidth"]],
    }
    if values.min() < 0 < values.max():
        ax.contour(x, y, values.reshape(STEPS, STEPS), levels=[0.0], **look)
    ax.plot([], [], **style)  # the legend's


def _draw_examples(ax: Any, plane: Hyperplane, data: Any, classes: Array, mass: float) -> None:
    mean = dense(data.mean).astype(float)
    full = None if data.cov is None else data.cov.to_full(len(data), 2, classes)
    positive = classes == plane.positive
    for side, name, (colour, marker) in zip((False, True), plane.names, CLASS_STYLES, strict=True):
        rows = np.flatnonzero(positive == side)
        ax.scatter(*mean[rows].T, s=22, color=colour, marker=marker, label=name, zorder=3)
        if full is not None:
            for i in rows:
                ax.add_patch(ellipse(mean[i], full[i], mass, colour))
    ax.autoscale_view()


def ellipse(center: FloatArray, matrix: Array, mass: float, colour: str) -> Ellipse:
    """Where a 2-D Gaussian has `mass` of its probability; the squared radius is that quantile of χ²(2)."""
    radius = np.sqrt(-2 * np.log1p(-mass))
    variances, axes = np.linalg.eigh(matrix)
    width, height = 2 * radius * np.sqrt(np.maximum(variances, 0))
    angle = np.degrees(np.arctan2(axes[1, 0], axes[0, 0]))
    look = {"facecolor": (colour, 0.13), "edgecolor": (colour, 0.65), "linewidth": 0.9}
    return Ellipse(tuple(center), width, height, angle=angle, **look)


def _line(ax: Any, plane: Hyperplane, level: float, **style: Any) -> None:
    """The line w·x + b = level; a model with w = 0 has none, and its legend says so."""
    w = plane.w
    if not w.any():
        if "label" in style:
            ax.plot([], [], **{**style, "label": f"{style['label']} (w = 0: no boundary)"})
        return
    foot = (level - plane.b) * w / (w @ w)
    ax.axline(foot, foot + np.array([-w[1], w[0]]) / np.linalg.norm(w), **style)


def _legend(ax: Any, mass: float | None) -> None:
    """Classes in the first column, models in the second, then what an ellipse is."""
    handles, names = ax.get_legend_handles_labels()
    if mass is not None:
        handles.append(Patch(facecolor=(GREY, 0.13), edgecolor=(GREY, 0.65)))
        names.append(f"{100 * mass:g} % of an example")
    legend_above(ax, handles, names, ncols=3)
