"""The pure-Python twin against oracles that share no code with it: mpmath, SciPy, differences, sampling."""

import warnings

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from reference_cases import (
    COVARIANCES,
    LAM,
    L,
    N,
    blobs,
    every_form,
    every_weighting,
    point,
    scipy_objective,
    scipy_optimum,
)

from svmgsu import reference


@pytest.fixture
def data():
    return point()


# The loss


@pytest.mark.parametrize("s", [1e-3, 0.4, 1.0, 30.0, 1e6])
def test_expected_hinge_keeps_twelve_digits_from_tail_to_tail(s):
    d = np.concatenate([np.linspace(-37, 37, 297), np.linspace(-4.01, -3.99, 9)]) * s
    got = reference.expected_hinge(d, s)
    with mpmath.workdps(50):
        for i, d_i in enumerate(d):
            r = mpmath.mpf(d_i) / mpmath.mpf(s)
            Phi, phi = mpmath.erfc(-r / mpmath.sqrt(2)) / 2, mpmath.npdf(r)
            for value, exact in zip(got, (mpmath.mpf(d_i) * Phi + s * phi, Phi, phi / s), strict=True):
                assert abs(mpmath.mpf(value[i]) / exact - 1) < 1e-12


def test_the_paper_s_erf_form_is_the_same_loss():
    d = np.linspace(-3, 3, 41)
    d_sigma = np.sqrt(2) * 0.8
    ours = reference.expected_hinge(d, 0.8)[0]
    erf = scipy.special.erf(d / d_sigma)
    theirs = d / 2 * (erf + 1) + d_sigma / (2 * np.sqrt(np.pi)) * np.exp(-(d**2) / d_sigma**2)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)


def test_without_uncertainty_the_loss_is_the_hinge():
    d = np.array([-2.0, -0.0, 0.0, 1e-300, 3.0])
    loss, Phi, kappa = reference.expected_hinge(d, 0.0)
    np.testing.assert_array_equal(loss, np.maximum(0, d))
    np.testing.assert_array_equal(Phi, [0, 0, 0, 1, 1])
    np.testing.assert_array_equal(kappa, 0)


@given(st.floats(-1e300, 1e300), st.floats(0, 1e300))
def test_expected_hinge_is_a_number_for_all_numbers_and_never_below_the_hinge(d, s):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss, Phi, kappa = reference.expected_hinge(d, s)
    assert loss >= max(0, d) * (1 - 1e-15)
    assert 0 <= Phi <= 1
    assert kappa >= 0


def test_expected_hinge_is_the_mean_hinge_of_samples():
    rng = np.random.default_rng(7)
    X, y, full = blobs(5, 3, 2)
    w, b = np.array([0.8, -0.5, 0.3]), 0.4
    exact = reference.expected_hinge(1 - y * (X @ w + b), np.sqrt(reference.quadratic(full, w)))[0]
    for x, Sigma, label, loss in zip(X, full, y, exact, strict=True):
        sample = np.maximum(0, 1 - label * (rng.multivariate_normal(x, Sigma, 200_000) @ w + b))
        assert abs(sample.mean() - loss) < 4 * sample.std() / np.sqrt(len(sample))


# Covariances


@every_form
def test_a_covariance_means_its_full_matrices(form):
    cov, full = COVARIANCES[form]
    v = np.random.default_rng(3).normal(size=N)
    rows = np.array([7, 2, 2, 11])
    np.testing.assert_allclose(reference.to_full(cov, L, N), full, atol=1e-14)
    products = np.array([Sigma @ v for Sigma in full])
    np.testing.assert_allclose(np.broadcast_to(reference.times(cov, v), (L, N)), products, atol=1e-13)
    np.testing.assert_allclose(np.broadcast_to(reference.quadratic(cov, v), L), products @ v, atol=1e-13)
    assert reference.times(reference.take(cov, rows), v).shape == (4, N)
    np.testing.assert_allclose(reference.times(reference.take(cov, rows), v), products[rows], atol=1e-13)
    assert reference.quadratic(reference.take(cov, rows), v).shape == (4,)
    np.testing.assert_allclose(
        reference.quadratic(reference.take(cov, rows), v), (products @ v)[rows], atol=1e-13
    )


def test_quadratic_is_not_negative_where_w_is_orthogonal_to_the_range():
    rng = np.random.default_rng(0)
    u = rng.normal(size=(200, 5))
    w = rng.normal(size=5)
    u -= np.outer(u @ w, w) / (w @ w)
    full = u[:, :, None] * u[:, None, :]
    assert np.all(reference.quadratic(full, w) >= 0)
    assert np.all(reference.quadratic(reference.SharedMatrix(full, np.arange(200)), w) >= 0)


# The objective


