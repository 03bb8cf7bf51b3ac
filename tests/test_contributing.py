"""CONTRIBUTING's page on a new loss is true: each file that it lists has what it says for the example."""

import re
from pathlib import Path

import pytest

from svmgsu import _core

ROOT = Path(__file__).parents[1]
SECTION = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## A new loss")[1].split("\n## ")[0]
ROWS = re.findall(r"^\| `([^`]+)` \| (.+) \|$", SECTION, flags=re.MULTILINE)


def test_there_are_rows_to_check():
    assert len(ROWS) == 8


@pytest.mark.parametrize(("path", "text"), ROWS, ids=[path for path, _ in ROWS])
def test_the_example_is_where_the_page_says(path, text):
    written = (ROOT / path).read_text(encoding="utf-8")
    for fragment in re.findall("`([^`]+)`", text):
        assert fragment in written


def code(path):
    return re.sub(r"//.*", "", path.read_text(encoding="utf-8")).lower()


def test_a_loss_is_named_in_the_listed_places_alone():
    """In code, that is: a loss's name in another source file is a place that the page forgets."""
    folders = ("cpp/src", "cpp/include", "cpp/bindings", "python")
    sources = [
        p for folder in folders for p in (ROOT / folder).rglob("*") if p.suffix in (".cpp", ".hpp", ".py")
    ]
    naming = {p.relative_to(ROOT).as_posix() for p in sources if "huber" in code(p)}
    assert naming <= {path for path, _ in ROWS}


def test_the_example_is_a_loss_that_python_can_ask_for():
    assert "huber" in {row[0] for row in _core.known_losses()}
    assert len((ROOT / "cpp/src/losses/squared_hinge.cpp").read_text(encoding="utf-8").splitlines()) <= 60
