"""Messages say what to write instead, and what they advise works."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from conftest import train_with

import svmgsu
from svmgsu import uncertainty


def problem(count=40, n=3):
    rng = np.random.default_rng(0)
    y = np.arange(count) % 2
    return rng.normal(size=(count, n)) + y[:, None], y


def advised(message, **names):
    """What stands after "pass " in a message, as the argument it is."""
    name, _, value = message.partition("pass ")[2].partition(" instead")[0].partition("=")
    return {name: eval(value, {"np": np, "svmgsu": svmgsu, **names})}


def test_one_error_bar_a_feature_is_refused_with_advice_that_works():
    X, y = problem()
    std = np.array([0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match=r"^std: shape \(3,\) fits the features") as caught:
        svmgsu.train(X, y, std=std)
    got = train_with(X, y, **advised(str(caught.value), std=std)).coef_
    np.testing.assert_allclose(got, svmgsu.train(X, y, std=np.tile(std, (40, 1))).coef_, rtol=1e-5)


def test_error_bars_of_as_many_examples_as_features_are_refused_with_both_readings():
    X, y = problem(4, 4)
    with pytest.raises(ValueError, match=r"^std: shape \(4,\) is ambiguous") as caught:
        svmgsu.train(X, y, std=np.ones(4))
    for kind in ("cov=svmgsu.Isotropic(np.square(std))", "cov=svmgsu.Shared(np.square(std))"):
        assert kind in str(caught.value)
        train_with(X, y, lam=0.1, **{"cov": eval(kind[4:], {"np": np, "svmgsu": svmgsu, "std": np.ones(4)})})


def holes(kind):
    X, y = problem()
    X[3, 1] = np.nan
    if kind == "sparse":
        return scipy.sparse.csr_array(X), y
    if kind == "frame":
        return pd.DataFrame(X), y
    return (np.ma.masked_invalid(X) if kind == "masked" else X), y


@pytest.mark.parametrize("kind", ["array", "sparse", "frame", "masked"])
def test_a_missing_value_points_to_from_missing(kind):
    X, y = holes(kind)
    with pytest.raises(ValueError, match=r"^X: sample 3, feature 1 .*svmgsu\.uncertainty\.from_missing\(X\)"):
        svmgsu.train(X, y)
    if kind != "sparse":
        svmgsu.train(uncertainty.from_missing(X), y)


# What was accepted without a word


def test_as_many_pooled_covariances_as_features_are_no_matrix():
    X, y = problem()
    pool = np.array([[0.1, 0.2, 0.3], [0.1, 0.1, 0.1], [1.0, 1.0, 0.5]])
    for given in (pool, np.full((3, 3), 0.1)):
        with pytest.raises(ValueError, match=r"^cov: shape \(3, 3\).*svmgsu\.Diagonal\(variances\)"):
            svmgsu.Gaussians(X).add_noise(given)
    drawn = pool[np.random.default_rng(0).integers(3, size=40)]
    got = svmgsu.train(svmgsu.Gaussians(X).add_noise(svmgsu.Diagonal(pool)), y).coef_
    np.testing.assert_array_equal(got, svmgsu.train(X, y, drawn).coef_)
    matrix = np.full((3, 3), 0.1) + np.eye(3)
    np.testing.assert_array_equal(
        svmgsu.train(svmgsu.Gaussians(X).add_noise(matrix), y).coef_,
        svmgsu.train(svmgsu.Gaussians(X).add_noise(svmgsu.Shared(matrix)), y).coef_,
    )


# float32 error bars


@pytest.mark.parametrize("size", [1e-24, 1e-21, 1e25])
@pytest.mark.parametrize("form", [lambda s: s, lambda s: np.full(40, s), lambda s: np.full((40, 3), s)])
def test_float32_error_bars_are_squared_without_loss(size, form):
    X, _ = problem()
    std = form(np.float32(size))
    cov = svmgsu.Gaussians(X, std=std).cov
    np.testing.assert_allclose(cov.diagonals(40, 3), float(np.float32(size)) ** 2, rtol=1e-12)


def test_builders_keep_tiny_variances_of_float32_data(tmp_path):
    X = np.zeros((4, 2), dtype=np.float32)
    X[:, 0] = [0, 1e-24, 2e-24, 3e-24]
    assert (uncertainty.from_errors(X, std=np.float32(1e-24)).cov.variances > 0).all()
    np.testing.assert_allclose(
        uncertainty.from_repeats([X]).cov.variances[0, 0], np.var(X[:, 0].astype(float), ddof=1)
    )
    np.savez(tmp_path / "a.npz", mean=X, std=np.full((4, 2), 1e-24, dtype=np.float32))
    np.testing.assert_allclose(svmgsu.io.read(tmp_path / "a.npz").data.cov.variances, 1e-48, rtol=1e-6)


rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
E = rng.uniform(0.1, 0.5, (40, 3))


# What is found on the way


def test_error_bars_without_a_finite_square_are_refused():
    e = E.copy()
    e[17, 2] = 1e200
    with pytest.raises(ValueError, match="std: sample 17 has standard deviation 1e\\+200 at feature 2"):
        svmgsu.Gaussians(X, std=e)


@pytest.mark.parametrize(("value", "kept"), [(0.0, True), (1e-30, False), (1e25, False), (1.2e-19, True)])
def test_single_precision_stays_where_the_squares_fit_in(value, kept):
    e = E.astype(np.float32)
    e[17, 2] = value
    found = svmgsu.Gaussians(X.astype(np.float32), std=e).cov.variances
    assert (found.dtype == np.float32) == kept
    assert found[17, 2] == pytest.approx(float(e[17, 2]) ** 2, rel=1e-6)
