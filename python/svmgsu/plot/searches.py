"""Pictures of a search: the score against λ and against the covariances' scale, the weights against λ."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..support.validation import FloatArray
from .style import BLUE, VERMILLION, last_step, legend_above, own_axes


class _Scores(NamedTuple):
    """What a search has tried: a row a setting."""

    lam: FloatArray
    scale: FloatArray
    mean: FloatArray
    error: FloatArray  # standard error over the folds; NaN for one fold
    best: int


def path(search: Any, ax: Any = None) -> Any:
    """Draws the cross-validated score against λ, with its standard error, and marks the λ chosen.

    Parameters
    ----------
    search : LinearSVMGSU
        Fitted; or scikit-learn's `GridSearchCV` over `lam`. Of several scales of the covariances the one
        chosen is drawn.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> y = np.repeat([0, 1], 30)
    >>> X = np.random.default_rng(0).normal(size=(60, 3)) + y[:, np.newaxis]
    >>> search = svmgsu.LinearSVMGSU([1, 0.1, 0.01]).fit(X, y, std=0.5)
    >>> svmgsu.plot.path(search).get_ylabel()
    'expected accuracy'
    """
    found = _scores(search)
    rows = np.flatnonzero(found.scale == found.scale[found.best])
    rows = rows[np.argsort(found.lam[rows])]
    ax = own_axes() if ax is None else ax
    _draw(ax, found.lam[rows], found.mean[rows], found.error[rows])
    chosen = found.lam[found.best]
    _mark(ax, chosen, found.mean[found.best], f"chosen: λ = {chosen:.3g}")
    ax.set_xscale("log")
    ax.set(xlabel="λ, the weight of the penalty", ylabel=_score_name(search))
    legend_above(ax, ncols=2)
    return ax


def cov_scale(search: Any, ax: Any = None) -> Any:
    """Draws the score against the scale of the covariances, at the best λ of each, and marks the one chosen.

    Where the curve is highest at 0, the ordinary SVM is as good and uncertainty does not help. A fold is hard
    or easy for all scales alike, so differences along the curve are surer than the band looks.

    Parameters
    ----------
    search : LinearSVMGSU
        Fitted with several values of `cov_scale`; or scikit-learn's `GridSearchCV` over `cov_scale`.
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> y = np.repeat([0, 1], 30)
    >>> X = np.random.default_rng(0).normal(size=(60, 3)) + y[:, np.newaxis]
    >>> search = svmgsu.LinearSVMGSU([0.1, 0.01], cov_scale=[0, 0.5, 1]).fit(X, y, std=0.5)
    >>> [label.get_text() for label in svmgsu.plot.cov_scale(search).get_xticklabels()]
    ['0\\n(SVM)', '0.5', '1']
    """
    found = _scores(search)
    scales = np.unique(found.scale)
    if len(scales) < 2:
        raise ValueError(
            f"search: only the scale {scales[0]:g} was tried; give several, as cov_scale=[0, 0.3, 1]"
        )
    rows = np.array([_best_of(found, scale) for scale in scales])
    ax = own_axes() if ax is None else ax
    _draw(ax, scales, found.mean[rows], found.error[rows])
    chosen = found.scale[found.best]
    _mark(ax, chosen, found.mean[found.best], f"chosen: {chosen:g}, with λ = {found.lam[found.best]:.3g}")
    # Scales are tried in multiples, and 0 is among them: linear up to the smallest, logarithmic after it.
    ax.set_xscale("symlog", linthresh=scales[scales > 0].min(), linscale=0.5)
    ax.set_xticks(scales, ["0\n(SVM)" if scale == 0 else f"{scale:g}" for scale in scales])
    ax.minorticks_off()
    ax.set(xlabel="factor of the covariances in training", ylabel=_score_name(search))
    legend_above(ax, ncols=2)
    return ax


def _scores(search: Any) -> _Scores:
    search = last_step(search)
    results = getattr(search, "cv_results_", None)
    if results is None:
        raise ValueError(f"search: this {type(search).__name__} has no cv_results_; fit it first")
    if "param_lam" not in results and "param_cov_scale" not in results:
        raise ValueError("search: it has tried neither lam nor cov_scale")
    mean = np.asarray(results["mean_test_score"], dtype=float)
    splits = np.array([v for k, v in results.items() if k.startswith("split") and k.endswith("_test_score")])
    folds = len(splits)
    error = splits.std(axis=0, ddof=1) / np.sqrt(folds) if folds > 1 else np.full(len(mean), np.nan)
    lam, scale = (
        np.asarray(results[name], dtype=float) if name in results else np.ones(len(mean))
        for name in ("param_lam", "param_cov_scale")
    )
    return _Scores(lam, scale, mean, error, int(search.best_index_))


def _best_of(found: _Scores, scale: float) -> int:
    """The best setting with this scale; the chosen one where it has this scale."""
    rows = np.flatnonzero(found.scale == scale)
    return found.best if found.best in rows else int(rows[found.mean[rows].argmax()])


def _draw(ax: Any, x: FloatArray, mean: FloatArray, error: FloatArray) -> None:
    ax.plot(x, mean, color=BLUE, marker="o", markersize=4, label="mean over the folds")
    if np.isfinite(error).all():
        ax.fill_between(
            x, mean - error, mean + error, color=BLUE, alpha=0.18, linewidth=0, label="± standard error"
        )


def _mark(ax: Any, x: float, score: float, label: str) -> None:
    ax.axvline(x, color=VERMILLION, linestyle="--", linewidth=1.2)
    ax.plot([x], [score], color=VERMILLION, marker="D", markersize=8, linestyle="--", label=label, zorder=4)


def _score_name(search: Any) -> str:
    search = last_step(search)
    scoring = getattr(search, "scoring", None)
    if scoring is None:
        return "expected accuracy" if hasattr(search, "cov_scale") else "score"
    if not isinstance(scoring, str):
        return "score (greater is better)"
    name = scoring.replace("_", " ")
    return f"− {name}" if scoring in ("expected_hinge", "expected_log_loss") else name
