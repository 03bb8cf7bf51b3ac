"""The library's systems, tuned by the same rule as the others: six settings, one held-out third."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import svmgsu

from ..paper.systems import Array
from .rivals import AT_VALUES, answering
from .tasks import Task

# λ, and the scale of the covariances: 0 is the same machine without them.
LINEAR = ((1e-1, 1.0), (1e-2, 1.0), (1e-3, 1.0), (1e-4, 1.0), (1e-2, 0.0), (1e-3, 0.0))
SEARCHED = "pool"  # its own search instead of the rule; not counted as tuned alike


@dataclass(frozen=True)
class Ours:
    """`make(task, setting, seed)` makes an estimator that is fitted to `Gaussians`."""

    name: str
    make: Callable[[Task, Any, int], Any]
    settings: tuple[Any, ...]
    fits: Callable[[Task], bool] = lambda task: True
    scales: bool = False  # whether the second number of a setting scales the covariances
    ours: bool = True
    tuned_as: str = ""
    modes: tuple[str, ...] = (AT_VALUES,)

    def suits(self, task: Task) -> bool:
        return self.fits(task)

    def fit(self, task: Task, rows: Array, setting: Any, seed: int, final: bool) -> Any:
        data = task.train[rows]
        scale = setting[1] if self.scales else 1.0
        if scale == 0:
            data = svmgsu.Gaussians(data.mean)
        with warnings.catch_warnings():
            # That strongly uncertain problems have trivial optima is a result here.
            warnings.simplefilter("ignore", svmgsu.exceptions.TrivialModelWarning)
            return self.make(task, setting, seed).fit(data, task.y[rows])

    def predict(self, fitted: Any, data: svmgsu.Gaussians, mode: str, seed: int) -> Array:
        return np.asarray(answering(fitted)(data))


def _noise(task: Task) -> Any:
    return None if task.noise is None else task.noise.kind


def _linear(loss: str) -> Callable[[Task, Any, int], Any]:
    def make(task: Task, setting: Any, seed: int) -> Any:
        lam, scale = setting
        noise = _noise(task) if scale else None
        return svmgsu.LinearSVMGSU(lam=lam, loss=loss, deployment_cov=noise, tol=1e-4, threads=1)

    return make


def _pool(task: Task, setting: Any, seed: int) -> Any:
    kind = svmgsu.GSURegressor if task.regression else svmgsu.GSUClassifier
    return kind(test_noise=_noise(task), random_state=seed, threads=1)


def _classes(task: Task) -> bool:
    return not task.regression


def _narrow(task: Task) -> bool:
    return task.train.shape[1] <= 100


SYSTEMS = (
    Ours("linear, hinge", _linear("hinge"), LINEAR, _classes, scales=True),
    Ours("linear, logistic", _linear("logistic"), LINEAR, _classes, scales=True),
    Ours(SEARCHED, _pool, (None,), _narrow),
)
