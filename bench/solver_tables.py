"""What `python -m bench.solvers` has measured, in tables and a picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .rivals import ACCURACY
from .tables import about, duration, markdown, times

PICTURED = ("smooth diagonal", "near-hinge diagonal", "all with Σ = 0")
PICTURED_LAM = 1e-3

Row = dict[str, Any]


def ratio(row: Row, rival: str) -> str:
    """How many times our time a rival took, in words."""
    if f"{rival}_seconds" not in row:
        return "not run"
    if rival == "linear_svc":
        least = "" if row["linear_svc_reached"] else "> "
        return least + times(row["linear_svc_seconds"] / row["seconds"])
    if row[f"{rival}_reached"]:
        return times(row[f"{rival}_seconds"] / row["seconds"])
    if row[f"{rival}_spent"] < row["patience"]:
        return "broke down"
    return f"> {times(row[f'{rival}_spent'] / row['seconds'])}"


def _asked(target: float | None, quick: bool) -> str:
    return "" if target is None or quick else f"≥ {target:.2g}×"


def _name(row: Row) -> str:
    return f"{row['problem']}, {row['examples']} × {row['features']}"


def _gap(row: Row) -> str:
    return f"{row['relative_gap']:.1e}" + ("" if row["certified"] else f" ({row['status']}!)")


Column = tuple[str, Callable[[Row], str]]
ALWAYS: list[Column] = [
    ("problem", _name),
    ("λ", lambda row: f"{row['lam']:g}"),
    ("gap proven", _gap),
    ("iterations", lambda row: str(row["iterations"])),
    ("passes", lambda row: f"{row['passes']:.1f}"),
    ("ours", lambda row: duration(row["seconds"])),
]


def _table(rows: list[Row], key: str, columns: list[Column]) -> str:
    """Return a table of the rows that have a value for `key`."""
    columns = ALWAYS + columns
    some = [row for row in rows if row.get(key) is not None]
    return markdown([head for head, _ in columns], [[show(row) for _, show in columns] for row in some])


def _main_table(rows: list[Row], quick: bool) -> str:
    def reached(row: Row) -> str:
        return "" if row["lbfgs_reached"] else f", at {row['lbfgs_suboptimality']:.0e}"

    columns: list[Column] = [
        ("median s", lambda row: f"{row['median_s']:.2g}"),
        ("beyond 6 s", lambda row: f"{100 * row['share_beyond_6s']:.0f}%"),
        ("L-BFGS, NumPy", lambda row: duration(row["lbfgs_seconds"]) + reached(row)),
        ("evaluations", lambda row: str(row["lbfgs_evaluations"])),
        ("ratio", lambda row: ratio(row, "lbfgs")),
        ("asked", lambda row: _asked(row["target"], quick)),
        ("on our objective", lambda row: ratio(row, "cpp_lbfgs")),
        ("asked", lambda row: _asked(row["cpp_target"], quick)),
    ]
    return _table(rows, "lbfgs_seconds", columns)


def _svc_table(rows: list[Row], quick: bool) -> str:
    def reached(row: Row) -> str:
        return "" if row["linear_svc_reached"] else " (!)"

    columns: list[Column] = [
        ("LinearSVC", lambda row: duration(row["linear_svc_seconds"])),
        ("above the optimum", lambda row: f"{row['linear_svc_suboptimality']:.1e}" + reached(row)),
        ("its tol", lambda row: f"{row['linear_svc_tol']:g}"),
        ("ratio", lambda row: ratio(row, "linear_svc")),
        ("asked", lambda row: _asked(row["svc_target"], quick)),
    ]
    return _table(rows, "linear_svc_seconds", columns)


def _passes_table(rows: list[Row], quick: bool) -> str:
    asked: Column = ("asked", lambda row: "" if quick else f"≤ {row['most_passes']}")
    return _table(rows, "most_passes", [asked])


def _small_tables(results: dict[str, Any]) -> list[str]:
    if "tiny" not in results:
        return []
    tiny = results["tiny"]
    asked = {"raw call": "≥ 10×", "LinearSVMGSU.fit": "≥ 3×", "LinearSVC.fit": ""}
    rows = [
        [name, f"{tiny[name]:.0f}", times(tiny["LinearSVC.fit"] / tiny[name]) if wanted else "", wanted]
        for name, wanted in asked.items()
    ]
    return [
        "## Tiny problems, 50 × 30",
        markdown(["", "µs", "LinearSVC.fit takes", "asked"], rows),
    ]


def report(results: dict[str, Any]) -> str:
    """The tables, in Markdown."""
    rows, quick = results["rows"], results["quick"]
    patience = max((row["patience"] for row in rows), default=0.0)
    parts = [
        "# Time to a proven optimum",
        f"{about(results['machine'])} "
        f"Seconds of the processor, one thread, best of {results['repeat']}, rivals in turns"
        + (", small versions of the problems (--quick)." if quick else "."),
        "Ours is the whole call of `svmgsu.train`, checks of the data included; it stops when it has proven "
        "a relative gap of 1e-6 (1e-4 at λ = 1e-6). L-BFGS (SciPy's, on a vectorised NumPy objective and on "
        "the library's own) is told the optimum and stopped within that of it. Where its line search breaks "
        f"down, or {patience:g} s are over before, the table says how far it came; ours is stopped after "
        f"{patience:g} s as well, and (!) marks what it has not proven then. s is the deviation of a margin "
        "at the optimum.",
        _main_table(rows, quick),
        '## Σ = 0: scikit-learn\'s LinearSVC(loss="hinge")',
        "With the loosest tolerance of 1e-1 … 1e-6 that comes as close to the optimum as was asked, in 20000 "
        "iterations at the most; where none does, with the one that comes closest.",
        _svc_table(rows, quick),
        "## Readings of many examples, float32",
        _passes_table(rows, quick),
        *_small_tables(results),
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
    if not pictured:
        return
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
