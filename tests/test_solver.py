"""The exact solver: every problem is certified, and the certificate is honest."""

import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from conftest import SMOOTH_KINDS, every_kind, make_problem
from sklearn.svm import SVC, LinearSVC
from solver_cases import (
    SETS,
    TOL,
    assert_certified,
    correlated,
    diagonal,
    every_lam,
    every_set,
    imbalanced,
    noisy_rule,
    solve,
    train,
)

import svmgsu
from svmgsu import reference


@every_lam
@every_set
def test_every_problem_is_certified(name, lam):
    p = SETS[name]()
    assert_certified(train(*p, lam=lam), *p)


@every_lam
@every_kind
def test_every_kind_is_certified(kind, lam):
    p = make_problem(kind, 90, 11, seed=1)
    assert_certified(solve(p, lam), p.X, p.y, p.cov)


def test_more_features_than_a_dense_hessian_is_worth():
    X, y, V = diagonal(0.3, 400, 2000)
    for lam in (1e-1, 1e-3):
        assert_certified(train(X, y, V, lam=lam), X, y, V)
        assert_certified(train(X, y, lam=lam), X, y, None)


# Real data


@every_lam
def test_the_authors_toy_set_is_certified(toy_text, lam):
    X, y, V, _ = toy_text
    assert_certified(train(X, y, V, lam=lam), X, y, V)


# Honesty


# Where w can be orthogonal to a covariance, the optimum may have a kink that stops SciPy.
every_smooth_kind = pytest.mark.parametrize("kind", [kind for kind in SMOOTH_KINDS if kind != "low rank"])


def scipy_optimum(p, lam, start):
    """min J of the twin by a trust-region method with its exact Hessian; always >= the true minimum."""
    args = (p.means, p.y, p.twin, lam)
    found = scipy.optimize.minimize(
        lambda z: reference.Objective(*args).value(z[:-1], z[-1]),
        start,
        jac=lambda z: np.append(*reference.Objective(*args).gradient(z[:-1], z[-1])),
        hess=lambda z: reference.Objective(*args).hessian(z[:-1], z[-1]),
        method="trust-exact",
        options={"gtol": 1e-9, "maxiter": 500},
    )
    return float(found.fun)


@pytest.mark.parametrize("lam", [1e-1, 1e-3])
@every_smooth_kind
def test_the_optimum_lies_between_the_objective_less_the_gap_and_the_objective(kind, lam):
    p = make_problem(kind, 60, 5)
    optimum = scipy_optimum(p, lam, np.append(p.y @ p.means / len(p.y), 0.0))
    rounding = 1e-9 * optimum
    for tol in (0.3, 1e-2, 1e-4, 1e-6):
        model = solve(p, lam, tol=tol)
        assert model.objective_ - model.gap_ <= optimum + rounding
        assert optimum <= model.objective_ + rounding
        assert model.objective_ <= optimum * (1 + tol) + rounding


@every_lam
@pytest.mark.parametrize("name", ["blobs", "correlated", "separable"])
def test_without_uncertainty_it_is_the_ordinary_svm(name, lam):
    rng = np.random.default_rng(10)
    y = np.where(np.arange(200) < 80, 1.0, -1.0)
    if name == "correlated":
        X = correlated(rng, 200, 12)
        y = noisy_rule(rng, X)
    else:
        X = rng.normal(size=(200, 6)) + (3.0 if name == "separable" else 0.4) * y[:, None]
    model = train(X, y, lam=lam)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's ConvergenceWarning
        libsvm = SVC(kernel="linear", C=1 / (lam * len(y)), tol=1e-9).fit(X, y)
        liblinear = LinearSVC(
            loss="hinge", C=1 / (lam * len(y)), tol=1e-8, intercept_scaling=100.0, max_iter=20_000
        ).fit(X, y)
    # libsvm's dual point bounds the optimum from below: its error is of second order.
    bound = lam * (np.abs(libsvm.dual_coef_).sum() - 0.5 * (libsvm.coef_**2).sum())
    assert model.objective_ == pytest.approx(bound, rel=1e-6)
    hinge = svmgsu.Objective(X, y, lam=lam)
    for other in (libsvm, liblinear):
        upper = hinge.value(other.coef_[0], hinge.best_intercept(other.coef_[0]))
        assert model.objective_ - model.gap_ <= upper
        assert model.objective_ <= upper * (1 + 1e-6)


# The trivial optimum


@pytest.mark.parametrize("sign", [1.0, -1.0])
@every_lam
def test_the_trivial_optimum_is_recognised_and_certified(sign, lam):
    X, y, V = imbalanced()
    y = sign * y
    with pytest.warns(svmgsu.exceptions.TrivialModelWarning):
        model = svmgsu.train(X, y, V, lam=lam, probability=False)
    assert not model.coef_.any()
    assert model.intercept_[0] == -sign
    assert model.objective_ == pytest.approx(2 * 55 / 600, rel=1e-12)
    assert model.gap_ <= TOL * model.objective_
