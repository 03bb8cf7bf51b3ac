"""Bad settings and bad use of a model: every error names the argument, what was found and what is wanted."""

import numpy as np
import pytest
from validation_cases import COUNT, N, arrays, refuses, train, with_entry

import svmgsu


@pytest.fixture
def X():
    return arrays()["X"]


@pytest.fixture
def y():
    return arrays()["y"]


@pytest.fixture
def V():
    return arrays()["V"]


@pytest.fixture
def S():
    return arrays()["S"]


def test_sample_weights_are_checked(X, y):
    with refuses("sample_weight: 19 weights for 20 samples"):
        train(X, y, sample_weight=np.ones(19))
    with refuses("sample_weight: sample 17 has -0.5; weights must be >= 0"):
        train(X, y, sample_weight=with_entry(np.ones(COUNT), 17, -0.5))
    with refuses("sample_weight: all weights are zero"):
        train(X, y, sample_weight=np.zeros(COUNT))
    with refuses("sample_weight: sample 17 is nan"):
        train(X, y, sample_weight=with_entry(np.ones(COUNT), 17, np.nan))
    with refuses("sample_weight: class 1 has no weight"):
        train(X, y, sample_weight=1.0 - y)
    with refuses("sample_weight: expected 0 or 1 dimensions"):
        train(X, y, sample_weight=np.ones((COUNT, 2)))


# After training


def test_predictions_need_the_features_of_training(X, y):
    model = train(X, y)
    for predict in (model.predict, model.decision_function, model.predict_proba):
        with refuses("X: X has 5 features, but this model is expecting 6 features as input"):
            predict(X[:, :5])
        with refuses("X: expected 2 dimensions"):
            predict(X[0])
        with refuses("X: sample 1, feature 2 is nan"):
            predict(with_entry(X, (1, 2), np.nan))


def test_points_have_as_many_numbers_as_features(X, y):
    objective = svmgsu.Objective(X, y, 1.0)
    with refuses("w: 5 numbers for 6 features"):
        objective.value(np.ones(5), 0.0)
    with refuses("vw: 7 numbers for 6 features"):
        objective.hessian_product(np.ones(6), 0.0, np.ones(7), 0.0)
    with refuses("w: expected 1 dimensions"):
        objective.gradient(np.ones((1, 6)), 0.0)
    assert objective.value([1, 0, 0, 0, 0, 0], 0) == objective.value(np.eye(6)[0].astype(np.float32), 0.0)


# Nothing is lost


def test_arrays_are_unchanged_after_an_error(X, y, V, S):
    bad_V, bad_S = with_entry(V, (17, 4), -1.0), with_entry(S, 17, -np.eye(N))
    bad_X = with_entry(X, (3, 3), np.nan)
    arrays = [X, y, V, S, bad_V, bad_S, bad_X]
    before = [a.copy() for a in arrays]
    for call in (
        lambda: train(bad_X, y, V),
        lambda: train(X, y, bad_V),
        lambda: train(X, y, bad_S),
        lambda: train(X, y, std=bad_V),
        lambda: train(X, y, S, lam=-1),
        lambda: train(X, y[:-1], V),
        lambda: train(X, y, V, sample_weight=bad_V[:, 4]),
    ):
        with pytest.raises(ValueError):
            call()
        for array, copy in zip(arrays, before, strict=True):
            np.testing.assert_array_equal(array, copy)


def test_arrays_are_unchanged_after_training(X, y, V, S):
    arrays = [X, y, V, S]
    for array in arrays:
        array.setflags(write=False)
    before = [a.copy() for a in arrays]
    for cov in (V, S, svmgsu.Diagonal(V) + svmgsu.Full(S)):
        train(X, y, cov, sample_weight=V[:, 0]).predict_proba(X)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)
