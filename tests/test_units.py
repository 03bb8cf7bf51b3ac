"""Uncertainties and test-time noise keep the units of the values, in pipelines and with metadata routing."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import svmgsu

SCALER = svmgsu.Propagate(StandardScaler())
CLASSIFIER = svmgsu.LinearSVMGSU(lam=1e-2, probability=False, tol=1e-9)
FOLDS = StratifiedKFold(3)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def cells():
    """Ten measurements in units from 0.01 to 1000, with their standard errors."""
    table = load_breast_cancer()
    return table.data[:, :10], table.data[:, 10:20], table.target


def by_hand(X, E, y, rows=slice(None)):
    """The classifier of values and error bars that were scaled together."""
    center, size = X[rows].mean(axis=0), X[rows].std(axis=0)
    data = svmgsu.Gaussians((X[rows] - center) / size, std=E[rows] / size)
    model = clone(CLASSIFIER).fit(data, y[rows])
    return lambda Z: model.decision_function((Z - center) / size)


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("form", ["std", "cov"])
def test_a_pipeline_routes_error_bars_through_its_scaler(cells, routing, form):
    X, E, y = cells
    given = {"std": E} if form == "std" else {"cov": E**2}
    pipeline = make_pipeline(clone(SCALER), clone(CLASSIFIER)).fit(X, y, **given)
    close(pipeline.decision_function(X), by_hand(X, E, y)(X))
    _, blur = pipeline[-1].decision_function(pipeline[0].transform(X, **given), return_std=True)
    size = X.std(axis=0)
    close(blur, np.sqrt(((E / size * pipeline[-1].coef_[0]) ** 2).sum(axis=1)))


def test_searches_and_cross_validation_route_error_bars_through_the_scaler(cells, routing):
    X, E, y = cells
    pipeline = make_pipeline(clone(SCALER), clone(CLASSIFIER))
    found = cross_validate(pipeline, X, y, cv=FOLDS, params={"std": E}, return_estimator=True)
    for (rows, _), fitted in zip(FOLDS.split(X, y), found["estimator"], strict=True):
        close(fitted.decision_function(X), by_hand(X, E, y, rows)(X))
    search = GridSearchCV(pipeline, {"linearsvmgsu__lam": [1e-2]}, cv=FOLDS).fit(X, y, std=E)
    close(search.decision_function(X), by_hand(X, E, y)(X))


def test_probabilities_are_given_error_bars_through_the_scaler(cells, routing):
    X, E, y = cells
    pipeline = make_pipeline(clone(SCALER), svmgsu.LinearSVMGSU(1e-2)).fit(X, y, std=E)
    size = X.std(axis=0)
    wanted = pipeline[-1].predict_proba((X - X.mean(axis=0)) / size, std=E / size)
    close(pipeline.predict_proba(X, std=E), wanted)
    assert not np.allclose(pipeline.predict_proba(X), wanted, atol=0.01)
    assert pipeline.score(X, y, std=E) > 0.9


def test_without_routing_the_first_step_takes_the_error_bars(cells):
    X, E, y = cells
    pipeline = make_pipeline(clone(SCALER), clone(CLASSIFIER)).fit(X, y, propagate__std=E)
    close(pipeline.decision_function(X), by_hand(X, E, y)(X))


# Test-time noise


def test_data_carry_test_time_noise_through_a_scaler(cells):
    X, E, y = cells
    noise, size = E.mean(axis=0) ** 2, X.std(axis=0)
    data = svmgsu.Gaussians(X, std=E).add_noise(noise)
    assert data.cov.variances.max() == pytest.approx((E**2).max())
    got = make_pipeline(clone(SCALER), clone(CLASSIFIER)).fit(data, y)
    scaled = (X - X.mean(axis=0)) / size
    wanted = clone(CLASSIFIER).fit(svmgsu.Gaussians(scaled, std=E / size).add_noise(noise / size**2), y)
    close(got[-1].coef_, wanted.coef_)
    without = make_pipeline(clone(SCALER), clone(CLASSIFIER)).fit(svmgsu.Gaussians(X, std=E), y)
    assert not np.allclose(got[-1].coef_, without[-1].coef_, rtol=0.05)


def test_test_time_noise_is_sliced_joined_and_pickled_with_the_data():
    pool = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    data = svmgsu.Gaussians(np.ones((6, 2)), std=0.1).add_noise(pool, seed=3)
    drawn = pool[np.random.default_rng(3).integers(3, size=6)]
    np.testing.assert_array_equal(data.test_noise.variances, drawn)
    np.testing.assert_array_equal(data[[4, 1]].test_noise.variances, drawn[[4, 1]])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(data)).test_noise.variances, drawn)
    both = svmgsu.Gaussians.concatenate([data, svmgsu.Gaussians(np.ones((1, 2)), std=0.1)])
    np.testing.assert_array_equal(both.test_noise.variances, [*drawn, [0.0, 0.0]])
    exact = svmgsu.Propagate(FunctionTransformer(np.exp), method="exact").fit_transform(data)
    np.testing.assert_allclose(exact.test_noise.variances, drawn * np.e**2)
    assert data.add_noise(None).test_noise is None
    with pytest.raises(ValueError, match="call add_noise afterwards"):
        svmgsu.uncertainty.posterior(data)
