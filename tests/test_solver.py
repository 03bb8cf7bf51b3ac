"""The exact solver: every problem is certified, the certificate is honest, and a long fit behaves."""

import re
import warnings
from typing import NamedTuple

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from conftest import KINDS, SMOOTH_KINDS, UNCERTAIN_KINDS, every_kind, make_problem, relative_error
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.svm import SVC, LinearSVC

import svmgsu
from svmgsu import reference

TOL = 1e-6
LAMS = (1e-1, 1e-2, 1e-3, 1e-4)
every_lam = pytest.mark.parametrize("lam", LAMS)


def train(X, y, cov=None, **options):
    """`svmgsu.train` on one thread and without Platt's sigmoid; a problem may have the trivial optimum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", svmgsu.TrivialModelWarning)
        return svmgsu.train(X, y, cov, **{"solver": "newton", "probability": False, "threads": 1, **options})


def solve(p, lam, **options):
    return train(p.X, p.y, p.cov, lam=lam, **options)


def plane(model):
    return np.append(model.coef_[0], model.intercept_)


def assert_certified(model, X, y, cov, tol=TOL):
    """The gap is as asked, and the reported objective is J at the reported (w, b)."""
    assert 0 <= model.gap_ <= tol * model.objective_
    value = svmgsu.Objective(X, y, cov, lam=model.lam, threads=1).value(model.coef_[0], model.intercept_[0])
    assert model.objective_ == pytest.approx(value, rel=1e-9)


# Problems


class Set(NamedTuple):
    X: object
    y: np.ndarray
    cov: object = None


def noisy_rule(rng, X, noise=0.3):
    """Labels of a linear rule with noise on the score."""
    score = X @ rng.normal(size=X.shape[1])
    return np.where(score + noise * score.std() * rng.normal(size=X.shape[0]) > 0, 1.0, -1.0)


def correlated(rng, count, n):
    """Features of a decaying spectrum, rotated, in units of the largest."""
    rotation = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return (rng.normal(size=(count, n)) * np.arange(1, n + 1) ** -0.75) @ rotation


def diagonal(spread, count=1500, n=40):
    rng = np.random.default_rng(1)
    X = correlated(rng, count, n) if n < 1000 else rng.normal(size=(count, n)) / np.sqrt(1 + np.arange(n))
    V = (spread * X.std(axis=0)) ** 2 * rng.uniform(0.3, 1.7, X.shape)
    return Set(X, noisy_rule(rng, X), V)


def full():
    rng = np.random.default_rng(2)
    X = correlated(rng, 500, 30)
    G = rng.normal(size=(500, 30, 30)) * (0.3 * X.std(axis=0))[:, None] / np.sqrt(30)
    S = G @ G.transpose(0, 2, 1)
    return Set(X, noisy_rule(rng, X), (S + S.transpose(0, 2, 1)) / 2)


def low_rank():
    rng = np.random.default_rng(3)
    X = correlated(rng, 600, 60)
    F = 0.5 * correlated(rng, 1200, 60).reshape(600, 2, 60)
    return Set(X, noisy_rule(rng, X), svmgsu.LowRank(F))


def shared():
    rng = np.random.default_rng(4)
    X = correlated(rng, 800, 30)
    return Set(X, noisy_rule(rng, X), svmgsu.Shared(0.1 * np.cov(X.T)))


def isotropic():
    rng = np.random.default_rng(5)
    X = correlated(rng, 800, 30)
    return Set(X, noisy_rule(rng, X), rng.uniform(0, 0.1, 800))


def sparse():
    rng = np.random.default_rng(6)
    X = scipy.sparse.random_array((800, 300), density=0.05, rng=rng, data_sampler=rng.normal, format="csr")
    V = X.copy()
    V.data = rng.uniform(0, 0.3, len(V.data))
    return Set(X, noisy_rule(rng, X), svmgsu.Diagonal(V))


def sums():
    rng = np.random.default_rng(7)
    X, y, V = diagonal(0.2, 600, 30)
    F = 0.3 * correlated(rng, 600, 30)[:, None, :]
    return Set(X, y, svmgsu.Diagonal(V) + svmgsu.LowRank(F) + 0.5 * svmgsu.Isotropic(0.01))


def wdbc(standardised):
    """The means of ten measurements of a tumour's cells, and their standard errors."""
    table = load_breast_cancer()
    X, se = table.data[:, :10], table.data[:, 10:20]
    unit = X.std(axis=0) if standardised else 1.0
    X = (X - X.mean(axis=0)) / unit if standardised else X.copy()
    return Set(X, np.where(table.target == 1, 1.0, -1.0), (se / unit) ** 2)


