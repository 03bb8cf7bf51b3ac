"""How fast the exact solver reaches a proven optimum, beside others: `python -m bench.solvers`.

Every problem of bench/problems.py at four λ. Ours runs until it has proven a relative gap of 1e-6. The rivals
are told the optimum J* and are stopped at the first point within 1e-6 of it, which is more than a user has.
All run on one thread, in turns; the best of N counts. Writes solvers.json, solvers.md and solvers.png.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import svmgsu

from .problems import LAMS, Entry, MissingData, Problem, diagonal, entries, wdbc
from .rivals import ACCURACY, LBFGS, improvements, numpy_objective, our_objective, ours
from .tables import about, as_json, duration, markdown, times, write
from .timing import interleaved, machine, seconds_a_call, seconds_of

PICTURED = ("smooth diagonal", "near-hinge diagonal", "all with Σ = 0")
PICTURED_LAM = 1e-3


class Liblinear:
    """scikit-learn's LinearSVC(loss="hinge"), with the loosest settings that reach the accuracy."""

    def __init__(self, problem: Problem, lam: float, optimum: float, most_iterations: int) -> None:
        from sklearn.svm import LinearSVC

        self.problem = problem
        objective = svmgsu.Objective(problem.X, problem.y, lam=lam, threads=1)
        self.suboptimality, self.reached = np.inf, False
        # Its intercept is penalised: the larger intercept_scaling, the less, and the slower.
        for scaling in (10.0, 100.0):
            for tol in 10.0 ** -np.arange(1, 7):
                estimator = LinearSVC(
                    loss="hinge",
                    C=1.0 / (lam * len(problem.y)),
                    tol=tol,
                    intercept_scaling=scaling,
                    max_iter=most_iterations,
                    random_state=0,
                )
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    estimator.fit(problem.X, problem.y)
                value = objective.value(estimator.coef_[0], estimator.intercept_[0])
                if value / optimum - 1.0 < self.suboptimality:
                    self.estimator, self.suboptimality = estimator, value / optimum - 1.0
                self.reached = self.suboptimality <= ACCURACY
                if self.reached or caught:  # a smaller tol would stop at the same limit
                    break
            if self.reached:
                break

    def run(self) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return seconds_of(lambda: self.estimator.fit(self.problem.X, self.problem.y))


# Measurements


def measure(entry: Entry, problem: Problem, lam: float, repeat: int, patience: float) -> dict[str, Any]:
    """One row of the table: our solver and its rivals on one problem at one λ."""
    exact = ours(problem, lam, tol=1e-9)
    optimum, n = exact.objective_, problem.X.shape[1]
    s, tails = problem.median_s(exact.coef_[0], exact.intercept_[0])
    models: dict[str, tuple[float, svmgsu.Model]] = {}

    def run_ours(name: str, threads: int) -> float:
        began = time.perf_counter()
        model = ours(problem, lam, threads=threads)
        seconds = time.perf_counter() - began
        if name not in models or seconds < models[name][0]:
            models[name] = (seconds, model)
        return seconds

    numpy_rival = LBFGS(numpy_objective(problem, lam), n + 1, optimum, patience)
    rivals = {
        "ours": lambda: run_ours("ours", 1),
        "ours, 2 threads": lambda: run_ours("ours, 2 threads", 2),
        "L-BFGS, NumPy": numpy_rival.run,
    }
    cpp_rival = liblinear = None
    if entry.target is not None:
        cpp_rival = LBFGS(our_objective(problem, lam), n + 1, optimum, patience)
        rivals["L-BFGS, our objective"] = cpp_rival.run
    if problem.cov is None:
        liblinear = Liblinear(problem, lam, optimum, most_iterations=20_000)
        rivals["LinearSVC"] = liblinear.run
    best = interleaved(rivals, repeat)

    model = models["ours"][1]
    row = {
        "problem": entry.name,
        "examples": len(problem.y),
        "features": n,
        "lam": lam,
        "median_s": s,
        "share_beyond_6s": tails,
        "optimum": optimum,
        "optimum_gap": exact.gap_ / optimum,
        "relative_gap": model.gap_ / model.objective_,
        "certified": bool(model.gap_ <= ACCURACY * model.objective_),
        "iterations": model.n_iter_,
        "passes": model.history_[-1]["passes"],
        "seconds": best["ours"],
        "seconds_2_threads": best["ours, 2 threads"],
        "patience": patience,
        "target": entry.target,
        **_of_rival("lbfgs", numpy_rival, best["L-BFGS, NumPy"]),
    }
    if cpp_rival is not None:
        row |= _of_rival("cpp_lbfgs", cpp_rival, best["L-BFGS, our objective"])
    if liblinear is not None:
        row["linear_svc_seconds"] = best["LinearSVC"]
        row["linear_svc_reached"] = bool(liblinear.reached)
        row["linear_svc_suboptimality"] = liblinear.suboptimality
        row["linear_svc_tol"] = float(liblinear.estimator.tol)
    if entry.name in PICTURED and lam == PICTURED_LAM:
        row["curves"] = {
            "ours": [
                (h["seconds"], h["objective"] / optimum - 1.0, h["gap"] / optimum) for h in model.history_
            ],
            "lbfgs": improvements(numpy_rival.trace, optimum),
        }
    return row


