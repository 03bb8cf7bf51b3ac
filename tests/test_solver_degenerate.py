"""The exact solver on degenerate data is the exact solver."""

import numpy as np
import pytest
from conftest import KINDS, UNCERTAIN_KINDS, make_problem
from hypothesis import given
from hypothesis import strategies as st
from solver_cases import LAMS, SETS, TOL, assert_certified, diagonal, every_lam, noisy_rule, train

import svmgsu

# Degenerate data


@every_lam
@pytest.mark.parametrize("variance", [0.0, 1e-8, 0.1, 10.0])
def test_two_examples(variance, lam):
    X, y, cov = np.array([[1.0, 0.0], [-1.0, 0.5]]), np.array([1.0, -1.0]), svmgsu.Isotropic(variance)
    assert_certified(train(X, y, cov, lam=lam), X, y, cov)


@every_lam
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_one_feature(spread, lam):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 1))
    y, cov = noisy_rule(rng, X), np.full((50, 1), spread**2)
    assert_certified(train(X, y, cov, lam=lam), X, y, cov)


@every_lam
@pytest.mark.parametrize("spread", [0.0, 0.1])
def test_more_features_than_examples(spread, lam):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 150))
    y, cov = noisy_rule(rng, X), np.full((20, 150), spread**2)
    assert_certified(train(X, y, cov, lam=lam), X, y, cov)


@every_lam
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_examples_that_repeat(spread, lam):
    X, y, _ = diagonal(spread, 30, 8)
    X, y = np.repeat(X, 10, axis=0), np.repeat(y, 10)
    cov = np.full(X.shape, spread**2)
    once = train(X[::10], y[::10], cov[::10], lam=lam)
    model = train(X, y, cov, lam=lam)
    assert_certified(model, X, y, cov)
    assert model.objective_ == pytest.approx(once.objective_, rel=2 * TOL)


@every_lam
@pytest.mark.parametrize("value", [0.0, 1.0, 1e3])
def test_a_constant_feature(value, lam):
    X, y, V = diagonal(0.3, 200, 8)
    X[:, 3], V[:, 3] = value, 0.0
    assert_certified(train(X, y, V, lam=lam), X, y, V)
    assert_certified(train(X, y, lam=lam), X, y, None)


@every_lam
@pytest.mark.parametrize("uncertain", [True, False])
def test_features_in_units_from_1e_6_to_1e6(uncertain, lam):
    X, y, V = diagonal(0.3, 300, 13)
    unit = 10.0 ** np.arange(-6, 7)
    cov = V * unit**2 if uncertain else None
    assert_certified(train(X * unit, y, cov, lam=lam), X * unit, y, cov)


@every_lam
@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("name", ["smooth diagonal", "full", "low rank"])
def test_covariances_of_any_size(name, scale, lam):
    X, y, cov = SETS[name]()
    cov = scale * cov
    assert_certified(train(X, y, cov, lam=lam), X, y, cov)


@every_lam
@pytest.mark.parametrize("scale", [1e-8, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("uncertain", [True, False])
def test_data_in_any_unit(uncertain, scale, lam):
    X, y, V = diagonal(0.3, 300, 13)
    cov = scale**2 * V if uncertain else None
    assert_certified(train(scale * X, y, cov, lam=lam), scale * X, y, cov)


@every_lam
@pytest.mark.parametrize("offset", [1e2, 1e4])
@pytest.mark.parametrize("uncertain", [True, False])
def test_data_far_from_the_origin(uncertain, offset, lam):
    X, y, V = diagonal(0.3, 300, 13)
    cov = V if uncertain else None
    assert_certified(train(X + offset, y, cov, lam=lam), X + offset, y, cov)


@every_lam
def test_one_example_of_a_class(lam):
    X, y, V = diagonal(0.3, 100, 5)
    y = np.where(np.arange(100) == 17, 1.0, -1.0)
    X[17] = 3 * np.abs(X).max()
    assert_certified(train(X, y, V, lam=lam), X, y, V)
    assert_certified(train(X, y, lam=lam), X, y, None)


def test_examples_without_any_feature():
    X, y, V = diagonal(0.3, 100, 5)
    X[::3], V[::3] = 0, 0
    assert_certified(train(X, y, V, lam=1e-2), X, y, V)
    zero = np.zeros((4, 2))
    assert_certified(train(zero, [0, 0, 0, 1]), zero, [0, 0, 0, 1], None)


def test_a_random_problem_of_one_kind_with_separable_classes():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(80) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(80, 4)) + 20 * y[:, None]
    for lam in (*LAMS, 1e-8):
        for cov in (None, np.full((80, 4), 1e-2)):
            assert_certified(train(X, y, cov, lam=lam), X, y, cov)


@given(
    kind=st.sampled_from(UNCERTAIN_KINDS),
    count=st.integers(2, 30),
    n=st.integers(1, 9),
    seed=st.integers(0, 10_000),
    log_lam=st.floats(-5, 2),
    log_scale=st.floats(-8, 4),
    intercept=st.booleans(),
)
def test_random_problems_are_certified(kind, count, n, seed, log_lam, log_scale, intercept):
    p = make_problem(kind, count, n, seed)
    cov = 10**log_scale * p.cov
    model = train(p.X, p.y, cov, lam=10**log_lam, fit_intercept=intercept)
    assert_certified(model, p.X, p.y, cov)


@given(
    kind=st.sampled_from(KINDS),
    count=st.integers(2, 30),
    n=st.integers(1, 9),
    seed=st.integers(0, 10_000),
    log_lam=st.floats(-5, 2),
)
def test_random_problems_with_ties_and_zeros_are_certified(kind, count, n, seed, log_lam):
    """Means on a coarse grid: repeated examples, classes that coincide, margins met exactly."""
    p = make_problem(kind, count, n, seed)
    X = np.round(p.means)
    assert_certified(train(X, p.y, p.cov, lam=10**log_lam), X, p.y, p.cov)
