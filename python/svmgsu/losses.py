"""The losses that the core knows, by task."""

from __future__ import annotations

import math
import numbers
from typing import Any, Literal

from . import _core

Task = Literal["classification", "regression"]


def names(task: Task) -> list[str]:
    """The losses for a task."""
    return [name for name, of, _, _ in _core.known_losses() if of == task]


def loss_for(task: Task, name: Any, parameter: Any, argument: str) -> Any:
    """The core's loss `name`, checked; `argument` is what messages call its parameter."""
    known = {info[0]: info for info in _core.known_losses()}
    if name not in known:
        raise ValueError(f"loss: expected one of {', '.join(map(repr, names(task)))}, got {name!r}")
    _, of, has, _ = known[name]
    if of != task:
        instead = {
            "regression": "svmgsu.train_regressor or LinearSVRGSU",
            "classification": "svmgsu.train or LinearSVMGSU",
        }[of]
        raise ValueError(
            f"loss: {name!r} is for {of}; use {instead}, or one of {', '.join(map(repr, names(task)))}"
        )
    if parameter is None:
        return _core.Loss(name)
    if not has:
        raise ValueError(f"{argument}: the loss {name!r} has none; leave it out")
    if isinstance(parameter, bool) or not isinstance(parameter, numbers.Real) or math.isnan(parameter):
        raise ValueError(f"{argument}: expected a number, got {parameter!r}")
    try:
        return _core.Loss(name, float(parameter))
    except ValueError as error:
        raise ValueError(str(error).replace(f"{has}:", f"{argument}:", 1)) from None


def regression_loss(name: Any, epsilon: float | None = None) -> Any:
    """A loss for regression; `epsilon` is its parameter, where it has one."""
    return loss_for("regression", name, epsilon, "epsilon")