def _of_rival(name: str, rival: LBFGS, seconds: float) -> dict[str, Any]:
    return {
        f"{name}_seconds": seconds,
        f"{name}_spent": rival.trace[-1][0],
        f"{name}_evaluations": len(rival.trace),
        f"{name}_reached": rival.reached,
        f"{name}_suboptimality": rival.suboptimality,
    }


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


def measure_search(repeat: int, quick: bool) -> dict[str, float]:
    """Seconds to choose λ on WDBC by 10 folds, 20 λ, against as many fits of LinearSVC."""
    from sklearn.model_selection import StratifiedKFold
    from sklearn.svm import LinearSVC

    problem = wdbc(True)
    X, y, V = problem.X, problem.y, problem.variances
    folds = 3 if quick else 10
    lams = np.logspace(0, -4, 5 if quick else 20)
    splits = list(StratifiedKFold(folds).split(X, y))

    def search() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", svmgsu.TrivialModelWarning)
            svmgsu.LinearSVMGSUCV(lams=lams, cv=splits).fit(X, y, cov=V)

    def fits() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for train, _ in splits:
                for lam in lams:
                    LinearSVC(loss="hinge", C=1.0 / (lam * len(train)), random_state=0).fit(
                        X[train], y[train]
                    )

    best = interleaved(
        {"LinearSVMGSUCV": lambda: seconds_of(search), "LinearSVC fits": lambda: seconds_of(fits)}, repeat
    )
    return {**best, "fits": len(splits) * len(lams)}


# Reports


def _ratio(row: dict[str, Any], rival: str) -> str:
    if row[f"{rival}_reached"]:
        return times(row[f"{rival}_seconds"] / row["seconds"])
    if row[f"{rival}_spent"] < row["patience"]:
        return "broke down"
    return f"> {times(row[f'{rival}_spent'] / row['seconds'])}"


