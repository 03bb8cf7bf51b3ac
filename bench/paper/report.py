"""Writes what was found: RESULTS.md, results.json and the figures."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..tables import markdown
from ..tables import write as write_file
from .harness import Experiment
from .statistics import Difference, Estimate, met, same
from .statistics import verdict as judged

VERDICTS = ("reproduced", "partly", "not reproduced")


def number(x: float, digits: int = 4, sign: str = "") -> str:
    return "–" if x is None or math.isnan(x) else f"{x:{sign}.{digits}f}".replace("-", "−")


def show(e: Estimate, digits: int = 4) -> str:
    return f"{number(e.mean, digits)} ± {number(e.se, digits)}"


def show_gain(d: Difference, digits: int = 4) -> str:
    return f"{number(d.mean, digits, '+')} ± {number(d.se, digits)} ({d.wins} of {d.count})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of words."""
    return markdown(list(head), [list(row) for row in rows], words=len(head) - 1)


@dataclass
class Page:
    """One experiment's part of the report."""

    title: str
    figures: Path
    parts: list[str] = field(default_factory=list)
    claims: list[dict[str, Any]] = field(default_factory=list)
    targets: list[dict[str, Any]] = field(default_factory=list)
    numbers: dict[str, Any] = field(default_factory=dict)

    def text(self, words: str) -> None:
        self.parts.append(words)

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        self.parts.append(table(head, rows))

    def figure(self, figure: Any, name: str, words: str) -> None:
        """Saves a picture; `words` say what it shows."""
        import matplotlib.pyplot as plt

        self.figures.mkdir(parents=True, exist_ok=True)
        figure.savefig(self.figures / f"{name}.png", dpi=100, metadata={"Software": None})
        plt.close(figure)
        self.parts.append(f"![{words}](figures/{name}.png)\n\n{words}")

    def claim(
        self,
        words: str,
        *,
        paper: float | None,
        found: Estimate | Difference,
        verdict: str | None = None,
        tolerance: float = 0.01,
        note: str = "",
    ) -> None:
        """Add a claim of the paper beside what was found; by default a gain or a value judges itself."""
        if verdict is None:
            assert paper is not None
            is_gain = isinstance(found, Difference)
            verdict = judged(found, paper) if is_gain else same(found, paper, tolerance)
        entry = {"claim": words, "paper": paper, "ours": found.mean, "se": found.se}
        self.claims.append(entry | {"verdict": verdict, "note": note})

    def target(self, words: str, value: float, se: float, wanted: float) -> None:
        """What this project asks of itself: value >= wanted."""
        self.targets.append(
            {"target": words, "value": value, "se": se, "wanted": wanted, "verdict": met(value, wanted)}
        )

    def keep(self, name: str, e: Estimate | Difference) -> None:
        self.numbers[name] = e._asdict()


def claims_table(claims: list[dict[str, Any]]) -> str:
    head = ("claim", "paper", "ours", "difference", "standard error", "verdict")
    rows = []
    for c in claims:
        apart = None if c["paper"] is None else c["ours"] - c["paper"]
        verdict = f"**{c['verdict']}**" + (f" ({c['note']})" if c["note"] else "")
        paper = "–" if c["paper"] is None else number(c["paper"])
        gap = "–" if apart is None else number(apart, 4, "+")
        rows.append((c["claim"], paper, number(c["ours"]), gap, number(c["se"]), verdict))
    return table(head, rows)


def targets_table(targets: list[dict[str, Any]]) -> str:
    rows = [
        (t["target"], f"≥ {number(t['wanted'])}", f"{number(t['value'])} ± {number(t['se'])}", t["verdict"])
        for t in targets
    ]
    return table(("target", "wanted", "found ± standard error", ""), rows)


ERRATA = (
    ("(7), (11), second term", "−½(erf + 1)x", "−½ y(erf + 1)x"),
    ("(8), (12)", "−(erf + 1)", "−½ y(erf + 1)"),
    ("text after (6)", "loss → 0 as d → +∞", "as d → −∞"),
    ("Algorithm 1", "step (η/k) ∂J", "step η ∂J: J has the 1/k already"),
    ("(13)", "2 exp(−r²/(2‖w‖²))", "2 exp(−N r²/(2wᵀΣw)); the remark on the dimension does not follow"),
    ("WDBC, standard error", "s = σ²/N", "s = σ/√N"),
    ("App. A", "aᵀUᵀU z", "aᵀUᵀz"),
)

