"""The examples of a training set, checked once, and one fit of the core on all of them or on some."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..data.coercion import as_deployment
from ..data.gaussians import as_gaussians, check_subspace_mode
from ..support.memory import NotEnoughMemory, require_memory
from ..support.validation import Array, FloatArray

Report = Callable[[Any], bool | None] | None

VECTORS = 64  # of n numbers, that one fit holds at its peak: measured at n = 2e6
_ADVICE = {
    "iterations": "Raise max_iter, scale the features (svmgsu.GaussianScaler), or take a larger lam",
    "time": "Raise max_time, scale the features (svmgsu.GaussianScaler), or take a larger lam",
    "stalled": "Scale and centre the features (svmgsu.GaussianScaler), use float64, or ask for a larger tol",
}


class ConvergenceWarning(UserWarning):
    """The solver stopped before it reached the asked precision; the message states the gap reached."""


class Examples:
    """Means and covariances, as they were given and as training sees them; fits share the arrays.

    Parameters
    ----------
    X, cov, std
        As in `svmgsu.train`.
    labels : array of shape (l,), or None
        Tell classes apart, where covariances depend on them.
    subspace, subspace_mode, cov_scale, deployment_cov, seed
        As in `svmgsu.train`.
    """

    def __init__(
        self,
        X: Any,
        cov: Any,
        std: Any,
        labels: Callable[[int], Array] | None = None,
        *,
        subspace: float | None = None,
        subspace_mode: str = "truncate",
        cov_scale: float = 1.0,
        deployment_cov: Any = None,
        seed: int = 0,
    ) -> None:
        data = as_gaussians(X, cov, std)
        self.observed = data  # as it was given, and as new objects will be
        self.labels = None if labels is None else labels(len(data))
        check_subspace_mode(subspace_mode)
        if subspace is not None:
            data = data.subspace(subspace, subspace_mode, y=self.labels)
        if deployment_cov is not None:
            data = data.with_more_cov(as_deployment(deployment_cov, data.shape, seed))
        if data.deployment is not None:
            data = data.with_more_cov(data.deployment)
        self.data = data
        self._means = data.core_means()
        self._terms = () if data.cov is None else data.cov.terms(*data.shape, self.labels)
        self.cov_scale = check_scale(cov_scale)
        self.interrupted = False  # whether a callback has stopped the last fit

    def __len__(self) -> int:
        return len(self.data)

    def terms(self, cov_scale: float | None = None) -> tuple[Any, ...]:
        """The covariances as the core's (kind, factor), times the scale of this fit."""
        scale = self.cov_scale if cov_scale is None else cov_scale
        if scale == 1.0:
            return self._terms
        return tuple((kind, scale * factor) for kind, factor in self._terms) if scale else ()

    def labelled(
        self, signs: FloatArray, weights: FloatArray, rows: Array | None, cov_scale: float | None
    ) -> Any:
        """What the core trains a classifier on; `signs` and `weights` are of the chosen rows."""
        return _core.labelled(self._means, self.terms(cov_scale), signs, weights, _chosen(rows))

    def valued(
        self, targets: FloatArray, weights: FloatArray, rows: Array | None, cov_scale: float | None
    ) -> Any:
        """What the core trains a regression on; `targets` and `weights` are of the chosen rows."""
        return _core.valued(self._means, self.terms(cov_scale), targets, weights, _chosen(rows))

    def run_core(
        self, core: Any, options: Any, report: Report, start: tuple[FloatArray, float] | None = None
    ) -> Any:
        """The core's result."""
        n = self.data.shape[1]
        require_memory(8.0 * VECTORS * n, f"X: training with {n} features")
        at = () if start is None else (np.ascontiguousarray(start[0]), float(start[1]))
        try:
            return _core.solve(core, options, report, *at)
        except MemoryError:
            raise NotEnoughMemory(f"X: there is not enough memory to train with {n} features") from None

    def margins(
        self, coef: FloatArray, rows: Array | None = None, *, observed: bool = False, threads: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """w·x_i and wᵀΣ_i w for each row w of `coef`, as (l, rows of coef); covariances times 1.

        `observed` leaves out what training adds: noise of deployment, and subspaces.
        """
        means, terms, data = self._means, self._terms, self.observed
        if observed and data is not self.data:
            means = data.core_means()
            terms = () if data.cov is None else data.cov.terms(*data.shape, self.labels)
        core = _core.Gaussians(means, terms, _chosen(rows))
        mean, variance = _core.margins(core, np.ascontiguousarray(coef), threads)
        return mean.T, variance.T


def _chosen(rows: Array | None) -> Array | None:
    return None if rows is None else np.ascontiguousarray(rows, dtype=np.int64)


def check_scale(value: Any) -> float:
    """A factor of all covariances."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"cov_scale: expected a number, got {value!r}") from None
    if not (number >= 0 and np.isfinite(number)):
        raise ValueError(f"cov_scale: must be >= 0 and finite, got {value!r}")
    return number


def check_start(start: Any, kind: type, features: int) -> None:
    """Refuses what a fit cannot start from."""
    if start is None:
        return
    if not isinstance(start, kind):
        raise TypeError(f"start: expected a svmgsu.{kind.__name__}, got {start!r}")
    if start.n_features_in_ != features:  # type: ignore[attr-defined]
        raise ValueError(f"start: {start.n_features_in_} features, but X has {features}")  # type: ignore[attr-defined]


def record(history: Sequence[Any]) -> list[dict[str, float]]:
    """The solver's history as models keep it."""
    names = ("iteration", "objective", "gap", "seconds", "passes")
    return [{name: getattr(progress, name) for name in names} for progress in history]


def warn_if_unfinished(
    results: list[Any], options: Any, named: Callable[[list[int]], str], stacklevel: int = 4
) -> None:
    """Warns where the solver stopped early; `named` says which of several problems a message is about."""
    fine = ("converged", "callback", "iterations") if options.solver == "sgd" else ("converged", "callback")

    def relative(k: int) -> float:
        return float(results[k].gap / results[k].objective) if results[k].objective else 0.0

    stopped = [k for k, result in enumerate(results) if result.stop not in fine]
    places = [k for k in stopped if not relative(k) <= options.tolerance]  # what was asked may be proven
    if not places:
        return

    worst = max(places, key=relative)
    stop = results[worst].stop
    reason = {
        "iterations": f"after max_iter={options.max_iterations} iterations",
        "time": f"after max_time={options.max_seconds:g} seconds",
        "stalled": "because rounding errors allow no further progress",
    }[stop]
    warnings.warn(
        f"the solver stopped {reason}{named(places)} with a relative gap of {relative(worst):.2g}, "
        f"where tol={options.tolerance:g} was asked; the best point found is kept. {_ADVICE[stop]}",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
