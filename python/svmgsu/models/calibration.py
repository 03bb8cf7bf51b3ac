"""Probabilities from decision values: one function for noise-free and for noisy samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..support.validation import FloatArray


class Calibration(NamedTuple):
    """How a decision value f, with variance v = wᵀΣw, becomes the log-odds of the positive class.

        z(f, v) = base + (a f + b - base) / (1 + κ v)

    Without noise (v = 0) that is Platt's sigmoid σ(a f + b). The larger the noise, the less f says, and the
    class prior is left in the end. That is Bayes' rule where the margins of each class are normal with one
    deviation τ: the log-odds of p ∝ prior · N(f; μ, τ² + v) are a line in f whose slope falls with 1 + v/τ².

    Attributes
    ----------
    a, b : float
        The sigmoid of noise-free samples; a >= 0 where it was fitted here.
    kappa : float
        How fast noise makes f worthless; 1/τ² if v is all of the margin's noise.
    base : float
        The log-odds of the class priors in training.

    Examples
    --------
    >>> from svmgsu.models.calibration import Calibration
    >>> rare = Calibration(a=2.0, b=0.0, kappa=1.0, base=-3.0)
    >>> [round(float(rare.probability(1.5, variance)), 2) for variance in (0.0, 1.0, 100.0)]
    [0.95, 0.5, 0.05]
    >>> round(float(rare.probability(1.5, 1e9, prior=0.0)), 2)  # used where both classes are equally frequent
    0.5
    """

    a: float
    b: float
    kappa: float
    base: float

    @classmethod
    def from_platt(cls, platt: tuple[float, float], base: float = 0.0) -> Calibration:
        """Return the calibration of 1/(1 + exp(A f + B)), which says nothing of noise.

        If the classes are at f = -1 and 1, as in training, the slope is 2/τ², so that κ is half of it.
        """
        return cls(-platt[0], -platt[1], abs(platt[0]) / 2, base)

    @property
    def platt(self) -> tuple[float, float]:
        """(A, B) of the sigmoid of noise-free samples, as 1/(1 + exp(A f + B))."""
        return -self.a, -self.b

    def log_odds(
        self,
        margin: FloatArray,
        variance: FloatArray | None = None,
        prior: FloatArray | float | None = None,
    ) -> FloatArray:
        """Return log(p/(1 - p)) of decision values `margin` with their `variance`; None is 0.

        `prior` is the log-odds of the class priors where the model is used, by default those of training: a
        number, or one for each sample.
        """
        evidence = self.a * np.asarray(margin, dtype=np.float64) + (self.b - self.base)
        if variance is not None and self.kappa > 0:
            evidence = evidence / (1 + self.kappa * np.asarray(variance, dtype=np.float64))
        return np.asarray((self.base if prior is None else prior) + evidence)

    def probability(
        self,
        margin: FloatArray,
        variance: FloatArray | None = None,
        prior: FloatArray | float | None = None,
    ) -> FloatArray:
        """Return P(positive) of decision values `margin`; the arguments are those of `log_odds`."""
        return np.exp(-np.logaddexp(0, -self.log_odds(margin, variance, prior)))
