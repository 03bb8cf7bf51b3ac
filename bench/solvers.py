"""How fast the exact solver reaches a proven optimum, beside others: `python -m bench.solvers`.

Every problem of bench/problems.py at several λ. Ours runs until it has proven a relative gap of 1e-6 (or
1e-4). The rivals are told the optimum J* and are stopped at the first point within that of it, which is more
than a user has. All run on one thread, in turns; the least time of the processor of N rounds counts.
`--short` leaves out what takes minutes. Writes solvers.json, solvers.md and solvers.png.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import svmgsu

from .problems import Entry, MissingData, Problem, diagonal, entries
from .rivals import LBFGS, Liblinear, improvements, numpy_objective, our_objective, ours
from .solver_tables import PICTURED, PICTURED_LAM, picture, ratio, report
from .tables import as_json, duration, write
from .timing import interleaved, machine, seconds_a_call


class Ours:
    """Our solver on one problem, and the model of its fastest run."""

    def __init__(self, problem: Problem, lam: float, tol: float, limit: float) -> None:
        self.arguments = problem, lam, tol, 1, limit
        self.seconds, self.model = np.inf, None

    def run(self) -> float:
        began = time.process_time()
        model = ours(*self.arguments)
        seconds = time.process_time() - began
        if seconds < self.seconds:
            self.seconds, self.model = seconds, model
        return seconds


def measure(entry: Entry, problem: Problem, lam: float, repeat: int, patience: float) -> dict[str, Any]:
    """One row of the table: our solver and its rivals on one problem at one λ."""
    n = problem.X.shape[1]
    mine = Ours(problem, lam, entry.tol, patience)
    if entry.passes is not None:
        mine.run()
        return _of_ours(entry, problem, lam, mine, patience)
    exact = ours(problem, lam, tol=min(1e-9, entry.tol / 1000), limit=patience)
    optimum = best_known(problem, lam, exact, entry.tol, patience)
    rivals = {
        "lbfgs": LBFGS(numpy_objective(problem, lam), n + 1, optimum, patience, entry.tol),
        "cpp_lbfgs": LBFGS(our_objective(problem, lam), n + 1, optimum, patience, entry.tol),
    }
    runs = {"ours": mine.run} | {name: rival.run for name, rival in rivals.items()}
    liblinear = None
    if problem.cov is None:
        liblinear = Liblinear(problem, lam, optimum, patience, entry.tol)
        runs["linear_svc"] = liblinear.run
    best = interleaved(runs, repeat, budget=patience)

    row = _of_ours(entry, problem, lam, mine, patience)
    row |= {"optimum": optimum, "optimum_gap": 1 - (exact.objective_ - exact.gap_) / optimum}
    for name, rival in rivals.items():
        row |= _of_rival(name, rival, best[name])
    if liblinear is not None:
        row["linear_svc_seconds"] = best["linear_svc"]
        row["linear_svc_reached"] = bool(liblinear.reached)
        row["linear_svc_suboptimality"] = liblinear.suboptimality
        row["linear_svc_tol"] = float(liblinear.estimator.tol)
    if entry.name in PICTURED and lam == PICTURED_LAM:
        row["curves"] = _curves(mine.model, rivals["lbfgs"], optimum)
    return row


def best_known(problem: Problem, lam: float, exact: Any, tol: float, patience: float) -> float:
    """J*, or where we have not proven it the least value that anyone reaches in the time."""
    if exact.gap_ <= tol * exact.objective_:
        return float(exact.objective_)
    bound = exact.objective_ - exact.gap_
    rival = LBFGS(our_objective(problem, lam), problem.X.shape[1] + 1, bound, patience, tol)
    rival.run()
    return float(min(exact.objective_, *(value for _, value in rival.trace)))


def _of_ours(entry: Entry, problem: Problem, lam: float, mine: Ours, patience: float) -> dict[str, Any]:
    model = mine.model
    assert model is not None
    s, tails = problem.median_s(model.coef_[0], model.intercept_[0])
    return {
        "problem": entry.name,
        "examples": len(problem.y),
        "features": problem.X.shape[1],
        "lam": lam,
        "tol": entry.tol,
        "median_s": s,
        "share_beyond_6s": tails,
        "relative_gap": model.gap_ / model.objective_,
        "certified": bool(model.gap_ <= entry.tol * model.objective_),
        "status": model.status_,
        "iterations": model.n_iter_,
        "passes": model.history_[-1]["passes"],
        "most_passes": entry.passes,
        "seconds": mine.seconds,
        "patience": patience,
        "target": entry.target,
        "cpp_target": entry.cpp_target,
        "svc_target": entry.svc_target,
    }


def _of_rival(name: str, rival: LBFGS, seconds: float) -> dict[str, Any]:
    return {
        f"{name}_seconds": seconds,
        f"{name}_spent": rival.trace[-1][0],
        f"{name}_evaluations": len(rival.trace),
        f"{name}_reached": rival.reached,
        f"{name}_suboptimality": rival.suboptimality,
    }


def _curves(model: Any, rival: LBFGS, optimum: float) -> dict[str, Any]:
    steps = [(h["seconds"], h["objective"] / optimum - 1.0, h["gap"] / optimum) for h in model.history_]
    return {"ours": steps, "lbfgs": improvements(rival.trace, optimum)}


def measure_tiny(repeat: int) -> dict[str, float]:
    """Microseconds a fit of 50 × 30, λ = 1e-2, where overheads decide."""
    from sklearn.svm import LinearSVC

    problem = diagonal(50, 30, spread=0.3, seed=8)
    X, y, V = problem.X, problem.y, problem.variances
    assert V is not None
    data = svmgsu.Gaussians(X, V)
    core = data.labelled(y, np.ones(len(y)), None)
    options = svmgsu._core.Options()
    options.lam, options.threads = 1e-2, 1
    estimator = svmgsu.LinearSVMGSU(lam=1e-2, threads=1, probability=False)  # LinearSVC has none either
    rival = LinearSVC(loss="hinge", C=1.0 / (1e-2 * len(y)), max_iter=100_000, random_state=0)
    rivals = {
        "raw call": lambda: seconds_a_call(lambda: svmgsu._core.solve(core, options)),
        "LinearSVMGSU.fit": lambda: seconds_a_call(lambda: estimator.fit(X, y, cov=V)),
        "LinearSVC.fit": lambda: seconds_a_call(lambda: rival.fit(X, y)),
    }
    best = interleaved(rivals, max(repeat, 5))
    return {name: 1e6 * seconds for name, seconds in best.items()}


def say(*words: Any) -> None:
    print(*words, file=sys.stderr, flush=True)


def chosen(short: bool, only: list[str] | None) -> list[Entry]:
    """The problems to measure."""
    some = [entry for entry in entries() if not (short and entry.long)]
    return some if only is None else [entry for entry in some if any(word in entry.name for word in only)]


def run(args: argparse.Namespace, repeat: int) -> dict[str, Any]:
    results: dict[str, Any] = {
        "machine": machine(),
        "quick": args.quick,
        "repeat": repeat,
        "rows": [],
        "skipped": {entry.name: "--short" for entry in entries() if args.short and entry.long},
    }
    for entry in chosen(args.short, args.only):
        try:
            problem = entry.make(args.quick, args.data)
        except MissingData as missing:
            say(f"{entry.name}: skipped, {missing}")
            results["skipped"][entry.name] = str(missing)
            continue
        for lam in [lam for lam in entry.lams if args.lams is None or lam in args.lams]:
            row = measure(entry, problem, lam, repeat, args.patience)
            results["rows"].append(row)
            say(
                f"{entry.name}, λ = {lam:g}: ours {duration(row['seconds'])}, {row['passes']:.3g} passes, "
                f"gap {row['relative_gap']:.1e}, {row['status']}; L-BFGS {ratio(row, 'lbfgs')}, "
                f"on our objective {ratio(row, 'cpp_lbfgs')}, LinearSVC {ratio(row, 'linear_svc')}"
            )
    if args.only is None:
        say("tiny problems")
        results["tiny"] = measure_tiny(repeat)
    return results


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.solvers", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small versions of the problems")
    parser.add_argument("--short", action="store_true", help="without the problems that take minutes")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="problems whose name has one of the words")
    parser.add_argument("--lams", nargs="+", type=float, help="some of the problems' λ; default: all")
    parser.add_argument("--output", type=Path, default=Path("bench/results"), help="default: %(default)s")
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("SVMGSU_DATA"),
        help="folder of real data; default: the environment variable SVMGSU_DATA",
    )
    parser.add_argument("--repeat", type=int, help="rounds, of which the best counts; default: 3, quick 1")
    parser.add_argument("--patience", type=float, help="seconds after which a solver is stopped; default: 40")
    args = parser.parse_args()
    args.patience = args.patience or (1.0 if args.quick else 40.0)
    args.data = None if args.data is None else Path(args.data)
    return args


def main() -> int:
    args = arguments()
    repeat = args.repeat or (1 if args.quick else 3)
    try:
        with threadpool_limits(1):  # of BLAS, and of OpenMP where no number of threads is given
            results = run(args, repeat)
    except KeyboardInterrupt:
        say("\nstopped; nothing was written")
        return 130
    text = report(results)
    write(args.output / "solvers.md", text)
    write(args.output / "solvers.json", as_json(results))
    picture(results["rows"], args.output / "solvers.png")
    print(text)
    say(f"written to {args.output}: solvers.md, solvers.json, solvers.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
