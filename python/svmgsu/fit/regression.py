"""`svmgsu.train_regressor`: linear regression on uncertain examples, with uncertain targets too."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from ..data.covariances import Psd
from ..data.gaussians import as_gaussians
from ..exceptions import ConvergenceWarning
from ..models.regressor import RegressionModel
from ..outofcore.blocks import Blocks
from ..outofcore.training import DataSource, refuse_beside, source_of, weights_of_blocks
from ..support.labels import check_targets, check_weights
from ..support.parallel import Team
from ..support.validation import Array, FloatArray, check_finite, check_row_order
from ..support.warning import warn
from .beyond import BeyondExamples, keep_checkpoint
from .examples import Examples, Report, check_start, record, status, warn_if_unfinished
from .settings import Settings, changed_options, documented

_ROUNDS = 50  # of weights and scatter in turn
_SETTLED = 1e-6  # relative change of the scatter


class RegressionProblem(Examples[RegressionModel]):
    """Examples with targets: any number of fits, on all of them or on some, share the arrays."""

    def __init__(
        self,
        X: Any,
        y: Any,
        cov: Any = None,
        settings: Settings | None = None,
        *,
        std: Any = None,
        y_std: Any = None,
        sample_weight: Any = None,
    ) -> None:
        settings = settings or Settings(task="regression", loss="squared")
        check_row_order(X, y=y, y_std=y_std, sample_weight=sample_weight)
        super().__init__(as_gaussians(X, cov, std, settings.psd), settings)
        self.targets = self.to_split = check_targets(y, len(self))
        self.target_errors = check_target_errors(y_std, len(self))
        self.sample_weights = self.given_weights = check_weights(sample_weight, len(self))
        self.likelihood = settings.loss == "squared" and self.target_errors is not None

    def weights(self, rows: Array | None = None, scatter: float = 0.0) -> FloatArray:
        """The weights of the examples, or of some, scaled to mean 1: a target that is known well counts more.

        The squared loss is a likelihood, so that a target with error e has the weight 1/(τ² + e²), where τ is
        the `scatter` of the relation itself. Other losses grow like |D|, and there it is 1/e.
        """
        given = self.sample_weights if rows is None else self.sample_weights[rows]
        if self.target_errors is not None:
            errors = self.target_errors if rows is None else self.target_errors[rows]
            given = given / (errors**2 + scatter**2 if self.likelihood else errors)
        return np.asarray(given / (given.mean() or 1.0))

    def solve(
        self,
        options: _core.Options,
        *,
        start: RegressionModel | None = None,
        rows: Array | None = None,
        cov_scale: float | None = None,
        report: Report = None,
        team: Team | None = None,
        expect_trivial: bool = False,
    ) -> RegressionModel:
        """One model; where errors of the targets make a likelihood, weights and scatter in turn.

        Each fit is exact for its weights. Warns where the optimum was not reached. (`team` and
        `expect_trivial` are those of classifiers: there is one problem, and a constant may be the best.)
        """
        if start is not None:
            check_start(start, RegressionModel, self.data.shape[1])
        began = time.monotonic()
        last: RegressionModel | None = None
        scatter = self._spread(rows) if self.likelihood else 0.0
        for _ in range(_ROUNDS):
            left = max(0.0, options.max_seconds - (time.monotonic() - began))
            asked = changed_options(options, max_seconds=left)
            model = self._fit(asked, self.weights(rows, scatter), start, rows, cov_scale, report)
            if last is not None and model.status_ == "limit" and not model.coef_.any():
                model = last  # no time was left for a point of this round
                model.status_ = "limit"
                break
            before, scatter = scatter, self._scatter(model, rows)
            if not self.likelihood or abs(scatter - before) <= _SETTLED * max(scatter, before):
                break
            if model.status_ in ("limit", "stopped"):
                break
            if time.monotonic() - began >= options.max_seconds:
                model.status_ = "limit"
                warn(
                    f"max_time={self.settings.max_time} seconds were over before the scatter of the targets "
                    f"had settled: it changed from {before:.4g} to {scatter:.4g} in the last round. Raise "
                    "max_time",
                    ConvergenceWarning,
                )
                break
            start = last = model
        model.scatter_ = scatter
        return model

    def _fit(
        self,
        options: _core.Options,
        weights: FloatArray,
        start: RegressionModel | None,
        rows: Array | None,
        cov_scale: float | None,
        report: Report,
    ) -> RegressionModel:
        targets = self.targets if rows is None else self.targets[rows]
        core = self.core_of(_core.valued, targets, weights, rows, cov_scale)
        where = None if start is None else (start.coef_, start.intercept_)
        result = self.run_core(core, options, report, where)
        self.interrupted = result.stop == "callback"
        warn_if_unfinished([result], options, self.settings.max_time)
        loss = self.settings.core_loss
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
            feature_names_in_=self.observed.feature_names_in_,
            status_=status([result]),
        )

    def _spread(self, rows: Array | None) -> float:
        """The deviation of the targets, to begin with."""
        targets = self.targets if rows is None else self.targets[rows]
        return float(targets.std())

    def _scatter(self, model: RegressionModel, rows: Array | None) -> float:
        """The scatter of targets around the model: root mean square, or of the largest likelihood."""
        mean, _ = self.margins(model.coef_[np.newaxis], rows)
        some = slice(None) if rows is None else rows
        squares = (self.targets[some] - mean[:, 0] - model.intercept_) ** 2
        if not self.likelihood or self.target_errors is None:
            weights = self.weights(rows)
            return float(np.sqrt(np.sum(weights * squares) / weights.sum()))
        return likeliest_scatter(squares, self.target_errors[some], self.sample_weights[some])


class BeyondRegression(BeyondExamples, RegressionProblem):
    """The same, of examples that are not in memory."""

    def __init__(
        self,
        source: DataSource,
        targets: FloatArray,
        errors: FloatArray | None,
        weights: FloatArray,
        settings: Settings,
    ) -> None:
        self._hold(source, settings)
        self.targets = self.to_split = targets
        self.target_errors = errors
        self.sample_weights = self.given_weights = weights
        self.likelihood = settings.loss == "squared" and errors is not None


def regression_of(
    X: Any,
    y: Any,
    cov: Any,
    settings: Settings,
    *,
    std: Any = None,
    y_std: Any = None,
    sample_weight: Any = None,
) -> RegressionProblem:
    """The problem of examples in memory or in blocks."""
    if not isinstance(X, Blocks):
        return RegressionProblem(X, y, cov, settings, std=std, y_std=y_std, sample_weight=sample_weight)
    refuse_beside(X, cov=cov, std=std)
    targets = check_targets(X.labels() if y is None else y, len(X))
    errors = check_target_errors(X.numbers("y_std") if y_std is None and y is None else y_std, len(X))
    return BeyondRegression(source_of(X), targets, errors, weights_of_blocks(X, sample_weight), settings)


def likeliest_scatter(squares: FloatArray, errors: FloatArray, weights: FloatArray) -> float:
    """The τ >= 0 that maximises the likelihood of residuals N(0, τ² + e²), given their squares.

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


