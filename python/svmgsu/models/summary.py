"""What a notebook shows of a model: how it was trained, how good the proof is, and its largest weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.summary import as_html, features_in_words
from ..support.validation import listed

MOST_WEIGHTS = 8


def html_of(model: Any) -> str:
    """The table of `_repr_html_` of a linear model."""
    rows = []
    classes = getattr(model, "classes_", None)
    if classes is not None:
        rows.append(("classes", listed(classes)))
    rows += [
        ("features", features_in_words(model.n_features_in_, model.feature_names_in_)),
        ("loss", model.loss),
        ("λ", f"{model.lam:g}"),
        *proof(model.objective_, model.gap_),
    ]
    if model.status_:
        rows.append(("solver", f"{model.status_} after {model.n_iter_} iterations"))
    if classes is None and np.isfinite(model.scatter_):
        rows.append(("scatter of targets", f"{model.scatter_:.4g}"))
    if classes is not None:
        rows.append(("probabilities", "none" if model.calibration_ is None else "calibrated"))
    return as_html(type(model).__name__, rows + largest_weights(model))


def proof(objective: float, gap: float) -> list[tuple[str, str]]:
    """The objective and its proven distance to the optimum, where they are known."""
    if not np.isfinite(objective):
        return []
    share = f" ({gap / objective:.1g} of it)" if objective > 0 and np.isfinite(gap) else ""
    rows = [("objective", f"{objective:.6g}")]
    return rows + ([("proven gap", f"{gap:.2g}{share}")] if np.isfinite(gap) else [])


def largest_weights(model: Any) -> list[tuple[str, str]]:
    """The largest weights by name; of several hyperplanes their root mean square."""
    planes = np.atleast_2d(model.coef_)
    w = planes[0] if len(planes) == 1 else np.sqrt((planes**2).mean(axis=0))
    names = model.feature_names_in_ or [f"feature {j + 1}" for j in range(len(w))]
    order = np.argsort(-np.abs(w), kind="stable")[:MOST_WEIGHTS]
    what = "weight" if len(planes) == 1 else "weight (root mean square)"
    more = [("…", f"{len(w) - MOST_WEIGHTS} smaller ones")] if len(w) > MOST_WEIGHTS else []
    return [(f"{what} of {names[j]}", f"{w[j]:.4g}") for j in order] + more
