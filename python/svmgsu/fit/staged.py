"""How fits of examples in files go over them: on a compact copy first, and several problems at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from ..support.validation import FloatArray
from .settings import changed_options

Start = tuple[FloatArray, float] | None
Solve = Callable[[Any, _core.Options, Any, Start, str], Any]


@dataclass
class Stages:
    """The training set of a compact copy, and that of the numbers themselves, each made when wanted."""

    near: Callable[[], Any]
    exact: Callable[[], Any]


@dataclass
class StagedResult:
    """A result of the numbers themselves, with the effort of both stages."""

    w: FloatArray
    b: float
    objective: float
    gap: float
    iterations: int
    stop: str
    status: str
    history: list[Any]


@dataclass
class _Progress:
    iteration: int
    objective: float
    gap: float
    seconds: float
    passes: float


def solve_stages(
    stages: Stages, solve: Solve, options: _core.Options, report: Any, start: Start
) -> StagedResult:
    """Solves the compact problem, and goes on from there with the numbers themselves until the gap is proven.

    Where the first stage was cut short, the second has one pass, which tells objective and gap.
    """
    began = time.monotonic()
    near = solve(stages.near(), options, report, start, "compact")
    left = options.max_seconds - (time.monotonic() - began)
    short = near.stop in ("callback", "time") or left <= 0
    if short:
        rest = changed_options(options, max_iterations=0, max_seconds=float("inf"))
    else:
        rest = changed_options(options, max_seconds=left)
    rest.start_epsilon = near.epsilon
    found = solve(stages.exact(), rest, None if short else report, (near.w, near.b), "")
    seconds, passes = near.history[-1].seconds, near.history[-1].passes
    history = [
        _Progress(p.iteration + near.iterations, p.objective, p.gap, p.seconds + seconds, p.passes + passes)
        for p in found.history
    ]
    unfinished = short and found.stop != "converged"
    return StagedResult(
        found.w,
        found.b,
        found.objective,
        found.gap,
        near.iterations + found.iterations,
        near.stop if unfinished else found.stop,
        near.status if unfinished else found.status,
        history,
    )


@dataclass
class Together:
    """Problems that are solved at the same time and read the data together; see `StreamedSet`."""

    members: int
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _first: dict[str, Any] = field(default_factory=dict)
    _made: threading.local = field(default_factory=threading.local)
    _finished: int = 0

    def join(
        self, stage: str, make: Callable[[int], Any], targets: Any, weights: Any, regression: bool
    ) -> Any:
        """The training set of one of them, in its own thread; `make(problems)` makes the first."""
        with self._lock:
            if stage not in self._first:
                core = self._first[stage] = make(self.members)
                for _ in range(self._finished):
                    core.beside(np.ones(core.examples), None, regression).leave()
            else:
                core = self._first[stage].beside(targets, weights, regression)
        self._joined()[stage] = core
        return core

    def finish(self) -> None:
        """This thread's problem is solved, or failed: the others wait for it no longer."""
        with self._lock:
            joined = self._joined()
            for stage, first in self._first.items():
                core = joined.pop(stage, None)
                if core is None:
                    core = first.beside(np.ones(first.examples), None, False)
                core.leave()
            self._finished += 1

    def _joined(self) -> dict[str, Any]:
        if not hasattr(self._made, "by_stage"):
            self._made.by_stage = {}
        found: dict[str, Any] = self._made.by_stage
        return found
