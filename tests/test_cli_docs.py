"""docs/command-line.md: every command in it runs and prints what is shown."""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import svmgsu
from svmgsu.cli import COMMANDS, main
from svmgsu.cli.gsvm import predict_main, train_main

PAGE = Path(__file__).parent.parent / "docs" / "command-line.md"
SCRIPTS = {"svmgsu": main, "gsvm-train": train_main, "gsvm-predict": predict_main}


@pytest.fixture
def folder(tmp_path):
    """With the files of the page, and a folder of the three programs."""
    for name, content in re.findall(r"`([\w.]+)`:\n\n```text\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        (tmp_path / name).write_text(content)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, function in SCRIPTS.items():
        path = programs / name
        code = f"from {function.__module__} import {function.__name__}\nsys.exit({function.__name__}())\n"
        path.write_text(f"#!{sys.executable}\nimport sys\n{code}")
        path.chmod(0o755)
    return tmp_path


def commands():
    """(command, what it prints), in the order of the page."""
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = piece.partition("\n")
            yield command, shown


def run(command, environment):
    """Return the exit code and what is printed; lines that need no shell run here, which is faster."""
    program, *words = shlex.split(command)
    if program in SCRIPTS and not set(command) & set("|<>;&$*"):
        said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = SCRIPTS[program](words)
        return code, said.buffer.getvalue().decode()
    done = subprocess.run(
        ["sh", "-c", command],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=300,
    )
    return done.returncode, done.stdout


def test_the_commands_of_the_page_print_what_it_shows(folder, monkeypatch):
    source = Path(svmgsu.__file__).parent.parent
    environment = os.environ | {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(source),
        "PYTHONUTF8": "1",
    }
    monkeypatch.chdir(folder)
    checker = doctest.OutputChecker()
    count = 0
    for command, shown in commands():
        code, said = run(command, environment)
        assert code == 0, f"{command}\n{said}"
        printed = said  # without the line that says what the columns were understood as
        printed = re.sub(r"^svmgsu \w+: note: \S+: \d+ (values|exact) .*\n", "", printed, flags=re.MULTILINE)
        assert checker.check_output(shown, printed, doctest.ELLIPSIS), f"{command}\n{said}"
        count += 1
    assert count >= 15


def test_every_command_is_on_the_page():
    page = PAGE.read_text("utf-8")
    for name in [f"svmgsu {command.name}" for command in COMMANDS if command.name != "demo"] + list(SCRIPTS):
        assert name in page
