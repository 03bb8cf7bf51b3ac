"""Samples that are made while blocks are read: mapped features, and copies of soft labels."""

import json

import numpy as np
import pytest
from block_cases import L, examples
from conftest import train_with
from sklearn.preprocessing import StandardScaler

import svmgsu
from svmgsu.cli import main

CLASSES = ["star", "quasar", "galaxy"]
LINE = {"lam": 1e-3, "loss": "logistic"}


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = np.where(np.hypot(X[:, 0], X[:, 1]) + 0.2 * rng.normal(size=3000) > 1.1, "out", "in")
    return svmgsu.Gaussians(X, svmgsu.Diagonal(rng.uniform(0.01, 0.1, size=X.shape))), y


def opened(data, y, **more):
    parts = (slice(0, 1100), slice(1100, len(data)))
    return svmgsu.open(({"X": data[p], "y": y[p]} for p in parts), **more)


@pytest.mark.parametrize("covariance", ["none", "diagonal"])
def test_fourier_features_made_while_reading_have_the_bits_of_memory(data, covariance):
    samples, y = data
    blocks = opened(samples, y)
    fourier = svmgsu.features.FourierFeatures(n_features=40, covariance=covariance).fit(blocks[0:1000])
    mapped = blocks.map(fourier)
    assert mapped.shape == (3000, 40) and len(mapped.labels()) == 3000
    found = svmgsu.train(mapped, loss="logistic", lam=1e-4)
    known = svmgsu.train(fourier.transform(samples), y, loss="logistic", lam=1e-4)
    assert np.array_equal(found.coef_, known.coef_)
    assert (found.objective_, found.gap_) == (known.objective_, known.gap_)
    assert np.allclose(found.predict_proba(mapped), known.predict_proba(fourier.transform(samples)))
    assert (found.predict(mapped) == y).mean() > 0.85


def test_maps_follow_one_another_and_regressions_take_them(data, tmp_path):
    samples, _ = data
    t = np.hypot(*np.asarray(samples.mean)[:, :2].T)
    scaler = svmgsu.Propagate(StandardScaler()).fit(samples)
    fourier = svmgsu.features.FourierFeatures(n_features=30).fit(scaler.transform(samples))
    mapped = opened(samples, t).map(scaler).map(fourier.transform)
    found = svmgsu.train(mapped, start=tmp_path / "fit", loss="squared")
    known = svmgsu.train(fourier.transform(scaler.transform(samples)), t, loss="squared")
    assert np.array_equal(found.coef_, known.coef_) and found.gap_ == known.gap_
    again = svmgsu.train(mapped, start=tmp_path / "fit", loss="squared")
    assert abs(again.objective_ - found.objective_) <= 1e-6 * found.objective_
    assert np.array_equal(svmgsu.LinearSVRGSU(lam=1e-2).fit(mapped).coef_, found.coef_)


def test_what_a_map_must_not_do_is_refused(data):
    samples, y = data
    blocks = opened(samples, y)
    with pytest.raises(TypeError, match=r"map: expected a fitted transformer or a function"):
        blocks.map(3)
    with pytest.raises(TypeError, match=r"map: expected Gaussians of Gaussians, got ndarray"):
        blocks.map(lambda some: np.asarray(some.mean))
    with pytest.raises(ValueError, match=r"map: it made \d+ samples of \d+"):
        svmgsu.train(blocks.map(lambda some: some if len(some) == 1 else some[1:]))
    with pytest.raises(ValueError, match=r"map: it made 2 features, and 3 before"):
        svmgsu.train(
            blocks.map(
                lambda some: some if len(some) == 1 else svmgsu.Gaussians(np.asarray(some.mean)[:, :2])
            )
        )
    fourier = svmgsu.features.FourierFeatures(n_features=2000).fit(samples)
    mapped = opened(samples, y, memory="2MB").map(fourier)
    with pytest.raises(ValueError, match=r"memory: .* 3000 \w+ of 2000 features made as .* at least \d+ b"):
        svmgsu.train(mapped)


