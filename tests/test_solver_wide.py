"""Wide, sparse and easy data: starts and first phases that need no factored Hessian."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from conftest import train_with
from scipy.special import ndtr
from solver_cases import TOL, assert_certified, noisy_rule, train

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


def wide(samples=12, features=240, rank=3, seed=0, spread=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(samples, features)) + 3
    y = np.where(np.arange(samples) % 2 == 0, 1, -1)
    X[y > 0, :5] += 1
    return X, y, spread * rng.normal(size=(samples, rank, features))


def train_wide(X, y, cov, **options):
    return train_with(X, y, cov, probability=False, threads=1, **options)


def hinge(X, y, F, lam, weights, w, b):
    """The objective from SciPy's normal distribution."""
    d = 1 - y * (X @ w + b)
    s = np.sqrt(np.sum((F @ w) ** 2, axis=1))
    r = np.clip(d / np.maximum(s, 1e-300), -40, 40)
    losses = np.where(s > 0, d * ndtr(r) + s * np.exp(-r * r / 2) / np.sqrt(2 * np.pi), np.maximum(d, 0))
    return lam / 2 * w @ w + np.mean(weights * losses)


def assert_optimal(X, y, F, model, lam, weights=1.0, intercept=True):
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    assert model.status_ == "converged"
    assert 0 <= model.gap_ <= TOL * model.objective_
    assert hinge(X, y, F, lam, weights, w, b) == pytest.approx(model.objective_, rel=1e-9)
    # In a basis of the span that the singular value decomposition gives.
    rows = np.vstack([X, F.reshape(-1, X.shape[1])])
    _, sizes, basis = np.linalg.svd(rows, full_matrices=False)
    basis = basis[sizes > 1e-10 * sizes[0]]
    inside, factors = X @ basis.T, F @ basis.T

    def value(at):
        return hinge(inside, y, factors, lam, weights, at[:-1], at[-1] if intercept else 0.0)

    rng = np.random.default_rng(0)
    best = value(np.append(basis @ w, b))
    for scale in (0.0, 1e-4):
        start = np.append(basis @ w, b) + scale * rng.normal(size=len(basis) + 1)
        best = min(best, scipy.optimize.minimize(value, start, method="L-BFGS-B").fun)
    assert best >= model.objective_ - model.gap_ - 1e-12
    assert model.objective_ <= best + model.gap_ + 1e-12


@pytest.mark.parametrize("lam", [1e-1, 1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("spread", [0.05, 1.0])
def test_hinge_is_proven_optimal(lam, spread):
    X, y, F = wide(spread=spread)
    assert_optimal(X, y, F, train_wide(X, y, svmgsu.LowRank(F), lam=lam), lam)


@pytest.mark.parametrize(
    "case",
    ["duplicates", "zero factors", "two samples", "dependent factors", "float32", "weights", "no intercept"],
)
def test_hinge_of_unusual_data(case):
    X, y, F = wide()
    options, weights = {}, 1.0
    if case == "duplicates":
        X, y, F = np.repeat(X, 2, axis=0), np.repeat(y, 2), np.repeat(F, 2, axis=0)
    elif case == "zero factors":
        F[::3] = 0
    elif case == "two samples":
        X, y, F = X[:2], y[:2], F[:2]
    elif case == "dependent factors":
        F[:, 1] = 2 * F[:, 0]
        F[:, 2] = F[0, 0]
    elif case == "float32":
        X, F = X.astype(np.float32), F.astype(np.float32)
    elif case == "weights":
        weights = np.random.default_rng(1).uniform(0, 3, len(y))
        weights[4] = 0
        weights /= weights.mean()  # as training takes them
        options["sample_weight"] = weights
    else:
        options["fit_intercept"] = False
    model = train_wide(X, y, svmgsu.LowRank(F), lam=1e-2, **options)
    X, F = X.astype(float), F.astype(float)
    assert_optimal(X, y, F, model, 1e-2, weights, intercept=case != "no intercept")


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("more", ["nothing", "isotropic", "no covariance"])
def test_smooth_losses_in_a_basis(loss, more):
    X, y, F = wide(spread=0.5)
    covariance = {"nothing": svmgsu.LowRank(F), "no covariance": None}.get(more)
    if more == "isotropic":
        covariance = svmgsu.LowRank(F) + svmgsu.Isotropic(np.linspace(0.1, 1, len(X)))
    model = train_wide(X, y, covariance, lam=1e-2, loss=loss)
    assert model.status_ == "converged"
    gaussians = svmgsu.Gaussians(X, covariance) if covariance is not None else svmgsu.Gaussians(X)
    objective = svmgsu.Objective(gaussians, y, lam=1e-2, loss=loss)
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    value, gradient, gradient_b = objective.value_and_gradient(w, b)
    assert value == pytest.approx(model.objective_, rel=1e-9)
    # λ-strong convexity in w: J − J* ≤ ‖∂J/∂w‖²/(2λ) once b is the best one.
    assert abs(gradient_b) < 1e-3
    assert gradient @ gradient / (2 * 1e-2) <= 1e-3 * value


def test_regression_in_a_basis():
    X, _, F = wide()
    t = X[:, :5].sum(axis=1) + 100
    model = svmgsu.LinearSVRGSU(lam=0.01, threads=1).fit(X, t, svmgsu.LowRank(F)).model_
    # The squared loss is ridge regression with the covariances added: a linear system.
    n = X.shape[1]
    centre, target = X.mean(axis=0), t.mean()
    second = (X - centre).T @ (X - centre) + np.einsum("irj,irk->jk", F, F)
    w = np.linalg.solve(second / len(X) + 1e-2 * np.eye(n), (X - centre).T @ (t - target) / len(X))
    np.testing.assert_allclose(np.ravel(model.coef_), w, atol=2e-3 * np.abs(w).max())
    assert model.gap_ <= TOL * model.objective_