def check_target_errors(y_std: Any, examples: int) -> FloatArray | None:
    """Standard deviations of the targets: a number or one for each, all > 0."""
    if y_std is None:
        return None
    try:
        errors = np.array(y_std, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"y_std: expected numbers, got {np.asarray(y_std).dtype} values") from None
    if errors.ndim == 0:
        errors = np.full(examples, float(errors))
    if errors.shape != (examples,):
        raise ValueError(f"y_std: expected a number or shape ({examples},), got {errors.shape}")
    check_finite(errors, "y_std")
    bad = np.flatnonzero(errors <= 0)
    if len(bad):
        raise ValueError(
            f"y_std: example {bad[0]} has error {errors[bad[0]]:g}; errors of targets must be > 0 "
            "(a target without an error: leave y_std out, or state how well it is known)"
        )
    return errors


@documented
def train_regressor(
    X: Any,
    y: Any = None,
    cov: Any = None,
    *,
    std: Any = None,
    y_std: Any = None,
    psd: Psd = "clip",
    loss: str = "squared",
    epsilon: float | None = None,
    lam: float = 1e-2,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    cov_scale: float = 1.0,
    deployment_cov: Any = None,
    subspace: float | None = None,
    subspace_mode: str = "truncate",
    tol: float = 1e-6,
    max_iter: int = 500,
    max_time: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    start: RegressionModel | None = None,
    callback: Callable[[Any], bool | None] | None = None,
    checkpoint: Any = None,
    resume: bool = False,
    verbose: bool = False,
) -> RegressionModel:
    """Trains a linear regression on uncertain examples.

    It minimises λ/2 ‖w‖² + (1/l) Σ E ℓ(t - w·X - b) over X ~ N(x, Σ): exact, convex, and with a proof of how
    close to the optimum it ends.

    Parameters
    ----------
    X : array, SciPy sparse matrix, Gaussians or Blocks of shape (l, n)
        The examples' means, or means and covariances together; in memory, or in files (`svmgsu.open`).
    y : array of shape (l,)
        The targets; by default those that blocks have, with their errors.
    cov, std : optional
        Uncertainty of X, as in `svmgsu.train`.
    y_std : float or array of shape (l,), optional
        Errors of the targets, > 0. With the squared loss they make a likelihood: a target has the weight
        1/(τ² + e²), and the scatter τ of the relation itself is estimated with it. With other losses the
        weight is 1/e.
    loss : str, default="squared"
        "squared" (D²/2), "epsilon_insensitive" (max(0, |D| - ε), ε = 0.1 by default), its square,
        "squared_epsilon_insensitive", or "huber" (a square up to ε = 1.35, then a line).
    lam : float, default=1e-2
        The weight λ of the penalty λ/2 ‖w‖²; with the squared loss scikit-learn's `Ridge(alpha)` / l.
    sample_weight : array of shape (l,), optional
        Relative: a common factor changes nothing. A weight of 2 is the same as having an example twice.
    start : RegressionModel, optional
        A model to start from.
    callback : function of one argument, optional
        As in `svmgsu.train`.
    checkpoint : path, optional
        For blocks: a small file that holds the best point so far, written every few seconds.
    resume : bool, default=False
        Start from the checkpoint, if the file exists, and train to the same proven tolerance. A checkpoint
        of other data is refused.
    {settings}

    Returns
    -------
    RegressionModel

    Notes
    -----
    **What noise of the inputs does.** The expected loss asks for a plane that is good for every X that the
    example might be, as if the noise came *on top of* x. With the squared loss that adds wᵀΣw/2 for each
    example, and w shrinks. That is right if the model will be used on inputs with such noise and the target
    belongs to the noisy value's object, as when new objects are noisier than those of training. If x was
    measured with this noise and the target belongs to the *true* value, x is scattered already, and a plain
    regression is already too flat; the covariance would flatten it a second time. Then shrink each
    example to its posterior first: `posterior(data).mean` of `svmgsu.uncertainty`.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = svmgsu.train_regressor(X, [0.1, 0.9, 2.1, 2.9], y_std=[0.1, 0.1, 0.1, 0.5], lam=1e-6)
    >>> model.predict([[1.5]]).round(1).tolist()
    [1.5]
    """
    settings = Settings.of(locals(), task="regression")
    problem = regression_of(X, y, cov, settings, std=std, y_std=y_std, sample_weight=sample_weight)
    keep_checkpoint(problem, checkpoint, resume)
    return problem.train(start, callback)


