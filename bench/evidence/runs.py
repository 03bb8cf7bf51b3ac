"""What there is to do, in the order in which it tells most, and the doing of it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from . import extras, records
from .extras import EXTRAS
from .ours import SEARCHED
from .tasks import CELLS, Cell
from .trial import systems, trial

FIRST_SEED = 5000  # of the splits that count; smaller ones were used while this was written
QUICK = (*EXTRAS, "kepler-noisy", "sdss2.2-uneven", "redshift-noisy", "wdbc-noisy", "eeg-windows")
QUICK_TRAIN, QUICK_SETTINGS = 150, 1


class Job(NamedTuple):
    """One split of one part; what is not counted comes late."""

    part: str
    split: int
    late: bool = False


def plan(only: list[str], splits: int, quick: bool) -> list[Job]:
    """Parts in groups of five, split by split within a group: the first groups are finished first."""
    only = only or (list(QUICK) if quick else [])
    names = [cell.name for cell in CELLS if _wanted(cell.name, only)]
    groups = [names[k : k + 5] for k in range(0, len(names), 5)]
    count = 1 if quick else splits
    jobs = [Job(name, split) for group in groups for split in range(count) for name in group]
    late = [job._replace(late=True) for job in jobs]
    more = [Job(name, split) for name in EXTRAS if _wanted(name, only) for split in range(count)]
    return [*jobs[: 5 * count], *more, *jobs[5 * count :], *late]


def _wanted(name: str, only: list[str]) -> bool:
    """`--only kepler` means all parts of Kepler."""
    return not only or any(name == w or name.startswith(w + "-") for w in only)


def cell_of(name: str) -> Cell:
    """The part of that name, or whose data an extra part takes."""
    name = {**extras.COST, "sweep-kepler": "kepler-like"}.get(name, name)
    return next(cell for cell in CELLS if cell.name == name)


def missing(jobs: list[Job], folder: Path) -> list[str]:
    """A line for each part that cannot be run."""
    parts = dict.fromkeys(job.part for job in jobs)
    lacking = {part: cell_of(part).missing(folder) for part in parts if part != "sweep-synthetic"}
    return [f"{part}: skipped, there is no {files[0]}" for part, files in lacking.items() if files]


def work(jobs: list[Job], place: int, step: int, folder: Path, path: Path, quick: bool) -> None:
    """Every `step`-th job from `place` on; what is recorded already is not made again. One thread."""
    with threadpool_limits(1):
        for job in jobs[place::step]:
            run(job, folder, path, quick, records.known(records.read(path)))


def run(job: Job, folder: Path, path: Path, quick: bool, done: dict[records.Key, records.Record]) -> None:
    """One split: all systems that are not in `done` yet."""
    seed = job.split + (0 if quick else FIRST_SEED)
    if job.part in EXTRAS:
        extras.run(job.part, folder, job.split, seed, quick, path)
        return
    cell = cell_of(job.part)
    size = {"train": QUICK_TRAIN} if quick else {}
    task = cell.make(folder, seed=seed, **size)
    for system in systems(task):
        if (system.name == SEARCHED) != job.late or (job.part, job.split, system.name) in done:
            continue
        taken = None
        if system.tuned_as:
            sibling = done[(job.part, job.split, system.tuned_as)]
            setting = sibling["setting"]
            taken = (tuple(setting) if isinstance(setting, list) else setting, sibling["mode"])
        found = trial(task, system, seed, taken, QUICK_SETTINGS if quick else 6)
        record = {"cell": job.part, "split": job.split, "seed": seed, "system": system.name}
        record |= {"ours": system.ours, **found}
        records.append(path, record)
        done[records.key(record)] = record
