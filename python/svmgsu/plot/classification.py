"""Figures of classifiers: boundaries between two features, decision values, reliability."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, ListedColormap
from matplotlib.patches import Patch

from ..data.gaussians import Gaussians, as_gaussians
from ..metrics.reliability import calibration_error, check_probabilities, reliability_bins
from ..support.arrays import dense
from ..support.validation import Array, ArrayLike, FloatArray, as_float_array, check_count
from .style import (
    CLASS_STYLES,
    CYCLE,
    GREY,
    Look,
    Model,
    check_labels,
    choose_class,
    classes_of,
    ellipse,
    feature_names,
    last_step,
    legend,
    own_axes,
    quietly,
    transformed,
)

STEPS = 200  # of the grid on which a boundary is found
Z = 1.96  # of 95 % intervals
_erf = np.frompyfunc(math.erf, 1, 1)


def boundary(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    ax: Axes | None = None,
    *,
    class_: object = None,
    other: Model | None = None,
    labels: tuple[str, str] = ("boundary", "other"),
    mass: float = 0.5,
    proba: bool = True,
    names: tuple[str, str] | None = None,
) -> Axes:
    """Draw samples of two features, the boundary between their classes, and predicted probabilities.

    Parameters
    ----------
    model : classifier
        Fitted. Its boundary, where `predict` changes for samples that are measured exactly, is solid.
    X : Gaussians or array of shape (l, 2)
        Samples: their means, and the ellipses that hold `mass` of their probability.
    y : array of shape (l,)
        Labels.
    ax : matplotlib Axes, optional
        By default new axes, of equal scale if both features have about the same range.
    class_ : label, optional
        A class to draw against all others. By default two classes are drawn against each other, and more than
        two with the regions of all.
    other : classifier, optional
        A model to compare with; its boundary is dashed.
    labels : (str, str)
        Names of the two boundaries in the legend.
    mass : float in (0, 1), default=0.5
        Probability inside an ellipse.
    proba : bool, default=True
        Whether to shade the probability of a class, where the model predicts it.
    names : (str, str), optional
        Labels of the axes; by default the feature names of the data, or of the model.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X, y = np.array([[-1.0, 0.5], [-2.0, 0.0], [1.0, -0.5], [2.0, 0.0]]), ["a", "a", "b", "b"]
    >>> data = svmgsu.Gaussians(X, std=[[0.2, 0.9]] * 4, feature_names=["mass", "length"])
    >>> ax = svmgsu.plot.boundary(svmgsu.train(data, y), data, y, other=svmgsu.train(X, y), mass=0.9)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('mass', 'length')
    """
    data = as_gaussians(X)
    if data.shape[1] != 2:
        raise ValueError(f"X: only samples of 2 features can be drawn, got {data.shape[1]}")
    if not 0 < mass < 1:
        raise ValueError(f"mass: must be between 0 and 1, got {mass!r}")
    classes = classes_of(model)
    truth = check_labels(y, len(data), classes)
    if class_ is not None or len(classes) == 2:
        positive = choose_class(classes, class_)
        shown = _two_sides(classes, positive, truth)
    else:
        positive = None
        shown = {str(label): truth == label for label in classes}
    mean = dense(data.mean).astype(float)
    own = ax is None
    if ax is None:
        # Features in units of their own would leave one of them no room on axes of equal scale.
        width, height = np.ptp(mean, axis=0)
        ax = own_axes((5.6, 4.6), equal=bool(height / 3 < width < 3 * height))
    full = None if data.cov is None else data.cov.to_full(len(data), 2, truth)
    for (name, rows), (colour, marker) in zip(shown.items(), _styles(len(shown)), strict=True):
        look: Look = {"s": 22, "color": colour, "marker": marker, "edgecolors": "white", "linewidths": 0.5}
        ax.scatter(*mean[rows].T, label=name, zorder=3, **look)
        if full is not None:
            for i in np.flatnonzero(rows):
                ax.add_patch(ellipse(mean[i], full[i], mass, colour)).set_zorder(2)
    ax.autoscale_view()
    ax.apply_aspect()
    if own:
        # From here on the limits stay as they are, and the layout may change the size of the axes.
        ax.set_adjustable("box")
    view = ax.axis()
    _draw_regions(ax, model, view, positive, labels[0], proba)
    if other is not None:
        _draw_regions(ax, other, view, positive, labels[1], False, colour=GREY, dashes="--")
    ax.axis(view)
    xlabel, ylabel = feature_names(model, data) if names is None else names
    ax.set(xlabel=xlabel, ylabel=ylabel)
    handles, texts = ax.get_legend_handles_labels()
    if full is not None:
        handles.append(Patch(facecolor=(GREY, 0.13), edgecolor=(GREY, 0.65)))
        texts.append(f"{100 * mass:g} % of a sample")
    legend(ax, handles, texts, loc=_emptiest_corner(mean, view))
    return ax


def _emptiest_corner(points: FloatArray, view: tuple[float, float, float, float]) -> str:
    """Return the corner of the axes that has the fewest points near it."""
    corners = {"lower left": (0, 0), "lower right": (1, 0), "upper left": (0, 1), "upper right": (1, 1)}
    unit = (points - [view[0], view[2]]) / [view[1] - view[0], view[3] - view[2]]
    return min(corners, key=lambda name: int((np.abs(unit - corners[name]) < 0.4).all(axis=1).sum()))


def _two_sides(classes: list[object], positive: object, truth: Array) -> dict[str, Array]:
    """Return which samples are of the other classes and which of the positive one, by name."""
    rest = [label for label in classes if label != positive]
    name = str(rest[0]) if len(rest) == 1 else "other classes"
    return {name: truth != positive, str(positive): truth == positive}


def _styles(count: int) -> list[tuple[str, str]]:
    return [CLASS_STYLES[k % len(CLASS_STYLES)] for k in range(count)]


def _draw_regions(
    ax: Axes,
    model: Model,
    view: tuple[float, float, float, float],
    positive: object,
    label: str,
    proba: bool,
    colour: str = "black",
    dashes: str = "-",
) -> None:
    """Draw where predictions change, and shade probabilities or predicted classes."""
    x = np.linspace(view[0], view[1], STEPS)
    y = np.linspace(view[2], view[3], STEPS)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    classes = classes_of(model)
    look: Look = {"colors": [colour], "linestyles": [dashes], "linewidths": [1.8]}
    with quietly():
        if positive is None:
            scores = np.stack([_scores(model, grid, own)[0] for own in classes])
            if proba:
                colours = ListedColormap([c for c, _ in _styles(len(classes))])
                levels = np.arange(len(classes) + 1) - 0.5
                codes = scores.argmax(axis=0).reshape(STEPS, STEPS)
                ax.contourf(x, y, codes, levels, cmap=colours, alpha=0.12, zorder=0)
            for k in range(len(classes)):
                lead = scores[k] - np.delete(scores, k, axis=0).max(axis=0)
                if lead.min() < 0 < lead.max():
                    ax.contour(x, y, lead.reshape(STEPS, STEPS), [0.0], **look)
        else:
            values, are_probabilities = _scores(model, grid, positive)
            values = values.reshape(STEPS, STEPS)
            middle = 0.5 if are_probabilities else 0.0
            if proba and are_probabilities:
                (low, _), (high, _) = CLASS_STYLES[:2]
                shades = LinearSegmentedColormap.from_list("classes", [low, "white", high])
                image: Look = {"vmin": 0, "vmax": 1, "alpha": 0.35, "zorder": 0, "interpolation": "bilinear"}
                place: Look = {"extent": view, "origin": "lower", "aspect": ax.get_aspect()}
                ax.imshow(values, cmap=shades, **image, **place)
                lines = ax.contour(x, y, values, [0.1, 0.9], colors=GREY, linewidths=0.8, linestyles=":")
                ax.clabel(lines, fmt=lambda level: f"{level:.0%}", fontsize=7)
            if values.min() < middle < values.max():
                ax.contour(x, y, values, [middle], **look)
            else:
                label = f"{label} (outside)"
    ax.plot([], [], color=colour, linestyle=dashes, linewidth=1.8, label=label)


def _scores(model: Model, grid: FloatArray, positive: object) -> tuple[FloatArray, bool]:
    """Return the probability of a class, or decision values where the model has no probabilities."""
    classes = classes_of(model)
    k = classes.index(choose_class(classes, positive))
    try:
        return np.asarray(model.predict_proba(grid))[:, k], True
    except (AttributeError, ValueError, RuntimeError):
        values = np.asarray(model.decision_function(grid))
        if values.ndim == 2:
            return values[:, k], False
        return values if k == 1 else -values, False


def histogram(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    ax: Axes | None = None,
    *,
    class_: object = None,
    bins: ArrayLike = 30,
) -> Axes:
    """Draw how the decision values of a class and of the others are distributed, with their uncertainties.

    For a linear model the decision value of a sample N(x, Σ) is N(w·x + b, wᵀΣw), so it is in each bin with a
    certain probability. Drawn are the expected number of samples in each bin and that number's standard
    deviation, both exact. Otherwise it is the ordinary histogram.

    Parameters
    ----------
    model : classifier
        Fitted, with `decision_function`.
    X : Gaussians or array of shape (l, n)
        Samples.
    y : array of shape (l,)
        Labels.
    ax : matplotlib Axes, optional
        By default new axes.
    class_ : label, optional
        The class to draw against all others; by default the second of two.
    bins : int or array of edges, default=30
        A number of bins between the smallest and the greatest value, or their edges.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> y = np.repeat(["no", "yes"], 30)
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) + 2.0 * (y == "yes")[:, np.newaxis]
    >>> data = svmgsu.Gaussians(X, std=0.5)
    >>> svmgsu.plot.histogram(svmgsu.train(data, y), data, y, bins=12).get_xlabel()
    'decision value of class yes'
    """
    data = as_gaussians(X)
    classes = classes_of(model)
    positive = choose_class(classes, class_)
    truth = check_labels(y, len(data), classes)
    mean, std = _decision_values(model, data, classes.index(positive))
    if np.asarray(bins).ndim == 0:
        room = 2 * np.median(std)
        ends = (mean.min() - room, mean.max() + room)
        edges = np.histogram_bin_edges(mean, check_count(bins, "bins"), ends)
    else:
        edges = as_float_array(bins, "bins", (1,)).astype(np.float64)
        if len(edges) < 2 or not (np.diff(edges) > 0).all():
            raise ValueError("bins: edges must be at least two numbers that increase")
    ax = own_axes() if ax is None else ax
    centres = (edges[:-1] + edges[1:]) / 2
    for k, (name, rows) in enumerate(_two_sides(classes, positive, truth).items()):
        colour, marker = CLASS_STYLES[k]
        number, deviation = _expected_counts(mean[rows], std[rows], edges)
        ax.stairs(number, edges, fill=True, color=colour, alpha=0.22)
        ax.stairs(number, edges, color=colour, linewidth=1.4, linestyle="-" if k else "--")
        look: Look = {"color": colour, "marker": marker, "markersize": 3, "ls": "none", "elinewidth": 1}
        shift = (0.13 if k else -0.13) * np.diff(edges)
        ax.errorbar(centres + shift, number, deviation if std.any() else None, label=name, **look)
    ax.axvline(0, color="black", linewidth=1.4, label="boundary")
    ax.set(
        xlabel=f"decision value of class {positive}",
        ylabel="samples ± standard deviation" if std.any() else "samples",
        xlim=(edges[0], edges[-1]),
    )
    ax.set_ylim(bottom=0)
    legend(ax)
    return ax


def _decision_values(model: Model, data: Gaussians, k: int) -> tuple[FloatArray, FloatArray]:
    """Return decision values of class k, and the standard deviations that covariances make of them."""
    last = last_step(model)
    seen = transformed(model, data)
    with quietly():
        if data.cov is not None and hasattr(last, "coef_") and len(np.atleast_2d(last.coef_)) == 1:
            values, std = last.decision_function(seen, return_std=True)
        else:
            values = last.decision_function(seen if data.cov is not None else seen.mean)
            std = np.zeros(np.shape(values))
    if np.ndim(values) == 2:
        return np.asarray(values)[:, k], np.asarray(std)[:, k] if np.ndim(std) == 2 else np.asarray(std)
    return np.asarray(values) * (1.0 if k == 1 else -1.0), np.asarray(std)


def _expected_counts(mean: FloatArray, std: FloatArray, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the number of samples in each bin."""
    # As in np.histogram, the last bin includes its right edge.
    ends = np.append(edges[:-1], np.nextafter(edges[-1], np.inf))[:, np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.asarray((ends - mean) / (math.sqrt(2) * std), dtype=float)
    below = np.where(std > 0, 0.5 * (1 + _erf(np.nan_to_num(z)).astype(float)), mean < ends)
    inside = np.diff(below, axis=0)
    return inside.sum(axis=1), np.sqrt(np.maximum((inside * (1 - inside)).sum(axis=1), 0))


def reliability(
    model: Model,
    X: ArrayLike,
    y: ArrayLike,
    ax: Axes | None = None,
    *,
    class_: object = None,
    bins: int = 10,
) -> Axes:
    """Draw observed frequencies against predicted probabilities; the diagonal is calibrated.

    Error bars are 95 % intervals (Wilson's) of the frequencies. ECE in the legend is the expected calibration
    error.

    Parameters
    ----------
    model : classifier or dict of str to classifier
        Fitted, with `predict_proba`. Of several there is a curve each, by name.
    X : array or Gaussians of shape (l, n), or dict of str to these
        Samples to predict. Of several there is a curve each, as of
        ``{"values alone": X, "with uncertainties": svmgsu.Gaussians(X, std=error)}``.
    y : array of shape (l,)
        Labels.
    ax : matplotlib Axes, optional
        By default new square axes.
    class_ : label, optional
        The class whose probability is drawn; by default the second of two.
    bins : int, default=10
        Number of bins of the same width.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> y = X[:, 0] + np.random.default_rng(1).normal(size=500) > 0
    >>> svmgsu.plot.reliability(svmgsu.train(X, y), X, y).get_xlabel()
    'predicted probability of class True'
    """
    if isinstance(model, dict) and isinstance(X, dict) and list(model) != list(X):
        raise ValueError(f"X: its names are {list(X)}, but those of the models are {list(model)}")
    names = list(model) if isinstance(model, dict) else list(X) if isinstance(X, dict) else ["model"]
    if not names:
        raise ValueError("model: there is nothing to draw in an empty dict")
    models = [model[name] if isinstance(model, dict) else model for name in names]
    samples = [X[name] if isinstance(X, dict) else X for name in names]
    classes = classes_of(models[0])
    positive = choose_class(classes, class_)
    truth = np.asarray(y)
    if truth.ndim != 1 or len(truth) == 0:
        raise ValueError(f"y: expected one label per sample, got an array of shape {truth.shape}")
    curves = {}
    for name, one, data in zip(names, models, samples, strict=True):
        if classes_of(one) != classes:
            raise ValueError(f"model: {name!r} has the classes {classes_of(one)}, others {classes}")
        proba = check_probabilities(one.predict_proba(data), (2,), f"predict_proba of {name!r}")
        if len(proba) != len(truth):
            raise ValueError(f"y: {len(truth)} labels for {len(proba)} samples of {name!r}")
        curves[name] = proba[:, classes.index(positive)]

    ax = own_axes((4.6, 4.6)) if ax is None else ax
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, label="calibrated")
    outcome = truth == positive
    for k, (name, chance) in enumerate(curves.items()):
        found = reliability_bins(outcome, chance, bins=bins)
        error = calibration_error(outcome, chance, bins=bins)
        colour, dashes, marker = CYCLE[1:][k % (len(CYCLE) - 1)]
        look: Look = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 5}
        # Wilson's intervals stay within [0, 1], also for one sample.
        spread = Z**2 / found.samples
        centre = (found.frequency + spread / 2) / (1 + spread)
        variance = found.frequency * (1 - found.frequency) / found.samples + spread / (4 * found.samples)
        half = Z / (1 + spread) * np.sqrt(variance)
        lengths = np.maximum(0, [found.frequency - (centre - half), centre + half - found.frequency])
        look |= {"capsize": 2, "elinewidth": 1, "label": f"{name}, ECE {error:.3f}"}
        ax.errorbar(found.probability, found.frequency, lengths, **look)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set_xlabel(f"predicted probability of class {positive}")
    ax.set_ylabel(f"observed frequency of class {positive}")
    legend(ax, loc="upper left")
    return ax
