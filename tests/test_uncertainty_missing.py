"""Tables with holes."""

import sys

import numpy as np
import pytest
from conftest import spd
from moments import assert_moments

import svmgsu
from svmgsu.uncertainty import fit_gaussian, from_missing


def population(n=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), spd(rng, 1, n)[0] + 0.1 * np.eye(n)


def holed(count=60, n=5, share=0.3, seed=0):
    """Draws from `population`, and the same with holes."""
    rng = np.random.default_rng(seed)
    mean, cov = population(n, seed)
    X = rng.multivariate_normal(mean, cov, size=count)
    return X, np.where(rng.uniform(size=X.shape) < share, np.nan, X)


def closed_form(x, mean, cov):
    """μ_m + Σ_mo Σ_oo⁻¹ (x_o − μ_o) and Σ_mm − Σ_mo Σ_oo⁻¹ Σ_om, written out for one row."""
    m, o = np.isnan(x), ~np.isnan(x)
    gain = cov[np.ix_(m, o)] @ np.linalg.inv(cov[np.ix_(o, o)])
    filled, left = x.copy(), np.zeros_like(cov)
    filled[m] = mean[m] + gain @ (x[o] - mean[o])
    left[np.ix_(m, m)] = cov[np.ix_(m, m)] - gain @ cov[np.ix_(o, m)]
    return filled, left


def test_by_hand():
    """Correlation 1/2: given x = 1, y has mean 1/2 and variance 3/4."""
    data = from_missing([[1.0, np.nan]], population=([0, 0], [[1, 0.5], [0.5, 1]]))
    np.testing.assert_allclose(data.mean, [[1.0, 0.5]])
    np.testing.assert_allclose(data.cov.to_full(), [[[0, 0], [0, 0.75]]])


def test_a_known_gaussian_gives_the_closed_form():
    mean, cov = population()
    _, table = holed()
    table[0] = np.nan
    table[1] = mean
    data = from_missing(table, population=(mean, cov))
    assert isinstance(data.cov, svmgsu.LowRank)
    np.testing.assert_array_equal(np.diff(data.cov.start), np.isnan(table).sum(axis=1))
    for x, got, matrix in zip(table, data.mean, data.cov.to_full(), strict=True):
        filled, left = closed_form(x, mean, cov)
        np.testing.assert_allclose(got, filled, atol=1e-10)
        np.testing.assert_allclose(matrix, left, atol=1e-10)


def test_the_moments_are_those_of_what_was_missing():
    """Draws of the same observed part: the truth scatters about the mean as the covariance says."""
    mean, cov = population()
    rng = np.random.default_rng(3)
    draws = rng.multivariate_normal(mean, cov, size=100_000)
    table = draws.copy()
    table[:, [1, 3]] = np.nan
    data = from_missing(table, population=(mean, cov))
    assert_moments((draws - data.mean)[:, [1, 3]], 0, data.cov.take(np.array([0])).to_full()[0][1::2, 1::2])


def test_the_fit_recovers_the_population():
    mean, cov = population()
    _, table = holed(20_000)
    found_mean, found_cov = fit_gaussian(table, tol=1e-5)
    scale = np.sqrt(np.diag(cov))
    # 14,000 observed values per column: 6 standard errors are 0.05 deviations, 0.07 variances.
    assert np.abs((found_mean - mean) / scale).max() < 0.05
    assert np.abs((found_cov - cov) / scale / scale[:, None]).max() < 0.07


def log_likelihood(table, mean, cov):
    total = 0.0
    for x in table:
        o = ~np.isnan(x)
        d = x[o] - mean[o]
        S = cov[np.ix_(o, o)]
        total -= 0.5 * (d @ np.linalg.solve(S, d) + np.linalg.slogdet(S)[1])
    return total


