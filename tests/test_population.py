"""Noisy samples and missing values, given the population that they come from."""

import numpy as np
import pandas as pd
import polars as pl
from conftest import spd
from moments import assert_moments
from scipy.optimize import minimize

import svmgsu
from svmgsu.uncertainty import from_missing, posterior

M, T = np.array([1.0, -2.0]), np.array([[1.0, 0.6], [0.6, 2.0]])


def noisy(count=20_000, seed=0):
    """True values, and Gaussians measured from them with noise of very different sizes."""
    rng = np.random.default_rng(seed)
    truth = rng.multivariate_normal(M, T, size=count)
    V = rng.choice([0.1, 1.0, 5.0], size=(count, 2))
    return truth, svmgsu.Gaussians(truth + np.sqrt(V) * rng.normal(size=(count, 2)), svmgsu.Diagonal(V))


def holed(count=60, n=5, share=0.3, seed=0):
    """Draws from a Gaussian with its mean and covariance, and the same with missing values."""
    rng = np.random.default_rng(seed)
    mean, cov = rng.normal(size=n), spd(rng, 1, n)[0] + 0.1 * np.eye(n)
    X = rng.multivariate_normal(mean, cov, size=count)
    return X, np.where(rng.uniform(size=X.shape) < share, np.nan, X), mean, cov


def population(mean, cov):
    """A fitted population of one known Gaussian."""
    rng = np.random.default_rng(0)
    fitted = svmgsu.Deconvolution(1).fit(rng.multivariate_normal(mean, cov, size=500))
    fitted.means_, fitted.covariances_ = mean[np.newaxis], cov[np.newaxis]
    return fitted


def test_by_hand():
    """Two samples at ±√2 with noise of variance 1: the population has mean 0 and variance 1, so both are
    drawn halfway, to ±√½, and keep the variance ½."""
    shrunk = posterior(svmgsu.Gaussians([[-np.sqrt(2)], [np.sqrt(2)]], [1.0, 1.0]))
    np.testing.assert_allclose(shrunk.mean, [[-np.sqrt(0.5)], [np.sqrt(0.5)]], atol=1e-4)
    np.testing.assert_allclose(shrunk.cov.to_full(), 0.5, atol=1e-4)


def test_the_population_is_that_of_the_largest_likelihood():
    _, data = noisy(200)
    S = data.cov.to_full()

    def loss(theta):
        root = np.array([[theta[2], 0], [theta[3], theta[4]]])
        A = root @ root.T + S
        d = data.mean - theta[:2]
        return (np.linalg.slogdet(A)[1] + (d * np.linalg.solve(A, d[:, :, None])[:, :, 0]).sum(axis=1)).sum()

    best = minimize(loss, [0, 0, 1, 0, 1], tol=1e-12).x
    root = np.array([[best[2], 0], [best[3], best[4]]])
    gain = root @ root.T @ np.linalg.inv(root @ root.T + S)
    wanted = best[:2] + (gain @ (data.mean - best[:2])[:, :, None])[:, :, 0]
    np.testing.assert_allclose(posterior(data).mean, wanted, atol=1e-4)


def test_the_truth_scatters_about_the_posterior_as_it_claims():
    """Whitened by the claimed covariances the errors have mean 0 and covariance I (Monte Carlo)."""
    truth, data = noisy()
    shrunk = posterior(data)
    errors = truth - shrunk.mean
    z = np.linalg.solve(np.linalg.cholesky(shrunk.cov.to_full()), errors[:, :, None])[:, :, 0]
    assert_moments(z, np.zeros(2), np.eye(2), slack=0.03)  # the population is estimated
    assert (errors**2).sum() < 0.7 * ((data.mean - truth) ** 2).sum()


def test_a_population_of_the_training_data_is_used_for_new_ones():
    _, data = noisy(2000)
    _, new = noisy(5, seed=1)
    prior = svmgsu.Deconvolution(2).fit(data)
    wanted = prior.transform(new).to_gaussians()
    np.testing.assert_array_equal(posterior(new, prior).mean, wanted.mean)


# Missing values


def test_a_known_gaussian_gives_the_closed_form():
    """μ_m + Σ_mo Σ_oo⁻¹ (x_o − μ_o) and Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om, written out for each sample."""
    _, table, mean, cov = holed()
    data = from_missing(table, population(mean, cov))
    for x, got, matrix in zip(table, data.mean, data.cov.to_full(), strict=True):
        m, o = np.isnan(x), ~np.isnan(x)
        gain = cov[np.ix_(m, o)] @ np.linalg.inv(cov[np.ix_(o, o)])
        filled, left = x.copy(), np.zeros_like(cov)
        filled[m] = mean[m] + gain @ (x[o] - mean[o])
        left[np.ix_(m, m)] = cov[np.ix_(m, m)] - gain @ cov[np.ix_(o, m)]
        np.testing.assert_allclose(got, filled, atol=1e-8)
        np.testing.assert_allclose(matrix, left, atol=1e-8)


def test_the_fitted_moments_are_those_of_what_was_missing():
    X, table, _, _ = holed(20_000)
    data = from_missing(table)
    chosen = np.isnan(table[:, 1]) & ~np.isnan(table[:, [0, 2, 3, 4]]).any(axis=1)
    errors = (X - data.mean)[chosen, 1] / np.sqrt(data.cov.diagonals(*data.shape)[chosen, 1])
    assert_moments(errors[:, np.newaxis], [0.0], [[1.0]], slack=0.05)


def test_units_do_not_matter_and_float32_stays():
    _, table, _, _ = holed()
    factors = 10.0 ** np.array([-6, 0, 3, 8, -2])
    plain = from_missing(table)
    np.testing.assert_allclose(from_missing(table * factors).mean, plain.mean * factors, rtol=1e-4, atol=0)
    single = from_missing(table.astype(np.float32))
    assert single.mean.dtype == single.cov.packed.dtype == np.float32
    np.testing.assert_allclose(single.mean, plain.mean, atol=1e-3)


def test_every_spelling_of_a_missing_value():
    columns = {"a": [1.0, None, 3.0, 4.0, 7.0], "b": [1.0, 2.0, None, 4.0, 6.0]}
    array = np.array(list(columns.values()), dtype=float).T
    wanted = from_missing(array).mean
    for X in (
        pd.DataFrame(columns).astype("Float64"),
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        np.ma.masked_invalid(array),
        np.ma.array(np.nan_to_num(array).astype(int), mask=np.isnan(array)),
        [[None if np.isnan(v) else v for v in row] for row in array],
    ):
        np.testing.assert_allclose(from_missing(X).mean, wanted)
    assert from_missing(pd.DataFrame(columns)).feature_names_in_ == ["a", "b"]
