"""The exact solver: every problem is certified, and the certificate is honest."""

import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from conftest import SMOOTH_KINDS, every_kind, make_problem
from sklearn.svm import SVC, LinearSVC
from solver_cases import (
    LAMS,
    SETS,
    TOL,
    Set,
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


@every_kind
def test_every_kind_is_certified_in_single_precision(kind):
    p = make_problem(kind, 90, 11, dtype=np.float32)
    for lam in LAMS:
        model = solve(p, lam)
        assert_certified(model, p.X, p.y, p.cov)
        value = reference.Objective(p.means, p.y, p.twin, lam).value(model.coef_[0], model.intercept_[0])
        assert model.objective_ == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("name", ["smooth diagonal", "near-hinge diagonal", "all examples certain"])
def test_a_tighter_tolerance_is_reached_too(name):
    p = SETS[name]()
    assert_certified(train(*p, lam=1e-3, tol=1e-9), *p, tol=1e-9)


def test_more_features_than_a_dense_hessian_is_worth():
    X, y, V = diagonal(0.3, 400, 2000)
    for lam in (1e-1, 1e-3):
        assert_certified(train(X, y, V, lam=lam), X, y, V)
        assert_certified(train(X, y, lam=lam), X, y, None)


@every_lam
def test_far_fewer_examples_than_features(lam):
    rng = np.random.default_rng(10)
    X = rng.normal(size=(40, 500)) / np.sqrt(500)
    y = noisy_rule(rng, X)
    F = rng.normal(size=(40, 2, 500)) / np.sqrt(500)
    for cov in (
        None,
        np.full(40, 0.01),
        rng.uniform(0, 0.01, X.shape),
        svmgsu.LowRank(F),
        svmgsu.Shared(np.eye(500) / 500),
    ):
        assert_certified(train(X, y, cov, lam=lam), X, y, cov)


def test_many_sparse_features():
    rng = np.random.default_rng(9)
    shape = (300, 20000)
    X = scipy.sparse.random_array(shape, density=0.003, rng=rng, data_sampler=rng.normal, format="csr")
    y = noisy_rule(rng, X)
    V = X.copy()
    V.data = rng.uniform(0, 0.3, len(V.data))
    for cov in (None, svmgsu.Diagonal(V), np.full(len(y), 0.01)):
        assert_certified(train(X, y, cov, lam=1e-1), X, y, cov)


# Real data


@pytest.fixture(scope="module")
def digits(data_folder):
    """1 v. 7, each image uncertain along its own gradients: small shifts (paper, Appendix B)."""
    path = data_folder / "mnist" / "mnist.npz"
    if not path.is_file():
        pytest.skip("real data: there is no mnist/mnist.npz in SVMGSU_DATA")
    with np.load(path) as archive:
        images, digit = archive["x_train"], archive["y_train"]
    chosen = np.flatnonzero((digit == 1) | (digit == 7))[:1000]
    X = images[chosen] / 255.0
    F = np.stack(np.gradient(X, axis=(1, 2)), axis=1).reshape(len(X), 2, -1)
    return Set(X.reshape(len(X), -1), np.where(digit[chosen] == 1, 1.0, -1.0), svmgsu.LowRank(F))


@every_lam
def test_the_authors_toy_set_is_certified(toy_text, lam):
    X, y, V, _ = toy_text
    assert_certified(train(X, y, V, lam=lam), X, y, V)


@every_lam
def test_low_rank_digits_are_certified(digits, lam):
    assert_certified(train(*digits, lam=lam), *digits)


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


@pytest.mark.parametrize("lam", [1e-1, 1e-3])
@every_smooth_kind
def test_the_gap_of_the_objective_at_the_solution_agrees_in_order(kind, lam):
    p = make_problem(kind, 60, 5)
    for tol in (1e-3, 1e-6):
        model = solve(p, lam, tol=tol)
        gap = svmgsu.Objective(p.X, p.y, p.cov, lam=lam).gap(model.coef_[0], model.intercept_[0])
        assert 0 <= gap <= 10 * tol * model.objective_
        twin = reference.Objective(p.means, p.y, p.twin, lam).gap(model.coef_[0], model.intercept_[0])
        assert twin <= 300 * tol * model.objective_  # of this point alone; the solver has several


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


@pytest.mark.parametrize("scale", [1e-12, 1e-6])
def test_as_the_covariances_vanish_the_optimum_becomes_that_of_the_svm(scale):
    X, y, V = diagonal(0.6, 400, 20)
    certain = train(X, y, lam=1e-2)
    nearly = train(X, y, scale * V, lam=1e-2)
    assert nearly.objective_ == pytest.approx(certain.objective_, rel=2e-6 + np.sqrt(scale))


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


def test_classes_with_the_same_examples_have_the_trivial_optimum():
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 3)), 2, axis=0)
    y = np.tile([-1.0, 1.0], 10)
    with pytest.warns(svmgsu.exceptions.TrivialModelWarning):
        model = svmgsu.train(X, y, np.full(20, 0.5), probability=False)
    assert model.objective_ == pytest.approx(1.0, rel=1e-6)
    assert model.gap_ <= TOL


def test_an_ordinary_optimum_is_not_called_trivial():
    X, y, V = diagonal(0.3, 300, 10)
    assert svmgsu.train(X, y, V, lam=1e-2, probability=False).coef_.any()  # a warning would be an error