def report(results: dict[str, Any]) -> str:
    """The tables, in Markdown."""
    rows: list[dict[str, Any]] = results["rows"]
    parts = [
        "# Time to a proven optimum",
        f"{about(results['machine'])} "
        f"One thread unless said, best of {results['repeat']}, rivals in turns"
        + (", small versions of the problems (--quick)." if results["quick"] else "."),
        "Ours is the whole call of `svmgsu.train`, checks of the data included; it stops when it has proven "
        "a relative gap of 1e-6. L-BFGS (SciPy's, on a vectorised NumPy objective) is told the optimum and "
        "stopped within 1e-6 of it; where its line search breaks down or its time is over before, the table "
        "says how far it came. s is the deviation of a margin at the optimum.",
        markdown(
            [
                "problem",
                "λ",
                "median s",
                "beyond 6 s",
                "gap proven",
                "iterations",
                "ours",
                "2 threads",
                "L-BFGS",
                "evaluations",
                "ratio",
                "asked",
            ],
            [
                [
                    f"{row['problem']}, {row['examples']} × {row['features']}",
                    f"{row['lam']:g}",
                    f"{row['median_s']:.2g}",
                    f"{100 * row['share_beyond_6s']:.0f}%",
                    f"{row['relative_gap']:.1e}" + ("" if row["certified"] else " (!)"),
                    str(row["iterations"]),
                    duration(row["seconds"]),
                    times(row["seconds"] / row["seconds_2_threads"]),
                    duration(row["lbfgs_seconds"])
                    + ("" if row["lbfgs_reached"] else f", at {row['lbfgs_suboptimality']:.0e}"),
                    str(row["lbfgs_evaluations"]),
                    _ratio(row, "lbfgs"),
                    "" if row["target"] is None or results["quick"] else f"≥ {row['target']:g}×",
                ]
                for row in rows
            ],
        ),
        "## The same L-BFGS on the library's own C++ objective",
        markdown(
            ["problem", "λ", "ours", "L-BFGS", "evaluations", "ratio", "asked"],
            [
                [
                    row["problem"],
                    f"{row['lam']:g}",
                    duration(row["seconds"]),
                    duration(row["cpp_lbfgs_seconds"]),
                    str(row["cpp_lbfgs_evaluations"]),
                    _ratio(row, "cpp_lbfgs"),
                    "≥ 1.8×",
                ]
                for row in rows
                if "cpp_lbfgs_seconds" in row
            ],
        ),
        '## Σ = 0: scikit-learn\'s LinearSVC(loss="hinge")',
        "With the loosest tolerance of 1e-1 … 1e-6 that comes within 1e-6 of the optimum, in 20000 "
        "iterations at the most; where none does, with the one that comes closest.",
        markdown(
            ["λ", "ours", "LinearSVC", "above the optimum", "its tol", "ratio", "asked"],
            [
                [
                    f"{row['lam']:g}",
                    duration(row["seconds"]),
                    duration(row["linear_svc_seconds"]),
                    f"{row['linear_svc_suboptimality']:.1e}" + ("" if row["linear_svc_reached"] else " (!)"),
                    f"{row['linear_svc_tol']:g}",
                    ("" if row["linear_svc_reached"] else "> ")
                    + times(row["linear_svc_seconds"] / row["seconds"]),
                    "≥ 1×",
                ]
                for row in rows
                if "linear_svc_seconds" in row
            ],
        ),
        "## Tiny problems, 50 × 30",
        markdown(
            ["", "µs", "LinearSVC.fit takes", "asked"],
            [
                [
                    name,
                    f"{results['tiny'][name]:.0f}",
                    "" if not asked else times(results["tiny"]["LinearSVC.fit"] / results["tiny"][name]),
                    asked,
                ]
                for name, asked in (
                    ("raw call", "≥ 10×"),
                    ("LinearSVMGSU.fit", "≥ 3×"),
                    ("LinearSVC.fit", ""),
                )
            ],
        ),
    ]
    search = results["search"]
    mine, theirs = search["LinearSVMGSUCV"], search["LinearSVC fits"]
    parts += [
        "## Choosing λ on WDBC",
        f"LinearSVMGSUCV, {search['fits']} fits with their scores and the final one: {duration(mine)}; "
        f"as many fits of LinearSVC alone: {duration(theirs)}, {times(theirs / mine)} (asked ≥ 3×).",
    ]
    if results["skipped"]:
        parts += ["Not measured: " + "; ".join(f"{k} ({v})" for k, v in results["skipped"].items()) + "."]
    return "\n\n".join(parts) + "\n"


