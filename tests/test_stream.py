"""`partial_fit`: learning from pieces, by the paper's stochastic steps."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import svmgsu
from svmgsu import reference


def piece(rng, count=100, K=2, n=3):
    y = rng.integers(K, size=count)
    centres = 3 * np.random.default_rng(9).normal(size=(K, n))
    return rng.normal(size=(count, n)) + centres[y], y, rng.uniform(0.01, 0.5, (count, n))


def by_hand(pieces, lam, k, orders):
    """Algorithm 1, corrected, over pieces, written out with the twin's loss."""
    n = pieces[0][0].shape[1]
    w, b, t, average, average_b = np.zeros(n), 0.0, 0, np.zeros(n), 0.0
    for (X, y, V), order in zip(pieces, orders, strict=True):
        for first in range(0, len(y), k):
            rows = order[first : first + k]
            t += 1
            gw, gb = reference.Objective(X[rows], 2.0 * y[rows] - 1, V[rows], 0.0).gradient(w, b)
            w = (1 - 1 / t) * w - gw / (lam * t)
            w *= min(1.0, 1 / np.sqrt(lam) / max(np.linalg.norm(w), 1e-300))
            b -= min(1 / (lam * t), 1 / np.sqrt(t)) * gb
            average += 4 / (t + 3) * (w - average)
            average_b += 4 / (t + 3) * (b - average_b)
    return w, b, average, average_b


def orders_of(sizes, k, seed):
    """The orders that the core draws: the first shuffle of a generator seeded by seed + steps so far."""
    steps, out = 0, []
    for size in sizes:
        random, order = reference.SplitMix64(seed + steps), np.arange(size)
        for j in range(size):
            i = j + random.below(size - j)
            order[j], order[i] = order[i], order[j]
        out.append(order)
        steps += -(-size // k)
    return out


@pytest.mark.parametrize("average", [0.5, 0.0])
def test_pieces_are_steps_of_the_paper_s_algorithm(average):
    rng = np.random.default_rng(0)
    pieces = [piece(rng, count) for count in (50, 33, 1)]
    est = svmgsu.SGDSVMGSU(lam=0.1, batch_size=10, average=average, random_state=7)
    for X, y, V in pieces:
        est.partial_fit(X, y, classes=[0, 1], cov=V)
    w, b, mean_w, mean_b = by_hand(pieces, 0.1, 10, orders_of([50, 33, 1], 10, 7))
    wanted = (mean_w, mean_b) if average else (w, b)
    np.testing.assert_allclose(est.coef_[0], wanted[0], rtol=1e-10)
    assert est.intercept_[0] == pytest.approx(wanted[1], rel=1e-10)
    assert est.n_iter_ == 5 + 4 + 1


@pytest.mark.parametrize("K", [2, 3])
def test_a_long_stream_comes_near_the_optimum(K):
    rng = np.random.default_rng(1)
    est = svmgsu.SGDSVMGSU(lam=0.1, batch_size=10)
    pieces = [piece(rng, 200, K) for _ in range(100)]
    for X, y, V in pieces:
        est.partial_fit(X, y, classes=np.arange(K), cov=V)
    X, y, V = (np.concatenate(part) for part in zip(*pieces, strict=True))
    exact = svmgsu.LinearSVMGSU(lam=0.1, probability=False).fit(X, y, V)
    assert est.coef_.shape == exact.coef_.shape
    assert (est.predict(X) == exact.predict(X)).mean() > 0.97
    pair = y < 2  # the first of the pairs
    J = svmgsu.Objective(X[pair], y[pair], V[pair], lam=0.1)
    best = svmgsu.train(X[pair], y[pair], V[pair], lam=0.1, probability=False).objective_
    assert J.value(est.coef_[0], est.intercept_[0]) < 1.1 * best


def test_it_goes_on_from_a_pickle_and_starts_anew_in_a_clone():
    rng = np.random.default_rng(4)
    (X, y, V), (X2, y2, V2) = piece(rng), piece(rng)
    est = svmgsu.SGDSVMGSU(lam=0.1).partial_fit(X, y, classes=[0, 1], cov=V)
    copy = pickle.loads(pickle.dumps(est)).partial_fit(X2, y2, cov=V2)
    est.partial_fit(X2, y2, cov=V2)
    np.testing.assert_array_equal(copy.coef_, est.coef_)
    with pytest.raises(ValueError, match="classes: the first call of partial_fit needs all classes"):
        clone(est).partial_fit(X, y)


def test_a_failed_piece_leaves_the_stream_as_it_was():
    rng = np.random.default_rng(6)
    X, y, V = piece(rng)
    est = svmgsu.SGDSVMGSU().partial_fit(X, y, classes=[0, 1], cov=V)
    before = est.coef_.copy()
    with pytest.raises(ValueError, match="X"):
        est.partial_fit(np.full((1, 3), np.nan), [0])
    np.testing.assert_array_equal(est.coef_, before)


@pytest.mark.parametrize(
    ("settings", "call", "message"),
    [
        ({}, {"y": [0, 1, 7]}, "y: sample 2 has the label 7, which is not among the classes 0, 1"),
        ({}, {"classes": [0, 1, 2]}, "classes: not the same as in the call before"),
        ({}, {"classes": [0]}, "classes: at least two classes are needed, got 0"),
        ({}, {"X": np.zeros((3, 2))}, "X has 2 features, but SGDSVMGSU is expecting 3"),
        ({}, {"y": [0, 1]}, "y: 2 labels for 3 samples"),
        ({}, {"cov": np.ones((2, 3))}, r"cov: shape \(2, 3\)"),
        ({}, {"sample_weight": [1.0]}, "sample_weight: 1 weights for 3 samples"),
        ({"class_weight": "balanced"}, {}, "class_weight: 'balanced' needs all of y"),
        ({"class_weight": {5: 1.0}}, {}, "class_weight: there is no class 5"),
        ({"lam": -1.0}, {}, "lam: must be positive"),
        ({"batch_size": 0}, {}, "batch_size: must be at least 1"),
    ],
)
def test_what_is_wrong_is_named(settings, call, message):
    est = svmgsu.SGDSVMGSU().partial_fit(np.eye(3), [0, 1, 1], classes=[0, 1])
    est.set_params(**settings)
    arguments = {"X": np.eye(3), "y": [0, 1, 0], **call}
    with pytest.raises(ValueError, match=message):
        est.partial_fit(**arguments)
