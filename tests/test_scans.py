"""What a user gives is read once to be checked, and what was checked is not checked again."""

import numpy as np
import pytest

import svmgsu

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
E = rng.uniform(0.1, 0.5, (40, 3))


# What is found on the way


def test_error_bars_without_a_finite_square_are_refused():
    e = E.copy()
    e[17, 2] = 1e200
    with pytest.raises(ValueError, match="std: sample 17 has standard deviation 1e\\+200 at feature 2"):
        svmgsu.Gaussians(X, std=e)


@pytest.mark.parametrize(("value", "kept"), [(0.0, True), (1e-30, False), (1e25, False), (1.2e-19, True)])
def test_single_precision_stays_where_the_squares_fit_in(value, kept):
    e = E.astype(np.float32)
    e[17, 2] = value
    found = svmgsu.Gaussians(X.astype(np.float32), std=e).cov.variances
    assert (found.dtype == np.float32) == kept
    assert found[17, 2] == pytest.approx(float(e[17, 2]) ** 2, rel=1e-6)
