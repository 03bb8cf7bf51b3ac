"""The twin's losses: against the core's numbers, differences, the heat equation; training and certificate."""

import numpy as np
import pytest

from svmgsu import _core, reference

NAMES = list(reference.LOSSES)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def problem(rng, name, count=40, n=3):
    X, cov, c = rng.normal(size=(count, n)), rng.random((count, n)), rng.uniform(0.5, 2, size=count)
    y = np.where(rng.random(count) < 0.4, -1.0, 1.0)
    X[:, 0] += y
    if reference.LOSSES[name].regression:
        y = X @ rng.normal(size=n) + rng.normal(size=count)
    return X, y, cov, c


def test_the_twin_has_every_loss_of_the_core():
    known = _core.known_losses()
    assert [row[0] for row in known] == NAMES
    for name, task, parameter, default in known:
        twin = reference.LOSSES[name]
        assert twin.regression == (task == "regression")
        assert not parameter or twin.parameter == default


@pytest.mark.parametrize("name", NAMES)
def test_the_core_and_the_twin_have_the_same_numbers(name, rng):
    """Their logistic losses share no formula: three rules there, panels of Gauss and Legendre here."""
    d, s = rng.normal(size=500) * 4, rng.random(500) * rng.choice([0, 1e-6, 0.02, 0.5, 1, 6, 100], size=500)
    core, twin = (
        np.array(_core.loss_derivatives(name, None, d, s)),
        np.array(reference.expected_loss(d, s, name)),
    )
    for k in range(5):
        scale = s ** max(0, k - 2)  # of the third and fourth derivative
        np.testing.assert_allclose(
            twin[k] * scale, core[k] * scale, rtol=1e-9, atol=2e-13 * (1 + s.max() * (k == 0))
        )


@pytest.mark.parametrize("name", NAMES)
def test_gradient_and_hessian_of_every_loss_are_differences(name, rng):
    X, y, cov, c = problem(rng, name)
    theta, v, h = rng.normal(size=4), rng.normal(size=4), 1e-5

    def value(z):
        return reference.Objective(X, y, cov, 0.1, c, name).value(z[:3], z[3])

    def slope(z):
        return np.append(*reference.Objective(X, y, cov, 0.1, c, name).gradient(z[:3], z[3]))

    assert (value(theta + h * v) - value(theta - h * v)) / (2 * h) == pytest.approx(
        slope(theta) @ v, rel=1e-7
    )
    product = np.append(
        *reference.Objective(X, y, cov, 0.1, c, name).hessian_product(theta[:3], theta[3], v[:3], v[3])
    )
    np.testing.assert_allclose((slope(theta + h * v) - slope(theta - h * v)) / (2 * h), product, rtol=1e-6)
    H = reference.Objective(X, y, cov, 0.1, c, name).hessian(theta[:3], theta[3])
    np.testing.assert_allclose(H @ v, product, rtol=1e-12)
    assert np.linalg.eigvalsh(H)[0] > 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lam", [1.0, 1e-3])
def test_the_certificate_meets_the_optimum_and_never_passes_it(name, lam, rng):
    X, y, cov, c = problem(rng, name)
    w, b = reference.Objective(X, y, cov, lam, c, name).newton()
    best = reference.Objective(X, y, cov, lam, c, name).value(w, b)
    assert abs(reference.Objective(X, y, cov, lam, c, name).gap(w, b)) < 1e-9 * best
    for _ in range(30):
        v, at = w + 0.3 * rng.normal(size=3), b + 0.3 * rng.normal()
        above = reference.Objective(X, y, cov, lam, c, name).value(v, at) - best
        assert reference.Objective(X, y, cov, lam, c, name).gap(v, at) > above - 1e-12
    at = reference.Objective(X, y, cov, lam, c, name).best_intercept(w)
    assert reference.Objective(X, y, cov, lam, c, name).value(w, at) <= best + 1e-12


def test_training_without_noise_is_what_others_call_it(rng):
    from sklearn.linear_model import LogisticRegression, Ridge

    X, y, _, _ = problem(rng, "logistic")
    w, b = reference.Objective(X, y, None, 0.05, loss="logistic").newton()
    theirs = LogisticRegression(C=1 / (0.05 * len(y)), tol=1e-12, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(np.append(w, b), np.append(theirs.coef_, theirs.intercept_), rtol=1e-6)
    X, y, _, _ = problem(rng, "squared")
    w, b = reference.Objective(X, y, None, 0.05, loss="squared").newton()
    ridge = Ridge(alpha=0.05 * len(y), tol=1e-12).fit(X, y)
    np.testing.assert_allclose(np.append(w, b), np.append(ridge.coef_, ridge.intercept_), rtol=1e-10)
