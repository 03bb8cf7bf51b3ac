"""Missing values in `SVMGSU` and `SVRGSU`: infinite noise, in training and of new objects."""

import warnings

import numpy as np
import pandas as pd
import pytest

import svmgsu


def table(count=500, seed=0, gaps=0.25):
    """Two groups in three features that go together, with error bars and gaps at random."""
    rng = np.random.default_rng(seed)
    y = np.arange(count) % 2
    truth = (
        np.where(y == 1, 1.2, -1.2)[:, None] + rng.normal(size=(count, 1)) + 0.3 * rng.normal(size=(count, 3))
    )
    X = truth + 0.2 * rng.normal(size=truth.shape)
    return np.where(rng.random(X.shape) < gaps, np.nan, X), y


def model(**options):
    return svmgsu.SVMGSU(**{"n_features": 60, "search": False, "threads": 1, "n_components": 2, **options})


def test_nan_is_infinite_noise_and_gives_no_warning():
    X, y = table()
    as_noise = np.where(np.isnan(X), np.inf, 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = model().fit(X, y, std=0.2).predict_proba(X, std=0.2)
        two = model().fit(np.nan_to_num(X, nan=77.0), y, std=as_noise)
        both = model().fit(X, y, std=np.where(np.isnan(X), np.nan, 0.2))
        np.testing.assert_allclose(two.predict_proba(np.nan_to_num(X), std=as_noise), one, atol=1e-9)
        np.testing.assert_allclose(
            both.predict_proba(X, std=np.where(np.isnan(X), np.nan, 0.2)), one, atol=1e-9
        )
    assert ((one[:, 1] > 0.5) == y).mean() > 0.85


def test_a_frame_without_error_bars_may_have_gaps():
    X, y = table()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    fitted = model().fit(frame, y)
    assert fitted.population_ is not None
    assert fitted.score(frame, y) > 0.85
    np.testing.assert_array_equal(fitted.predict_proba(frame), model().fit(X, y).predict_proba(X))


def test_huge_noise_tends_to_a_missing_value():
    X, y = table(gaps=0.0)
    fitted = model().fit(X, y, std=0.2)
    bars = np.full((1, 3), 0.2)
    bars[0, 1] = 1e5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", svmgsu.exceptions.PopulationWarning)
        blurred = fitted.predict_proba(X[:1], std=bars)
    gap = X[:1].copy()
    gap[0, 1] = np.nan
    np.testing.assert_allclose(fitted.predict_proba(gap, std=0.2), blurred, atol=1e-6)


def test_an_object_of_which_nothing_is_known_is_any_of_the_population():
    X, y = table()
    fitted = model(link=False).fit(X, y, std=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = fitted.predict_proba(np.full((1, 3), np.nan))
    draws = svmgsu.Gaussians(fitted.population_.sample(4000, random_state=0)[0])
    mean = fitted.scores_(fitted.map_.mean(draws)).mean()
    assert np.log(p[0, 1] / p[0, 0]) == pytest.approx(mean, abs=0.2)


def test_a_row_without_values_may_be_trained_on():
    X, y = table()
    X[7] = np.nan
    assert model().fit(X, y, std=0.2).score(X, y, std=0.2) > 0.85


def test_copies_of_deployment_keep_their_gaps_and_so_do_bars_as_features():
    X, y = table()
    bars = np.where(y == 1, 0.1, 0.3)
    fitted = model(deployment_cov=0.1, bars_as_features=True).fit(X, y, std=bars)
    assert fitted.bars_
    noise = np.sqrt(0.1) * np.random.default_rng(1).normal(size=X.shape)
    assert fitted.score(X + noise, y, std=np.sqrt(bars**2 + 0.1)) > 0.85


def test_what_cannot_be_is_refused_before_work_starts():
    X, y = table()
    with pytest.raises(ValueError, match=r"population must say what it may be \(population=None\)"):
        model(population=None).fit(X, y, std=0.2)
    with pytest.raises(ValueError, match=r"X: example 2, feature 0 is missing .*trained without noise"):
        full = np.nan_to_num(X)
        X[:2] = 0.0
        X[2, 0] = np.nan
        model().fit(full, y).predict(X)
    X[:, 1] = np.nan
    with pytest.raises(
        ValueError, match="feature 1, 'b', is missing, or has infinite noise, in every example"
    ):
        model().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    with pytest.raises(ValueError, match="is infinite"):
        model().fit(np.full((4, 2), np.inf), [0, 1, 0, 1])


def test_regressions_and_populations_take_gaps_too():
    rng = np.random.default_rng(0)
    truth = rng.uniform(-2, 2, size=(600, 1)) + 0.1 * rng.normal(size=(600, 3))
    y = np.sin(2 * truth.mean(axis=1))
    X = np.where(rng.random(truth.shape) < 0.3, np.nan, truth)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = svmgsu.SVRGSU(n_features=60, search=False, threads=1).fit(X, y, std=0.05)
        _, deviation = fitted.predict(X, std=0.05, return_std=True)
        svmgsu.Deconvolution(2, threads=1).fit(X, std=0.05).transform(X, std=0.05)
    nothing = np.isnan(X).all(axis=1)
    assert nothing.any()
    assert fitted.score(X[~nothing], y[~nothing], std=0.05) > 0.85
    assert deviation[nothing].mean() > 2 * deviation[~nothing].mean()
