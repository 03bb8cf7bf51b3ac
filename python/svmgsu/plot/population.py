"""Figures of a learnt population: two features at a time, its components as ellipses over the samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from ..estimators.observations import Observed, observe
from ..support.validation import Array, ArrayLike, check_count
from .style import GREY, VERMILLION, Look, Model, check_mass, ellipse, legend, own_axes

MOST_POINTS = 5000  # of more samples so many are drawn at random
FAINTEST = 0.25  # opacity of a component with no weight


def population(
    model: Model,
    X: ArrayLike = None,
    ax: Axes | None = None,
    *,
    features: tuple[int | str, int | str] = (0, 1),
    mass: float = 0.5,
) -> Axes:
    """Draw the components of a learnt population as ellipses, over the samples.

    Parameters
    ----------
    model : Deconvolution, GSUClassifier or GSURegressor
        Fitted. The heavier a component, the stronger its ellipse.
    X : Gaussians or array of shape (l, n), optional
        Samples as they were measured: grey points (at most 5,000). A cross shows the typical noise.
    ax : matplotlib Axes, optional
        By default new axes.
    features : pair of int or str
        The two features to draw, by position or name.
    mass : float in (0, 1), default=0.5
        Probability inside an ellipse.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> rng = np.random.default_rng(0)
    >>> data = svmgsu.Gaussians(rng.normal(size=(300, 2)) + rng.choice([-2, 2], size=(300, 1)), std=0.5)
    >>> ax = svmgsu.plot.population(svmgsu.Deconvolution(2).fit(data), data)
    >>> len(ax.patches)
    2
    """
    weights, means, covariances = _components(model)
    check_mass(mass)
    n = means.shape[1]
    known = getattr(model, "feature_names_in_", None)
    names = None if known is None else [str(name) for name in known]
    pair = _places(features, names, n)
    ax = own_axes((5.6, 4.6)) if ax is None else ax
    handles: list[Any] = []
    if X is not None:
        seen = observe(X)
        if seen.values.shape[1] != n:
            raise ValueError(f"X: {seen.values.shape[1]} features, but the population has {n}")
        handles += _draw_samples(ax, seen, pair)
    for weight, mean, cov in zip(weights, means, covariances, strict=True):
        strength = FAINTEST + (1 - FAINTEST) * weight / weights.max()
        patch = ellipse(mean[pair], cov[np.ix_(pair, pair)], mass, VERMILLION)
        patch.set(facecolor=(VERMILLION, 0.10 * strength), edgecolor=(VERMILLION, strength), linewidth=1.6)
        ax.add_patch(patch).set_zorder(3)
    ax.autoscale_view()
    handles.append(Patch(facecolor=(VERMILLION, 0.10), edgecolor=VERMILLION))
    handles[-1].set_label(f"{100 * mass:g} % of a component")
    xlabel, ylabel = (f"feature {j + 1}" if names is None else names[j] for j in pair)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    legend(ax, handles, [handle.get_label() for handle in handles])
    return ax


def _components(model: Model) -> tuple[Array, Array, Array]:
    """Return weights, means and covariances of a fitted model's population, in the units of the data."""
    if hasattr(model, "covariances_"):
        return model.weights_, model.means_, model.covariances_
    if not hasattr(model, "inputs_"):
        raise ValueError(
            f"model: expected a fitted Deconvolution, GSUClassifier or GSURegressor, got {model!r}"
        )
    inputs = model.inputs_
    if inputs.population is None:
        raise ValueError(f"model: this {type(model).__name__} was fitted without a population")
    # The last component is the wide one, which was not learnt.
    found = inputs.population
    weights = found.weights[:-1] / found.weights[:-1].sum()
    means = found.means[:-1] * inputs.scale + inputs.centre
    return weights, means, found.covs[:-1] * np.multiply.outer(inputs.scale, inputs.scale)


def _places(features: tuple[int | str, int | str], names: list[str] | None, n: int) -> Array:
    if len(features) != 2:
        raise ValueError(f"features: expected a pair, got {features!r}")
    places = []
    for feature in features:
        if isinstance(feature, str):
            if names is None or feature not in names:
                raise ValueError(f"features: there is no feature {feature!r}; there are {names or n}")
            places.append(names.index(feature))
        else:
            places.append(check_count(feature, "features", least=0, most=n - 1))
    if places[0] == places[1]:
        raise ValueError(f"features: expected two different ones, got {features!r}")
    return np.array(places)


def _draw_samples(ax: Axes, seen: Observed, pair: Array) -> list[Any]:
    """Draw points, and one cross of the typical noise in a corner."""
    values = seen.values[:, pair].astype(np.float64)
    known = np.flatnonzero(np.isfinite(values).all(axis=1))
    if not len(known):
        raise ValueError("X: there is no sample of which both features are known")
    if len(known) > MOST_POINTS:
        known = np.random.default_rng(0).choice(known, MOST_POINTS, replace=False)
    look: Look = {"s": 6, "color": GREY, "alpha": 0.35, "linewidths": 0, "zorder": 1}
    handles: list[Any] = [ax.scatter(*values[known].T, label="as measured", **look)]
    noise = np.sqrt(np.median(seen.deviations()[known][:, pair] ** 2, axis=0))
    if noise.any():
        low, high = np.quantile(values[known], [0.005, 0.995], axis=0)
        corner = (high[0], low[1])
        style: Look = {"color": "black", "linestyle": "none", "elinewidth": 1.3, "capsize": 3, "zorder": 4}
        handles.append(ax.errorbar(*corner, noise[1], noise[0], label="typical noise", **style))
    return handles
