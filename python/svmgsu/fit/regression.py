"""Regression: targets with their errors, and the scatter that the errors leave unexplained."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..exceptions import ConvergenceWarning
from ..models.regressor import RegressionModel
from ..support import losses
from ..support.labels import Copies
from ..support.parallel import Team
from ..support.validation import Array, FloatArray, check_finite
from ..support.warning import warn
from .options import Options, changed
from .problem import Report, check_start, record, warn_if_unfinished, worst_status

if TYPE_CHECKING:
    from .problem import Problem

_ROUNDS = 50  # of weights and scatter in turn
_SETTLED = 1e-6  # relative change of the scatter


class Regression:
    """Targets and weights of a problem.

    Standard `errors` of the targets make a likelihood of the squared loss, and the scatter τ of the relation
    itself is estimated with it.
    """

    name: losses.Task = "regression"
    count = 1  # of problems, which run in the caller's thread, however small
    share = float("inf")

    def __init__(
        self, targets: FloatArray, errors: FloatArray | None, sample_weights: FloatArray, options: Options
    ) -> None:
        self.targets = targets
        self.options = options
        self.errors = errors
        self.sample_weights = sample_weights
        self.given_weights = sample_weights
        self.copies = Copies(len(targets))  # each sample is there once
        self.likelihood = options.loss == "squared" and errors is not None

    def take(self, rows: Array) -> Regression:
        """Return the task of some rows."""
        errors = None if self.errors is None else self.errors[rows]
        return Regression(self.targets[rows], errors, self.sample_weights[rows], self.options)

    def weights(self, rows: Array | None = None, scatter: float = 0.0) -> FloatArray:
        """Return weights with mean 1: a target that is known well counts more.

        The squared loss is a likelihood, so that a target with error e has the weight 1/(τ² + e²), where τ is
        the `scatter` of the relation itself. Other losses grow like |D|, and the weight is 1/e.
        """
        given = self.sample_weights if rows is None else self.sample_weights[rows]
        if self.errors is not None:
            errors = self.errors if rows is None else self.errors[rows]
            given = given / (errors**2 + scatter**2 if self.likelihood else errors)
        return np.asarray(given / (given.mean() or 1.0))

    def solve(
        self,
        problem: Problem,
        options: _core.Options,
        *,
        start: RegressionModel | None = None,
        rows: Array | None = None,
        report: Report = None,
        team: Team | None = None,
        quiet: bool = False,
    ) -> RegressionModel:
        """Return a model; where errors of the targets make a likelihood, fit weights and scatter in turn.

        Each fit is exact for its weights. Warn if the optimum was not reached.
        """
        if start is not None:
            check_start(start, RegressionModel, problem.source.shape[1])
        began = time.monotonic()
        targets = self.targets if rows is None else self.targets[rows]
        last: RegressionModel | None = None
        scatter = float(targets.std()) if self.likelihood else 0.0
        for _ in range(_ROUNDS):
            left = max(0.0, options.max_seconds - (time.monotonic() - began))
            asked = changed(options, max_seconds=left)
            weights = self.weights(rows, scatter)
            model = self._fit(problem, asked, targets, weights, start, rows, report)
            if last is not None and model.status_ == "limit" and not model.coef_.any():
                model = last  # no time was left for a point of this round
                model.status_ = "limit"
                break
            before, scatter = scatter, self._scatter(problem, model, rows)
            if not self.likelihood or abs(scatter - before) <= _SETTLED * max(scatter, before):
                break
            if model.status_ in ("limit", "stopped"):
                break
            if time.monotonic() - began >= options.max_seconds:
                model.status_ = "limit"
                warn(
                    f"max_time={problem.options.max_time} seconds were over before the scatter of the "
                    f"targets had settled: it changed from {before:.4g} to {scatter:.4g} in the last round. "
                    "Raise max_time",
                    ConvergenceWarning,
                )
                break
            start = last = model
        model.scatter_ = scatter
        return model

    def _fit(
        self,
        problem: Problem,
        options: _core.Options,
        targets: FloatArray,
        weights: FloatArray,
        start: RegressionModel | None,
        rows: Array | None,
        report: Report,
    ) -> RegressionModel:
        where = None if start is None else (start.coef_, start.intercept_)
        result = problem.run(
            targets, weights, options, rows=rows, start=where, report=report, save=rows is None
        )
        problem.interrupted = result.stop == "callback"
        warn_if_unfinished([result], options, problem.options.max_time)
        loss = problem.options.core_loss
        return RegressionModel(
            coef_=result.w,
            intercept_=result.b,
            lam=options.lam,
            loss=loss.name,
            epsilon=None if np.isnan(loss.parameter) else loss.parameter,
            objective_=result.objective,
            gap_=result.gap,
            n_iter_=result.iterations,
            history_=record(result.history),
            feature_names_in_=problem.source.feature_names_in_,
            status_=worst_status([result]),
        )

    def _scatter(self, problem: Problem, model: RegressionModel, rows: Array | None) -> float:
        """Return the scatter of targets around the model: root mean square, or of the largest likelihood."""
        mean, _ = problem.source.margins(model.coef_[np.newaxis], rows)
        some = slice(None) if rows is None else rows
        squares = (self.targets[some] - mean[:, 0] - model.intercept_) ** 2
        if not self.likelihood or self.errors is None:
            weights = self.weights(rows)
            return float(np.sqrt(np.sum(weights * squares) / weights.sum()))
        return likeliest_scatter(squares, self.errors[some], self.sample_weights[some])


def likeliest_scatter(squares: FloatArray, errors: FloatArray, weights: FloatArray) -> float:
    """Return the τ >= 0 that maximises the likelihood of residuals N(0, τ² + e²), given their squares.

    The slope of the log-likelihood in τ² is ½ Σ c (D² - v)/v² with v = τ² + e². It is positive below some
    solution and negative above the largest square, so that bisection finds a root between.
    """

    def slope(t: float) -> float:
        v = t + errors**2
        return float(np.sum(weights * ((squares - v) / v**2)))  # a dot product would depend on strides

    low, high = 0.0, float(squares.max(initial=0.0))
    if not high > 0 or slope(0.0) <= 0:
        return 0.0
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return float(np.sqrt((low + high) / 2))


def check_target_errors(y_std: Any, samples: int) -> FloatArray | None:
    """Return standard errors of the targets, all > 0, from a number or one for each."""
    if y_std is None:
        return None
    try:
        errors = np.array(y_std, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"y_std: expected numbers, got {np.asarray(y_std).dtype} values") from None
    if errors.ndim == 0:
        errors = np.full(samples, float(errors))
    if errors.shape != (samples,):
        raise ValueError(f"y_std: expected a number or shape ({samples},), got {errors.shape}")
    check_finite(errors, "y_std")
    bad = np.flatnonzero(errors <= 0)
    if len(bad):
        raise ValueError(
            f"y_std: sample {bad[0]} has the error {errors[bad[0]]:g}; errors of targets must be > 0 (for "
            "targets without errors leave y_std out, or state how well they are known)"
        )
    return errors
