"""`max_time` is one deadline for a whole call: classes, folds, rounds, calibration and searches share it."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from conftest import train_with

import svmgsu


def timed(work, seconds):
    """The result, the messages of its warnings; fails if it took much longer than it should."""
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = work()
    took = time.process_time() - began  # of all threads: what a busy machine does not change
    assert took <= 2 * (1.1 * seconds + 0.3), took
    return out, [
        str(w.message) for w in caught if issubclass(w.category, svmgsu.exceptions.ConvergenceWarning)
    ]


def many_classes(classes=50, count=5000, n=20):
    rng = np.random.default_rng(0)
    y = np.arange(count) % classes
    return rng.normal(size=(classes, n))[y] + rng.normal(size=(count, n)), y


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("probability", [True, "train", False])
def test_fifty_classes_stop_in_time(multi_class, probability):
    X, y = many_classes()
    options = {"std": 0.3, "max_time": 0.2, "multi_class": multi_class, "probability": probability}
    model, messages = timed(lambda: train_with(X, y, **options), 0.2)
    assert model.status_ == "limit"
    assert any("max_time=0.2" in text for text in messages)
    assert set(model.predict(X[:50])) <= set(range(50))
    assert np.isfinite(model.objective_)
    assert 0 < model.gap_ <= model.objective_
    if model.calibration_ is None and probability:
        assert any("has no predict_proba" in text for text in messages)
        with pytest.raises(RuntimeError, match="max_time was over before the calibration"):
            model.predict_proba(X[:3])
    elif probability:
        np.testing.assert_allclose(model.predict_proba(X[:3]).sum(axis=1), 1)


def test_two_classes_have_probabilities_even_without_time_for_folds():
    X, y = many_classes(2, 2000, 20)

    def slow(progress):
        if progress.iteration == 3:
            time.sleep(1.1)

    model, messages = timed(lambda: svmgsu.train(X, y, std=0.3, max_time=1.0, tol=1e-14, verbose=slow), 1.0)
    assert model.status_ == "limit"
    assert any("the solver stopped after max_time=1.0 seconds" in text for text in messages)
    assert any("probabilities are fitted to training scores" in text for text in messages)
    assert np.mean((model.predict_proba(X)[:, 1] > 0.5) == y) > 0.8


def test_the_rounds_of_target_errors_share_the_time():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60_000, 40))
    y = X @ rng.normal(size=40) + rng.normal(size=len(X))
    errors = rng.uniform(0.01, 3, size=len(X))
    seconds = 0.05
    model, messages = timed(
        lambda: svmgsu.train(X, y, std=0.5, y_std=errors, max_time=seconds, loss="squared"), seconds
    )
    assert model.status_ == "limit"
    assert any("max_time=0.05" in text for text in messages)
    assert model.scatter_ > 0


@pytest.mark.parametrize("classes", [2, 10])
def test_a_search_stops_in_time_and_can_predict(classes):
    X, y = many_classes(classes, 4000, 30)
    search = svmgsu.LinearSVMGSU(np.logspace(1, -5, 40), cov_scale=(0.0, 0.5, 1.0), max_time=0.3)
    found, messages = timed(lambda: search.fit(X, y, std=0.3), 0.3)
    assert any("of 600 fits" in text for text in messages)
    assert np.isfinite(found.best_score_)
    assert np.isnan(found.cv_results_["mean_test_score"]).any()
    assert set(found.predict(X[:50])) <= set(range(classes))


@pytest.mark.parametrize("components", [8, "auto"])
def test_a_deconvolution_stops_in_time(components):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20_000, 4)) + 3 * rng.integers(4, size=(20_000, 1))
    found = svmgsu.Deconvolution(components, max_time=0.3, tol=1e-9)
    _, messages = timed(lambda: found.fit(X, std=rng.uniform(0.1, 1, size=X.shape)), 0.3)
    assert any("max_time=0.3 seconds were over" in text for text in messages)
    assert not found.converged_
    assert np.isfinite(found.score(X, std=0.5))


def test_time_that_is_enough_changes_nothing():
    X, y = many_classes(3, 300, 5)
    first = svmgsu.train(X, y, std=0.3)
    second = svmgsu.train(X, y, std=0.3, max_time=1000.0)
    np.testing.assert_array_equal(first.coef_, second.coef_)
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
