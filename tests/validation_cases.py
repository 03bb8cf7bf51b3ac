"""What the tests of bad input have in common."""

import re

import numpy as np
import pytest
from conftest import spd, train_with

COUNT, N = 20, 6


def train(X, y, cov=None, **options):
    return train_with(X, y, cov, **{"solver": "sgd", "steps": 5, **options})


def refuses(message, error=ValueError):
    """An error with exactly this text somewhere in its message."""
    return pytest.raises(error, match=re.escape(message))


def with_entry(array, place, value):
    out = array.copy()
    out[place] = value
    return out


def arrays():
    """Means, labels, variances and covariance matrices of COUNT samples."""
    rng = [np.random.default_rng(seed) for seed in range(3)]
    X, V = rng[0].normal(size=(COUNT, N)), rng[1].uniform(0.1, 1, (COUNT, N))
    return {"X": X, "y": np.arange(COUNT) % 2, "V": V, "S": spd(rng[2], COUNT, N)}
