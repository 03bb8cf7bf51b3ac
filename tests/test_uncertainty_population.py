"""Empirical Bayes: noisy samples and their population."""

import numpy as np
import pytest
from conftest import UNCERTAIN_KINDS, make_problem, spd
from moments import assert_moments
from scipy.optimize import minimize

import svmgsu
from svmgsu.uncertainty import OnePopulationWarning, posterior
from svmgsu.uncertainty.population import _fit, _Full

M, T = np.array([1.0, -2.0]), np.array([[1.0, 0.6], [0.6, 2.0]])


def noisy(count=20_000, seed=0, diagonal=True):
    """True samples, and Gaussians measured from them with noise of very different sizes."""
    rng = np.random.default_rng(seed)
    truth = rng.multivariate_normal(M, T, size=count)
    if diagonal:
        V = rng.choice([0.1, 1.0, 5.0], size=(count, 2))
        return truth, svmgsu.Gaussians(truth + np.sqrt(V) * rng.normal(size=(count, 2)), svmgsu.Diagonal(V))
    S = spd(rng, count, 2) + 0.1 * np.eye(2)
    noise = np.linalg.cholesky(S) @ rng.normal(size=(count, 2, 1))
    return truth, svmgsu.Gaussians(truth + noise[:, :, 0], svmgsu.Full(S))


def closed_form(x, S):
    gain = T @ np.linalg.inv(T + S)
    return M + gain @ (x - M), T - gain @ T


def test_by_hand():
    """Two samples at ±√2 with noise of variance 1: the population has mean 0 and variance 1, so both are
    drawn halfway, to ±√½, and keep the variance ½."""
    data = svmgsu.Gaussians([[-np.sqrt(2)], [np.sqrt(2)]], [1.0, 1.0])
    for population in ("full", "diagonal"):
        shrunk = posterior(data, population=population, one_population=True, tol=1e-9)
        np.testing.assert_allclose(shrunk.mean, [[-np.sqrt(0.5)], [np.sqrt(0.5)]], atol=1e-6)
        np.testing.assert_allclose(shrunk.cov.to_full(), 0.5, atol=1e-6)


@pytest.mark.parametrize("diagonal", [True, False])
def test_a_large_table_comes_near_the_true_posterior(diagonal):
    _, data = noisy(diagonal=diagonal)
    shrunk = posterior(data, one_population=True)
    given = data[:50].cov.to_full()
    for i in range(50):
        mean, cov = closed_form(data.mean[i], given[i])
        np.testing.assert_allclose(shrunk.mean[i], mean, atol=0.15)
        np.testing.assert_allclose(shrunk.cov.take(np.array([i])).to_full()[0], cov, atol=0.08)


@pytest.mark.parametrize("population", ["full", "diagonal"])
def test_the_truth_scatters_about_the_posterior_as_it_claims(population):
    """Whitened by the claimed covariances the errors have mean 0 and covariance I (Monte Carlo)."""
    truth, data = noisy()
    shrunk = posterior(data, population=population, one_population=True)
    errors = truth - shrunk.mean
    if population == "full":
        z = np.linalg.solve(np.linalg.cholesky(shrunk.cov.to_full()), errors[:, :, None])[:, :, 0]
        assert_moments(z, np.zeros(2), np.eye(2), slack=0.03)  # the population is estimated
    else:
        assert_moments(errors / np.sqrt(shrunk.cov.variances), np.zeros(2), np.ones(2), slack=0.03)
    raw, better = data.mean - truth, errors
    assert (better**2).sum() < 0.7 * (raw**2).sum()


def test_certain_examples_stay_where_they_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    V = np.zeros((50, 3))
    V[25:] = 1.0
    for population in ("full", "diagonal"):
        shrunk = posterior(
            svmgsu.Gaussians(X, svmgsu.Diagonal(V)), population=population, one_population=True
        )
        np.testing.assert_allclose(shrunk.mean[:25], X[:25], atol=1e-6)
        assert np.abs(shrunk.cov.to_full()[:25]).max() < 1e-6


def test_pure_noise_is_drawn_to_one_place():
    rng = np.random.default_rng(0)
    data = svmgsu.Gaussians(rng.normal(size=(500, 2)), svmgsu.Diagonal(np.full((500, 2), 4.0)))
    shrunk = posterior(data, one_population=True, tol=1e-4)
    assert shrunk.mean.std(axis=0).max() < 0.05


