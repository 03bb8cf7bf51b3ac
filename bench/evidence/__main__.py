"""`python -m bench.evidence --data DIR [--quick] [--only CELL] [--splits N] [--report]`: see PROTOCOL.md."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from pathlib import Path

from . import records, report, runs
from .extras import EXTRAS
from .tasks import CELLS

RESULTS = Path(__file__).parents[1] / "results"
SPLITS = 10


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    began = time.monotonic()
    if not options.report:
        jobs = runs.plan(options.only, options.splits, options.quick)
        for line in runs.missing(jobs, options.data):
            print(line, file=sys.stderr)
        jobs = [job for job in jobs if not runs.missing([job], options.data)]
        try:
            _run(jobs, options)
        except KeyboardInterrupt:
            print(f"\nstopped; the same command goes on from {options.output}", file=sys.stderr)
            return 130
    page = report.write(options.output, records.read(options.output / report.RECORDS), options.quick)
    print(f"{page}: {time.monotonic() - began:.0f} s")
    return 0


def _run(jobs: list[runs.Job], options: argparse.Namespace) -> None:
    path = options.output / report.RECORDS
    if options.jobs == 1:
        runs.work(jobs, 0, 1, options.data, path, options.quick)
        return
    context = multiprocessing.get_context("spawn")
    arguments = [(jobs, k, options.jobs, options.data, path, options.quick) for k in range(options.jobs)]
    with context.Pool(options.jobs) as pool:
        pool.starmap(runs.work, arguments)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    names = ", ".join((*(cell.name for cell in CELLS), *EXTRAS))
    parser = argparse.ArgumentParser(prog="python -m bench.evidence", description=f"Parts: {names}.")
    given = os.environ.get("SVMGSU_DATA")
    parser.add_argument(
        "--data", type=Path, default=given, required=given is None, help="the data folder; or $SVMGSU_DATA"
    )
    parser.add_argument("--only", nargs="+", metavar="PART", default=[], help="these parts alone")
    parser.add_argument("--splits", type=int, default=SPLITS, help="splits of each part, from the first on")
    parser.add_argument("--quick", action="store_true", help="one small split of each, within three minutes")
    parser.add_argument(
        "--report", action="store_true", help="write the tables of what is there, run nothing"
    )
    parser.add_argument("--output", type=Path, help="folder (default: bench/results; quick: build/evidence)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time, one thread each")
    options = parser.parse_args(arguments)
    if not Path(options.data).is_dir():
        parser.error(f"--data: {options.data} is not a folder")
    options.data = Path(options.data)
    for wanted in options.only:
        if not runs.plan([wanted], 1, options.quick):
            parser.error(f"--only: there is no part {wanted!r}; choose from {names}")
    for name in ("splits", "jobs"):
        if getattr(options, name) < 1:
            parser.error(f"--{name}: must be at least 1, got {getattr(options, name)}")
    if options.output is None:
        options.output = RESULTS.parents[1] / "build" / "evidence" if options.quick else RESULTS
    return options


if __name__ == "__main__":
    sys.exit(main())
