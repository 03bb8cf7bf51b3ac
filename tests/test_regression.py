"""Regression on uncertain examples, against scikit-learn, normal equations and quadrature."""

import warnings

import numpy as np
import pytest
from conftest import train_with
from scipy.optimize import minimize
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVR
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmgsu


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(150, 4)) * [1.0, 2.0, 0.5, 1.0] + [3.0, 0.0, -1.0, 10.0]
    y = X @ [1.0, -0.5, 2.0, 0.0] + 5.0 + 0.3 * rng.normal(size=150)
    return X, y, rng.uniform(0.05, 0.8, size=X.shape)


def expected_loss(name, epsilon, D):
    if name == "squared":
        return D**2 / 2
    if name == "epsilon_insensitive":
        return np.maximum(0, np.abs(D) - epsilon)
    if name == "squared_epsilon_insensitive":
        return np.maximum(0, np.abs(D) - epsilon) ** 2
    return np.where(np.abs(D) <= epsilon, D**2 / 2, epsilon * (np.abs(D) - epsilon / 2))


def test_without_noise_it_is_ridge_regression(problem):
    X, y, _ = problem
    for lam in (10.0, 1e-2, 1e-6):
        model = svmgsu.train(X, y, lam=lam, tol=1e-11, loss="squared")
        ridge = Ridge(alpha=lam * len(y)).fit(X, y)
        np.testing.assert_allclose(model.coef_, ridge.coef_, rtol=1e-6, atol=1e-8)
        assert model.intercept_ == pytest.approx(ridge.intercept_, rel=1e-6)


def test_without_noise_it_is_linear_svr(problem):
    X, y, _ = problem
    lam, epsilon = 1e-2, 0.2
    model = (
        svmgsu.LinearSVRGSU(
            lam=lam, loss="epsilon_insensitive", epsilon=epsilon, fit_intercept=False, tol=1e-09
        )
        .fit(X, y)
        .model_
    )
    svr = LinearSVR(
        epsilon=epsilon,
        C=1 / (lam * len(y)),
        fit_intercept=False,
        tol=1e-10,
        max_iter=1_000_000,
        random_state=0,
    ).fit(X, y)
    J = (
        lam / 2 * svr.coef_ @ svr.coef_
        + expected_loss("epsilon_insensitive", epsilon, y - X @ svr.coef_).mean()
    )
    assert model.objective_ == pytest.approx(J, rel=1e-6)
    np.testing.assert_allclose(model.coef_, svr.coef_, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
def test_without_noise_the_squared_form_is_that_of_linear_svr(problem, epsilon):
    X, y, _ = problem
    for lam in (1.0, 1e-2, 1e-4):
        given = {"loss": "squared_epsilon_insensitive", "epsilon": epsilon, "fit_intercept": False}
        model = train_with(X, y, lam=lam, tol=1e-11, **given)
        svr = LinearSVR(C=1 / (lam * len(y)), tol=1e-12, max_iter=100_000, dual=False, **given).fit(X, y)
        np.testing.assert_allclose(model.coef_, svr.coef_, rtol=1e-6, atol=1e-6)


def test_squared_loss_adds_the_noise_to_the_normal_equations(problem):
    X, y, E = problem
    c = np.random.default_rng(1).uniform(0.5, 2, size=len(y))
    model = svmgsu.train(X, y, std=E, sample_weight=c, lam=0.05, tol=1e-11, loss="squared")
    c = c / c.sum()
    Xc, yc = X - c @ X, y - c @ y
    w = np.linalg.solve(
        (Xc * c[:, None]).T @ Xc + np.diag(c @ E**2) + 0.05 * np.eye(4), (Xc * c[:, None]).T @ yc
    )
    np.testing.assert_allclose(model.coef_, w, rtol=1e-7)
    assert model.intercept_ == pytest.approx(c @ y - c @ X @ w, rel=1e-7)


@pytest.mark.parametrize(
    ("loss", "epsilon"), [("epsilon_insensitive", 0.3), ("squared_epsilon_insensitive", 0.3), ("huber", 0.7)]
)
def test_other_losses_against_quadrature_and_bfgs(problem, loss, epsilon):
    X, y, E = (a[:60] for a in problem)
    nodes = np.linspace(-8, 8, 3001)
    node_weights = np.exp(-(nodes**2) / 2)
    node_weights /= node_weights.sum()

    def J(z):
        d, s = y - X @ z[:4] - z[4], np.sqrt(E**2 @ z[:4] ** 2)
        return (
            0.005 * z[:4] @ z[:4]
            + (expected_loss(loss, epsilon, d[:, None] + s[:, None] * nodes) @ node_weights).mean()
        )

    model = svmgsu.train(X, y, std=E, lam=0.01, tol=1e-09, loss=(loss, epsilon))
    assert model.gap_ <= 1e-9 * model.objective_
    here = J(np.append(model.coef_, model.intercept_))
    assert here == pytest.approx(model.objective_, rel=2e-6)  # kinks between nodes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = minimize(J, np.append(model.coef_, model.intercept_) * 1.05, method="Nelder-Mead",
                        options={"maxiter": 400, "xatol": 1e-7, "fatol": 1e-10})  # fmt: skip
    assert best.fun >= here * (1 - 2e-6)


