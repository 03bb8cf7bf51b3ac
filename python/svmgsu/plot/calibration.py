"""The reliability diagram: what came true against what was said."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..metrics.reliability import calibration_error, check_probabilities, reliability_bins
from ..support.validation import Array, FloatArray
from .style import CYCLE, GREY, legend, own_axes

Z = 1.96  # of the 95 % intervals


def reliability(
    proba: Any,
    y: Any,
    ax: Any = None,
    *,
    class_: Any = None,
    classes: Any = None,
    bins: int = 10,
    strategy: str = "uniform",
) -> Any:
    """Draws observed frequencies against stated probabilities; the diagonal is right.

    Bars are 95 % intervals (Wilson's) of each bin's frequency. ECE in the legend is the expected calibration
    error.

    Parameters
    ----------
    proba : dict of str to array, or array
        Probabilities by name, one curve each: of shape (l,) for one class, or (l, K), a column per class. As
        ``{"point": model.predict_proba(X), "with error bars": model.predict_proba(X, std=error)}``.
    y : array of shape (l,)
        The true labels.
    ax : matplotlib Axes, optional
        By default new square axes.
    class_ : label, optional
        The class whose probability is drawn; by default the larger of two labels.
    classes : array of shape (K,), optional
        The classes of the columns, the model's `classes_`; by default the labels in y, sorted.
    bins : int, default=10
    strategy : {"uniform", "quantile"}
        Bins of the same width, or of about as many examples each.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=500)
    >>> y = rng.uniform(size=500) < p
    >>> ax = svmgsu.plot.reliability({"as they are": p, "too sure": p > 0.5}, y)
    >>> ax.get_legend().get_texts()[1].get_text()
    'as they are, ECE 0.047'
    """
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) == 0:
        raise ValueError(f"y: expected one label per example, got an array of shape {labels.shape}")
    known = np.unique(labels) if classes is None else np.asarray(classes)
    chosen = _chosen(known, class_)
    given = proba if isinstance(proba, dict) else {"probability": proba}
    if not given:
        raise ValueError("proba: there are no probabilities to draw")
    curves = {name: _column(value, name, len(labels), known, chosen) for name, value in given.items()}

    ax = own_axes((4.6, 4.6), equal=True) if ax is None else ax
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, label="calibrated")
    outcome = labels == chosen
    for i, (name, chance) in enumerate(curves.items()):
        found = reliability_bins(outcome, chance, bins=bins, strategy=strategy)
        error = calibration_error(outcome, chance, bins=bins, strategy=strategy)
        colour, dashes, marker = CYCLE[1:][i % (len(CYCLE) - 1)]
        style = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 5, "elinewidth": 1.0}
        bars = _wilson(found.frequency, found.examples)
        label = f"{name}, ECE {error:.3f}"
        ax.errorbar(found.probability, found.frequency, bars, capsize=2, label=label, **style)
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set(xlabel=f"stated probability of class {chosen}", ylabel=f"observed frequency of class {chosen}")
    legend(ax, fontsize=9, loc="upper left")
    return ax


def _chosen(classes: Array, class_: Any) -> Any:
    names = classes.tolist()
    if class_ is None:
        if len(names) != 2:
            raise ValueError(f"class_: there are {len(names)} classes; choose one of {names}")
        return names[1]
    if class_ not in names:
        raise ValueError(f"class_: {class_!r} is not one of the classes {names}")
    return class_


def _column(proba: Any, name: str, examples: int, classes: Array, chosen: Any) -> FloatArray:
    """The probabilities of the chosen class."""
    chance = check_probabilities(proba, (1, 2), f"proba[{name!r}]")
    if chance.shape == (examples,):
        return chance
    if chance.shape != (examples, len(classes)):
        raise ValueError(
            f"proba[{name!r}]: shape {chance.shape}; for {examples} examples of {len(classes)} classes it "
            f"should be {(examples,)} or {(examples, len(classes))}"
        )
    return chance[:, classes.tolist().index(chosen)]


def _wilson(frequency: FloatArray, count: FloatArray) -> FloatArray:
    """Lengths of the bars below and above; they stay within [0, 1], also for one example."""
    centre = (frequency + Z**2 / (2 * count)) / (1 + Z**2 / count)
    half = Z / (1 + Z**2 / count) * np.sqrt(frequency * (1 - frequency) / count + Z**2 / (4 * count**2))
    return np.maximum(0, np.stack([frequency - (centre - half), centre + half - frequency]))
