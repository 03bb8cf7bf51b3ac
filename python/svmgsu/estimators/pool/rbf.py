"""The RBF family: Fourier features of random frequencies, expected exactly over a sample's posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import _core
from ...data.mixtures import Mixtures
from ...propagate.features import spectrum
from ...support.validation import FloatArray
from .inputs import View
from .linear import LinearFeatures

LAMS = np.logspace(-2.5, -7, 7)
FACTORS = (0.1, 0.3, 1.0, 3.0)  # γ times the number of features
LINEAR_SHARE = 0.1  # the scale of linear terms beside Fourier features


@dataclass
class FourierFeatures:
    """E cos and E sin of each frequency, and a tenth of the linear features.

    The last columns of `frequencies` belong to standard errors, which are known.
    """

    frequencies: FloatArray  # (R, n) or (R, n + standard errors)
    inputs: int  # n
    on_posterior: bool
    linear: bool

    def __call__(self, view: View, threads: int) -> FloatArray:
        waves = self._waves(view, None, threads)
        return np.hstack([waves, self._linear_terms(view, threads)]) if self.linear else waves

    def scores(self, view: View, W: FloatArray, threads: int) -> FloatArray:
        """The features times each row of W, without holding them."""
        R = len(self.frequencies)
        found = self._waves(view, np.ascontiguousarray(W[:, : 2 * R]), threads)
        return found + self._linear_terms(view, threads) @ W[:, 2 * R :].T if self.linear else found

    def _waves(self, view: View, combine: FloatArray | None, threads: int) -> FloatArray:
        """Expected cosines and sines, (l, 2R), or `combine` times these."""
        errors = None
        if self.frequencies.shape[1] > self.inputs:
            assert view.errors is not None
            errors = np.ascontiguousarray(view.errors)
        posterior = view.posterior if self.on_posterior else None
        weights, cov = None, None
        if isinstance(posterior, Mixtures):
            weights, means, cov = posterior.weights, posterior.mean, posterior.cov
        elif posterior is not None and posterior.cov is not None:
            means = posterior.mean[:, np.newaxis]
            cov = np.ascontiguousarray(posterior.cov.diagonals(*posterior.shape)[:, np.newaxis])
        else:
            means = view.points[:, np.newaxis]
        return _core.expected_waves(self.frequencies, weights, means, cov, errors, combine, threads)

    def _linear_terms(self, view: View, threads: int) -> FloatArray:
        with_errors = self.frequencies.shape[1] > self.inputs
        return LINEAR_SHARE * LinearFeatures(self.on_posterior, with_errors)(view, threads)

    @property
    def outputs(self) -> int:
        """How many features there are."""
        return 2 * len(self.frequencies) + (self.frequencies.shape[1] if self.linear else 0)

    def state(self) -> dict[str, Any]:
        return {
            "kind": "fourier",
            "frequencies": self.frequencies,
            "on_posterior": self.on_posterior,
            "linear": self.linear,
        }


def rbf_candidates(
    n: int, errors: int, count: int, seed: int, *, on_posterior: bool, linear: bool
) -> list[FourierFeatures]:
    """Frequencies of the RBF kernel for several γ; `errors` of the inputs are standard errors."""
    of_values = spectrum("rbf", count, n, np.random.default_rng([seed, 21]))
    of_errors = np.sqrt(2.0) * np.random.default_rng([seed, 22]).standard_normal((count, errors))
    both = np.hstack([of_values, of_errors])
    return [FourierFeatures(np.sqrt(factor / n) * both, n, on_posterior, linear) for factor in FACTORS]
