"""The command `svmgsu`: exit codes, help, and the demo's table."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import svmgsu
from svmgsu.cli import COMMANDS, main
from svmgsu.models.classifier import probability_right


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60)


def test_info_prints_version_and_build(capsys):
    assert main(["info"]) == 0
    out = capsys.readouterr().out
    assert svmgsu.__version__ in out and "compiler" in out


def test_version(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out == f"svmgsu {svmgsu.__version__}\n"


@pytest.mark.parametrize("argv", [[], ["fly"], ["demo", "--splits", "many"], ["info", "--loud"]])
def test_wrong_usage_is_exit_code_2(argv, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(argv)
    assert exit_.value.code == 2
    assert "usage: svmgsu" in capsys.readouterr().err


def test_wrong_usage_of_demo_is_found_before_the_work(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["demo", "--splits", "1"])
    captured = capsys.readouterr()
    assert exit_.value.code == 2 and captured.out == ""
    assert "--splits: a standard error needs at least 2, got 1" in captured.err


def test_wrong_data_is_exit_code_1_and_one_line(capsys):
    assert main(["train", "no.csv"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "svmgsu train: no.csv: no such file or directory\n"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_of_every_command_teaches_by_example(command, capsys):
    with pytest.raises(SystemExit) as exit_:
        main([command.name, "--help"])
    assert exit_.value.code == 0
    out = capsys.readouterr().out
    assert f"  svmgsu {command.name}" in out and "Exit codes" in out


def test_demo_prints_the_table(capsys):
    assert main(["demo", "--splits", "2"]) == 0
    out = capsys.readouterr().out
    for text in ("values only", "with standard errors", "1 × se²", "10 × se²", "2 random splits"):
        assert text in out


def test_a_missing_package_is_named():
    done = python(
        "import sys; sys.modules['sklearn'] = None; from svmgsu.cli import main\nsys.exit(main(['demo']))"
    )
    assert done.returncode == 1
    assert done.stderr == "svmgsu demo: needs sklearn: pip install 'svmgsu[demo]'\n"


def test_the_programs_that_are_installed_exist():
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8")
    section = text.split("[project.scripts]\n")[1].split("\n\n")[0]
    scripts = dict(re.findall(r'^([\w-]+) = "(.+)"$', section, re.MULTILINE))
    assert set(scripts) == {"svmgsu", "gsvm-train", "gsvm-predict"}
    for place in scripts.values():
        module, function = place.split(":")
        assert callable(getattr(importlib.import_module(module), function))


def test_expected_accuracy_is_the_mean_over_noisy_copies():
    rng = np.random.default_rng(0)
    X, variances = rng.normal(size=(6, 2)), rng.uniform(0.1, 1, (6, 2))
    variances[0] = 0
    y = np.array([0, 1, 0, 1, 0, 1])
    model = svmgsu.models.classifier.Model(np.array([[1.0, -2.0]]), np.array([0.3]), np.array([0, 1]), 1.0)
    copies = X + np.sqrt(variances) * rng.standard_normal((40_000, 6, 2))
    right = (model.predict(copies.reshape(-1, 2)).reshape(-1, 6) == y).mean(axis=1)
    error = scipy.stats.sem(right)
    std = np.sqrt(variances @ model.coef_[0] ** 2)
    expected = probability_right(model.decision_function(X), std, 2.0 * y - 1).mean()
    assert expected == pytest.approx(right.mean(), abs=5 * error)
