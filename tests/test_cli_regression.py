"""`svmgsu train --task regression` and what follows: the library's numbers, and one line for bad input."""

import csv
import json

import numpy as np
import pytest

import svmgsu
from svmgsu.cli import main
from svmgsu.cli.gsvm import predict_main


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(60, 2)) * [1.0, 20.0] + [0.0, 100.0], 4)
    E = np.round(rng.uniform(0.05, 0.5, X.shape), 4)
    y = np.round(X @ [2.0, -0.1] + rng.normal(size=60) * 0.2, 4)
    return svmgsu.Gaussians(X, std=E, feature_names=["u", "g"]), y, np.round(rng.uniform(0.1, 1, 60), 4)


def table(path, problem, target="z", error="z_err", extra=()):
    data, y, y_std = problem
    E = np.sqrt(data.cov.variances)
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "u", "u_err", "g", "g_err", target, *([error] if error else [])])
        for i in range(len(y)):
            (u, g), (eu, eg) = data.mean[i].tolist(), np.round(E[i], 4).tolist()
            out.writerow([f"s{i}", u, eu, g, eg, y[i], *([y_std[i]] if error else [])])
        out.writerows(extra)
    return str(path)


def run(capsys, *words):
    code = main([str(word) for word in words])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return captured.out


def refused(capsys, code, *words):
    try:
        found = main([str(word) for word in words])
    except SystemExit as exit_:
        found = exit_.code
    captured = capsys.readouterr()
    assert found == code, captured.out + captured.err
    return captured.err.splitlines()[-1]


def same(model, wanted):
    np.testing.assert_allclose(model.coef_, wanted.coef_, rtol=1e-9)
    assert model.intercept_ == pytest.approx(wanted.intercept_, rel=1e-9)
    assert model.scatter_ == pytest.approx(wanted.scatter_, rel=1e-9)
    assert (model.loss, model.epsilon, model.lam) == (wanted.loss, wanted.epsilon, wanted.lam)


OPTIONS = {
    "squared": ([], {}),
    "epsilon": (
        ["--loss", "epsilon_insensitive", "--epsilon", "0.3"],
        {"loss": "epsilon_insensitive", "epsilon": 0.3},
    ),
    "huber": (["--loss", "huber", "--lam", "0.1"], {"loss": "huber", "lam": 0.1}),
    "scaled": (["--cov-scale", "0.5", "--no-intercept"], {"cov_scale": 0.5, "fit_intercept": False}),
    "subspace": (["--subspace", "0.6"], {"subspace": 0.6}),
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("errors", [True, False])
def test_train_gives_the_library_s_regression(name, errors, problem, tmp_path, capsys):
    path = table(tmp_path / "t.csv", problem, error="z_err" if errors else None)
    words, arguments = OPTIONS[name]
    run(capsys, "train", path, "--task", "regression", "--target", "z", *words, "-o", tmp_path / "m")
    data, y, y_std = problem
    same(
        svmgsu.load(tmp_path / "m"),
        svmgsu.train_regressor(data, y, y_std=y_std if errors else None, **arguments),
    )


@pytest.mark.parametrize(("target", "error"), [("target", "target_std"), ("y", "y_err"), ("label", None)])
def test_the_target_has_usual_names(target, error, problem, tmp_path, capsys):
    path = table(tmp_path / "t.csv", problem, target, error)
    run(capsys, "train", path, "--task", "regression", "-o", tmp_path / "m")
    data, y, y_std = problem
    same(svmgsu.load(tmp_path / "m"), svmgsu.train_regressor(data, y, y_std=y_std if error else None))


def test_errors_of_targets_may_have_any_name(problem, tmp_path, capsys):
    path = table(tmp_path / "t.csv", problem, "z", "uncertainty")
    words = ["train", path, "--task", "regression", "--target", "z", "-o", tmp_path / "m"]
    run(capsys, *words, "--errors", "z=uncertainty")
    data, y, y_std = problem
    same(svmgsu.load(tmp_path / "m"), svmgsu.train_regressor(data, y, y_std=y_std))
    run(capsys, *words, "--exact", "uncertainty")
    assert svmgsu.load(tmp_path / "m").feature_names_in_ == ["u", "g", "uncertainty"]


def test_asymmetric_errors_of_targets_move_them_as_they_move_features(tmp_path):
    (tmp_path / "t.csv").write_text("x,z,z_err1,z_err2\n0,1,0.5,-0.1\n1,3,0.2,-0.2\n2,4,0.1,-0.4\n")
    found = svmgsu.io.read_table(tmp_path / "t.csv", target="z")
    as_feature = svmgsu.io.read_table(tmp_path / "t.csv", features=["z"])
    np.testing.assert_allclose(found.y, as_feature.data.mean[:, 0])
    np.testing.assert_allclose(found.y_std**2, as_feature.data.cov.variances[:, 0])
    assert found.data.feature_names_in_ == ["x"] and found.data.cov is None


@pytest.mark.parametrize("ending", ["npz", "svm", "txt"])
def test_other_formats_have_targets_for_labels(ending, problem, tmp_path, capsys):
    data, y, _ = problem
    path, more = tmp_path / f"d.{ending}", []
    if ending == "npz":
        svmgsu.io.write(data, path, y=y)
    elif ending == "svm":
        svmgsu.io.write(data, path, cov=tmp_path / "c.svm", y=y)
        more = ["--cov", tmp_path / "c.svm"]
    else:
        svmgsu.io.write(data, path, tmp_path / "l.txt", tmp_path / "c.txt", y=y)
        more = ["--labels", tmp_path / "l.txt", "--cov", tmp_path / "c.txt"]
    run(capsys, "train", path, *more, "--task", "regression", "-o", tmp_path / "m")
    wanted = svmgsu.train_regressor(data, y)
    np.testing.assert_allclose(svmgsu.load(tmp_path / "m").coef_, wanted.coef_, rtol=1e-9)
    found = json.loads(run(capsys, "evaluate", tmp_path / "m", path, *more, "--json"))
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((wanted.predict(data) - y) ** 2)))


