"""`svmgsu ... --memory SIZE` reads block by block, and says and writes what it does without."""

import filecmp
import json
import os

import numpy as np
import pytest
from block_cases import L, examples, same

import svmgsu
from svmgsu.cli import main


@pytest.fixture
def table(tmp_path, monkeypatch, small_blocks):
    monkeypatch.chdir(tmp_path)
    X, V, y = examples()
    data = svmgsu.Gaussians(X, svmgsu.Diagonal(V), feature_names=list("abcd"))
    svmgsu.io.write(data, "stars.csv", y=y, ids=[f"s{k}" for k in range(L)])
    return data, y


def run(capsys, *words):
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def test_train_predict_and_evaluate_within_memory(table, capsys):
    for more, name in (((), "known"), (("--memory", "100MB"), "blocks")):
        code, out, err = run(capsys, "train", "stars.csv", "-o", f"{name}.svmgsu", "--json", *more)
        assert code == 0, err
        facts = json.loads(out)
        assert (facts["examples"], facts["features"], facts["covariance"]) == (L, 4, "diagonal")
    known, blocks = svmgsu.load("known.svmgsu"), svmgsu.load("blocks.svmgsu")
    assert np.array_equal(known.coef_, blocks.coef_)
    assert blocks.feature_names_in_ == list("abcd")
    for more, name in (((), "known"), (("--memory", "100MB", "--cache", "cache"), "blocks")):
        assert run(capsys, "predict", "known.svmgsu", "stars.csv", "-o", f"{name}.jsonl", *more)[0] == 0
        assert (
            run(capsys, "evaluate", "known.svmgsu", "stars.csv", "-o", f"{name}.json", "--json", *more)[0]
            == 0
        )
    assert filecmp.cmp("known.jsonl", "blocks.jsonl", shallow=False)
    assert filecmp.cmp("known.json", "blocks.json", shallow=False)
    assert svmgsu.open("cache").shape == (L, 4)


def test_a_regression_within_memory(table, capsys):
    more = ["--task", "regression", "--target", "a", "--ignore", "label,id"]
    for memory, name in ((), "known"), (["--memory", "1e8"], "blocks"):
        assert run(capsys, "train", "stars.csv", *more, "-o", name, *memory)[0] == 0
    known, blocks = svmgsu.load("known"), svmgsu.load("blocks")
    assert np.array_equal(known.coef_, blocks.coef_) and known.scatter_ == pytest.approx(blocks.scatter_)
    for memory, name in ((), "known"), (["--memory", "1e8"], "blocks"):
        data = ["stars.csv", "--target", "a", "--ignore", "label,id", "-o", f"{name}.txt"]
        assert run(capsys, "evaluate", "known", *data, *memory)[0] == 0
    assert filecmp.cmp("known.txt", "blocks.txt", shallow=False)


def test_other_covariances_within_memory(table, capsys):
    for words in (["--kind", "none"], ["--kind", "diagonal"]):
        for memory in ([], ["--memory", "100MB"]):
            code, _out, err = run(capsys, "train", "stars.csv", "-o", f"{len(memory)}", *words, *memory)
            assert code == 0, err
        assert np.array_equal(svmgsu.load("0").coef_, svmgsu.load("2").coef_)
    code, _, err = run(capsys, "train", "stars.csv", "-o", "m", "--kind", "full", "--memory", "1GB")
    assert code == 1 and "--kind full, but the covariance is diagonal" in err
    code, _, err = run(capsys, "train", "stars.csv", "-o", "m", "--std", "1", "--memory", "1GB")
    assert code == 1 and "covariances of its own" in err


@pytest.mark.parametrize("ending", ["parquet", "npz"])
def test_conversion_within_memory_writes_what_conversion_does(table, capsys, ending):
    for name, more in (("known", []), ("blocks", ["--memory", "50MB"])):
        code, _, err = run(capsys, "convert", "stars.csv", f"{name}.{ending}", *more)
        assert code == 0, err
    known, found = (svmgsu.io.read(f"{name}.{ending}") for name in ("known", "blocks"))
    assert np.array_equal(found.data.mean, known.data.mean)
    assert np.array_equal(found.data.cov.to_full(L, 4), known.data.cov.to_full(L, 4))
    assert found.y.tolist() == known.y.tolist()
    assert known.ids is None or found.ids.tolist() == known.ids.tolist()
    assert found.feature_names == known.feature_names


