"""Is this uncertainty plausible? A look at its size before training."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass
from math import erfc

import numpy as np

from .. import _core
from ..data.gaussians import Gaussians
from ..support.arrays import dense
from ..support.labels import check_labels
from ..support.validation import Array, ArrayLike, FloatArray
from ._support import need

SMALL = 1e-10  # added to the spread within classes, which may be zero, as with one sample each


class LargeUncertaintyWarning(UserWarning):
    """The uncertainty of the samples is larger than the distance of the classes."""


@dataclass(frozen=True, repr=False)
class Check:
    """What `check` found.

    Attributes
    ----------
    shape : (int, int)
        Samples and features.
    feature_names : list of str
        The names of the features.
    ratio : array of shape (n,)
        For each feature the median standard deviation of a sample, in units of the spread (the standard
        deviation of the means). Infinite for an uncertain feature whose means are all equal.
    dominated : array of int
        The samples that are more uncertain than the means are spread, on average over the features.
    classes : (label, label)
        Of all pairs of classes the one that overlaps most in new draws.
    apart, within, noise : float
        Of these two, along the direction that separates their means best: their distance, the spread of the
        means within a class, and the standard deviation of a sample (root mean square); in any common unit.
    """

    shape: tuple[int, int]
    feature_names: list[str]
    ratio: FloatArray
    dominated: Array
    classes: tuple[object, object]
    apart: float
    within: float
    noise: float

    @property
    def overlap(self) -> float:
        """The fraction of the two classes' means beyond the middle between them, were they normal."""
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
            ("more noise than spread", f"{len(self.dominated)} of {self.shape[0]} samples"),
            (f"classes {a}, {b}", f"apart by {deviations:.2g} deviations of a sample"),
            ("overlap", f"{self.overlap:.1%} of means, {self.overlap_of_draws:.1%} of draws"),
        ]
        width = max(len(name) for name, _ in rows) + 2
        return "\n".join(f"{name:<{width}}{value}" for name, value in rows)


def check(data: Gaussians, y: ArrayLike) -> Check:
    """Compare the uncertainty of samples with their spread and with the distance of the classes.

    Warns (`LargeUncertaintyWarning`) if a sample's standard deviation is larger than the distance of two
    classes, along the direction that separates their means best: the optimum is then near w = 0.

    Assumes classes of about the same shape, as linear discriminant analysis does: overlaps are those of
    normal distributions and tell the order of magnitude. The means are spread by their noise already;
    draws have it twice, as they should if new samples are measured anew. Whether to train with the
    uncertainty is a question for `svmgsu.report`.

    Parameters
    ----------
    data : Gaussians
        The samples with their covariances.
    y : array of shape (l,)
        Labels.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> from svmgsu.uncertainty import check
    >>> y = np.repeat(["no", "yes"], 50)
    >>> X = np.random.default_rng(0).normal(size=(100, 2)) + 4.0 * (y == "yes")[:, np.newaxis]
    >>> check(svmgsu.Gaussians(X, std=[[0.5, 1.0]] * 100), y)
    error over spread       0.35 (median feature)
                            0.47 (largest: feature 1)
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
    varied = relative[:, spread > 0]
    pair, apart, within, noise = _closest(data, mean, spread, codes, np.asarray(y))
    found = Check(
        shape=data.shape,
        feature_names=data.feature_names_in_ or [f"feature {j}" for j in range(data.shape[1])],
        ratio=np.median(relative, axis=0),
        dominated=np.flatnonzero((varied**2).mean(axis=1) > 1) if varied.size else np.arange(len(data)),
        classes=(labels[pair[0]].item(), labels[pair[1]].item()),
        apart=apart,
        within=within,
        noise=noise,
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
    """Return P(N(0, deviation²) > distance)."""
    return 0.5 * erfc(distance / (np.sqrt(2) * deviation)) if deviation > 0 else float(distance <= 0) / 2


def _closest(
    data: Gaussians, mean: FloatArray, spread: FloatArray, codes: Array, y: Array
) -> tuple[tuple[int, int], float, float, float]:
    """Find the pair of classes that overlaps most in draws: (pair, distance, spread within, noise)."""
    unit = np.where(spread > 0, spread, 1.0)
    Z = mean / unit
    centres = np.array([Z[codes == c].mean(axis=0) for c in range(codes.max() + 1)])
    shrunk = need("sklearn.covariance", "check").ledoit_wolf(Z - centres[codes], assume_centered=True)[0]
    S = shrunk + SMALL * np.eye(len(unit))
    core = data.core(y)
    found = []
    for pair in itertools.combinations(range(len(centres)), 2):
        difference = centres[pair[1]] - centres[pair[0]]
        w = np.linalg.solve(S, difference)
        variances = np.ravel(_core.margins(core, np.ascontiguousarray((w / unit)[np.newaxis]), 1)[1])
        noise = float(np.sqrt(variances[np.isin(codes, pair)].mean()))
        found.append((pair, float(w @ difference), float(np.sqrt(w @ shrunk @ w)), noise))
    return max(found, key=lambda f: (_beyond(f[1] / 2, float(np.hypot(f[2], f[3]))), f[3] - f[1]))