def test_a_search_is_by_shuffled_folds(problem, tmp_path, capsys):
    data, y, y_std = problem
    order = np.argsort(y)  # folds of a sorted table would ask for targets never seen
    path = table(tmp_path / "t.csv", (data[order], y[order], y_std[order]))
    words = [
        "train",
        path,
        "--task",
        "regression",
        "--target",
        "z",
        "--lams",
        "1e-4:1:3",
        "--cov-scales",
        "0,1",
    ]
    facts = json.loads(run(capsys, *words, "--cv", "4", "--json", "-o", tmp_path / "m"))
    assert facts["task"] == "regression" and len(facts["search"]["tried"]) == 6
    model = svmgsu.load(tmp_path / "m")
    assert (
        model.lam == facts["search"]["lam"] == max(facts["search"]["tried"], key=lambda t: t["mean"])["lam"]
    )
    assert -0.5 < facts["search"]["score"] < 0  # minus the expected squared error


def test_predict_writes_values_and_their_deviations(problem, tmp_path, capsys):
    data = problem[0]
    path = table(tmp_path / "t.csv", problem)
    run(capsys, "train", path, "--task", "regression", "--target", "z", "-o", tmp_path / "m",
        "--predictions", tmp_path / "fitted.csv")  # fmt: skip
    model = svmgsu.load(tmp_path / "m")
    values, std = model.predict(data, return_std=True)
    out = run(capsys, "predict", tmp_path / "m", path, "-o", tmp_path / "p.csv")
    assert out.startswith("60 examples: values from ") and "mean deviation" in out
    for name in ("fitted.csv", "p.csv"):
        rows = list(csv.DictReader((tmp_path / name).read_text().splitlines()))
        assert list(rows[0]) == ["id", "value", "std"] and rows[3]["id"] == "s3"
        np.testing.assert_allclose([float(r["value"]) for r in rows], values, rtol=1e-9)
        np.testing.assert_allclose([float(r["std"]) for r in rows], std, rtol=1e-3)
    lines = run(capsys, "predict", tmp_path / "m", path).splitlines()
    assert lines[0] == "doc_id value std" and lines[1].startswith("s0 ") and len(lines) == 61
    row = json.loads(run(capsys, "predict", tmp_path / "m", path, "--output-format", "jsonl").splitlines()[0])
    assert set(row) == {"id", "value", "std"}
    run(capsys, "predict", tmp_path / "m", path, "--kind", "none", "-o", tmp_path / "p.jsonl", "--json")
    assert set(json.loads((tmp_path / "p.jsonl").read_text().splitlines()[0])) == {"id", "value"}


