"""Subspaces, stochastic gradient descent and probabilities of the pure-Python twin, against other oracles."""

import itertools

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special
import scipy.stats
from reference_cases import (
    COVARIANCES,
    LAM,
    L,
    N,
    blobs,
    every_form,
    every_weighting,
    point,
    scipy_optimum,
)

from svmgsu import reference


@pytest.fixture
def data():
    return point()


# Subspaces


def test_eigen_subspace_is_the_smallest_that_holds_more_than_the_share():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    S = Q @ np.diag([5.0, 3.0, 1.5, 0.5, 0.0]) @ Q.T
    for p, d in [(0.1, 1), (0.49, 1), (0.51, 2), (0.79, 2), (0.81, 3), (0.94, 3), (0.96, 4), (1.0, 4)]:
        values, U = reference.eigen_subspace(S, p)
        np.testing.assert_allclose(values, [5.0, 3.0, 1.5, 0.5][:d])
        assert U.shape == (5, d)
        np.testing.assert_allclose(U @ U.T, Q[:, :d] @ Q[:, :d].T, atol=1e-14)
    values, U = reference.eigen_subspace(np.diag([1.0, 1.0]), 0.5)
    assert len(values) == 2  # half the trace is not more than half


def test_a_zero_matrix_keeps_nothing():
    for p in (0.5, 1.0):
        values, U = reference.eigen_subspace(np.zeros((3, 3)), p)
        assert values.shape == (0,)
        assert U.shape == (3, 0)
        assert reference.truncate(np.zeros((2, 3, 3)), p).F.shape == (2, 0, 3)
    mixed = np.array([np.zeros((3, 3)), np.diag([2.0, 1.0, 0.0])])
    F = reference.truncate(mixed, 1.0)
    assert F.F.shape == (2, 2, 3)
    np.testing.assert_allclose(reference.to_full(F, 2, 3), mixed, atol=1e-15)


def test_truncate_at_p_1_is_the_full_loss(data):
    X, y, w, b, _ = data
    for form in ("full", "factors"):
        full = COVARIANCES[form][1]
        exact = reference.Objective(X, y, full, LAM).value(w, b)
        assert reference.Objective(X, y, reference.truncate(full, 1.0), LAM).value(w, b) == pytest.approx(
            exact
        )
    assert reference.truncate(COVARIANCES["factors"][1], 1.0).F.shape == (L, 2, N)


def test_truncate_of_less_keeps_less_variance(data):
    w = data[2]
    full = COVARIANCES["full"][1]
    kept = [reference.quadratic(reference.truncate(full, p), w) for p in (0.3, 0.7, 0.95, 1.0)]
    for less, more in itertools.pairwise(kept):
        assert np.all(less <= more + 1e-14)
    assert kept[0].sum() < kept[-1].sum()


def test_project_is_the_loss_in_the_subspace(data):
    X, y, w, b, _ = data
    full = COVARIANCES["full"][1]
    Z, F = reference.project(X, full, 0.8)
    for i in range(L):
        Lambda, U = reference.eigen_subspace(full[i], 0.8)
        w_z, z = U.T @ w, U.T @ X[i]  # eq. (9), in the d_i coordinates of the subspace
        margin = scipy.stats.norm(1 - y[i] * (w_z @ z + b), np.sqrt(w_z**2 @ Lambda))
        loss = scipy.integrate.quad(margin.sf, 0, np.inf)[0]  # E max(0, D) = integral of P(D > t)
        one = np.array([i])
        s = np.sqrt(reference.quadratic(reference.take(F, one), w))
        assert reference.expected_hinge(1 - y[i] * (Z[i] @ w + b), s)[0] == pytest.approx(loss, rel=1e-7)


def test_project_loses_the_mean_outside_the_subspace_and_truncate_does_not(data):
    X, y, w, b, _ = data
    full, low = COVARIANCES["full"][1], COVARIANCES["factors"][1]
    Z, _ = reference.project(X, full, 1.0)
    np.testing.assert_allclose(Z, X, atol=1e-12)
    Z, F = reference.project(X, low, 1.0)
    exact = reference.Objective(X, y, low, LAM).value(w, b)
    assert abs(reference.Objective(Z, y, F, LAM).value(w, b) - exact) > 1e-2
    assert reference.Objective(X, y, F, LAM).value(w, b) == pytest.approx(exact)
    assert not reference.project(X, np.zeros((L, N, N)), 1.0)[0].any()


# Sampling and stochastic gradient descent