@every_form
@every_weighting
def test_objective_is_the_same_for_every_form_as_for_its_full_matrices(form, weighted, data):
    X, y, w, b, c = data
    cov, full = COVARIANCES[form]
    c = c if weighted else None
    if form == "none":
        hinge = np.maximum(0, 1 - y * (X @ w + b))
        expected = LAM / 2 * w @ w + np.mean(hinge * (1 if c is None else c))
    else:
        expected = scipy_objective(np.append(w, b), X, y, full, LAM, 1 if c is None else c)
    assert reference.Objective(X, y, cov, LAM, c).value(w, b) == pytest.approx(expected, rel=1e-13)


@every_form
@every_weighting
def test_gradient_is_the_slope_of_the_objective(form, weighted, data):
    X, y, w, b, c = data
    cov = COVARIANCES[form][0]
    c = c if weighted else None

    def value(theta):
        return reference.Objective(X, y, cov, LAM, c).value(theta[:-1], theta[-1])

    theta, h = np.append(w, b), 1e-5
    slope = [(value(theta + h * e) - value(theta - h * e)) / (2 * h) for e in np.eye(N + 1)]
    gw, gb = reference.Objective(X, y, cov, LAM, c).gradient(w, b)
    np.testing.assert_allclose(np.append(gw, gb), slope, atol=1e-8)


@every_form
@every_weighting
def test_hessian_product_is_the_slope_of_the_gradient(form, weighted, data):
    X, y, w, b, c = data
    cov = COVARIANCES[form][0]
    c = c if weighted else None
    rng = np.random.default_rng(4)
    vw, vb, h = rng.normal(size=N), 0.7, 1e-5
    up = reference.Objective(X, y, cov, LAM, c).gradient(w + h * vw, b + h * vb)
    down = reference.Objective(X, y, cov, LAM, c).gradient(w - h * vw, b - h * vb)
    hw, hb = reference.Objective(X, y, cov, LAM, c).hessian_product(w, b, vw, vb)
    np.testing.assert_allclose(hw, (up[0] - down[0]) / (2 * h), atol=1e-8)
    assert hb == pytest.approx((up[1] - down[1]) / (2 * h), abs=1e-8)


@every_form
def test_hessian_is_the_matrix_of_its_products_and_positive(form, data):
    X, y, w, b, c = data
    cov = COVARIANCES[form][0]
    H = reference.Objective(X, y, cov, LAM, c).hessian(w, b)
    for column, e in zip(H.T, np.eye(N + 1), strict=True):
        hw, hb = reference.Objective(X, y, cov, LAM, c).hessian_product(w, b, e[:-1], e[-1])
        np.testing.assert_allclose(np.append(hw, hb), column, atol=1e-13)
    assert np.linalg.eigvalsh(H).min() > -1e-12


@every_form
def test_at_w_zero_everything_is_finite(form, data):
    X, y, _, b, c = data
    cov, w = COVARIANCES[form][0], np.zeros(N)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gw, gb = reference.Objective(X, y, cov, LAM, c).gradient(w, b)
        H = reference.Objective(X, y, cov, LAM, c).hessian(w, b)
    assert reference.Objective(X, y, cov, LAM, c).value(w, b) == pytest.approx(np.mean(c * (1 - y * b)))
    np.testing.assert_allclose(gw, -(c * y) @ X / L)
    assert gb == pytest.approx(-np.mean(c * y))
    np.testing.assert_array_equal(H, np.diag([LAM] * N + [0]))


