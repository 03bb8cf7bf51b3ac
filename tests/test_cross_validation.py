"""Paths of λ, cross-validation that scores Gaussians, and noise of deployment."""

import time

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold

import svmgsu
from svmgsu import _core
from svmgsu.models import scoring


def two_classes(count=120, n=4, distance=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], count // 2)
    X = rng.normal(size=(count, n)) + distance * y[:, np.newaxis]
    return X, y, rng.uniform(0.1, 1.0, (count, n))


@pytest.fixture
def margins():
    rng = np.random.default_rng(1)
    signs = np.where(rng.random(50) < 0.5, 1.0, -1.0)
    return rng.normal(size=50), rng.uniform(0.1, 2, 50), signs, rng.uniform(0.5, 2, 50)


def within(values, weights, exact, errors=4):
    """Whether a weighted mean over draws (a row per example) is within `errors` standard errors of exact."""
    share = weights / weights.sum()
    deviation = np.sqrt((share**2 * values.var(axis=1) / values.shape[1]).sum())
    return abs(share @ values.mean(axis=1) - exact) <= errors * deviation


def test_expected_scores_are_means_over_draws(margins):
    mean, std, signs, weights = margins
    draws = mean[:, None] + std[:, None] * np.random.default_rng(2).normal(size=(50, 20000))
    right = (signs[:, None] * draws > 0).astype(float)
    assert within(right, weights, scoring.expected_accuracy(mean, std, signs, weights))
    hinge = np.maximum(0, 1 - signs[:, None] * draws)
    assert within(hinge, weights, scoring.expected_hinge(mean, std, signs, weights))
    a, b = -1.3, 0.2
    log_loss = np.logaddexp(0, signs[:, None] * (a * draws + b))
    assert within(log_loss, weights, scoring.expected_log_loss(mean, std, signs, weights, (a, b)))


def test_the_probability_of_being_right_is_the_normal_cdf(margins):
    mean, std, signs, _ = margins
    np.testing.assert_allclose(
        scoring.probability_right(mean, std, signs), norm.cdf(signs * mean / std), rtol=1e-13
    )


def test_certain_examples_are_right_wrong_or_undecided():
    right = scoring.probability_right(np.array([2.0, -2.0, 0.0]), np.zeros(3), np.ones(3))
    assert right.tolist() == [1.0, 0.0, 0.5]


def test_log_loss_quadrature_against_a_fine_grid():
    mean, std = np.array([0.3, -4.0]), np.array([3.0, 0.5])
    nodes = np.linspace(-9, 9, 200001)
    density = norm.pdf(nodes)
    expected = [
        np.trapezoid(density * np.logaddexp(0, -2.0 * (m + s * nodes) + 0.5), nodes)
        for m, s in zip(mean, std, strict=True)
    ]
    got = scoring.expected_log_loss(mean, std, np.ones(2), np.ones(2), (-2.0, 0.5))
    assert got == pytest.approx(np.mean(expected), rel=2e-3)


def test_a_path_gives_the_models_that_single_fits_give():
    X, y, V = two_classes()
    lams = [1e-3, 1.0, 1e-2]
    for model, lam in zip(svmgsu.path(X, y, V, lams), lams, strict=True):
        assert model.lam == lam
        single = svmgsu.train(X, y, V, lam=lam)
        assert model.objective_ == pytest.approx(single.objective_, rel=2e-6)
        assert model.gap_ <= 1e-6 * model.objective_


def test_the_search_by_accuracy_sees_the_means_and_probabilities_of_training_scores():
    X, y, V = two_classes()
    lams = [1e-1, 1e-2]
    folds = StratifiedKFold(4)
    search = svmgsu.LinearSVMGSUCV(lams, cv=folds, scoring="accuracy").fit(X, y, V)
    for k, lam in enumerate(lams):
        single = svmgsu.LinearSVMGSU(lam, probability="train")
        expected = [single.fit(X[a], y[a], V[a]).score(X[b], y[b], std=0.0) for a, b in folds.split(X, y)]
        got = [search.cv_results_[f"split{f}_test_score"][k] for f in range(4)]
        np.testing.assert_allclose(got, expected, atol=1e-12)


