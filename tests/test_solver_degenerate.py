"""The exact solver certifies degenerate and random problems of every loss and kind."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from conftest import KINDS, make_problem, train_with
from hypothesis import given
from hypothesis import strategies as st
from solver_cases import LAMS, SETS, TOL, Set, assert_certified, diagonal, every_lam, noisy_rule, train

import svmgsu
from svmgsu import _core, reference


def two_samples():
    return Set(np.array([[1.0, 0.0], [-1.0, 0.5]]), np.array([1.0, -1.0]), svmgsu.Isotropic(0.1))


def one_feature():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 1))
    return Set(X, noisy_rule(rng, X), np.full((50, 1), 0.09))


def more_features_than_samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 150))
    return Set(X, noisy_rule(rng, X), np.full((20, 150), 0.01))


def constant_feature():
    X, y, V = diagonal(0.3, 200, 8)
    X[:, 3] = 1e3
    V[:, 3] = 0.0
    return Set(X, y, V)


def units_from_1e_6_to_1e6():
    X, y, V = diagonal(0.3, 300, 13)
    unit = 10.0 ** np.arange(-6, 7)
    return Set(X * unit, y, V * unit**2)


def in_unit(scale):
    X, y, V = diagonal(0.3, 300, 13)
    return Set(scale * X, y, scale**2 * V)


def far_from_the_origin():
    X, y, V = diagonal(0.3, 300, 13)
    return Set(X + 1e4, y, V)


def one_sample_of_a_class():
    X, _, V = diagonal(0.3, 100, 5)
    X[17] = 3 * np.abs(X).max()
    return Set(X, np.where(np.arange(100) == 17, 1.0, -1.0), V)


def samples_without_any_feature():
    X, y, V = diagonal(0.3, 100, 5)
    X[::3] = 0
    V[::3] = 0
    return Set(X, y, V)


def separable():
    y = np.where(np.arange(80) % 2 == 0, 1.0, -1.0)
    X = np.random.default_rng(0).normal(size=(80, 4)) + 20 * y[:, None]
    return Set(X, y, np.full((80, 4), 1e-2))


DEGENERATE = {
    "two samples": two_samples,
    "one feature": one_feature,
    "more features than samples": more_features_than_samples,
    "constant feature": constant_feature,
    "units from 1e-6 to 1e6": units_from_1e_6_to_1e6,
    "small unit": lambda: in_unit(1e-8),
    "large unit": lambda: in_unit(1e6),
    "far from the origin": far_from_the_origin,
    "one sample of a class": one_sample_of_a_class,
    "samples without any feature": samples_without_any_feature,
    "separable": separable,
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_data_are_certified_with_and_without_uncertainty(name):
    X, y, cov = DEGENERATE[name]()
    for lam in (*LAMS, 1e-8) if name == "separable" else LAMS:
        for given_cov in (cov, None):
            assert_certified(train(X, y, given_cov, lam=lam), X, y, given_cov)


@every_lam
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_samples_that_repeat(spread, lam):
    X, y, _ = diagonal(spread, 30, 8)
    X = np.repeat(X, 10, axis=0)
    y = np.repeat(y, 10)
    cov = np.full(X.shape, spread**2)
    once = train(X[::10], y[::10], cov[::10], lam=lam)
    model = train(X, y, cov, lam=lam)
    assert_certified(model, X, y, cov)
    assert model.objective_ == pytest.approx(once.objective_, rel=2 * TOL)


@pytest.mark.parametrize("lam", [1e-1, 1e-4])
@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e6])
@pytest.mark.parametrize("name", ["smooth diagonal", "full", "low rank"])
def test_covariances_of_any_size(name, scale, lam):
    X, y, cov = SETS[name]()
    cov = scale * cov
    assert_certified(train(X, y, cov, lam=lam), X, y, cov)


@given(
    kind=st.sampled_from(KINDS),
    count=st.integers(2, 30),
    n=st.integers(1, 9),
    seed=st.integers(0, 10_000),
    log_lam=st.floats(-5, 2),
    intercept=st.booleans(),
)
def test_random_problems_with_ties_and_zeros_are_certified(kind, count, n, seed, log_lam, intercept):
    """Means on a coarse grid: repeated samples, classes that coincide, margins met exactly."""
    p = make_problem(kind, count, n, seed)
    X = np.round(p.means)
    model = train(X, p.y, p.cov, lam=10**log_lam, fit_intercept=intercept)
    assert_certified(model, X, p.y, p.cov)


def wild(seed):
    """A problem of any size, scale, spread and balance of the classes; features and examples may tie."""
    rng = np.random.default_rng(seed)
    count, n = int(rng.integers(2, 300)), int(rng.integers(1, 60))
    scale, spread = 10 ** rng.uniform(-3, 3), 10 ** rng.uniform(-3, 1)
    X = rng.normal(size=(count, n)) * 10 ** rng.uniform(-1, 1, n)
    y = np.where(X[:, 0] + rng.choice([0, 0.3, 2]) * rng.normal(size=count) > rng.choice([0, 0.5]), 1.0, -1.0)
    y[0] = -y[1]
    if rng.random() < 0.2:
        X = np.round(2 * X)
    kinds = [
        lambda: None,
        lambda: svmgsu.Diagonal(spread**2 * rng.gamma(1, 1, (count, n))),
        lambda: svmgsu.Isotropic(spread**2 * rng.gamma(1, 1, count)),
        lambda: svmgsu.LowRank(spread * rng.normal(size=(count, 2, n))),
        lambda: svmgsu.Shared(spread**2 * np.eye(n)),
        lambda: svmgsu.Diagonal(spread**2 * (rng.random((count, 1)) < 0.5) * np.ones((count, n))),
    ]
    cov = kinds[rng.integers(len(kinds))]()
    weights = rng.gamma(1, 1, count) if rng.random() < 0.3 else None
    options = {
        "lam": 10 ** rng.uniform(-6, 1),
        "fit_intercept": bool(rng.random() < 0.8),
        "sample_weight": weights,
    }
    return scale * X, y, None if cov is None else scale**2 * cov, options


@pytest.mark.parametrize("first", range(0, 300, 60))
def test_wild_problems_are_certified(first):
    for seed in range(first, first + 60):
        X, y, cov, options = wild(seed)
        model = train(X, y, cov, **options)
        assert 0 <= model.gap_ <= TOL * model.objective_, f"seed {seed}"


def descended(w, b, J):
    """The least J of the reference that a few steps of its own Newton method find from (w, b)."""
    best = J.value(w, b)
    for _ in range(3):
        slope = np.append(*J.gradient(w, b))
        H = J.hessian(w, b)
        H[np.diag_indices(len(H))] += 1e-12 * np.diag(H).max()
        step = -np.linalg.solve(H, slope)
        w = w + step[:-1]
        b = b + step[-1]
        best = min(best, J.value(w, b))
    return best


@pytest.mark.filterwarnings("ignore::svmgsu.exceptions.TrivialModelWarning")
@pytest.mark.parametrize("loss", reference.LOSSES)
def test_every_loss_and_kind_is_solved_to_a_proven_gap_below_which_nothing_lies(loss):
    """The optimum comes from the reference's own Newton method, with its own formulas and quadrature."""
    regression = reference.LOSSES[loss].regression
    kinds = [kind for kind in KINDS if not (regression and kind == "shared by class")]
    lams = 10.0 ** np.arange(1.0, -7.0, -2.0)
    for seed in range(len(kinds) * len(lams)):
        rng = np.random.default_rng(seed)
        kind = kinds[seed % len(kinds)]
        lam = float(lams[seed // len(kinds)])
        dtype = np.float32 if seed // 2 % 3 == 1 else np.float64
        p = make_problem(kind, int(rng.integers(12, 60)), int(rng.integers(1, 6)), seed, dtype)
        y = p.y
        if regression:
            y = p.means @ rng.normal(size=p.means.shape[1]) + rng.standard_t(3, size=len(p.y)) + 2.0
        weights = rng.uniform(0.3, 2.0, size=len(y)) if seed % 2 else np.ones(len(y))
        weights /= weights.mean()
        options = {} if regression else {"probability": False}
        model = train_with(p.X, y, p.cov, lam=lam, loss=loss, sample_weight=weights, threads=1, **options)
        w = np.ravel(model.coef_)
        b = float(np.ravel(model.intercept_)[0])
        J = reference.Objective(p.means, y, p.twin, lam, weights, loss)
        assert model.objective_ == pytest.approx(J.value(w, b), rel=1e-9, abs=1e-13), seed
        assert model.gap_ <= 1e-6 * model.objective_ + 1e-12, (seed, model.status_)
        # Newton's method from its own start is slow: every kind at one lam.
        best = (
            J.value(*J.newton())
            if seed % len(kinds) % len(lams) == seed // len(kinds)
            else descended(w, b, J)
        )
        assert model.objective_ - model.gap_ <= best + 1e-10 * best, seed


def test_the_error_of_the_quadrature_is_a_part_of_the_gap():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1.0, -1.0)
    V = rng.uniform(0.1, 2.0, size=X.shape)
    with pytest.warns(svmgsu.exceptions.ConvergenceWarning, match="rounding"):
        model = svmgsu.train(X, y, V, lam=1e-3, loss="logistic", tol=1e-15, probability=False)
    hidden = _core.Loss("logistic").gap_error * np.mean(np.sqrt(V @ model.coef_[0] ** 2))
    assert hidden > 1e-13
    assert 0.99 * hidden <= model.gap_ <= 20 * hidden


SPREADS = {"smooth": 0.3, "near the hinge": 0.01, "certain": 0.0}
every_spread = pytest.mark.parametrize("spread", SPREADS)
some_lams = pytest.mark.parametrize("lam", (1e-1, 1e-3, 1e-5))


def problem(seed, spread, count=300, n=6):
    """Two classes; the values have so few digits that shifts by 1e8 change none of them."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(count) % 2, 1.0, -1.0)
    X = np.round((rng.normal(size=(count, n)) + 0.4 * y[:, None]) * 2**20) / 2**20
    return rng, X, y, SPREADS[spread] ** 2 * rng.gamma(2.0, 0.5, size=X.shape)


@every_spread
@some_lams
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
@some_lams
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
