"""The gallery: every script in examples/ runs and makes its picture, and finds what its text says."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import matplotlib.pyplot as plt
import pytest

import svmgsu

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
REAL = sorted((ROOT / "examples" / "real").glob("*.py"))


def run(script, folder, *arguments):
    """Run a script as a user does, in `folder`, but a warning is an error; return what it printed."""
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


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_makes_its_picture_and_nothing_else(script, tmp_path):
    given = ("--output", "other.png") if script.stem == "boundary" else ()
    run(script, tmp_path, *given)
    (picture,) = tmp_path.iterdir()
    assert picture.name == ("other.png" if given else f"{script.stem}.png")
    pixels = matplotlib.image.imread(picture)
    assert min(pixels.shape[:2]) > 400
    assert pixels[..., :3].std() > 0.05  # drawn on, not blank


@pytest.mark.parametrize("script", SCRIPTS + REAL, ids=lambda script: script.stem)
def test_a_script_that_the_site_does_not_run_shows_its_picture(script):
    slow = script.stem in ("images", "missing") or script in REAL
    pictures = re.findall(r"\bimages/(\w+\.png)", script.read_text(encoding="utf-8"))
    assert pictures == ([f"{script.stem}.png"] * 2 if slow else [])


def test_pictures_are_light_enough_for_a_page():
    for picture in (ROOT / "docs" / "images").glob("*.png"):
        assert picture.stat().st_size < 120_000, picture.name


@pytest.fixture
def figures(data_folder, tmp_path, monkeypatch, capsys):
    """Run a script on real data; return the numbers that match a pattern in what it prints."""

    def call(name, pattern):
        picture = tmp_path / f"{name}.png"
        monkeypatch.setattr(sys, "argv", [f"{name}.py", "--data", str(data_folder), "--output", str(picture)])
        runpy.run_path(str(ROOT / "examples" / "real" / f"{name}.py"))
        plt.close("all")
        assert picture.stat().st_size > 5000
        return [float(found) for found in re.findall(pattern, capsys.readouterr().out)]

    return call


def test_summaries_with_full_covariances_do_as_well_as_all_frames(figures):
    means, diagonal, full, frames = figures("speakers", r"([\d.]+)% of new frames")
    assert full > max(means + 6, diagonal + 5, frames - 0.7)


def test_training_for_test_time_noise_gains_on_kepler(figures):
    gain, wins, splits = figures("kepler", r"(?:gain \+|better in | of )([\d.]+)(?= points| of| splits)")
    assert gain > 2
    assert wins >= 0.9 * splits


def test_errors_and_priors_lower_the_log_loss_as_the_text_says(figures):
    assert [round(loss, 2) for loss in figures("quasars", r"log-loss ([\d.]+)")] == [0.41, 0.13]
