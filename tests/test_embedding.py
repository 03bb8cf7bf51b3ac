"""A C++ application that embeds the library predicts the bits that Python does, from the same model file."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import train_with

import svmgsu

SOURCE = Path(__file__).parent.parent / "examples" / "cpp"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """examples/cpp/predict.cpp, compiled for this very machine, while the library is not."""
    if not (shutil.which("cmake") and (shutil.which("c++") or shutil.which("g++"))):
        pytest.skip("needs cmake and a C++ compiler")
    folder = tmp_path_factory.mktemp("predict")
    options = [f"-Dsvmgsu_DIR={svmgsu.get_cmake_dir()}", "-DCMAKE_CXX_FLAGS=-O1 -march=native"]
    for command in (["-S", SOURCE, "-B", folder, *options], ["--build", folder, "--target", "predict"]):
        done = subprocess.run(["cmake", *map(str, command)], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "predict"


def said(program, model, folder, X, E=None):
    """The lines of the program: labels, and the numbers behind them."""
    model.save(folder / "m")
    rows = X if E is None else np.hstack([X, E])
    text = "\n".join(" ".join(map(repr, row)) for row in rows.tolist())
    done = subprocess.run([program, folder / "m"], input=text, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [line.split(" ") for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def objects():
    rng = np.random.default_rng(8)
    y = np.arange(240) % 4
    X = rng.normal(size=(240, 13)) * np.logspace(-2, 2, 13) + np.eye(4, 13)[y] * 2 * np.logspace(-2, 2, 13)
    return X, y, rng.uniform(0.1, 1.5, X.shape) * np.logspace(-2, 2, 13)


CLASSIFIERS = {
    "two": (2, {}),
    "two without probabilities": (2, {"probability": False}),
    "two by own probabilities": (2, {"loss": "logistic"}),
    "two with shares and weights": (2, {"prior": [0.9, 0.1], "class_weight": {0: 1.0, 1: 7.0}}),
    "pairs": (4, {}),
    "pairs that vote": (4, {"probability": False}),
    "pairs by own probabilities": (4, {"loss": "logistic", "class_weight": "balanced"}),
    "each against the rest": (4, {"multi_class": "ovr", "prior": [0.4, 0.3, 0.2, 0.1]}),
    "each against the rest without probabilities": (4, {"multi_class": "ovr", "probability": False}),
}


@pytest.mark.parametrize("bars", [False, True], ids=["noise-free", "noisy"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_have_the_same_bits(name, bars, program, objects, tmp_path):
    classes, options = CLASSIFIERS[name]
    prior = options.get("prior")
    options = {key: value for key, value in options.items() if key != "prior"}
    X, y, E = objects
    some = y < classes
    X, y, E = X[some], y[some], E[some]
    model = train_with(X, y, std=E, lam=0.01, **options)
    if prior is not None:
        model.set_prior(prior)
    std = E if bars else None
    lines = said(program, model, tmp_path, X, std)
    assert [int(line[0]) for line in lines] == model.predict(X, std=std).tolist()
    numbers = np.array([[float(word) for word in line[1:]] for line in lines])
    planes = len(model.coef_)
    if classes == 2:
        assert (numbers[:, 0] == model.decision_function(X)).all()
    np.testing.assert_allclose(
        numbers[:, :planes], X @ model.coef_.T + model.intercept_, rtol=1e-9, atol=1e-12
    )
    if model.calibration_ is None:
        assert numbers.shape[1] == planes
    else:
        assert (numbers[:, planes:] == model.predict_proba(X, std=std)).all()


@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive", "squared_epsilon_insensitive", "huber"])
def test_regressions_have_the_same_bits(loss, program, objects, tmp_path):
    X, y, E = objects
    model = svmgsu.train(X, y + X[:, 0], std=E, loss=loss)
    values, std = model.predict(X, std=E, return_std=True)
    numbers = np.array(said(program, model, tmp_path, X, E), dtype=float)
    assert (numbers[:, 0] == values).all() and (numbers[:, 1] == std).all()
    numbers = np.array(said(program, model, tmp_path, X), dtype=float)
    assert (numbers[:, 0] == values).all() and not numbers[:, 1].any()


def test_what_does_not_fit_is_one_line(program, objects, tmp_path):
    svmgsu.train(objects[0], objects[1]).save(tmp_path / "m")
    done = subprocess.run(
        [program, tmp_path / "m"], input="1 2 3\n", capture_output=True, text=True, timeout=60
    )
    assert (
        done.returncode == 1
        and done.stderr == "predict: sample 0: 3 numbers, and the model has 13 features\n"
    )