HEAD = """# The paper, reproduced

C. Tzelepis, V. Mezaris, I. Patras: Linear Maximum Margin Classifier for Learning from Uncertain Data (2017):
its experiments, run again with this library. `python -m bench.paper --data DIR` wrote this page, the figures
and `results.json` beside it; the same seeds give the same tables.

How to read it:

- Differences are paired: both systems see the same training set, the same test set and the same folds.
- ± is a standard error over seeds. Where seeds are random splits of one data set, it allows for what they
  share (Nadeau and Bengio 2003). In brackets, how many seeds gained.
- λ is chosen by cross-validation on the training set. "Best λ in hindsight" is the one λ that is best on the
  test sets: no user can have it, and it shows what the choice of λ costs.
- **reproduced**: the gain is clear (more than two standard errors) and at least half of the paper's.
  **partly**: clear but smaller. **not reproduced**: neither. Absolute values: within two standard errors, or
  within .01 (breast cancer: .005).
"""


def _absent(files: list[Path]) -> str:
    first = "/".join(files[0].parts[-2:])
    others = f" and {len(files) - 1} files more are" if len(files) > 1 else " is"
    return f"{first}{others} not in the data folder."


def write(
    folder: Path,
    pages: list[tuple[Experiment, Page]],
    skipped: list[tuple[Experiment, list[Path]]],
    quick: bool,
    earlier: Sequence[str] = (),
) -> None:
    """RESULTS.md and results.json in `folder`; the sections of `earlier` titles are those of another run."""
    parts = [HEAD]
    if earlier:
        parts.append(f"Of an earlier run, with the library of that day: {', '.join(earlier)}.")
    if quick:
        parts.append("**A quick run: few seeds, small settings. These numbers prove nothing.**")
    claims = [c for _, page in pages for c in page.claims]
    targets = [t for _, page in pages for t in page.targets]
    if claims:
        counts = ", ".join(f"{sum(c['verdict'] == v for c in claims)} {v}" for v in VERDICTS)
        parts += ["## The paper's claims", f"{len(claims)} claims: {counts}.", claims_table(claims)]
    if targets:
        fulfilled = sum(t["verdict"] == "met" for t in targets)
        parts += ["## What this project asks of itself", f"{fulfilled} of {len(targets)} met."]
        parts.append(targets_table(targets))
    parts += ["## Errata of the paper", "Each has a test in `tests/test_errata.py`."]
    parts.append(table(("where", "printed", "right"), ERRATA))
    for _, page in pages:
        parts += [f"## {page.title}", *page.parts]
    if skipped:
        parts.append("## Not run")
        parts += [f"- {e.title}: {_absent(files)}" for e, files in skipped]
    write_file(folder / "RESULTS.md", "\n\n".join(parts) + "\n")
    content = {
        "quick": quick,
        "experiments": {
            e.name: {"seeds": e.count(quick), "claims": p.claims, "targets": p.targets, "numbers": p.numbers}
            for e, p in pages
        },
    }
    write_file(folder / "results.json", json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def split(text: str) -> tuple[str, dict[str, str]]:
    """What stands before the first section, and the sections by their titles."""
    head, *rest = ("\n" + text).split("\n## ")
    return head.strip(), {title: body.strip() for title, _, body in (part.partition("\n") for part in rest)}


def kept(folder: Path, experiment: Experiment) -> Page | None:
    """The section of an earlier run in RESULTS.md, with its claims, targets and numbers."""
    try:
        sections = split((folder / "RESULTS.md").read_text(encoding="utf-8"))[1]
        known = json.loads((folder / "results.json").read_text(encoding="utf-8"))["experiments"]
    except FileNotFoundError:
        return None
    if experiment.title not in sections or experiment.name not in known:
        return None
    page = Page(experiment.title, folder / "figures", [sections[experiment.title]])
    found = known[experiment.name]
    page.claims, page.targets, page.numbers = found["claims"], found["targets"], found["numbers"]
    return page
