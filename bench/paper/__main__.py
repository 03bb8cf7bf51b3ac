"""`python -m bench.paper --data DIR [--only NAME] [--quick]`: the paper's experiments, run again."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

from . import EXPERIMENTS, harness, report

HERE = Path(__file__).parent


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    quick, folder = options.quick, options.data
    out = options.output or (HERE.parents[1] / "build" / "paper-quick" if quick else HERE)
    records = out / "records"
    chosen = [e for e in EXPERIMENTS if not options.only or matches(e.name, options.only)]
    missing = [(e, e.missing(folder)) for e in chosen]
    skipped = [(e, files) for e, files in missing if files]
    runnable = [e for e, files in missing if not files]
    for experiment, files in skipped:
        print(f"{experiment.name}: skipped, there is no {files[0]}", file=sys.stderr)
    if options.fresh:
        for experiment in runnable:
            for path in (records / experiment.name).glob("*.json"):
                path.unlink()
    began = time.monotonic()
    try:
        harness.run_all(runnable, folder, quick, records, options.jobs)
    except KeyboardInterrupt:
        print(f"\nstopped; the same command goes on from the records in {records}", file=sys.stderr)
        return 130
    pages, earlier = [], []
    for experiment in EXPERIMENTS:  # those of earlier runs too
        found = harness.load_records(experiment, quick, records)
        page = written(experiment, found, quick, out)
        if page is None:
            page = report.kept(out, experiment)
            earlier += [] if page is None else [experiment.title]
        if page is not None:
            pages.append((experiment, page))
    report.write(out, pages, skipped, quick, earlier)
    minutes = harness.work(runnable, quick, records) / 60
    print(f"{out / 'RESULTS.md'}: {time.monotonic() - began:.0f} s; all records: {minutes:.1f} core minutes")
    return 0


def written(experiment: harness.Experiment, found: list[Any], quick: bool, out: Path) -> report.Page | None:
    """What its records say; None where there are too few."""
    if len(found) < experiment.quick_seeds:
        return None
    page = report.Page(experiment.title, out / "figures")
    if len(found) < experiment.count(quick):
        page.text(f"**Not finished: {len(found)} of {experiment.count(quick)} seeds.**")
    experiment.report(found, page)
    return page


def matches(name: str, wanted: list[str]) -> bool:
    """`--only mnist` means mnist and all of its parts, as mnist-size."""
    return any(name == w or name.startswith(w + "-") for w in wanted)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    names = ", ".join(e.name for e in EXPERIMENTS)
    parser = argparse.ArgumentParser(prog="python -m bench.paper", description=f"Experiments: {names}.")
    given = os.environ.get("SVMGSU_DATA")
    parser.add_argument(
        "--data", type=Path, default=given, required=given is None, help="the data folder; or $SVMGSU_DATA"
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="this experiment; may be repeated")
    parser.add_argument("--quick", action="store_true", help="few seeds and small settings, two minutes")
    parser.add_argument("--output", type=Path, help="folder of the report (quick: build/paper-quick)")
    parser.add_argument("--fresh", action="store_true", help="forget the records of earlier runs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    options = parser.parse_args(arguments)
    if not Path(options.data).is_dir():
        parser.error(f"--data: {options.data} is not a folder")
    options.data = Path(options.data)
    if options.only and not any(matches(e.name, options.only) for e in EXPERIMENTS):
        parser.error(f"--only: there is no experiment {options.only[0]!r}; choose from {names}")
    if options.jobs < 1:
        parser.error(f"--jobs: must be at least 1, got {options.jobs}")
    return options


if __name__ == "__main__":
    sys.exit(main())
