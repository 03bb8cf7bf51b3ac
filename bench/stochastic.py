"""One iteration of the stochastic solver: k = 100 of 20000 examples, 500 features."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import svmgsu
from svmgsu import reference

from . import native
from .problems import plain
from .rows import LAM, Case, Row, Settings, team, versus
from .timing import Time, race

BATCH = 100


def cases(settings: Settings) -> list[Case]:
    return [Case("stochastic iteration", partial(iteration, settings, 20000, 500))]


def iteration(settings: Settings, count: int, n: int) -> list[Row]:
    """What T more steps add, divided by T: all but the eigen loop also have work at their end."""
    problem = plain(count, n, seed=0)
    X, y, V = problem.X, problem.y, problem.variances
    assert V is not None
    core = svmgsu.Gaussians(X, V).labelled(y, y * y, None)

    def ours(threads: int, steps: int) -> None:
        options = svmgsu._core.Options()
        options.lam, options.solver, options.batch = LAM, "sgd", BATCH
        options.threads, options.steps = threads, steps
        svmgsu._core.solve(core, options)

    few, many = (20, 520) if settings.quick else (100, 2100)
    crews = sorted({1, settings.threads})
    rivals: dict[str, tuple[Callable[[int], Any], int, int]] = {
        **{f"ours{team(t)}": (partial(ours, t), few, many) for t in crews},
        "pure Python": (lambda steps: reference.Objective(X, y, V, LAM).sgd(steps, BATCH), 5, 5 + many // 4),
    }
    if native.available():
        eigen = partial(native.sgd_with_eigen, X, V, y, LAM, BATCH)
        rivals["Eigen loop"] = (eigen, few, many)
    runs = {(name, steps): partial(run, steps) for name, (run, *both) in rivals.items() for steps in both}
    found = race(runs, settings.repeat)
    each = {
        name: Time(
            *((b - a) / (high - low) for a, b in zip(found[name, low], found[name, high], strict=True))
        )
        for name, (_, low, high) in rivals.items()
    }
    lead = f"SGD iteration, k = {BATCH}, {count} × {n}"
    asked = {"pure Python": 20.0, "Eigen loop": 3.0}
    return [
        versus(f"{lead}: against {words}{team(t)}", each, rival, asked[rival], ours=f"ours{team(t)}")
        for rival, words in (("pure Python", "pure Python"), ("Eigen loop", "a plain Eigen loop"))
        if rival in each
        for t in crews
    ]
