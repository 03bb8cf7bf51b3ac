"""A synthetic set of TRECVID MED's size: time and memory."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import numpy as np

import svmgsu

from ..problems import concepts
from .harness import Experiment, Record
from .report import Page, number

SHAPE = (7000, 5055)
LAM = 1e-3


def run(folder: Path, seed: int, quick: bool) -> Record:
    """Seconds, certified gap and peak memory of one fit on one thread."""
    count, n = (700, 500) if quick else SHAPE
    problem = concepts(count, n, seed, np.float32)  # its making takes no memory but the arrays
    X, y, V = problem.X, problem.y, problem.variances
    assert V is not None
    data_bytes = X.nbytes + V.nbytes
    before = _peak()
    began = time.perf_counter()
    model = svmgsu.train(X, y, svmgsu.Diagonal(V), lam=LAM, tol=1e-3, probability=False)
    seconds = time.perf_counter() - began
    return {
        "shape": [count, n],
        "seconds": seconds,
        "passes": model.history_[-1]["passes"],
        "relative gap": model.gap_ / model.objective_,
        "objective": model.objective_,
        "data MB": data_bytes / 1e6,
        "extra MB": max(0.0, _peak() - before) / 1e6,
    }


def _peak() -> float:
    """The most memory this process has had, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def report(records: list[Record], page: Page) -> None:
    (r,) = records
    page.text(
        f"{r['shape'][0]:,} examples of {r['shape'][1]:,} features with diagonal covariances in float32, "
        f"as large as the paper's MED training set; λ = {LAM:g}, one thread. Time is the only number here "
        "that another run changes."
    )
    page.table(
        ("seconds", "readings of the data", "proven relative gap", "data, MB", "memory beyond the data, MB"),
        [
            (
                number(r["seconds"], 1),
                number(r["passes"], 0),
                f"{r['relative gap']:.1e}",
                number(r["data MB"], 0),
                number(r["extra MB"], 0),
            )
        ],
    )
    page.numbers.update(r)


EXPERIMENT = Experiment("video-size", "A set of MED's size", run, report, seeds=1, quick_seeds=1)
