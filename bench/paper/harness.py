"""Runs experiments: one small record on disk for each experiment and seed, so that a run can be resumed."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import svmgsu

from ..tables import write

Record = dict[str, Any]


@dataclass(frozen=True)
class Experiment:
    """`run(folder, seed, quick)` makes a record; `report(records, page)` writes of all of them.

    `needs` are the files it reads, relative to the data folder. `revision` is raised when a change makes
    old records wrong.
    """

    name: str
    title: str
    run: Callable[[Path, int, bool], Record]
    report: Callable[[list[Record], Any], None]
    seeds: int
    quick_seeds: int = 2
    needs: tuple[str, ...] = ()
    revision: int = 1

    def missing(self, folder: Path) -> list[Path]:
        return [folder / name for name in self.needs if not (folder / name).exists()]

    def count(self, quick: bool) -> int:
        return self.quick_seeds if quick else self.seeds


def record_path(records: Path, name: str, seed: int) -> Path:
    return records / name / f"{seed:03d}.json"


def read_record(path: Path, revision: int) -> Record | None:
    """A finished record of this revision, or None."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return found["record"] if found.get("revision") == revision else None


def make_record(experiment: Experiment, folder: Path, seed: int, quick: bool, records: Path) -> None:
    """Runs one seed and writes its record."""
    began = time.process_time()
    with warnings.catch_warnings():
        # That a strongly uncertain problem has a trivial optimum is a result here.
        warnings.simplefilter("ignore", svmgsu.exceptions.TrivialModelWarning)
        record = experiment.run(folder, seed, quick)
    content = {
        "experiment": experiment.name,
        "seed": seed,
        "revision": experiment.revision,
        "seconds": round(time.process_time() - began, 1),  # of one core
        "record": record,
    }
    write(record_path(records, experiment.name, seed), json.dumps(content) + "\n")


def _work(name: str, folder: str, seed: int, quick: bool, records: str) -> None:
    from . import EXPERIMENTS

    experiment = next(e for e in EXPERIMENTS if e.name == name)
    make_record(experiment, Path(folder), seed, quick, Path(records))


def run_all(experiments: list[Experiment], folder: Path, quick: bool, records: Path, jobs: int) -> None:
    """Makes the records that are not there yet, `jobs` at a time, each on one thread."""
    todo = [
        (e, seed)
        for e in experiments
        for seed in range(e.count(quick))
        if read_record(record_path(records, e.name, seed), e.revision) is None
    ]
    # All experiments advance alike, so that a run that is stopped has something of each.
    todo.sort(key=lambda pair: pair[1] / pair[0].count(quick))
    total = sum(e.count(quick) for e in experiments)
    if len(todo) < total:
        print(f"{total - len(todo)} of {total} records are there already in {records}")
    if not todo:
        return
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # for the processes to start
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        running = {
            pool.submit(_work, e.name, str(folder), seed, quick, str(records)): (e.name, seed)
            for e, seed in todo
        }
        for done in _progress(as_completed(running), len(running)):
            try:
                done.result()
            except Exception as error:
                name, seed = running[done]
                raise RuntimeError(f"experiment {name}, seed {seed}: {error!r}") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _progress(futures: Iterator[Any], total: int) -> Iterator[Any]:
    """A bar where tqdm is installed, else a line at every tenth."""
    try:
        from tqdm import tqdm
    except ImportError:
        for count, done in enumerate(futures, 1):
            if count * 10 // total != (count - 1) * 10 // total:
                print(f"{count} of {total} records", flush=True)
            yield done
        return
    yield from tqdm(futures, total=total, unit="record", smoothing=0.05, mininterval=1.0)


def work(experiments: list[Experiment], quick: bool, records: Path) -> float:
    """Seconds of one core that the records took, whoever made them."""
    total = 0.0
    for experiment in experiments:
        for seed in range(experiment.count(quick)):
            path = record_path(records, experiment.name, seed)
            if read_record(path, experiment.revision) is not None:
                total += json.loads(path.read_text(encoding="utf-8"))["seconds"]
    return total


def load_records(experiment: Experiment, quick: bool, records: Path) -> list[Record]:
    """All records of an experiment, in the order of their seeds."""
    found = [
        read_record(record_path(records, experiment.name, seed), experiment.revision)
        for seed in range(experiment.count(quick))
    ]
    return [record for record in found if record is not None]
