"""The same model without error bars as features, for objects whose error bars are unlike those of the fit.

What error bars tell is learnt from those that were seen. Of others nothing is known, and a boundary that
bends with them may say anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data.gaussians import Gaussians
from ...propagate.features import FeatureMap
from ...support.validation import Array
from .lift import Lift
from .search import Choice, Search
from .solving import Scores


@dataclass
class Side:
    """What objects go through, and their scores."""

    lift: Lift
    map: FeatureMap
    scores: Scores


def without_bars(lift: Lift, choice: Choice, search: Search, objects: Any, inputs: int) -> Side:
    """The side of `objects` without error bars; its scores come later. The map with them has `inputs`."""
    n = objects.shape[1]
    if choice.without_bars is None:  # nothing was tried without: lengths in fewer directions
        choice.without_bars = replace(choice, gamma=choice.gamma * inputs / n)
    plain = choice.without_bars
    metric = None
    if choice.metric and n > 1:
        metric = search.learn_metric(objects, plain.gamma, plain.lam, None)
    made = search.maker.make(n, plain.gamma, metric)
    return Side(replace(lift, bars=None), made, Scores(np.empty((0, 0)), np.empty(0)))


def finish(model: Any, train: Callable[[Any], None]) -> None:
    """Trains the scores of the side, as `train` does those of a model."""
    side = model.without_bars_
    if side is not None:
        other = copy(model)
        other.lift_, other.map_ = side.lift, side.map
        train(other)
        side.scores = other.scores_


def answering(model: Any, data: Gaussians) -> Iterator[tuple[Array, Any, FeatureMap, Scores]]:
    """(places, objects as a map sees them, the map, the scores) of measured objects, some at a time."""
    strange = model.lift_.strange(data)
    for places, side in (
        (np.flatnonzero(~strange), Side(model.lift_, model.map_, model.scores_)),
        (np.flatnonzero(strange), model.without_bars_),
    ):
        if len(places):
            part = data if len(places) == len(data) else data[places]
            for rows, objects in side.lift.batches(part):
                yield places[rows], objects, side.map, side.scores
