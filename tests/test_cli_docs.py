"""docs/command-line.md: every command in it runs and prints what is shown."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import svmgsu

PAGE = Path(__file__).parent.parent / "docs" / "command-line.md"
SCRIPTS = {
    "svmgsu": "from svmgsu.cli import main",
    "gsvm-train": "from svmgsu.cli.gsvm import train_main as main",
    "gsvm-predict": "from svmgsu.cli.gsvm import predict_main as main",
}


@pytest.fixture
def folder(tmp_path):
    """With the files of the page, and a folder of the three programs."""
    for name, content in re.findall(r"`([\w.]+)`:\n\n```text\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        (tmp_path / name).write_text(content)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, code in SCRIPTS.items():
        path = programs / name
        path.write_text(f"#!{sys.executable}\nimport sys\n{code}\nsys.exit(main())\n")
        path.chmod(0o755)
    return tmp_path


def commands():
    """(command, what it prints), in the order of the page."""
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = piece.partition("\n")
            yield command, shown


def test_the_commands_of_the_page_print_what_it_shows(folder):
    source = Path(svmgsu.__file__).parent.parent
    environment = os.environ | {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(source),
        "PYTHONUTF8": "1",
    }
    checker = doctest.OutputChecker()
    count = 0
    for command, shown in commands():
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=300,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        printed = done.stdout  # without the line that says what the columns were understood as
        printed = re.sub(r"^svmgsu \w+: note: \S+: \d+ (values|exact) .*\n", "", printed, flags=re.MULTILINE)
        assert checker.check_output(shown, printed, doctest.ELLIPSIS), f"{command}\n{done.stdout}"
        count += 1
    assert count >= 15


def test_every_command_is_on_the_page():
    from svmgsu.cli import COMMANDS

    page = PAGE.read_text("utf-8")
    for name in [f"svmgsu {command.name}" for command in COMMANDS if command.name != "demo"] + list(SCRIPTS):
        assert name in page
