"""Write the page, the pictures and the README's block from the records alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import tables
from .rule import ALL, BEST, BEST_SINGLE, ENOUGH, one_of_each_family, summary
from .run import CURVE_SIZES, Record
from .systems import DEFAULT, LINEAR, PUBLISHED, STACK
from .tasks import GROUPS, ROWS

HOME = Path(__file__).parents[2]
PICTURE, CURVES = "evidence.png", "evidence_curves.png"
START, END = "<!-- evidence: written by python -m bench.evidence --report -->", "<!-- end of evidence -->"
SHORT = {DEFAULT: "GSUClassifier() / GSURegressor()", LINEAR: "LinearSVMGSU"}

HEAD = """# Evidence by a fair rule

`python -m bench.evidence --data DIR` writes this page from its records (`evidence.jsonl`) by the
[protocol](../evidence/PROTOCOL.md). Every system is chosen beforehand and used in every row: ours with
default settings, rivals tuned by cross-validation. Loss is log-loss, or RMSE where numbers are predicted;
*excess* is how much larger it is than that of the best system of the row. Seconds are processor seconds of
one thread, tuning included."""

# Why the default loses where it may, and what to use there.
REASONS = {
    "tv-like": "deviations within a shot are not measurement noise: boosting on values + uncertainties",
    "tv-shift": "another channel is not another noise: boosting or a forest on values",
    "eeg-like": "375 samples of five classes: an RBF machine does as well",
    "mnist": "784 pixels: train an RBF machine on moved images",
    "vowels": "frames of nine speakers: QDA on samples of the summaries",
    "eeg-windows": "windows of five sets: QDA or boosting on samples of the summaries",
    "vvds-shift": "the class priors change from survey to survey, and no model is told",
    "sdss-half": "the noisy half lies outside the support of the precise one",
    "fermi-43": "errors of the older catalogue are unlike those of the newer one: most predictions do "
    "without them, but here they tell the classes apart: a forest on values + uncertainties",
    "fermi-blind": "303 sources: no difference beyond two standard errors",
}
FEW = 3  # splits from which on standard errors are worth a sentence


def write(output: Path, records: list[Record], quick: bool) -> Path:
    """Write evidence.md and the pictures; README and docs too if these are the results."""
    figures = summary(records)
    published = output == HOME / "bench" / "results"
    pictures = HOME / "docs" / "images" if published else output
    if figures["rows"]:
        picture(figures, pictures / PICTURE)
    if figures["curves"]:
        curves_picture(figures["curves"], pictures / CURVES)
    path = output / "evidence.md"
    tables.write(path, page(figures, quick, f"../../docs/images/{CURVES}" if published else CURVES))
    if published and figures["rows"]:
        update(HOME / "README.md", figures)
    return path


def page(figures: dict[str, Any], quick: bool, curves: str) -> str:
    """Return the text of evidence.md; `curves` is where the picture of the learning curves is."""
    parts = ["# Evidence, a quick run: nothing here may be cited" if quick else HEAD]
    if figures["rows"]:
        parts += [
            state(figures),
            systems_table(figures),
            head_table(figures),
            rows_table(figures),
            losses(figures),
        ]
    if figures["curves"]:
        parts.append(f"## Learning curves\n\n![Log-loss against the number of training samples]({curves})")
    return "\n\n".join(part for part in parts if part) + "\n"


def is_complete(figures: dict[str, Any]) -> bool:
    rows = figures["rows"]
    return len(rows) == len(ROWS) and all(row["splits"] >= ENOUGH for row in rows.values())


def state(figures: dict[str, Any]) -> str:
    """Say what was run, and in one paragraph what came out."""
    rows = figures["rows"]
    words = sentence(figures)
    if not is_complete(figures):
        counts = [row["splits"] for row in rows.values()]
        words += (
            f"\n\n**The run is not complete**: {len(rows)} of {len(ROWS)} rows have records, with "
            f"{_range(counts)} of {ENOUGH} splits each. Standard errors are rough."
        )
    return words


def sentence(figures: dict[str, Any]) -> str:
    """Return the evidence in two sentences, whatever it is."""
    standing = figures["systems"][ALL]
    rows = figures["rows"]
    ours = standing[DEFAULT]
    # A rival that takes part everywhere, but for rows of numbers or summaries alone.
    rivals = [
        name for name in standing if name not in (DEFAULT, LINEAR) and 2 * standing[name]["rows"] >= len(rows)
    ]
    single = [name for name in rivals if name != STACK]
    splits = sorted({row["splits"] for row in rows.values()})
    data = {row["title"].split(",")[0].split()[0] for row in rows.values()}
    words = (
        f"In {len(rows)} rows on {len(data)} data sets ({_range(splits)} splits each), the loss of default "
        f"settings is on average {_percent(ours['mean'])} above the best system's "
        f"({_percent(ours['worst'])} in the worst row)"
    )
    if single:
        words += f"; the best tuned rival, {single[0]}, {_percent(standing[single[0]]['mean'])}"
    if STACK in rivals:
        words += f"; a stack of eleven {_percent(standing[STACK]['mean'])}"
    words += "."
    found = figures["head to head"]
    if splits[0] >= FEW and BEST_SINGLE in found:
        words += (
            f" Against the best single rival in hindsight it is better by two standard errors in "
            f"{found[BEST_SINGLE]['better']} rows, worse in {found[BEST_SINGLE]['worse']}; with the stack "
            f"{found[BEST]['better']} and {found[BEST]['worse']}."
        )
    lower = [name for name in rivals if standing[name]["mean"] < ours["mean"]]
    return words + (f" A lower mean excess has: {', '.join(lower)}." if lower else "")


def _range(counts: list[int]) -> str:
    least, most = min(counts), max(counts)
    return f"{least}" if least == most else f"{least} to {most}"


def _percent(x: float) -> str:
    return f"{100 * x:.1f} %" if x < 0.1 else f"{100 * x:.0f} %"


def systems_table(figures: dict[str, Any]) -> str:
    """Return a line for each system: all rows, and the three groups."""
    lines = []
    for name, entry in figures["systems"][ALL].items():
        cells = [f"**{name}**" if name in (DEFAULT, LINEAR) else name, f"{entry['rows']}"]
        cells += [_percent(entry["mean"]), f"{_percent(entry['worst'])} ({entry['worst row']})"]
        cells += [f"{entry['rank']:.1f}", f"{entry['near']}"]
        for group in GROUPS:
            other = figures["systems"][group].get(name)
            cells.append(_percent(other["mean"]) if other else "")
        cells.append("" if entry["seconds"] is None else f"{entry['seconds']:.2g}")
        lines.append(cells)
    head = ["system", "rows", "mean excess", "worst excess", "mean rank", "rows within 1 s.e. of the best"]
    head += [f"mean excess, {group}" for group in GROUPS] + ["seconds"]
    return "## Systems\n\n" + tables.markdown(head, lines)


def head_table(figures: dict[str, Any]) -> str:
    """Return how often ours is better or worse than each rival by two standard errors."""
    found = figures["head to head"]
    order = sorted(found, key=lambda name: (found[name]["better"] - found[name]["worse"], name))
    lines = [[name, *(str(found[name][k]) for k in ("better", "unclear", "worse"))] for name in order]
    return (
        "## Default settings against each rival\n\nRows by two paired standard errors.\n\n"
        + tables.markdown(["rival", "ours better", "no clear difference", "ours worse"], lines)
    )


def rows_table(figures: dict[str, Any]) -> str:
    """Return a line for each row: ours against the rival that is best in hindsight."""
    lines = []
    for name, row in figures["rows"].items():
        rival = row["rival"]
        entry = row["against"].get(rival, {"gain": 0.0, "se": None, "verdict": "unclear"})
        mine, theirs = row["measures"][DEFAULT], row["measures"].get(rival, {})
        error = "?" if entry["se"] is None or entry["se"] != entry["se"] else f"{entry['se']:.4f}"
        lines.append(
            [
                f"{row['title']}: {row['setting']} (`{name}`)",
                f"{row['splits']}",
                f"{row['losses'][DEFAULT]:.4f}" + (" (RMSE)" if row["loss"] == "RMSE" else ""),
                f"{row['losses'][rival]:.4f}",
                f"{entry['gain']:+.4f} ± {error}".replace("-", "−"),
                *(
                    f"{mine[m]:.3f} / {theirs[m]:.3f}" if m in theirs else ""
                    for m in ("accuracy", "calibration")
                ),
                f"{row['seconds'][DEFAULT]:.2g} / " + _seconds(row["seconds"][rival]),
                row["group"] + ("" if row["natural"] else ", noise added"),
                rival,
                {"better": "**ours**", "worse": "the rival"}.get(entry["verdict"], ""),
            ]
        )
    head = ["row", "splits", "ours", "best rival", "gain ± s.e.", "accuracy", "calibration error", "seconds"]
    return "## Rows\n\nOurs / the rival that is best in hindsight.\n\n" + tables.markdown(
        [*head, "kind", "the best rival", "better by 2 s.e."], lines, words=3
    )


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}"


def losses(figures: dict[str, Any]) -> str:
    """List the rows in which the default is worse than the best rival, or far from it."""
    lines = []
    for name, row in figures["rows"].items():
        verdict = row["against"].get(row["rival"], {"verdict": "unclear"})["verdict"]
        if verdict == "worse" or row["excess"][DEFAULT] > 0.1:
            reason = f" {REASONS[name][0].upper()}{REASONS[name][1:]}." if name in REASONS else ""
            lines.append(
                f"- {row['title']}, {row['setting']}: {row['losses'][DEFAULT]:.3f} where {row['rival']} has "
                f"{row['losses'][row['rival']]:.3f}.{reason}"
            )
    published = [row for row in figures["rows"].values() if PUBLISHED in row["losses"]]
    for row in published:
        mine = f"ours, by {ENOUGH}-fold cross-validation, {row['losses'][DEFAULT]:.3f}"
        words = f"{row['losses'][PUBLISHED]:.3f}; {mine}"
        lines.append(
            f"\n{row['title']}: the authors' leave-one-out probabilities have a log-loss of {words}."
        )
    return "## Where it loses\n\n" + "\n".join(lines) if lines else ""


# Pictures


def _plt() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def picture(figures: dict[str, Any], path: Path) -> None:
    """Draw the mean excess of each system (dot) and its worst row (ring), in three groups of rows."""
    plt = _plt()
    names = one_of_each_family(figures)[::-1]
    groups = [group for group in GROUPS if figures["systems"][group]]
    figure, panels = plt.subplots(
        1,
        len(groups),
        figsize=(3.1 * len(groups) + 3.0, 0.33 * len(names) + 1.3),
        sharey=True,
        layout="constrained",
        squeeze=False,
    )
    for axes, group in zip(panels[0], groups, strict=True):
        standing = figures["systems"][group]
        for place, name in enumerate(names):
            if name in standing:
                mean, worst = (max(100 * standing[name][k], 0.3) for k in ("mean", "worst"))
                colour = {DEFAULT: "#b2182b", LINEAR: "#ef8a62"}.get(name, "#4d4d4d")
                axes.plot([mean, worst], [place, place], color=colour, linewidth=1, alpha=0.5)
                axes.plot(worst, place, "o", color=colour, markerfacecolor="white", markersize=4)
                axes.plot(mean, place, "o", color=colour, markersize=8)
        count = sum(row["group"] == group for row in figures["rows"].values())
        axes.set(xscale="log", xlim=(0.25, 400))
        axes.set_xticks(
            [0.3, 1, 3, 10, 30, 100, 300], ["0.3", "1", "3", "10", "30", "100", "300"], fontsize=7
        )
        axes.set_xticks([], minor=True)
        axes.set_title(f"{group} ({count} rows)", fontsize=9)
        axes.grid(axis="x", alpha=0.3)
    panels[0][0].set_yticks(range(len(names)), [SHORT.get(n, n) for n in names], fontsize=8)
    unfinished = "" if is_complete(figures) else "   (the run is not complete)"
    figure.supxlabel(
        f"loss above that of the best system of a row, %: mean (dot) and worst row (ring){unfinished}",
        fontsize=8,
    )
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def curves_picture(curves: dict[str, Any], path: Path) -> None:
    """Draw log-loss against the number of training samples."""
    plt = _plt()
    titles = {row.name: f"{row.title}, {row.setting}" for row in ROWS}
    figure, panels = plt.subplots(
        1, len(curves), figsize=(4.4 * len(curves), 3.3), layout="constrained", squeeze=False
    )
    for axes, (row, systems) in zip(panels[0], curves.items(), strict=True):
        axes.set_prop_cycle(color=["#2166ac", "#e08214", "#1b7837", "#4d4d4d"])
        for name, sizes in systems.items():
            order = sorted(sizes, key=int)
            style = {"color": "#b2182b", "linewidth": 2.2} if name == DEFAULT else {"linewidth": 1}
            axes.errorbar(
                [int(s) for s in order],
                [sizes[s]["mean"] for s in order],
                yerr=[sizes[s]["se"] for s in order],
                marker="o",
                markersize=3,
                capsize=2,
                label=SHORT.get(name, name),
                **style,
            )
        axes.set(xscale="log", xlabel="training samples", title=titles[row])
        axes.set_xticks(CURVE_SIZES, [f"{size:,}" for size in CURVE_SIZES])
        axes.set_xticks([], minor=True)
        axes.grid(alpha=0.3)
    panels[0][0].set_ylabel("log-loss")
    panels[0][-1].legend(fontsize=7)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


# The README


def block(figures: dict[str, Any]) -> str:
    """Return the README's block: the picture and its sentence."""
    if not figures["rows"]:
        words = (
            f"Models with default settings are compared with tuned rivals in {len(ROWS)} rows by a "
            "[protocol](bench/evidence/PROTOCOL.md) that was fixed beforehand. It has not been run yet."
        )
        return "\n".join([START, words, END])
    alt = "Loss above that of the best system of a row: mean and worst row of each system"
    unfinished = "" if is_complete(figures) else " Preliminary."
    links = "([all figures](bench/results/evidence.md), [protocol](bench/evidence/PROTOCOL.md))"
    return "\n".join(
        [START, f"![{alt}](docs/images/{PICTURE})", "", f"{sentence(figures)}{unfinished} {links}", END]
    )


def between(text: str) -> str:
    """Return the block of a page, marks included."""
    start = text.index(START)
    return text[start : text.index(END, start) + len(END)]


def update(page: Path, figures: dict[str, Any]) -> None:
    """Write the block of a page anew."""
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace(between(text), block(figures)), encoding="utf-8")
