"""The RBF family: Fourier features of random frequencies, expected exactly over a sample's posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...maps.fourier import fourier_map, spectrum
from ...support.validation import FloatArray
from .inputs import View
from .linear import LinearFeatures

LAMS = np.logspace(-2.5, -7, 7)
FACTORS = (0.1, 0.3, 1.0, 3.0)  # γ times the number of features
LINEAR_SHARE = 0.1  # the scale of linear terms beside Fourier features


@dataclass
class FourierFeatures:
    """E cos and E sin of each frequency, and a tenth of the linear features.

    The last columns of `frequencies` belong to standard errors. These are known, and turn the expectations by
    a phase: E cos(w·x + φ) = cos φ E cos w·x - sin φ E sin w·x.
    """

    frequencies: FloatArray  # (R, n) or (R, n + standard errors)
    inputs: int  # n
    on_posterior: bool
    linear: bool
    key: tuple[Any, ...] | None = None  # of members that have the same frequencies for values

    def __call__(self, view: View, threads: int) -> FloatArray:
        of_values = self._of_values(view, threads)
        R = len(self.frequencies)
        with_errors = self.frequencies.shape[1] > self.inputs
        parts = [of_values]
        if with_errors:
            assert view.errors is not None
            phase = view.errors @ self.frequencies[:, self.inputs :].T
            cos, sin = np.cos(phase), np.sin(phase)
            c, s = of_values[:, :R], of_values[:, R:]
            parts = [c * cos - s * sin, s * cos + c * sin]
        if self.linear:
            parts.append(LINEAR_SHARE * LinearFeatures(self.on_posterior, with_errors)(view, threads))
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    def _of_values(self, view: View, threads: int) -> FloatArray:
        key = (self.on_posterior, *self.key) if self.key is not None else None
        if key is not None and key in view.cache:
            return view.cache[key]
        W = np.ascontiguousarray(self.frequencies[:, : self.inputs])
        if self.on_posterior and view.posterior is not None:
            found = np.asarray(fourier_map(W).mean(view.posterior, threads=threads))
        else:
            phase = view.points @ W.T
            found = np.hstack([np.cos(phase), np.sin(phase)]) / np.sqrt(len(W))
        if key is not None:
            view.cache[key] = found
        return found

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
    return [
        FourierFeatures(np.sqrt(factor / n) * both, n, on_posterior, linear, ("rbf", factor))
        for factor in FACTORS
    ]
