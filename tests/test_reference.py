"""The reference implementation against oracles that share no code with it: mpmath, SciPy, draws."""

import warnings

import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special
import scipy.stats

from svmgsu import _core, reference
from svmgsu.reference import Objective

L, N = 12, 4
LAM = 0.3
LOSSES = list(reference.LOSSES)


def covariances():
    """Every form, beside the (L, N, N) it means."""
    rng = np.random.default_rng(5)
    iso = rng.uniform(0.1, 2, L)
    diag = rng.uniform(0.1, 2, (L, N))
    F = rng.normal(size=(L, 2, N))
    G = rng.normal(size=(L, N, N))
    S = rng.normal(size=(3, N, N))
    S = S @ S.transpose(0, 2, 1)
    group = rng.integers(0, 3, L)
    group[:3] = 0, 1, 2
    full = np.array([g @ g.T for g in G])
    low = np.array([f.T @ f for f in F])
    diagonal = np.array([np.diag(v) for v in diag])
    return {
        "none": (None, np.zeros((L, N, N))),
        "scalar": (np.array(0.7), np.array([0.7 * np.eye(N)] * L)),
        "isotropic": (iso, np.array([v * np.eye(N) for v in iso])),
        "diagonal": (diag, diagonal),
        "full": (full, full),
        "factors": (reference.Factors(F), low),
        "shared": (reference.SharedMatrix(S[0]), np.array([S[0]] * L)),
        "grouped": (reference.SharedMatrix(S, group), S[group]),
        "sum": ([diag, reference.SharedMatrix(S[0]), reference.Factors(F), None], diagonal + S[0] + low),
    }


COVARIANCES = covariances()
every_form = pytest.mark.parametrize("form", COVARIANCES)
every_loss = pytest.mark.parametrize("name", LOSSES)
every_weighting = pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])


def blobs(count, n, seed, shift=1.0, share=0.5):
    """Two overlapping classes of Gaussians with full covariances."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(count) < share * count, 1.0, -1.0)
    X = rng.normal(size=(count, n)) + shift * y[:, None]
    G = rng.normal(size=(count, n, n)) * 0.5
    return X, y, G @ G.transpose(0, 2, 1)


def scipy_objective(theta, X, y, full, lam, c=1.0):
    """J by SciPy's normal distribution, full covariances only."""
    w, b = theta[:-1], theta[-1]
    d = 1 - y * (X @ w + b)
    s = np.sqrt(np.einsum("j,ijk,k->i", w, full, w))
    r = d / s
    L_i = d * scipy.special.ndtr(r) + s * np.exp(-r * r / 2) / np.sqrt(2 * np.pi)
    return lam / 2 * w @ w + np.mean(c * L_i)


def scipy_optimum(X, y, full, lam, c=None):
    """The minimiser and the minimum of J: BFGS from a start where J is smooth, polished by Newton steps."""
    J = Objective(X, y, full, lam, c)
    start = np.append(np.ones(X.shape[1]), 0.0)
    args = (X, y, full, lam, 1.0 if c is None else c)
    theta = scipy.optimize.minimize(scipy_objective, start, args, "BFGS", options={"maxiter": 2000}).x
    for _ in range(5):
        slope = np.append(*J.gradient(theta[:-1], theta[-1]))
        theta = theta - np.linalg.solve(J.hessian(theta[:-1], theta[-1]), slope)
    return theta[:-1], theta[-1], scipy_objective(theta, *args)


