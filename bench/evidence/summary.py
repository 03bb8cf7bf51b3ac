"""From records to figures: ours against the best rival in each part, with standard errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..paper.statistics import Difference, paired
from . import records
from .ours import SEARCHED
from .tasks import CELLS, Cell

ENOUGH = 10  # splits; with fewer a row must not be cited
TENTH = 0.1
COSTS = ("tuning", "fit", "predict")
Scores = dict[str, dict[int, float]]


def loss_of(found: list[records.Record], cell: str) -> str:
    """What a part is judged by."""
    return "RMSE" if any("RMSE" in record for record in records.of(found, cell)) else "log-loss"


def complete(found: list[records.Record], cell: str) -> list[int]:
    """The splits for which every system that was ever run there is recorded; the late one may lack."""
    scores = records.by_system(found, cell, loss_of(found, cell))
    scores.pop(SEARCHED, None)
    return sorted(set.intersection(*(set(s) for s in scores.values()))) if scores else []


def chosen(found: list[records.Record], cell: str, ours: bool) -> dict[int, str]:
    """Of each split: the system (ours, or a rival) with the least held-out loss."""
    best: dict[int, tuple[float, str]] = {}
    for record in records.of(found, cell):
        loss = record["validation"]
        if record["ours"] == ours and loss is not None:
            best[record["split"]] = min(best.get(record["split"], (np.inf, "")), (loss, record["system"]))
    return {split: name for split, (_, name) in best.items()}


def summary(found: list[records.Record]) -> dict[str, Any]:
    """One entry for each part that has two complete splits."""
    out = {}
    for cell in CELLS:
        splits = complete(found, cell.name)
        if len(splits) >= 2:
            out[cell.name] = _entry(found, cell, splits)
    return out


def _entry(found: list[records.Record], cell: Cell, splits: list[int]) -> dict[str, Any]:
    loss = loss_of(found, cell.name)
    mine = chosen(found, cell.name, ours=True)
    kinds = {record["system"]: record["ours"] for record in records.of(found, cell.name)}
    rivals = [name for name, ours in kinds.items() if not ours]
    entry: dict[str, Any] = {
        "title": cell.title,
        "setting": cell.setting,
        "splits": len(splits),
        "loss": loss,
        "most chosen": max(sorted(set(mine.values())), key=list(mine.values()).count),
    }
    for measure in (loss,) if loss == "RMSE" else (loss, "accuracy"):
        scores = records.by_system(found, cell.name, measure)
        less = measure != "accuracy"
        ours = _values(scores, splits, mine)
        means = {name: _values(scores, splits, name).mean() for name in rivals}
        best = (min if less else max)(means, key=lambda name: means[name])
        theirs = _values(scores, splits, best)
        gain = paired(theirs, ours, cell.overlap) if less else paired(ours, theirs, cell.overlap)
        entry[measure] = {"ours": ours.mean(), "rival": best, "theirs": theirs.mean(), **_figures(gain)}
    entry["alike"] = _alike(found, cell, splits, loss, kinds)
    entry["cost"] = _cost(found, cell.name, splits, mine, entry[loss]["rival"])
    entry["verdict"] = verdict(entry)
    return entry


def _alike(
    found: list[records.Record], cell: Cell, splits: list[int], loss: str, kinds: dict[str, bool]
) -> dict[str, dict[str, float]]:
    """The gain in loss where both sides are chosen by held-out loss, and where both are in hindsight."""
    scores = records.by_system(found, cell.name, loss)
    sides: dict[str, list[Any]] = {"validation": [], "hindsight": []}
    for ours in (False, True):
        names = [name for name, mine in kinds.items() if mine == ours and name != SEARCHED]
        best = min(names, key=lambda name: _values(scores, splits, name).mean())
        sides["hindsight"].append(_values(scores, splits, best))
        sides["validation"].append(_values(scores, splits, chosen(found, cell.name, ours)))
    return {how: _figures(paired(*both, cell.overlap)) for how, both in sides.items()}


def _values(scores: Scores, splits: list[int], system: str | dict[int, str]) -> np.ndarray:
    names = {split: system for split in splits} if isinstance(system, str) else system
    return np.array([scores[names[split]][split] for split in splits])


def _figures(gain: Difference) -> dict[str, float]:
    return {"gain": gain.mean, "se": gain.se, "wins": gain.wins, "count": gain.count}


def _cost(
    found: list[records.Record], cell: str, splits: list[int], mine: dict[int, str], rival: str
) -> dict[str, float]:
    """Mean seconds (tuning, fit and predict; fit and predict) and megabytes of ours and of the best rival."""
    out = {}
    parts = {name: records.by_system(found, cell, name) for name in (*COSTS, "megabytes")}
    for words, system in (("ours", mine), ("rival", rival)):
        seconds = [_values(parts[name], splits, system).mean() for name in COSTS]
        out[f"{words}, all"] = float(sum(seconds))
        out[f"{words}, one fit"] = float(sum(seconds[1:]))
        if system is mine or parts["megabytes"].get(rival):
            out[f"{words}, megabytes"] = float(_values(parts["megabytes"], splits, system).mean())
    return out


def verdict(entry: dict[str, Any]) -> str:
    """Better or worse by more than two standard errors in the loss (or, if better, in accuracy)."""
    gain = entry[entry["loss"]]
    if gain["gain"] > 2 * gain["se"]:
        return "ours"
    accuracy = entry.get("accuracy", {"gain": 0.0, "se": 1.0})
    if gain["gain"] < -2 * gain["se"]:
        return "rival"
    if accuracy["gain"] > 2 * accuracy["se"]:
        return "ours, in accuracy"
    cheap = entry["cost"]["ours, all"] <= TENTH * entry["cost"]["rival, all"]
    return "ours, at a tenth of the cost" if cheap and abs(gain["gain"]) <= gain["se"] else "tie"
