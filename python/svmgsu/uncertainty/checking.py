"""Is this uncertainty plausible, and is it useful? A look before training."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass, field
from math import erfc
from typing import Any

import numpy as np

from .. import _core
from ..data.gaussians import Gaussians
from ..support.arrays import dense
from ..support.labels import check_labels
from ..support.validation import Array, FloatArray
from ._support import need

EIGENVALUES_OF = 20  # samples whose matrices are looked into: enough for a median
SMALL = 1e-10  # of the largest eigenvalue: less is rounding


class LargeUncertaintyWarning(UserWarning):
    """The samples' uncertainty is larger than the classes are apart."""


@dataclass(frozen=True, repr=False)
class Check:
    """What `check` found.

    Attributes
    ----------
    shape : (int, int)
        Samples and features.
    feature_names : list of str
    ratio : array of shape (n,)
        For each feature the median standard deviation of a sample, in units of the spread (the standard
        deviation of the means). Infinite for an uncertain feature whose means are all equal.
    rank, condition : float
        Medians over some samples: how many directions are uncertain, and the largest variance over the
        smallest one among these, in units of the spreads.
    dominated : array of int
        The samples that are more uncertain than the means are spread, on average over the features.
    classes : (label, label)
        Of all pairs of classes the one that is worst told apart in new draws.
    apart, within, noise : float
        Of these two, along the direction that separates their means best: their distance, the spread of the
        means within a class, and the standard deviation of a sample (root mean square); in any common unit.
    scores : dict of float to (float, float)
        For each factor of the covariances the cross-validated score at its best λ, with its standard error;
        empty if none was asked for.
    search : LinearSVMGSUCV or None
        The search itself, for `svmgsu.plot.cov_scale`.
    """

    shape: tuple[int, int]
    feature_names: list[str]
    ratio: FloatArray
    rank: float
    condition: float
    dominated: Array
    classes: tuple[Any, Any]
    apart: float
    within: float
    noise: float
    scores: dict[float, tuple[float, float]] = field(default_factory=dict)
    search: Any = None

    @property
    def overlap(self) -> float:
        """The share of the two classes' means beyond the middle between them, were they normal."""
        return _beyond(self.apart / 2, self.within)

    @property
    def overlap_of_draws(self) -> float:
        """The same for draws from the samples: means and their uncertainty."""
        return _beyond(self.apart / 2, float(np.hypot(self.within, self.noise)))

    def __repr__(self) -> str:
        largest = int(self.ratio.argmax())
        a, b = (repr(label) for label in self.classes)
        deviations = self.apart / self.noise if self.noise > 0 else np.inf
        rows = [
            ("error over spread", f"{np.median(self.ratio):.2g} (median feature)"),
            ("", f"{self.ratio[largest]:.2g} (largest: {self.feature_names[largest]})"),
            ("rank", f"{self.rank:g} of {self.shape[1]}, condition {self.condition:.2g}"),
            ("more noise than spread", f"{len(self.dominated)} of {self.shape[0]} samples"),
            (f"classes {a}, {b}", f"apart by {deviations:.2g} deviations of a sample"),
            ("overlap", f"{self.overlap:.1%} of means, {self.overlap_of_draws:.1%} of draws"),
        ]
        rows += [
            (f"score with {scale:g} × cov", f"{mean:.4f} ± {error:.4f}")
            for scale, (mean, error) in self.scores.items()
        ]
        width = max(len(name) for name, _ in rows) + 2
        return "\n".join(f"{name:<{width}}{value}" for name, value in rows)