def half_certain():
    X, y, V = diagonal(0.4, 800, 30)
    V[::2] = 0
    return Set(X, y, V)


def all_certain():
    X, y, V = diagonal(0.4, 800, 30)
    return Set(X, y, np.zeros_like(V))


def imbalanced():
    """One class has a tenth of the other's examples, and the spread exceeds the classes' distance."""
    rng = np.random.default_rng(8)
    y = np.where(np.arange(600) < 55, 1.0, -1.0)
    return Set(rng.normal(size=(600, 8)) + 0.1 * y[:, None], y, np.full((600, 8), 25.0))


SETS = {
    "smooth diagonal": lambda: diagonal(0.6),
    "near-hinge diagonal": lambda: diagonal(0.02),
    "full": full,
    "low rank": low_rank,
    "shared": shared,
    "isotropic": isotropic,
    "sparse": sparse,
    "sum": sums,
    "WDBC, standardised": lambda: wdbc(True),
    "WDBC, raw": lambda: wdbc(False),
    "half of the examples certain": half_certain,
    "all examples certain": all_certain,
    "imbalanced, trivial": imbalanced,
}
every_set = pytest.mark.parametrize("name", SETS)


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
        value = reference.objective(model.coef_[0], model.intercept_[0], p.means, p.y, p.twin, lam)
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


def rows_of(path):
    """Lines of `name key:value key:value ...` as {name: [(key, value), ...]}."""
    rows = {}
    for line in path.read_text().splitlines():
        name, *entries = line.split()
        rows[name] = [entry.split(":") for entry in entries]
    return rows


@pytest.fixture(scope="module")
def toy(data_folder):
    folder = data_folder / "svm_gsu_toy"
    if not folder.is_dir():
        pytest.skip(f"real data: there is no folder {folder.name} in SVMGSU_DATA")
    labels = dict(line.split() for line in (folder / "labels.dat").read_text().splitlines())
    means, variances = rows_of(folder / "mean.dat"), rows_of(folder / "cov_diag.dat")
    names = [name for name in means if name in labels]
    X, V = np.zeros((2, len(names), 16))
    for i, name in enumerate(names):
        for key, value in means[name]:
            X[i, int(key) - 1] = float(value)
        for key, value in variances[name]:
            V[i, int(key.split(",")[0]) - 1] = float(value)
    return Set(X, np.array([float(labels[name]) for name in names]), V)


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
def test_the_authors_toy_set_is_certified(toy, lam):
    assert_certified(train(*toy, lam=lam), *toy)


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
        lambda z: reference.objective(z[:-1], z[-1], *args),
        start,
        jac=lambda z: np.append(*reference.gradient(z[:-1], z[-1], *args)),
        hess=lambda z: reference.hessian(z[:-1], z[-1], *args),
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
        twin = reference.gap(model.coef_[0], model.intercept_[0], p.means, p.y, p.twin, lam)
        assert twin <= 30 * tol * model.objective_


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
    with pytest.warns(svmgsu.TrivialModelWarning):
        model = svmgsu.train(X, y, V, lam=lam, probability=False)
    assert not model.coef_.any()
    assert model.intercept_[0] == -sign
    assert model.objective_ == pytest.approx(2 * 55 / 600, rel=1e-12)
    assert model.gap_ <= TOL * model.objective_


def test_classes_with_the_same_examples_have_the_trivial_optimum():
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 3)), 2, axis=0)
    y = np.tile([-1.0, 1.0], 10)
    with pytest.warns(svmgsu.TrivialModelWarning):
        model = svmgsu.train(X, y, np.full(20, 0.5), probability=False)
    assert model.objective_ == pytest.approx(1.0, rel=1e-6)
    assert model.gap_ <= TOL


def test_an_ordinary_optimum_is_not_called_trivial():
    X, y, V = diagonal(0.3, 300, 10)
    assert svmgsu.train(X, y, V, lam=1e-2, probability=False).coef_.any()  # a warning would be an error


