"""`svmgsu train`, `predict` and `evaluate`: files in and out, and the same numbers as the library."""

import csv
import io
import json
import subprocess
import sys

import numpy as np
import pytest

import svmgsu
from svmgsu.cli import main
from svmgsu.cli.base import grid

PROGRAM = "import sys; from svmgsu.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 30)
    X = rng.normal(size=(60, 3)) + 0.8 * y[:, np.newaxis]
    return svmgsu.Gaussians(X, svmgsu.Diagonal(rng.uniform(0.05, 1, X.shape))), y


@pytest.fixture(scope="module")
def files(problem, tmp_path_factory):
    """The problem in every format; `text` gives the options of the authors' text."""
    folder = tmp_path_factory.mktemp("files")
    data, y = problem
    svmgsu.io.write_text(data, folder / "mean.dat", folder / "labels.dat", folder / "cov.dat", y=y)
    svmgsu.io.write(data, folder / "data.csv", y=y)
    svmgsu.io.write(data, folder / "data.npz", y=y)
    svmgsu.io.write(data, folder / "data.svm", cov=folder / "var.svm", y=y)
    three = np.array(["a", "b", "c"])[np.arange(60) % 3]
    svmgsu.io.write(data, folder / "three.csv", y=three)
    return folder


@pytest.fixture
def text(files):
    return [
        str(files / "mean.dat"),
        "--labels",
        str(files / "labels.dat"),
        "--cov",
        str(files / "cov.dat"),
    ]


def trained(words, path, capsys, *more):
    """The model that `svmgsu train` writes to `path`."""
    code = main(["train", *words, *more, "-o", str(path)])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return svmgsu.load(path)


@pytest.mark.parametrize("name", ["text", "data.csv", "data.npz", "data.svm"])
def test_every_format_gives_the_library_s_model(name, problem, files, text, tmp_path, capsys):
    words = text if name == "text" else [str(files / name)]
    if name == "data.svm":
        words += ["--cov", str(files / "var.svm")]
    model = trained(words, tmp_path / "m", capsys, "--lam", "0.1")
    wanted = svmgsu.train(*problem, lam=0.1)
    assert np.allclose(model.coef_, wanted.coef_, rtol=1e-9, atol=0)
    assert model.platt_ == pytest.approx(wanted.platt_, rel=1e-6)


