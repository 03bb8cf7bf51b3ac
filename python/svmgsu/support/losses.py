"""The losses that the core knows, by task."""

from __future__ import annotations

import math
import numbers
from typing import Literal

import numpy as np

from .. import _core

Task = Literal["classification", "regression"]
OWN = "logistic"  # its decision values are log-odds: it has probabilities of its own
_KNOWN = {name: (task, parameter) for name, task, parameter, _ in _core.known_losses()}


def names(task: Task) -> list[str]:
    """Return the losses for a task."""
    return [name for name, (of, _) in _KNOWN.items() if of == task]


def known_loss(name: object, epsilon: object = None, task: Task | None = None) -> tuple[_core.Loss, Task]:
    """Return the core's loss `name`, which must be for `task` if there is one, and its task.

    `epsilon` is the parameter of the losses that have one.
    """
    allowed = list(_KNOWN) if task is None else names(task)
    if not isinstance(name, str) or name not in _KNOWN:
        raise ValueError(f"loss: expected one of {', '.join(map(repr, allowed))}, got {name!r}")
    of, parameter = _KNOWN[name]
    if name not in allowed:
        other = "LinearSVRGSU" if of == "regression" else "LinearSVMGSU"
        raise ValueError(
            f"loss: {name!r} is for {of}; use svmgsu.train or {other}, or one of "
            f"{', '.join(map(repr, allowed))}"
        )
    if epsilon is None:
        return _core.Loss(name), of
    if not parameter:
        raise ValueError(f"epsilon: the loss {name!r} has no parameter")
    if isinstance(epsilon, bool) or not isinstance(epsilon, numbers.Real) or math.isnan(epsilon):
        raise ValueError(f"epsilon: expected a number, got {epsilon!r}")
    try:
        return _core.Loss(name, float(epsilon)), of
    except ValueError as error:
        raise ValueError(f"epsilon: not accepted by the loss {name!r} ({error})") from None


def check_bounded_slope(loss: _core.Loss, where: str) -> None:
    """Refuse losses that grow faster than a line, for the stochastic steps of `where`."""
    slopes = np.abs(loss.gradient(np.array([1e6, 1e12, -1e6, -1e12]), np.zeros(4))[1])
    if slopes[1] > 2 * slopes[0] or slopes[3] > 2 * slopes[2]:
        raise ValueError(
            f"loss: {loss.name!r} is not Lipschitz, which {where} needs; take another loss, or LinearSVMGSU"
        )
