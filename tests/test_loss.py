"""The expected hinge of the core against 50 digits, against sampling, and by its properties."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import svmgsu
from svmgsu import _core

SCALES = [1e-150, 1e-20, 1e-3, 0.37, 1.0, 17.3, 1e8]
SMALLEST_NORMAL = np.finfo(float).tiny


def hinge(d, s):
    """(loss, Phi, kappa) of numbers or arrays."""
    d, s = np.broadcast_arrays(np.asarray(d, dtype=float), np.asarray(s, dtype=float))
    return _core.expected_hinge(np.ascontiguousarray(d).ravel(), np.ascontiguousarray(s).ravel())


def loss(d, s):
    return float(hinge(d, s)[0][0])


def exact(d, s):
    """(loss, Phi, kappa) by mpmath, from the doubles as they are."""
    d, s = mpmath.mpf(float(d)), mpmath.mpf(float(s))
    r = d / s
    Phi, phi = mpmath.erfc(-r / mpmath.sqrt(2)) / 2, mpmath.npdf(r)
    return d * Phi + s * phi, Phi, phi / s


@pytest.mark.parametrize("s", SCALES)
def test_thirteen_digits_from_tail_to_tail(s):
    rng = np.random.default_rng(1)
    r = np.concatenate([np.linspace(-40, 40, 321), rng.uniform(-40, 40, 100), rng.normal(size=100)])
    d = r * s
    got = hinge(d, s)
    with mpmath.workdps(60):
        for i in range(len(d)):
            for name, values, wanted in zip(("loss", "Phi", "kappa"), got, exact(d[i], s), strict=True):
                if wanted >= SMALLEST_NORMAL:
                    error = abs(mpmath.mpf(float(values[i])) / wanted - 1)
                    assert error <= 1e-13, (
                        f"{name} at r = {r[i]!r}, s = {s}: relative error {float(error):.2g}"
                    )
                else:
                    assert 0 <= values[i] <= 2 * SMALLEST_NORMAL, f"{name} at r = {r[i]!r}, s = {s}"


def test_without_uncertainty_it_is_the_hinge_exactly():
    d = np.array([-np.inf, -1e300, -2.0, -1e-300, -0.0, 0.0, 1e-300, 0.5, 3.0, 1e300])
    values, Phi, kappa = hinge(d, 0.0)
    np.testing.assert_array_equal(values, np.maximum(d, 0))
    np.testing.assert_array_equal(Phi, d > 0)
    np.testing.assert_array_equal(kappa, 0)


@pytest.mark.parametrize("d", [-3.0, -0.2, 0.0, 0.4, 5.0])
def test_vanishing_uncertainty_gives_the_hinge(d):
    s = 10.0 ** -np.arange(1, 160, 3)
    values = hinge(d, s)[0]
    assert (np.diff(values) <= 0).all()
    assert (values - max(d, 0) <= s).all()
    assert values[-1] == pytest.approx(max(d, 0), rel=1e-15, abs=1e-150)


def test_no_variance_however_odd_makes_a_nan():
    variances = 10.0 ** np.arange(-300, 101, 2.0)
    margins = np.concatenate([[0.0], 10.0 ** np.arange(-300, 101, 10.0)])
    d = np.concatenate([margins, -margins])
    grid_d, grid_s = np.meshgrid(d, np.sqrt(variances))
    for values in hinge(grid_d, grid_s):
        assert np.isfinite(values).all()
        assert (values >= 0).all()


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_the_closed_form_is_the_mean_of_sampled_hinges(label):
    rng = np.random.default_rng(7)
    n, samples = 4, 400_000
    for _ in range(4):
        w, b, x = rng.normal(size=n), rng.normal(), rng.normal(size=n)
        G = rng.normal(size=(n, n))
        draws = x + rng.normal(size=(samples, n)) @ G.T
        sampled = np.maximum(0, 1 - label * (draws @ w + b))
        closed = loss(1 - label * (w @ x + b), np.sqrt(w @ G @ G.T @ w))
        assert abs(closed - sampled.mean()) <= 4 * sampled.std() / np.sqrt(samples)


def test_an_objective_of_two_examples_is_made_of_this_loss():
    X, y, v, w, b = (
        np.array([[0.3], [-0.8]]),
        np.array([1.0, -1.0]),
        np.array([0.5, 2.0]),
        np.array([1.7]),
        0.2,
    )
    expected = 0.1 / 2 * 1.7**2 + hinge(1 - y * (X @ w + b), np.sqrt(v) * 1.7)[0].mean()
    assert svmgsu.Objective(X, y, v, lam=0.1).value(w, b) == pytest.approx(expected, rel=1e-15)


numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
deviations = st.one_of(st.just(0.0), st.floats(1e-6, 1e6))


@given(numbers, numbers, st.floats(0, 1), deviations)
def test_it_is_convex_in_d(d1, d2, t, s):
    middle = loss((1 - t) * d1 + t * d2, s)
    chord = (1 - t) * loss(d1, s) + t * loss(d2, s)
    assert middle <= chord + 1e-14 * (abs(d1) + abs(d2) + s)


@given(numbers, numbers, deviations, deviations)
def test_it_is_jointly_convex_in_d_and_s(d1, d2, s1, s2):
    middle = loss((d1 + d2) / 2, (s1 + s2) / 2)
    chord = (loss(d1, s1) + loss(d2, s2)) / 2
    assert middle <= chord + 1e-14 * (abs(d1) + abs(d2) + s1 + s2)


@given(numbers, deviations, deviations)
def test_more_uncertainty_never_costs_less(d, s1, s2):
    low, high = sorted((s1, s2))
    assert loss(d, low) <= loss(d, high) * (1 + 1e-14)


@given(numbers, deviations)
def test_it_is_never_below_the_hinge(d, s):
    assert loss(d, s) >= max(0.0, d)


@given(st.floats(-30, 30), st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_it_is_homogeneous(r, s, t):
    d = r * s
    # t·d and t·s are rounded; the tail magnifies that by r².
    assert loss(t * d, t * s) == pytest.approx(t * loss(d, s), rel=1e-15 * (10 + 2 * r * r), abs=1e-300)


@given(st.floats(-30, 30), st.floats(1e-3, 1e3))
def test_the_loss_of_d_and_of_minus_d_differ_by_d(r, s):
    d = r * s
    assert loss(d, s) - loss(-d, s) == pytest.approx(d, rel=1e-14, abs=1e-14 * s)


def test_a_value_does_not_depend_on_its_neighbours():
    rng = np.random.default_rng(3)
    d, s = rng.normal(size=37) * 5, rng.uniform(0, 2, 37) * (rng.uniform(size=37) < 0.8)
    together = hinge(d, s)
    for i in range(len(d)):
        alone = hinge(d[i], s[i])
        assert all(many[i] == one[0] for many, one in zip(together, alone, strict=True))
