"""How much work a report does: in full, or quickly."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """Sizes. Costly ways train on at most so many objects of a fold; all are tested on the same ones."""

    folds: int
    most: int  # objects that take part at all
    curved: int  # objects that RBF models are trained on, at the most
    frequencies: int
    trees: int  # objects that forests and boosting are trained on, at the most
    trees_of_forest: int
    rounds: int
    copies: int
    widest_boosting: int
    simulated: int  # objects of a fold that the what-if curve is computed with
    features: int  # whose bars are halved one at a time
    population: int  # objects that the population is learnt from
    draws: int  # of what an object may be
    threads: int | None  # 1: more would wait for one another longer than they work


FULL = Effort(5, 10_000, 1500, 200, 2000, 100, 60, 4, 500, 200, 12, 1500, 8, None)
QUICK = Effort(3, 1500, 400, 100, 500, 50, 30, 3, 100, 100, 6, 500, 4, 1)
