"""The data beside their error bars: sizes, and columns that look suspicious."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.gaussians import Gaussians
from ..support.arrays import dense
from ..support.validation import Array, FloatArray
from .result import Feature, Table

FAR = 6.0  # spreads (robust) from the median, where a number that is repeated may stand for nothing
TELLS = 0.995  # area under the curve of a feature that tells the class by itself
TAIL = 5.0  # spread over median, of positive values, where a logarithm is better
HUGE = 1000.0  # times the median: an error bar that may be a code


def describe(data: Gaussians, y: Array, task: str, classes: Array) -> tuple[Table, list[Feature]]:
    """The table as a whole, and each feature."""
    mean = dense(data.mean).astype(np.float64)
    names = data.feature_names_in_ or [f"feature {j + 1}" for j in range(data.shape[1])]
    bars = None
    if data.cov is not None:
        bars = np.sqrt(data.cov.diagonals(*data.shape, y if data.cov.needs_classes else None))
    auc = _areas(mean, y == classes[-1]) if task == "classification" and len(classes) == 2 else None
    features = []
    for j, name in enumerate(names):
        own = None if bars is None else bars[:, j]
        features.append(_feature(name, mean[:, j], own, None if auc is None else float(auc[j])))
    ratios = [f.ratio for f in features if f.ratio is not None and np.isfinite(f.ratio)]
    table = Table(
        examples=len(data),
        features=data.shape[1],
        with_bars=sum(f.error is not None for f in features),
        covariance=None if data.cov is None else data.cov.describe(),
        median_ratio=float(np.median(ratios)) if ratios else None,
    )
    if task == "classification":
        table.classes = {str(label): int((y == label).sum()) for label in classes.tolist()}
    else:
        quantiles = np.quantile(y.astype(float), [0, 0.5, 1])
        table.target = dict(zip(("least", "median", "greatest"), map(float, quantiles), strict=True))
        table.target["spread"] = float(y.astype(float).std())
    return table, features


def _feature(name: str, values: FloatArray, bars: FloatArray | None, auc: float | None) -> Feature:
    spread = float(values.std())
    found = Feature(name, spread)
    varied = spread > 1e-12 * np.abs(values).max()
    if not varied:
        found.remarks.append("constant: it tells nothing")
    if bars is not None and (bars > 0).any():
        found.error = float(np.median(bars))
        found.ratio = found.error / spread if varied else float("inf")
        found.remarks += _about_bars(bars, found.ratio, varied)
    if varied:
        found.remarks += _about_values(values)
        if auc is not None and max(auc, 1 - auc) >= TELLS:
            found.remarks.append("tells the class by itself: is it known before the class is?")
    return found


def _about_bars(bars: FloatArray, ratio: float, varied: bool) -> list[str]:
    remarks = []
    zero = int((bars == 0).sum())
    if zero:
        remarks.append(f"{zero} of {len(bars)} error bars are 0")
    if varied and ratio > 1:
        remarks.append("typical error larger than the spread: little but noise, or other units?")
    typical = float(np.median(bars[bars > 0]))
    far = int((bars > HUGE * typical).sum())
    if far:
        remarks.append(f"{far} error bars are over {HUGE:g} times the typical one")
    if len(bars) > 2 and (bars == bars[0]).all():
        remarks.append("all error bars are equal")
    return remarks


def _about_values(values: FloatArray) -> list[str]:
    """A number that is repeated far from all others, and numbers that count the rows."""
    remarks = []
    median = np.median(values)
    width = 1.4826 * float(np.median(np.abs(values - median))) or float(values.std())
    uniques, counts = np.unique(values, return_counts=True)
    far = (np.abs(uniques - median) > FAR * width) & (counts >= max(3, 0.003 * len(values)))
    if far.any() and len(uniques) > 10:
        k = int(np.flatnonzero(far)[counts[far].argmax()])
        remarks.append(
            f"{uniques[k]:g} is there {counts[k]} times, far from the rest: a code for a missing value?"
        )
    if values.min() > 0 and values.std() > TAIL * median:
        remarks.append("a long tail: its logarithm may serve better")
    steps = np.diff(values)
    if len(values) > 10 and (steps == steps[0]).all():
        remarks.append("counts the rows: leave it out")
    return remarks


def _areas(mean: FloatArray, positive: Array) -> FloatArray:
    """The area under the ROC curve of each feature alone."""
    from scipy.stats import rankdata

    count = int(positive.sum())
    rest = len(positive) - count
    ranks: Any = rankdata(mean, axis=0)
    return np.asarray((ranks[positive].sum(axis=0) - count * (count + 1) / 2) / (count * rest))
