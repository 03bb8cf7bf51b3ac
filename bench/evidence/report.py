"""The tables and the picture, written from the records alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import tables
from ..paper.report import number, show, show_gain, table
from ..paper.statistics import estimate, paired
from . import extras, readme, records, report_extras
from .ours import SEARCHED
from .summary import ENOUGH, chosen, complete, loss_of, summary
from .tasks import CELLS, Cell

HOME = Path(__file__).parents[2]
RECORDS = "evidence.jsonl"
PICTURE, CURVES = "evidence.png", "evidence_cost.png"
CLASSES = ("accuracy", "AUC", "log-loss", "calibration")
NUMBERS = ("RMSE", "MAE")
TIMES = ("tuning", "fit", "predict", "megabytes")
VERDICTS = {
    "ours": "**ours**",
    "ours, in accuracy": "**ours**, in accuracy",
    "rival": "the rival",
    "tie": "no clear difference",
}

SHOWN = 40.0  # per cent: the picture goes no further


def write(output: Path, found: list[records.Record], quick: bool) -> Path:
    """evidence.md, evidence.json and the picture beside the records."""
    figures = summary(found)
    tables.write(output / "evidence.json", tables.as_json(figures))
    words = [HEAD if not quick else "# Evidence, a quick run: nothing here may be cited", overall(figures)]
    words += _studies(found, output)
    words += [_part(found, cell) for cell in CELLS if complete(found, cell.name)]
    page = output / "evidence.md"
    tables.write(page, "\n\n".join(words) + "\n")
    published = output == HOME / "bench" / "results"
    if figures:
        _picture(figures, (HOME / "docs" / "images" if published else output) / PICTURE)
    if published:
        readme.update(HOME / "README.md", figures)
    return page


def _studies(found: list[records.Record], output: Path) -> list[str]:
    """Cost at equal quality, with its curves, and the sweeps of noise."""
    words = []
    costs = [figures for part in extras.COST if (figures := report_extras.cost(found, part))]
    if costs:
        report_extras.curves(costs, output / CURVES)
        words.append(f"![Log-loss beyond ours against seconds, by number of draws]({CURVES})")
        words += [report_extras.cost_words(figures) for figures in costs]
    sweeps = [report_extras.sweep_words(found, part) for part in extras.EXTRAS if part.startswith("sweep")]
    return [*words, *(text for text in sweeps if text)]


HEAD = """# Evidence: ours against classifiers on values, bars and draws

