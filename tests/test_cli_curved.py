"""`svmgsu train --kernel`, and what predict, evaluate, info and plot do with files of curved models."""

import csv
import json

import numpy as np
import pytest

import svmgsu
from svmgsu.cli import main

QUICK = {"gamma": 0.3, "lam": 1e-4, "cv": 2}
OPTIONS = [word for name, value in QUICK.items() for word in (f"--{name}", str(value))]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table of rings with error bars; `z` is a number to predict, with errors of its own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    E = rng.uniform(0.05, 0.3, X.shape)
    seen = X + E * rng.normal(size=X.shape)
    y = np.where((X**2).sum(axis=1) > 1.4, "outside", "inside")
    path = tmp_path_factory.mktemp("curved") / "rings.csv"
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "u", "u_err", "g", "g_err", "label", "z", "z_err"])
        for i, (x, e) in enumerate(zip(seen.round(5), E.round(5), strict=True)):
            out.writerow([f"s{i}", x[0], e[0], x[1], e[1], y[i], round(float((X[i] ** 2).sum()), 4), 0.1])
    return path


@pytest.fixture(scope="module")
def models(table):
    """Files of a classifier and of a regression that the command line has trained."""
    paths = {name: table.parent / f"{name}.svmgsu" for name in ("classes", "numbers")}
    base = ["train", str(table), "--kernel", "rbf", *OPTIONS]
    assert main([*base, "--ignore", "z", "-o", str(paths["classes"])]) == 0
    more = ["--task", "regression", "--target", "z", "--ignore", "label", "-o", str(paths["numbers"])]
    assert main([*base, *more]) == 0
    return paths


def run(capsys, *words):
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return captured.out


def refused(capsys, *words):
    try:
        assert main([str(word) for word in words]) == 1
    except SystemExit as error:
        assert error.code == 2
    return capsys.readouterr().err


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def data_of(table):
    return svmgsu.io.read(table, label="label", ignore=["z"])


def test_train_gives_the_library_s_models(table, models):
    data, y = data_of(table)
    wanted = svmgsu.SVMGSU(**QUICK).fit(data, y)
    found = svmgsu.load(models["classes"])
    np.testing.assert_allclose(found.predict_proba(data), wanted.predict_proba(data), rtol=1e-9)
    numbers = svmgsu.io.read(table, target="z", ignore=["label"])
    wanted = svmgsu.SVRGSU(**QUICK).fit(numbers.data, numbers.y, y_std=numbers.y_std)
    np.testing.assert_allclose(svmgsu.load(models["numbers"]).predict(data), wanted.predict(data), rtol=1e-9)


def test_predict_writes_probabilities_that_know_error_bars(table, models, tmp_path, capsys):
    said = run(capsys, "predict", models["classes"], table, "--ignore", "z,label", "-o", tmp_path / "p.csv")
    assert said.startswith("120 examples: ") and "× outside" in said
    data, _ = data_of(table)
    model, found = svmgsu.load(models["classes"]), rows(tmp_path / "p.csv")
    wanted = model.predict_proba(data)
    assert found[0]["id"] == "s0"
    for k, label in enumerate(("inside", "outside")):
        np.testing.assert_allclose([float(row[f"p_{label}"]) for row in found], wanted[:, k], rtol=1e-6)
    assert [row["label"] for row in found] == model.predict(data).tolist()
    run(capsys, "predict", models["classes"], table, "--kind", "none", "-o", tmp_path / "bare.csv")
    assert rows(tmp_path / "bare.csv") != found


def test_predict_writes_values_with_deviations(table, models, tmp_path, capsys):
    run(capsys, "predict", models["numbers"], table, "-o", tmp_path / "v.csv")
    data, _ = data_of(table)
    wanted = svmgsu.load(models["numbers"]).predict(data, return_std=True)
    found = rows(tmp_path / "v.csv")
    for name, numbers in zip(("value", "std"), wanted, strict=True):
        np.testing.assert_allclose([float(row[name]) for row in found], numbers, rtol=1e-6)


