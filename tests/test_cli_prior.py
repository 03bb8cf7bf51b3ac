"""`--prior`: the classes' shares where new examples come from, on the command line as in the library."""

import json

import numpy as np
import pytest

import svmgsu
from svmgsu.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("prior")
    rng = np.random.default_rng(1)
    y = np.repeat(["galaxy", "star"], 40)
    X = rng.normal(size=(80, 2)) + (y == "star")[:, np.newaxis]
    data = svmgsu.Gaussians(X, std=rng.uniform(0.2, 1, X.shape))
    svmgsu.io.write(data, path / "d.npz", y=y)
    svmgsu.train(data, y).save(path / "m")
    svmgsu.train(data, y, probability=False).save(path / "without")
    svmgsu.train_regressor(data, X[:, 0]).save(path / "regression")
    return path


def test_probabilities_and_labels_follow_it(folder, capsys):
    words = ["predict", str(folder / "m"), str(folder / "d.npz"), "--output-format", "jsonl"]
    assert main([*words, "--prior", "star=1,galaxy=99"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    data = svmgsu.io.read(folder / "d.npz").data
    wanted = svmgsu.load(folder / "m").predict_proba(data, prior={"galaxy": 0.99, "star": 0.01})
    assert [row["p_star"] for row in rows] == wanted[:, 1].tolist()
    assert [row["label"] for row in rows] == np.where(wanted[:, 1] > 0.5, "star", "galaxy").tolist()
    assert main(words) == 0
    plain = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert sum(row["label"] == "star" for row in plain) > sum(row["label"] == "star" for row in rows)


def test_measures_follow_it(folder, capsys):
    found = []
    for more in ([], ["--prior", "star=0.01,galaxy=0.99"]):
        assert main(["evaluate", str(folder / "m"), str(folder / "d.npz"), "--json", *more]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[1]["log_loss"] > found[0]["log_loss"] and found[1]["recall"] < found[0]["recall"]


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ("star=1", "--prior: expected a share of each of 'galaxy', 'star', got"),
        ("star=1,quasar=1", "--prior: expected LABEL=SHARE with a label of galaxy, star, got 'quasar=1'"),
        ("star=x,galaxy=1", "--prior: expected LABEL=SHARE with a label of galaxy, star, got 'star=x'"),
        ("star=-1,galaxy=2", "--prior: shares must be positive and finite"),
    ],
)
def test_wrong_shares_are_wrong_usage(prior, message, folder, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["predict", str(folder / "m"), str(folder / "d.npz"), "--prior", prior])
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ["without", "regression"])
def test_a_model_without_probabilities_has_none_to_change(name, folder, capsys):
    assert main(["predict", str(folder / name), str(folder / "d.npz"), "--prior", "star=1,galaxy=1"]) == 1
    said = capsys.readouterr().err
    assert said == f"svmgsu predict: {folder / name}: holds no probabilities, which --prior is for\n"