def test_evaluate_measures_values_and_deviations(problem, tmp_path, capsys):
    data, y, y_std = problem
    path = table(tmp_path / "t.csv", problem)
    run(capsys, "train", path, "--task", "regression", "--target", "z", "-o", tmp_path / "m")
    found = json.loads(run(capsys, "evaluate", tmp_path / "m", path, "--target", "z", "--json"))
    model = svmgsu.load(tmp_path / "m")
    values, std = model.predict(data, return_std=True)
    v = std**2 + y_std**2 + model.scatter_**2
    error = values - y
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-6)
    assert found["mae"] == pytest.approx(np.mean(np.abs(error)), rel=1e-6)
    assert found["r2"] == pytest.approx(1 - np.sum(error**2) / np.sum((y - y.mean()) ** 2), rel=1e-6)
    wanted = np.mean(-(error**2) / (2 * v) - np.log(2 * np.pi * v) / 2)
    assert found["log_likelihood"] == pytest.approx(wanted, rel=1e-6)
    text = run(capsys, "evaluate", tmp_path / "m", path, "--target", "z")
    assert text.startswith("60 examples\n  RMSE ") and "log-likelihood" in text


def test_info_describes_a_regression(problem, tmp_path, capsys):
    path = table(tmp_path / "t.csv", problem)
    run(
        capsys,
        "train",
        path,
        "--task",
        "regression",
        "--target",
        "z",
        "--loss",
        "huber",
        "-o",
        tmp_path / "m",
    )
    facts = json.loads(run(capsys, "info", tmp_path / "m", "--json"))
    assert (facts["task"], facts["loss"], facts["epsilon"], facts["features"]) == (
        "regression",
        "huber",
        1.35,
        2,
    )
    assert facts["scatter"] > 0
    assert "scatter" in run(capsys, "info", tmp_path / "m")


