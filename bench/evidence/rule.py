"""The rule: what records say about each system, chosen beforehand and used in every row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .run import CURVES, Record
from .systems import DEFAULT, LINEAR, PUBLISHED, STACK
from .tasks import GROUPS, ROWS, Array, Row

ENOUGH = 10  # splits of a row that is complete
ALL = "all rows"
MEASURES = ("accuracy", "calibration", "AUC")
BEST, BEST_SINGLE = "the best in hindsight", "the best single rival in hindsight"


class Gain(NamedTuple):
    """Mean difference of two systems' losses over splits, and its standard error."""

    mean: float
    se: float

    @property
    def verdict(self) -> str:
        if not self.se > 0:
            return "unclear"
        return "better" if self.mean > 2 * self.se else "worse" if self.mean < -2 * self.se else "unclear"


def gain(theirs: Array, ours: Array, shared: float) -> Gain:
    """Compare paired losses; splits that share test samples know less (Nadeau and Bengio 2003)."""
    d = np.asarray(theirs) - np.asarray(ours)
    if len(d) < 2:
        return Gain(float(d.mean()), float("nan"))
    return Gain(float(d.mean()), float(np.sqrt((1 / len(d) + shared / (1 - shared)) * d.var(ddof=1))))


def tables(records: list[Record], row: str) -> dict[str, dict[int, Record]]:
    """Return system → split → record of a row, for the splits that all of its systems have."""
    found: dict[str, dict[int, Record]] = {}
    for record in records:
        if record["row"] == row:
            found.setdefault(record["system"], {})[record["split"]] = record
    common = set.intersection(*(set(s) for s in found.values())) if found else set()
    return {name: {k: s[k] for k in sorted(common)} for name, s in found.items()} if common else {}


def is_rival(system: str) -> bool:
    return system not in (DEFAULT, LINEAR)


def is_single(system: str) -> bool:
    """Tell whether a rival is one trained model: neither a stack nor published figures."""
    return is_rival(system) and system not in (STACK, PUBLISHED)


def judge(records: list[Record], row: Row) -> dict[str, Any] | None:
    """Return what is known about a row: mean losses, ours against the best rival in hindsight and each."""
    found = tables(records, row.name)
    if DEFAULT not in found:
        return None
    first = next(iter(found[DEFAULT].values()))
    loss = "RMSE" if "RMSE" in first else "log-loss"
    losses = {name: np.array([r[loss] for r in s.values()]) for name, s in found.items()}
    means = {name: float(values.mean()) for name, values in losses.items()}
    best = min(means, key=lambda name: means[name])
    rival = min(filter(is_rival, means), key=lambda name: means[name], default=best)
    single = min(filter(is_single, means), key=lambda name: means[name], default=best)
    against = {name: gain(losses[name], losses[DEFAULT], row.shared) for name in losses if is_rival(name)}
    near = [name for name in losses if _is_near(gain(losses[name], losses[best], row.shared))]
    order = sorted(means, key=lambda name: means[name])
    return {
        "title": row.title,
        "setting": row.setting,
        "group": row.group,
        "natural": row.natural,
        "splits": len(found[DEFAULT]),
        "loss": loss,
        "losses": means,
        "excess": {name: value / means[best] - 1 for name, value in means.items()},
        "rank": {name: order.index(name) + 1 for name in order},
        "near": near,
        "best": best,
        "rival": rival,
        "single rival": single,
        "against": {name: {"gain": g.mean, "se": g.se, "verdict": g.verdict} for name, g in against.items()},
        "measures": {name: _means(found[name], MEASURES) for name in (DEFAULT, rival)},
        "seconds": {name: _means(s, ("seconds",)).get("seconds") for name, s in found.items()},
    }


def _is_near(beyond: Gain) -> bool:
    return beyond.mean <= beyond.se or beyond.mean == 0


def _means(splits: dict[int, Record], names: tuple[str, ...]) -> dict[str, float]:
    found = {name: [r[name] for r in splits.values() if r.get(name) is not None] for name in names}
    return {name: float(np.mean(values)) for name, values in found.items() if values}


def summary(records: list[Record]) -> dict[str, Any]:
    """Return all figures that pages, pictures and the README show."""
    rows = {row.name: entry for row in ROWS if (entry := judge(records, row)) is not None}
    return {
        "rows": rows,
        "systems": {group: standing(rows, group) for group in (ALL, *GROUPS)},
        "head to head": head_to_head(rows),
        "curves": curves(records),
    }


def standing(rows: dict[str, Any], group: str) -> dict[str, Any]:
    """Return each system's mean and worst excess loss, mean rank and near-best rows, best first."""
    chosen = {name: row for name, row in rows.items() if group in (ALL, row["group"])}
    names = dict.fromkeys(s for row in chosen.values() for s in row["excess"] if s != PUBLISHED)
    found: dict[str, Any] = {}
    for system in names:
        mine = {name: row for name, row in chosen.items() if system in row["excess"]}
        excess = {name: row["excess"][system] for name, row in mine.items()}
        worst = max(excess, key=lambda name: excess[name])
        seconds = [row["seconds"][system] for row in mine.values() if row["seconds"][system] is not None]
        found[system] = {
            "rows": len(mine),
            "of": len(chosen),
            "mean": float(np.mean(list(excess.values()))),
            "worst": excess[worst],
            "worst row": worst,
            "rank": float(np.mean([row["rank"][system] for row in mine.values()])),
            "near": sum(system in row["near"] for row in mine.values()),
            "seconds": float(np.mean(seconds)) if seconds else None,
        }
    return dict(sorted(found.items(), key=lambda item: item[1]["mean"]))


def head_to_head(rows: dict[str, Any]) -> dict[str, Any]:
    """Count rows in which ours is better or worse than a rival by two standard errors."""
    found: dict[str, Any] = {}
    for row in rows.values():
        against = row["against"]
        chosen = {BEST: against.get(row["rival"]), BEST_SINGLE: against.get(row["single rival"])}
        for rival, entry in (against | chosen).items():
            if entry is not None:
                counts = found.setdefault(rival, {"better": 0, "unclear": 0, "worse": 0})
                counts[entry["verdict"]] += 1
    return found


def one_of_each_family(figures: dict[str, Any]) -> list[str]:
    """Return ours and, of each family of rivals, the view with the least mean excess over all rows.

    That choice is made in hindsight, which favours rivals. A view takes part in at least half of the rows.
    """
    chosen: dict[str, str] = {}
    for name, entry in figures["systems"][ALL].items():
        family = name if name in (DEFAULT, LINEAR, STACK) else name.partition(",")[0]
        if 2 * entry["rows"] >= entry["of"]:
            chosen.setdefault(family, name)
    return list(chosen.values())


def curves(records: list[Record]) -> dict[str, Any]:
    """Return row → system → size → (mean loss, standard error, splits)."""
    found: dict[str, Any] = {}
    for record in records:
        kind, _, rest = record["row"].partition("/")
        if kind == CURVES:
            row, _, size = rest.partition("/")
            found.setdefault(row, {}).setdefault(record["system"], {}).setdefault(size, []).append(
                record["log-loss"]
            )
    for systems in found.values():
        for sizes in systems.values():
            for size, losses in sizes.items():
                se = np.std(losses, ddof=1) / np.sqrt(len(losses)) if len(losses) > 1 else float("nan")
                sizes[size] = {"mean": float(np.mean(losses)), "se": float(se), "splits": len(losses)}
    return found