def test_splitmix64_gives_the_published_numbers():
    rng = reference.SplitMix64(1234567)
    assert [rng.next() for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.parametrize("n", [2, 7, 1000, 3 * 2**30])
def test_below_is_uniform_and_in_range(n):
    rng = reference.SplitMix64(42)
    draws = np.array([rng.below(n) for _ in range(30_000)])
    assert draws.min() >= 0
    assert draws.max() < n
    # At n = 3 * 2^30 one draw in four is rejected; without that a multiple of 3 would be twice as likely.
    cells = min(n, 12)
    for cell in (lambda i: i % cells, lambda i: i * cells // n):
        exact = np.bincount(cell(np.arange(n))) if n <= 1000 else np.ones(cells)
        counts = np.bincount(cell(draws), minlength=cells)
        assert scipy.stats.chisquare(counts, 30_000 * exact / exact.sum()).pvalue > 1e-3


def test_below_one_is_zero_and_costs_one_draw():
    rng, other = reference.SplitMix64(1), reference.SplitMix64(1)
    assert rng.below(1) == 0
    other.next()
    assert rng.next() == other.next()


def test_the_first_step_of_sgd_is_the_weighted_difference_of_the_classes():
    X, y, full = blobs(20, 3, 0, shift=0.3)
    c = np.random.default_rng(0).uniform(0.1, 2, 20)
    w, _ = reference.Objective(X, y, full, 5.0, c).sgd(steps=1, batch=20, average=0.0)
    np.testing.assert_allclose(w, (c * y) @ X / 20 / 5.0)
    lam = 1e-4
    w, _ = reference.Objective(X, y, full, lam, c).sgd(steps=1, batch=20, average=0.0)
    assert np.linalg.norm(w) == pytest.approx(np.sqrt(c.mean() / lam))


@pytest.mark.parametrize("average", [0.0, 0.4, 1.0])
def test_sgd_is_algorithm_1_step_by_step(average):
    X, y, full = blobs(9, 2, 13, shift=0.5)
    c = np.random.default_rng(6).uniform(0.1, 2, 9)
    lam, T, k = 0.05, 25, 3
    rng, order = reference.SplitMix64(8), list(range(9))
    w, b, path = np.zeros(2), 0.0, []
    for t in range(1, T + 1):
        for j in range(k):
            i = j + rng.below(9 - j)
            order[j], order[i] = order[i], order[j]
        gw, gb = np.zeros(2), 0.0
        for i in order[:k]:
            d, s = 1 - y[i] * (X[i] @ w + b), np.sqrt(w @ full[i] @ w)
            Phi, phi = (scipy.stats.norm.cdf(d / s), scipy.stats.norm.pdf(d / s)) if s else (d > 0, 0)
            gw += c[i] / k * (phi * full[i] @ w / (s or 1) - y[i] * Phi * X[i])
            gb -= c[i] / k * y[i] * Phi
        w = (1 - 1 / t) * w - gw / (lam * t)
        w = w * min(1, np.sqrt(c.mean() / lam) / np.linalg.norm(w))
        b -= min(1 / (lam * t), 1 / np.sqrt(t)) * gb
        path.append(w)
    expected = np.mean(path[T - int(average * T) :] if average else path[-1:], axis=0)
    got, b = reference.Objective(X, y, full, lam, c).sgd(T, k, seed=8, average=average)
    np.testing.assert_allclose(got, expected, rtol=1e-10)
    assert abs(reference.Objective(X, y, full, lam, c).gradient(got, b)[1]) < 1e-15


@every_weighting
def test_sgd_approaches_the_optimum(weighted):
    X, y, full = blobs(60, 3, 11, share=0.4)
    c = np.random.default_rng(1).uniform(0.1, 2, 60) if weighted else None
    _, _, J_best = scipy_optimum(X, y, full, 0.1, c)
    excess = []
    for T in (30, 3000):
        w, b = reference.Objective(X, y, full, 0.1, c).sgd(T, batch=4, seed=3)
        excess.append(reference.Objective(X, y, full, 0.1, c).value(w, b) - J_best)
    assert 0 <= excess[1] < 1e-3 < excess[0]
    assert excess[1] <= reference.Objective(X, y, full, 0.1, c).gap(w, b)


def test_sgd_is_a_function_of_its_seed():
    X, y, full = blobs(30, 2, 5)
    runs = [reference.Objective(X, y, full, 0.1).sgd(50, 3, seed=seed)[0] for seed in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


@every_form
def test_sgd_takes_every_form_of_covariance(form, data):
    X, y, *_ = data
    cov, full = COVARIANCES[form]
    w, b = reference.Objective(X, y, cov, LAM).sgd(40, 3)
    w_full, b_full = reference.Objective(X, y, full, LAM).sgd(40, 3)
    np.testing.assert_allclose(w, w_full, rtol=1e-10)
    assert b == pytest.approx(b_full, rel=1e-10)


# Probabilities


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_platt_is_where_scipy_finds_the_likelihood_s_maximum(scale):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.3, 1.0, -1.0)
    scores = 1.5 * y + rng.normal(size=200) * 2
    plus, minus = (y > 0).sum(), (y < 0).sum()
    target = np.where(y > 0, (plus + 1) / (plus + 2), 1 / (minus + 2))

    def minus_log_likelihood(theta):
        p = scipy.special.expit(-(theta[0] * scores + theta[1]))
        return -np.sum(target * np.log(p) + (1 - target) * np.log1p(-p))

    best = scipy.optimize.minimize(minus_log_likelihood, [-1, 0], method="Nelder-Mead", tol=1e-10)
    A, B = reference.platt(scale * scores, y)
    np.testing.assert_allclose([scale * A, B], best.x, rtol=1e-5)
    assert minus_log_likelihood([scale * A, B]) <= best.fun + 1e-12


@pytest.mark.parametrize("scores", [[-2.0, -1.0, 1.0, 5.0], [-1e3, -1.0, 1.0, 1e3], [3.0, 3.0, 3.0, 3.0]])
def test_platt_is_finite_on_separable_and_on_constant_scores(scores):
    A, B = reference.platt(np.array(scores), np.array([-1.0, -1.0, 1.0, 1.0]))
    assert np.isfinite([A, B]).all()
    probability = 1 / (1 + np.exp(A * np.array(scores) + B))
    assert probability[0] <= 0.5 + 1e-9
    assert probability[-1] >= 0.5 - 1e-9
