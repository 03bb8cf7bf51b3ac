"""Run the systems on a split, and keep what they reached: one line of JSON for each."""

from __future__ import annotations

import json
import os
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.metrics import log_loss, roc_auc_score
from threadpoolctl import threadpool_limits

from svmgsu.metrics import calibration_error

from .systems import OURS, PUBLISHED, RIVALS, STACK, STACKED
from .tasks import ROWS, Array, Row, Task

LEAST = 1e-6  # probabilities are kept away from 0 and 1
PENALTY = 5.0  # of a stack's weights, divided by the number of samples: that of this library's pool
FIRST_SEED = 6000  # of the splits that count; smaller ones are for development
RECORDS = "evidence.jsonl"
CURVES = "curves"  # learning curves are rows "curves/<row>/<size>"
CURVE_SIZES, CURVE_SPLITS = (200, 500, 1000, 2000, 5000), 3
CURVE_ROWS = ("vvds-like", "kepler-like")
CURVE_SYSTEMS = (
    OURS[0].name,
    "logistic regression / ridge, values + uncertainties",
    "RBF-SVC / SVR, values + uncertainties",
    "forest, values + uncertainties",
    "boosting, values + uncertainties",
)
QUICK = ("fermi-34", "vvds-z-shift", "sdss-noisy", "wdbc-noisy", "eeg-windows")
QUICK_TRAIN = 150
Record = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One split of a row, or of a size of a learning curve."""

    row: Row
    split: int
    size: int | None = None

    @property
    def name(self) -> str:
        return self.row.name if self.size is None else f"{CURVES}/{self.row.name}/{self.size}"


def plan(only: list[str], splits: int, quick: bool) -> list[Job]:
    """List all jobs, the most telling first: natural tables, split by split, then the others."""
    if quick:
        return [Job(row, 0) for row in ROWS if row.name in QUICK and _wanted(row.name, only)]
    rows = [row for row in ROWS if _wanted(row.name, only)]
    natural, other = ([row for row in rows if row.natural == k] for k in (True, False))
    jobs = [Job(row, split) for part in (natural, other) for split in range(splits) for row in part]
    return [*jobs, *_curves(only, splits)]


def _curves(only: list[str], splits: int) -> list[Job]:
    if only and CURVES not in only:
        return []
    rows = [row for row in ROWS if row.name in CURVE_ROWS]
    count = min(splits, CURVE_SPLITS)
    return [Job(row, split, size) for split in range(count) for row in rows for size in CURVE_SIZES]


def _wanted(name: str, only: list[str]) -> bool:
    return not only or any(name == word or name.startswith(word + "-") for word in only)


def work(jobs: list[Job], folder: Path, path: Path, quick: bool, first_seed: int) -> None:
    """Do what is not recorded yet, on one thread."""
    with threadpool_limits(1):
        for job in jobs:
            run(job, folder, path, quick, first_seed)


def run(job: Job, folder: Path, path: Path, quick: bool, first_seed: int) -> None:
    """Run one split; its records are written together, so that a split is whole or not there."""
    seed = job.split + (0 if quick else first_seed)
    done = {r["system"] for r in read(path) if (r["row"], r["seed"]) == (job.name, seed)}
    size = QUICK_TRAIN if quick else job.size
    task: Task | None = None
    held_out: dict[str, tuple[list[Array], Array]] = {}
    found: list[Record] = []
    for system in (*OURS, *RIVALS):
        needed = system.name in STACKED and STACK not in done
        if job.size is not None and system.name not in CURVE_SYSTEMS:
            continue
        if system.name in done and not needed:
            continue
        task = task or job.row.make(folder, seed=seed, **({"train": size} if size else {}))
        if not system.suits(task):
            continue
        record, folds, answer = trial(task, system, seed, quick)
        if system.name in STACKED:
            held_out[system.name] = folds, answer
        if system.name not in done:
            found.append({"row": job.name, "split": job.split, "seed": seed, "system": system.name} | record)
    if task is not None and job.size is None and STACK not in done:
        seconds = sum(r["seconds"] for r in found if r["system"] in held_out)
        for name, answer in ((STACK, stacked(task, held_out, seed)), (PUBLISHED, task.published)):
            if answer is not None:
                record = measures(task, answer) | {"seconds": seconds if name == STACK else None}
                found.append({"row": job.name, "split": job.split, "seed": seed, "system": name} | record)
    append(path, found)


def trial(task: Task, system: Any, seed: int, quick: bool = False) -> tuple[Record, list[Array], Array]:
    """Tune, train and measure a system; its held-out predictions by fold, and those of new samples."""
    began = time.process_time()
    held_out: list[Array] = []
    chosen: Record = {}
    with warnings.catch_warnings():
        # A rival that does not converge, or a trivial optimum, is a result.
        warnings.simplefilter("ignore")
        if hasattr(system, "fit_predict"):
            answer = system.fit_predict(task)
        else:
            setting, mode, held_out = tuned(task, system, seed, quick)
            chosen = {"setting": setting, "mode": mode}
            fitted = system.fit(task, np.arange(len(task.y)), setting, seed, not quick)
            answer = system.predict(fitted, task.test, mode, seed)
    seconds = float(f"{time.process_time() - began:.3g}")
    return measures(task, answer) | {"seconds": seconds} | chosen, held_out, answer


def tuned(task: Task, system: Any, seed: int, quick: bool) -> tuple[Any, str, list[Array]]:
    """Choose the setting, and the way to predict, with the least held-out loss over three folds."""
    best: tuple[float, Any, str, list[Array]] | None = None
    folds = task.folds(seed)
    for setting in system.settings[-1:] if quick else system.settings:
        by_mode: dict[str, list[Array]] = {mode: [] for mode in system.modes}
        for known, held_out in folds:
            samples, _ = task.like_new(held_out, seed)
            fitted = system.fit(task, known, setting, seed, False)
            for mode in system.modes:
                by_mode[mode].append(system.predict(fitted, samples, mode, seed))
        truth = np.concatenate([task.like_new(held_out, seed)[1] for _, held_out in folds])
        for mode, answers in by_mode.items():
            loss = loss_of(task, np.concatenate(answers), truth)
            if best is None or loss < best[0]:
                best = loss, setting, mode, answers
    assert best is not None
    return best[1:]


def loss_of(task: Task, answer: Array, truth: Array) -> float:
    if task.regression:
        return float(np.sqrt(((answer - truth) ** 2).mean()))
    return float(log_loss(truth, bounded(answer), labels=np.arange(task.classes)))


def bounded(p: Array) -> Array:
    """Keep probabilities away from 0 and 1; what is not a number becomes even odds."""
    p = np.clip(np.nan_to_num(p, nan=1 / p.shape[1]), LEAST, 1)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def measures(task: Task, answer: Array) -> Record:
    """Return log-loss, accuracy, AUC and calibration error, or RMSE and MAE."""
    truth = task.truth
    if task.regression:
        apart = np.asarray(answer).ravel() - truth
        found = {"RMSE": np.sqrt((apart**2).mean()), "MAE": np.abs(apart).mean()}
    else:
        p = bounded(answer)
        guess = p.argmax(axis=1)
        found = {
            "log-loss": loss_of(task, answer, truth),
            "accuracy": (guess == truth).mean(),
            "calibration": calibration_error(guess == truth, p.max(axis=1)),
        }
        present = np.unique(truth)
        if len(present) == 2 == task.classes:
            found["AUC"] = roc_auc_score(truth, p[:, 1])
    return {name: float(f"{value:.5g}") for name, value in found.items()}


def stacked(task: Task, members: dict[str, tuple[list[Array], Array]], seed: int) -> Array | None:
    """Pool the rivals' predictions as this library pools its members, by their held-out predictions."""
    if len(members) < 2:
        return None
    truth = np.concatenate([task.like_new(held_out, seed)[1] for _, held_out in task.folds(seed)])
    held_out = np.stack([np.concatenate(folds) for folds, _ in members.values()])
    new = np.stack([answer for _, answer in members.values()])
    count = len(members)
    start = np.full(count, 1 / count)
    if task.regression:

        def square(w: Array) -> tuple[float, Array]:
            apart = w @ held_out - truth
            penalty = PENALTY / len(task.y) * truth.var()
            value = (apart**2).mean() + penalty * ((w - start) ** 2).sum()
            return value, 2 * held_out @ apart / len(truth) + 2 * penalty * (w - start)

        whole = {"type": "eq", "fun": lambda w: w.sum() - 1}
        found = minimize(square, start, jac=True, method="SLSQP", bounds=[(0, 1)] * count, constraints=whole)
        return np.asarray(found.x @ new)
    logs, later = (np.log(np.stack([bounded(p) for p in side])) for side in (held_out, new))
    penalty = PENALTY / len(task.y)
    own = np.eye(task.classes)[truth]

    def loss(w: Array) -> tuple[float, Array]:
        pooled = _log_pool(logs, w)
        value = -(own * pooled).sum() / len(truth) + penalty * ((w - start) ** 2).sum()
        slope = np.einsum("mlk,lk->m", logs, np.exp(pooled) - own) / len(truth)
        return value, slope + 2 * penalty * (w - start)

    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * count)
    return np.asarray(np.exp(_log_pool(later, found.x)))


def _log_pool(logs: Array, w: Array) -> Array:
    total = np.tensordot(w, logs, axes=1)
    total = total - total.max(axis=1, keepdims=True)
    return np.asarray(total - np.log(np.exp(total).sum(axis=1, keepdims=True)))


# Records


def read(path: Path) -> list[Record]:
    """Read all records; a line that a crash has cut off is left out."""
    if not path.exists():
        return []
    out = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            out.append(json.loads(line))
        except json.JSONDecodeError:
            if line.endswith("}"):
                raise ValueError(f"{path}:{number}: not a record: {line[:60]!r}") from None
    return out


def append(path: Path, records: list[Record]) -> None:
    """Write the lines at once, so that two processes may share a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records]
    handle = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
    try:
        size = os.fstat(handle).st_size
        # What a crash has left of a line ends here.
        broken = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        os.write(handle, ("\n" * broken + "".join(lines)).encode())
    finally:
        os.close(handle)
