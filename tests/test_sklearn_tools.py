"""A walk through scikit-learn's tools: does the covariance arrive?

Each tool is compared with the same loop written by hand, and with what comes out without covariance.
"""

import numpy as np
import pytest
import sklearn
from conftest import make_problem, spd
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import svmgsu

CV = StratifiedKFold(4)
EST = svmgsu.LinearSVMGSU(lam=0.01, tol=1e-9, probability=False)  # classes by the sign, as by hand


@pytest.fixture(scope="module")
def problem():
    """Full covariances that matter: with and without them the boundaries differ."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 4)) + 1.2 * y[:, None] * np.array([1.0, 1.0, 0.0, 0.0])
    cov = svmgsu.Full(spd(rng, 80, 4) * np.where(y, 0.1, 4.0)[:, None, None])
    return X, y, cov


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def folds_by_hand(X, y, cov, estimator=EST):
    """The decision values of every example by the model that has not seen it."""
    values = np.empty(len(y))
    for train, test in CV.split(X, y):
        part = None if cov is None else cov[train]
        model = clone(estimator).fit(X[train], y[train], cov=part)
        values[test] = model.decision_function(X[test])
    return values


def scores_by_hand(X, y, cov, estimator=EST):
    values = folds_by_hand(X, y, cov, estimator)
    return np.array([accuracy_score(y[test] > 0, values[test] > 0) for _, test in CV.split(X, y)])


def test_the_problem_tells_models_with_covariance_from_models_without(problem):
    X, y, cov = problem
    assert not np.allclose(folds_by_hand(X, y, cov), folds_by_hand(X, y, None), rtol=0.05)
    assert not np.array_equal(scores_by_hand(X, y, cov), scores_by_hand(X, y, None))


# The container, without metadata routing


def test_cross_val_score(problem):
    X, y, cov = problem
    got = cross_val_score(EST, svmgsu.Gaussians(X, cov), y, cv=CV)
    np.testing.assert_array_equal(got, scores_by_hand(X, y, cov))


def test_grid_search_in_two_processes(problem):
    X, y, cov = problem
    lams = [1e-3, 1e-1, 1.0]
    search = GridSearchCV(EST, {"lam": lams}, cv=CV, n_jobs=2).fit(svmgsu.Gaussians(X, cov), y)
    by_hand = [scores_by_hand(X, y, cov, clone(EST).set_params(lam=lam)).mean() for lam in lams]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], by_hand, rtol=1e-12)
    best = clone(EST).set_params(lam=lams[int(np.argmax(by_hand))]).fit(X, y, cov=cov)
    np.testing.assert_array_equal(search.best_estimator_.coef_, best.coef_)


def test_pipeline_with_a_scaler(problem):
    X, y, cov = problem
    data = svmgsu.Gaussians(X * [1, 10, 100, 1000], cov.scale_features([1, 10, 100, 1000]))
    pipeline = make_pipeline(svmgsu.Propagate(StandardScaler()), EST)
    got = cross_val_predict(pipeline, data, y, cv=CV, method="decision_function")
    for train, test in CV.split(X, y):
        size = data.mean[train].std(axis=0)
        shifted = data.mean - data.mean[train].mean(axis=0)
        scaled = svmgsu.Gaussians(shifted[train] / size, data.cov[train].scale_features(1 / size))
        model = clone(EST).fit(scaled, y[train])
        np.testing.assert_allclose(
            got[test], model.decision_function(shifted[test] / size), rtol=1e-7, atol=1e-6
        )
    plain = cross_val_predict(pipeline, data.mean, y, cv=CV, method="decision_function")
    assert not np.allclose(got, plain, rtol=0.05)


def test_train_test_split(problem):
    X, y, cov = problem
    train, test, y_train, y_test = train_test_split(svmgsu.Gaussians(X, cov), y, random_state=0)
    rows, other = train_test_split(np.arange(80), random_state=0)
    np.testing.assert_array_equal(train.mean, X[rows])
    np.testing.assert_array_equal(train.cov.to_full(), cov.to_full()[rows])
    np.testing.assert_array_equal(test.cov.to_full(), cov.to_full()[other])
    np.testing.assert_array_equal(y_train, y[rows])
    assert len(y_test) == len(test)
    # A covariance of its own splits as well.
    _, _, part, _ = train_test_split(X, cov, random_state=0)
    np.testing.assert_array_equal(part.to_full(), cov.to_full()[rows])


def test_calibrated_classifier(problem):
    X, y, cov = problem
    data = svmgsu.Gaussians(X, cov)
    with_cov = CalibratedClassifierCV(EST, cv=CV).fit(data, y)
    for (train, _), fold in zip(CV.split(X, y), with_cov.calibrated_classifiers_, strict=True):
        model = clone(EST).fit(X[train], y[train], cov=cov[train])
        np.testing.assert_array_equal(fold.estimator.coef_, model.coef_)
    without = CalibratedClassifierCV(EST, cv=CV).fit(X, y)
    assert not np.allclose(with_cov.predict_proba(data), without.predict_proba(X), atol=0.01)


# `cov=` of `fit`, with metadata routing where scikit-learn asks for it

COVS = {"kind": lambda cov: cov, "array": lambda cov: cov.to_full(), "sum": lambda cov: 0.5 * cov + 0.5 * cov}
every_form = pytest.mark.parametrize("form", COVS.values(), ids=COVS)


@every_form
def test_a_grid_search_slices_a_fit_parameter_without_routing(problem, form):
    X, y, cov = problem
    search = GridSearchCV(EST, {"lam": [0.01]}, cv=CV, scoring="accuracy", error_score="raise")
    assert np.isfinite(search.fit(X, y, cov=form(cov)).best_score_)
    with pytest.raises(ValueError, match="fitted with cov or std, but X comes without"):
        search.set_params(scoring=None).fit(X, y, cov=form(cov))


@every_form
def test_cross_validate_with_routing(problem, routing, form):
    X, y, cov = problem
    est = clone(EST).set_fit_request(cov=True)
    got = cross_validate(est, X, y, cv=CV, params={"cov": form(cov)})["test_score"]
    np.testing.assert_array_equal(got, scores_by_hand(X, y, cov))


@every_form
def test_bagging_with_routing(problem, routing, form):
    """Each member is the model of its own draw of the examples, with the covariances of that draw."""
    X, y, cov = problem
    est = clone(EST).set_params(probability=False).set_fit_request(cov=True)
    bag = BaggingClassifier(est, n_estimators=3, random_state=0).fit(X, y, cov=form(cov))
    for model, rows in zip(bag.estimators_, bag.estimators_samples_, strict=True):
        by_hand = clone(EST).fit(X[rows], y[rows], cov=cov[rows])
        np.testing.assert_allclose(model.coef_, by_hand.coef_, rtol=1e-3, atol=1e-4)
        assert not np.allclose(model.coef_, clone(EST).fit(X[rows], y[rows]).coef_, rtol=0.05)


# A shared covariance belongs to no example


def test_a_shared_covariance_is_never_sliced_even_if_there_are_as_many_examples_as_features(routing):
    rng = np.random.default_rng(0)
    y = np.arange(12) % 2
    X = rng.normal(size=(12, 12)) + y[:, None]
    S = spd(rng, 1, 12)[0]
    shared = svmgsu.Shared(S)
    cv = StratifiedKFold(3)
    est = clone(EST).set_params(probability=False).set_fit_request(cov=True)

    def by_hand(train):
        return clone(EST).fit(X[train], y[train], cov=svmgsu.Full(np.array([S] * len(train)))).coef_

    train, _, _, _ = train_test_split(svmgsu.Gaussians(X, shared), y, random_state=0)
    assert train.cov is shared
    routed = cross_validate(est, X, y, cv=cv, params={"cov": shared}, return_estimator=True)["estimator"]
    contained = cross_validate(EST, svmgsu.Gaussians(X, shared), y, cv=cv, return_estimator=True)["estimator"]
    for (rows, _), one, two in zip(cv.split(X, y), routed, contained, strict=True):
        np.testing.assert_allclose(one.coef_, by_hand(rows), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(two.coef_, by_hand(rows), rtol=1e-4, atol=1e-6)
    bag = BaggingClassifier(est, n_estimators=2, random_state=0, bootstrap=False).fit(X, y, cov=shared)
    np.testing.assert_allclose(bag.estimators_[0].coef_, by_hand(np.arange(12)), rtol=1e-4, atol=1e-6)
    with pytest.raises(TypeError, match=r"Expected sequence or array-like, got .*Shared"):
        train_test_split(X, shared)


def test_one_covariance_a_class_goes_through_cross_validation():
    p = make_problem("shared by class", 60, 4)
    data = svmgsu.Gaussians(p.X, p.cov)
    np.testing.assert_array_equal(cross_val_score(EST, data, p.y, cv=CV), scores_by_hand(p.X, p.y, p.cov))
    # This tool numbers the classes anew, so the examples must say which covariance is theirs.
    with pytest.raises(ValueError, match=r"where a tool renames the labels.*Shared\(matrices, groups=y\)"):
        cross_val_predict(EST, data, p.y, cv=CV, method="decision_function")
    each = {label: p.full[np.argmax(p.y == label)] for label in (-1.0, 1.0)}
    data = svmgsu.Gaussians(p.X, svmgsu.Shared(each, groups=p.y))
    got = cross_val_predict(EST, data, p.y, cv=CV, method="decision_function")
    for train, test in CV.split(p.X, p.y):
        model = clone(EST).fit(p.X[train], p.y[train], cov=p.full[train])
        np.testing.assert_allclose(got[test], model.decision_function(p.X[test]), rtol=1e-3, atol=1e-4)
