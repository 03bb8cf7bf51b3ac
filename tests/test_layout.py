"""What CONTRIBUTING.md says of files is true: they are there, and no folder of an axis is left out."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PLACES = ("", "python/svmgsu/", "cpp/", "cpp/src/", "tests/")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([\w./]+\.(?:py|cpp|hpp|txt|md))`", TEXT))))
def test_a_file_that_is_named_is_there(name):
    assert any(list(ROOT.glob(place + name)) for place in PLACES) or list(ROOT.glob(f"cpp/**/{name}"))


def test_the_walk_has_at_most_eight_steps():
    walk = TEXT[TEXT.index("## A walk") :].split("\n## ")[0]
    assert 5 <= len(re.findall(r"^\d+\. ", walk, re.M)) <= 8


@pytest.mark.parametrize("place", ["cpp/src", "python/svmgsu"])
def test_every_folder_is_in_the_layout(place):
    layout = TEXT[TEXT.index("## Layout") : TEXT.index("## A walk")]
    for folder in (ROOT / place).iterdir():
        if folder.is_dir() and not folder.name.startswith("_"):
            assert f"{folder.name}/" in layout, f"{place}/{folder.name} is not in the layout"
