"""`LinearSVMGSU` in scikit-learn's world: its contract, cross-validation, pipelines and pickles."""

import pickle

import numpy as np
import pytest
from conftest import every_kind, make_problem
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmgsu

QUICK = {"lam": 0.1, "solver": "sgd", "T": 50}


@pytest.mark.filterwarnings("ignore:the optimum is the trivial classifier")  # the checks train on noise
@parametrize_with_checks([svmgsu.LinearSVMGSU(lam=0.1, probability=False, tol=1e-9)])
def test_it_keeps_scikit_learn_s_contract(estimator, check):
    check(estimator)


def test_it_is_train_with_another_face():
    p = make_problem("full")
    est = svmgsu.LinearSVMGSU(**QUICK, random_state=5).fit(
        p.X, p.y, cov=p.cov, sample_weight=np.arange(60) % 3
    )
    model = svmgsu.train(p.X, p.y, p.cov, **QUICK, seed=5, sample_weight=np.arange(60) % 3)
    for name in ("coef_", "intercept_", "classes_", "objective_", "gap_", "n_iter_"):
        np.testing.assert_array_equal(getattr(est, name), getattr(model, name))
    np.testing.assert_array_equal(est.predict_proba(p.X), model.predict_proba(p.X))
    np.testing.assert_array_equal(est.decision_function(p.X), model.decision_function(p.X))


@every_kind
def test_cross_validation_slices_means_and_covariances_together(kind):
    p = make_problem(kind)
    scores = cross_val_score(svmgsu.LinearSVMGSU(**QUICK), svmgsu.Gaussians(p.X, p.cov), p.y, cv=3)
    assert scores.mean() > 0.6


def test_a_grid_search_takes_gaussians():
    p = make_problem("diagonal")
    search = GridSearchCV(svmgsu.LinearSVMGSU(**QUICK), {"lam": [0.01, 1.0]}, cv=3)
    search.fit(svmgsu.Gaussians(p.X, p.cov), p.y)
    assert search.best_params_["lam"] in (0.01, 1.0)


def test_it_stands_at_the_end_of_a_pipeline():
    p = make_problem("none")
    pipeline = make_pipeline(StandardScaler(), svmgsu.LinearSVMGSU(**QUICK))
    assert pipeline.fit(p.X, p.y, linearsvmgsu__std=0.3).score(p.X, p.y) > 0.7


def test_clones_and_pickles_are_the_same():
    p = make_problem("diagonal")
    est = svmgsu.LinearSVMGSU(**QUICK, average=0.3, random_state=3)
    assert clone(est).get_params() == est.get_params()
    est.fit(p.X, p.y, cov=p.cov)
    again = pickle.loads(pickle.dumps(est))
    np.testing.assert_array_equal(again.predict_proba(p.X), est.predict_proba(p.X))


@pytest.mark.parametrize("state", [np.random.RandomState(3), None])
def test_any_random_state_will_do(state):
    p = make_problem("diagonal")
    assert np.isfinite(svmgsu.LinearSVMGSU(**QUICK, random_state=state).fit(p.X, p.y).objective_)


def test_without_probabilities_it_has_no_predict_proba():
    p = make_problem("diagonal")
    est = svmgsu.LinearSVMGSU(**QUICK, probability=False).fit(p.X, p.y)
    assert not hasattr(est, "predict_proba")
    assert est.model_.platt_ is None


def test_before_fit_it_says_so():
    est = svmgsu.LinearSVMGSU()
    for method in (est.predict, est.decision_function, est.predict_proba):
        with pytest.raises(NotFittedError):
            method(np.zeros((1, 2)))