`python -m bench.evidence --data DIR` makes this page from [evidence.jsonl](evidence.jsonl) by the
[protocol](../evidence/PROTOCOL.md), which was committed before these splits were run. *Ours* is, in each
split, the one of our systems with the least held-out loss; *the best rival* is chosen in hindsight, by the
test. A gain is positive where ours is better; ± is a standard error corrected for objects that splits share;
in brackets the splits with a gain. Two columns were added to the protocol after five splits were seen: the
gain where the rival, too, is chosen by held-out loss, and where both are chosen in hindsight. Seconds are
processor seconds of one thread, tuning included, on a machine that was busy."""


def overall(figures: dict[str, Any]) -> str:
    """One row for each part."""
    heads = ("task", "setting", "splits", "ours, mostly", "loss", "best rival", "loss")
    more = (
        "gain in loss",
        "both by validation",
        "both in hindsight",
        "gain in accuracy",
        "seconds: ours / rival",
        "better by two standard errors",
    )
    rows = []
    for entry in figures.values():
        gain, accuracy, cost = entry[entry["loss"]], entry.get("accuracy"), entry["cost"]
        rows.append(
            (
                entry["title"],
                entry["setting"],
                str(entry["splits"]) + ("" if entry["splits"] >= ENOUGH else " (not to be cited)"),
                entry["most chosen"],
                number(gain["ours"]) + (" (RMSE)" if entry["loss"] == "RMSE" else ""),
                gain["rival"],
                number(gain["theirs"]),
                _gain(gain),
                *(_gain(entry["alike"][how]) for how in ("validation", "hindsight")),
                _gain(accuracy) + f" over {accuracy['rival']}" if accuracy else "",
                f"{cost['ours, all']:.2g} / {cost['rival, all']:.2g}",
                VERDICTS.get(entry["verdict"], entry["verdict"]),
            )
        )
    return table((*heads, *more), rows) + "\n\n" + _plainly(figures)


def _gain(figures: dict[str, Any]) -> str:
    sign = f"{figures['gain']:+.4f}".replace("-", "−")
    return f"{sign} ± {figures['se']:.4f} ({figures['wins']} of {figures['count']})"


def _plainly(figures: dict[str, Any]) -> str:
    """What must hold, in one sentence, whether it does or not."""
    cited = [entry for entry in figures.values() if entry["splits"] >= ENOUGH]
    won = [entry for entry in cited if entry["verdict"].startswith("ours")]
    lost = [entry for entry in cited if entry["verdict"] == "rival"]
    data = {entry["title"].replace(",", "").split()[0] for entry in won}
    words = f"Of {len(cited)} rows with at least {ENOUGH} splits, ours is better in {len(won)}"
    words += f", on {len(data)} data sets" if won else ""
    words += f"; a rival is better in {len(lost)}; in the others there is no clear difference."
    held = len(won) >= 2 and len(data) >= 2
    return words + (
        "" if held else " **That ours beats all rivals in two settings of two data sets is not shown.**"
    )


def _part(found: list[records.Record], cell: Cell) -> str:
    """All systems of a part, the best first."""
    splits, loss = complete(found, cell.name), loss_of(found, cell.name)
    columns = NUMBERS if loss == "RMSE" else CLASSES
    by = {name: records.by_system(found, cell.name, name) for name in (*columns, *TIMES)}
    mine = chosen(found, cell.name, ours=True)
    kinds = {record["system"]: record["ours"] for record in records.of(found, cell.name)}
    ours = np.array([by[loss][mine[s]][s] for s in splits])
    rows = []
    for name in sorted(kinds, key=lambda name: np.mean([v for v in by[loss][name].values()])):
        have = [s for s in splits if s in by[loss][name]]
        if not have:
            continue
        cells = [show(estimate([by[c][name][s] for s in have])) for c in columns]
        times = [_mean(by[c].get(name, {}), have) for c in TIMES]
        against = paired(
            [by[loss][name][s] for s in have], ours[[splits.index(s) for s in have]], cell.overlap
        )
        label = f"*{name}*" if kinds[name] else name
        label += "" if len(have) == len(splits) else f" ({len(have)} splits)"
        rows.append((label, *cells, *times, show_gain(against)))
    short = "" if len(splits) >= ENOUGH else f" **Only {len(splits)} splits: not to be cited.**"
    words = f"## {cell.title}: {cell.setting}\n\n`--only {cell.name}`, {len(splits)} splits.{short} "
    words += f"Ours in italics; “{SEARCHED}” searches by itself and is not counted.\n\n"
    heads = (
        "system",
        *columns,
        "tuning, s",
        "fit, s",
        "predict, s",
        "MB",
        f"{loss} beyond ours by validation",
    )
    return words + table(heads, rows)


def _mean(values: dict[int, float], splits: list[int]) -> str:
    found = [values[s] for s in splits if s in values]
    return f"{np.mean(found):.2g}" if found else ""


def _picture(figures: dict[str, Any], path: Path) -> None:
    """Gains over the best rival, in per cent of its loss, with two standard errors."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = [entry for entry in figures.values() if entry["splits"] >= ENOUGH] or list(figures.values())
    shown.sort(key=lambda e: e[e["loss"]]["gain"] / e[e["loss"]]["theirs"])
    figure, axes = plt.subplots(figsize=(8, 0.36 * len(shown) + 1.3), layout="constrained")
    for place, entry in enumerate(shown):
        gain = entry[entry["loss"]]
        x, bar = (100 * gain[k] / gain["theirs"] for k in ("gain", "se"))
        colour = "#1b7837" if x > 2 * bar else "#b2182b" if x < -2 * bar else "#666666"
        if abs(x) < SHOWN:
            axes.errorbar(x, place, xerr=2 * bar, fmt="o", color=colour, capsize=3)
        else:  # beyond the picture: an arrow that says how far
            side = SHOWN if x > 0 else -SHOWN
            axes.plot(0.97 * side, place, ">" if x > 0 else "<", color=colour)
            words = f"{x:+.0f} ± {2 * bar:.0f}".replace("-", "−")
            axes.text(0.93 * side, place, words, va="center", ha="right" if x > 0 else "left", fontsize=8)
    labels = [f"{e['title']}: {e['setting']}" for e in shown]
    axes.set_yticks(range(len(shown)), labels, fontsize=8)
    axes.axvline(0, color="black", linewidth=0.8)
    left, right = axes.get_xlim()
    axes.set_xlim(max(left, -SHOWN), min(right, SHOWN))
    few = "" if shown[0]["splits"] >= ENOUGH else "; too few splits to cite"
    axes.set_xlabel(f"loss saved against the best rival, % ± 2 standard errors{few}", fontsize=9)
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path, dpi=110)
    plt.close(figure)
