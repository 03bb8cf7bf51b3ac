"""Every loss to a proven optimum, beside SciPy's L-BFGS on a NumPy objective: `python -m bench.losses`.

20000 × 500, diagonal uncertainty, one thread, in turns, the best of N. Ours runs until it has proven a
relative gap of 1e-6; the rival is told the optimum and stopped at the first point within 1e-6 of it.
Writes losses.md and losses.json.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, ndtr
from threadpoolctl import threadpool_limits

from svmgsu import _core

from .problems import diagonal
from .rivals import ACCURACY, LBFGS, Function
from .tables import about, as_json, duration, markdown, times, write
from .timing import interleaved, machine

LAMS = (1e-1, 1e-3)
TARGET = 4.0
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(20)


def _normal(d: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r = d / s
    Phi, phi = ndtr(r), np.exp(-0.5 * r * r) / np.sqrt(2.0 * np.pi)
    return d * Phi + s * phi, Phi, phi / s


def numbers(name: str, d: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """L, L′ and L″, as one would write them with SciPy; the logistic by 20 nodes of Gauss and Hermite."""
    if name == "hinge":
        return _normal(d, s)
    if name == "squared_hinge":
        H, Phi, _ = _normal(d, s)
        return d * H + s * s * Phi, 2 * H, 2 * Phi
    if name == "squared":
        return 0.5 * (d * d + s * s), d, np.ones_like(d)
    if name == "epsilon_insensitive":
        (H, F, k), (G, E, j) = _normal(d - 0.1, s), _normal(-d - 0.1, s)
        return H + G, F - E, k + j
    if name == "squared_epsilon_insensitive":
        (H, F, _), (G, E, _) = _normal(d - 0.1, s), _normal(-d - 0.1, s)
        squares = (d - 0.1) * H + s * s * F - (d + 0.1) * G + s * s * E
        return squares, 2 * (H - G), 2 * (F + E)
    if name == "huber":
        (H, F, _), (G, E, _) = _normal(d - 1.35, s), _normal(-d - 1.35, s)
        squares = (d - 1.35) * H + s * s * F - (d + 1.35) * G + s * s * E
        return 0.5 * (d * d + s * s - squares), d - H + G, 1 - F - E
    x = (d - 1)[:, None] + s[:, None] * NODES
    share, p = WEIGHTS / WEIGHTS.sum(), expit(x)
    return np.logaddexp(0, x) @ share, p @ share, (p * (1 - p)) @ share


def numpy_objective(
    name: str, X: np.ndarray, V: np.ndarray, y: np.ndarray, regression: bool, lam: float
) -> Function:
    sigma, t = (np.ones_like(y), y) if regression else (y, np.ones_like(y))
    count = len(y)

    def value_and_gradient(z: np.ndarray) -> tuple[float, np.ndarray]:
        w, b = z[:-1], z[-1]
        s = np.sqrt(np.maximum(V @ (w * w), 1e-30))
        L, L1, L2 = numbers(name, t - sigma * (X @ w + b), s)
        a = sigma * L1 / count
        gradient = lam * w - X.T @ a + (V.T @ (L2 / count)) * w
        return float(0.5 * lam * (w @ w) + L.mean()), np.append(gradient, -a.sum())

    return value_and_gradient


def measure(name: str, regression: bool, lam: float, size: tuple[int, int], repeat: int) -> dict[str, Any]:
    problem = diagonal(*size, spread=0.3, seed=1)
    X, V, y = problem.X, problem.variances, problem.y
    assert V is not None
    if regression:
        rng = np.random.default_rng(2)
        w = rng.normal(size=X.shape[1])
        y = X @ w / np.std(X @ w) + 0.5 * rng.standard_t(4, size=len(y))
    make = _core.valued if regression else _core.labelled
    data = make(_core.dense_means(X), ((_core.diagonal(V), 1.0),), np.ascontiguousarray(y), np.ones(len(y)))

    def solve(tolerance: float) -> Any:
        options = _core.Options()
        options.lam, options.loss, options.threads, options.tolerance = lam, _core.Loss(name), 1, tolerance
        return _core.solve(data, options)

    results: list[Any] = []

    def ours() -> float:
        began = time.process_time()
        results.append(solve(ACCURACY))
        return time.process_time() - began

    optimum = solve(1e-9).objective
    rival = LBFGS(numpy_objective(name, X, V, y, regression, lam), X.shape[1] + 1, optimum, 60.0)
    best = interleaved({"ours": ours, "rival": rival.run}, repeat)
    last = results[-1]
    return {
        "loss": name,
        "lam": lam,
        "optimum": optimum,
        "relative_gap": last.gap / last.objective,
        "passes": last.history[-1].passes,
        "seconds": best["ours"],
        "lbfgs_seconds": best["rival"],
        "lbfgs_evaluations": len(rival.trace),
        "ratio": best["rival"] / best["ours"],
    }


def report(results: dict[str, Any]) -> str:
    rows = [
        [
            row["loss"],
            f"{row['lam']:g}",
            duration(row["seconds"]),
            f"{row['relative_gap']:.1e}",
            f"{row['passes']:.0f}",
            duration(row["lbfgs_seconds"]),
            str(row["lbfgs_evaluations"]),
            times(row["ratio"]),
        ]
        for row in results["rows"]
    ]
    header = ["loss", "λ", "ours", "proven gap", "passes", "L-BFGS, NumPy", "evaluations", "ratio"]
    return (
        "# Every loss to a proven optimum\n\n"
        f"Written by `python -m bench.losses`. {about(results['machine'])}\n"
        f"{' × '.join(map(str, results['size']))}, diagonal uncertainty, one thread, "
        f"the best of {results['repeat']}. "
        f"Ours proves a relative gap of 1e-6; L-BFGS is told the optimum. Asked: {TARGET:g}×.\n\n"
        + markdown(header, rows)
        + "\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.losses", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1000 × 50")
    parser.add_argument("--output", type=Path, default=Path("bench/results"), help="default: %(default)s")
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    size = (1000, 50) if args.quick else (20000, 500)
    results: dict[str, Any] = {"machine": machine(), "size": size, "repeat": args.repeat, "rows": []}
    with threadpool_limits(1):
        for name, task, _, _ in _core.known_losses():
            for lam in LAMS:
                row = measure(name, task == "regression", lam, size, args.repeat)
                results["rows"].append(row)
                print(
                    f"{name}, λ = {lam:g}: {duration(row['seconds'])}, {times(row['ratio'])}",
                    file=sys.stderr,
                    flush=True,
                )
    write(args.output / "losses.md", report(results))
    write(args.output / "losses.json", as_json(results))
    print(report(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