def soft_labels():
    X, V, _ = examples()
    chances = np.random.default_rng(5).dirichlet([0.4, 0.4, 0.4], size=L)
    chances[:, 0] += 2.0 * (X[:, 0] > 0)
    chances[::3] = np.eye(3)[np.argmax(chances[::3], axis=1)]  # some are certain
    return X, V, chances / chances.sum(axis=1, keepdims=True)


def in_blocks(X, V, chances, **more):
    for rows in (slice(0, 60), slice(60, L)):
        yield {"X": X[rows], "cov": V[rows], "y": chances[rows], **more}


def test_iterables_have_soft_labels_and_the_bits_of_memory(tmp_path):
    X, V, chances = soft_labels()
    known = train_with(
        X, dict(zip(CLASSES, chances.T, strict=True)), V, multi_class="ovr", probability=False, **LINE
    )
    blocks = svmgsu.open(in_blocks(X, V, chances, classes=CLASSES), cache=tmp_path / "kept")
    for found in (blocks, svmgsu.open(tmp_path / "kept")):
        assert found.classes.tolist() == CLASSES
        assert np.array_equal(found.labels(slice(50, 70)), chances[50:70])
        model = train_with(found, multi_class="ovr", probability=False, **LINE)
        assert model.classes_.tolist() == sorted(CLASSES)
        assert np.array_equal(model.coef_, known.coef_) and model.gap_ == known.gap_
        assert np.array_equal(model.predict(found), known.predict(X, cov=V))
    assert train_with(svmgsu.open(in_blocks(X, V, chances)), **LINE).classes_.tolist() == [0, 1, 2]
    two = np.stack([chances[:, 0], 1 - chances[:, 0]], axis=1)
    found, known = train_with(blocks, two, **LINE), train_with(X, two, V, **LINE)
    assert np.array_equal(found.coef_, known.coef_)
    assert np.allclose(found.predict_proba(blocks), known.predict_proba(X, cov=V), atol=0.01)


def test_tables_have_soft_labels_in_columns(tmp_path, monkeypatch, capsys, small_blocks):
    monkeypatch.chdir(tmp_path)
    pandas = pytest.importorskip("pandas")
    X, V, chances = soft_labels()
    names = [*"abcd", *(f"{c}_var" for c in "abcd"), *(f"p_{c}" for c in CLASSES)]
    pandas.DataFrame(np.hstack([X, V, chances]), columns=names).to_parquet("sky.parquet")
    for name, more in (("known", []), ("blocks", ["--memory", "100MB"])):
        assert main(["train", "sky.parquet", "-o", name, "--json", "--model", "linear", *more]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert (facts["samples"], facts["classes"]) == (L, sorted(CLASSES))
    known, found = svmgsu.load("known"), svmgsu.load("blocks")
    assert np.allclose(found.coef_, known.coef_, atol=1e-3)
    opened = svmgsu.open("sky.parquet", class_probabilities="p_")
    assert opened.classes.tolist() == CLASSES and opened.shape == (L, 4)


def test_soft_labels_that_do_not_agree_are_refused():
    parts = list(in_blocks(*soft_labels(), classes=CLASSES))
    with pytest.raises(ValueError, match=r"y: block 1 has probabilities of .*; those before have .*galaxy"):
        svmgsu.open([parts[0], {**parts[1], "classes": ["a", "b", "c"]}])
    with pytest.raises(ValueError, match=r"y: block 1 has labels of dtype .*; those before are soft"):
        svmgsu.open([parts[0], {**parts[1], "y": np.zeros(L - 60)}])
    with pytest.raises(ValueError, match=r"y: .* for 60 samples and 2 classes"):
        svmgsu.open([{**parts[0], "classes": ["a", "b"]}])