OPTIONS = {
    "cov scale": (["--cov-scale", "0.3"], {"cov_scale": 0.3}),
    "subspace": (["--subspace", "0.8"], {"subspace": 0.8}),
    "project": (
        ["--subspace", "0.8", "--subspace-mode", "project"],
        {"subspace": 0.8, "subspace_mode": "project"},
    ),
    "sgd": (
        ["--solver", "sgd", "-T", "500", "-k", "3", "--seed", "5", "--average", "0.25"],
        {"solver": "sgd", "T": 500, "k": 3, "seed": 5, "average": 0.25},
    ),
    "balanced": (["--class-weight", "balanced"], {"class_weight": "balanced"}),
    "class weight": (["--class-weight=-1=2,1=0.5"], {"class_weight": {-1: 2.0, 1: 0.5}}),
    "no intercept": (["--no-intercept"], {"fit_intercept": False}),
    "tolerance": (["--tol", "0.1", "--max-iter", "50"], {"tol": 0.1, "max_iter": 50}),
    "probability": (["--probability", "train"], {"probability": "train"}),
    "no probability": (["--no-probability"], {"probability": False}),
    "threads": (["--threads", "2", "--jobs", "1"], {}),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_the_library_s(name, problem, text, tmp_path, capsys):
    words, arguments = OPTIONS[name]
    model = trained(text, tmp_path / "m", capsys, *words)
    wanted = svmgsu.train(*problem, **arguments)
    assert (model.coef_ == wanted.coef_).all() and (model.intercept_ == wanted.intercept_).all()
    assert model.platt_ == wanted.platt_


def test_deployment_noise_from_a_file(problem, text, tmp_path, capsys):
    np.save(tmp_path / "noise.npy", np.array([0.1, 0.5, 0.0]))
    model = trained(text, tmp_path / "m", capsys, "--deployment-cov", str(tmp_path / "noise.npy"))
    wanted = svmgsu.train(*problem, deployment_cov=np.array([0.1, 0.5, 0.0]))
    assert (model.coef_ == wanted.coef_).all()


def test_kind_none_is_the_ordinary_svm(problem, text, tmp_path, capsys):
    model = trained(text, tmp_path / "m", capsys, "--kind", "none")
    assert (model.coef_ == svmgsu.train(problem[0].mean, problem[1]).coef_).all()


def test_one_standard_deviation_for_all(problem, text, tmp_path, capsys):
    model = trained(text[:3], tmp_path / "m", capsys, "--std", "0.4")
    assert (model.coef_ == svmgsu.train(problem[0].mean, problem[1], std=0.4).coef_).all()


def test_a_search_finds_what_the_library_finds(problem, files, tmp_path, capsys):
    words = ["train", str(files / "data.npz"), "--lams", "1e-3:1:4", "--cov-scales", "0,1", "--cv", "3"]
    assert main([*words, "-o", str(tmp_path / "m"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    search = svmgsu.LinearSVMGSUCV([1e-3, 1e-2, 1e-1, 1], cov_scales=[0, 1], cv=3).fit(*problem)
    assert (found["search"]["lam"], found["search"]["cov_scale"]) == (search.lam_, search.cov_scale_)
    assert found["search"]["score"] == search.best_score_ and len(found["search"]["tried"]) == 8
    assert (svmgsu.load(tmp_path / "m").coef_ == search.coef_).all()


def test_a_grid_is_numbers_or_a_range():
    assert grid("1e-4:1:5") == [1e-4, 1e-3, 1e-2, 1e-1, 1.0]
    assert grid("1,0.1,0") == [1.0, 0.1, 0.0]


def test_facts_as_json(text, tmp_path, capsys):
    assert main(["train", *text, "-o", str(tmp_path / "m"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["examples"], found["features"], found["classes"]) == (60, 3, [-1, 1])
    assert found["covariance"] == "diagonal" and found["notes"] == []
    assert 0 <= found["gap"] <= 1e-6 * found["objective"]


def test_dropped_examples_are_told(text, tmp_path, capsys):
    labels = tmp_path / "labels"
    labels.write_text("".join(f"{k} {1 if k > 30 else -1}\n" for k in range(5, 58)))
    words = [text[0], "--labels", str(labels), "-o", str(tmp_path / "m")]
    assert main(["train", *words]) == 0
    assert capsys.readouterr().err == f"svmgsu train: note: {text[0]}: 7 of 60 examples dropped\n"


def test_warnings_become_notes_of_one_line(text, tmp_path, capsys):
    assert main(["train", *text, "--max-iter", "1", "--tol", "1e-12", "-o", str(tmp_path / "m")]) == 0
    err = capsys.readouterr().err
    assert err.startswith("svmgsu train: note: ") and err.count("\n") == 1


def test_the_authors_model_format(problem, text, tmp_path, capsys):
    model = trained(text, tmp_path / "m", capsys, "--model-format", "gsvm")
    assert (tmp_path / "m").read_text().startswith("SVM-GSU Model_File\n")
    assert (model.coef_ == svmgsu.train(*problem).coef_).all()


@pytest.mark.parametrize("ending", ["txt", "csv", "parquet", "jsonl"])
def test_predictions_are_the_library_s(ending, problem, text, tmp_path, capsys):
    model = trained(text, tmp_path / "m", capsys)
    out = tmp_path / f"p.{ending}"
    cov = ["--cov", text[4]]
    assert main(["predict", str(tmp_path / "m"), text[0], *cov, "-o", str(out)]) == 0
    assert "60 examples" in capsys.readouterr().out
    if ending == "txt":
        lines = [line.split() for line in out.read_text().splitlines()]
        assert lines[0] == ["doc_id", "+1", "-1", "label"]
        found = {int(id): float(p) for id, p, _, _ in lines[1:]}
    elif ending == "csv":
        found = {int(row["id"]): float(row["p_1"]) for row in csv.DictReader(io.StringIO(out.read_text()))}
    elif ending == "jsonl":
        rows = map(json.loads, out.read_text().splitlines())
        found = {int(row["id"]): row["p_1"] for row in rows}
    else:
        from pyarrow import parquet

        found = {int(row["id"]): row["p_1"] for row in parquet.read_table(out).to_pylist()}
    wanted = model.predict_proba(problem[0])[:, 1]
    assert [found[k + 1] for k in range(60)] == wanted.tolist()


def test_predictions_while_training(text, tmp_path, capsys):
    model, fitted, later = tmp_path / "m", tmp_path / "fitted.txt", tmp_path / "later.txt"
    assert main(["train", *text, "-o", str(model), "--predictions", str(fitted)]) == 0
    assert main(["predict", str(model), text[0], "--cov", text[4], "-o", str(later)]) == 0
    assert fitted.read_text() == later.read_text()


def test_three_classes(files, tmp_path, capsys):
    model = trained([str(files / "three.csv")], tmp_path / "m", capsys)
    assert model.classes_.tolist() == ["a", "b", "c"]
    out = tmp_path / "p.jsonl"
    assert main(["predict", str(tmp_path / "m"), str(files / "three.csv"), "-o", str(out)]) == 0
    first = json.loads(out.read_text().splitlines()[0])
    assert list(first) == [
        "id", "label", "decision_a", "decision_b", "decision_c", "p_a", "p_b", "p_c"
    ]  # fmt: skip
    assert first["p_a"] + first["p_b"] + first["p_c"] == pytest.approx(1)
    assert main(["predict", str(tmp_path / "m"), str(files / "three.csv"), "-o", str(tmp_path / "p")]) == 1
    assert "the authors' layout is for two" in capsys.readouterr().err
    assert main(["evaluate", str(tmp_path / "m"), str(files / "three.csv")]) == 0
    assert "means over 3 classes" in capsys.readouterr().out


def test_evaluate_prints_the_library_s_measures(problem, text, tmp_path, capsys):
    model = trained(text, tmp_path / "m", capsys)
    data, y = problem
    wanted = svmgsu.metrics.evaluate(
        y, model.decision_function(data), labels=model.classes_, proba=model.predict_proba(data)
    )
    words = ["evaluate", str(tmp_path / "m"), *text]
    assert main(words) == 0
    assert capsys.readouterr().out == f"{wanted}\n"
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(wanted.to_json())
    assert main([*words, "--output-format", "gsvm", "-o", str(tmp_path / "metrics")]) == 0
    assert (tmp_path / "metrics").read_text() == wanted.to_text()


def test_new_data_with_fewer_nonzeros_than_the_model_has_features(text, tmp_path, capsys):
    trained(text, tmp_path / "m", capsys)
    (tmp_path / "new").write_text("a 1:1\nb 2:-1\n")
    assert main(["predict", str(tmp_path / "m"), str(tmp_path / "new")]) == 0
    assert capsys.readouterr().out.count("\n") == 3


def test_standard_streams(text, tmp_path):
    """Means from stdin and the model to stdout, then the model from stdin and predictions to stdout."""
    with open(text[0], "rb") as means:
        first = subprocess.run(
            [sys.executable, "-c", PROGRAM, "train", "-", *text[1:], "-o", "-"],
            stdin=means,
            capture_output=True,
        )
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith(b"svmgsu-model 3\n") and first.stdout.endswith(b"end\n")
    assert b"60 examples" in first.stderr
    second = subprocess.run(
        [sys.executable, "-c", PROGRAM, "predict", "-", text[0]], input=first.stdout, capture_output=True
    )
    assert second.returncode == 0, second.stderr
    assert second.stdout.startswith(b"doc_id +1 -1 label\n") and second.stdout.count(b"\n") == 61


def test_a_reader_that_has_seen_enough_is_no_error(text, tmp_path, capsys):
    trained(text, tmp_path / "m", capsys)
    (tmp_path / "many").write_text("".join(f"x{k} 1:{k}\n" for k in range(50_000)))
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "predict", str(tmp_path / "m"), str(tmp_path / "many")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"doc_id +1 -1 label\n"
        process.stdout.close()
        assert process.stderr.read() == b""


TRAIN = ["train", "{mean}", "--labels", "{labels}"]
TO_FILE = [*TRAIN, "-o", "m"]
WRONG_USAGE = {
    "no labels": ["train", "{mean}", "-o", "m"],
    "lam not a number": [*TO_FILE, "--lam", "x"],
    "lam negative": [*TO_FILE, "--lam=-1"],
    "lam infinite": [*TO_FILE, "--lam", "inf"],
    "lam and lams": [*TO_FILE, "--lam", "1", "--lams", "1,2"],
    "lams with 0": [*TO_FILE, "--lams", "1,0"],
    "half a range": [*TO_FILE, "--lams", "1:2"],
    "two scales": [*TO_FILE, "--cov-scale", "1", "--cov-scales", "0,1"],
    "search by sgd": [*TO_FILE, "--solver", "sgd", "--lams", "1,2"],
    "cv without a search": [*TO_FILE, "--cv", "3"],
    "one fold": [*TO_FILE, "--lams", "1,2", "--cv", "1"],
    "std and cov": [*TO_FILE, "--cov", "{cov}", "--std", "1"],
    "stdin twice": ["train", "-", "--labels", "-", "-o", "m"],
    "stdout twice": [*TRAIN, "-o", "-", "--predictions", "-"],
    "no output": TRAIN,
    "subspace above 1": [*TO_FILE, "--subspace", "1.5"],
    "column of text": [*TO_FILE, "--target", "y"],
    "unknown class": [*TO_FILE, "--class-weight", "star=2"],
    "abbreviated": ["train", "{mean}", "--lab", "{labels}", "-o", "m"],
    "labels beside npz": ["train", "{npz}", "--labels", "{labels}", "-o", "m"],
    "model and data from stdin": ["predict", "-", "-"],
    "authors' model without probabilities": [*TO_FILE, "--model-format", "gsvm", "--no-probability"],
    "authors' layout without probabilities": [*TO_FILE, "--predictions", "p", "--no-probability"],
    "json and a table": ["evaluate", "m", "{mean}", "--json", "--output-format", "table"],
}


@pytest.mark.parametrize("name", WRONG_USAGE)
def test_wrong_usage_is_exit_code_2(name, files, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    paths = {key: str(files / f"{key}.dat") for key in ("mean", "labels", "cov")}
    paths["npz"] = str(files / "data.npz")
    with pytest.raises(SystemExit) as exit_:
        main([word.format(**paths) for word in WRONG_USAGE[name]])
    assert exit_.value.code == 2
    assert "usage: svmgsu" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", ["no/such/folder/m", "."])
def test_where_nothing_can_be_written_nothing_is_read(target, text, capsys):
    assert main(["train", "missing.dat", *text[1:], "-o", target]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"svmgsu train: {target}: ") and "folder" in err


def test_an_index_that_the_model_does_not_know(text, tmp_path, capsys):
    trained(text, tmp_path / "m", capsys)
    (tmp_path / "new").write_text("a 1:1 4:1\n")
    assert main(["predict", str(tmp_path / "m"), str(tmp_path / "new")]) == 1
    err = capsys.readouterr().err
    assert (
        err
        == f"svmgsu predict: {tmp_path / 'new'}:1:7: index 4 is beyond the 3 features of {tmp_path / 'm'}\n"
    )


def test_an_interrupted_command_writes_nothing(text, tmp_path, monkeypatch, capsys):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("svmgsu.cli.train.train", interrupt)
    assert main(["train", *text, "-o", str(tmp_path / "m")]) == 130
    assert capsys.readouterr().err == "svmgsu train: interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_another_kind_than_the_file_has(files, tmp_path, capsys):
    assert main(["train", str(files / "data.csv"), "--kind", "full", "-o", str(tmp_path / "m")]) == 1
    assert "--kind full, but the covariance is diagonal" in capsys.readouterr().err


def test_progress_is_shown_on_request(text, tmp_path, capsys):
    assert main(["train", *text, "-o", str(tmp_path / "m"), "--progress"]) == 0
    assert "svmgsu newton" in capsys.readouterr().err


def test_plain_training_loads_neither_scikit_learn_nor_scipy(text, tmp_path):
    code = (
        "import sys; from svmgsu.cli import main\n"
        "assert main(sys.argv[1:]) == 0\n"
        "print({'sklearn', 'scipy', 'matplotlib', 'pyarrow', 'tqdm', 'json'} & set(sys.modules))"
    )
    words = ["train", *text, "-o", str(tmp_path / "m"), "--predictions", str(tmp_path / "p")]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "set()", done.stderr
