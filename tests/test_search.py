"""lam="auto", cov_scale="auto" and arrays of them: held-out scores, test-time noise, warm starts."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone

import svmgsu


def two_classes(count=120, n=4, distance=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], count // 2)
    X = rng.normal(size=(count, n)) + distance * y[:, np.newaxis]
    return X, y, rng.uniform(0.1, 1.0, (count, n))


def splits(search):
    names = [name for name in search.cv_results_ if name.startswith("split")]
    return np.array([search.cv_results_[name] for name in names])


def test_the_score_is_the_accuracy_expected_of_held_out_samples():
    X, y, V = two_classes()
    groups = np.arange(len(y)) // 2 % 2  # two folds, known from outside
    search = svmgsu.LinearSVMGSU([1e-2], probability=False).fit(X, y, V, groups=groups)
    expected = []
    for held in (0, 1):
        known, new = groups != held, groups == held
        model = svmgsu.train(X[known], y[known], V[known], lam=1e-2, probability=False)
        mean = model.decision_function(X[new])
        std = np.sqrt(V[new] @ model.coef_[0] ** 2)
        expected.append(norm.cdf((2 * y[new] - 1) * mean / std).mean())
    np.testing.assert_allclose(sorted(splits(search)[:, 0]), sorted(expected), atol=1e-4)


def test_the_score_of_a_regression_is_minus_the_expected_squared_error():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3))
    t, E, groups = X[:, 0] + 0.1 * rng.normal(size=60), rng.uniform(0.1, 0.5, (60, 3)), np.arange(60) % 2
    search = svmgsu.LinearSVRGSU([1e-3]).fit(X, t, std=E, groups=groups)
    expected = []
    for held in (0, 1):
        known, new = groups != held, groups == held
        model = svmgsu.train(X[known], t[known], std=E[known], lam=1e-3, loss="squared")
        value, deviation = model.predict(X[new], std=E[new], return_std=True)
        expected.append(-np.mean((t[new] - value) ** 2 + deviation**2))
    np.testing.assert_allclose(sorted(splits(search)[:, 0]), sorted(expected), rtol=1e-6)


def test_results_follow_scikit_learns_conventions():
    X, y, V = two_classes()
    search = svmgsu.LinearSVMGSU([1.0, 0.1, 0.01], cov_scale=[0, 1]).fit(X, y, V)
    results = search.cv_results_
    assert len(results["mean_test_score"]) == 6 and len(splits(search)) == 5
    assert results["rank_test_score"][search.best_index_] == 1
    assert results["mean_test_score"].max() == search.best_score_
    assert results["param_lam"][search.best_index_] == search.lam_
    assert results["param_cov_scale"][search.best_index_] == search.cov_scale_
    np.testing.assert_allclose(results["mean_test_score"], splits(search).mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], splits(search).std(axis=0))
    refit = svmgsu.LinearSVMGSU(search.lam_, cov_scale=search.cov_scale_).fit(X, y, V)
    np.testing.assert_array_equal(search.coef_, refit.coef_)
    assert not hasattr(refit, "cv_results_") and refit.lam_ == search.lam_
    assert clone(search).get_params()["lam"] == [1.0, 0.1, 0.01]


@pytest.mark.parametrize("K", [2, 3])
def test_auto_is_the_default_and_any_number_of_threads_gives_the_same_results(K):
    X, _, V = two_classes(90)
    y = np.arange(90) % K
    X[:, 0] += 2 * y
    one, two = (svmgsu.LinearSVMGSU(cov_scale="auto", threads=k).fit(X, y, V) for k in (1, 2))
    assert len(one.cv_results_["mean_test_score"]) == 40
    for name in one.cv_results_:
        np.testing.assert_array_equal(one.cv_results_[name], two.cv_results_[name])
    np.testing.assert_array_equal(one.coef_, two.coef_)
    model = svmgsu.train(X, y, V, lam="auto")
    assert model.lam == svmgsu.LinearSVMGSU().fit(X, y, V).lam_


def test_groups_and_soft_labels_are_held_out_as_a_whole():
    """Copies of a sample in another fold would give the score away."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(30, 40)), 4, axis=0), np.repeat(np.arange(30) % 2, 4)
    X = X + 0.01 * rng.normal(size=X.shape)
    groups = np.repeat(np.arange(30), 4)
    leaked = svmgsu.LinearSVMGSU([1e-4], probability=False).fit(X, y)
    honest = svmgsu.LinearSVMGSU([1e-4], probability=False).fit(X, y, groups=groups)
    assert leaked.best_score_ == 1.0 and honest.best_score_ < 0.75
    P = np.column_stack([0.9 - 0.8 * y[::4], 0.1 + 0.8 * y[::4]])
    soft = svmgsu.LinearSVMGSU([1e-4], probability=False).fit(X[::4], P)
    assert soft.best_score_ < 0.75


def test_where_nothing_can_be_held_out_lam_is_near_its_default():
    X = np.array([[0.0], [1.0], [1.1]])
    search = svmgsu.LinearSVMGSU(probability=False).fit(X, [0, 1, 1])
    assert not hasattr(search, "cv_results_")
    assert search.lam_ == 0.01


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lam": []}, "lam: is empty"),
        ({"lam": [0.1, -1]}, "lam: must be positive and finite, got -1.0"),
        ({"lam": ["a"]}, "lam: expected numbers"),
        ({"lam": "best"}, "lam: expected a number, an array or \"auto\", got 'best'"),
        ({"cov_scale": []}, "cov_scale: is empty"),
        ({"cov_scale": -1.0}, "cov_scale: must be >= 0 and finite, got -1.0"),
        ({"cov_scale": np.nan}, "cov_scale: must be >= 0 and finite, got nan"),
        ({"cov_scale": "much"}, 'cov_scale: expected a number, an array or "auto"'),
    ],
)
def test_bad_candidates_are_refused(given, message):
    X, y, V = two_classes()
    with pytest.raises((TypeError, ValueError), match=message):
        svmgsu.LinearSVMGSU(**given).fit(X, y, V)


def test_a_scale_multiplies_the_covariance():
    X, y, V = two_classes()
    found = svmgsu.LinearSVMGSU(0.01, cov_scale=0.5).fit(X, y, V)
    np.testing.assert_allclose(found.coef_, svmgsu.train(X, y, 0.5 * V).coef_, rtol=1e-4)
    ordinary = svmgsu.LinearSVMGSU(0.01, cov_scale=0).fit(X, y, V)
    np.testing.assert_array_equal(ordinary.coef_, svmgsu.train(X, y).coef_)


def test_choosing_for_test_time_noise_beats_choosing_for_clean_data():
    """Two informative directions: one strong but noisy where the model is used, one weak but precise."""
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], 300)
    X = rng.normal(size=(600, 2)) + np.outer(2 * y - 1, [1.5, 1.0])
    noise = np.array([9.0, 0.0])
    test = X + rng.normal(size=X.shape) * np.sqrt(noise)
    aware = svmgsu.LinearSVMGSU().fit(svmgsu.Gaussians(X).add_noise(noise), y)
    plain = svmgsu.LinearSVMGSU().fit(X, y)
    assert aware.score(test, y) > plain.score(test, y) + 0.03
