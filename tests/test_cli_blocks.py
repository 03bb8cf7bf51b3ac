"""`svmgsu ... --memory SIZE` reads block by block, and says and writes what it does without."""

import filecmp
import json

import numpy as np
import pytest
from block_cases import L, examples

import svmgsu
from svmgsu.cli import main

TABLE = "stars.parquet"


@pytest.fixture
def table(tmp_path, monkeypatch, small_blocks):
    monkeypatch.chdir(tmp_path)
    X, V, y = examples()
    data = svmgsu.Gaussians(X, svmgsu.Diagonal(V), feature_names=list("abcd"))
    svmgsu.io.write(data, TABLE, y=y, ids=[f"s{k}" for k in range(L)])
    return data, y


def run(capsys, *words):
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


LINEAR = ("--model", "linear")


def test_train_predict_and_evaluate_within_memory(table, capsys):
    for more, name in (((), "known"), (("--memory", "100MB"), "blocks")):
        code, out, err = run(capsys, "train", TABLE, "-o", f"{name}.svmgsu", "--json", *LINEAR, *more)
        assert code == 0, err
        facts = json.loads(out)
        assert (facts["samples"], facts["features"]) == (L, 4)
    known, blocks = svmgsu.load("known.svmgsu"), svmgsu.load("blocks.svmgsu")
    np.testing.assert_allclose(known.coef_, blocks.coef_, rtol=1e-3)
    assert blocks.feature_names_in_ == list("abcd")
    for more, name in (((), "known"), (("--memory", "100MB"), "blocks")):
        assert run(capsys, "predict", "known.svmgsu", TABLE, "-o", f"{name}.jsonl", *more)[0] == 0
        measured = ["evaluate", "known.svmgsu", TABLE, "-o", f"{name}.json", "--json", *more]
        assert run(capsys, *measured)[0] == 0
    assert filecmp.cmp("known.jsonl", "blocks.jsonl", shallow=False)
    assert filecmp.cmp("known.json", "blocks.json", shallow=False)


def test_a_pool_predicts_out_of_core(table, capsys):
    assert run(capsys, "train", TABLE, "--set", "members=linear")[0] == 0
    for more, name in (((), "known"), (("--memory", "100MB"), "blocks")):
        assert run(capsys, "predict", "stars.svmgsu", TABLE, "-o", f"{name}.csv", *more)[0] == 0
    known, blocks = (np.genfromtxt(f"{name}.csv", delimiter=",")[1:, 2:] for name in ("known", "blocks"))
    np.testing.assert_allclose(known, blocks, rtol=1e-6)


def test_wrong_usage(table, capsys):
    with pytest.raises(SystemExit):
        run(capsys, "train", "-", "--memory", "1GB", "--format", "csv", "-o", "m", *LINEAR)
    assert "not standard input" in capsys.readouterr().err
    code, _, err = run(capsys, "train", TABLE, "--memory", "much", "-o", "m", *LINEAR)
    assert code == 1 and "memory: expected a number of bytes" in err
    assert run(capsys, "convert", TABLE, "stars.csv")[0] == 0
    with pytest.raises(SystemExit):
        run(capsys, "train", "stars.csv", "--memory", "1GB", "-o", "m", *LINEAR)
    advice = "--memory: convert it first: svmgsu convert stars.csv stars.parquet\n"
    assert capsys.readouterr().err.endswith(advice)
    with pytest.raises(SystemExit):
        run(capsys, "train", TABLE, "--memory", "1GB", "--missing", "keep", "-o", "m", *LINEAR)
    assert "--missing keep: samples with missing values are not read out of core" in capsys.readouterr().err


def test_missing_values_out_of_core_are_refused_with_advice_that_helps(table, capsys):
    import pyarrow as pa
    from pyarrow import parquet

    x = [None, *map(float, range(40))]
    parquet.write_table(pa.table({"x": x, "label": [k % 2 for k in range(41)]}), "gap.parquet")
    words = ("train", "gap.parquet", "--memory", "1GB", "-o", "m", *LINEAR)
    code, _, err = run(capsys, *words)
    assert code == 1 and err.endswith("has no value; --missing drop leaves such samples out\n"), err
    assert run(capsys, *words, "--missing", "drop")[0] == 0
