"""What a notebook shows of a fitted estimator: scikit-learn's diagram, and below it what was learnt."""

from __future__ import annotations

from typing import Any

from ..data.summary import as_html, features_in_words
from ..models.summary import html_of, proof


class ShowsFit:
    """Adds a table to the HTML of an estimator, once it is fitted."""

    def _repr_html_inner(self) -> str:
        drawn: str = super()._repr_html_inner()  # type: ignore[misc]
        return drawn + fitted_html(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in shown:
            shown["text/html"] += fitted_html(self)
        return shown


def fitted_html(estimator: Any) -> str:
    """The table; empty before `fit`."""
    known = vars(estimator)
    if "model_" in known:
        return html_of(estimator.model_)
    rows: list[tuple[str, str]] = []
    if "scores_" in known:
        rows = _of_curved(estimator)
    elif "covariances_" in known:
        rows = _of_population(estimator)
    return as_html(type(estimator).__name__, rows) if rows else ""


def _of_curved(estimator: Any) -> list[tuple[str, str]]:
    names = getattr(estimator, "feature_names_in_", None)
    rows = [("features", features_in_words(estimator.n_features_in_, None if names is None else list(names)))]
    population = estimator.population_
    if population is None:
        rows.append(("population", "none: objects are taken as they are"))
    else:
        rows.append(("population", f"{len(population.weights_)} Gaussians"))
    rows += [
        ("loss", str(estimator.loss)),
        ("γ of the kernel", f"{estimator.gamma_:.3g}"),
        ("λ", f"{estimator.lam_:.3g}"),
        ("metric", "none" if estimator.metric_ is None else "learnt"),
        ("error bars as features", "yes" if estimator.bars_ else "no"),
    ]
    if hasattr(estimator, "link_"):
        rows.append(("link over the mixture", "yes" if estimator.link_ else "no"))
    if hasattr(estimator, "residual_std_"):
        rows.append(("residual deviation", f"{estimator.residual_std_:.4g}"))
    rows += proof(estimator.objective_, estimator.gap_)
    if estimator.search_:
        rows.append(("settings tried", f"{len(estimator.search_)}"))
    return rows


def _of_population(estimator: Any) -> list[tuple[str, str]]:
    weights = ", ".join(f"{weight:.2g}" for weight in sorted(estimator.weights_, reverse=True)[:8])
    return [
        ("features", f"{estimator.means_.shape[1]}"),
        ("components", f"{len(estimator.weights_)}"),
        ("their weights", weights + (", …" if len(estimator.weights_) > 8 else "")),
    ]