@pytest.mark.filterwarnings("ignore::svmgsu.exceptions.ConvergenceWarning")
def test_every_step_raises_the_likelihood_and_the_end_is_a_maximum():
    _, table = holed(80)
    values = [
        log_likelihood(table, *fit_gaussian(table, max_iter=k, tol=1e-9)) for k in (1, 2, 4, 8, 16, 400)
    ]
    assert (np.diff(values) > -1e-9).all()
    mean, cov = fit_gaussian(table, tol=1e-9, max_iter=2000)
    rng = np.random.default_rng(0)
    for _ in range(20):
        bent = spd(rng, 1, 5)[0] * 0.01
        assert log_likelihood(table, mean + 0.01 * rng.normal(size=5), cov) < values[-1] + 1e-9
        assert log_likelihood(table, mean, cov + bent) < values[-1] + 1e-9


def test_a_whole_table_gives_its_moments_and_no_uncertainty():
    X, _ = holed()
    mean, cov = fit_gaussian(X)
    np.testing.assert_allclose(mean, X.mean(axis=0))
    np.testing.assert_allclose(cov, np.cov(X.T, bias=True))
    data = from_missing(X)
    np.testing.assert_array_equal(data.mean, X)
    assert data.cov.factors.shape == (0, 5)
    assert np.isfinite(svmgsu.train(data, np.arange(60) % 2, lam=0.1).coef_).all()


def test_marginal_ignores_the_other_features():
    _, table = holed()
    data = from_missing(table, method="marginal")
    holes = np.isnan(table)
    np.testing.assert_allclose(
        data.mean[holes], np.broadcast_to(np.nanmean(table, axis=0), table.shape)[holes]
    )
    np.testing.assert_allclose(data.cov.variances, holes * np.nanvar(table, axis=0))
    known = from_missing(table, method="marginal", population=population())
    np.testing.assert_allclose(known.cov.variances, holes * np.diag(population()[1]))


@pytest.mark.parametrize("shrink", [0.2, "ledoit_wolf", "oas"])
def test_shrinking_makes_few_examples_enough(shrink):
    _, table = holed(count=8, n=12, share=0.2)
    with pytest.raises(ValueError, match="shrink: 8 samples do not determine the covariance of 12 features"):
        from_missing(table)
    data = from_missing(table, shrink=shrink)
    deviations = np.sqrt(np.diagonal(data.cov.to_full(), axis1=1, axis2=2)[np.isnan(table)])
    assert (deviations > 0).all()
    mean, cov = fit_gaussian(table, shrink=1.0)
    np.testing.assert_allclose(cov, np.diag(np.nanvar(table, axis=0)), atol=1e-12)
    np.testing.assert_allclose(mean, np.nanmean(table, axis=0), atol=1e-3)


def test_columns_that_are_constant_or_determine_each_other():
    _, table = holed(60, 3)
    table = np.column_stack([table, np.full(60, 7.0), 2 * holed(60, 3)[0][:, 0]])
    table[::7, 3] = np.nan
    data = from_missing(table)
    np.testing.assert_allclose(data.mean[:, 3], 7.0)
    assert not np.diagonal(data.cov.to_full(), axis1=1, axis2=2)[:, 3].any()
    np.testing.assert_allclose(2 * data.mean[:, 0], data.mean[:, 4], rtol=0.01, atol=0.01)


def test_units_do_not_matter():
    _, table = holed()
    factors = 10.0 ** np.array([-6, 0, 3, 8, -2])
    plain, scaled = from_missing(table), from_missing(table * factors)
    np.testing.assert_allclose(scaled.mean, plain.mean * factors, rtol=1e-8)
    full = plain.cov.to_full() * factors[:, None] * factors
    np.testing.assert_allclose(scaled.cov.to_full(), full, rtol=1e-6, atol=0)


def test_float32_stays_and_lists_with_none_are_read():
    _, table = holed()
    data = from_missing(table.astype(np.float32))
    assert data.mean.dtype == data.cov.factors.dtype == np.float32
    np.testing.assert_allclose(data.mean, from_missing(table).mean, atol=1e-4)
    assert from_missing(table.astype(np.float32), method="marginal").cov.variances.dtype == np.float32
    rows = [[None if np.isnan(v) else v for v in row] for row in table]
    np.testing.assert_array_equal(from_missing(rows).mean, from_missing(table).mean)


