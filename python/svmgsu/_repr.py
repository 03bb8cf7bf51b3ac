"""What a notebook shows of data, models and estimators: small HTML tables with bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from .support.arrays import dense
from .support.types import Fitted
from .support.validation import FloatArray, listed

if TYPE_CHECKING:
    from .data.gaussians import Gaussians

Row: TypeAlias = tuple[str, str] | tuple[str, str, float]  # name, text, and a size in [-1, 1] to draw
Rows: TypeAlias = list[Row]
MOST_ROWS = 1000  # samples at most: a look at a memory map must not read it all
MOST_NUMBERS = 2**24  # and numbers: sparse rows become dense ones here
MOST_BARS = 8


def table(caption: str, rows: Rows) -> str:
    """Return names, texts and bars as an HTML table."""
    import html  # here: it is large, and only notebooks need it

    lines = []
    for name, text, *size in rows:
        cells = f'<th scope="row">{html.escape(name)}</th><td>{html.escape(text)}</td>'
        lines.append(f"<tr>{cells}<td>{_bar(*size) if size else ''}</td></tr>")
    return "\n".join(["<table>", f"<caption>{caption}</caption>", *lines, "</table>"])


def _bar(size: float) -> str:
    """Return a bar as inline SVG; negative sizes are drawn in another colour."""
    colour = "#0072B2" if size >= 0 else "#D55E00"
    length = max(1.0, 90 * min(1.0, abs(size)))
    rect = f'<rect width="{length:.1f}" height="8" y="1" fill="{colour}"/>'
    return f'<svg width="90" height="10" aria-hidden="true">{rect}</svg>'


def _scaled(values: Iterable[float]) -> list[float]:
    """Return sizes of bars: values over the largest."""
    largest = max((abs(float(v)) for v in values), default=0.0)
    return [float(v) / largest if largest > 0 else 0.0 for v in values]


def feature_row(count: int, names: Sequence[str] | None) -> tuple[str, str]:
    """Return the number of the features and the first of their names."""
    shown = "" if names is None else f" ({', '.join(list(names)[:5])}{', …' if len(names) > 5 else ''})"
    return "features", f"{count}{shown}"


def typical_ratio(data: Gaussians) -> float:
    """Return the median over the features of error / spread; 0 if neither is known."""
    error, spread = _sizes(data) or (np.zeros(1), np.zeros(1))
    varied = spread > 0
    return float(np.median(error[varied] / spread[varied])) if varied.any() else 0.0


def _sizes(data: Gaussians) -> tuple[FloatArray, FloatArray] | None:
    """Return each feature's median standard error and the standard deviation of its values.

    At most 1000 evenly spaced samples are looked at; missing values are left out.
    """
    if data.cov is None or data.cov.needs_classes:
        return None
    count, n = data.shape
    looked_at = min(count, MOST_ROWS, MOST_NUMBERS // n)
    if looked_at == 0:
        return None
    rows = np.unique(np.linspace(0, count - 1, looked_at).astype(np.int64))
    variances = data.cov.take(rows).diagonals(len(rows), n)
    values = dense(data.mean[rows]).astype(np.float64)
    known = ~np.isnan(values)
    with np.errstate(over="ignore", invalid="ignore"):
        if known.all():
            return np.median(np.sqrt(variances), axis=0), values.std(axis=0)
        errors = np.ma.median(np.ma.array(np.sqrt(variances), mask=~known), axis=0)  # type: ignore[no-untyped-call]
        spreads = np.ma.array(values, mask=~known).std(axis=0)
    return np.ma.filled(errors, 0.0), np.ma.filled(spreads, 0.0)


def gaussians_table(data: Gaussians) -> str:
    """Return the table of `Gaussians`: sizes, and the uncertainties of the first features as bars."""
    rows: Rows = [
        ("samples", f"{len(data)}"),
        feature_row(data.shape[1], data.feature_names_in_),
        ("covariance", "none" if data.cov is None else data.cov.describe()),
    ]
    found = _sizes(data)
    if found is not None:
        error, spread = found
        names = data.feature_names_in_ or [f"feature {j + 1}" for j in range(len(error))]
        for j in range(min(len(error), MOST_BARS)):
            ratio = float(error[j] / spread[j]) if spread[j] > 0 else 0.0
            text = f"error {error[j]:.3g}, spread {spread[j]:.3g}, ratio {ratio:.2g}"
            rows.append((str(names[j]), text, min(1.0, ratio)))
        if len(error) > MOST_BARS:
            rows.append(("…", f"{len(error) - MOST_BARS} more features"))
    return table("Gaussians", rows)


def model_table(model: Fitted) -> str:
    """Return the table of a linear model: how it was trained, the proof, and its largest weights."""
    classes = getattr(model, "classes_", None)
    rows: Rows = [] if classes is None else [("classes", listed(classes))]
    rows.append(feature_row(model.n_features_in_, model.feature_names_in_))
    rows += [("loss", model.loss), ("λ", f"{model.lam:g}")]
    if np.isfinite(model.objective_):
        rows.append(("objective", f"{model.objective_:.6g}"))
    if np.isfinite(model.objective_) and np.isfinite(model.gap_):
        share = f" ({model.gap_ / model.objective_:.1g} of it)" if model.objective_ > 0 else ""
        rows.append(("proven gap", f"{model.gap_:.2g}{share}"))
    if model.status_:
        rows.append(("solver", f"{model.status_} after {model.n_iter_} iterations"))
    if classes is None and np.isfinite(model.scatter_):
        rows.append(("scatter of targets", f"{model.scatter_:.4g}"))
    if classes is not None:
        rows.append(("probabilities", "none" if model.calibration_ is None else "calibrated"))
    return table(type(model).__name__, rows + _largest_weights(model))


def _largest_weights(model: Fitted) -> Rows:
    """Return the largest weights by name; of several hyperplanes their root mean square."""
    planes = np.atleast_2d(model.coef_)
    w = planes[0] if len(planes) == 1 else np.sqrt((planes**2).mean(axis=0))
    names = model.feature_names_in_ or [f"feature {j + 1}" for j in range(len(w))]
    order = np.argsort(-np.abs(w), kind="stable")[:MOST_BARS]
    what = "weight" if len(planes) == 1 else "weight (root mean square)"
    rows: Rows = [
        (f"{what} of {names[j]}", f"{w[j]:.4g}", size)
        for j, size in zip(order, _scaled(w[order]), strict=True)
    ]
    if len(w) > MOST_BARS:
        rows.append(("…", f"{len(w) - MOST_BARS} smaller ones"))
    return rows


class ShowsFit:
    """Add a table of what was learnt to scikit-learn's diagram of an estimator, once it is fitted."""

    def _repr_html_inner(self) -> str:
        drawn: str = super()._repr_html_inner()  # type: ignore[misc]
        return drawn + _fitted_table(self)

    def _repr_mimebundle_(self, **options: object) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in shown:
            shown["text/html"] += _fitted_table(self)
        return shown