@documented
def path_regressor(
    X: Any,
    y: Any = None,
    cov: Any = None,
    lams: Any = None,
    *,
    std: Any = None,
    y_std: Any = None,
    psd: Psd = "clip",
    loss: str = "squared",
    epsilon: float | None = None,
    sample_weight: Any = None,
    cov_scale: float = 1.0,
    deployment_cov: Any = None,
    tol: float = 1e-6,
    fit_intercept: bool = True,
    max_iter: int = 500,
    threads: int | None = None,
    verbose: bool = False,
) -> list[RegressionModel]:
    """The regressions along a path of λ, each started from its neighbour; in the order of `lams`.

    Parameters
    ----------
    X, y, cov, std, y_std, loss, sample_weight
        As in `svmgsu.train_regressor`.
    lams : array, optional
        The values of λ; by default ten from 10 down to 1e-4.
    {settings}

    Returns
    -------
    list of RegressionModel

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), [0.0, 1.0, 2.0]
    >>> [round(m.coef_.item(), 2) for m in svmgsu.path_regressor(X, y, lams=[1.0, 0.01])]
    [0.4, 0.99]
    """
    settings = Settings.of(locals(), task="regression")
    problem = regression_of(X, y, cov, settings, std=std, y_std=y_std, sample_weight=sample_weight)
    return problem.path(lams)
