"""Solving does not depend on where the data lie or on the units of their features."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from solver_cases import TOL, train

import svmgsu

SPREADS = {"smooth": 0.3, "near the hinge": 0.01, "certain": 0.0}
every_spread = pytest.mark.parametrize("spread", SPREADS)
every_lam = pytest.mark.parametrize("lam", (1e-1, 1e-3, 1e-5))


def problem(seed, spread, count=300, n=6):
    """Two classes; the values have so few digits that shifts by 1e8 change none of them."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(count) % 2, 1.0, -1.0)
    X = np.round((rng.normal(size=(count, n)) + 0.4 * y[:, None]) * 2**20) / 2**20
    return rng, X, y, SPREADS[spread] ** 2 * rng.gamma(2.0, 0.5, size=X.shape)


@every_spread
@every_lam
@pytest.mark.parametrize("offset", (1e3, 1e8))
def test_a_shift_of_the_data_changes_nothing_but_the_intercept(spread, lam, offset):
    rng, X, y, V = problem(1, spread)
    here = train(X, y, V, lam=lam)
    shift = offset * rng.choice([-1.0, 0.0, 1.0], size=X.shape[1])
    there = train(X + shift, y, V, lam=lam)
    # Far off, b itself has fewer digits; the gap allows for that, and may want another iteration.
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-9 if offset < 1e6 else TOL)
    assert abs(there.n_iter_ - here.n_iter_) <= (0 if offset < 1e6 else 3)
    if there.n_iter_ == here.n_iter_:
        np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6, atol=1e-9)
        expected = here.intercept_[0] - here.coef_[0] @ shift
        np.testing.assert_allclose(there.intercept_[0], expected, rtol=1e-6, atol=1e-6)


@every_spread
@every_lam
def test_features_in_units_that_differ_by_twelve_orders_are_certified_about_as_fast(spread, lam):
    """λ‖w‖² weighs features by their units, so that J differs: what must stay is the proof and its price."""
    for seed in range(3):
        rng, X, y, V = problem(seed, spread)
        unit = 10 ** rng.uniform(-6, 6, X.shape[1])
        plain = train(X, y, V, lam=lam)
        model = train((X + 1e6 * rng.normal(size=X.shape[1])) * unit, y, V * unit**2, lam=lam)
        assert 0 <= model.gap_ <= TOL * model.objective_
        assert model.n_iter_ <= 1.5 * plain.n_iter_ + 5


@every_spread
@pytest.mark.parametrize("offset", (1e6, 1e7, 1e8))
def test_far_off_the_optimum_is_the_same_to_what_the_intercept_can_hold(spread, offset):
    """b is near the offset, in spreads, and one number: half a unit of its last place moves every margin."""
    for seed in range(2):
        rng, X, y, V = problem(seed, spread, count=100, n=4)
        shift = np.round(rng.normal(size=4) * offset)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", svmgsu.exceptions.ConvergenceWarning)
            here, there = (train(X + s, y, V, lam=1e-3, tol=1e-11) for s in (0.0, shift))
        assert there.status_ in ("converged", "rounding")
        assert there.objective_ == pytest.approx(here.objective_, rel=2e-15 * offset)


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_a_sparse_column_far_from_zero(dtype):
    rng = np.random.default_rng(3)
    X = scipy.sparse.random_array((400, 60), density=0.1, rng=rng, data_sampler=rng.normal).toarray()
    X[:, 7] = np.round(rng.normal(size=400) * 64) / 64
    y = np.where(X @ rng.normal(size=60) + 0.1 * rng.normal(size=400) > 0, 1.0, -1.0)
    moved = X.copy()
    moved[:, 7] += 4096.0
    here, there = (train(scipy.sparse.csr_array(A.astype(dtype)), y, lam=1e-4) for A in (X, moved))
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-6)
    assert there.n_iter_ <= 1.5 * here.n_iter_ + 2


@pytest.mark.parametrize("loss", ("squared", "epsilon_insensitive", "huber"))
def test_a_shift_does_not_change_a_regression(loss):
    rng, X, _, V = problem(2, "smooth")
    t = X @ rng.normal(size=X.shape[1]) + rng.normal(size=len(X))
    here, there = (svmgsu.train(A, t, V, lam=0.001, loss=loss) for A in (X, X - 1e7))
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-9)