def test_a_picture_of_predictions(problem, tmp_path, capsys):
    path = table(tmp_path / "t.csv", problem)
    run(capsys, "train", path, "--task", "regression", "--target", "z", "-o", tmp_path / "m")
    run(
        capsys,
        "plot",
        "predictions",
        path,
        "--model",
        tmp_path / "m",
        "--target",
        "z",
        "-o",
        tmp_path / "p.png",
    )
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_for_classifiers_refuses_a_regression_in_one_line(problem, tmp_path, capsys):
    path, model = table(tmp_path / "t.csv", problem), tmp_path / "m"
    run(capsys, "train", path, "--task", "regression", "--target", "z", "-o", model)
    for picture in ("boundary", "histogram", "reliability"):
        said = refused(capsys, 1, "plot", picture, path, "--model", model, "-o", tmp_path / "p.png")
        assert (
            said == f"svmgsu plot: {model}: holds a regression, and the picture {picture} is of a classifier"
        )
    said = refused(capsys, 1, "evaluate", model, path, "--target", "z", "--output-format", "gsvm")
    assert (
        said == f"svmgsu evaluate: {model}: holds a regression, and the authors' measures are of classifiers"
    )
    svmgsu.io.write(problem[0], tmp_path / "mean.dat")
    assert predict_main([str(tmp_path / "mean.dat"), str(model), str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert said == f"gsvm-predict: {model}: holds a regression, and gsvm-predict takes a classifier\n"
    assert not (tmp_path / "out").exists()


USAGE = {
    "--loss: 'hinge' is for classification; use": ["--loss", "hinge"],
    "--loss: expected one of 'squared'": ["--loss", "absolute"],
    "argument --epsilon: must be >= 0 and finite, got -1": ["--loss", "huber", "--epsilon", "-1"],
    "--epsilon: must be > 0 and finite, got 0": ["--loss", "huber", "--epsilon", "0"],
    "--epsilon: the loss 'squared' has none": ["--epsilon", "1"],
    "--class-weight: not for --task regression": ["--class-weight", "balanced"],
    "--multi-class: not for --task regression": ["--multi-class", "ovr"],
    "--no-probability: not for --task regression": ["--no-probability"],
    "--solver: --task regression has newton alone": ["--solver", "sgd"],
    "--model-format gsvm: holds classifiers alone": ["--model-format", "gsvm"],
}


@pytest.mark.parametrize("message", USAGE)
def test_options_that_do_not_fit_are_wrong_usage(message, problem, tmp_path, capsys):
    path = table(tmp_path / "t.csv", problem)
    said = refused(
        capsys,
        2,
        "train",
        path,
        "--task",
        "regression",
        "--target",
        "z",
        *USAGE[message],
        "-o",
        tmp_path / "m",
    )
    assert said.startswith(f"svmgsu train: error: {message}")


@pytest.mark.parametrize("option", ["--epsilon"])
def test_options_of_regressions_are_not_for_classifiers(option, problem, tmp_path, capsys):
    path = table(tmp_path / "t.csv", problem)
    said = refused(capsys, 2, "train", path, option, "1", "-o", tmp_path / "m")
    assert said == f"svmgsu train: error: {option}: for --task regression alone"


BAD = {
    "class names": (
        "x,x_err,z\n1,0.1,star\n2,0.1,galaxy\n",
        ": column 'z': a regression predicts numbers, and this holds none; name another --target, or train a "
        "classifier",
    ),
    "a word among numbers": ("x,z\n1,2\n2,three\n", ":3: column 'z' is 'three', which is no number"),
    "constant": ("x,z\n1,2\n2,2\n", ": all targets are 2; a regression needs targets that differ"),
    "NaN": ("x,z\n1,2\n2,nan\n", ":3: column 'z' is missing; --missing drop leaves such examples out"),
    "infinite": ("x,z\n1,2\n2,inf\n", ":3: column 'z' is inf"),
    "an error of 0": (
        "x,z,z_err\n1,2,0.1\n2,3,0\n",
        ":3: the error of the target, column 'z_err', is 0; errors of targets must be > 0",
    ),
    "a negative error": ("x,z,z_err\n1,2,0.1\n2,3,-1\n", ":3: column 'z_err' is -1; errors must be >= 0"),
    "two errors": (
        "x,z,z_err,z_std\n1,2,0.1,1\n2,3,1,1\n",
        ": 'z' has more than one uncertainty: z_err and z_std",
    ),
    "no such column": ("x,y\n1,2\n2,3\n", ": target: there is no column 'z'; there are x, y"),
    "nothing else": ("z,z_err\n1,2\n2,3\n", ": there is no column to take as a feature"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_targets_are_one_clear_line(name, tmp_path, capsys):
    content, message = BAD[name]
    path = tmp_path / "t.csv"
    path.write_text(content)
    words = ["train", path, "--task", "regression", "--target", "z", "-o", tmp_path / "m"]
    code = main([str(word) for word in words])
    said = capsys.readouterr().err
    assert code == 1 and said.count("\n") == 1, said
    assert said.startswith(f"svmgsu train: {path}{message}"), said
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--id", "z"], "target: 'z' is an id; name another column"),
        (["--ignore", "z"], "target: 'z' is to be ignored; name another column"),
        (["--features", "u,z"], "target: 'z' is a feature; name another column"),
        (["--errors", "z=q"], "errors: there is no column 'q'"),
    ],
)
def test_a_target_that_is_something_else_is_refused(more, message, problem, tmp_path, capsys):
    path = table(tmp_path / "t.csv", problem)
    words = ["train", path, "--task", "regression", "--target", "z", "-o", tmp_path / "m"]
    assert message in refused(capsys, 1, *words, *more)


def test_errors_of_targets_may_be_left_out(problem, tmp_path, capsys):
    path = table(tmp_path / "t.csv", problem)
    run(
        capsys,
        "train",
        path,
        "--task",
        "regression",
        "--target",
        "z",
        "--ignore",
        "z_err",
        "-o",
        tmp_path / "m",
    )
    same(svmgsu.load(tmp_path / "m"), svmgsu.train_regressor(problem[0], problem[1]))


def test_a_table_without_a_target_is_told_what_to_name(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n2,4\n")
    said = refused(capsys, 1, "train", tmp_path / "t.csv", "--task", "regression", "-o", tmp_path / "m")
    assert said.endswith("target: name the column to predict, one of a, b, ...")


def test_targets_of_other_formats_must_be_numbers(problem, tmp_path, capsys):
    svmgsu.io.write(problem[0], tmp_path / "d.npz", y=np.where(problem[1] > 0, "up", "down"))
    said = refused(capsys, 1, "train", tmp_path / "d.npz", "--task", "regression", "-o", tmp_path / "m")
    assert said.startswith(f"svmgsu train: {tmp_path / 'd.npz'}: expected numbers to predict, got <U4 values")