@pytest.mark.parametrize("name", ["expected_accuracy", "expected_hinge", "expected_log_loss"])
def test_scores_are_those_of_models_trained_on_copied_folds(name):
    X, y, V = two_classes()
    signs = 2.0 * y - 1
    folds = list(StratifiedKFold(3).split(X, y))
    search = svmgsu.LinearSVMGSUCV([1e-2], cv=folds, scoring=name).fit(X, y, V)
    for f, (a, b) in enumerate(folds):
        model = svmgsu.train(X[a], y[a], V[a], lam=1e-2, probability="train")
        mean = model.decision_function(X[b])
        std = np.sqrt(V[b] @ model.coef_[0] ** 2)
        plain = _core.fit_platt(model.decision_function(X[a]), signs[a])
        extra = (plain,) if name == "expected_log_loss" else ()
        expected = getattr(scoring, name)(mean, std, signs[b], np.ones(len(b)), *extra)
        got = search.cv_results_[f"split{f}_test_score"][0]
        assert abs(got) == pytest.approx(expected, rel=1e-3)
        assert (got > 0) == (name == "expected_accuracy")


def test_results_follow_scikit_learns_conventions():
    X, y, V = two_classes()
    search = svmgsu.LinearSVMGSUCV([1.0, 0.1, 0.01], cov_scales=[0, 1], cv=3).fit(X, y, V)
    results = search.cv_results_
    assert len(results["mean_test_score"]) == 6
    assert results["rank_test_score"][search.best_index_] == 1
    assert results["mean_test_score"].max() == search.best_score_
    assert results["param_lam"][search.best_index_] == search.lam_
    assert results["param_cov_scale"][search.best_index_] == search.cov_scale_
    splits = np.array([results[f"split{k}_test_score"] for k in range(3)])
    np.testing.assert_allclose(results["mean_test_score"], splits.mean(axis=0))
    refit = svmgsu.train(X, y, V, lam=search.lam_, cov_scale=search.cov_scale_)
    np.testing.assert_array_equal(search.coef_, refit.coef_)
    assert clone(search).get_params()["cv"] == 3


def test_no_refit_leaves_no_model():
    X, y, V = two_classes()
    search = svmgsu.LinearSVMGSUCV([0.1], refit=False).fit(X, y, V)
    assert not hasattr(search, "model_")
    with pytest.raises(NotFittedError):
        search.predict(X)


def test_an_error_ends_the_search_in_all_threads():
    X, y, V = two_classes()
    calls = []

    def score(model, X, y):
        calls.append(model.lam)
        if len(calls) == 3:
            raise KeyError("mine")
        time.sleep(0.01)
        return 0.0

    with pytest.raises(KeyError, match="mine"):
        svmgsu.LinearSVMGSUCV(np.logspace(0, -2, 50), cv=4, scoring=score, n_jobs=2).fit(X, y, V)
    assert len(calls) < 50


def test_folds_may_be_masks_and_count_from_the_end():
    X, y, V = two_classes()
    known = np.arange(len(y)) % 3 > 0
    forms = [(known, ~known), (np.flatnonzero(known), np.flatnonzero(~known) - len(y))]
    scores = [svmgsu.LinearSVMGSUCV([0.1], cv=[fold]).fit(X, y, V).best_score_ for fold in forms]
    assert scores[0] == scores[1]
    with pytest.raises(IndexError, match="index 120 is out of range for 120 samples"):
        svmgsu.LinearSVMGSUCV([0.1], cv=[([0, 119], [120])]).fit(X, y, V)


def test_nothing_to_search_is_told():
    X, y, V = two_classes()
    with pytest.raises(ValueError, match="cv: it gives no folds"):
        svmgsu.LinearSVMGSUCV([0.1], cv=[]).fit(X, y, V)
    with pytest.raises(ValueError, match="cov_scales: there are none"):
        svmgsu.LinearSVMGSUCV([0.1], cov_scales=[]).fit(X, y, V)


def test_a_fold_without_weight_is_named():
    X, y, V = two_classes()
    weights = np.arange(len(y)) % 2
    folds = [(np.arange(60), np.arange(60, 120, 2))]
    with pytest.raises(ValueError, match="sample_weight: the validation examples of fold 0 have no weight"):
        svmgsu.LinearSVMGSUCV([0.1], cv=folds).fit(X, y, V, sample_weight=weights)


def test_a_score_that_is_not_a_number_is_the_worst():
    X, y, V = two_classes()

    def score(model, X, y):
        return -1.0 if model.lam < 0.5 else np.nan

    search = svmgsu.LinearSVMGSUCV([1.0, 0.1], scoring=score).fit(X, y, V)
    assert search.lam_ == 0.1
    assert search.cv_results_["rank_test_score"].tolist() == [2, 1]
    with pytest.raises(ValueError, match="scoring: no setting has a finite score"):
        svmgsu.LinearSVMGSUCV([1.0], scoring=score).fit(X, y, V)


def test_any_number_of_jobs_gives_the_same_results():
    X, y, V = two_classes()
    one, two = (svmgsu.LinearSVMGSUCV(n_jobs=k, cov_scales=[0, 1]).fit(X, y, V) for k in (1, 2))
    for name in one.cv_results_:
        np.testing.assert_array_equal(one.cv_results_[name], two.cv_results_[name])


