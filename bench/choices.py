"""`python -m bench.choices --data DIR`: held-out loss of pools with other settings, on development seeds."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import svmgsu

from .evidence.run import loss_of
from .evidence.tasks import ROWS, Task

TASKS = ("vvds-like", "vvds-shift", "kepler-uneven", "fermi-34")
SEEDS = (5000, 5001)
FAMILIES = ("linear", "rbf", "axis_aligned", "classwise")
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "75 frequencies": {"n_frequencies": 75},
    "300 frequencies": {"n_frequencies": 300},
    "3 folds": {"cv": 3},
    "10 folds": {"cv": 10},
    **{f"without {name}": {"members": [f for f in FAMILIES if f != name]} for name in FAMILIES[1:]},
}


def loss(task: Task, options: dict[str, Any]) -> float:
    """Fit a pool to the training samples; return its log-loss on the others."""
    more = {} if task.groups is None else {"groups": task.groups}
    model = svmgsu.GSUClassifier(threads=1, **options).fit(y=task.y, **task.train.for_fit(), **more)
    return loss_of(task, model.predict_proba(**task.test.for_fit()), task.truth)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.choices", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the data folder of the evidence")
    folder = parser.parse_args().data
    rows = {row.name: row for row in ROWS}
    tasks = {name: [rows[name].make(folder, seed=seed) for seed in SEEDS] for name in TASKS}
    print("| setting |", " | ".join(TASKS), "| CPU s a fit |")
    print("|---" * (len(TASKS) + 2) + "|")
    for name, options in SETTINGS.items():
        began = time.process_time()
        found = [np.mean([loss(task, options) for task in tasks[row]]) for row in TASKS]
        seconds = (time.process_time() - began) / (len(TASKS) * len(SEEDS))
        print(f"| {name} |", " | ".join(f"{value:.4f}" for value in found), f"| {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
