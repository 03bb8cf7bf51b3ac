"""More than two classes by pairs: a problem for each, coupled probabilities, votes, rare and many classes."""

import itertools
import warnings
from dataclasses import astuple

import numpy as np
import pytest
from conftest import train_with
from sklearn.datasets import load_digits
from sklearn.svm import SVC
from test_multiclass import LAM, blobs

import svmgsu


@pytest.fixture(scope="module")
def four():
    X, y, V = blobs(160, K=4, spread=1.5)
    names = np.array(["ant", "bee", "cat", "dog"])[y]
    return svmgsu.train(X, names, V, lam=LAM), X, names, V


def pairs_of(classes):
    return list(itertools.combinations(classes, 2))


# Training


def test_each_problem_is_one_pair_in_the_order_of_scikit_learn(four):
    model, X, names, V = four
    assert model.coef_.shape == (6, 4)
    assert model.multi_class == "ovo"
    singles = []
    for pair in pairs_of(model.classes_):
        own = np.isin(names, pair)
        singles.append(svmgsu.train(X[own], names[own], V[own], lam=LAM, tol=1e-7))  # as pairs are solved
    np.testing.assert_array_equal(model.coef_, np.concatenate([s.coef_ for s in singles]))
    np.testing.assert_array_equal(model.intercept_, np.concatenate([s.intercept_ for s in singles]))
    for own, single in zip(model.calibration_, singles, strict=True):  # folds are solved to 1e-3 and 1e-4
        assert astuple(own) == pytest.approx(astuple(single.calibration_[0]), rel=0.02)
    assert model.objective_ == pytest.approx(sum(s.objective_ for s in singles), rel=1e-15)
    assert model.gap_ == pytest.approx(sum(s.gap_ for s in singles), rel=1e-12)
    assert model.n_iter_ == max(s.n_iter_ for s in singles)
    assert [len(h) for h in model.history_] == [len(s.history_) for s in singles]


def test_without_covariances_it_is_the_svc_of_scikit_learn():
    X, y, _ = blobs(90, K=3, spread=2.0)
    ours = svmgsu.train(X, y, lam=1 / 60, probability=False, tol=1e-9)  # C = 1/(λ 60): 60 examples per pair
    theirs = SVC(kernel="linear", C=1.0, decision_function_shape="ovr", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(-ours.coef_, theirs.coef_, atol=1e-3)  # positive for the first there
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-3)


def test_weights_and_balanced_classes_reach_the_pairs():
    X, y, V = blobs(150)
    weights = np.random.default_rng(1).uniform(0.5, 2, 150)
    model = svmgsu.train(X, y, V, lam=LAM, sample_weight=weights, probability=False)
    own = y != 1
    single = svmgsu.train(
        X[own], y[own], V[own], lam=LAM, sample_weight=weights[own], probability=False, tol=1e-7
    )
    np.testing.assert_allclose(model.coef_[1], single.coef_[0], rtol=1e-9)
    rare = np.r_[np.flatnonzero(y != 2), np.flatnonzero(y == 2)[:6]]
    X, y, V = X[rare], y[rare], V[rare]
    balanced = svmgsu.train(X, y, V, lam=LAM, class_weight="balanced", probability=False)
    own = y != 1
    single = svmgsu.train(
        X[own], y[own], V[own], lam=LAM, class_weight="balanced", probability=False, tol=1e-7
    )
    np.testing.assert_allclose(balanced.coef_[1], single.coef_[0], rtol=1e-6)
    assert np.abs(balanced.coef_ - svmgsu.train(X, y, V, lam=LAM, probability=False).coef_).max() > 0.01


def test_balanced_classes_weigh_as_much_as_the_rest_of_their_problem():
    X, y, V = blobs(150)
    balanced = train_with(X, y, V, lam=LAM, class_weight="balanced", multi_class="ovr", probability=False)
    for k in range(3):
        single = svmgsu.train(X, y == k, V, lam=LAM, class_weight="balanced", probability=False)
        np.testing.assert_allclose(balanced.coef_[k], single.coef_[0], rtol=1e-6)


def test_starts_paths_and_streams_know_pairs():
    X, y, V = blobs(150, K=4)
    est = svmgsu.LinearSVMGSU(0.1, warm_start=True, probability=False).fit(X, y, V)
    est.lam = 0.05
    est.fit(X, y, V)
    cold = svmgsu.train(X, y, V, lam=0.05, probability=False)
    assert est.objective_ == pytest.approx(cold.objective_, rel=3e-6)
    with pytest.raises(ValueError, match="start: multi_class='ovo', not 'ovr'"):
        train_with(X, y, V, start=cold, multi_class="ovr")
    with pytest.raises(ValueError, match='multi_class: expected one of "ovo", "ovr", got \'crammer\''):
        train_with(X, y, V, multi_class="crammer")
    stream = svmgsu.SGDSVMGSU(0.05, batch_size=10)
    for _ in range(20):
        for some in np.array_split(np.random.default_rng(0).permutation(150), 10):
            stream.partial_fit(X[some], y[some], classes=range(4), std=np.sqrt(V[some]))
    assert stream.coef_.shape == (6, 4)
    assert stream.score(X, y) > 0.85
    stream.partial_fit(X[y == 1], y[y == 1], std=np.sqrt(V[y == 1]))  # pairs without examples stay


def test_sgd_takes_minibatches_of_the_size_of_a_pair():
    X, y, V = blobs(60, K=6)
    model = train_with(X, y, V, lam=0.1, batch_size=50, steps=2000, probability=False, solver="sgd")
    assert (model.predict(X) == y).mean() > 0.7


