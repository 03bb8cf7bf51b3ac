"""Malformed files: exit code 1, one line that names file, place and reason, and nothing left behind.

The files are in tests/data/malformed, a folder for each part they play; expected.txt there has the reasons.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from svmgsu.cli import main
from svmgsu.cli.gsvm import train_main

DATA = Path(__file__).parent / "data"
GOOD, MALFORMED = DATA / "good", DATA / "malformed"


def expected():
    """{file: (place, reason)} as the table says."""
    lines = (MALFORMED / "expected.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split(maxsplit=2) for line in lines if not line.startswith("#")]
    return {name: (place, reason[0] if reason else "") for name, place, *reason in rows}


EXPECTED = expected()


def command(part, path, out):
    """The function and arguments of a command that reads `path` and would write `out`."""

    def train(means="means", labels="labels", cov=None, kind=None):
        options = [] if cov is None else ["--cov", str(cov), "--read", f"kind={kind}"]
        return main, ["train", str(GOOD / means), "--labels", str(GOOD / labels), *options, "-o", str(out)]

    if part in ("means", "labels"):
        return train(**{part: path})
    if part in ("diagonal", "full", "isotropic"):
        return train(cov=path, kind=part)
    if part == "gsvm-labels":
        return train_main, ["-d", "1", *map(str, (GOOD / "means", path, GOOD / "diagonal", out))]
    if part == "model":
        return main, ["predict", str(path), str(GOOD / "means"), "-o", str(out)]
    if part == "wrong-width":
        return main, ["predict", str(path), str(GOOD / "data.csv"), "-o", str(out)]
    return main, ["train", str(path), "--model", "linear", "-o", str(out)]


def test_every_file_is_in_the_table():
    files = {f"{p.parent.name}/{p.name}" for p in MALFORMED.glob("*/*")}
    assert files == set(EXPECTED)
    assert len(files) >= 40


@pytest.mark.parametrize("name", EXPECTED)
def test_a_malformed_file_is_refused_in_one_line(name, tmp_path, capsys):
    part, path = name.split("/")[0], MALFORMED / name
    run, words = command(part, path, tmp_path / "out")
    assert run(words) == 1
    captured = capsys.readouterr()
    place, reason = EXPECTED[name]
    assert captured.out == ""
    assert captured.err.count("\n") == 1 and captured.err.endswith("\n")
    assert captured.err.split(": ", 1)[0] in ("svmgsu train", "svmgsu predict", "gsvm-train")
    said = captured.err.split(": ", 1)[1]
    if place == "elsewhere":
        assert str(path) in said
    else:
        where = "" if place == "file" else place
        assert said.startswith(f"{path}{where}: ")
    assert reason in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("part", ["means", "model"])
def test_a_missing_file(part, tmp_path, capsys):
    path = tmp_path / "nowhere"
    run, words = command(part, path, tmp_path / "out")
    assert run(words) == 1
    assert capsys.readouterr().err.split(": ", 1)[1] == f"{path}: no such file or directory\n"


@pytest.mark.parametrize("part", ["means", "model"])
def test_a_folder_for_a_file(part, tmp_path, capsys):
    run, words = command(part, tmp_path, tmp_path / "out")
    assert run(words) == 1
    assert capsys.readouterr().err.split(": ", 1)[1] == f"{tmp_path}: is a directory\n"


def test_a_traceback_is_shown_only_with_debug(tmp_path):
    program = "import sys; from svmgsu.cli import main; sys.exit(main())"
    _, words = command("means", MALFORMED / "means" / "nan", tmp_path / "out")
    runs = [
        subprocess.run([sys.executable, "-c", program, *words, *more], capture_output=True, text=True)
        for more in ([], ["--debug"])
    ]
    assert [run.returncode for run in runs] == [1, 1]
    assert ["Traceback" in run.stderr for run in runs] == [False, True]
