"""`LinearSVMGSU` in scikit-learn's world: its contract, cross-validation, pipelines and pickles."""

import pickle

import numpy as np
import pytest
from conftest import make_problem, train_with
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmgsu

QUICK = {"lam": 0.1}


@pytest.mark.filterwarnings("ignore:the optimum is the trivial classifier")  # the checks train on noise
@parametrize_with_checks(
    [
        svmgsu.LinearSVMGSU(lam=0.1, tol=1e-8),
        svmgsu.SGDSVMGSU(),
        svmgsu.LinearSVMGSU([0.1, 0.01], probability=False, tol=1e-08),
    ]
)
def test_it_keeps_scikit_learn_s_contract(estimator, check):
    check(estimator)


def test_it_is_train_with_another_face():
    p = make_problem("full")
    est = svmgsu.SGDSVMGSU(**QUICK, n_steps=50, random_state=5).fit(
        p.X, p.y, cov=p.cov, sample_weight=np.arange(60) % 3
    )
    model = train_with(
        p.X, p.y, p.cov, **QUICK, solver="sgd", steps=50, seed=5, sample_weight=np.arange(60) % 3
    )
    for name in ("coef_", "intercept_", "classes_", "objective_", "gap_", "n_iter_"):
        np.testing.assert_array_equal(getattr(est, name), getattr(model, name))
    np.testing.assert_array_equal(est.predict_proba(p.X), model.predict_proba(p.X))
    np.testing.assert_array_equal(est.model_.decision_function(p.X), model.decision_function(p.X))


SETTINGS = {
    "exact": {},
    "sgd": QUICK,
    "weights": {"class_weight": "balanced"},
    "shares": {"prior": [0.3, 0.7]},
    "both": {"class_weight": {0: 1, 1: 5}, "prior": [0.5, 0.5]},
    "no probabilities": {"probability": False},
    "logistic": {"loss": "logistic"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_of_two_classes_the_sign_is_the_prediction_and_the_more_probable_class(name):
    rng = np.random.default_rng(3)
    y = (rng.random(200) < 0.15).astype(int)
    X = rng.normal(size=(200, 3)) + 2.5 * y[:, np.newaxis]
    std = rng.uniform(0.1, 1, X.shape)
    given = {"lam": 0.01} | SETTINGS[name]
    prior = given.pop("prior", None)
    est = svmgsu.LinearSVMGSU(**given).fit(X, y, std=std)
    est.model_.set_prior(prior)
    values = est.decision_function(X)
    np.testing.assert_array_equal(est.predict(X), values > 0)
    np.testing.assert_array_equal(est.decision_function(X, std=std, return_std=True)[0], values)
    offset = values - (X @ est.coef_[0] + est.intercept_)
    np.testing.assert_allclose(offset, offset[0], atol=1e-12)
    if "class_weight" not in SETTINGS[name] and name != "no probabilities":
        for bars in (None, std):
            chances = est.predict_proba(X, std=bars)
            np.testing.assert_array_equal(est.predict(X, std=bars), chances.argmax(axis=1))


def test_clones_and_pickles_are_the_same():
    p = make_problem("diagonal")
    est = svmgsu.SGDSVMGSU(**QUICK, average=0.3, random_state=3)
    assert clone(est).get_params() == est.get_params()
    est.fit(p.X, p.y, cov=p.cov)
    again = pickle.loads(pickle.dumps(est))
    np.testing.assert_array_equal(again.predict_proba(p.X), est.predict_proba(p.X))


def test_without_probabilities_it_has_no_predict_proba():
    p = make_problem("diagonal")
    est = svmgsu.LinearSVMGSU(**QUICK, probability=False).fit(p.X, p.y)
    assert not hasattr(est, "predict_proba")
    assert est.model_.platt_ is None
