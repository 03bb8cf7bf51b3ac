"""Extreme deconvolution: time of a step and where fits end, against astroML's XDGMM and NumPy.

    python -m bench.deconvolution [--output bench/results/deconvolution.md]

Steps start from the same mixture on the same data and are timed in processor seconds on one thread, the least
of several in turns. XDGMM takes part where astroML is installed (`pip install astroML`); beside it stands the
algorithm in batched NumPy. Fits: plain expectation and maximisation against the extrapolated one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl

import svmgsu
from bench.timing import machine
from svmgsu import _core
from svmgsu.fit.population import observe

SIZES = ((2_000, 2, 3), (2_000, 9, 5))
REPEAT = 2
PASSES = 5  # of one call of ours
OURS = ("diagonal", "full", "none")


def problem(count: int, n: int, noise: float = 0.5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Clustered values with independent noise of very different sizes: values, variances."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(count, n)) + 3 * rng.normal(size=(4, n))[rng.integers(4, size=count)]
    std = noise * np.exp(0.5 * rng.normal(size=(count, n)))
    return truth + std * rng.normal(size=truth.shape), std**2


def numpy_step(X: Any, S: Any, w: Any, m: Any, V: Any) -> tuple[Any, Any, Any, float]:
    """One step in NumPy, a component at a time over all objects."""
    n = X.shape[1]
    logs, kept = [], []
    for weight, mean, cov in zip(w, m, V, strict=True):
        T, r = cov + S, X - mean
        gain = np.linalg.solve(T, np.broadcast_to(cov, T.shape))
        u = np.linalg.solve(T, r[:, :, None])[:, :, 0]
        logs.append(
            np.log(weight) - (np.linalg.slogdet(T)[1] + (r * u).sum(axis=1) + n * np.log(2 * np.pi)) / 2
        )
        kept.append((mean + u @ cov, cov - cov @ gain))
    total = np.logaddexp.reduce(logs, axis=0)
    out_m, out_V, share = [], [], []
    for log, (b, B) in zip(logs, kept, strict=True):
        q = np.exp(log - total)
        mean = q @ b / q.sum()
        d = b - mean
        out_m.append(mean)
        out_V.append(((q[:, None] * d).T @ d + np.tensordot(q, B, 1)) / q.sum())
        share.append(q.mean())
    return np.array(share), np.array(out_m), np.array(out_V), float(total.mean())


def astroml_step(X: Any, S: Any, parts: tuple[Any, Any, Any]) -> Callable[[], Any] | None:
    """A step of XDGMM with the likelihood that its fit computes after each; None without astroML."""
    try:
        from astroML.density_estimation import XDGMM
    except ImportError:
        return None

    def step() -> None:
        model = XDGMM(len(parts[0]))
        model.alpha, model.mu, model.V = (part.copy() for part in parts)
        model._EMstep(X, S)
        model.logL(X, S)

    return step


def timed(function: Callable[[], Any]) -> float:
    begin = time.process_time()
    function()
    return time.process_time() - begin


def steps(count: int, n: int, components: int) -> dict[str, float]:
    """Seconds of a step, by name."""
    X, variances = problem(count, n)
    S = variances[:, :, None] * np.eye(n)
    parts = (np.full(components, 1 / components), X[:components].copy(), np.array([np.eye(n)] * components))
    runs: dict[str, Callable[[], Any]] = {}
    for name, cov in (("diagonal", svmgsu.Diagonal(variances)), ("full", svmgsu.Full(S)), ("none", None)):
        seen = observe(X, cov).core()
        units, mixture = seen.units(), _core.Mixture(*parts)
        runs[name] = partial(_core.deconvolve, seen, units, mixture, -1.0, PASSES - 1, 1e-6, 1)
    runs["NumPy"] = lambda: numpy_step(X, S, *parts)
    rival = astroml_step(X, S, parts)
    if rival is not None:
        runs["astroML"] = rival
    found = dict.fromkeys(runs, np.inf)
    for _ in range(REPEAT):
        for name, run in runs.items():
            found[name] = min(found[name], timed(run) / (PASSES if name in OURS else 1))
    return found


def fits(noise: float, components: int) -> dict[str, tuple[float, int]]:
    """The mean log-likelihood and the steps of plain and extrapolated fits from one start."""
    X, variances = problem(2_000, 4, noise)
    seen = observe(X, svmgsu.Diagonal(variances)).core()
    units = seen.units()
    start = _core.start_mixture(seen, units, components, 0, 1e-6, 1)
    out = {}
    for name, memory, tol in (("plain", 0, 1e-5), ("extrapolated", 10, 1e-5), ("plain to 1e-8", 0, 1e-8)):
        found = _core.deconvolve(seen, units, start, tol, 2000, 1e-6, 1, None, memory)
        out[name] = (found.log_likelihood, found.iterations)
    return out


def report() -> str:
    about = machine()
    lines = [
        "# Extreme deconvolution",
        "",
        f"{about['cpu']}, one thread, processor time, {about['svmgsu']['instruction_set']}; "
        f"NumPy {about['numpy']}. `python -m bench.deconvolution` made this.",
        "",
        "## A step: milliseconds, and how many times as long others take as ours with diagonal noise",
        "",
        "| objects × features, components | diagonal | full | without noise | NumPy | astroML |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    with threadpoolctl.threadpool_limits(1):
        for size in SIZES:
            found = steps(*size)
            base = found["diagonal"]
            rivals = [f"{found[name] / base:.0f}×" if name in found else "–" for name in ("NumPy", "astroML")]
            own = [f"{1e3 * found[name]:.1f}" for name in OURS]
            lines.append(f"| {size[0]} × {size[1]}, {size[2]} | {' | '.join(own + rivals)} |")
        lines += [
            "",
            "## Fits of 2000 × 4 from one start: mean log-likelihood (steps)",
            "",
            "| noise / spread, components | plain, tol 1e-5 | extrapolated, tol 1e-5 | plain, tol 1e-8 |",
            "| --- | ---: | ---: | ---: |",
        ]
        for noise in (0.3, 1.0):
            for components in (1, 4):
                cells = [f"{value:.5f} ({count})" for value, count in fits(noise, components).values()]
                lines.append(f"| {noise:g}, {components} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path)
    text = report()
    output = parser.parse_args().output
    print(text)
    if output is not None:
        output.write_text(text)


if __name__ == "__main__":
    main()