def check(
    data: Gaussians,
    y: Any,
    *,
    cov_scales: Any = (0, 0.1, 0.3, 1),
    lams: Any = None,
    cv: Any = 5,
) -> Check:
    """Is this uncertainty plausible and useful? Sizes, classes, and what cross-validation says.

    Warns (`LargeUncertaintyWarning`) if a sample's standard deviation is larger than the distance of two
    classes, along the direction that separates their means best: the optimum is then near w = 0.

    Assumes classes of about the same shape, as linear discriminant analysis does: overlaps are those of
    normal distributions and tell the order of magnitude. The means are spread by their noise already;
    draws have it twice, as they should if new samples are measured anew. Scores are expected accuracies
    at the given noise, so they say whether to train with it, not whether there is such noise.

    Parameters
    ----------
    data : Gaussians
    y : array of shape (l,)
        Labels.
    cov_scales : array, default=(0, 0.1, 0.3, 1)
        The factors of the covariances to try by cross-validation, after scaling features; () for none.
    lams, cv
        As for `LinearSVMGSUCV`.

    Returns
    -------
    Check

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> from svmgsu.uncertainty import check
    >>> y = np.repeat(["no", "yes"], 50)
    >>> X = np.random.default_rng(0).normal(size=(100, 2)) + 4.0 * (y == "yes")[:, np.newaxis]
    >>> check(svmgsu.Gaussians(X, std=[[0.5, 1.0]] * 100), y, cov_scales=())
    error over spread       0.35 (median feature)
                            0.47 (largest: feature 1)
    rank                    2 of 2, condition 4.1
    more noise than spread  0 of 100 samples
    classes 'no', 'yes'     apart by 6.9 deviations of a sample
    overlap                 0.2% of means, 1.4% of draws
    """
    if not isinstance(data, Gaussians) or data.cov is None:
        raise ValueError("data: expected Gaussians with covariances; without noise there is nothing to check")
    labels, codes = check_labels(y, len(data))
    mean = dense(data.mean).astype(np.float64)
    spread = mean.std(axis=0)
    deviations = np.sqrt(data.cov.diagonals(*data.shape, y))
    relative = np.where(deviations > 0, np.inf, 0.0)
    np.divide(deviations, spread, out=relative, where=spread > 0)
    unit = np.where(spread > 0, spread, 1.0)
    rank, condition = _eigenvalues(data, np.asarray(y), unit)
    varied = relative[:, spread > 0]
    pair, apart, within, noise = _closest(data, mean / unit, unit, codes, np.asarray(y))
    search = _search(data, y, cov_scales, lams, cv) if len(np.atleast_1d(cov_scales)) else None
    found = Check(
        shape=data.shape,
        feature_names=data.feature_names_in_ or [f"feature {j}" for j in range(data.shape[1])],
        ratio=np.median(relative, axis=0),
        rank=rank,
        condition=condition,
        dominated=np.flatnonzero((varied**2).mean(axis=1) > 1) if varied.size else np.arange(len(data)),
        classes=(labels[pair[0]].item(), labels[pair[1]].item()),
        apart=apart,
        within=within,
        noise=noise,
        scores={} if search is None else _scores(search),
        search=search,
    )
    if noise >= apart:
        a, b = (repr(label) for label in found.classes)
        times = noise / apart if apart > 0 else np.inf
        warnings.warn(
            f"a sample's standard deviation is {times:.2g} times the distance of the classes {a} and {b}: "
            "training with it tends to w = 0; check its units, scale it down or see `posterior`",
            LargeUncertaintyWarning,
            stacklevel=2,
        )
    return found


def _beyond(distance: float, deviation: float) -> float:
    """P(N(0, deviation²) > distance)."""
    return 0.5 * erfc(distance / (np.sqrt(2) * deviation)) if deviation > 0 else float(distance <= 0) / 2


def _eigenvalues(data: Gaussians, y: Array, unit: FloatArray) -> tuple[float, float]:
    """Medians of rank and condition over some samples."""
    assert data.cov is not None
    some = np.unique(np.linspace(0, len(data) - 1, EIGENVALUES_OF).astype(int))
    ranks, conditions = [], []
    for i in some:
        S = data.cov.take(np.array([i])).to_full(1, data.shape[1], y[[i]])[0] / unit / unit[:, None]
        values = np.linalg.eigvalsh(S)
        values = values[values > SMALL * values[-1]]
        ranks.append(len(values))
        conditions.append(values[-1] / values[0] if len(values) else 1.0)
    return float(np.median(ranks)), float(np.median(conditions))


def _closest(
    data: Gaussians, Z: FloatArray, unit: FloatArray, codes: Array, y: Array
) -> tuple[tuple[int, int], float, float, float]:
    """The pair of classes that overlaps most in draws: (pair, distance, spread within, noise)."""
    centres = np.array([Z[codes == c].mean(axis=0) for c in range(codes.max() + 1)])
    shrunk = need("sklearn.covariance", "check").ledoit_wolf(Z - centres[codes], assume_centered=True)[0]
    S = shrunk + SMALL * np.eye(len(unit))  # no spread at all within the classes, as of one sample each
    pairs = list(itertools.combinations(range(len(centres)), 2))
    ways = np.linalg.solve(S, np.array([centres[b] - centres[a] for a, b in pairs]).T).T
    found = []
    for pair, w in zip(pairs, ways, strict=True):
        rows = np.isin(codes, pair)
        apart = float(w @ (centres[pair[1]] - centres[pair[0]]))
        noise = float(np.sqrt(_variances(data, w / unit, y)[rows].mean()))
        found.append((pair, apart, float(np.sqrt(w @ shrunk @ w)), noise))
    return max(found, key=lambda f: (_beyond(f[1] / 2, float(np.hypot(f[2], f[3]))), f[3] - f[1]))


def _variances(data: Gaussians, w: FloatArray, y: Array) -> FloatArray:
    """wᵀΣ_i w of all samples."""
    return np.ravel(_core.margins(data.core(y), np.ascontiguousarray(w[np.newaxis]), 1)[1])


def _search(data: Gaussians, y: Any, cov_scales: Any, lams: Any, cv: Any) -> Any:
    from sklearn.preprocessing import StandardScaler

    from ..estimators.classifier_search import LinearSVMGSUCV
    from ..estimators.propagate import Propagate

    search = LinearSVMGSUCV(lams, cov_scales=cov_scales, cv=cv, refit=False, probability=False)
    return search.fit(Propagate(StandardScaler()).fit_transform(data, y), y)


def _scores(search: Any) -> dict[float, tuple[float, float]]:
    results = search.cv_results_
    folds = np.array([v for k, v in results.items() if k.startswith("split") and k.endswith("_test_score")])
    out = {}
    for scale in np.unique(results["param_cov_scale"]).tolist():
        each = folds[:, results["param_cov_scale"] == scale]
        best = each[:, each.mean(axis=0).argmax()]
        out[scale] = (float(best.mean()), float(best.std(ddof=1) / np.sqrt(len(best))))
    return out
