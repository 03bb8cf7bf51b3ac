"""The options of a fit: their defaults, and one table of what values they may have."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from .. import _core
from ..support.losses import Task, check_bounded_slope, known_loss
from ..support.types import Cell
from ..support.validation import FloatArray, as_float_array, check_choice, check_count, check_positive

LAMS = np.logspace(1, -4, 10)  # what lam="auto" tries
COV_SCALES = np.array([0.0, 0.1, 0.3, 1.0])  # what cov_scale="auto" tries
DEFAULT_LAM = 1e-2

Check = Callable[[Any, str], Any]


def _optional(check: Check) -> Check:
    return lambda value, name: None if value is None else check(value, name)


def _one_of(*words: str) -> Check:
    def check(value: object, name: str) -> Any:
        check_choice(value, name, words)
        return value

    return check


def check_scale(value: Cell, name: str) -> float:
    """Return a factor of covariances: finite and at least 0."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: expected a number, got {value!r}") from None
    if not (number >= 0 and math.isfinite(number)):
        raise ValueError(f"{name}: must be >= 0 and finite, got {value!r}")
    return number


def _or_candidates(check: Check, auto: FloatArray) -> Check:
    """A number, or several numbers of which the best is to be chosen: an array, or "auto"."""

    def check_each(value: object, name: str) -> Any:
        if isinstance(value, str):
            if value != "auto":
                raise ValueError(f'{name}: expected a number, an array or "auto", got {value!r}')
            return auto
        if not isinstance(value, (list, tuple, range, np.ndarray)) or np.ndim(value) == 0:
            return check(value, name)
        values = as_float_array(value, name, (1,)).astype(np.float64)
        if not len(values):
            raise ValueError(f"{name}: is empty; expected at least one number to try")
        return np.array([check(number, name) for number in values.tolist()])

    return check_each


def _share(value: object, name: str) -> float:
    number = 0.0 if value == 0 else check_positive(value, name)
    if number > 1:
        raise ValueError(f"{name}: must be in [0, 1], got {value!r}")
    return number


def _probability(value: object, name: str) -> Any:
    if not isinstance(value, (bool, np.bool_)) and value not in ("cv", "train"):
        raise ValueError(f'{name}: expected True, "cv", "train" or False, got {value!r}')
    return value


def _verbose(value: object, name: str) -> Any:
    if not callable(value) and not isinstance(value, (bool, int, np.bool_)):
        raise TypeError(f"{name}: expected True, False or a function, got {value!r}")
    return value if callable(value) else bool(value)


# What each option may be. `loss`, `epsilon` and `class_weight` are checked where their meaning is known.
CHECKS: dict[str, Check] = {
    "lam": _or_candidates(check_positive, LAMS),
    "cov_scale": _or_candidates(check_scale, COV_SCALES),
    "multi_class": _one_of("ovo", "ovr"),
    "probability": _probability,
    "tol": check_positive,
    "max_iter": check_count,
    "max_time": _optional(check_positive),
    "threads": _optional(check_count),
    "verbose": _verbose,
    "solver": _one_of("newton", "sgd"),
    "steps": _optional(lambda value, name: check_count(value, name, most=2**62)),
    "batch_size": _optional(check_count),
    "average": _share,
    "seed": lambda value, name: check_count(value, name, least=0, most=2**64 - 1),
}


@dataclass(kw_only=True)
class Options:
    """The checked options of a fit; `svmgsu.train` and the estimators document them.

    `task` restricts the losses to those of classification or of regression; by default the loss decides.
    """

    task: Task | None = None
    lam: Any = DEFAULT_LAM
    loss: Any = "hinge"
    epsilon: float | None = None
    cov_scale: Any = 1.0
    class_weight: Any = None
    multi_class: str = "ovo"
    fit_intercept: bool = True
    probability: bool | str = True
    tol: float = 1e-6
    max_iter: int = 500
    max_time: float | None = None
    threads: int | None = None
    verbose: Any = False
    solver: str = "newton"
    steps: int | None = None
    batch_size: int | None = None
    average: float = 0.5
    seed: int = 0
    core_loss: _core.Loss = field(init=False)
    deadline: float = field(init=False, default=math.inf)  # by time.monotonic(), from here on
    searches: bool = field(init=False)  # whether λ or the scale of the covariances is to be chosen

    def __post_init__(self) -> None:
        # Defaults are not checked again: a small fit takes less time than all the checks.
        for name, check in CHECKS.items():
            value = getattr(self, name)
            default = _DEFAULTS[name]
            if value is not default and not (isinstance(value, float) and value == default):
                setattr(self, name, check(value, name))
        if isinstance(self.loss, tuple):
            self.loss, self.epsilon = self.loss
        self.core_loss, self.task = known_loss(self.loss, self.epsilon, self.task)
        if self.solver == "sgd":
            check_bounded_slope(self.core_loss, "stochastic gradient descent")
        if self.max_time is not None:
            self.deadline = time.monotonic() + self.max_time
        self.searches = isinstance(self.lam, np.ndarray) or isinstance(self.cov_scale, np.ndarray)

    def core(self, samples: int, lam: float | None = None) -> _core.FitOptions:
        """Return the core's options, for a fit on that many rows; `lam` is another λ."""
        if self.batch_size is not None and self.batch_size > samples:
            raise ValueError(f"batch_size: {self.batch_size} samples of {samples}; it must be <= {samples}")
        options = _core.FitOptions()
        if lam is not None:
            options.lam = lam
        elif self.searches:
            options.lams = np.atleast_1d(self.lam)
            options.cov_scales = np.atleast_1d(self.cov_scale)
        else:
            options.lam = self.lam
            options.cov_scale = self.cov_scale
        options.loss = self.core_loss
        options.solver = self.solver
        options.intercept = bool(self.fit_intercept)
        options.threads = self.threads or 0
        options.tolerance = self.tol
        options.max_iterations = self.max_iter
        options.multi_class = self.multi_class
        options.balanced = isinstance(self.class_weight, str)
        options.probability = self.probability
        options.max_seconds = self.seconds_left()
        if self.solver == "sgd":
            options.average = self.average
            options.seed = self.seed
            options.steps = self.steps or 0
            options.batch = self.batch_size or 0
        return options

    def seconds_left(self) -> float:
        """Return the seconds until the deadline."""
        return max(0.0, self.deadline - time.monotonic())


_DEFAULTS = {entry.name: entry.default for entry in fields(Options)}
NAMES = tuple(entry.name for entry in fields(Options) if entry.init)
