"""The axis-aligned family: frequencies of one or two features, an additive model with pairs."""

from __future__ import annotations

import numpy as np

from .rbf import FourierFeatures

GAMMAS = (0.3, 1.0)
SMALLEST, LARGEST = 0.3, 3.0  # factors of the scale, one for each frequency


def axis_aligned_candidates(
    n: int, errors: int, count: int, seed: int, *, on_posterior: bool, linear: bool
) -> list[FourierFeatures]:
    """Frequencies w_j = √(2γ) g_j e^u of one random feature, then two, in turn."""
    rng = np.random.default_rng([seed, 23, int(errors > 0)])
    inputs = n + errors
    base = np.zeros((count, inputs))
    for r in range(count):
        chosen = rng.choice(inputs, size=min(inputs, 1 + r % 2), replace=False)
        scale = np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST)))
        base[r, chosen] = scale * rng.standard_normal(len(chosen))
    return [FourierFeatures(np.sqrt(2 * gamma) * base, n, on_posterior, linear) for gamma in GAMMAS]
