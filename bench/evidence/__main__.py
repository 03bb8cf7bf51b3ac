"""`python -m bench.evidence --data DIR [--quick] [--only ROW] [--splits N] [--report]`: see PROTOCOL.md."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from pathlib import Path

from . import report, run
from .tasks import ROWS

RESULTS = Path(__file__).parents[1] / "results"


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    began = time.monotonic()
    path = options.output / run.RECORDS
    if not options.report:
        jobs = run.plan(options.only, options.splits, options.quick)
        absent = {job.row.name: job.row.missing(options.data) for job in jobs}
        for name, files in absent.items():
            if files:
                print(f"{name}: skipped, there is no {files[0]}", file=sys.stderr)
        jobs = [job for job in jobs if not absent[job.row.name]]
        parts = [jobs[k :: options.jobs] for k in range(options.jobs)]
        rest = (options.data, path, options.quick, options.first_seed)
        try:
            if options.jobs == 1:
                run.work(jobs, *rest)
            else:
                with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
                    pool.starmap(run.work, [(part, *rest) for part in parts])
        except KeyboardInterrupt:
            print(f"\nstopped; the same command goes on from {path}", file=sys.stderr)
            return 130
    page = report.write(options.output, run.read(path), options.quick)
    print(f"{page}: {time.monotonic() - began:.0f} s")
    return 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    names = ", ".join((*(row.name for row in ROWS), run.CURVES))
    parser = argparse.ArgumentParser(prog="python -m bench.evidence", description=f"Rows: {names}.")
    given = os.environ.get("SVMGSU_DATA")
    parser.add_argument(
        "--data", type=Path, default=given, required=given is None, help="the data folder; or $SVMGSU_DATA"
    )
    parser.add_argument("--only", nargs="+", metavar="ROW", default=[], help="these rows alone")
    parser.add_argument("--splits", type=int, default=10, help="splits of each row")
    parser.add_argument("--first-seed", type=int, default=run.FIRST_SEED, help="below 6000: development")
    parser.add_argument("--quick", action="store_true", help="one small split of five rows: three minutes")
    parser.add_argument("--report", action="store_true", help="write the page of what is there, run nothing")
    parser.add_argument("--output", type=Path, help="folder (default: bench/results; quick: build/evidence)")
    parser.add_argument("--jobs", type=int, default=1, help="processes, one thread each")
    options = parser.parse_args(arguments)
    if not Path(options.data).is_dir():
        parser.error(f"--data: {options.data} is not a folder")
    options.data = Path(options.data)
    for word in options.only:
        if not run.plan([word], 1, quick=False):
            parser.error(f"--only: there is no row {word!r}; choose from {names}")
    for name in ("splits", "jobs"):
        if getattr(options, name) < 1:
            parser.error(f"--{name}: must be at least 1, got {getattr(options, name)}")
    if options.output is None:
        development = options.quick or options.first_seed < run.FIRST_SEED
        options.output = RESULTS.parents[1] / "build" / "evidence" if development else RESULTS
    return options


if __name__ == "__main__":
    sys.exit(main())
