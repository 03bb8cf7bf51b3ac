"""The examples on real data run, find what they say they find, and draw."""

import re
import runpy
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples" / "real"


@pytest.fixture
def run(data_folder, tmp_path, monkeypatch, capsys):
    def call(name):
        picture = tmp_path / f"{name}.png"
        monkeypatch.setattr(sys, "argv", [f"{name}.py", "--data", str(data_folder), "--output", str(picture)])
        runpy.run_path(str(EXAMPLES / f"{name}.py"))
        plt.close("all")
        assert picture.stat().st_size > 5000
        return capsys.readouterr().out

    return call


def test_summaries_with_full_covariances_do_as_well_as_all_frames(run):
    means, diagonal, full, frames = (
        float(x) for x in re.findall(r"([\d.]+)% of new frames", run("speakers"))
    )
    assert full > means + 6
    assert full > diagonal + 5
    assert full > frames - 0.7


def test_training_for_the_noise_to_come_gains_on_kepler(run):
    gain, wins, splits = re.search(
        r"gain \+([\d.]+) points, better in (\d+) of (\d+)", run("kepler")
    ).groups()
    assert float(gain) > 2
    assert int(wins) >= 0.9 * int(splits)


def test_error_bars_in_the_probability_lower_the_log_loss(run):
    platt, bars = (float(x) for x in re.findall(r"log-loss ([\d.]+)", run("quasars")))
    assert (round(platt, 2), round(bars, 2)) == (0.41, 0.13)  # as the text of the script says
