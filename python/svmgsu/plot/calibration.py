"""The reliability diagram: observed frequencies against predicted probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..metrics.reliability import calibration_error, check_probabilities, reliability_bins
from ..support.validation import Array, FloatArray
from .style import CYCLE, GREY, last_step, legend, own_axes

Z = 1.96  # of the 95 % intervals


def reliability(
    model: Any,
    data: Any,
    y: Any,
    ax: Any = None,
    *,
    class_: Any = None,
    bins: int = 10,
    strategy: str = "uniform",
) -> Any:
    """Draw observed frequencies against predicted probabilities; the diagonal is right.

    Bars are 95 % intervals (Wilson's) of each bin's frequency. ECE in the legend is the expected calibration
    error.

    Parameters
    ----------
    model : classifier or dict of str to classifier
        Fitted, with `predict_proba`. Of several there is a curve each, by name.
    data : array or Gaussians of shape (l, n), or dict of str to these
        Samples to predict. Of several there is a curve each, as of
        ``{"values alone": X, "with uncertainties": svmgsu.Gaussians(X, std=error)}``.
    y : array of shape (l,)
        The true labels.
    ax : matplotlib Axes, optional
        By default new square axes.
    class_ : label, optional
        The class whose probability is drawn; by default the second of two.
    bins : int, default=10
    strategy : {"uniform", "quantile"}
        Bins of the same width, or of about as many examples each.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X = np.random.default_rng(0).normal(size=(500, 1))
    >>> y = X[:, 0] + np.random.default_rng(1).normal(size=500) > 0
    >>> ax = svmgsu.plot.reliability(svmgsu.train(X, y), X, y)
    >>> ax.get_xlabel()
    'predicted probability of class True'
    """
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) == 0:
        raise ValueError(f"y: expected one label per example, got an array of shape {labels.shape}")
    pairs = _pairs(model, data)
    known = np.asarray(last_step(next(iter(pairs.values()))[0]).classes_)
    chosen = _chosen(known, class_)
    curves = {name: _column(*pair, name, len(labels), known, chosen) for name, pair in pairs.items()}

    ax = own_axes((4.6, 4.6), equal=True) if ax is None else ax
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, label="calibrated")
    outcome = labels == chosen
    for i, (name, chance) in enumerate(curves.items()):
        found = reliability_bins(outcome, chance, bins=bins, strategy=strategy)
        error = calibration_error(outcome, chance, bins=bins, strategy=strategy)
        colour, dashes, marker = CYCLE[1:][i % (len(CYCLE) - 1)]
        style = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 5, "elinewidth": 1.0}
        bars = _wilson(found.frequency, found.samples)
        label = f"{name}, ECE {error:.3f}"
        ax.errorbar(found.probability, found.frequency, bars, capsize=2, label=label, **style)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set(xlabel=f"predicted probability of class {chosen}", ylabel=f"observed frequency of class {chosen}")
    legend(ax, fontsize=9, loc="upper left")
    return ax


def _pairs(model: Any, data: Any) -> dict[str, tuple[Any, Any]]:
    """Return models with their samples, by the names of the curves."""
    if isinstance(model, dict) and isinstance(data, dict) and list(model) != list(data):
        raise ValueError(f"data: its names are {list(data)}, but those of the models are {list(model)}")
    names = list(model) if isinstance(model, dict) else list(data) if isinstance(data, dict) else ["model"]
    if not names:
        raise ValueError("model: there is nothing to draw in an empty dict")
    return {
        name: (
            model[name] if isinstance(model, dict) else model,
            data[name] if isinstance(data, dict) else data,
        )
        for name in names
    }


def _chosen(classes: Array, class_: Any) -> Any:
    names = classes.tolist()
    if class_ is None:
        if len(names) != 2:
            raise ValueError(f"class_: there are {len(names)} classes; choose one of {names}")
        return names[1]
    if class_ not in names:
        raise ValueError(f"class_: {class_!r} is not one of the classes {names}")
    return class_


def _column(model: Any, data: Any, name: str, count: int, classes: Array, chosen: Any) -> FloatArray:
    """Predict the probability of the chosen class."""
    if not np.array_equal(last_step(model).classes_, classes):
        raise ValueError(f"model: {name!r} has the classes {last_step(model).classes_}, others {classes}")
    chance = check_probabilities(model.predict_proba(data), (2,), f"predict_proba of {name!r}")
    if len(chance) != count:
        raise ValueError(f"y: {count} labels for {len(chance)} samples of {name!r}")
    return chance[:, classes.tolist().index(chosen)]


def _wilson(frequency: FloatArray, count: FloatArray) -> FloatArray:
    """Lengths of the bars below and above; they stay within [0, 1], also for one example."""
    centre = (frequency + Z**2 / (2 * count)) / (1 + Z**2 / count)
    half = Z / (1 + Z**2 / count) * np.sqrt(frequency * (1 - frequency) / count + Z**2 / (4 * count**2))
    return np.maximum(0, np.stack([frequency - (centre - half), centre + half - frequency]))