@pytest.fixture
def data():
    """X, y, w, b and weights."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(L, N))
    y = np.where(np.arange(L) % 3 == 0, 1.0, -1.0)
    return X, y, rng.normal(size=N), 0.2, rng.uniform(0.2, 3, L)


def problem(name, count=40, n=3):
    """A problem for any loss: X, y, diagonal variances, weights."""
    rng = np.random.default_rng(5)
    X, cov, c = rng.normal(size=(count, n)), rng.random((count, n)), rng.uniform(0.5, 2, size=count)
    y = np.where(rng.random(count) < 0.4, -1.0, 1.0)
    X[:, 0] += y
    if reference.LOSSES[name].regression:
        y = X @ rng.normal(size=n) + rng.normal(size=count)
    return X, y, cov, c


# Losses


@pytest.mark.parametrize("s", [1e-3, 0.4, 1.0, 30.0, 1e6])
def test_expected_hinge_keeps_twelve_digits_from_tail_to_tail(s):
    d = np.concatenate([np.linspace(-37, 37, 297), np.linspace(-4.01, -3.99, 9)]) * s
    got = reference.expected_hinge(d, s)
    with mpmath.workdps(50):
        for i, d_i in enumerate(d):
            r = mpmath.mpf(d_i) / mpmath.mpf(s)
            Phi, phi = mpmath.erfc(-r / mpmath.sqrt(2)) / 2, mpmath.npdf(r)
            for value, exact in zip(got, (mpmath.mpf(d_i) * Phi + s * phi, Phi, phi / s), strict=True):
                assert abs(mpmath.mpf(value[i]) / exact - 1) < 1e-12


def test_without_uncertainty_the_loss_is_the_hinge():
    d = np.array([-2.0, -0.0, 0.0, 1e-300, 3.0])
    loss, Phi, kappa = reference.expected_hinge(d, 0.0)
    np.testing.assert_array_equal(loss, np.maximum(0, d))
    np.testing.assert_array_equal(Phi, [0, 0, 0, 1, 1])
    np.testing.assert_array_equal(kappa, 0)


def test_it_has_every_loss_of_the_core():
    known = _core.known_losses()
    assert [row[0] for row in known] == LOSSES
    for name, task, parameter, default in known:
        own = reference.LOSSES[name]
        assert own.regression == (task == "regression")
        assert own.parameter == default if parameter else np.isnan(own.parameter)


@every_loss
def test_the_core_has_the_same_numbers(name):
    """The logistic losses share no formula: three rules there, panels of Gauss and Legendre here."""
    rng = np.random.default_rng(5)
    d, s = rng.normal(size=500) * 4, rng.random(500) * rng.choice([0, 1e-6, 0.02, 0.5, 1, 6, 100], size=500)
    core = np.array(_core.loss_derivatives(name, None, d, s))
    own = np.array(reference.expected_loss(d, s, name))
    for k in range(5):
        scale = s ** max(0, k - 2)  # of the third and fourth derivative
        atol = 2e-13 * (1 + s.max() * (k == 0))
        np.testing.assert_allclose(own[k] * scale, core[k] * scale, rtol=1e-9, atol=atol)


# Covariances


@every_form
def test_a_covariance_means_its_full_matrices(form):
    cov, full = COVARIANCES[form]
    v = np.random.default_rng(3).normal(size=N)
    rows = np.array([7, 2, 2, 11])
    np.testing.assert_allclose(reference.to_full(cov, L, N), full, atol=1e-14)
    products = np.array([Sigma @ v for Sigma in full])
    np.testing.assert_allclose(np.broadcast_to(reference.times(cov, v), (L, N)), products, atol=1e-13)
    np.testing.assert_allclose(np.broadcast_to(reference.quadratic(cov, v), L), products @ v, atol=1e-13)
    some = reference.take(cov, rows)
    assert reference.times(some, v).shape == (4, N) and reference.quadratic(some, v).shape == (4,)
    np.testing.assert_allclose(reference.times(some, v), products[rows], atol=1e-13)
    np.testing.assert_allclose(reference.quadratic(some, v), (products @ v)[rows], atol=1e-13)


# The objective


@every_form
@every_weighting
def test_value_gradient_and_hessian(form, weighted, data):
    """The value by SciPy, the gradient and the Hessian by differences."""
    X, y, w, b, c = data
    cov, full = COVARIANCES[form]
    c = c if weighted else None
    J = Objective(X, y, cov, LAM, c)
    if form == "none":
        hinge = np.maximum(0, 1 - y * (X @ w + b))
        expected = LAM / 2 * w @ w + np.mean(hinge * (1 if c is None else c))
    else:
        expected = scipy_objective(np.append(w, b), X, y, full, LAM, 1 if c is None else c)
    assert J.value(w, b) == pytest.approx(expected, rel=1e-13)
    theta, h = np.append(w, b), 1e-5
    steps = [(theta + h * e, theta - h * e) for e in np.eye(N + 1)]
    slope = [(J.value(u[:-1], u[-1]) - J.value(d[:-1], d[-1])) / (2 * h) for u, d in steps]
    np.testing.assert_allclose(np.append(*J.gradient(w, b)), slope, atol=1e-8)
    columns = [
        np.append(*J.gradient(u[:-1], u[-1])) - np.append(*J.gradient(d[:-1], d[-1])) for u, d in steps
    ]
    H = J.hessian(w, b)
    np.testing.assert_allclose(H, np.array(columns) / (2 * h), atol=1e-8)
    assert np.linalg.eigvalsh(H).min() > -1e-12


@every_form
def test_at_w_zero_everything_is_finite(form, data):
    X, y, _, b, c = data
    J, w = Objective(X, y, COVARIANCES[form][0], LAM, c), np.zeros(N)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gw, gb = J.gradient(w, b)
        H = J.hessian(w, b)
    assert J.value(w, b) == pytest.approx(np.mean(c * (1 - y * b)))
    np.testing.assert_allclose(gw, -(c * y) @ X / L)
    assert gb == pytest.approx(-np.mean(c * y))
    np.testing.assert_array_equal(H, np.diag([LAM] * N + [0]))


@every_loss
def test_gradient_and_hessian_of_every_loss_are_differences(name):
    J = Objective(*problem(name)[:3], 0.1, problem(name)[3], name)
    rng = np.random.default_rng(6)
    theta, v, h = rng.normal(size=4), rng.normal(size=4), 1e-5

    def slope(z):
        return np.append(*J.gradient(z[:3], z[3]))

    up, down = theta + h * v, theta - h * v
    along = (J.value(up[:3], up[3]) - J.value(down[:3], down[3])) / (2 * h)
    assert along == pytest.approx(slope(theta) @ v, rel=1e-7)
    H = J.hessian(theta[:3], theta[3])
    np.testing.assert_allclose((slope(up) - slope(down)) / (2 * h), H @ v, rtol=1e-6)
    assert np.linalg.eigvalsh(H)[0] > 0


# The intercept and the gap


@every_weighting
def test_best_intercept_is_where_scipy_finds_it(weighted):
    X, y, full = blobs(40, 3, 3, share=0.3)
    w = np.array([0.5, -0.3, 1.0])
    c = np.random.default_rng(0).uniform(0.1, 2, 40) if weighted else None
    J = Objective(X, y, full, LAM, c)
    b = J.best_intercept(w)

    def value(b):
        return scipy_objective(np.append(w, b), X, y, full, LAM, 1 if c is None else c)

    found = scipy.optimize.minimize_scalar(value, bracket=(-5, 5), options={"xtol": 1e-10})
    assert b == pytest.approx(found.x, abs=1e-6)
    assert value(b) <= found.fun + 1e-15
    assert abs(J.gradient(w, b)[1]) < 1e-15


@every_weighting
@pytest.mark.parametrize("seed", range(3))
def test_gap_bounds_the_distance_to_the_optimum_and_closes_there(seed, weighted):
    X, y, full = blobs(40, 3, seed, share=0.35)
    rng = np.random.default_rng(seed)
    c = rng.uniform(0.1, 2, 40) if weighted else None
    w_best, b_best, J_best = scipy_optimum(X, y, full, 0.1, c)
    J = Objective(X, y, full, 0.1, c)
    assert -1e-14 < J.gap(w_best, b_best) < 1e-11
    for scale in (1e-3, 0.1, 1.0, 10.0):
        for w, b in zip(rng.normal(size=(20, 3)) * scale, rng.normal(size=20) * scale, strict=True):
            above = J.value(w_best + w, b_best + b) - J_best
            assert J.gap(w_best + w, b_best + b) >= above - 1e-13


@every_loss
@pytest.mark.parametrize("lam", [1.0, 1e-3])
def test_newton_finds_the_optimum_and_the_gap_never_passes_it(name, lam):
    X, y, cov, c = problem(name)
    rng = np.random.default_rng(6)
    J = Objective(X, y, cov, lam, c, name)
    w, b = J.newton()
    best = J.value(w, b)
    assert abs(J.gap(w, b)) < 1e-9 * best
    for _ in range(30):
        v, at = w + 0.3 * rng.normal(size=3), b + 0.3 * rng.normal()
        assert J.gap(v, at) > J.value(v, at) - best - 1e-12
    assert J.value(w, J.best_intercept(w)) <= best + 1e-12


def test_training_without_noise_is_what_others_call_it():
    from sklearn.linear_model import LogisticRegression, Ridge

    X, y, _, _ = problem("logistic")
    w, b = Objective(X, y, None, 0.05, loss="logistic").newton()
    theirs = LogisticRegression(C=1 / (0.05 * len(y)), tol=1e-12, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(np.append(w, b), np.append(theirs.coef_, theirs.intercept_), rtol=1e-6)
    X, y, _, _ = problem("squared")
    w, b = Objective(X, y, None, 0.05, loss="squared").newton()
    ridge = Ridge(alpha=0.05 * len(y), tol=1e-12).fit(X, y)
    np.testing.assert_allclose(np.append(w, b), np.append(ridge.coef_, ridge.intercept_), rtol=1e-10)


# Subspaces


def subspace(S, p):
    """The eigenvalues and vectors that `truncate` keeps."""
    F = reference.truncate(S[None], p).F[0]
    values = (F**2).sum(axis=1)
    return values, F.T / np.sqrt(values)


def test_a_subspace_is_the_smallest_that_holds_more_than_the_share():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    S = Q @ np.diag([5.0, 3.0, 1.5, 0.5, 0.0]) @ Q.T
    for p, d in [(0.1, 1), (0.49, 1), (0.51, 2), (0.79, 2), (0.81, 3), (0.94, 3), (0.96, 4), (1.0, 4)]:
        values, U = subspace(S, p)
        np.testing.assert_allclose(values, [5.0, 3.0, 1.5, 0.5][:d])
        np.testing.assert_allclose(U @ U.T, Q[:, :d] @ Q[:, :d].T, atol=1e-14)
    assert len(subspace(np.eye(2), 0.5)[0]) == 2  # half the trace is not more than half


def test_project_is_the_loss_in_the_subspace(data):
    X, y, w, b, _ = data
    full = COVARIANCES["full"][1]
    Z, F = reference.project(X, full, 0.8)
    for i in range(L):
        Lambda, U = subspace(full[i], 0.8)
        w_z, z = U.T @ w, U.T @ X[i]  # eq. (9), in the d_i coordinates of the subspace
        margin = scipy.stats.norm(1 - y[i] * (w_z @ z + b), np.sqrt(w_z**2 @ Lambda))
        loss = scipy.integrate.quad(margin.sf, 0, np.inf)[0]  # E max(0, D) = integral of P(D > t)
        s = np.sqrt(reference.quadratic(reference.take(F, np.array([i])), w))
        assert reference.expected_hinge(1 - y[i] * (Z[i] @ w + b), s)[0] == pytest.approx(loss, rel=1e-7)


# Stochastic gradient descent


def test_splitmix64_gives_the_published_numbers():
    rng = reference.SplitMix64(1234567)
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [rng.next() for _ in range(4)] == published


@pytest.mark.parametrize("n", [2, 7, 1000, 3 * 2**30])
def test_below_is_uniform_and_in_range(n):
    rng = reference.SplitMix64(42)
    draws = np.array([rng.below(n) for _ in range(30_000)])
    assert draws.min() >= 0
    assert draws.max() < n
    # At n = 3 * 2^30 one draw in four is rejected; without that a multiple of 3 would be twice as likely.
    cells = min(n, 12)
    for cell in (lambda i: i % cells, lambda i: i * cells // n):
        exact = np.bincount(cell(np.arange(n))) if n <= 1000 else np.ones(cells)
        counts = np.bincount(cell(draws), minlength=cells)
        assert scipy.stats.chisquare(counts, 30_000 * exact / exact.sum()).pvalue > 1e-3


@pytest.mark.parametrize("average", [0.0, 0.4, 1.0])
def test_sgd_is_algorithm_1_step_by_step(average):
    X, y, full = blobs(9, 2, 13, shift=0.5)
    c = np.random.default_rng(6).uniform(0.1, 2, 9)
    lam, T, k = 0.05, 25, 3
    rng, order = reference.SplitMix64(8), list(range(9))
    w, b, path = np.zeros(2), 0.0, []
    for t in range(1, T + 1):
        for j in range(k):
            i = j + rng.below(9 - j)
            order[j], order[i] = order[i], order[j]
        gw, gb = np.zeros(2), 0.0
        for i in order[:k]:
            d, s = 1 - y[i] * (X[i] @ w + b), np.sqrt(w @ full[i] @ w)
            Phi, phi = (scipy.stats.norm.cdf(d / s), scipy.stats.norm.pdf(d / s)) if s else (d > 0, 0)
            gw += c[i] / k * (phi * full[i] @ w / (s or 1) - y[i] * Phi * X[i])
            gb -= c[i] / k * y[i] * Phi
        w = (1 - 1 / t) * w - gw / (lam * t)
        w = w * min(1, np.sqrt(c.mean() / lam) / np.linalg.norm(w))
        b -= min(1 / (lam * t), 1 / np.sqrt(t)) * gb
        path.append(w)
    expected = np.mean(path[T - int(average * T) :] if average else path[-1:], axis=0)
    J = Objective(X, y, full, lam, c)
    got, b = J.sgd(T, k, seed=8, average=average)
    np.testing.assert_allclose(got, expected, rtol=1e-10)
    assert abs(J.gradient(got, b)[1]) < 1e-15
