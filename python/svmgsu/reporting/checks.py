"""The data beside their uncertainties, and warnings of what may make an answer wrong."""

from __future__ import annotations

import numpy as np

from ..data.leaks import FEWEST, repeated_ids, telling_value, tells_target
from ..support.validation import Array, FloatArray
from .problem import Problem
from .result import Feature, Table

TAIL = 5.0  # standard deviation over median of positive values, above which a logarithm is better
HUGE = 1000.0  # times the median: a standard error that may be a code
RARE = 0.02  # of the samples: features known for fewer may be unknown for all that a fold trains on
NAMED = 5  # columns named in a warning
WARNINGS = {
    "leak": "tells the target by itself. If it is made from it, or known only after it, leave it out.",
    "flag": "one value occurs in a single class only. If it is made from the class, leave it out.",
    "id": "distinct whole numbers. If it is an id, leave it out.",
    "row": "follows the order of the rows. If it is an id or a time, leave it out.",
    "constant": "constant, ignored.",
    "rare": "missing in almost all samples, ignored.",
}


def describe(problem: Problem) -> tuple[Table, list[Feature], list[str], Array]:
    """Return the table as a whole, each feature, warnings, and which features are ignored."""
    data = problem.data
    values = np.asarray(data.mean, dtype=np.float64)
    names = data.feature_names_in_ or [f"feature {j + 1}" for j in range(data.shape[1])]
    errors = None if data.cov is None else np.sqrt(data.cov.diagonals(*data.shape))
    known = ~np.isnan(values)
    # Numbers that differ by rounding alone are equal; what rounding is depends on the type of the table.
    precision = 4 * np.finfo(data.mean.dtype if data.mean.dtype.kind == "f" else np.float64).eps
    constant = np.array(
        [
            not own.any() or np.ptp(v[own]) <= precision * np.abs(v[own]).max()
            for v, own in zip(values.T, known.T, strict=True)
        ]
    )
    rare = ~constant & (known.sum(axis=0) < RARE * len(data))
    features = []
    found: dict[str, list[str]] = {kind: [] for kind in WARNINGS}
    for j, name in enumerate(names):
        own = values[known[:, j], j]
        feature = Feature(name, float(own.std()) if len(own) else 0.0, missing=int((~known[:, j]).sum()))
        features.append(feature)
        if constant[j]:
            found["constant"].append(name)
            feature.remarks.append("constant: it is ignored")
        elif rare[j]:
            found["rare"].append(name)
            feature.remarks.append(f"known for {len(own)} of {len(data)} samples: it is ignored")
        else:
            kinds = _suspicions(own, problem.y[known[:, j]], problem, known[:, j])
            for kind, remark in kinds.items():
                found[kind].append(name)
                feature.remarks.append(remark)
            if own.min() > 0 and own.std() > TAIL * np.median(own):
                feature.remarks.append("long tail: take its logarithm")
        if errors is not None and (errors[known[:, j], j] > 0).any():
            feature.error = float(np.median(errors[known[:, j], j]))
            feature.ratio = feature.error / feature.spread if not constant[j] else None
            feature.remarks += _about_errors(errors[known[:, j], j], feature.ratio)
    ratios = [f.ratio for f in features if f.ratio is not None]
    table = Table(
        samples=len(data),
        features=data.shape[1],
        with_uncertainties=sum(f.error is not None for f in features),
        missing=int((~known).sum()),
        median_ratio=float(np.median(ratios)) if ratios else None,
    )
    if problem.is_classification:
        table.classes = {str(label): int((problem.y == label).sum()) for label in problem.classes.tolist()}
    else:
        quantiles = np.quantile(problem.y, [0, 0.5, 1])
        table.target = dict(zip(("minimum", "median", "maximum"), map(float, quantiles), strict=True))
        table.target["standard deviation"] = float(problem.y.std())
        if problem.y_std is not None:
            table.target["typical error"] = float(np.median(problem.y_std))
    return table, features, _warnings(problem, found, values), constant | rare


def _suspicions(values: FloatArray, y: Array, problem: Problem, known: Array) -> dict[str, str]:
    """Return what is suspicious about a feature: it tells the target, is an id, or follows the rows."""
    found: dict[str, str] = {}
    if len(values) < FEWEST:
        return found
    own = problem.codes[known] if problem.is_classification else y
    if tells_target(values, own, problem.is_classification):
        found["leak"] = "tells the target by itself: is it known before the target is?"
    elif problem.is_classification:
        flag = telling_value(values, own)
        if flag is not None:
            value, code, count, of = flag
            share = f"{count} of {of} samples with {value:g} are {problem.classes[code]}"
            found["flag"] = f"{share}: is it known before the class is?"
    whole = bool((values == np.floor(values)).all())
    distinct = len(np.unique(values)) == len(values)
    if distinct and (np.diff(values) > 0).all():
        found["row"] = "follows the order of the rows: an id or a time?"
    elif whole and distinct:
        found["id"] = "distinct whole numbers: an id?"
    return found


def _about_errors(errors: FloatArray, ratio: float | None) -> list[str]:
    remarks = []
    zero = int((errors == 0).sum())
    if zero:
        remarks.append(f"{zero} of {len(errors)} standard errors are 0")
    if ratio is not None and ratio > 1:
        remarks.append("typical error larger than the spread: mostly noise, or other units?")
    far = int((errors > HUGE * np.median(errors[errors > 0])).sum())
    if far:
        remarks.append(f"{far} standard errors are over {HUGE:g} times the typical one")
    if len(errors) > 2 and (errors == errors[0]).all():
        remarks.append("all standard errors are equal")
    return remarks


def _warnings(problem: Problem, found: dict[str, list[str]], values: FloatArray) -> list[str]:
    """Return sentences for the top of the page."""
    warnings = repeated_ids(problem.own_ids)
    for kind, text in WARNINGS.items():
        more = len(found[kind]) - NAMED
        if found[kind]:
            named = ", ".join(found[kind][:NAMED]) + (f" and {more} more" if more > 0 else "")
            warnings.append(f"{named}: {text}")
    steps = np.diff(problem.codes if problem.is_classification else problem.y)
    if problem.is_classification:
        is_sorted = bool(np.count_nonzero(steps) < len(problem.classes))
    else:
        is_sorted = bool((steps >= 0).all() or (steps <= 0).all())
    if len(values) >= FEWEST and is_sorted:
        warnings.append(
            "The rows are sorted by the target: a column that follows the order of the rows tells it."
        )
    copies = len(values) - len(np.unique(np.nan_to_num(values, nan=np.inf), axis=0))
    if copies > 0.01 * len(values) and problem.groups is None:
        warnings.append(
            f"{copies} of {len(values)} samples have exactly the values of another one. If they are copies, "
            "scores are too good: name the column of what belongs together as groups."
        )
    return warnings