@pytest.mark.parametrize("size", [1e-160, 1e-20, 1e20])
def test_tiny_and_huge_w_give_no_nan(size, data):
    X, y, w, b, _ = data
    cov = COVARIANCES["full"][0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(reference.Objective(X, y, cov, LAM).gap(size * w, b))
        assert np.all(np.isfinite(reference.Objective(X, y, cov, LAM).hessian(size * w, b)))


def test_no_uncertainty_is_the_limit_of_little(data):
    X, y, w, b, _ = data
    hinge = reference.Objective(X, y, None, LAM).value(w, b)
    errors = [reference.Objective(X, y, v, LAM).value(w, b) - hinge for v in (1e-2, 1e-4, 1e-6, 0.0)]
    assert errors == sorted(errors, reverse=True)
    assert errors[2] < 1e-4
    assert errors[3] == 0


def test_weights_count_as_repetitions():
    X, y, full = blobs(15, 2, 9)
    times = np.random.default_rng(2).integers(0, 4, 15)
    again = np.repeat(np.arange(15), times)
    c = times * 15 / times.sum()
    w, b = np.array([0.5, -1.0]), 0.3
    once = reference.Objective(X, y, full, LAM, c)
    often = reference.Objective(X[again], y[again], full[again], LAM)
    assert once.value(w, b) == pytest.approx(often.value(w, b))
    np.testing.assert_allclose(once.gradient(w, b)[0], often.gradient(w, b)[0])
    np.testing.assert_allclose(once.hessian(w, b), often.hessian(w, b))
    assert once.gap(w, b) == pytest.approx(often.gap(w, b))


# The intercept and the certificate


@every_weighting
def test_best_intercept_is_where_scipy_finds_it(weighted):
    X, y, full = blobs(40, 3, 3, share=0.3)
    w = np.array([0.5, -0.3, 1.0])
    c = np.random.default_rng(0).uniform(0.1, 2, 40) if weighted else None
    b = reference.Objective(X, y, full, LAM, c).best_intercept(w)

    def value(b):
        return scipy_objective(np.append(w, b), X, y, full, LAM, 1 if c is None else c)

    found = scipy.optimize.minimize_scalar(value, bracket=(-5, 5), options={"xtol": 1e-10})
    assert b == pytest.approx(found.x, abs=1e-6)
    assert value(b) <= found.fun + 1e-15
    assert abs(reference.Objective(X, y, full, LAM, c).gradient(w, b)[1]) < 1e-15


def test_best_intercept_of_the_hinge_beats_every_kink():
    X, y, _ = blobs(31, 2, 4)
    w = np.array([0.7, 0.2])
    b = reference.Objective(X, y, None, LAM).best_intercept(w)
    kinks = y - X @ w
    lowest = min(reference.Objective(X, y, None, LAM).value(w, k) for k in kinks)
    assert reference.Objective(X, y, None, LAM).value(w, b) <= lowest + 1e-14
    assert np.min(np.abs(b - kinks)) < 1e-14


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_best_intercept_of_one_class_leaves_no_loss(label):
    m, s = np.array([0.3, -2.0, 5.0]), np.array([0.1, 1.0, 0.0])
    y = np.full(3, label)
    b = reference.Objective(m[:, None], y, s**2, LAM).best_intercept(np.ones(1))
    assert reference.expected_hinge(1 - y * (m + b), s)[0].max() < 1e-300


@every_weighting
@pytest.mark.parametrize("seed", range(3))
def test_gap_bounds_the_distance_to_the_optimum_and_closes_there(seed, weighted):
    X, y, full = blobs(40, 3, seed, share=0.35)
    rng = np.random.default_rng(seed)
    c = rng.uniform(0.1, 2, 40) if weighted else None
    w_best, b_best, J_best = scipy_optimum(X, y, full, 0.1, c)
    assert -1e-14 < reference.Objective(X, y, full, 0.1, c).gap(w_best, b_best) < 1e-11
    for scale in (1e-3, 0.1, 1.0, 10.0):
        for w, b in zip(rng.normal(size=(20, 3)) * scale, rng.normal(size=20) * scale, strict=True):
            J = reference.Objective(X, y, full, 0.1, c).value(w_best + w, b_best + b)
            assert reference.Objective(X, y, full, 0.1, c).gap(w_best + w, b_best + b) >= J - J_best - 1e-13


def test_gap_bounds_the_distance_to_the_optimum_of_the_hinge():
    X, y, _ = blobs(20, 2, 6)
    K = (y[:, None] * X) @ (y[:, None] * X).T / (LAM * 20**2)
    dual = scipy.optimize.minimize(
        lambda a: a @ K @ a / 2 - a.mean(),
        np.full(20, 0.5),
        jac=lambda a: K @ a - 1 / 20,
        bounds=[(0, 1)] * 20,
        constraints={"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    J_best = -dual.fun
    rng = np.random.default_rng(0)
    for w, b in zip(rng.normal(size=(50, 2)), rng.normal(size=50), strict=True):
        J = reference.Objective(X, y, None, LAM).value(w, b)
        assert reference.Objective(X, y, None, LAM).gap(w, b) >= J - J_best - 1e-8


def test_gap_is_the_squared_slope_once_b_is_best():
    X, y, full = blobs(30, 3, 8)
    w = np.array([0.2, 0.5, -0.1])
    b = reference.Objective(X, y, full, LAM).best_intercept(w)
    gw, _ = reference.Objective(X, y, full, LAM).gradient(w, b)
    assert reference.Objective(X, y, full, LAM).gap(w, b) == pytest.approx(gw @ gw / (2 * LAM), rel=1e-12)


def test_a_class_without_mass_proves_only_that_the_loss_is_not_negative():
    X, y, full = blobs(10, 2, 1)
    w = np.zeros(2)
    assert reference.Objective(X, y, full, LAM).gap(w, 1.0) == reference.Objective(X, y, full, LAM).value(
        w, 1.0
    )
    ones = np.ones(10)
    assert reference.Objective(X, ones, full, LAM).gap(w, 1.0) == 0
    assert reference.Objective(X, ones, full, LAM).gap(w, 0.0) == pytest.approx(1)