# Probabilities


def test_the_class_is_the_most_probable_one_and_of_the_largest_decision_value(four):
    model, X, _, V = four
    for cov in (None, svmgsu.Diagonal(V), svmgsu.Diagonal(100 * V), svmgsu.Diagonal(0 * V)):
        p = model.predict_proba(X, cov)
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
        np.testing.assert_array_equal(model.predict(X, cov), model.classes_[p.argmax(axis=1)])
    values = model.decision_function(X)
    assert values.shape == (160, 4)
    np.testing.assert_array_equal(model.classes_[values.argmax(axis=1)], model.predict(X))
    far = model.predict_proba(1e6 * X)
    assert np.isfinite(far).all()
    np.testing.assert_array_equal(model.classes_[far.argmax(axis=1)], model.predict(1e6 * X))


def test_probabilities_are_those_of_the_formula(four):
    model, X, _, V = four
    f = X @ model.coef_.T + model.intercept_
    v = V @ (model.coef_**2).T
    for variance in (None, v):
        z = [
            c.log_odds(f[:, k], None if variance is None else v[:, k])
            for k, c in enumerate(model.calibration_)
        ]
        odds = np.ones((160, 4))
        for (i, j), value in zip(pairs_of(range(4)), z, strict=True):
            odds[:, i] += np.exp(value)
            odds[:, j] += np.exp(-value)
        wanted = 1 / odds
        got = model.predict_proba(X, None if variance is None else V)
        np.testing.assert_allclose(got, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-9)


def test_deviations_of_log_odds_are_bounded_and_near_where_one_rival_matters(four):
    model, X, _, V = four
    values, std = model.decision_function(X[:10], V[:10], return_std=True)
    np.testing.assert_array_equal(values, model.decision_function(X[:10]))
    rng = np.random.default_rng(1)
    step = 1e-4 * rng.normal(size=(10, 4000, 4)) * np.sqrt(V[:10, None])
    moved = model.decision_function((X[:10, None] + step).reshape(-1, 4)).reshape(10, 4000, 4)
    exact = moved.std(axis=1) / 1e-4
    assert (exact < 1.06 * std).all()
    assert (exact > 0.3 * std).all()
    assert np.median(exact / std) > 0.8


def test_pairs_vote_where_there_are_no_probabilities(four):
    _, X, names, V = four
    model = svmgsu.train(X, names, V, lam=LAM, probability=False)
    f = X @ model.coef_.T + model.intercept_
    votes, margins = np.zeros((160, 4)), np.zeros((160, 4))
    for k, (i, j) in enumerate(pairs_of(range(4))):
        votes[np.arange(160), np.where(f[:, k] > 0, j, i)] += 1
        margins[:, i] -= f[:, k]
        margins[:, j] += f[:, k]
    values = model.decision_function(X)
    np.testing.assert_allclose(values, votes + margins / (3 * (np.abs(margins) + 1)), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[values.argmax(axis=1)])
    assert model.margin_probability(X, V).shape == (160, 6)
    with pytest.raises(ValueError, match="return_std: pairs of classes vote"):
        model.decision_function(X, V, return_std=True)


def test_objects_are_taken_some_at_a_time_where_there_are_many_pairs(four, monkeypatch):
    model, X, _, V = four
    whole = model.predict_proba(X, V), model.decision_function(X), model.predict(X)
    monkeypatch.setattr("svmgsu.models.classifier._NUMBERS_AT_A_TIME", 100)
    pieces = model.predict_proba(X, V), model.decision_function(X), model.predict(X)
    for a, b in zip(whole, pieces, strict=True):
        np.testing.assert_array_equal(a, b)


# Rare classes, many classes


def test_strong_uncertainty_leaves_no_class_behind():
    """Each against the rest is often the trivial classifier; pairs are not."""
    digits = load_digits()
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(digits.data))
    known, new = rows[:500], rows[500:]
    X, y, std = digits.data / 16, digits.target, 0.5
    noisy = X[new] + std * rng.normal(size=(len(new), 64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", svmgsu.exceptions.TrivialModelWarning)
        rest = train_with(X[known], y[known], std=std, multi_class="ovr")
    model = svmgsu.train(X[known], y[known], std=std)
    right = [(m.predict(noisy, std=std) == y[new]).mean() for m in (rest, model)]
    assert right[1] > right[0] + 0.04
    assert model.coef_.any(axis=1).all()


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_classes_of_one_and_two_examples_are_normal(multi_class):
    X, y, V = blobs(90)
    few = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:1], np.flatnonzero(y == 2)[:2]]
    X, y, V = X[few], np.array(["many", "one", "two"])[y[few]], V[few]
    model = train_with(X, y, V, lam=0.001, multi_class=multi_class)
    p = model.predict_proba(X, V)
    assert np.isfinite(p).all()
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X, V))
    groups = np.arange(len(y)) // 3  # a fold may lack both classes of a pair
    search = svmgsu.LinearSVMGSU([0.1, 0.01], multi_class=multi_class, probability=False)
    assert search.fit(X[y != "one"], y[y != "one"], V[y != "one"], groups=groups[y != "one"]).lam_ in (
        0.1,
        0.01,
    )


def test_a_hundred_classes_are_four_thousand_nine_hundred_and_fifty_pairs(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(600) % 100
    X = rng.normal(size=(600, 8)) + 4 * rng.normal(size=(100, 8))[y]
    model = svmgsu.train(X, y, std=0.3, lam=0.01, probability="train")
    assert model.coef_.shape == (4950, 8)
    assert (model.predict(X, std=0.3) == y).mean() > 0.9
