"""Fair timings: rivals take turns, the best of several rounds counts, and the machine is described."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy

import svmgsu


def interleaved(
    rivals: dict[str, Callable[[], float]], repeat: int, budget: float = 20.0
) -> dict[str, float]:
    """The least seconds of each rival over `repeat` rounds; in a round each runs once, in order.

    A rival returns its own seconds. One that has spent `budget` seconds is not run again.
    """
    best = dict.fromkeys(rivals, np.inf)
    spent = dict.fromkeys(rivals, 0.0)
    for _ in range(repeat):
        for name, run in rivals.items():
            if spent[name] > budget:
                continue
            began = time.perf_counter()
            best[name] = min(best[name], run())
            spent[name] += time.perf_counter() - began
    return best


Name = TypeVar("Name")

CALM = 0.01  # seconds after which the threads of a rival's OpenMP have stopped to wait actively


class Time(NamedTuple):
    """Seconds of the clock, and of the processor over all threads."""

    wall: float
    cpu: float


def race(
    rivals: dict[Name, Callable[[], Any]], repeat: int, budget: float = 10.0, at_least: float = 0.02
) -> dict[Name, Time]:
    """The least time of a call of each rival over `repeat` rounds; in a round each has its turn.

    A call shorter than `at_least` is made several times in a turn. The first round also warms up. A rival
    that has spent `budget` seconds is not run again.
    """
    found: dict[Name, list[Time]] = {name: [] for name in rivals}
    spent = dict.fromkeys(rivals, 0.0)
    for _ in range(repeat):
        for name, run in rivals.items():
            if spent[name] > budget:
                continue
            fastest = min((t.wall for t in found[name]), default=np.inf)
            calls = max(1, round(at_least / fastest))
            time.sleep(CALM)
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(calls):
                run()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            spent[name] += wall
            found[name].append(Time(wall / calls, cpu / calls))
    return {name: Time(min(t.wall for t in ts), min(t.cpu for t in ts)) for name, ts in found.items()}


def seconds_of(function: Callable[[], Any]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def seconds_a_call(function: Callable[[], Any], at_least: float = 0.02) -> float:
    """Of a function too short to be timed alone."""
    calls, seconds = 1, seconds_of(function)
    while seconds < at_least:
        calls *= 2
        seconds = seconds_of(lambda: [function() for _ in range(calls)])  # noqa: B023
    return seconds / calls


def machine() -> dict[str, Any]:
    """What a reader must know to compare: the processor, the compiler and the versions."""
    import sklearn

    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "last_cache": _last_cache(),
        "system": f"{platform.system()} {platform.machine()}",
        "load_at_start": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "svmgsu": svmgsu._core.config(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _last_cache() -> str:
    """The size of the largest cache, such as "32768K"."""
    levels = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"))
    return levels[-1].read_text().strip() if levels else "unknown"


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
