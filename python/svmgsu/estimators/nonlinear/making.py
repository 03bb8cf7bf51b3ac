"""Which map a kernel and an approximation mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...propagate.features import (
    FeatureMap,
    choose_landmarks,
    factor_of,
    fourier_map,
    landmark_map,
    polynomial_map,
    spectrum,
)
from ...support.validation import FloatArray

KERNELS = ("rbf", "laplace", "matern", "quadratic", "linear")
APPROXIMATIONS = ("fourier", "landmarks", "exact")
EXACT_MOST = 5000


@dataclass
class MapMaker:
    """Makes the map of a γ and a metric; what is drawn at random is drawn once for each number of inputs."""

    kernel: str
    approximation: str
    n_features: int
    scales: tuple[float, ...]
    seed: int
    points: FloatArray | None = None  # among which landmarks are chosen
    _drawn: dict[int, Any] = field(default_factory=dict)

    @property
    def has_gamma(self) -> bool:
        return self.kernel not in ("quadratic", "linear")

    def make(self, inputs: int, gamma: float, metric: FloatArray | None = None) -> FeatureMap:
        """The map of `inputs` features."""
        if not self.has_gamma:
            quadratic = polynomial_map(inputs)
            if self.kernel == "linear":
                quadratic.combine = np.eye(inputs, quadratic.outputs)
            return quadratic
        if self.approximation == "fourier":
            base = self._frequencies(inputs) * factor_of(self.kernel, self._own(gamma))
            return fourier_map(base if metric is None else base @ metric)
        return landmark_map(self._landmarks(inputs), gamma, metric, exact=self.approximation == "exact")

    def _own(self, gamma: float) -> float:
        """γ of the Laplace kernel, whose unit is a length and not a square."""
        return float(np.sqrt(gamma)) if self.kernel == "laplace" else gamma

    def _frequencies(self, inputs: int) -> FloatArray:
        if inputs not in self._drawn:
            rng = np.random.default_rng([self.seed, inputs])
            shares = np.diff(np.linspace(0, self.n_features // 2, len(self.scales) + 1).round().astype(int))
            self._drawn[inputs] = np.concatenate(
                [
                    factor_of(self.kernel, self._own(scale)) * spectrum(self.kernel, int(share), inputs, rng)
                    for scale, share in zip(self.scales, shares, strict=True)
                ]
            )
        found: FloatArray = self._drawn[inputs]
        return found

    def _landmarks(self, inputs: int) -> FloatArray:
        if inputs not in self._drawn:
            assert self.points is not None
            rng = np.random.default_rng([self.seed, inputs])
            how, count = (
                ("drawn", len(self.points)) if self.approximation == "exact" else ("kmeans", self.n_features)
            )
            self._drawn[inputs] = choose_landmarks(self.points[:, :inputs], count, how, rng)
        found: FloatArray = self._drawn[inputs]
        return found


def check_map(kernel: Any, approximation: Any, n_features: int, count: int) -> None:
    """Refuses what cannot be made."""
    if kernel not in KERNELS:
        raise ValueError(f"kernel: expected one of {', '.join(map(repr, KERNELS))}, got {kernel!r}")
    if approximation not in APPROXIMATIONS:
        raise ValueError(
            f"approximation: expected one of {', '.join(map(repr, APPROXIMATIONS))}, got {approximation!r}"
        )
    if approximation != "fourier" and kernel in ("laplace", "matern"):
        raise ValueError(f'approximation: {approximation!r} is for kernel="rbf"; {kernel!r} has "fourier"')
    if approximation == "exact" and kernel == "rbf" and count > EXACT_MOST:
        raise ValueError(
            f'approximation: "exact" makes a matrix of {count} × {count} numbers; from {EXACT_MOST} examples '
            'on take "fourier" or "landmarks"'
        )
    if approximation == "fourier" and n_features % 2:
        raise ValueError(f"n_features: a cosine and a sine for each frequency; got the odd {n_features}")