def test_the_input_is_left_alone_and_blocks_do_not_show(monkeypatch):
    _, table = holed()
    kept = table.copy()
    data = from_missing(table)
    np.testing.assert_array_equal(table, kept)
    monkeypatch.setattr("svmgsu.support.arrays.BLOCK", 1)
    again = from_missing(table)
    np.testing.assert_allclose(again.mean, data.mean, atol=1e-9)
    np.testing.assert_allclose(again.cov.to_full(), data.cov.to_full(), atol=1e-9)


def test_a_third_of_the_breast_cancer_data_missing_trains():
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    X = (found.data - found.data.mean(axis=0)) / found.data.std(axis=0)
    table = np.where(np.random.default_rng(0).uniform(size=X.shape) < 0.3, np.nan, X)
    data = from_missing(table, tol=1e-2)
    model = svmgsu.train(data, found.target, lam=1e-2)
    assert (model.predict(X) == found.target).mean() > 0.95


def test_a_fit_that_did_not_end_says_so():
    with pytest.warns(
        svmgsu.exceptions.ConvergenceWarning, match="after 2 steps the covariance still changes by"
    ):
        fit_gaussian(holed()[1], max_iter=2)


def test_holes_of_pandas_and_polars_are_holes():
    import pandas as pd
    import polars as pl

    columns = {"a": [1, None, 3, 4, 7], "b": [1.5, 2.0, None, 4.0, 6.0]}
    wanted = from_missing(np.array(list(columns.values()), dtype=float).T)
    nullable = pd.DataFrame(columns).astype({"a": "Int64", "b": "Float64"})
    for frame in (
        nullable,
        pd.DataFrame(columns),
        pd.DataFrame(columns, dtype=object),
        pl.DataFrame(columns),
    ):
        found = from_missing(frame)
        np.testing.assert_array_equal(found.mean, wanted.mean)
        assert found.feature_names_in_ == ["a", "b"]


@pytest.mark.parametrize("dtype", [int, np.float32, float])
def test_masked_values_are_holes(dtype):
    table = np.ma.masked_equal(np.array([[1, 2], [3, 0], [5, 4], [2, 2]], dtype=dtype), 0)
    found, wanted = from_missing(table), from_missing(np.where(table.mask, np.nan, table.data))
    np.testing.assert_allclose(found.mean, wanted.mean, rtol=1e-6)
    assert found.mean.dtype == (np.float32 if dtype == np.float32 else float)


def test_progress_is_shown(capsys):
    fit_gaussian(holed()[1], verbose=True)
    assert "expectation" in capsys.readouterr().err


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.covariance", None)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ImportError, match=r"needs sklearn: pip install 'svmgsu\[uncertainty\]'"):
        from_missing(holed()[1], shrink="oas")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [[1.0, np.inf]]}, "X: sample 0, feature 1 is inf; missing values are NaN"),
        ({"X": [[1.0, np.nan], [2.0, np.nan]]}, "X: feature 1 is missing in every sample"),
        ({"X": np.empty((0, 2))}, "X: expected at least one sample"),
        ({"X": [1.0, 2.0]}, "X: expected 2 dimensions"),
        ({"method": "mean"}, "method: expected one of"),
        ({"shrink": 2.0}, "shrink: must be from 0 to 1"),
        ({"shrink": "lasso"}, "shrink: expected one of"),
        ({"tol": 0.0}, "tol: must be positive"),
        ({"population": ([0.0], [[1.0]])}, r"population: mean and cov have shapes \(1,\) and \(1, 1\)"),
        ({"population": 3}, r"population: expected a pair \(mean, cov\)"),
        ({"population": (np.zeros(5), np.triu(np.ones((5, 5))))}, "population: .* symmetric"),
        ({"population": (np.zeros(5), -np.eye(5))}, "population: feature 0 has variance -1"),
        ({"population": (np.zeros(5), 1.0 - np.eye(5) / 2)}, "population: the covariance has the negative"),
    ],
)
def test_errors_say_where_and_what(arguments, message):
    with pytest.raises(ValueError, match=message):
        from_missing(**{"X": holed()[1]} | arguments)
