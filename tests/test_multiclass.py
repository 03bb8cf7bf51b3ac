"""More than two classes: of pairs or each against the rest, on the same arrays, with comparable scores."""

import threading

import numpy as np
import pytest
from conftest import spd, train_with

import svmgsu
from svmgsu.fit.multiclass import Classification
from svmgsu.support.labels import class_factors

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


def test_without_probabilities_decision_values_are_those_of_each_class_against_the_rest():
    X, y, V = blobs()
    ours = svmgsu.LinearSVMGSU(LAM, probability=False, multi_class="ovr").fit(X, y, V)
    data = svmgsu.Gaussians(X, V)
    theirs = [svmgsu.LinearSVMGSU(LAM, probability=False).fit(data, y == k) for k in range(3)]
    np.testing.assert_array_equal(
        ours.decision_function(X), np.column_stack([t.decision_function(X) for t in theirs])
    )


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
    _, std = model.decision_function(X, V, return_std=True)
    np.testing.assert_allclose(std, np.abs(platt[:, 0]) * np.sqrt(V @ (model.coef_**2).T), rtol=1e-12)


def test_probabilities_are_finite_where_all_are_tiny(three):
    model, *_ = three
    far = model.predict_proba(np.full((1, 4), 1e6) * np.array([[1], [-1]]))
    assert np.isfinite(far).all()
    np.testing.assert_allclose(far.sum(axis=1), 1)


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


def test_one_warning_says_that_the_solver_stopped_early():
    X, y, V = blobs()
    message = "after 1 iterations for classes 0, 1, 2 against the rest"
    with pytest.warns(svmgsu.exceptions.ConvergenceWarning, match=message) as found:
        train_with(X, y, V, lam=0.0001, max_iter=1, probability=False, multi_class="ovr")
    assert len(found) == 1


def test_the_classes_share_the_time(monkeypatch):
    X, y, V = blobs()
    limits = []

    def solve_one(self, problem, k, options, **others):
        limits.append(options.max_seconds)
        return plain(self, problem, k, options, **others)

    plain = Classification.solve_one
    monkeypatch.setattr(Classification, "solve_one", solve_one)
    svmgsu.train(X, y, V, lam=LAM, max_time=3000000.0, probability=False)
    assert limits == pytest.approx([1e6, 1.5e6, 3e6], rel=1e-3)


def test_a_callback_hears_of_all_classes_and_stops_them():
    X, y, V = blobs(9000)
    seen = []
    svmgsu.train(X, y, V, lam=0.0001, verbose=lambda p: seen.append(p.iteration), probability=False)
    assert seen.count(1) == 3
    stopped = svmgsu.train(X, y, V, lam=0.0001, tol=1e-12, verbose=lambda p: False)
    assert stopped.n_iter_ <= 2
    assert stopped.calibration_ is not None


def test_an_error_in_a_callback_ends_the_fit():
    X, y, V = blobs(9000)
    before = threading.active_count()

    def fail(progress):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        svmgsu.train(X, y, V, lam=0.0001, verbose=fail)
    assert threading.active_count() == before


def test_a_model_is_a_start_of_another():
    X, y, V = blobs()
    first = svmgsu.train(X, y, V, lam=0.1, probability=False)
    again = svmgsu.train(X, y, V, lam=0.05, start=first, probability=False)
    assert again.objective_ == pytest.approx(svmgsu.train(X, y, V, lam=0.05).objective_, rel=3e-6)
    with pytest.raises(ValueError, match="start: 3 classes, but y has 2"):
        svmgsu.train(X, y == 0, V, start=first)


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


def test_balanced_is_what_scikit_learn_means():
    from sklearn.utils.class_weight import compute_class_weight

    codes = np.array([0, 0, 0, 1, 2, 2])
    got = class_factors("balanced", np.arange(3), codes, np.ones(6))
    np.testing.assert_allclose(got, compute_class_weight("balanced", classes=np.arange(3), y=codes))
    twice = class_factors("balanced", np.arange(3), codes, np.array([1, 1, 1, 2, 1, 1.0]))
    np.testing.assert_allclose(
        twice, compute_class_weight("balanced", classes=np.arange(3), y=[0, 0, 0, 1, 1, 2, 2])
    )


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


def test_weights_of_classes_that_are_not_there_do_no_harm():
    X, y, V = blobs()
    factors = {0: 1.0, 1: 3.0, 2: 0.5}
    some = y != 2
    got = svmgsu.train(X[some], y[some], V[some], class_weight=factors)
    expected = svmgsu.train(X[some], y[some], V[some], class_weight={0: 1.0, 1: 3.0})
    np.testing.assert_array_equal(got.coef_, expected.coef_)
