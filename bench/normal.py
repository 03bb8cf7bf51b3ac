"""Φ, φ and the loss together, an element: speed against the C++ library, accuracy against mpmath."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import svmgsu

from . import native
from .rows import Case, Row, Settings, Skipped, versus
from .timing import race


def cases(settings: Settings) -> list[Case]:
    return [
        Case("normal distribution, speed", partial(speed, settings)),
        Case("normal distribution, accuracy", partial(accuracy, 1000 if settings.quick else 20000)),
    ]


def speed(settings: Settings, count: int = 20000) -> list[Row]:
    """Over r = d/s in −6 … 6, arrays that fit into the L2 cache."""
    if not native.available():
        raise Skipped("there is no C++ compiler")
    rng = np.random.default_rng(0)
    s = rng.uniform(0.1, 1.0, count)
    d = rng.uniform(-6.0, 6.0, count) * s
    found = race(
        {
            "ours": lambda: svmgsu._core.expected_hinge(d, s),
            "std::erfc, std::exp": lambda: native.normal_by_library(d, s),
        },
        3 * settings.repeat,
    )
    note = f"{1e9 * found['ours'].wall / count:.2g} ns an element"
    return [
        versus("Φ, φ and loss: against std::erfc and std::exp", found, "std::erfc, std::exp", 5.0, note=note)
    ]


def accuracy(count: int) -> list[Row]:
    """The largest error in units of the last place, where s = 1 and so r is exact, down to 1e-300."""
    import mpmath

    rng = np.random.default_rng(1)
    r = np.concatenate([rng.uniform(-37.0, 8.0, count // 2), rng.normal(0.0, 1.5, count - count // 2)])
    _, Phi, phi = svmgsu._core.expected_hinge(r, np.ones_like(r))
    with mpmath.workdps(30):
        exact = {
            "Φ": (Phi, [mpmath.ncdf(x) for x in r]),
            "φ": (phi, [mpmath.npdf(x) for x in r]),
        }
        return [
            Row(f"{name}: largest error", worst_ulp(*pair), 4.0, "ulp", less=True, note=f"{count} points")
            for name, pair in exact.items()
        ]


def worst_ulp(found: np.ndarray, exact: list[Any]) -> float:
    """|found − exact| in units of the last place of the exact value."""
    return max(
        float(abs(have - want)) / float(np.spacing(abs(float(want))))
        for have, want in zip(found.tolist(), exact, strict=True)
    )