@pytest.mark.parametrize("population", ["full", "diagonal"])
def test_deviations_are_capped_and_floored_in_units_of_the_spread(population):
    _, data = noisy(300)
    spread = data.mean.std(axis=0)
    free = posterior(data, population=population, one_population=True)
    bound = posterior(data, population=population, one_population=True, cap=0.4, floor=0.3)

    def deviations(d):
        return np.sqrt(np.diagonal(d.cov.to_full(), axis1=1, axis2=2)) / spread

    assert deviations(free).min() < 0.3 < 0.4 < deviations(free).max()
    assert deviations(bound).min() >= 0.3 - 1e-9
    assert deviations(bound).max() <= 0.4 + 1e-9
    np.testing.assert_allclose(deviations(bound), np.clip(deviations(free), 0.3, 0.4), rtol=1e-9)
    assert np.linalg.eigvalsh(bound.cov.to_full()).min() > 0
    np.testing.assert_array_equal(bound.mean, free.mean)


def test_it_warns_of_its_assumption():
    _, data = noisy(50)
    with pytest.warns(OnePopulationWarning, match="one Gaussian population"):
        posterior(data)


def test_a_fit_that_did_not_end_says_so():
    for population in ("full", "diagonal"):
        with pytest.warns(
            svmgsu.exceptions.ConvergenceWarning, match=r"posterior: after 1 steps .*raise max_iter"
        ):
            posterior(noisy(50)[1], population=population, one_population=True, max_iter=1)


# The maximum of the likelihood


def spread_of(data, shrunk):
    """T of one feature, from the posterior of the samples: gain = T/(T + V), variance = gain V."""
    gain = shrunk.cov.to_full()[:, 0, 0] / data.cov.to_full()[:, 0, 0]
    return (gain / (1 - gain) * data.cov.to_full()[:, 0, 0])[0]