def test_a_scale_of_zero_is_the_ordinary_svm():
    X, y, V = two_classes()
    np.testing.assert_array_equal(svmgsu.train(X, y, V, cov_scale=0).coef_, svmgsu.train(X, y).coef_)


def test_a_scale_multiplies_the_covariance():
    X, y, V = two_classes()
    a, b = svmgsu.train(X, y, V, cov_scale=0.5), svmgsu.train(X, y, 0.5 * V)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-4)


@pytest.mark.parametrize("bad", [-1.0, np.nan, "much"])
def test_a_bad_scale_is_refused(bad):
    X, y, V = two_classes()
    with pytest.raises((TypeError, ValueError), match="cov_scale"):
        svmgsu.train(X, y, V, cov_scale=bad)


def test_deployment_noise_is_a_covariance_more():
    X, y, V = two_classes()
    noise = np.array([1.0, 0.5, 0.1, 0.0])
    expected = svmgsu.train(X, y, V + noise).coef_
    for form in (noise, np.diag(noise), svmgsu.Shared(noise)):
        np.testing.assert_allclose(svmgsu.train(X, y, V, deployment_cov=form).coef_, expected, rtol=1e-4)
    alone = svmgsu.train(X, y, deployment_cov=noise).coef_
    np.testing.assert_allclose(alone, svmgsu.train(X, y, np.tile(noise, (len(y), 1))).coef_, rtol=1e-4)


def test_a_pool_of_deployment_noise_is_drawn_from_by_seed():
    X, y, _ = two_classes()
    pool = np.random.default_rng(3).uniform(0, 2, (7, 4))
    drawn = pool[np.random.default_rng(5).integers(7, size=len(y))]
    a = svmgsu.train(X, y, deployment_cov=pool, seed=5)
    np.testing.assert_array_equal(a.coef_, svmgsu.train(X, y, drawn).coef_)
    full = np.stack([np.diag(v) for v in pool])
    np.testing.assert_allclose(svmgsu.train(X, y, deployment_cov=full, seed=5).coef_, a.coef_, rtol=1e-4)


def test_deployment_noise_of_other_features_is_refused():
    X, y, _ = two_classes()
    with pytest.raises(ValueError, match="deployment_cov"):
        svmgsu.train(X, y, deployment_cov=np.ones(3))


@pytest.mark.parametrize(
    "bad",
    [-1.0, [-1.0, 1, 1, 1], np.triu(np.ones((4, 4))), -np.eye(4), -np.ones((2, 4)), -np.ones((2, 4, 4))],
)
def test_bad_deployment_noise_is_called_by_its_name(bad):
    X, y, _ = two_classes()
    with pytest.raises(ValueError, match=r"^deployment_cov: "):
        svmgsu.train(X, y, deployment_cov=bad)


def test_a_scale_multiplies_deployment_noise_too():
    X, y, V = two_classes()
    got = svmgsu.train(X, y, V, cov_scale=0.5, deployment_cov=1.0)
    np.testing.assert_allclose(got.coef_, svmgsu.train(X, y, 0.5 * V + 0.5).coef_, rtol=1e-4)


def test_choosing_for_noisy_deployment_beats_choosing_for_clean_data():
    """Two informative directions: one strong but noisy where the model is used, one weak but precise."""
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], 300)
    X = rng.normal(size=(600, 2)) * [1.0, 1.0] + np.outer(2 * y - 1, [1.5, 1.0])
    noise = np.array([9.0, 0.0])
    test = X + rng.normal(size=X.shape) * np.sqrt(noise)
    aware = svmgsu.LinearSVMGSUCV(deployment_cov=noise).fit(X, y)
    plain = svmgsu.LinearSVMGSUCV().fit(X, y)
    assert aware.score(test, y) > plain.score(test, y) + 0.03


def test_a_warm_started_estimator_finds_the_same_optimum():
    X, y, V = two_classes()
    estimator = svmgsu.LinearSVMGSU(0.1, warm_start=True).fit(X, y, V)
    again = estimator.set_params(lam=0.05).fit(X, y, V)
    cold = svmgsu.LinearSVMGSU(0.05).fit(X, y, V)
    assert again.objective_ == pytest.approx(cold.objective_, rel=2e-6)


@pytest.mark.parametrize("bad", [[], [0.1, -1], ["a"]])
def test_bad_lams_are_refused(bad):
    X, y, V = two_classes()
    with pytest.raises((TypeError, ValueError), match="lams"):
        svmgsu.LinearSVMGSUCV(bad).fit(X, y, V)
