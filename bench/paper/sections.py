"""Pages section by section: those of experiments whose records are not at hand stay as they were written."""

from __future__ import annotations

import json
from pathlib import Path

from .harness import Experiment
from .report import Page


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
