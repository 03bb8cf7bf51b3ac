"""Whole trainings: to a certified optimum, beside others' way there, and on a set of the paper's MED size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

import svmgsu

from .problems import concepts, diagonal
from .rivals import (
    ACCURACY,
    LBFGS,
    improvements,
    numpy_objective,
    our_objective,
    ours,
)
from .rows import LAM, Case, Row, Settings, versus
from .timing import Time, race


def cases(settings: Settings) -> list[Case]:
    count, n = (2000, 100) if settings.quick else (20000, 500)
    size = (1400, 2022) if settings.quick else (7000, 5055)
    return [
        Case("smooth training", partial(whole, settings, "smooth", count, n, 0.3)),
        Case("near-hinge training", partial(whole, settings, "near-hinge", count, n, 0.03)),
        Case("MED-size training", partial(large, settings, *size)),
    ]


def whole(settings: Settings, kind: str, count: int, n: int, spread: float) -> list[Row]:
    """One thread. L-BFGS is told the optimum and stopped within 1e-6 of it, which is more than a user has."""
    problem = diagonal(count, n, spread, seed=1)
    optimum = ours(problem, LAM, tol=1e-9).objective_
    patience = 5.0 if settings.quick else 40.0
    rivals = {"L-BFGS, NumPy": LBFGS(numpy_objective(problem, LAM), n + 1, optimum, patience)}
    models: list[Any] = []
    found = race(
        {"ours": lambda: models.append(ours(problem, LAM))}
        | {name: rival.run for name, rival in rivals.items()},
        min(settings.repeat, 3),
        at_least=0.0,
    )
    curves: dict[str, Any] = {name: improvements(rival.trace, optimum) for name, rival in rivals.items()}
    fastest = min(models, key=lambda model: model.history_[-1]["seconds"])
    curves["svmgsu"] = [(h["seconds"], h["objective"] / optimum - 1) for h in fastest.history_]
    curves["svmgsu, proven gap"] = [(h["seconds"], h["gap"] / optimum) for h in fastest.history_]
    lead = f"training, {kind} {count} × {n}"
    rows = [
        versus(
            f"{lead}: against {name}",
            found,
            name,
            4.0 if name == "L-BFGS, NumPy" and not settings.quick else None,
            note="" if rival.reached else ended((1 + rival.suboptimality) * optimum, optimum),
        )
        for name, rival in rivals.items()
    ]
    rows[0].curves = curves
    return rows


def ended(value: float, optimum: float) -> str:
    return f"it ended at J/J* − 1 = {value / optimum - 1:.1e}"


def large(settings: Settings, count: int, n: int) -> list[Row]:
    """In a process of its own, whose peak of memory is that of the training."""
    words = [sys.executable, "-m", "bench.training", str(count), str(n), str(settings.threads)]
    path = os.pathsep.join([str(Path(svmgsu.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": path},
        cwd=Path(__file__).parents[1],
    )
    found = json.loads(done.stdout)
    times = {name: Time(*pair) for name, pair in found["times"].items()}
    train, a_pass = times["training"], times["one pass"]
    lead = f"training, MED size {count} × {n}, {settings.threads} threads"
    rows = [
        Row(
            f"{lead}: to a certified 1e-6",
            train.wall / a_pass.wall,
            None if settings.quick else 60.0,
            "pass-times",
            less=True,
            times=times,
            note=f"{train.wall:.2g} s, {found['passes']:.0f} passes, relative gap {found['gap']:.0e}; "
            f"a pass reads {found['bytes'] / a_pass.wall / 1e9:.1f} GB/s",
        )
    ]
    if np.isfinite(found["peak"]):
        size = f"data of {found['bytes'] / 1e6:.0f} MB"
        share = found["peak"] / found["bytes"]
        asked = None if settings.quick else 1.1
        rows.append(Row(f"{lead}: peak of memory", share, asked, "of the data", less=True, note=size))
    return rows


def large_here(count: int, n: int, threads: int) -> dict[str, Any]:
    """What `large` reports of: the training alone first, for the peak of memory never falls."""
    ours(diagonal(50, 5, 0.3, seed=0), LAM, threads=threads)  # what any training loads
    base = memory("VmRSS")
    problem = concepts(count, n, seed=0)
    assert problem.variances is not None
    models: list[Any] = []
    train = race({"training": lambda: models.append(ours(problem, LAM, threads=threads))}, 1)
    peak = memory("VmHWM") - base
    function, z = our_objective(problem, LAM, threads), np.zeros(n + 1)
    z[:-1] = models[0].coef_[0]

    def a_pass() -> None:
        z[-1] += 1e-9
        function(z)

    again = race(
        {"one pass": a_pass, "training": lambda: models.append(ours(problem, LAM, threads=threads))}, 3
    )
    times = again | {"training": min(train["training"], again["training"])}
    return {
        "times": times,
        "peak": peak,
        "bytes": problem.X.nbytes + problem.variances.nbytes,
        "passes": models[0].history_[-1]["passes"],
        "gap": models[0].gap_ / models[0].objective_,
    }


def memory(field: str) -> float:
    """Bytes of this process now (VmRSS), or at the most (VmHWM); NaN where the system does not tell."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return np.nan
    return 1024.0 * int(status.split(f"{field}:")[1].split()[0])


def picture(rows: list[Row], file: BinaryIO) -> None:
    """Distance from the optimum against time, one panel a problem."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    blue, orange = "#1f5fa8", "#d9731a"
    looks: dict[str, dict[str, Any]] = {
        "svmgsu": {"color": blue, "lw": 2.2},
        "svmgsu, proven gap": {"color": blue, "lw": 1.4, "ls": "--"},
        "L-BFGS, NumPy": {"color": orange, "lw": 1.6},
    }
    pictured = [row for row in rows if row.curves]
    fig, axes = plt.subplots(1, len(pictured), figsize=(5.2 * len(pictured), 4.3), sharey=True, squeeze=False)
    for ax, row in zip(axes[0], pictured, strict=True):
        for name, look in looks.items():
            if name in row.curves:
                t, above = np.array(row.curves[name]).T
                ax.plot(t, np.maximum(above, 1e-16), label=name, ms=4, mfc="white", **look)
        ax.axhline(ACCURACY, color="0.6", lw=0.8, zorder=0)
        ax.set(xscale="log", yscale="log", ylim=(1e-8, 30), xlabel="seconds")
        ax.set_title(row.name.split(": ")[0].removeprefix("training, "), fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="0.92", lw=0.6)
        ax.set_axisbelow(True)
    axes[0][0].set_ylabel("J/J* − 1")
    handles, labels = axes[0][0].get_legend_handles_labels()
    fig.legend(handles, labels, ncols=5, loc="lower center", frameon=False, fontsize=8.5)
    fig.suptitle(f"Distance from the optimum against time, λ = {LAM:g}, one thread", fontsize=11)
    fig.tight_layout(rect=(0, 0.1, 1, 1))
    fig.savefig(file, dpi=130)
    plt.close(fig)


if __name__ == "__main__":
    print(json.dumps(large_here(*map(int, sys.argv[1:]))))