def _fitted_table(estimator: Fitted) -> str:
    """Return the table of an estimator; empty before `fit`."""
    known = vars(estimator)
    if "model_" in known:
        return model_table(estimator.model_)
    if "pool_" in known:
        pool = estimator.pool_
        names = getattr(estimator, "feature_names_in_", None)
        rows: Rows = [feature_row(estimator.n_features_in_, names)]
        order = [m for m in (-pool.weights).argsort() if pool.weights[m] > 0]
        for m, size in zip(order, _scaled(pool.weights[order]), strict=True):
            text = f"weight {pool.weights[m]:.2g}, held-out loss {pool.losses[m]:.3g}"
            rows.append((pool.members[m], text, size))
        return table(type(estimator).__name__, [*rows, ("pool", f"held-out loss {pool.loss:.3g}")])
    if "covariances_" in known:
        weights = sorted(estimator.weights_, reverse=True)[:MOST_BARS]
        rows = [
            ("features", f"{estimator.means_.shape[1]}"),
            ("components", f"{len(estimator.weights_)}"),
        ]
        sizes = _scaled(weights)
        rows += [(f"weight {k + 1}", f"{w:.2g}", sizes[k]) for k, w in enumerate(weights)]
        return table(type(estimator).__name__, rows)
    return ""
