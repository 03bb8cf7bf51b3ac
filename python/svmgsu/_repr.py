"""What a notebook shows of data, models and estimators: small HTML tables."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from .support.arrays import dense
from .support.validation import listed

Rows: TypeAlias = list[tuple[str, str]]
MOST_ROWS = 1000  # samples at most: a look at a memory map must not read it all
MOST_NUMBERS = 2**24  # and numbers: sparse rows become dense ones here
MOST_WEIGHTS = 8


def table(caption: str, rows: Rows) -> str:
    """Return names and texts as an HTML table."""
    import html  # here: it is large, and only notebooks need it

    lines = [
        f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(text)}</td></tr>'
        for name, text in rows
    ]
    return "\n".join(["<table>", f"<caption>{caption}</caption>", *lines, "</table>"])


def feature_row(count: int, names: Any) -> tuple[str, str]:
    """Return the number of the features and the first of their names."""
    shown = "" if names is None else f" ({', '.join(list(names)[:5])}{', …' if len(names) > 5 else ''})"
    return "features", f"{count}{shown}"


def typical_sizes(data: Any) -> tuple[float, float, float] | None:
    """Return medians over the features of error, spread and error / spread; None without covariances.

    The error of a feature is the median of its standard deviations, its spread the standard deviation of its
    means, over at most 1000 evenly spaced samples. The ratio is NaN if no feature has a spread.
    """
    if data.cov is None or data.cov.needs_classes:
        return None
    count, n = data.shape
    looked_at = min(count, MOST_ROWS, MOST_NUMBERS // n)
    if looked_at == 0:
        return None
    rows = np.unique(np.linspace(0, count - 1, looked_at).astype(np.int64))
    variances = data.cov.take(rows).diagonals(len(rows), n)
    with np.errstate(over="ignore"):
        error = np.median(np.sqrt(variances), axis=0)
        spread = dense(data.mean[rows]).astype(np.float64).std(axis=0)
    varied = spread > 0
    ratio = float(np.median(error[varied] / spread[varied])) if varied.any() else float("nan")
    return float(np.median(error)), float(np.median(spread)), ratio


def gaussians_table(data: Any) -> str:
    """Return the table of `Gaussians`."""
    rows = [
        ("samples", f"{len(data)}"),
        feature_row(data.shape[1], data.feature_names_in_),
        ("covariance", "none" if data.cov is None else data.cov.describe()),
    ]
    sizes = typical_sizes(data)
    if sizes is not None:
        names = ("typical standard deviation", "typical spread of a feature", "typical error / spread")
        rows += [(name, f"{size:.3g}") for name, size in zip(names, sizes, strict=True) if size == size]
    return table("Gaussians", rows)


def model_table(model: Any) -> str:
    """Return the table of a linear model: how it was trained, the proof, and its largest weights."""
    classes = getattr(model, "classes_", None)
    rows = [] if classes is None else [("classes", listed(classes))]
    rows.append(feature_row(model.n_features_in_, model.feature_names_in_))
    rows += [("loss", model.loss), ("λ", f"{model.lam:g}"), *_proof(model)]
    if model.status_:
        rows.append(("solver", f"{model.status_} after {model.n_iter_} iterations"))
    if classes is None and np.isfinite(model.scatter_):
        rows.append(("scatter of targets", f"{model.scatter_:.4g}"))
    if classes is not None:
        rows.append(("probabilities", "none" if model.calibration_ is None else "calibrated"))
    return table(type(model).__name__, rows + _largest_weights(model))


def _proof(fitted: Any) -> Rows:
    """Return the objective and its proven distance to the optimum, if they are known."""
    objective, gap = fitted.objective_, fitted.gap_
    if not np.isfinite(objective):
        return []
    share = f" ({gap / objective:.1g} of it)" if objective > 0 and np.isfinite(gap) else ""
    rows = [("objective", f"{objective:.6g}")]
    return rows + ([("proven gap", f"{gap:.2g}{share}")] if np.isfinite(gap) else [])


def _largest_weights(model: Any) -> Rows:
    """Return the largest weights by name; of several hyperplanes their root mean square."""
    planes = np.atleast_2d(model.coef_)
    w = planes[0] if len(planes) == 1 else np.sqrt((planes**2).mean(axis=0))
    names = model.feature_names_in_ or [f"feature {j + 1}" for j in range(len(w))]
    order = np.argsort(-np.abs(w), kind="stable")[:MOST_WEIGHTS]
    what = "weight" if len(planes) == 1 else "weight (root mean square)"
    more = [("…", f"{len(w) - MOST_WEIGHTS} smaller ones")] if len(w) > MOST_WEIGHTS else []
    return [(f"{what} of {names[j]}", f"{w[j]:.4g}") for j in order] + more


class ShowsFit:
    """Adds a table of what was learnt to scikit-learn's diagram of an estimator, once it is fitted."""

    def _repr_html_inner(self) -> str:
        drawn: str = super()._repr_html_inner()  # type: ignore[misc]
        return drawn + _fitted_table(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in shown:
            shown["text/html"] += _fitted_table(self)
        return shown


def _fitted_table(estimator: Any) -> str:
    """Return the table of an estimator; empty before `fit`."""
    known = vars(estimator)
    if "model_" in known:
        return model_table(estimator.model_)
    if "pool_" in known:
        return table(type(estimator).__name__, _pool(estimator))
    if "covariances_" in known:
        weights = ", ".join(f"{weight:.2g}" for weight in sorted(estimator.weights_, reverse=True)[:8])
        rows = [
            ("features", f"{estimator.means_.shape[1]}"),
            ("components", f"{len(estimator.weights_)}"),
            ("their weights", weights + (", …" if len(estimator.weights_) > 8 else "")),
        ]
        return table(type(estimator).__name__, rows)
    return ""


def _pool(estimator: Any) -> Rows:
    pool = estimator.pool_
    rows = [feature_row(estimator.n_features_in_, getattr(estimator, "feature_names_in_", None))]
    for m in (-pool.weights).argsort():
        if pool.weights[m] > 0:
            rows.append(
                (pool.members[m], f"weight {pool.weights[m]:.2g}, held-out loss {pool.losses[m]:.3g}")
            )
    rows.append(("pool", f"held-out loss {pool.loss:.3g}"))
    return rows