# Options


@every_kind
def test_a_weight_of_two_is_the_example_twice(kind):
    p = make_problem(kind, 60, 7)
    twice = np.arange(60) % 3 == 0
    rows = np.concatenate([np.arange(60), np.flatnonzero(twice)])
    data = svmgsu.Gaussians(p.X, p.cov)
    weighted = train(data, p.y, lam=1e-2, sample_weight=np.where(twice, 2.0, 1.0))
    repeated = train(data[rows], p.y[rows], lam=1e-2)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=2 * TOL)
    value = svmgsu.Objective(data[rows], p.y[rows], lam=1e-2).value(weighted.coef_[0], weighted.intercept_[0])
    assert weighted.objective_ == pytest.approx(value, rel=1e-12)
    assert relative_error(weighted.coef_, repeated.coef_) <= 1e-2


def test_an_example_of_weight_zero_does_not_count():
    X, y, V = diagonal(0.3, 400, 20)
    c = (np.arange(400) % 4 > 0).astype(float)
    X_wild = np.where(c[:, None] > 0, X, 50 * X[::-1])
    weighted = train(X_wild, y, V, lam=1e-2, sample_weight=c)
    left_out = train(X[c > 0], y[c > 0], V[c > 0], lam=1e-2)
    assert weighted.gap_ <= TOL * weighted.objective_
    assert weighted.objective_ == pytest.approx(left_out.objective_, rel=2 * TOL)


def test_weights_of_many_magnitudes():
    X, y, V = diagonal(0.3, 400, 20)
    c = 10 ** np.random.default_rng(0).uniform(-6, 2, 400)
    model = train(X, y, V, lam=1e-2, sample_weight=c)
    value = svmgsu.Objective(X, y, V, lam=1e-2, sample_weight=c / c.mean()).value(
        model.coef_[0], model.intercept_[0]
    )
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert model.gap_ <= TOL * model.objective_


@every_lam
@every_kind
def test_without_an_intercept(kind, lam):
    p = make_problem(kind, 60, 7)
    model = solve(p, lam, fit_intercept=False)
    assert model.intercept_[0] == 0
    assert_certified(model, p.X, p.y, p.cov)
    best = solve(p, lam)
    assert best.objective_ <= model.objective_ * (1 + TOL)


@pytest.mark.parametrize("lam", [1e-1, 1e-3])
def test_without_an_intercept_the_optimum_is_that_of_the_restricted_problem(lam):
    p = make_problem("full", 60, 5)
    args = (p.means, p.y, p.twin, lam)
    found = scipy.optimize.minimize(
        lambda w: reference.objective(w, 0.0, *args),
        p.y @ p.means / 60,
        jac=lambda w: reference.gradient(w, 0.0, *args)[0],
        method="BFGS",
        options={"gtol": 1e-8},
    )
    assert solve(p, lam, fit_intercept=False).objective_ == pytest.approx(found.fun, rel=2e-6)


@pytest.mark.parametrize(
    "name",
    ["smooth diagonal", "near-hinge diagonal", "full", "low rank", "sparse", "sum", "all examples certain"],
)
def test_the_bits_are_the_same_for_any_number_of_threads(name):
    p = SETS[name]()

    def bits(threads):
        model = train(*p, lam=1e-3, threads=threads)
        history = [(h["objective"], h["gap"], h["passes"]) for h in model.history_]
        return plane(model).tobytes(), model.objective_, model.gap_, model.n_iter_, history

    one = bits(1)
    assert all(bits(threads) == one for threads in (1, 2, 3, 8))


def test_the_bits_are_the_same_with_many_features():
    X, y, V = diagonal(0.3, 150, 1600)
    models = [train(X, y, V, lam=1e-2, threads=threads) for threads in (1, 2, 3, 1)]
    assert len({plane(model).tobytes() for model in models}) == 1


# A long fit is a good citizen


def stated_gap(record):
    (warning,) = record
    return float(re.search(r"relative gap of (\S+),", str(warning.message)).group(1))


