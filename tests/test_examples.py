"""The gallery: every script in examples/ runs and makes its picture."""

import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import pytest

import svmgsu

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))

each_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)


def run(script, folder, *arguments):
    """Runs a script as a user does, in `folder`, but a warning is an error; returns what it printed."""
    package = str(Path(svmgsu.__file__).parents[1])
    paths = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_is_a_gallery():
    assert len(SCRIPTS) >= 8


@each_script
def test_a_script_makes_its_picture_and_nothing_else(script, tmp_path):
    run(script, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"{script.stem}.png"]
    pixels = matplotlib.image.imread(tmp_path / f"{script.stem}.png")
    assert min(pixels.shape[:2]) > 400
    assert pixels[..., :3].std() > 0.05  # drawn on, not blank


def test_the_picture_goes_where_output_says(tmp_path):
    run(ROOT / "examples" / "boundary.py", tmp_path, "--output", "elsewhere.png")
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere.png"]


@pytest.mark.parametrize("script", sorted((ROOT / "examples").rglob("*.py")), ids=lambda script: script.stem)
def test_a_script_that_the_site_does_not_run_shows_its_picture(script):
    text = script.read_text(encoding="utf-8")
    slow = script.stem in ("images", "missing") or script.parent.name == "real"
    pictures = re.findall(r"\bimages/(\w+\.png)", text)
    assert pictures == ([f"{script.stem}.png"] * 2 if slow else [])
    for picture in pictures:
        assert (ROOT / "docs" / "images" / picture).is_file()


def test_pictures_are_light_enough_for_a_page():
    for picture in (ROOT / "docs" / "images").glob("*.png"):
        assert picture.stat().st_size < 120_000, picture.name
