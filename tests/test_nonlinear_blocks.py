"""Curved models of blocks: the bits of memory, with features that are made as blocks are read."""

import re

import numpy as np
import pytest

import svmgsu
from svmgsu.estimators.nonlinear import beyond

COUNT = 1500


def made():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(COUNT, 3))
    radius = (X**2).sum(axis=1)
    E = rng.uniform(0.1, 0.3, size=X.shape)
    y = np.where(radius + 0.3 * rng.normal(size=COUNT) > 2.2, "outside", "inside")
    return X + E * rng.normal(size=X.shape), E, y, radius


def opened(labels, memory=10**8, **more):
    X, E, _, _ = made()
    parts = (slice(a, a + 400) for a in range(0, COUNT, 400))
    given = ({"X": X[p], "y": labels[p], "std": E[p]} | {k: v[p] for k, v in more.items()} for p in parts)
    blocks = svmgsu.open(given, memory="100MB")
    blocks.memory = memory
    return blocks


def least_memory(model, labels):
    """What it asks for where there is too little."""
    with pytest.raises(ValueError, match=r"memory: .* are too few for 40 features") as error:
        model.fit(opened(labels, 40_000))
    return int(re.search(r"at least (\d+) bytes", str(error.value)).group(1))


@pytest.mark.parametrize("settings", [{"loss": "hinge"}, {"link": True}, {"population": None}])
def test_a_classifier_of_blocks_has_the_bits_of_memory(settings):
    X, E, y, _ = made()
    settings = {"n_features": 40, "search": False, "tol": 1e-4} | settings
    known = svmgsu.SVMGSU(**settings).fit(X, y, std=E)
    blocks = opened(y)
    found = svmgsu.SVMGSU(**settings).fit(blocks)
    assert found.classes_.tolist() == ["inside", "outside"]
    assert np.array_equal(found.scores_.W, known.scores_.W)
    assert (found.objective_, found.gap_) == (known.objective_, known.gap_)
    assert np.array_equal(found.predict_proba(blocks), known.predict_proba(X, std=E))
    assert np.array_equal(found.predict(blocks), known.predict(X, std=E))
    assert np.array_equal(found.decision_function(blocks), known.decision_function(X, std=E))


def test_any_memory_gives_the_same_bits_and_too_little_is_an_error():
    _, _, y, _ = made()
    settings = {"n_features": 40, "search": False, "loss": "logistic", "tol": 1e-4}
    model = svmgsu.SVMGSU(**settings)
    much = model.fit(opened(y)).scores_.W
    assert np.array_equal(much, model.fit(opened(y, least_memory(model, y))).scores_.W)


def test_draws_of_noise_do_not_depend_on_the_memory():
    _, _, y, _ = made()
    settings = {"n_features": 40, "search": False, "link": False, "tol": 1e-4, "copies": 2}
    model = svmgsu.SVMGSU(deployment_cov=np.full(3, 0.05), **settings)
    much = model.fit(opened(y)).scores_.W
    assert np.array_equal(much, model.fit(opened(y, least_memory(model, y))).scores_.W)


def test_a_regression_of_blocks_has_the_targets_of_the_files():
    X, E, _, radius = made()
    errors = 0.1 + E[:, 0]
    settings = {"n_features": 40, "search": False, "tol": 1e-4}
    blocks = opened(radius, y_std=errors)
    for loss in ("squared", "huber"):
        known = svmgsu.SVRGSU(loss=loss, **settings).fit(X, radius, std=E, y_std=errors)
        found = svmgsu.SVRGSU(loss=loss, **settings).fit(blocks)
        assert found.residual_std_ == known.residual_std_
        wanted = known.predict(X, std=E, return_std=True)
        for of_blocks, of_memory in zip(found.predict(blocks, return_std=True), wanted, strict=True):
            assert np.allclose(of_blocks, of_memory, rtol=1e-9)


def test_labels_in_doubt_and_weights_count_as_in_memory():
    X, E, y, _ = made()
    p = np.where(y == "inside", 0.9, 0.2)
    chances, weights = np.column_stack([p, 1 - p]), 0.5 + E[:, 0]
    settings = {"n_features": 40, "search": False, "tol": 1e-4, "class_weight": "balanced"}
    given = {"sample_weight": weights, "classes": ["inside", "outside"]}
    known = svmgsu.SVMGSU(**settings).fit(X, chances, std=E, **given)
    found = svmgsu.SVMGSU(**settings).fit(opened(y), chances, **given)
    assert np.array_equal(found.scores_.W, known.scores_.W)


def test_of_many_objects_a_sample_says_all_but_the_scores(monkeypatch):
    _X, _E, y, _ = made()
    y[:3] = "rare"
    monkeypatch.setattr(beyond, "SAMPLE", 500)
    settings = {"n_features": 40, "search": False, "tol": 1e-4, "loss": "hinge"}
    found = svmgsu.SVMGSU(**settings).fit(opened(y))
    assert found.classes_.tolist() == ["inside", "outside", "rare"]
    assert (found.predict(opened(y)) == y).mean() > 0.8
    with pytest.raises(ValueError, match="cv: lists of examples are for at most 500"):
        svmgsu.SVMGSU(cv=[(np.arange(9), np.arange(9, 12))]).fit(opened(y))


def test_what_blocks_have_is_not_given_beside_them():
    _, E, y, radius = made()
    with pytest.raises(ValueError, match="std: blocks have their own covariances"):
        svmgsu.SVMGSU().fit(opened(y), std=E)
    with pytest.raises(ValueError, match="cov: blocks have their own covariances"):
        svmgsu.SVRGSU().fit(opened(radius), cov=E)
    with pytest.raises(ValueError, match="classes: they name the columns of class probabilities"):
        svmgsu.SVMGSU().fit(opened(y), classes=["inside", "outside"])
    with pytest.raises(ValueError, match=r"groups: shape \(3,\); one for each of 1500 examples"):
        svmgsu.SVMGSU().fit(opened(y), groups=[1, 2, 3])
