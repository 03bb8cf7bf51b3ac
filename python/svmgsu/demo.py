"""A toy problem of long, slanted Gaussians."""

from __future__ import annotations

import numpy as np

from .data.gaussians import Gaussians
from .support.validation import Array


def crossing(count: int = 11, seed: int = 3) -> tuple[Gaussians, Array]:
    """Return two classes of long, slanted Gaussians; their means alone suggest another boundary."""
    rng = np.random.default_rng(seed)
    angle = np.radians(38 + rng.uniform(-9, 9, 2 * count))
    along = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    across = np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    length = rng.uniform(0.8, 1.7, 2 * count)
    breadth = rng.uniform(0.12, 0.22, 2 * count)
    factors = np.stack([length[:, None] * along, breadth[:, None] * across], axis=1)
    y = np.repeat([1, 2], count)
    centre = np.where(y[:, None] == 1, [-1.5, 0.55], [1.5, -0.55])
    mean = centre + rng.uniform(-1, 1, (2 * count, 2)) * [0.75, 1.5]
    return Gaussians(mean, np.einsum("lri,lrj->lij", factors, factors)), y
