"""Comparison of a run with an earlier one, kept in baseline.json: ratios, for seconds differ by machine.

{"ratios": {processor: {"full" | "quick": {row: figure}}}, "counts": {compiler and set: {row: figure}}}
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .rows import Row
from .tables import as_json, write

PATH = Path(__file__).with_name("baseline.json")
LIMIT = 0.2
COUNTS_LIMIT = 0.05  # no noise touches these
COUNTS = "counts"  # the group whose figures depend on the compiler, not on the processor


@dataclass(frozen=True)
class Origin:
    """What figures may be compared with: those of the same processor and mode, counts of the same build."""

    cpu: str
    mode: str
    build: str | None = None  # None: nothing was counted


@dataclass
class Comparison:
    regressed: list[Row] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    compared: int = 0


def load() -> dict[str, Any]:
    """Empty where there is none yet."""
    return dict(json.loads(PATH.read_text())) if PATH.exists() else {}


def known(baseline: dict[str, Any], origin: Origin, group: str) -> dict[str, float] | None:
    """The earlier figures of a group by the rows' names; None if there are none to compare with."""
    if group == COUNTS:
        return baseline.get("counts", {}).get(origin.build)
    return baseline.get("ratios", {}).get(origin.cpu, {}).get(origin.mode)


def compare(rows: list[Row], baseline: dict[str, Any], origin: Origin) -> Comparison:
    """The rows that are worse than before by more than LIMIT, counts by more than COUNTS_LIMIT."""
    result = Comparison()
    for counts in (False, True):
        part = [row for row in rows if (row.group == COUNTS) == counts]
        if not part:
            continue
        before = known(baseline, origin, part[0].group)
        if before is None:
            what = f"counts of a build by {origin.build}" if counts else f"{origin.mode} run on {origin.cpu}"
            flag = "--quick " if origin.mode == "quick" else ""
            result.remarks.append(
                f"bench/baseline.json has no {what}: nothing to compare with; "
                f"`python -m bench {flag}--rebase` records one"
            )
            continue
        compared = [row for row in part if before.get(row.name) is not None]
        result.compared += len(compared)
        limit = COUNTS_LIMIT if counts else LIMIT
        result.regressed += [row for row in compared if row.worse_than(before[row.name], limit)]
        new = len(part) - len(compared)
        if new:
            result.remarks.append(f"rows without an earlier figure: {new}")
    return result


def record(rows: list[Row], origin: Origin) -> None:
    """Keeps the rows' figures in place of the earlier ones; what was not measured stays."""
    baseline = load()
    ratios = baseline.setdefault("ratios", {}).setdefault(origin.cpu, {}).setdefault(origin.mode, {})
    ratios.update({row.name: row.figure for row in rows if row.group != COUNTS})
    if origin.build is not None:
        counts = baseline.setdefault("counts", {}).setdefault(origin.build, {})
        counts.update({row.name: row.figure for row in rows if row.group == COUNTS})
    write(PATH, as_json(baseline))