def picture(rows: list[dict[str, Any]], path: Path) -> None:
    """Suboptimality and proven gap against time, one panel a problem."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    pictured = [row for row in rows if "curves" in row]
    fig, axes = plt.subplots(1, len(pictured), figsize=(3.6 * len(pictured), 3.3), sharey=True, squeeze=False)
    blue, orange = "#1f5fa8", "#d9731a"
    for ax, row in zip(axes[0], pictured, strict=True):
        t, value, gap = np.array(row["curves"]["ours"]).T
        ax.plot(t, np.maximum(gap, 1e-16), color=blue, ls="--", lw=1.4, label="svmgsu, proven gap")
        ax.plot(t, np.maximum(value, 1e-16), color=blue, lw=1.8, label="svmgsu, J/J* − 1")
        t, value = np.array(row["curves"]["lbfgs"]).T
        ax.plot(t, np.maximum(value, 1e-16), color=orange, lw=1.8, label="L-BFGS on NumPy, J/J* − 1")
        ax.axhline(ACCURACY, color="0.6", lw=0.8, zorder=0)
        ax.set(xscale="log", yscale="log", ylim=(1e-8, 10), xlabel="seconds")
        ax.set_title(f"{row['problem']}, {row['examples']} × {row['features']}", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="0.92", lw=0.6)
        ax.set_axisbelow(True)
    axes[0][0].set_ylabel("relative to the optimum J*")
    handles, labels = axes[0][0].get_legend_handles_labels()
    fig.legend(handles, labels, ncols=3, loc="lower center", frameon=False, fontsize=9)
    fig.suptitle(f"Time to a proven optimum, λ = {PICTURED_LAM:g}, one thread", fontsize=11)
    fig.tight_layout(rect=(0, 0.07, 1, 1))
    fig.savefig(path, dpi=130)
    plt.close(fig)


def say(*words: Any) -> None:
    print(*words, file=sys.stderr, flush=True)


def run(quick: bool, folder: Path | None, repeat: int) -> dict[str, Any]:
    results: dict[str, Any] = {
        "machine": machine(),
        "quick": quick,
        "repeat": repeat,
        "rows": [],
        "skipped": {},
    }
    patience = 1.0 if quick else 40.0
    for entry in entries():
        try:
            problem = entry.make(quick, folder)
        except MissingData as missing:
            say(f"{entry.name}: skipped, {missing}")
            results["skipped"][entry.name] = str(missing)
            continue
        for lam in LAMS:
            row = measure(entry, problem, lam, repeat, patience)
            results["rows"].append(row)
            svc = row.get("linear_svc_seconds")
            say(
                f"{entry.name}, λ = {lam:g}: median s {row['median_s']:.2g}, "
                f"{100 * row['share_beyond_6s']:.0f}% beyond 6 s; "
                f"ours {duration(row['seconds'])}, gap {row['relative_gap']:.1e}; "
                f"L-BFGS {duration(row['lbfgs_seconds'])} ({_ratio(row, 'lbfgs')})"
                + ("" if svc is None else f"; LinearSVC {duration(svc)}")
            )
    say("tiny problems")
    results["tiny"] = measure_tiny(repeat)
    say("choosing λ on WDBC")
    results["search"] = measure_search(repeat, quick)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.solvers", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small versions of the problems")
    parser.add_argument("--output", type=Path, default=Path("bench/results"), help="default: %(default)s")
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("SVMGSU_DATA"),
        help="folder of real data; default: the environment variable SVMGSU_DATA",
    )
    parser.add_argument("--repeat", type=int, help="rounds, of which the best counts; default: 3, quick 1")
    args = parser.parse_args()
    repeat = args.repeat or (1 if args.quick else 3)
    try:
        with threadpool_limits(1):  # of BLAS, and of OpenMP where no number of threads is given
            results = run(args.quick, args.data, repeat)
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
