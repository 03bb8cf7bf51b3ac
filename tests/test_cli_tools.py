"""`svmgsu plot`, `convert` and `info`."""

import json
import shutil
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import svmgsu
from svmgsu.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tools")
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 20)
    X = rng.normal(size=(40, 2)) + y[:, np.newaxis]
    data = svmgsu.Gaussians(X, svmgsu.Diagonal(rng.uniform(0.05, 0.5, X.shape)))
    svmgsu.io.write(data, path / "data.npz", y=y)
    svmgsu.io.write(data, path / "mean.dat", path / "labels.dat", path / "cov.dat", y=y)
    svmgsu.train(data, y).save(path / "model")
    svmgsu.LinearSVRGSU().fit(data, y.astype(float)).model_.save(path / "regression")
    return path


BEGINNINGS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
PICTURES = {
    "boundary": ["--mass", "0.9"],
    "histogram": ["--bins", "12"],
    "reliability": [],
    "predictions": [],
}


@pytest.mark.parametrize("picture", PICTURES)
def test_pictures(picture, folder, tmp_path, capsys):
    ending = list(BEGINNINGS)[len(picture) % 3]
    out = tmp_path / f"picture.{ending}"
    model = "regression" if picture == "predictions" else "model"
    words = [str(folder / model), str(folder / "data.npz"), *PICTURES[picture]]
    assert main(["plot", picture, *words, "-o", str(out)]) == 0
    assert capsys.readouterr() == ("", "")
    assert out.read_bytes().startswith(BEGINNINGS[ending])
    assert list(tmp_path.iterdir()) == [out]
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["boundary", "model", "-o", "a.png"], 2, "DATA"),
        (["boundary", "model", "data.npz", "-o", "a.txt"], 2, "should end in one of .png, .svg, .pdf"),
        (["flower", "model", "data.npz", "-o", "a.png"], 2, "invalid choice: 'flower'"),
        (["histogram", "model", "data.npz", "--class", "7", "-o", "a.png"], 2, "--class: '7' is not one of"),
        (["boundary", "regression", "data.npz", "-o", "a.png"], 1, "holds a regression"),
        (["predictions", "model", "data.npz", "-o", "a.png"], 1, "holds a classifier"),
    ],
)
def test_wrong_usage_of_plot(words, code, message, folder, tmp_path, monkeypatch, capsys):
    names = ("data.npz", "model", "regression")
    for name in names:
        shutil.copy(folder / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    try:
        found = main(["plot", *words])
    except SystemExit as stop:
        found = stop.code
    assert found == code and message in capsys.readouterr().err
    assert {p.name for p in tmp_path.iterdir()} == set(names)


def test_convert_there_and_back(folder, tmp_path, capsys):
    table, means, labels, cov = (tmp_path / name for name in ("t.csv.gz", "means", "labels", "cov"))
    text = [
        str(folder / "mean.dat"),
        "--labels",
        str(folder / "labels.dat"),
        "--cov",
        str(folder / "cov.dat"),
    ]
    assert main(["convert", text[0], str(table), *text[1:]]) == 0
    assert capsys.readouterr().out == f"40 samples, 2 features: {table}\n"
    back = ["convert", str(table), str(means), "--to-labels", str(labels), "--to-cov", str(cov)]
    assert main([*back, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["targets"] == [str(means), str(labels), str(cov)]
    for new, old in ((means, "mean.dat"), (labels, "labels.dat")):
        assert new.read_text() == (folder / old).read_text()
    first, again = (svmgsu.io.read_text(folder / "mean.dat", cov=c).data for c in (folder / "cov.dat", cov))
    assert np.allclose(first.cov.variances, again.cov.variances, rtol=1e-14)


def test_convert_refuses_what_a_format_cannot_hold(folder, tmp_path, capsys):
    target, labels = tmp_path / "t.npz", tmp_path / "labels"
    with pytest.raises(SystemExit) as exit_:
        main(["convert", str(folder / "data.npz"), str(target), "--to-labels", str(labels)])
    assert exit_.value.code == 2
    assert "the format npz, which has no file of its own for it" in capsys.readouterr().err
    full = tmp_path / "full.npz"
    svmgsu.io.write(svmgsu.Gaussians(np.eye(2), svmgsu.Full(np.array([np.eye(2)] * 2))), full)
    assert main(["convert", str(full), str(tmp_path / "t.csv")]) == 1
    assert "holds isotropic and diagonal covariances" in capsys.readouterr().err
    full.unlink()
    assert list(tmp_path.iterdir()) == []


def test_info_of_a_model(folder, capsys):
    assert main(["info", str(folder / "model"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["model"], found["features"], found["classes"]) == ("linear classifier", 2, [-1, 1])
    assert main(["info", str(folder / "model")]) == 0
    assert "probabilities  yes\n" in capsys.readouterr().out


def test_info_of_data(folder, capsys):
    assert main(["info", str(folder / "data.npz")]) == 0
    out = capsys.readouterr().out
    assert (
        "samples     40\n" in out and "covariance  diagonal\n" in out and "classes     -1: 20, 1: 20\n" in out
    )


def test_convert_says_what_was_read_but_not_written(tmp_path, capsys):
    table = tmp_path / "t.csv"
    table.write_text("id,x,x_err,label\na,1,0.5,0\nb,2,0.5,1\n")
    for name, lost in (
        ("m.dat", {"labels", "covariances"}),
        ("m.npz", set()),
    ):
        target = tmp_path / name
        assert main(["convert", str(table), str(target), "--json"]) == 0
        captured = capsys.readouterr()
        notes = [f"{target}: {what} were read but not written" for what in lost]
        assert set(notes) == {note for note in json.loads(captured.out)["notes"] if "not written" in note}
        assert all(f"svmgsu convert: note: {note}\n" in captured.err for note in notes)


def test_an_unknown_ending_lists_what_can_be_written(folder, tmp_path, capsys):
    model, data, out = str(folder / "model"), str(folder / "data.npz"), str(tmp_path / "out.docx")
    for words in (["predict", model, data, "-o", out], ["convert", data, out]):
        assert main(words) == 1
        said = capsys.readouterr().err
        assert ".docx is not known" in said and ".parquet" in said and ".txt" in said
    with pytest.raises(SystemExit):
        main(["evaluate", model, data, "-o", out])
    assert "should end in .txt or .json" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_package_runs_as_a_module():
    done = subprocess.run([sys.executable, "-m", "svmgsu", "--version"], capture_output=True, text=True)
    assert done.stdout == f"svmgsu {svmgsu.__version__}\n" and done.returncode == 0


def test_columns_that_tell_the_target_and_repeated_ids_are_named_with_their_options(tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    table = {"star_id": np.arange(200) // 4, "n": np.arange(200), "label": np.where(y, "a", "b")}
    table |= {"x": y + rng.normal(size=200), "x_err": np.ones(200)}
    table |= {"score": y + 1e-3 * rng.normal(size=200), "flag": y * (rng.uniform(size=200) < 0.5)}
    path = tmp_path / "t.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    assert main(["train", str(path), "--model", "linear"]) == 0
    said = capsys.readouterr()
    assert "2 ids (star_id, n)" in said.out
    assert "--groups star_id" in said.err
    assert "--ignore score,flag" in said.err
    assert main(["train", str(path), "--model", "linear", "--ignore", "score,flag"]) == 0
    assert "--ignore" not in capsys.readouterr().err
    found = svmgsu.io.read(path, groups="star_id", ignore=["score", "flag"])
    assert found.data.feature_names_in_ == ["x"] and len(set(found.groups.tolist())) == 50
    assert found.ids[7] == "7" and not any("repeat" in note for note in found.report.notes)
    with pytest.raises(SystemExit):
        main(["train", str(path), "--model", "linear", "--groups", "star_id"])
    assert "linear models make no use of groups" in capsys.readouterr().err


def test_groups_are_kept_together_in_training(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    table = {"star_id": np.arange(60) // 3, "label": np.arange(60) // 3 % 2, "x": rng.normal(size=60)}
    pd.DataFrame(table).to_csv(tmp_path / "t.csv", index=False)
    seen = {}

    def fit(self, X, y, **more):
        seen.update(more)
        raise ValueError("far enough")

    monkeypatch.setattr(svmgsu.GSUClassifier, "fit", fit)
    assert main(["train", str(tmp_path / "t.csv"), "--groups", "star_id"]) == 1
    assert seen["groups"].tolist() == [str(k // 3) for k in range(60)]