@pytest.mark.parametrize("kind", ["isotropic", "full", "low_rank", "shared"])
def test_blocks_of_every_kind_are_written_as_archives(tmp_path, kind):
    from svmgsu.outofcore.writing import write_blocks

    X, V, y = examples()
    F = np.random.default_rng(0).normal(size=(L, 2, 4))
    cov = {
        "isotropic": svmgsu.Isotropic(V[:, 0]),
        "full": svmgsu.Full(np.einsum("irj,irk->ijk", F, F)),
        "low_rank": svmgsu.LowRank(F, diagonal=V),
        "shared": svmgsu.Shared(np.diag(V[0])),
    }[kind]
    blocks = svmgsu.open([(svmgsu.Gaussians(X, cov), y)])
    write_blocks(blocks, tmp_path / "a.npz")
    same(blocks, svmgsu.io.read(tmp_path / "a.npz").data, svmgsu.io.read(tmp_path / "a.npz").y)
    with pytest.raises(ValueError, match="format: blocks are written as npz or parquet, got csv"):
        write_blocks(blocks, tmp_path / "a.csv")


def test_training_starts_from_a_checkpoint(table, capsys):
    kept = ["--memory", "100MB", "--checkpoint", "stars.ckpt"]
    for name, more in (("known", []), ("first", kept), ("resumed", [*kept, "--resume"])):
        assert run(capsys, "train", "stars.csv", "-o", name, "--no-probability", *more)[0] == 0
    known, first, resumed = (svmgsu.load(name) for name in ("known", "first", "resumed"))
    assert np.array_equal(first.coef_, known.coef_)
    assert np.allclose(resumed.coef_, known.coef_, atol=1e-3)
    os.truncate("stars.ckpt", os.path.getsize("stars.ckpt") // 2)
    code, _, err = run(capsys, "train", "stars.csv", "-o", "m", *kept, "--resume")
    assert code == 1 and "checkpoint: stars.ckpt is damaged" in err


def test_curved_models_within_memory(table, capsys):
    curve = ["--kernel", "rbf", "--gamma", "0.1", "--lam", "0.001"]
    for name, more in (("known", []), ("blocks", ["--memory", "100MB"])):
        assert run(capsys, "train", "stars.csv", "-o", name, *curve, *more)[0] == 0
        assert run(capsys, "predict", name, "stars.csv", "-o", f"{name}.jsonl", *more)[0] == 0
    with open("known.jsonl") as one, open("blocks.jsonl") as other:
        for a, b in zip(map(json.loads, one), map(json.loads, other), strict=True):
            assert a["label"] == b["label"] and a["p_star"] == pytest.approx(b["p_star"], abs=1e-3)


def test_wrong_usage(table, capsys):
    for words, message in (
        (["stars.csv", "--memory", "1GB", "--lams", "1,2"], "a search by --lams or --cov-scales takes"),
        (["-", "--memory", "1GB", "--format", "csv"], "not from standard input"),
        (["stars.csv", "--cache", "c"], "--cache: for --memory alone"),
        (["stars.csv", "--checkpoint", "c"], "--checkpoint: for training block by block; add --memory"),
        (["stars.csv", "--memory", "1GB", "--resume"], "--resume: it starts from a checkpoint"),
    ):
        try:
            code, _, err = run(capsys, "train", *words, "-o", "m")
        except SystemExit as stop:
            code, err = stop.code, capsys.readouterr().err
        assert code == 2 and message in err
    code, _, err = run(capsys, "train", "stars.csv", "--memory", "much", "-o", "m")
    assert code == 1 and "memory: expected a number of bytes" in err
