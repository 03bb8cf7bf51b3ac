"""From records to numbers: means, paired differences with standard errors, verdicts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmgsu.metrics import paired_t_test

Array = NDArray[Any]
TIE = 1e-6  # records keep six digits


class Estimate(NamedTuple):
    """A mean over seeds with its standard error."""

    mean: float
    se: float
    count: int


class Difference(NamedTuple):
    """A mean paired difference, its standard error, two-sided p-value, and in how many pairs it is > 0."""

    mean: float
    se: float
    p: float
    wins: int
    count: int


def values(records: list[dict[str, Any]], *keys: str) -> Array:
    """The scores over seeds of an outcome (with the λ that cross-validation chose), or of a plain number."""
    return np.array([_value(record, keys) for record in records], dtype=float)


def _value(record: dict[str, Any], keys: tuple[str, ...]) -> float:
    found = record
    for key in keys:
        found = found[key]
    return found["by_lam"][found["chosen"]] if isinstance(found, dict) else found


def hindsight(records: list[dict[str, Any]], *keys: str) -> Array:
    """The scores at the one λ that is best on the mean of the test scores: an optimistic bound."""
    table = []
    for record in records:
        found = record
        for key in keys:
            found = found[key]
        table.append(found["by_lam"])
    scores = np.array(table, dtype=float)
    return np.asarray(scores[:, scores.mean(axis=0).argmax()])


def estimate(scores: Array) -> Estimate:
    scores = np.asarray(scores, dtype=float)
    se = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else float("nan")
    return Estimate(float(scores.mean()), float(se), len(scores))


def paired(first: Array, second: Array, overlap: float = 0.0) -> Difference:
    """first - second. `overlap` = test/train where the seeds are splits of the same data: the variance is
    then corrected for what they share (Nadeau and Bengio 2003)."""
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    d = first - second
    if len(d) < 2:
        return Difference(float(d.mean()), float("nan"), float("nan"), int((d > TIE).sum()), len(d))
    sizes = {"train": 1.0, "test": overlap} if overlap else {}
    test = paired_t_test(first, second, **sizes)
    return Difference(test.difference, test.standard_error, test.p_value, int((d > TIE).sum()), len(d))


def verdict(gain: Difference, paper: float) -> str:
    """Of a gain that the paper claims: reproduced if it is clear (two standard errors) and at least half as
    large, partly if it is clear but smaller, else not reproduced."""
    if not gain.mean > 2 * gain.se:
        return "not reproduced"
    return "reproduced" if gain.mean >= paper / 2 else "partly"


def same(ours: Estimate, paper: float, tolerance: float) -> str:
    """Of an absolute value."""
    close = abs(ours.mean - paper) <= max(2 * ours.se, tolerance)
    return "reproduced" if close else "not reproduced"


def met(value: float, wanted: float) -> str:
    return "met" if value >= wanted else "NOT MET"
