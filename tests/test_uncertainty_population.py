"""Empirical Bayes: noisy examples and their population."""

import numpy as np
import pytest
from conftest import UNCERTAIN_KINDS, make_problem, spd
from moments import assert_moments

import svmgsu
from svmgsu.uncertainty import OnePopulationWarning, posterior
from svmgsu.uncertainty._support import variances_of

M, T = np.array([1.0, -2.0]), np.array([[1.0, 0.6], [0.6, 2.0]])


def noisy(count=20_000, seed=0, diagonal=True):
    """True examples, and Gaussians measured from them with noise of very different sizes."""
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
    """Two examples at ±√2 with noise of variance 1: the population has mean 0 and variance 1, so both are
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
    with pytest.warns(
        svmgsu.ConvergenceWarning, match="posterior: after 1 steps the population still changes"
    ):
        posterior(noisy(50)[1], one_population=True, max_iter=1)


@pytest.mark.parametrize("kind", [k for k in UNCERTAIN_KINDS if k != "shared by class"])
def test_every_kind_of_covariance_is_understood(kind):
    problem = make_problem(kind, count=30, n=4)
    data = svmgsu.Gaussians(problem.X, problem.cov)
    np.testing.assert_allclose(
        variances_of(problem.cov, data.shape), np.diagonal(problem.full, axis1=1, axis2=2), atol=1e-12
    )
    shrunk = posterior(data, one_population=True)
    plain = posterior(svmgsu.Gaussians(problem.means, svmgsu.Full(problem.full)), one_population=True)
    np.testing.assert_allclose(shrunk.mean, plain.mean, atol=1e-9)
    np.testing.assert_allclose(shrunk.cov.to_full(), plain.cov.to_full(), atol=1e-9)


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
    monkeypatch.setattr("svmgsu.uncertainty._support.BLOCK_NUMBERS", 1)
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
    ],
)
def test_errors_say_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        posterior(**{"data": noisy(20)[1], "one_population": True} | arguments)
