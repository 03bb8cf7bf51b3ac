"""Wide, sparse and easy data: starts and first phases that need no factored Hessian."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from solver_cases import assert_certified, noisy_rule, train

import svmgsu


def one_hot(count, columns, seed):
    rng = np.random.default_rng(seed)
    first = np.cumsum([0, *columns[:-1]])
    picks = np.stack(
        [f + (c * rng.random(count) ** 2).astype(int) for f, c in zip(first, columns, strict=True)], axis=1
    )
    start = np.arange(0, picks.size + 1, len(columns))
    X = scipy.sparse.csr_array((np.ones(picks.size), picks.ravel(), start), shape=(count, sum(columns)))
    return X, noisy_rule(rng, X)


@pytest.mark.parametrize("lam", (1e-1, 1e-3, 1e-5))
@pytest.mark.parametrize("intercept", (True, False))
def test_certain_sparse_data_are_certified_by_coordinate_descent(lam, intercept):
    X, y = one_hot(600, [60, 40, 30, 20], 1)
    model = train(X, y, lam=lam, fit_intercept=intercept)
    assert_certified(model, X, y, None)


def test_coordinate_descent_meets_the_optimum_of_a_linear_program_solver():
    """The dual of the SVM by a general solver with bounds and the constraint of b."""
    X, y = one_hot(60, [8, 6, 4], 2)
    lam, count = 1e-2, 60
    Z = X.toarray() * y[:, None]
    K, most = Z @ Z.T, 1 / (lam * count)
    found = scipy.optimize.minimize(
        lambda a: (0.5 * a @ K @ a - a.sum(), K @ a - 1),
        np.full(count, most / 2),
        jac=True,
        bounds=[(0, most)] * count,
        constraints={"type": "eq", "fun": lambda a: a @ y, "jac": lambda a: y},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    model = train(X, y, lam=lam)
    assert model.objective_ == pytest.approx(-lam * found.fun, rel=1e-5)


@pytest.mark.parametrize("lam", (1e-1, 1e-2))
def test_wide_low_rank_data_are_certified(lam):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 1700))
    y = noisy_rule(rng, X)
    cov = svmgsu.LowRank(0.1 * rng.normal(size=(150, 4, 1700)))
    assert_certified(train(X, y, cov, lam=lam), X, y, cov)


def test_white_noise_needs_few_readings_of_the_data():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(4000, 120))
    y = noisy_rule(rng, X)
    V = 0.09 * rng.gamma(2.0, 0.5, size=X.shape)
    for lam, most in ((1e-1, 8), (1e-3, 12)):
        model = train(X, y, V, lam=lam)
        assert_certified(model, X, y, V)
        assert model.history_[-1]["passes"] <= most


@pytest.mark.parametrize("spread", (0.3, 0.02))
def test_many_examples_start_from_a_sample_and_keep_their_bits_on_any_number_of_threads(spread):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(15000, 4)) @ rng.normal(size=(4, 4))
    y = noisy_rule(rng, X)
    V = spread**2 * rng.gamma(2.0, 0.5, size=X.shape)
    one, two = (train(X, y, V, lam=1e-3, threads=threads) for threads in (1, 2))
    assert_certified(one, X, y, V)
    assert one.history_[-1]["passes"] <= 14
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.objective_ == two.objective_


@pytest.mark.parametrize("spread", (0.3, 0.03))
def test_of_very_many_examples_few_readings_are_needed(spread):
    rng = np.random.default_rng(8)
    turn = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    X = (rng.normal(size=(60000, 12)) * np.arange(1, 13) ** -0.75) @ turn
    X /= X.std(axis=0)
    V = spread**2 * rng.gamma(2.0, 0.5, size=X.shape)
    for lam in (1e-3, 1e-4):
        model = train(X, noisy_rule(np.random.default_rng(9), X), V, lam=lam)
        assert model.history_[-1]["passes"] <= 9
