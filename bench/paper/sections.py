"""Pages section by section: those of experiments whose records are not at hand stay as they were written."""

from __future__ import annotations

import json
from pathlib import Path

from .harness import Experiment, write_atomically
from .report import Page, number, table

CURVED = "nonlinear"  # the names of experiments that have a page of their own begin with it
HEAD = (
    "# Curved boundaries on noisy catalogues\n\n"
    "`python -m bench.paper --data DIR --only nonlinear` makes this page."
)


def is_curved(experiment: Experiment) -> bool:
    return experiment.name.startswith(CURVED)


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


def write_curved(path: Path, pages: list[tuple[Experiment, Page]]) -> None:
    """The sections of these pages in place of those of the same titles; new ones come last."""
    if not pages:
        return
    head, sections = split(path.read_text(encoding="utf-8")) if path.exists() else (HEAD, {})
    for _, page in pages:
        parts = list(page.parts)
        if page.targets:
            rows = [
                (t["target"], f"≥ {number(t['wanted'])}", f"{number(t['value'])} ± {number(t['se'])}")
                for t in page.targets
            ]
            parts.append(table(("asked", "wanted", "found ± standard error"), rows))
        sections[page.title] = "\n\n".join(parts)
    texts = [head, *(f"## {title}\n\n{body}" for title, body in sections.items())]
    write_atomically(path, "\n\n".join(texts) + "\n")
