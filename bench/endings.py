"""How fits end on data that nobody has scaled or centred: `python -m bench.endings`.

Random problems of all covariance kinds and losses, in four groups: as they are, features in units from 1e-4
to 1e6, offsets of up to 1e6 spreads, and both. A fit ought to end with its proof and without a warning.
Writes endings.json and endings.md; `--failing FILE` lists the problems that end otherwise.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import svmgsu

from .tables import about, as_json, markdown, write
from .timing import machine

GROUPS = ("as they are", "units", "offsets", "both")
KINDS = ("none", "isotropic", "diagonal", "full", "low rank", "shared")
LOSSES = ("hinge", "hinge", "hinge", "logistic", "squared_hinge", "squared", "epsilon_insensitive", "huber")
REGRESSION = ("squared", "epsilon_insensitive", "huber")


class Case(NamedTuple):
    """A random problem."""

    seed: int
    group: str
    kind: str
    loss: str
    lam: float
    X: Any
    y: Any
    cov: Any

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.group}, {self.kind}, {self.loss}, {len(self.y)} x {self.X.shape[1]}, "
            f"lam {self.lam:.3g}"
        )


class Ending(NamedTuple):
    """How its fit ended."""

    status: str
    gap: float  # relative
    iterations: int
    seconds: float
    message: str  # of a warning, or empty


def case(seed: int) -> Case:
    """Problem number `seed`; neighbours are of different groups."""
    rng = np.random.default_rng(seed)
    group = GROUPS[seed % len(GROUPS)]
    count, n = int(np.exp(rng.uniform(np.log(20), np.log(400)))), int(np.exp(rng.uniform(0, np.log(30))))
    kind, loss = str(rng.choice(KINDS)), str(rng.choice(LOSSES))
    X = rng.normal(size=(count, n))
    score = X @ rng.normal(size=n) / np.sqrt(n) + rng.uniform(0.1, 2) * rng.normal(size=count)
    y = score if loss in REGRESSION else np.where(score > np.median(score), 1, -1)
    unit = 10 ** rng.uniform(-4, 6, n) if group in ("units", "both") else np.ones(n)
    size = 10 ** rng.uniform(0, 6, n) if group in ("offsets", "both") else np.zeros(n)
    offset = size * rng.choice([-1.0, 1.0], n)
    cov = _covariance(rng, kind, count, n, 10 ** rng.uniform(-2, 0), unit)
    return Case(seed, group, kind, loss, float(10 ** rng.uniform(-5, 0)), (X + offset) * unit, y, cov)


def _covariance(rng: Any, kind: str, count: int, n: int, size: float, unit: Any) -> Any:
    if kind == "none":
        return None
    if kind == "isotropic":
        return svmgsu.Isotropic((size * unit.min()) ** 2 * rng.uniform(0, 1, count))
    if kind == "diagonal":
        return svmgsu.Diagonal((size * unit) ** 2 * rng.uniform(0, 1, (count, n)))
    factors = size * unit * rng.normal(size=(count, min(n, 3), n)) / np.sqrt(n)
    if kind == "low rank":
        return svmgsu.LowRank(factors)
    if kind == "shared":
        return svmgsu.Shared(factors[0].T @ factors[0] + np.diag((0.1 * size * unit) ** 2))
    full = np.einsum("irj,irk->ijk", factors, factors)
    return svmgsu.Full((full + full.transpose(0, 2, 1)) / 2)


def fit(problem: Case, **options: Any) -> Ending:
    """Trains on it, and notes how that ended."""
    train = svmgsu.train_regressor if problem.loss in REGRESSION else svmgsu.train
    more = {} if problem.loss in REGRESSION else {"probability": False}
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = train(
            problem.X,
            problem.y,
            problem.cov,
            lam=problem.lam,
            loss=problem.loss,
            threads=1,
            **more,
            **options,
        )
    messages = [
        str(w.message) for w in caught if not issubclass(w.category, svmgsu.exceptions.TrivialModelWarning)
    ]
    gap = model.gap_ / model.objective_ if model.objective_ else 0.0
    return Ending(model.status_, gap, model.n_iter_, time.process_time() - began, "; ".join(messages))


def table(endings: dict[int, Ending], cases: dict[int, str]) -> str:
    """One line for each group."""
    rows = []
    for group in GROUPS:
        some = [endings[seed] for seed in endings if cases[seed] == group]
        if not some:
            continue
        words = Counter(e.status for e in some if e.message)
        rows.append(
            [
                group,
                str(len(some)),
                f"{100 * sum(bool(e.message) for e in some) / len(some):.1f}%",
                ", ".join(f"{count} {word}" for word, count in words.most_common()) or "none",
                f"{np.median([e.iterations for e in some]):.0f}",
                f"{max(e.iterations for e in some)}",
            ]
        )
    return markdown(
        ["features", "fits", "end with a warning", "how", "iterations, median", "most"], rows, words=0
    )


def report(results: dict[str, Any], endings: dict[int, Ending], cases: dict[int, str]) -> str:
    """The tables, in Markdown."""
    share = 100 * sum(bool(e.message) for e in endings.values()) / max(1, len(endings))
    return "\n\n".join(
        [
            "# How fits end",
            f"{about(results['machine'])} {len(endings)} random problems of {len(KINDS)} covariance kinds "
            f"and {len(set(LOSSES))} losses at tol = {results['tol']:g}: {share:.2g}% end with a warning "
            "(asked: none).",
            table(endings, cases),
            "",
        ]
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.endings", description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="problems")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--failing", type=Path, help="a file for the problems that end with a warning")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    args = parser.parse_args(arguments)
    endings: dict[int, Ending] = {}
    cases: dict[int, str] = {}
    failing = []
    for seed in range(args.first, args.first + args.count):
        problem = case(seed)
        endings[seed], cases[seed] = fit(problem, tol=args.tol), problem.group
        if endings[seed].message:
            failing.append(f"{problem}: {endings[seed].status}, relative gap {endings[seed].gap:.2g}")
            print(failing[-1], file=sys.stderr, flush=True)
    results = {"machine": machine(), "tol": args.tol, "count": args.count, "failing": failing}
    text = report(results, endings, cases)
    print(text)
    if args.failing:
        write(args.failing, "".join(line + "\n" for line in failing))
    write(args.output / "endings.json", as_json(results))
    write(args.output / "endings.md", text)


if __name__ == "__main__":
    main()
