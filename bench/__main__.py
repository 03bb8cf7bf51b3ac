"""This library against its rivals and against the machine: `python -m bench`.

Prints the tables and writes speed.md, speed.json and speed_training.png. A part (--only),
a small version (--quick) and a check write nothing unless --output says where.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from threadpoolctl import threadpool_limits

from . import baseline, counts, passes, training
from .rows import Case, Row, Settings, Skipped
from .tables import about, as_json, duration, markdown, write
from .timing import machine

GROUPS: dict[str, tuple[ModuleType, str]] = {
    "passes": (passes, "One pass over the data"),
    "training": (training, "Whole trainings"),
    "counts": (counts, "Instructions"),
}


@dataclass
class Measured:
    case: Case
    group: str
    rows: list[Row]


def measure(case: Case, group: str) -> Measured:
    rows = case.run()
    for row in rows:
        row.group = group
    return Measured(case, group, rows)


def run(groups: list[str], settings: Settings) -> tuple[list[Measured], dict[str, str]]:
    """All cases of these groups; and the cases that could not be measured, with the reason."""
    done: list[Measured] = []
    skipped: dict[str, str] = {}
    cases = [(group, case) for group in groups for case in GROUPS[group][0].cases(settings)]
    for number, (group, case) in enumerate(cases, 1):
        began = time.perf_counter()
        try:
            done.append(measure(case, group))
        except Skipped as reason:
            skipped[case.name] = str(reason)
        outcome = skipped.get(case.name, duration(time.perf_counter() - began))
        say(f"[{number}/{len(cases)}] {case.name}: {outcome}")
    return done, skipped


def measure_again(done: list[Measured], before: dict[str, Any], origin: baseline.Origin) -> None:
    """Measures what seems worse than before again, up to twice, for it may be noise; the better stays."""
    for _ in range(2):
        regressed = {id(row) for row in baseline.compare(all_rows(done), before, origin).regressed}
        for measured in done:
            if any(id(row) in regressed for row in measured.rows):
                say(f"{measured.case.name}: worse than before, measured again")
                again = measure(measured.case, measured.group).rows
                measured.rows = [better(*both) for both in zip(measured.rows, again, strict=True)]


def better(a: Row, b: Row) -> Row:
    return b if a.worse_than(b.figure, 0.0) else a


def all_rows(done: list[Measured]) -> list[Row]:
    return [row for measured in done for row in measured.rows]


# Report


def report(results: dict[str, Any], rows: list[Row]) -> str:
    """The tables, in Markdown; a target that is missed is set in bold."""
    targets = [row for row in rows if row.target is not None]
    missed = [row for row in targets if not row.met]
    parts = [
        "# Speed",
        f"{about(results['machine'])} Load average at the start: {results['machine']['load_at_start']}.",
        f"Rivals take turns in one process; the least of {results['repeat']} rounds counts, of whole "
        "trainings of 2 or 3. Ratios are of times by the clock; one thread unless said"
        + ("; small versions of the problems (--quick)." if results["quick"] else "."),
        f"{len(targets) - len(missed)} of {len(targets)} targets are met"
        + (": the others are in bold." if missed else "."),
    ]
    for group, (_, title) in GROUPS.items():
        lines = [
            [
                row.name,
                row.show(row.figure) if row.met is not False else f"**{row.show(row.figure)}**",
                row.asked() if row.met is not False else f"**{row.asked()}, missed**",
                "; ".join(
                    f"{who} {duration(taken.wall)} (processor {duration(taken.cpu)})"
                    for who, taken in row.times.items()
                ),
                row.note,
            ]
            for row in rows
            if row.group == group
        ]
        if lines:
            parts += [f"## {title}", markdown(["what", "figure", "asked", "times", "notes"], lines, words=2)]
    if results["skipped"]:
        parts.append("Not measured: " + "; ".join(f"{k} ({v})" for k, v in results["skipped"].items()) + ".")
    return "\n\n".join(parts) + "\n"


def say(*words: Any) -> None:
    print(*words, file=sys.stderr, flush=True)


def save(folder: Path, text: str, results: dict[str, Any], rows: list[Row]) -> None:
    write(folder / "speed.md", text)
    write(folder / "speed.json", as_json(results | {"rows": [row.as_dict() for row in rows]}))
    pictured = [row for row in rows if row.group == "training"]
    if pictured:
        image = io.BytesIO()
        training.picture(pictured, image)
        write(folder / "speed_training.png", image.getvalue())
    say(f"written to {folder}")


def parse(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small problems and few rounds: two minutes")
    parser.add_argument("--only", nargs="+", choices=GROUPS, metavar="GROUP", help=f"of {', '.join(GROUPS)}")
    parser.add_argument("--check", action="store_true", help="fail if worse than baseline.json by over 20%%")
    parser.add_argument("--rebase", action="store_true", help="make this run the new baseline.json")
    parser.add_argument("--output", type=Path, help="folder; default of a whole run: bench/results")
    parser.add_argument("--repeat", type=int, help="rounds, of which the best counts; default: 15, quick 3")
    return parser.parse_args(words)


def main(words: list[str] | None = None) -> int:
    args = parse(words)
    try:
        with threadpool_limits(1):  # of BLAS, and of OpenMP where no number of threads is given
            return bench(args)
    except KeyboardInterrupt:
        say("\nstopped")
        return 130


def bench(args: argparse.Namespace) -> int:
    """The exit code: 1 if a check finds something worse than before."""
    repeat = args.repeat or (3 if args.quick else 15)
    settings = Settings(args.quick, repeat, threads=min(2, os.cpu_count() or 1))
    results: dict[str, Any] = {
        "machine": machine(),
        "quick": settings.quick,
        "repeat": settings.repeat,
    }
    done, results["skipped"] = run(args.only or list(GROUPS), settings)
    before, origin = baseline.load(), origin_of(results["machine"]["cpu"], settings, all_rows(done))
    if args.check:
        measure_again(done, before, origin)
    rows = all_rows(done)
    text = report(results, rows)
    print(text)
    output = args.output
    if output is None and not (args.only or args.quick or args.check):
        output = Path(__file__).with_name("results")
    if output is not None:
        save(output, text, results, rows)
    if args.rebase:
        baseline.record(rows, origin)
        say(f"recorded in {baseline.PATH}")
    return verdict(rows, before, origin) if args.check else 0


def origin_of(cpu: str, settings: Settings, rows: list[Row]) -> baseline.Origin:
    counted = any(row.group == baseline.COUNTS for row in rows)
    return baseline.Origin(cpu, "quick" if settings.quick else "full", counts.built_by() if counted else None)


def verdict(rows: list[Row], before: dict[str, Any], origin: baseline.Origin) -> int:
    """1 if something is worse than before, with a list."""
    found = baseline.compare(rows, before, origin)
    for remark in found.remarks:
        say(remark)
    for row in found.regressed:
        was = (baseline.known(before, origin, row.group) or {})[row.name]
        say(f"worse than before: {row.name}: {row.show(row.figure)}, was {row.show(was)}")
    limits = f"{baseline.LIMIT:.0%}, counts by over {baseline.COUNTS_LIMIT:.0%}"
    say(f"{found.compared} rows compared, {len(found.regressed)} worse than before by over {limits}")
    return 1 if found.regressed else 0


if __name__ == "__main__":
    sys.exit(main())
