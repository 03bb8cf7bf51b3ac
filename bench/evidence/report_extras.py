"""Tables and curves of the two small studies: draws at equal quality, and sweeps of noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..paper.report import number, show, show_gain, table
from ..paper.statistics import estimate, paired
from . import extras, records
from .summary import chosen, complete
from .tasks import CELLS

COUNTS = (1, 3, 10, 30, 100)
Record = records.Record
# Of the abstract of Reis, Baron and Shahaf (2019).
PAPER = "up to 10 % with noisy features, up to 30 % with noisy labels, < 5 % lost at 45 % wrong labels"


def cost(found: list[Record], part: str) -> dict[str, Any] | None:
    """Losses and costs by family and number of draws, and those of ours, over the splits that have all."""
    home = extras.COST[part]
    cell = next(cell for cell in CELLS if cell.name == home)
    rows = {records.key(record): record for record in found}
    mine = chosen(found, home, ours=True)

    def record(family: str, count: int, split: int) -> Record | None:
        return rows.get((home if count == 10 else part, split, f"{family}, {count} draws"))

    splits = [
        split
        for split in complete(found, home)
        if all(record(family, count, split) for family in extras.DRAWN for count in COUNTS)
    ]
    if len(splits) < 2:
        return None
    ours = [rows[(home, split, mine[split])] for split in splits]
    loss = np.array([r["log-loss"] for r in ours])
    out: dict[str, Any] = {"title": f"{cell.title}, {cell.setting}", "splits": len(splits)}
    out["ours"] = {"log-loss": float(loss.mean()), **_spent(ours)}
    for family in extras.DRAWN:
        for count in COUNTS:
            theirs = [record(family, count, split) for split in splits]
            gap = paired([r["log-loss"] for r in theirs if r], loss, cell.overlap)
            out[f"{family}, {count}"] = {"beyond": gap.mean, "se": gap.se, **_spent([r for r in theirs if r])}
    return out


def _spent(found: list[Record]) -> dict[str, float]:
    return {
        "seconds": float(np.mean([r["fit"] + r["predict"] for r in found])),
        "megabytes": float(np.mean([r["megabytes"] or np.nan for r in found])),
    }


def needed(figures: dict[str, Any], family: str) -> int | None:
    """The fewest draws that bring a family within one standard error of ours."""
    near = [c for c in COUNTS if (f := figures[f"{family}, {c}"])["beyond"] <= f["se"]]
    return near[0] if near else None


def cost_words(figures: dict[str, Any]) -> str:
    mine = figures["ours"]
    rows = [("ours", "", number(mine["log-loss"]), "", f"{mine['seconds']:.2g}", f"{mine['megabytes']:.0f}")]
    for family in extras.DRAWN:
        for count in COUNTS:
            f = figures[f"{family}, {count}"]
            beyond = f"{number(f['beyond'], 4, '+')} ± {number(f['se'])}"
            rows.append((family, str(count), "", beyond, f"{f['seconds']:.2g}", f"{f['megabytes']:.0f}"))
    heads = ("system", "draws", "log-loss", "log-loss beyond ours", "seconds, fit and predict", "MB")
    said = [
        f"{family}: {n if (n := needed(figures, family)) else f'not with {COUNTS[-1]}'}"
        for family in extras.DRAWN
    ]
    return (
        f"## Cost at equal quality: {figures['title']}\n\n{figures['splits']} splits. Draws that bring a "
        f"rival within one standard error of ours: {'; '.join(said)}.\n\n" + table(heads, rows)
    )


def curves(all_figures: list[dict[str, Any]], path: Path) -> None:
    """Log-loss beyond ours against seconds, one panel for each task."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1, len(all_figures), figsize=(4.6 * len(all_figures), 3.4), layout="constrained", squeeze=False
    )
    for axes, figures in zip(panels[0], all_figures, strict=True):
        for family, marker in zip(extras.DRAWN, "os^", strict=True):
            f = [figures[f"{family}, {count}"] for count in COUNTS]
            seconds, beyond = [e["seconds"] for e in f], [e["beyond"] for e in f]
            axes.errorbar(seconds, beyond, yerr=[e["se"] for e in f], marker=marker, label=family, capsize=2)
            for count, x, y in zip(COUNTS, seconds, beyond, strict=True):
                axes.annotate(str(count), (x, y), textcoords="offset points", xytext=(4, 4), fontsize=7)
        axes.plot(figures["ours"]["seconds"], 0, "k*", markersize=12, label="ours")
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set(xscale="log", title=figures["title"], xlabel="processor seconds, fit and predict")
        axes.grid(alpha=0.3)
    panels[0][0].set_ylabel("log-loss beyond ours")
    panels[0][0].legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def sweep_words(found: list[Record], part: str) -> str | None:
    """Accuracy by level of noise; the pool beyond the probabilistic forest, and that beyond the plain one."""
    accuracy = records.by_system(found, part, "accuracy")
    levels = [("features", r) for r in extras.SPREADS] + [("labels", q) for q in extras.WRONG]
    overlap = 1 / 3 if part.endswith("kepler") else 0.0
    rows, count = [], 0
    for what, level in levels:
        names = {n: f"{n}, {what} {level:g}" for n in (extras.FOREST, extras.PROBABILISTIC, extras.OURS)}
        scores = [accuracy.get(name, {}) for name in names.values()]
        splits = sorted(set.intersection(*(set(s) for s in scores)))
        if len(splits) < 2:
            return None
        count = len(splits)
        forest, theirs, ours = ([s[k] for k in splits] for s in scores)
        told = [accuracy.get(f"{extras.TOLD}, {what} {level:g}", {}).get(k, np.nan) for k in splits]
        rows.append(
            (
                f"{what}, {level:g}",
                show(estimate(forest), 3),
                show(estimate(told), 3) if what == "labels" else "",
                show(estimate(theirs), 3),
                show(estimate(ours), 3),
                show_gain(paired(theirs, forest, overlap), 3),
                show_gain(paired(ours, theirs, overlap), 3),
            )
        )
    heads = ("noise", extras.FOREST, extras.TOLD, extras.PROBABILISTIC, extras.OURS)
    more = ("probabilistic beyond plain forest", f"{extras.OURS} beyond probabilistic forest")
    few = "" if count >= 10 else " Fewer than ten splits: not to be cited."
    title = "Kepler" if part.endswith("kepler") else "synthetic data"
    return (
        f"## Sweep of noise: {title}\n\nAccuracy on true labels, {count} splits, default settings."
        f"{few} The paper of the probabilistic forest reports over a plain one: "
        f"{PAPER}.\n\n" + table((*heads, *more), rows)
    )