@pytest.mark.parametrize("population", ["full", "diagonal"])
@pytest.mark.parametrize("ratio", [1, 3, 10, 30])
def test_noise_far_above_the_signal_leaves_the_maximum_of_the_likelihood(population, ratio):
    """Of equal noise V the best variance is that of the values less V, exactly."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4000, 1)) + ratio * rng.normal(size=(4000, 1))
    x *= np.sqrt(ratio**2 + 0.66) / x.std()  # so that it is 0.66
    data = svmgsu.Gaussians(x, svmgsu.Diagonal(np.full(x.shape, float(ratio**2))))
    some = posterior(data, population=population, one_population=True)
    assert spread_of(data[:3], some[:3]) == pytest.approx(0.66, rel=1e-3)


def test_several_features_with_equal_noise_have_the_positive_part_of_what_is_left():
    rng = np.random.default_rng(1)
    S = np.diag([100.0, 100.0, 400.0]) + 20
    X = rng.normal(size=(2000, 3)) @ np.diag([0.0, 8.0, 9.0]) + rng.multivariate_normal(np.zeros(3), S, 2000)
    shrunk = posterior(svmgsu.Gaussians(X, svmgsu.Shared(S)), one_population=True, tol=1e-6)
    root = np.linalg.cholesky(S)
    values, axes = np.linalg.eigh(np.linalg.inv(root) @ np.cov(X.T, bias=True) @ np.linalg.inv(root).T)
    assert values.min() < 1  # so that one direction has no signal at all
    best = root @ (axes * np.maximum(values - 1, 0)) @ axes.T @ root.T
    gain = best @ np.linalg.inv(best + S)
    np.testing.assert_allclose(shrunk.mean, X.mean(axis=0) + (X - X.mean(axis=0)) @ gain.T, atol=1e-3)


def minus_likelihood(X, V, m, factor):
    """The negative log-likelihood of N(m, FFᵀ + V_i), and its slopes in m and F."""
    A, r = V + factor @ factor.T, X - m
    W = np.linalg.inv(A)
    u = np.einsum("ijk,ik->ij", W, r)
    value = (np.linalg.slogdet(A)[1].sum() + (r * u).sum()) / 2
    return value, -u.sum(axis=0), (W.sum(axis=0) - u.T @ u) @ factor


@pytest.mark.parametrize(("noise", "unlike", "n"), [(10.0, 2.0, 3), (1.0, 2.0, 4), (30.0, 1.0, 2)])
def test_unequal_noise_ends_at_the_maximum_of_the_likelihood(noise, unlike, n):
    """A general optimiser, over a factor of T, finds nothing better."""
    rng = np.random.default_rng(n)
    std = noise * np.exp(unlike * rng.normal(size=(500, n)))
    X = rng.normal(size=(500, n)) * np.linspace(0.5, 2, n) + std * rng.normal(size=(500, n))
    V = np.array([np.diag(v) for v in std**2])
    solver = _Full(X, svmgsu.Gaussians(X, std=std), np.ones(n))
    _fit(solver, 1e-3, 1000, False)
    value = minus_likelihood(X, V, solver.m, np.linalg.cholesky(solver.T + 1e-9 * np.eye(n)))[0]
    lower = np.tril_indices(n)

    def objective(z):
        factor = np.zeros((n, n))
        factor[lower] = z[n:]
        value, gm, gf = minus_likelihood(X, V, z[:n], factor)
        return value, np.concatenate([gm, gf[lower]])

    for start in (np.linalg.cholesky(solver.T + 0.1 * np.eye(n)), np.eye(n)):
        z = np.concatenate([solver.m, start[lower]])
        found = minimize(objective, z, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-8})
        assert value - found.fun < 1e-4


@pytest.mark.parametrize("kind", [k for k in UNCERTAIN_KINDS if k != "shared by class"])
def test_every_kind_of_covariance_is_understood(kind):
    problem = make_problem(kind, count=30, n=4)
    data = svmgsu.Gaussians(problem.X, problem.cov)
    shrunk = posterior(data, one_population=True)
    plain = posterior(svmgsu.Gaussians(problem.means, svmgsu.Full(problem.full)), one_population=True)
    np.testing.assert_allclose(shrunk.mean, plain.mean, atol=1e-9)
    np.testing.assert_allclose(shrunk.cov.to_full(), plain.cov.to_full(), atol=1e-9)


@pytest.mark.parametrize("population", ["full", "diagonal"])
def test_covariances_by_group_are_those_of_the_examples(population):
    _, data = noisy(40)
    n = data.shape[1]
    kinds, group = {"old": 2 * np.eye(n), "new": np.eye(n)}, np.tile(["old", "new"], 20)
    by_group = svmgsu.Gaussians(data.mean, svmgsu.Shared(kinds, groups=group))
    one_by_one = svmgsu.Gaussians(data.mean, svmgsu.Full(np.array([kinds[g] for g in group])))
    found, wanted = (posterior(d, population=population, one_population=True) for d in (by_group, one_by_one))
    np.testing.assert_allclose(found.mean, wanted.mean, atol=1e-12)
    np.testing.assert_allclose(found.cov.to_full(), wanted.cov.to_full(), atol=1e-12)


def test_float32_stays_and_blocks_do_not_show(monkeypatch):
    _, data = noisy(40)
    single = svmgsu.Gaussians(
        data.mean.astype(np.float32), svmgsu.Diagonal(data.cov.variances.astype(np.float32))
    )
    whole = posterior(data, one_population=True)
    for population in ("full", "diagonal"):
        shrunk = posterior(single, population=population, one_population=True)
        stored = shrunk.cov.packed if population == "full" else shrunk.cov.variances
        assert shrunk.mean.dtype == stored.dtype == np.float32
    monkeypatch.setattr("svmgsu.support.arrays.BLOCK", 1)
    np.testing.assert_allclose(posterior(data, one_population=True).mean, whole.mean, atol=1e-9)


def test_progress_is_shown(capsys):
    posterior(noisy(50)[1], one_population=True, verbose=True)
    assert "empirical Bayes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": svmgsu.Gaussians(np.ones((2, 2)))}, "data: expected Gaussians with covariances"),
        ({"data": np.ones((2, 2))}, "data: expected Gaussians"),
        ({"population": "class"}, "population: expected one of"),
        ({"cap": -1}, "cap: must be positive"),
        ({"cap": 0.1, "floor": 0.2}, "floor: 0.2 is above cap, 0.1"),
        ({"tol": 0}, "tol: must be positive"),
        (
            {"data": svmgsu.Gaussians(np.ones((2, 1)), svmgsu.Shared({0: [[1.0]], 1: [[2.0]]}))},
            r"cov: one covariance per class needs the labels y.*groups=y",
        ),
    ],
)
def test_errors_say_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        posterior(**{"data": noisy(20)[1], "one_population": True} | arguments)
