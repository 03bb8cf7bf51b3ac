"""`svmgsu train`, `predict` and `evaluate`: from a table to a model, and the same numbers as the library."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import svmgsu
from svmgsu.cli import COMMANDS, main

PROGRAM = "import sys; from svmgsu.cli import main; sys.exit(main())"
FAST = ["--set", "members=linear"]  # one of the pool's families: its fit takes a fraction of a second


@pytest.fixture(scope="module")
def table():
    """Stars with errors as VizieR writes them, a gap, ids, an exact column, classes and redshifts."""
    rng = np.random.default_rng(0)
    true = rng.normal(size=(80, 2))
    error = rng.uniform(0.05, 0.5, (80, 2))
    seen = true + error * rng.normal(size=(80, 2))
    frame = pd.DataFrame(
        {
            "objid": 10**15 + 7 * np.arange(80),
            "Bmag": seen[:, 0],
            "e_Bmag": error[:, 0],
            "Vmag": seen[:, 1],
            "e_Vmag": error[:, 1],
            "b": rng.normal(size=80),
            "class": np.where(true.sum(axis=1) > 0, "star", "galaxy"),
            "z": true @ [1.0, -0.5] + 3,
            "e_z": 0.1,
        }
    )
    frame.loc[4, "Vmag"] = np.nan
    return frame


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("models")
    table.drop(columns=["z", "e_z"]).to_csv(path / "stars.csv", index=False)
    table.drop(columns=["class"]).to_csv(path / "z.csv", index=False)
    complete = table.dropna().drop(columns=["z", "e_z", "b"])
    complete.to_csv(path / "complete.csv", index=False)
    data, y = svmgsu.io.read(path / "complete.csv")
    signs = np.where(y == "star", 1, -1)
    svmgsu.io.write(data, path / "mean.dat", path / "labels.dat", path / "cov.dat", y=signs)
    svmgsu.io.write(data, path / "data.npz", y=y)
    assert main(["train", str(path / "stars.csv"), *FAST]) == 0
    assert main(["train", str(path / "z.csv"), "--target", "z", *FAST]) == 0
    assert main(["train", str(path / "complete.csv"), "--model", "linear", "-o", str(path / "lin")]) == 0
    return path


@pytest.fixture(autouse=True)
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)


def said(capsys, *words, code=0):
    """What a command prints; (standard output, standard error)."""
    try:
        found = main(list(map(str, words)))
    except SystemExit as stop:
        found = stop.code
    out, err = capsys.readouterr()
    assert found == code, err
    return out, err


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_a_table_is_all_that_train_needs(folder, table, capsys):
    out, err = said(capsys, "train", "stars.csv", *FAST, "-o", "again")
    assert out.startswith(
        "stars.csv: 80 samples, 3 features: 2 values with errors, 1 exact (b), 1 id (objid), target class"
    )
    assert "classes galaxy (" in out and "held-out log-loss" in out
    assert "1 missing value" in err
    model = svmgsu.load("stars.svmgsu")
    wanted = svmgsu.GSUClassifier(members="linear", threads=1)
    with pytest.warns(UserWarning, match=r"2 values with errors, 1 exact \(b\), 1 id"):
        wanted.fit(table.drop(columns=["z", "e_z"]), "class")
    frame = table.drop(columns=["class", "z", "e_z"])
    assert isinstance(model, svmgsu.GSUClassifier)
    np.testing.assert_allclose(model.predict_proba(frame), wanted.predict_proba(frame), rtol=1e-6)


def test_numbers_are_a_regression(folder, table, capsys):
    out, _ = said(capsys, "train", "z.csv", *FAST, "--target", "z", "-o", "again")
    assert "target z" in out and "numbers from " in out and "GSURegressor" in out
    out, _ = said(capsys, "train", "complete.csv", "--target", "Bmag", "--model", "linear", "-o", "again")
    assert "linear regression, squared loss" in out
    out, _ = said(capsys, "train", "z.csv", "--task", "classification", "--target", "z", "-o", "m", code=1)
    assert out == ""


def test_the_model_knows_the_target_the_errors_and_the_ids(folder, table, capsys):
    odd = table.rename(columns={"e_Bmag": "dB", "class": "what"}).drop(columns=["z", "e_z", "b"])
    odd.to_csv("odd.csv", index=False)
    options = ["--errors", "Bmag=dB", "--error-scale", "2", "--target", "what"]
    said(capsys, "train", "odd.csv", *options, *FAST)
    json_out, _ = said(capsys, "evaluate", "odd.svmgsu", "odd.csv", "--json")
    accuracy = json.loads(json_out)["accuracy"]
    assert accuracy > 0.8
    said(capsys, "predict", "odd.svmgsu", "odd.csv", "-o", "p.csv")
    rows = rows_of("p.csv")
    assert [row["id"] for row in rows] == [str(k) for k in table["objid"]]
    assert np.mean([row["label"] for row in rows] == odd["what"]) == pytest.approx(accuracy)
    data = svmgsu.io.read(
        "odd.csv", target="what", errors={"Bmag": "dB"}, error_scale=2.0, missing="keep"
    ).data
    wanted = svmgsu.load("odd.svmgsu").predict_proba(data)
    np.testing.assert_allclose([float(row["p_star"]) for row in rows], wanted[:, 1])
    out, _ = said(capsys, "info", "odd.svmgsu")
    assert "table: target       what" in out and "table: errors       Bmag=dB" in out
    odd.drop(columns=["dB"]).to_csv("without.csv", index=False)
    _, err = said(capsys, "predict", "odd.svmgsu", "without.csv", code=1)
    assert "there is no column 'dB'" in err


def test_a_linear_model_is_that_of_standardised_features(folder, capsys):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    data, y = svmgsu.io.read("complete.csv")
    pipeline = make_pipeline(svmgsu.Propagate(StandardScaler()), svmgsu.LinearSVMGSU(lam=0.1)).fit(data, y)
    for name in ("complete.csv", "data.npz"):
        said(capsys, "train", name, "--model", "linear", "--set", "lam=0.1", "-o", "m")
        np.testing.assert_allclose(
            svmgsu.load("m").predict_proba(data), pipeline.predict_proba(data), rtol=1e-5, atol=1e-7
        )
    files = ["mean.dat", "--labels", "labels.dat", "--cov", "cov.dat"]
    said(capsys, "train", *files, "--model", "linear", "--set", "lam=0.1", "-o", "m")
    found = svmgsu.load("m").predict_proba(data.mean)
    np.testing.assert_allclose(found, svmgsu.load("m").predict_proba(svmgsu.Gaussians(data.mean)))
    assert svmgsu.load("m").classes_.tolist() == [-1, 1]


def test_settings_are_parameters_of_the_model(folder, capsys):
    said(capsys, "train", "complete.csv", "--model", "linear", "--set", "loss=logistic", "-o", "m")
    assert svmgsu.load("m").loss == "logistic"
    out, _ = said(capsys, "train", "complete.csv", "--set", "members=['linear']", "-o", "m", "--json")
    assert json.loads(out)["task"] == "classification"
    _, err = said(capsys, "train", "stars.csv", "--set", "gamma=3", code=2)
    assert "GSUClassifier has no parameter 'gamma'; it has " in err
    _, err = said(capsys, "train", "stars.csv", "--set", "cv", code=2)
    assert "expected NAME=VALUE" in err
    _, err = said(capsys, "train", "stars.csv", "--set", "cv=1", code=1)
    assert "cv" in err


def test_missing_values_stay_and_linear_models_say_so(folder, table, capsys):
    _, err = said(capsys, "train", "stars.csv", "--model", "linear", "-o", "m", code=1)
    assert (
        "stars.csv:6: column 'Vmag' has no value; --missing drop leaves such samples out, --missing keep"
        in err
    )
    _, err = said(capsys, "train", "stars.csv", "--lam", "3", code=2)
    assert "parameters of the model are given as --set NAME=VALUE" in err
    _, err = said(capsys, "train", "stars.csv", "--model", "linear", "--missing", "drop", "-o", "m")
    assert "1 of 80 samples dropped" in err
    out, _ = said(capsys, "predict", "stars.svmgsu", "stars.csv", "-o", "p.csv")
    assert out.startswith("80 samples: ")


def test_class_probabilities_are_soft_labels(folder, table, capsys):
    p = np.where(table["class"] == "star", 0.9, 0.2)
    soft = table[["Bmag", "e_Bmag", "Vmag", "e_Vmag"]].assign(p_star=p, p_galaxy=1 - p)
    soft.to_csv("soft.csv", index=False)
    out, _ = said(capsys, "train", "soft.csv", *FAST)
    assert "probabilities of 2 classes" in out
    assert svmgsu.load("soft.svmgsu").classes_.tolist() == ["galaxy", "star"]


def test_evaluate_prints_what_matters(folder, capsys):
    out, _ = said(capsys, "evaluate", "stars.svmgsu", "stars.csv")
    assert [line.split()[0] for line in out.splitlines() if line] == [
        *("80", "accuracy", "log-loss", "calibration", "true", "galaxy", "star")
    ]
    model = svmgsu.load("stars.svmgsu")
    data, y = svmgsu.io.read("stars.csv", missing="keep")
    proba = model.predict_proba(data)
    facts = json.loads(said(capsys, "evaluate", "stars.svmgsu", "stars.csv", "--json")[0])
    assert facts["accuracy"] == pytest.approx(np.mean(model.classes_[proba.argmax(axis=1)] == y))
    assert facts["log_loss"] == pytest.approx(-np.log(proba[np.arange(80), (y == "star") * 1]).mean())
    assert np.sum(facts["confusion"]) == 80
    out, _ = said(capsys, "evaluate", "stars.svmgsu", "stars.csv", "--ranking")
    assert "average precision" in out and "at k" in out


def test_evaluate_numbers(folder, table, capsys):
    model = svmgsu.load("z.svmgsu")
    data, z = svmgsu.io.read("z.csv", target="z", missing="keep")
    facts = json.loads(said(capsys, "evaluate", "z.svmgsu", "z.csv", "--json")[0])
    assert facts["rmse"] == pytest.approx(np.sqrt(np.mean((model.predict(data) - z) ** 2)))
    low, high = model.predict_interval(data, 0.9)
    assert facts["coverage of 90% intervals"] == pytest.approx(np.mean((low <= z) & (z <= high)))
    out, _ = said(capsys, "evaluate", "z.svmgsu", "z.csv")
    assert "RMSE" in out and "within 90% intervals" in out
    out, _ = said(capsys, "predict", "z.svmgsu", "z.csv", "-o", "z.jsonl")
    assert "numbers from " in out
    first = json.loads(Path("z.jsonl").read_text().splitlines()[0])
    value, std = model.predict(data[:1], return_std=True)
    assert first == {
        "id": str(table["objid"][0]),
        "value": pytest.approx(value[0]),
        "std": pytest.approx(std[0]),
    }


@pytest.mark.parametrize("ending", ["csv", "parquet", "txt"])
def test_predictions_are_the_library_s(ending, folder, capsys):
    model = svmgsu.load("lin")
    data, _ = svmgsu.io.read("complete.csv")
    said(capsys, "predict", "lin", "complete.csv", "-o", f"p.{ending}")
    if ending == "txt":
        rows = [line.split() for line in Path("p.txt").read_text().splitlines()]
        assert rows[0] == ["doc_id", "star", "galaxy", "label"]
        assert float(rows[1][1]) == pytest.approx(model.predict_proba(data)[:, 1].max())
        return
    frame = {"csv": pd.read_csv, "tsv": lambda p: pd.read_csv(p, sep="\t"), "parquet": pd.read_parquet}
    read = frame.get(ending, lambda p: pd.read_json(p, lines=True))
    found = read(f"p.{ending}")
    np.testing.assert_allclose(found["p_star"], model.predict_proba(data)[:, 1], rtol=1e-6)
    assert found["label"].tolist() == model.predict(data).tolist()
    np.testing.assert_allclose(found["decision"], model.decision_function(data), rtol=1e-6)


def test_class_priors_change_the_probabilities(folder, capsys):
    said(capsys, "predict", "lin", "complete.csv", "--prior", "star=0.1,galaxy=0.9", "-o", "p.csv")
    data, _ = svmgsu.io.read("complete.csv")
    wanted = svmgsu.load("lin").predict_proba(data, prior={"star": 0.1, "galaxy": 0.9})[:, 1]
    np.testing.assert_allclose([float(row["p_star"]) for row in rows_of("p.csv")], wanted)
    _, err = said(capsys, "predict", "lin", "complete.csv", "--prior", "star=0.1,qso=1", code=2)
    assert "--prior: expected LABEL=SHARE with a label of galaxy, star, got 'qso=1'" in err
    _, err = said(capsys, "predict", "stars.svmgsu", "stars.csv", "--prior", "star=1", code=1)
    assert "--prior is for linear classifiers" in err


def test_standard_streams(folder):
    run = [sys.executable, "-c", PROGRAM]
    trained = subprocess.run(
        [*run, "train", "-", "--format", "csv", "--model", "linear", "-o", "-"],
        input=Path("complete.csv").read_bytes(),
        capture_output=True,
    )
    assert trained.stdout.startswith(b"svmgsu-model"), trained.stderr
    assert b"<stdin>" not in trained.stdout and b"79 samples" in trained.stderr
    predicted = subprocess.run(
        [*run, "predict", "-", "complete.csv"], input=trained.stdout, capture_output=True, text=False
    )
    assert json.loads(predicted.stdout.splitlines()[0])["label"] in ("star", "galaxy")


def test_an_interrupted_command_writes_nothing(folder, tmp_path, monkeypatch, capsys):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("svmgsu.cli.train.fit", interrupt)
    _, err = said(capsys, "train", "stars.csv", "-o", tmp_path / "m", code=130)
    assert err == "svmgsu train: interrupted\n" and list(tmp_path.iterdir()) == []


WRONG_USAGE = {
    "no labels": (["train", "mean.dat", "-o", "m"], "--labels: mean.dat has no labels"),
    "stdin twice": (["train", "-", "--labels", "-", "-o", "m"], "read only once"),
    "no name": (["train", "-", "--format", "csv"], "-o: name the model file"),
    "column of text": (
        ["train", "mean.dat", "--labels", "labels.dat", "--target", "y"],
        "--target: for tables",
    ),
    "abbreviated": (["train", "mean.dat", "--lab", "labels.dat"], "unrecognized arguments"),
    "labels beside npz": (["train", "data.npz", "--labels", "labels.dat"], "no file of its own"),
    "model and data from stdin": (["predict", "-", "-"], "read only once"),
    "misspelt option": (
        ["train", "stars.csv", "--traget", "z"],
        "unrecognized arguments: --traget z; did you mean --target?",
    ),
    "unknown reader option": (
        ["train", "stars.csv", "--read", "colour=1"],
        "'colour' is no parameter for csv",
    ),
}


@pytest.mark.parametrize("name", WRONG_USAGE)
def test_wrong_usage_is_exit_code_2(name, folder, capsys):
    words, message = WRONG_USAGE[name]
    before = sorted(folder.iterdir())
    _, err = said(capsys, *words, code=2)
    assert "usage: svmgsu" in err and message in err
    assert sorted(folder.iterdir()) == before


def test_wrong_data_is_one_line(folder, tmp_path, capsys):
    (tmp_path / "wide.csv").write_text("a,b,c,d,e,f,g,h,i,j\n1,2,3,4,5,6,7,8,9,0\n")
    for words, message in (
        (["train", "missing.csv"], "missing.csv: no such file"),
        (["train", "stars.csv", "-o", "no/such/m"], "there is no folder 'no/such'"),
        (
            ["train", "complete.csv", "--ignore", "class"],
            "which column is to be predicted? Name it in --target: Bmag, Vmag\n",
        ),
        (["train", tmp_path / "wide.csv"], "Name it in --target: a, b, c, d, e, f, g, h, ... (10)\n"),
        (["predict", "stars.csv", "stars.csv"], "stars.csv:1: not an svmgsu model"),
        (["predict", "lin", "stars.csv"], "--missing drop"),
        (["train", "stars.csv", "--target", "what"], "there is no column 'what'"),
    ):
        out, err = said(capsys, *words, code=1)
        assert out == "" and message in err and err.count("\n") == 1
    (tmp_path / "new").write_text("a 1:1 4:1\n")
    said(capsys, "train", "mean.dat", "--labels", "labels.dat", "--model", "linear", "-o", tmp_path / "m")
    _, err = said(capsys, "predict", tmp_path / "m", tmp_path / "new", code=1)
    assert "new:1:7: index 4 is beyond the 2 features asked for" in err


def test_train_has_few_options():
    parser = next(command for command in COMMANDS if command.name == "train").parser()
    options = [action for action in parser._actions if action.option_strings and action.dest != "help"]
    assert len(options) <= 25


def test_errors_that_the_model_had_and_new_samples_lack_are_told(table, tmp_path, capsys):
    table[["Bmag", "e_Bmag", "Vmag", "b"]].to_csv(tmp_path / "bare.csv", index=False)
    _, err = said(capsys, "predict", "stars.svmgsu", tmp_path / "bare.csv")
    assert "the model was trained with errors of Vmag; there are none here" in err


def test_a_column_of_errors_that_is_empty_takes_no_value_away(table, tmp_path, capsys):
    """Neither from the training set nor from new samples."""
    path, model = tmp_path / "stars.csv", tmp_path / "m"
    table[["Bmag", "e_Bmag", "b", "class"]].assign(e_b=np.nan).to_csv(path, index=False)
    assert said(capsys, "train", path, *FAST, "-o", model)[1] == ""
    _, err = said(capsys, "evaluate", model, path)
    assert "1 value with errors, 1 exact (b)" in err and "missing values" not in err


def test_numbers_that_may_mean_missing_values_are_told_with_the_option(tmp_path, capsys):
    path = tmp_path / "sky.csv"
    path.write_text("x,x_err,label\n" + "".join(f"{-99 if k < 4 else k % 7},1,{k % 2}\n" for k in range(30)))
    _, err = said(capsys, "info", path)
    assert "x (-99: 4 samples); if they mean missing values, say --na-values=-99\n" in err
    out, err = said(capsys, "info", path, "--na-values=-99")
    assert err == f"svmgsu info: note: {path}: 4 missing values\n" and "missing values  4" in out