def test_errors_of_targets_are_a_likelihood(problem):
    X, y, _ = problem
    rng = np.random.default_rng(5)
    errors = rng.uniform(0.05, 3.0, size=len(y))
    noisy = y + errors * rng.normal(size=len(y))
    model = svmgsu.train(X, noisy, y_std=errors, lam=1e-09, tol=1e-11, loss="squared")
    spaced = np.column_stack([errors, errors])[:, 0]  # not contiguous
    assert (
        svmgsu.train(X, noisy, y_std=spaced, lam=1e-09, tol=1e-11, loss="squared").intercept_
        == model.intercept_
    )

    def minus_log_likelihood(z):
        v = np.exp(z[5]) + errors**2
        return np.sum(np.log(v) / 2 + (noisy - X @ z[:4] - z[4]) ** 2 / (2 * v))

    start = np.concatenate([model.coef_, [model.intercept_], [-2.0]])
    best = minimize(minus_log_likelihood, start, method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(model.coef_, best.x[:4], rtol=1e-3, atol=1e-4)
    assert model.scatter_ == pytest.approx(np.exp(best.x[5] / 2), rel=1e-3)
    plain = svmgsu.train(X, noisy, lam=1e-09, loss="squared")
    truth = np.array([1.0, -0.5, 2.0, 0.0])
    assert np.linalg.norm(model.coef_ - truth) < np.linalg.norm(plain.coef_ - truth)


def test_deviation_is_propagated(problem):
    X, y, E = problem
    model = svmgsu.train(X, y, std=E, loss="squared")
    value, deviation = model.predict(X[:3], std=E[:3], return_std=True)
    np.testing.assert_allclose(value, X[:3] @ model.coef_ + model.intercept_, rtol=1e-12)
    np.testing.assert_allclose(deviation, np.sqrt(E[:3] ** 2 @ model.coef_**2), rtol=1e-12)
    with pytest.raises(ValueError, match="nothing is said of the uncertainty"):
        model.predict(X, return_std=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loss": "hinge"}, r"'hinge' is for classification; use svmgsu\.train or LinearSVMGSU"),
        ({"loss": "quadratic"}, "expected one of 'squared'"),
        ({"loss": "epsilon_insensitive", "epsilon": -1}, r"epsilon: must be >= 0 and finite, got -1"),
        ({"loss": "epsilon_insensitive", "epsilon": float("nan")}, "epsilon: expected a number"),
        ({"epsilon": 0.1}, "epsilon: the loss 'squared' has no parameter"),
        ({"y_std": 0.0}, "y_std: sample 0 has the error 0; errors of targets must be > 0"),
        ({"y_std": [1.0, 1.0]}, r"y_std: expected a number or shape \(3,\)"),
        ({"y": [1.0, float("nan"), 2.0]}, "y: sample 1"),
        ({"y": [2.0, 2.0, 2.0]}, "all targets are 2; a regression needs targets that differ"),
        ({"y": [1.0, 2.0]}, "2 targets for 3 samples"),
        ({"y": ["a", "b", "c"]}, "y: expected numbers"),
    ],
)
def test_bad_input(given, message):
    given = {"y": [1.0, 2.0, 4.0]} | given
    with pytest.raises(ValueError, match=message):
        train_with(np.arange(6.0).reshape(3, 2), task="regression", **{"loss": "squared", **given})


def test_search_chooses_for_the_noise_there_will_be(problem):
    X, y, E = problem
    search = svmgsu.LinearSVRGSU(lam=[1.0, 0.01, 0.0001], cov_scale=[0, 1]).fit(X, y, std=E)
    assert search.cov_scale_ == 1.0
    assert search.cv_results_["split4_test_score"].shape == (6,)
    again = svmgsu.LinearSVRGSU(lam=[1.0, 0.01, 0.0001]).fit(X, y, std=E)
    assert again.score(X, y) > 0.8


@parametrize_with_checks([svmgsu.LinearSVRGSU(), svmgsu.LinearSVRGSU(lam=[0.1, 0.01])])
def test_scikit_learn_accepts_them(estimator, check):
    check(estimator)


def test_a_fit_whose_objective_is_beyond_doubles_is_told():
    X = np.random.default_rng(0).normal(size=(60, 4))
    y = X[:, 0].copy()
    y[3] = 1e160
    with pytest.warns(svmgsu.exceptions.ConvergenceWarning, match="relative gap of nan"):
        svmgsu.train(X, y, loss="squared", y_std=0.1)
