"""Streams that are closed or broken and names that are no text: one line on stderr and exit code 1."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = Path(__file__).parent / "data" / "good"
PROGRAM = "import sys; from svmgsu.cli import main; sys.exit(main())"
MODEL, DATA = GOOD / "model.svmgsu", GOOD / "data.csv"


def shell(line, *words):
    """Runs `line` in a shell, where "$@" is the command with `words`."""
    command = [sys.executable, "-c", PROGRAM, *map(os.fspath, words)]
    return subprocess.run(["sh", "-c", line, "sh", *command], capture_output=True)


def one_line(run, reason):
    assert run.stderr.count(b"\n") == 1 and run.stderr.startswith(b"svmgsu "), run.stderr
    assert reason in run.stderr.decode()
    assert b"Traceback" not in run.stderr + run.stdout


@pytest.mark.parametrize(
    "words",
    [("predict", MODEL, DATA), ("info", MODEL), ("train", DATA, "--model", "linear", "-o", "/dev/null")],
)
def test_a_closed_standard_output(words):
    run = shell('"$@" >&-', *words)
    assert run.returncode == 1
    one_line(run, "standard output is closed")


@pytest.mark.parametrize("words", [("predict", MODEL, "-"), ("predict", "-", DATA)])
def test_a_closed_standard_input(words):
    run = shell('"$@" <&-', *words)
    assert run.returncode == 1
    one_line(run, "standard input: is closed")


@pytest.mark.parametrize("words", [("predict", MODEL, DATA), ("info", MODEL)])
def test_a_reader_that_has_gone(words):
    run = shell('{ "$@"; echo "$?" >&2; } | true', *words)
    *said, code = run.stderr.decode().splitlines()
    assert code in ("0", "1")  # the pipe may have taken all before it broke
    assert len(said) <= 1 and all("standard output: broken pipe" in line for line in said)


def test_a_full_standard_output():
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    run = shell('"$@" >/dev/full', "info")
    assert run.returncode == 1
    one_line(run, "standard output: no space left on device")


def test_a_name_that_is_not_utf8(tmp_path):
    ending = "csv"
    stem = os.fsencode(tmp_path) + b"/caf\xe9"
    names = {part: os.fsdecode(stem + b"." + part.encode()) for part in (ending, "m", "txt", "none", "bad")}
    try:
        Path(names[ending]).write_bytes((GOOD / f"data.{ending}").read_bytes())
    except OSError:
        pytest.skip("this file system takes only UTF-8")
    run = shell('"$@"', "train", names[ending], "--model", "linear", "-o", names["m"], "--json")
    assert run.returncode == 0 and run.stderr.count(b"\n") <= 1 and b"caf\\udce9.m" in run.stdout
    assert shell('"$@"', "predict", names["m"], names[ending], "-o", names["txt"]).returncode == 0
    Path(names["bad"]).write_text("a 1:x\n")
    for words, reason in (
        (("predict", names["none"], names[ending]), "caf\\udce9.none: no such file or directory"),
        (("info", names["bad"]), 'caf\\udce9.bad:1:5: expected a number after 1:, got "x"'),
        (("predict", names["bad"], names[ending]), "caf\\udce9.bad:1: not an svmgsu model"),
    ):
        run = shell('"$@"', *words)
        assert run.returncode == 1
        one_line(run, reason)
