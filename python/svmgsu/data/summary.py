"""What a notebook shows of `Gaussians`: a small table, and how the errors compare with the spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..maps.linear import dense

if TYPE_CHECKING:
    from .gaussians import Gaussians

LOOKED_AT = 1000  # examples at the most: a look at a memory map must not read it all
MOST_NUMBERS = 2**24  # and numbers: sparse rows become dense ones here


def error_against_spread(data: Gaussians) -> float | None:
    """The median over the features of typical error / spread of the means; None where there is none.

    The typical error of a feature is the median of its standard deviations, its spread the standard
    deviation of its means, over at most 1000 examples evenly taken.
    """
    sizes = _sizes(data)
    if sizes is None:
        return None
    error, spread = sizes
    return float(np.median(error[spread > 0] / spread[spread > 0])) if (spread > 0).any() else None


def _sizes(data: Gaussians) -> tuple[np.ndarray, np.ndarray] | None:
    if data.cov is None or data.cov.needs_classes:
        return None
    count, n = data.shape
    looked_at = min(count, LOOKED_AT, MOST_NUMBERS // n)
    if looked_at == 0:
        return None
    rows = np.unique(np.linspace(0, count - 1, looked_at).astype(np.int64))
    variances = data.cov.take(rows).diagonals(len(rows), data.shape[1])
    means = dense(data.mean[rows]).astype(np.float64)
    with np.errstate(over="ignore"):
        return np.median(np.sqrt(variances), axis=0), means.std(axis=0)


def html_table(data: Gaussians) -> str:
    """The table of `_repr_html_`."""
    rows = [
        ("examples", f"{len(data)}"),
        ("features", features_in_words(data.shape[1], data.feature_names_in_)),
        ("covariance", "none" if data.cov is None else data.cov.describe()),
    ]
    sizes, ratio = _sizes(data), error_against_spread(data)
    if sizes is not None:
        rows.append(("typical standard deviation", f"{np.median(sizes[0]):.3g}"))
        rows.append(("typical spread of a feature", f"{np.median(sizes[1]):.3g}"))
    if ratio is not None:
        rows.append(("typical error / spread", f"{ratio:.3g}"))
    return as_html("Gaussians", rows)


def as_html(caption: str, rows: list[tuple[str, str]]) -> str:
    """A table of names and texts."""
    import html  # here: it is large, and only notebooks need it

    lines = [
        f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(text)}</td></tr>'
        for name, text in rows
    ]
    return "\n".join(["<table>", f"<caption>{caption}</caption>", *lines, "</table>"])


def features_in_words(count: int, names: list[str] | None) -> str:
    """The number of the features and the first of their names."""
    shown = "" if names is None else f" ({', '.join(names[:5])}{', …' if len(names) > 5 else ''})"
    return f"{count}{shown}"
