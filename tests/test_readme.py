"""What the README shows runs as printed, its figures are those that were measured, and it is short."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import FunctionTransformer

import svmgsu

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
GUIDE = ROOT / "docs" / "guide"


def blocks(language, path=README):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.S)


def test_it_is_short():
    prose = re.sub(r"```.*?```|<!--.*?-->", "", TEXT, flags=re.S)
    assert len(TEXT.splitlines()) <= 150
    assert len(re.findall(r"[^\W\d_]+(?:['-]\w+)*", re.sub(r"\]\([^)]*\)", "]", prose))) <= 700


def test_its_links_lead_somewhere():
    links = [link for link in re.findall(r"\]\(([^)#]+)[^)]*\)", TEXT) if not link.startswith("http")]
    assert len(links) > 15
    for link in links:
        assert (ROOT / link).exists(), link


def test_the_python_block_prints_what_is_shown(capsys):
    (code,), (shown,) = blocks("python"), blocks("text")
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out == shown


# Shell commands: every one is run here, or stands in this list with the reason why not.
ELSEWHERE = {
    "python3 -m venv": "installs; .ci/run does so in a fresh clone, and the demo is run by test_cli.py",
}


def shell_commands(path=README):
    lines = re.findall(r"^    (?:\.venv/bin/)?(\S.*)$", path.read_text(encoding="utf-8"), flags=re.M)
    return [line for line in lines if re.match(r"(svmgsu|python3?|pip|cmake|gsvm-\w+) ", line)]


def run(command, folder, **environment):
    """A line of the shell, where `svmgsu` and `python` are those of this test."""
    programs = f'svmgsu() {{ "{sys.executable}" -m svmgsu "$@"; }}; python() {{ "{sys.executable}" "$@"; }}; '
    result = subprocess.run(
        ["bash", "-c", programs + command],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout


def test_the_shell_commands_run(tmp_path):
    rng = np.random.default_rng(0)
    for name, count in (("stars", 60), ("new", 5), ("test", 30)):
        kind = np.where(np.arange(count) % 2, "star", "galaxy")
        flux = rng.normal(size=count) + 2 * (np.arange(count) % 2)
        frame = pd.DataFrame({"flux": flux, "flux_err": 0.3, "size": rng.normal(size=count), "size_err": 0.1})
        if name != "new":
            frame["label"] = kind
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    commands = shell_commands()
    assert len(commands) >= 5
    mine = [line for line in commands if not any(line.startswith(known) for known in ELSEWHERE)]
    assert [line.split()[1] for line in mine] == ["report", "train", "predict", "evaluate"]
    for line in mine:
        run(line.replace(" report ", " report --quick "), tmp_path)
    assert len((tmp_path / "predictions.csv").read_text().splitlines()) == 6


def test_the_cpp_program_is_built_and_runs(tmp_path):
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for program in ("cmake", "c++"):
        if shutil.which(program, path=folders) is None:
            pytest.skip(f"{program} is not installed: the C++ program of the guide cannot be built")
    (program,), (lists,) = blocks("cpp", GUIDE / "cpp.md"), blocks("cmake", GUIDE / "cpp.md")
    (tmp_path / "main.cpp").write_text(program)
    head = "cmake_minimum_required(VERSION 3.18)\nproject(app CXX)\nadd_executable(app main.cpp)\n"
    find, link = lists.splitlines()
    (tmp_path / "CMakeLists.txt").write_text(f"{head}{find}\n{link}\n")
    (command,) = [line for line in shell_commands(GUIDE / "cpp.md") if line.startswith("cmake")]
    tools = {"PATH": folders}
    if shutil.which("ninja", path=folders):
        tools["CMAKE_GENERATOR"] = "Ninja"
    run(command, tmp_path, **tools)
    run("cmake --build build", tmp_path, **tools)
    first, *rows = run("build/app", tmp_path).splitlines()
    assert re.fullmatch(r" *\S+ +\S+, \S+, gap \S+", first)
    assert len(rows) == 4  # probabilities of each sample


def test_the_calls_of_the_table_of_builders_run():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    table = (GUIDE / "uncertainty.md").read_text(encoding="utf-8").partition("\n## ")[0]
    calls = re.findall(r"\| `([\w.]+\(.*\))` \|$", table, flags=re.M)
    builders = [name for name in svmgsu.uncertainty.__all__ if name.startswith("from_")]
    assert all(any(f".{name}(" in call for call in calls) for name in builders)
    names = {
        "svmgsu": svmgsu,
        "uncertainty": svmgsu.uncertainty,
        "frame": pd.DataFrame(
            {"x": [1.0, 2.0], "x_err": [0.1, 0.2], "z": [3.0, 4.0], "z_err1": 0.1, "z_err2": -0.2}
        ),
        "X": X,
        "std": np.full(X.shape, 0.1),
        "groups": [X[:4], X[4:9], X[9:]],
        "images": rng.random((2, 6, 5)),
        "augment": lambda x, rng: x + rng.normal(size=x.shape),
        "signals": rng.normal(size=(2, 1024)),
        "fs": 128,
        "data": svmgsu.Gaussians(X, std=0.1),
        "f": np.exp,
        "FunctionTransformer": FunctionTransformer,
    }
    for call in calls:
        assert isinstance(eval(call, names), (svmgsu.Gaussians, svmgsu.Mixtures)), call
