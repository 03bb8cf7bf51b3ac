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


# Two ways to say it


def test_uncertainty_is_given_once(X, y, V):
    with refuses("std: give either cov or std, not both"):
        train(X, y, V, std=V)
    data = svmgsu.Gaussians(X, V)
    for again in ({"cov": V}, {"std": V}):
        with refuses("cov: X is a Gaussians and has its covariance already"):
            train(data, y, **again)
        with refuses("cov: X is a Gaussians and has its covariance already"):
            svmgsu.Objective(data, y, **again)


# Options


@pytest.mark.parametrize("lam", [0, -1.0, float("nan"), float("inf")])
def test_lam_is_positive_and_finite(X, y, lam):
    with refuses(f"lam: must be positive and finite, got {lam!r}"):
        train(X, y, lam=lam)
    with refuses(f"lam: must be positive and finite, got {lam!r}"):
        svmgsu.Objective(X, y, lam=lam)


@pytest.mark.parametrize("lam", ["small", "0.1", None, [0.1, 0.2], 1j])
def test_lam_is_a_number(X, y, lam):
    with refuses("lam: expected a number, got ", TypeError):
        train(X, y, lam=lam)


def test_an_unknown_solver_is_refused(X, y):
    with refuses("solver: expected one of 'newton', 'sgd', got 'adam'"):
        train(X, y, solver="adam")


@pytest.mark.parametrize("name", ["T", "k", "max_iter", "threads"])
def test_counts_are_positive_whole_numbers(X, y, name):
    with refuses(f"{name}: must be at least 1, got 0"):
        train(X, y, **{name: 0})
    for value in (1.5, "3"):
        with refuses(f"{name}: expected a whole number, got {value!r}", TypeError):
            train(X, y, **{name: value})
    with refuses(f"{name}: must be at most"):
        train(X, y, **{name: 2**70})


def test_a_batch_is_no_larger_than_the_data(X, y):
    with refuses("k: a minibatch of 21 from 20 examples; k must be <= l"):
        train(X, y, k=21)
    train(X, y, k=20)


def test_seeds_are_64_bits(X, y):
    train(X, y, seed=2**64 - 1)
    with refuses("seed: must be at least 0, got -1"):
        train(X, y, seed=-1)
    with refuses("seed: must be at most 18446744073709551615"):
        train(X, y, seed=2**64)


@pytest.mark.parametrize("p", [0.0, -0.5, 1.0001, float("nan")])
def test_the_fraction_of_a_subspace_is_in_0_to_1(X, y, V, p):
    with pytest.raises(ValueError, match=r"^subspace: .*got"):
        train(X, y, V, subspace=p)
    with pytest.raises(ValueError, match=r"^subspace: .*got"):
        svmgsu.Gaussians(X, V).subspace(p)


def test_subspaces_need_a_known_mode_and_a_covariance(X, y, V):
    with refuses('subspace_mode: expected "truncate" or "project", got "both"'.replace('"both"', "'both'")):
        train(X, y, V, subspace=0.5, subspace_mode="both")
    with refuses("subspace: the examples have no covariance to reduce"):
        train(X, y, subspace=0.5)
    with refuses("subspace: expected a number, got '0.5'", TypeError):
        train(X, y, V, subspace="0.5")


@pytest.mark.parametrize("average", [-0.1, 1.1, float("nan")])
def test_the_averaged_share_is_in_0_to_1(X, y, average):
    with pytest.raises(ValueError, match=r"^average: must be "):
        train(X, y, average=average)


@pytest.mark.parametrize("name", ["tol", "max_time"])
def test_tolerances_and_times_are_positive(X, y, name):
    with refuses(f"{name}: must be positive and finite, got 0"):
        train(X, y, **{name: 0})


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


def test_a_start_has_the_same_features(X, y):
    with refuses("start: 3 features, but X has 6"):
        train(X, y, start=train(X[:, :3], y))


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
        lambda: train(X, y, V, subspace=2.0),
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
        train(X, y, cov, sample_weight=V[:, 0], subspace=0.9, subspace_mode="project").predict_proba(X)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)
