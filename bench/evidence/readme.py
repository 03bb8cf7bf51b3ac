"""What the README says of the evidence: on its first screen the gain, below it the decision table.

Both stand between marks and are written from evidence.json alone; a test compares them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .summary import ENOUGH

START, END = "<!-- evidence, {}: written by python -m bench.evidence --report -->", "<!-- end of evidence -->"
RESULTS, PICTURE = "bench/results/evidence.md", "docs/images/evidence.png"
PROTOCOL = "bench/evidence/PROTOCOL.md"
# A situation, what to call, and the parts that measure it.
SITUATIONS = (
    (
        "new objects noisier than those to learn from, by a known noise",
        "`GSUClassifier(test_noise=...)`, `GSURegressor(...)`",
        ("kepler-noisy", "wdbc-noisy", "sdss2.2-noisy", "redshift-noisy"),
    ),
    (
        "error bars that differ widely from object to object",
        "`GSUClassifier().fit(X, y, std=...)`",
        ("kepler-uneven", "wdbc-uneven", "sdss2.2-uneven", "sdss1.5-uneven"),
    ),
    ("noisy objects to learn from, precise new ones", "`GSUClassifier`", ("kepler-precise", "wdbc-precise")),
    (
        "means and covariances of many frames, new data single frames",
        "`GSUClassifier`",
        ("vowels", "eeg-windows"),
    ),
    ("few images that may be moved", "a forest on images that are moved", ("mnist",)),
    (
        "new objects like those to learn from",
        "try `GSUClassifier` beside boosting with bars as features",
        ("kepler-like", "wdbc-like", "sdss2.2-like", "sdss1.5-like", "redshift-like", "tv-like", "eeg-like"),
    ),
    ("another population or channel", "no general advice", ("sdss2.2-half", "tv-channel")),
)
SAID = {"rival": "**worse**: ", "tie": "no clear difference: "}


def lines(figures: dict[str, Any]) -> list[str]:
    """The table's lines: a row for each situation with a part of ten splits."""
    rows = []
    for situation, call, parts in SITUATIONS:
        cited = [figures[p] for p in parts if p in figures and figures[p]["splits"] >= ENOUGH]
        if cited:
            rows.append(f"| {situation} | {call} | {'; '.join(_measured(entry) for entry in cited)} |")
    head = [
        "| your situation | what to call | measured: loss saved against the best rival, ± a standard error |",
        "|---|---|---|",
    ]
    return [*head, *rows] if rows else []


def _measured(entry: dict[str, Any]) -> str:
    measure, scale, unit = entry["loss"], 1, ""
    if entry["verdict"] == "ours, in accuracy":
        measure, scale, unit = "accuracy", 100, " points of accuracy"
    gain = {k: scale * v for k, v in entry[measure].items() if k in ("gain", "se", "ours", "theirs")}
    digits = 3 if scale == 1 else 1
    saved = f"{gain['gain']:+.{digits}f} ± {gain['se']:.{digits}f}{unit}".replace("-", "−")
    both = f"{gain['ours']:.{digits}f}; {entry[measure]['rival']} {gain['theirs']:.{digits}f}"
    return f"{entry['title']} {saved} ({SAID.get(entry['verdict'], '')}{both})"


def sentence(figures: dict[str, Any]) -> str:
    """What is gained, and when not, in the rows that may be cited."""
    cited = [entry for entry in figures.values() if entry["splits"] >= ENOUGH]
    said = {
        "better by two standard errors": [e for e in cited if e["verdict"].startswith("ours")],
        "worse": [e for e in cited if e["verdict"] == "rival"],
    }
    parts = [f"{words} in {len(found)} ({_listed(found)})" for words, found in said.items() if found]
    ties = len(cited) - sum(map(len, said.values()))
    parts += [f"without a clear difference in the other {ties}"] if ties else []
    return (
        f"Against the best (chosen in hindsight) of linear and RBF machines, forests, boosting, LDA, QDA and "
        f"the probabilistic random forest, on values, with bars as features and on draws, all "
        f"tuned alike on the same {ENOUGH} splits, ours is, of {len(cited)} settings, {'; '.join(parts)} "
        f"([all figures]({RESULTS}), [protocol]({PROTOCOL}))."
    )


def _listed(entries: list[dict[str, Any]]) -> str:
    """The tasks of each setting: "*precise → noisy*: Kepler; WDBC; ..."."""
    settings = dict.fromkeys(e["setting"] for e in entries)
    return "; ".join(
        f"*{s}*: {'; '.join(e['title'] for e in entries if e['setting'] == s)}" for s in settings
    )


def gain(figures: dict[str, Any]) -> list[str]:
    """The picture and its sentence."""
    alt = "Loss saved against the best rival, by task and setting, with two standard errors"
    return [f"![{alt}]({PICTURE})", "", sentence(figures)]


BLOCKS = {"gain": gain, "table": lines}


def block(name: str, figures: dict[str, Any]) -> str:
    return "\n".join([START.format(name), *BLOCKS[name](figures), END])


def between(name: str, text: str) -> str:
    """A block of a page, marks included."""
    start = text.index(START.format(name))
    return text[start : text.index(END, start) + len(END)]


def update(page: Path, figures: dict[str, Any]) -> None:
    """Writes both blocks of a page anew."""
    text = page.read_text(encoding="utf-8")
    for name in BLOCKS:
        text = text.replace(between(name, text), block(name, figures))
    page.write_text(text, encoding="utf-8")
