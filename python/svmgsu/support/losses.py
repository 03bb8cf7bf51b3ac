"""The losses that the core knows, by task."""

from __future__ import annotations

import math
import numbers
from typing import Any, Literal

import numpy as np

from .. import _core

Task = Literal["classification", "regression"]
OWN = "logistic"  # its decision values are log-odds: it has probabilities of its own


def names(task: Task) -> list[str]:
    """The losses for a task."""
    return [name for name, of, _, _ in _core.known_losses() if of == task]


def loss_for(task: Task, name: Any, parameter: Any, argument: str) -> Any:
    """The core's loss `name`, checked; `argument` is what messages call its parameter."""
    known = {info[0]: info for info in _core.known_losses()}
    if not isinstance(name, str) or name not in known:
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


def check_loss(name: Any) -> _core.Loss:
    """A loss for classifiers."""
    loss: _core.Loss = loss_for("classification", name, None, "loss")
    return loss


def known_loss(name: Any, parameter: Any = None) -> tuple[_core.Loss, Task]:
    """Any loss, and what it is for; `parameter` is called epsilon."""
    tasks: dict[str, Task] = {known: task for known, task, _, _ in _core.known_losses()}
    if not isinstance(name, str) or name not in tasks:
        raise ValueError(f"loss: expected one of {', '.join(map(repr, tasks))}, got {name!r}")
    loss: _core.Loss = loss_for(tasks[name], name, parameter, "epsilon")
    return loss, tasks[name]


def check_bounded_slope(loss: _core.Loss, where: str) -> None:
    """Refuses losses that grow faster than a line, for the stochastic steps of `where`."""
    slopes = np.abs(loss.gradient(np.array([1e6, 1e12, -1e6, -1e12]), np.zeros(4))[1])
    if slopes[1] > 2 * slopes[0] or slopes[3] > 2 * slopes[2]:
        raise ValueError(
            f"loss: {loss.name!r} is not Lipschitz, which {where} needs; take another loss, "
            'or fit with solver="newton"'
        )


def regression_loss(name: Any, epsilon: float | None = None) -> Any:
    """A loss for regression; `epsilon` is its parameter, where it has one."""
    return loss_for("regression", name, epsilon, "epsilon")