@pytest.mark.parametrize("name", ["smooth diagonal", "near-hinge diagonal", "all examples certain"])
@pytest.mark.parametrize("limit", [{"max_iter": 2}, {"max_iter": 6}, {"max_time": 1e-9}])
def test_a_limit_warns_states_the_gap_and_keeps_the_best_point(name, limit):
    p = SETS[name]()
    with pytest.warns(svmgsu.ConvergenceWarning) as record:
        model = svmgsu.train(*p, lam=1e-3, tol=1e-12, probability=False, **limit)
    assert next(iter(limit)) in str(record[0].message)
    assert stated_gap(record) == pytest.approx(model.gap_ / model.objective_, rel=0.06)
    if "max_iter" in limit:
        assert model.n_iter_ == limit["max_iter"]
    assert model.objective_ == min(h["objective"] for h in model.history_)
    value = svmgsu.Objective(*p, lam=1e-3).value(model.coef_[0], model.intercept_[0])
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    optimum = train(*p, lam=1e-3)
    assert model.objective_ - model.gap_ <= optimum.objective_


def test_more_iterations_never_make_it_worse():
    X, y, V = SETS["near-hinge diagonal"]()
    found = []
    for max_iter in range(1, 8):
        with pytest.warns(svmgsu.ConvergenceWarning):
            model = svmgsu.train(X, y, V, lam=1e-3, max_iter=max_iter, probability=False)
        found.append((model.objective_, model.gap_))
    assert all(np.diff([objective for objective, _ in found]) <= 0)
    assert all(np.diff([gap for _, gap in found]) <= 0)


@every_set
def test_the_history_is_monotone(name):
    model = train(*SETS[name](), lam=1e-3)
    history = model.history_
    assert set(history[0]) >= {"iteration", "objective", "gap", "seconds", "passes"}
    assert [h["iteration"] for h in history] == sorted({h["iteration"] for h in history})
    for key in ("seconds", "passes"):
        assert all(np.diff([h[key] for h in history]) >= 0)
    for key in ("objective", "gap"):
        assert all(np.diff([h[key] for h in history]) <= 0)
    assert (history[-1]["objective"], history[-1]["gap"]) == (model.objective_, model.gap_)
    assert history[-1]["iteration"] == model.n_iter_


def test_a_callback_sees_the_gap_fall_and_can_stop():
    p = SETS["near-hinge diagonal"]()
    seen = []

    def stop_at_one_percent(progress):
        seen.append((progress.gap, progress.objective))
        return progress.gap > 1e-2 * progress.objective

    model = train(*p, lam=1e-3, callback=stop_at_one_percent)  # no warning: the user asked for it
    gaps = [gap for gap, _ in seen]
    assert len(seen) >= 3
    assert gaps == sorted(gaps, reverse=True)
    assert TOL * model.objective_ < model.gap_ <= 1e-2 * model.objective_
    assert (model.gap_, model.objective_) == seen[-1]


def test_a_callback_that_returns_none_does_not_stop():
    p = SETS["smooth diagonal"]()
    calls = []
    assert_certified(train(*p, lam=1e-2, callback=calls.append), *p)
    assert calls


def test_an_exception_in_a_callback_reaches_the_caller():
    def fail(progress):
        raise RuntimeError(f"at {progress.iteration}")

    with pytest.raises(RuntimeError, match="at 0"):
        train(*SETS["full"](), callback=fail)


@pytest.mark.parametrize("name", [name for name in SETS if "trivial" not in name])
def test_a_start_at_the_solution_gives_the_same_optimum_in_no_more_iterations(name):
    p = SETS[name]()
    cold = train(*p, lam=1e-3)
    warm = train(*p, lam=1e-3, start=cold)
    assert_certified(warm, *p)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2 * TOL)
    assert warm.n_iter_ <= cold.n_iter_


@pytest.mark.parametrize("name", ["smooth diagonal", "near-hinge diagonal", "WDBC, standardised"])
def test_a_start_at_a_neighbouring_lam_gives_the_same_optimum(name):
    p = SETS[name]()
    start = train(*p, lam=2e-3)
    cold, warm = train(*p, lam=1e-3), train(*p, lam=1e-3, start=start)
    assert_certified(warm, *p)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2 * TOL)


@pytest.mark.parametrize("length", [1e-8, 1e3, 1e6])
def test_a_bad_start_does_no_harm(length):
    X, y, V = SETS["smooth diagonal"]()
    start = train(X, -y, V, lam=1e-1)
    start.coef_ = start.coef_ * length
    assert_certified(train(X, y, V, lam=1e-2, start=start), X, y, V)


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
