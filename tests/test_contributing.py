"""CONTRIBUTING's pages on a new loss, kind and map are true: each file has what they say of the example."""

import ast
import re
from pathlib import Path

import pytest

from svmgsu import _core

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
KINDS = {"Isotropic", "Diagonal", "Full", "LowRank", "Shared", "Sum"}


def rows_of(title):
    section = PAGES.split(f"## {title}")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \| (.+) \|$", section, flags=re.MULTILINE)


ROWS, KIND_ROWS = rows_of("A new loss"), rows_of("A new kind of covariance")
MAP_ROWS = rows_of("A new feature map")
ALL_ROWS = ROWS + KIND_ROWS + MAP_ROWS


def test_there_are_rows_to_check():
    assert len(ROWS) == 11
    assert len(KIND_ROWS) == 9
    assert len(MAP_ROWS) == 7


@pytest.mark.parametrize(("path", "text"), ALL_ROWS, ids=[f"{k}-{row[0]}" for k, row in enumerate(ALL_ROWS)])
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


def asked_kinds(tree):
    """The kinds that a module asks for by isinstance."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance":
            yield from {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)} & KINDS


def test_nothing_outside_their_folder_asks_which_kind_it_has():
    package = ROOT / "python" / "svmgsu"
    for path in package.rglob("*.py"):
        if path.parent.name != "covariances":
            found = set(asked_kinds(ast.parse(path.read_text(encoding="utf-8"))))
            assert not found, f"{path.relative_to(package)} asks for {found}"


PLACES = ("", "python/svmgsu/", "cpp/", "cpp/src/", "tests/")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w./]+\.(?:py|cpp|hpp|txt|md))`", PAGES))))
def test_a_file_that_is_named_is_there(name):
    assert any(list(ROOT.glob(place + name)) for place in PLACES) or any(
        list(ROOT.glob(f"{folder}/**/{name}")) for folder in ("cpp", "python")
    )


def test_the_walk_has_at_most_eight_steps_and_its_functions_are_there():
    walk = PAGES[PAGES.index("## A walk") :].split("\n## ")[0]
    steps = re.split(r"^\d+\. ", walk, flags=re.M)[1:]
    assert 5 <= len(steps) <= 8
    for step in steps:
        paths = re.findall(r"`([\w/]+\.(?:py|cpp|hpp))`", step)
        written = "".join(
            (ROOT / place / p).read_text(encoding="utf-8")
            for p in paths
            for place in PLACES
            if (ROOT / place / p).exists()
        )
        for name in re.findall(r"`([\w.:]+)`", step):
            assert name in paths or name.split(".")[-1] in written, f"{name} is not in {paths}"


@pytest.mark.parametrize("place", ["cpp/src", "python/svmgsu"])
def test_every_folder_is_in_the_layout(place):
    layout = PAGES[PAGES.index("## Layout") : PAGES.index("## A walk")]
    for folder in (ROOT / place).iterdir():
        if folder.is_dir() and not folder.name.startswith("_"):
            assert f"{folder.name}/" in layout, f"{place}/{folder.name} is not in the layout"
