"""Pictures: uncertain data with the boundaries they lead to, the loss, and a solver's way to the optimum."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

from . import reference
from .gaussians import Gaussians
from .model import Model
from .validation import Array, FloatArray, is_sparse

# Okabe and Ito's palette, which colour-blind readers can tell apart.
BLUE, VERMILLION, GREEN, ORANGE, PURPLE = "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7"
GREY = "#595959"
CLASS_STYLES = ((BLUE, "o"), (VERMILLION, "s"))


def boundary(
    model: Model,
    data: Gaussians,
    y: Any,
    ax: Any = None,
    *,
    mass: float = 0.5,
    other: Model | None = None,
    labels: tuple[str, str] = ("SVM-GSU", "SVM"),
) -> Any:
    """Draws examples of two features and the boundary that a model puts between them.

    Parameters
    ----------
    model : Model
        Its boundary is solid, its margins (decision values of -1 and 1) are dotted.
    data : Gaussians of shape (l, 2)
        Each example is its mean and the ellipse that holds `mass` of its probability.
    y : array of shape (l,)
        Labels, of the classes the model knows.
    ax : matplotlib Axes, optional
        Where to draw; by default new axes of equal scale.
    mass : float in (0, 1), default=0.5
    other : Model, optional
        A second model to compare with; its boundary is dashed.
    labels : (str, str)
        Names of the two models in the legend.

    Returns
    -------
    matplotlib Axes
    """
    _check_two_classes(model)
    if data.shape[1] != 2:
        raise ValueError(f"data: only examples of 2 features can be drawn, got {data.shape[1]}")
    if not 0 < mass < 1:
        raise ValueError(f"mass: must be between 0 and 1, got {mass!r}")
    classes = np.asarray(y)
    if classes.shape != (len(data),):
        raise ValueError(f"y: shape {classes.shape} for {len(data)} examples")
    unknown = np.flatnonzero(~np.isin(classes, model.classes_))
    if len(unknown):
        found = classes[unknown[0]]
        raise ValueError(
            f"y: example {unknown[0]} is of class {found}; the model knows {model.classes_.tolist()}"
        )
    ax = _own_axes((5.6, 4.6), equal=True) if ax is None else ax

    mean = np.asarray(data.mean.toarray() if is_sparse(data.mean) else data.mean, dtype=float)
    full = None if data.cov is None else data.cov.to_full(len(data), 2, classes)
    for label, (colour, marker) in zip(model.classes_.tolist(), CLASS_STYLES, strict=True):
        rows = np.flatnonzero(classes == label)
        ax.scatter(*mean[rows].T, s=22, color=colour, marker=marker, label=f"class {label}", zorder=3)
        if full is not None:
            for i in rows:
                ax.add_patch(_ellipse(mean[i], full[i], mass, colour))
    ax.autoscale_view()

    view = ax.axis()
    _line(ax, model, 0.0, color="black", linestyle="-", linewidth=1.8, label=labels[0])
    for level in (-1.0, 1.0):
        _line(ax, model, level, color="black", linestyle=":", linewidth=1.1)
    if other is not None:
        _line(ax, other, 0.0, color=GREY, linestyle="--", linewidth=1.8, label=labels[1])
    ax.axis(view)
    above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
    ax.legend(ncols=4, frameon=False, fontsize=9, columnspacing=1.2, **above)
    return ax


def loss(ax: Any = None, s: tuple[float, ...] = (0, 0.25, 0.5, 1)) -> Any:
    """Draws the expected hinge against the margin y(w·x + b), one curve for each uncertainty s = √(wᵀΣw).

    At s = 0 it is the ordinary hinge (paper, Fig. 2c).
    """
    ax = _own_axes((5.6, 3.8)) if ax is None else ax
    margin = np.linspace(-1, 3, 401)
    styles = ("-", "--", "-.", ":")
    colours = ("black", BLUE, GREEN, VERMILLION, PURPLE, ORANGE)
    for i, uncertainty in enumerate(s):
        value = reference.expected_hinge(1 - margin, np.full_like(margin, uncertainty))[0]
        name = "s = 0 (hinge)" if uncertainty == 0 else f"s = {uncertainty:g}"
        ax.plot(margin, value, color=colours[i % len(colours)], linestyle=styles[i % len(styles)], label=name)
    ax.set(xlabel="margin  y (w·x + b)", ylabel="expected hinge", xlim=(margin[0], margin[-1]))
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    return ax


def convergence(model: Model, ax: Any = None) -> Any:
    """Draws the objective and its proven gap to the optimum against passes over the data."""
    _check_two_classes(model)
    if not model.history_:
        raise ValueError("model: it has no history; a model read from a file has none")
    ax = _own_axes((5.6, 3.8)) if ax is None else ax
    passes = _column(model, "passes")
    for name, label, colour, marker in (
        ("objective", "objective", BLUE, "o"),
        ("gap", "gap: objective − optimum is at most this", VERMILLION, "s"),
    ):
        value = _column(model, name)
        known = np.isfinite(value) & (value > 0)
        ax.plot(passes[known], value[known], color=colour, marker=marker, markersize=4, label=label)
    ax.set_yscale("log")
    ax.set(xlabel="passes over the data", ylabel="value (logarithmic)")
    ax.legend(frameon=False)
    return ax


def _check_two_classes(model: Model) -> None:
    if len(model.classes_) > 2:
        raise ValueError(f"model: only models of two classes can be drawn, got {len(model.classes_)}")


def _own_axes(size: tuple[float, float], equal: bool = False) -> Any:
    _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    if equal:
        ax.set_aspect("equal")
    return ax


def _ellipse(center: FloatArray, matrix: Array, mass: float, colour: str) -> Ellipse:
    """Where a 2-D Gaussian has `mass` of its probability; the squared radius is that quantile of χ²(2)."""
    radius = np.sqrt(-2 * np.log1p(-mass))
    variances, axes = np.linalg.eigh(matrix)
    width, height = 2 * radius * np.sqrt(np.maximum(variances, 0))
    angle = np.degrees(np.arctan2(axes[1, 0], axes[0, 0]))
    look = {"facecolor": (colour, 0.13), "edgecolor": (colour, 0.65), "linewidth": 0.9}
    return Ellipse(tuple(center), width, height, angle=angle, **look)


def _line(ax: Any, model: Model, level: float, **style: Any) -> None:
    """The line w·x + b = level; a model with w = 0 has none, and its legend says so."""
    w, b = model.coef_[0], float(model.intercept_[0])
    if len(w) != 2:
        raise ValueError(f"model: only models of 2 features can be drawn, got {len(w)}")
    if not w.any():
        if "label" in style:
            ax.plot([], [], **{**style, "label": f"{style['label']} (w = 0: no boundary)"})
        return
    foot = (level - b) * w / (w @ w)
    ax.axline(foot, foot + np.array([-w[1], w[0]]) / np.linalg.norm(w), **style)


def _column(model: Model, name: str) -> FloatArray:
    return np.array([record[name] for record in model.history_], dtype=float)
