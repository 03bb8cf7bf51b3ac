"""What tests of objective share."""

import numpy as np

LAM = 0.3


def point(n, seed=0):
    """A hyperplane (w, b) and a direction (vw, vb)."""
    rng = np.random.default_rng(100 + seed)
    return rng.normal(size=n) / np.sqrt(n), 0.3, rng.normal(size=n), -0.7
