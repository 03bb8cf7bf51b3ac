"""Every kind of covariance with every loss, in blocks: the bits of memory."""

import numpy as np
import pytest

import svmgsu

L, N = 600, 4
KINDS = ["none", "isotropic", "diagonal", "full", "low rank", "low rank with diagonal", "shared"]
REGRESSIONS = ["squared", "epsilon_insensitive", "squared_epsilon_insensitive", "huber"]


def made(kind):
    rng = np.random.default_rng(5)
    X, V = rng.normal(size=(L, N)), rng.uniform(0.1, 0.5, size=(L, N))
    F = rng.normal(size=(L, 2, N)) / 3
    cov = {
        "none": None,
        "isotropic": svmgsu.Isotropic(V[:, 0]),
        "diagonal": svmgsu.Diagonal(V),
        "full": svmgsu.Full(np.einsum("irj,irk->ijk", F, F)),
        "low rank": svmgsu.LowRank(F),
        "low rank with diagonal": svmgsu.LowRank(F, diagonal=V),
        "shared": svmgsu.Shared(np.diag(V[0])),
    }[kind]
    t = X @ np.arange(1.0, N + 1) + rng.normal(size=L)
    return svmgsu.Gaussians(X, cov), t, rng.uniform(0.5, 2.0, size=L), rng.uniform(0.1, 0.5, size=L)


def same(found, known):
    assert np.array_equal(found.coef_, known.coef_)
    assert np.array_equal(found.intercept_, known.intercept_)
    assert (found.objective_, found.gap_) == (known.objective_, known.gap_)


@pytest.mark.parametrize("kind", KINDS)
def test_classifiers(kind):
    data, t, weights, _ = made(kind)
    y = np.where(t > 0.3, "b", "a")
    y[:50] = "b"  # one class alone in the first block
    blocks = svmgsu.open(
        {"X": data[p], "y": y[p], "sample_weight": weights[p]} for p in (slice(0, 50), slice(50, L))
    )
    for loss in ("hinge", "squared_hinge", "logistic"):
        found = svmgsu.train(blocks, loss=loss, probability=False)
        same(found, svmgsu.train(data, y, loss=loss, sample_weight=weights, probability=False))


@pytest.mark.parametrize("kind", KINDS)
def test_regressions_with_errors_of_targets(kind):
    data, t, weights, errors = made(kind)
    blocks = svmgsu.open(
        {"X": data[p], "y": t[p], "sample_weight": weights[p], "y_std": errors[p]}
        for p in (slice(0, 50), slice(50, L))
    )
    for loss in REGRESSIONS:
        found = svmgsu.train_regressor(blocks, loss=loss)
        same(found, svmgsu.train_regressor(data, t, loss=loss, sample_weight=weights, y_std=errors))


@pytest.mark.parametrize("kind", ["none", "diagonal", "low rank"])
def test_labels_in_doubt(kind):
    data, t, weights, _ = made(kind)
    chances = np.random.default_rng(0).dirichlet([0.3, 0.3, 0.3], size=L)
    chances[:, 0] += 2.0 * (t > 0)
    chances[::3] = np.eye(3)[np.argmax(chances[::3], axis=1)]  # some without doubt
    chances /= chances.sum(axis=1, keepdims=True)
    blocks = svmgsu.open({"X": data[p], "sample_weight": weights[p]} for p in (slice(0, 50), slice(50, L)))
    two = np.stack([chances[:, 0], 1 - chances[:, 0]], axis=1)
    found, known = svmgsu.train(blocks, two), svmgsu.train(data, two, sample_weight=weights)
    same(found, known)
    assert np.allclose(found.predict_proba(blocks), known.predict_proba(data), atol=0.01)
    found, known = (
        svmgsu.train(
            *given, classes=["a", "b", "c"], multi_class="ovr", loss="logistic", probability=False, **more
        )
        for given, more in (((blocks, chances), {}), ((data, chances), {"sample_weight": weights}))
    )
    same(found, known)
    assert found.classes_.tolist() == ["a", "b", "c"]
