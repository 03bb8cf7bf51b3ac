"""Labels in doubt: files and blocks that have the probability of each class are trained on as in memory."""

import json

import numpy as np
import pytest
from block_cases import L, examples

import svmgsu
from svmgsu.cli import main

CLASSES = ["star", "quasar", "galaxy"]
LINE = {"lam": 1e-3, "loss": "logistic"}


def doubtful():
    X, V, _ = examples()
    chances = np.random.default_rng(5).dirichlet([0.4, 0.4, 0.4], size=L)
    chances[:, 0] += 2.0 * (X[:, 0] > 0)
    chances[::3] = np.eye(3)[np.argmax(chances[::3], axis=1)]  # some without doubt
    return X, V, chances / chances.sum(axis=1, keepdims=True)


def blocks_of(X, V, chances, **more):
    for rows in (slice(0, 60), slice(60, L)):
        yield {"X": X[rows], "cov": V[rows], "y": chances[rows], **more}


def test_iterables_of_blocks_have_probabilities_of_classes(tmp_path):
    X, V, chances = doubtful()
    blocks = svmgsu.open(blocks_of(X, V, chances, classes=CLASSES), cache=tmp_path / "kept")
    known = svmgsu.train(X, chances, V, classes=CLASSES, **LINE)
    for found in (blocks, svmgsu.open(tmp_path / "kept")):
        assert found.classes.tolist() == CLASSES
        assert np.array_equal(found.labels(slice(50, 70)), chances[50:70])
        model = svmgsu.train(found, **LINE)
        assert model.classes_.tolist() == sorted(CLASSES)
        assert model.objective_ == pytest.approx(known.objective_, rel=1e-5)
        assert np.array_equal(model.predict(found), known.predict(X, cov=V))
    without = svmgsu.open(blocks_of(X, V, chances))
    assert svmgsu.train(without, **LINE).classes_.tolist() == [0, 1, 2]


def test_tables_have_them_in_columns(tmp_path, monkeypatch, capsys, small_blocks):
    monkeypatch.chdir(tmp_path)
    X, V, chances = doubtful()
    names = [*"abcd", *(f"{c}_var" for c in "abcd"), *(f"p_{c}" for c in CLASSES)]
    table = np.hstack([X, V, chances])
    rows = "\n".join(",".join(map(repr, map(float, row))) for row in table)
    (tmp_path / "sky.csv").write_text(",".join(names) + "\n" + rows + "\n")
    for name, more in (("known", []), ("blocks", ["--memory", "100MB"])):
        assert main(["train", "sky.csv", "-o", name, "--json", *more]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert (facts["examples"], facts["classes"]) == (L, sorted(CLASSES))
    known, found = svmgsu.load("known"), svmgsu.load("blocks")
    assert np.allclose(found.coef_, known.coef_, atol=1e-3)
    opened = svmgsu.open("sky.csv", chances="p_")
    assert opened.classes.tolist() == CLASSES and opened.shape == (L, 4)


def test_blocks_that_do_not_agree_are_named():
    X, V, chances = doubtful()
    parts = list(blocks_of(X, V, chances, classes=CLASSES))
    with pytest.raises(ValueError, match=r"y: block 1 has probabilities of .*; those before have .*galaxy"):
        svmgsu.open([parts[0], {**parts[1], "classes": ["a", "b", "c"]}])
    with pytest.raises(ValueError, match=r"y: block 1 has labels of dtype .*; those before are chances"):
        svmgsu.open([parts[0], {**parts[1], "y": np.zeros(L - 60)}])
    with pytest.raises(ValueError, match=r"y: .* for 60 examples and 2 classes"):
        svmgsu.open([{**parts[0], "classes": ["a", "b"]}])
