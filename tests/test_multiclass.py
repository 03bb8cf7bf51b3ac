"""More than two classes: of pairs or each against the rest, on the same arrays, with comparable scores."""

import itertools

import numpy as np
import pytest
from conftest import spd, train_with
from sklearn.svm import SVC

import svmgsu

LAM = 0.02


def blobs(count=150, n=4, K=3, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(count) % K
    X = rng.normal(size=(count, n)) * spread + 2.5 * rng.normal(size=(K, n))[y]
    return X, y, rng.uniform(0.05, 0.5, (count, n))


@pytest.fixture(scope="module")
def three():
    X, y, V = blobs()
    names = np.array(["ant", "bee", "cat"])[y]
    return train_with(X, names, V, lam=LAM, multi_class="ovr"), X, names, V


def test_each_problem_is_the_class_against_the_rest(three):
    model, X, names, V = three
    assert model.coef_.shape == (3, 4)
    assert model.intercept_.shape == (3,)
    assert model.classes_.tolist() == ["ant", "bee", "cat"]
    singles = [svmgsu.train(X, names == label, V, lam=LAM) for label in model.classes_]
    np.testing.assert_array_equal(model.coef_, np.concatenate([s.coef_ for s in singles]))
    np.testing.assert_array_equal(model.intercept_, np.concatenate([s.intercept_ for s in singles]))
    assert model.objective_ == pytest.approx(sum(s.objective_ for s in singles), rel=1e-15)
    assert model.gap_ == pytest.approx(sum(s.gap_ for s in singles), rel=1e-12)
    assert model.n_iter_ == max(s.n_iter_ for s in singles)
    assert [len(h) for h in model.history_] == [len(s.history_) for s in singles]


def test_probabilities_sum_to_one_and_decide(three):
    model, X, names, V = three
    for cov in (None, svmgsu.Diagonal(V), svmgsu.Diagonal(100 * V)):
        p = model.predict_proba(X, cov)
        assert p.shape == (150, 3)
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
        np.testing.assert_array_equal(model.predict(X, cov), model.classes_[p.argmax(axis=1)])
    assert (model.predict(X) == names).mean() > 0.9


def test_decision_values_compare_where_there_are_probabilities(three):
    model, X, _, V = three
    values = model.decision_function(X)
    np.testing.assert_array_equal(model.classes_[values.argmax(axis=1)], model.predict(X))
    raw = X @ model.coef_.T + model.intercept_
    platt = np.array([c.platt for c in model.calibration_])
    np.testing.assert_allclose(values, -(platt[:, 0] * raw + platt[:, 1]), rtol=1e-12)
    with pytest.raises(ValueError, match="return_std: for two classes"):
        model.decision_function(X, V, return_std=True)


def test_a_shared_covariance_by_class_means_the_true_class():
    X, y, _ = blobs()
    A = spd(np.random.default_rng(2), 3, 4)
    model = svmgsu.train(X, y, svmgsu.Shared(dict(enumerate(A))), lam=LAM, probability=False)
    full = svmgsu.train(X, y, svmgsu.Full(A[y]), lam=LAM, probability=False)
    np.testing.assert_allclose(model.coef_, full.coef_, rtol=1e-4)
    data = svmgsu.Gaussians(X, svmgsu.Shared(dict(enumerate(A))))
    calibrated = svmgsu.train(data, y, lam=LAM)
    np.testing.assert_array_equal(calibrated.predict(data), calibrated.predict(X))
    with pytest.raises(ValueError, match="cov: one covariance per class cannot be known"):
        calibrated.predict_proba(X, svmgsu.Shared(dict(enumerate(A))))


@pytest.mark.parametrize("probability", [False, True])
def test_any_number_of_threads_and_jobs_gives_the_same_bits(probability):
    X, y, V = blobs(9000)
    one = svmgsu.LinearSVMGSU(lam=LAM, threads=1, probability=probability).fit(X, y, V).model_
    for threads in (2, 3, 4):
        other = svmgsu.LinearSVMGSU(lam=LAM, threads=threads, probability=probability).fit(X, y, V).model_
        np.testing.assert_array_equal(other.coef_, one.coef_)
        assert other.calibration_ == one.calibration_


def test_one_warning_names_the_classes_that_are_trivial():
    X, y, _ = blobs(160, K=4)
    X[y > 1] = 0.0  # these two cannot be told apart
    with pytest.warns(
        svmgsu.exceptions.TrivialModelWarning, match="w = 0 for classes 2, 3 against the rest"
    ) as found:
        train_with(X, y, lam=0.1, std=0.1, multi_class="ovr")
    assert len(found) == 1
    message = "w = 0 for the pair of classes 2-3 "
    with pytest.warns(svmgsu.exceptions.TrivialModelWarning, match=message) as found:
        svmgsu.train(X, y, lam=0.1, std=0.1)
    assert len(found) == 1


# Weights of classes


def test_a_class_weight_is_a_weight_of_its_examples_in_training_but_not_in_probabilities():
    X, y, V = blobs()
    factor = np.array([1.0, 3.0, 0.5])
    by_class = svmgsu.train(X, y, V, lam=LAM, class_weight={1: 3.0, 2: 0.5}, sample_weight=1 + y)
    by_hand = svmgsu.train(X, y, V, lam=LAM, sample_weight=(1 + y) * factor[y])
    np.testing.assert_array_equal(by_class.coef_, by_hand.coef_)
    shares = np.bincount(y, 1.0 + y) / (1.0 + y).sum()
    blurred = by_class.predict_proba(X[:1], std=1e9)[0]  # nothing is left but the shares of training
    np.testing.assert_allclose(blurred, shares, rtol=1e-6)
    blurred = by_class.predict_proba(X[:3], std=1e6)
    np.testing.assert_allclose(blurred, np.tile(shares, (3, 1)), atol=1e-6)
    np.testing.assert_allclose(by_class.class_weight_, factor / factor.mean())
    best = (by_class.predict_proba(X) * factor).argmax(axis=1)
    np.testing.assert_array_equal(by_class.predict(X), best)
    balanced = svmgsu.train(X, y, V, lam=LAM, class_weight="balanced", sample_weight=1 + y)
    np.testing.assert_allclose(balanced.class_weight_, (1 / shares) / (1 / shares).mean())


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({7: 2.0}, "class_weight: there is no class 7 in y; it has 0, 1, 2"),
        ({1: -1.0}, "class_weight: class 1 has -1.0; weights must be >= 0"),
        ({1: "much"}, "class_weight: class 1 has 'much'"),
        ({1: np.nan}, "class_weight: class 1 has nan"),
        ("even", "class_weight: expected a dict, \"balanced\" or None, got 'even'"),
        ({1: 0.0}, "class_weight: class 1 has no weight"),
    ],
)
def test_bad_class_weights_are_refused(bad, message):
    X, y, V = blobs()
    with pytest.raises(ValueError, match=message):
        svmgsu.train(X, y, V, class_weight=bad)
    with pytest.raises(ValueError, match="sample_weight: class 2 has no weight"):
        svmgsu.train(X, y, V, sample_weight=(y != 2).astype(float))


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
        assert own == pytest.approx(single.calibration_[0], rel=0.02)
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
    with pytest.raises(ValueError, match="return_std: for two classes; for more see margin_probability"):
        model.decision_function(X, V, return_std=True)


# Rare classes, many classes


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
