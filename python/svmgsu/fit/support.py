"""Where a population is known: objects far noisier than those it was learnt from, or far from it."""

from __future__ import annotations

import math
import warnings
from typing import NamedTuple

import numpy as np

from ..exceptions import PopulationWarning
from ..support.validation import Array, FloatArray
from .population import Observed, variances_of

FAR = 4.75  # deviations of a normal variable: one object in a million lies beyond
OFTEN = 0.03  # a share of objects outside that is worth a word; new ones like those of the fit may have half
NOISIER = 2.0  # times the noise of the noisiest hundredth of the fit
MATTERS = 0.2  # noise below this share of the population's spread changes little


class Support(NamedTuple):
    """What the objects of the fit were like."""

    noise: float  # of the noisiest hundredth, in units of the population's spread
    outside: float  # the share of them that lies far from the population
    spread: FloatArray  # of each feature in the population

    @classmethod
    def of(
        cls, seen: Observed, distance: FloatArray, weights: FloatArray, means: FloatArray, cov: FloatArray
    ) -> Support:
        """Of objects and the population learnt from them."""
        centre = weights @ means
        variances = weights @ (np.diagonal(cov, axis1=1, axis2=2) + (means - centre) ** 2)
        spread = np.sqrt(variances)
        noise = _noise(seen, spread)
        typical = float("inf") if noise is None else float(np.quantile(noise, 0.99))
        return cls(typical, float(_is_far(seen, distance).mean()), spread)


class Outside(NamedTuple):
    """How many of some objects are unlike those of the fit; batches of objects are added."""

    total: int = 0
    far: int = 0
    noisier: int = 0

    def and_of(self, support: Support, seen: Observed, distance: FloatArray) -> Outside:
        """With some more objects."""
        noise = _noise(seen, support.spread)
        noisier = 0 if noise is None else int((noise > max(MATTERS, NOISIER * support.noise)).sum())
        far = int(_is_far(seen, distance).sum())
        return Outside(self.total + len(seen), self.far + far, self.noisier + noisier)

    def warn(self, support: Support, stacklevel: int) -> None:
        """Warns where the population may be no guide."""
        found = []
        if self._often(self.far, max(OFTEN, 3 * support.outside)):
            found.append(f"{self.far} of {self.total} samples are far from the population of the fit")
        if self._often(self.noisier, OFTEN):
            found.append(f"{self.noisier} of {self.total} samples are much noisier than those of the fit")
        if found:
            warnings.warn(
                f"{'; '.join(found)}: what the population says of them is an extrapolation. Fit it to data "
                "that include such samples (no labels are needed), or leave them out",
                PopulationWarning,
                stacklevel=stacklevel + 1,
            )

    def _often(self, found: int, share: float) -> bool:
        """Whether there are more than a share of all, by more than two standard deviations of that number."""
        expected = share * self.total
        return found > expected + 2 * math.sqrt(expected)


def _noise(seen: Observed, spread: FloatArray) -> FloatArray | None:
    """The noise of each object in units of the spread; None of projections, which have no such units."""
    if seen.projection is not None:
        return None
    known = ~np.isnan(seen.values)
    ratios = np.where(known, variances_of(seen) / spread**2, 0.0)
    return np.asarray(np.sqrt(ratios.sum(axis=1) / np.maximum(known.sum(axis=1), 1)))


def _is_far(seen: Observed, distance: FloatArray) -> Array:
    """Whether a squared distance lies beyond χ²'s quantile for the object's values (Wilson and Hilferty)."""
    m = np.maximum((~np.isnan(seen.values)).sum(axis=1), 1)
    limit = m * (1 - 2 / (9 * m) + FAR * np.sqrt(2 / (9 * m))) ** 3
    return np.asarray(distance > limit)