def test_columns_may_stand_in_another_order(table, models, tmp_path, capsys):
    run(capsys, "predict", models["classes"], table, "-o", tmp_path / "a.csv")
    order = ["g_err", "label", "g", "id", "u", "u_err"]
    with open(tmp_path / "other.csv", "w", newline="") as file:
        out = csv.DictWriter(file, order, extrasaction="ignore")
        out.writeheader()
        out.writerows(rows(table))
    run(capsys, "predict", models["classes"], tmp_path / "other.csv", "-o", tmp_path / "b.csv")
    assert rows(tmp_path / "a.csv") == rows(tmp_path / "b.csv")


def test_evaluate_and_info_speak_of_curved_models(table, models, capsys):
    data, y = data_of(table)
    found = json.loads(run(capsys, "evaluate", models["classes"], table, "--json"))
    assert found["accuracy"] == pytest.approx(svmgsu.load(models["classes"]).score(data, y))
    found = json.loads(run(capsys, "evaluate", models["numbers"], table, "--target", "z", "--json"))
    assert found["r2"] > 0.8 and np.isfinite(found["log_likelihood"])
    facts = json.loads(run(capsys, "info", models["classes"], "--json"))
    assert facts["classes"] == ["inside", "outside"] and facts["kernel"] == "rbf" and facts["features"] == 2
    assert "residual" in run(capsys, "info", models["numbers"])


def test_pictures_of_curved_models(table, models, tmp_path, capsys):
    for picture in ("histogram", "reliability"):
        path = tmp_path / f"{picture}.png"
        run(capsys, "plot", picture, table, "--model", models["classes"], "--ignore", "z", "-o", path)
        assert path.stat().st_size > 1000
    more = ("--model", models["numbers"], "--target", "z", "-o", tmp_path / "p.png")
    run(capsys, "plot", "predictions", table, *more)


def test_probabilities_of_classes_and_fitted_predictions(tmp_path, capsys):
    rng = np.random.default_rng(1)
    lines = [
        f"{x:.3f},0.1,{p:.2f},{1 - p:.2f}"
        for x, p in zip(rng.normal(size=60), rng.uniform(size=60), strict=True)
    ]
    (tmp_path / "d.csv").write_text("\n".join(["x,x_err,p_star,p_quasar", *lines]) + "\n")
    out = ("-o", tmp_path / "m", "--predictions", tmp_path / "p.csv", "--json")
    facts = json.loads(run(capsys, "train", tmp_path / "d.csv", "--kernel", "rbf", *OPTIONS, *out))
    assert facts["classes"] == ["quasar", "star"] and facts["examples"] == 60
    assert len(rows(tmp_path / "p.csv")) == 60


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kernel", "rbf", "--lams", "1e-3,1"], "--lams: for linear models, not with --kernel"),
        (["--kernel", "rbf", "--no-intercept"], "--no-intercept: for linear models, not with --kernel"),
        (["--kernel", "rbf", "--solver", "sgd"], "--solver sgd"),
        (
            ["--kernel", "rbf", "--memory", "1GB", "--checkpoint", "c"],
            "--checkpoint: for linear models, not with --kernel",
        ),
        (["--gamma", "1"], "--gamma: for a curved model; add --kernel"),
        (["--kernel", "rbf", "--cv", "1"], "--cv: at least 2 folds"),
    ],
)
def test_options_that_do_not_go_together(words, said, table, tmp_path, capsys):
    assert said in refused(capsys, "train", table, *words, "-o", tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_files_that_hold_something_else(table, models, tmp_path, capsys):
    population = tmp_path / "population"
    svmgsu.Deconvolution(2).fit(data_of(table).data).save(population)
    said = refused(capsys, "predict", population, table)
    assert "population: holds a Deconvolution, which predicts neither" in said
    svmgsu.io.write(data_of(table).data, tmp_path / "d.npz")
    assert "no model of svmgsu" in refused(capsys, "predict", tmp_path / "d.npz", table)
    assert "examples" in run(capsys, "info", tmp_path / "d.npz")
    said = refused(capsys, "predict", models["classes"], table, "--prior", "inside=0.5,outside=0.5")
    assert "--prior" in said
    (tmp_path / "few.csv").write_text("u,u_err\n1,0.1\n")
    assert "few.csv" in refused(capsys, "predict", models["classes"], tmp_path / "few.csv")
