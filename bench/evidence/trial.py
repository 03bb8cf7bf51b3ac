"""One system on one split: tuned, trained, and measured."""

from __future__ import annotations

import ctypes
import gc
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from svmgsu.metrics import calibration_error

from ..paper.systems import Array
from .ours import SYSTEMS
from .rivals import rivals
from .tasks import Task

LEAST = 1e-6  # probabilities are kept away from 0 and 1
Record = dict[str, Any]


def systems(task: Task) -> list[Any]:
    """All that suit the task: ours first, then rivals, in an order in which `tuned_as` comes before."""
    return [s for s in (*SYSTEMS, *rivals(task.regression)) if s.suits(task)]


def trial(task: Task, system: Any, seed: int, taken: Any = None, most: int = 6) -> Record:
    """The measures of a system; `taken` is a (setting, mode) that was chosen for its sibling.

    At `most` so many settings are tried.
    """
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rivals that do not converge: that is their result
        setting, mode, loss = (*taken, None) if taken else _chosen(task, system, seed, most)
        tuning = time.process_time() - began
        before = _start_of_peak()
        began = time.process_time()
        fitted = system.fit(task, np.arange(len(task.y)), setting, seed, True)
        fit = time.process_time() - began
        began = time.process_time()
        found = system.predict(fitted, task.test, mode, seed)
        predict = time.process_time() - began
        memory = _peak(before)
    out = _numbers(found, task.truth) if task.regression else measures(found, task.truth)
    out |= {"tuning": tuning, "fit": fit, "predict": predict, "megabytes": memory, "validation": loss}
    rounded = {k: None if v is None else float(f"{v:.5g}") for k, v in out.items()}
    return rounded | {"setting": _words(setting), "mode": mode}


def _chosen(task: Task, system: Any, seed: int, most: int) -> tuple[Any, str, float | None]:
    """The best of the settings, and of the ways to predict, by held-out objects that look like new ones."""
    if len(system.settings) == 1 and len(system.modes) == 1:
        return system.settings[0], system.modes[0], None
    known, held_out = task.held_out(seed)
    data, y = task.like_new(held_out, np.random.default_rng([seed, 5]))
    best: tuple[float, Any, str] | None = None
    for setting in system.settings[-most:]:
        try:
            fitted = system.fit(task, known, setting, seed, False)
        except np.linalg.LinAlgError:  # QDA of few objects, where nothing is added to its matrices
            continue
        for mode in system.modes:
            found = system.predict(fitted, data, mode, seed)
            loss = _loss(found, y, task.regression)
            if best is None or loss < best[0]:
                best = loss, setting, mode
    assert best is not None
    return best[1], best[2], best[0]


def _loss(found: Array, y: Array, regression: bool) -> float:
    if regression:
        return float(np.sqrt(((found - y) ** 2).mean()))
    return float(log_loss(y, bounded(found), labels=np.arange(found.shape[1])))


def bounded(p: Array) -> Array:
    """Probabilities away from 0 and 1, that add up to one; what is not a number becomes even odds."""
    p = np.clip(np.nan_to_num(p, nan=1 / p.shape[1]), LEAST, 1)
    return p / p.sum(axis=1, keepdims=True)


def measures(found: Array, truth: Array) -> dict[str, float]:
    p = bounded(found)
    K = p.shape[1]
    guess = p.argmax(axis=1)
    if K == 2:
        auc = roc_auc_score(truth, p[:, 1])
    else:
        auc = roc_auc_score(truth, p, multi_class="ovr", labels=np.arange(K))
    return {
        "accuracy": float((guess == truth).mean()),
        "AUC": float(auc),
        "log-loss": float(log_loss(truth, p, labels=np.arange(K))),
        "calibration": float(calibration_error(guess == truth, p.max(axis=1))),
    }


def _numbers(found: Array, truth: Array) -> dict[str, float]:
    apart = np.asarray(found).ravel() - truth
    return {"RMSE": float(np.sqrt((apart**2).mean())), "MAE": float(np.abs(apart).mean())}


def _words(setting: Any) -> Any:
    return list(setting) if isinstance(setting, tuple) else setting


def _memory(field: str) -> float | None:
    """In MB, of this process (Linux)."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(field + ":"))


def _start_of_peak() -> float | None:
    """Gives freed memory back and forgets the highest use so far; what is used now."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except (OSError, AttributeError):
        return None
    return _memory("VmRSS")


def _peak(before: float | None) -> float | None:
    """The highest use of memory since then."""
    highest = _memory("VmHWM")
    return None if before is None or highest is None else max(0.0, highest - before)
