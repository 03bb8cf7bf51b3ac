"""`svmgsu.train`: from arrays to a trained model in one call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from .gaussians import as_gaussians
from .model import Model
from .progress import ProgressBar
from .validation import check_count, check_labels, check_positive, check_weights

SOLVERS = ("newton", "sgd")


class ConvergenceWarning(UserWarning):
    """The solver stopped before it reached the asked precision; the message states the gap reached."""


def train(
    X: Any,
    y: Any,
    cov: Any = None,
    *,
    std: Any = None,
    lam: float = 1e-2,
    solver: str = "newton",
    sample_weight: Any = None,
    fit_intercept: bool = True,
    subspace: float | None = None,
    subspace_mode: str = "truncate",
    probability: bool = True,
    tol: float = 1e-6,
    max_iter: int = 500,
    max_time: float | None = None,
    T: int | None = None,
    k: int | None = None,
    average: float = 0.5,
    seed: int = 0,
    threads: int | None = None,
    start: Model | None = None,
    callback: Callable[[Any], bool | None] | None = None,
    verbose: bool = False,
) -> Model:
    """Trains a linear classifier on uncertain examples.

    Parameters
    ----------
    X : array, SciPy sparse matrix or Gaussians of shape (l, n)
        The examples' means, or means and covariances together.
    y : array of shape (l,)
        Labels of two classes.
    cov : array or covariance kind, optional
        Uncertainty of X: a number or (l,) variances for isotropic, (l, n) for diagonal, (l, n, n) for
        full covariances, or `svmgsu.Isotropic`, `Diagonal`, `Full`, `LowRank`, `Shared` and their sums.
    std : array, optional
        Error bars instead of `cov`: a number, (l,) or (l, n) standard deviations.
    lam : float, default=1e-2
        The weight λ of the penalty λ/2 ‖w‖².
    solver : {"newton", "sgd"}
        "newton" is exact: it stops when a proven bound says that the objective is within `tol` of the
        optimum. "sgd" is the paper's stochastic algorithm, corrected.
    sample_weight : array of shape (l,), optional
        Scaled to mean 1, so that a weight of 2 is the same as having an example twice.
    fit_intercept : bool, default=True
    subspace : float in (0, 1], optional
        Keep only the leading eigenvectors of each covariance, up to this fraction of its variance.
    subspace_mode : {"truncate", "project"}
        See `Gaussians.subspace`; "project" is the paper's.
    probability : bool, default=True
        Whether to fit Platt's sigmoid to the training scores, as in the paper.
    tol : float, default=1e-6
        Newton stops when gap <= tol * objective.
    max_iter : int, default=500
        Newton's iterations at the most.
    max_time : float, optional
        Seconds at the most; the best point so far is kept.
    T, k : int, optional
        sgd: the number of steps and the size of a minibatch. By default k = min(l, 100) and T is 20
        readings of the data, at least 1000.
    average : float in [0, 1], default=0.5
        sgd: the last share of the steps that is averaged; 0 returns the last step.
    seed : int, default=0
        sgd: the same seed gives the same model, for any number of threads.
    threads : int, optional
        By default all that OpenMP offers (OMP_NUM_THREADS, threadpoolctl).
    start : Model, optional
        newton: a model to start from.
    callback : function of one argument, optional
        Called between iterations with `.iteration, .objective, .gap, .seconds, .passes`; training
        stops when it returns False.
    verbose : bool, default=False
        Show progress (with tqdm where it is installed).

    Returns
    -------
    Model

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X, y = np.array([[-2.0, 0.1], [-1.0, -0.2], [1.0, 0.3], [2.0, -0.1]]), [0, 0, 1, 1]
    >>> model = svmgsu.train(X, y, std=0.3, lam=0.1)
    >>> model.predict([[1.5, 0.0]])
    array([1])
    """
    data = as_gaussians(X, cov, std)
    options = _options(
        len(data),
        lam=lam,
        solver=solver,
        fit_intercept=fit_intercept,
        tol=tol,
        max_iter=max_iter,
        max_time=max_time,
        T=T,
        k=k,
        average=average,
        seed=seed,
        threads=threads,
    )
    classes, signs = check_labels(y, len(data))
    labels = classes[(signs > 0).astype(int)]
    weights = check_weights(sample_weight, len(data))
    if sample_weight is not None:
        weights = weights / weights.mean()
        for sign, label in zip((-1.0, 1.0), classes.tolist(), strict=True):
            if not weights[signs == sign].any():
                raise ValueError(
                    f"sample_weight: class {label!r} has no weight; training needs examples of two"
                )
    if subspace is not None:
        data = data.subspace(subspace, subspace_mode, y=labels)
    start_w, start_b = None, 0.0
    if start is not None:
        if start.n_features_in_ != data.shape[1]:
            raise ValueError(f"start: {start.n_features_in_} features, but X has {data.shape[1]}")
        start_w, start_b = np.ascontiguousarray(start.coef_[0]), float(start.intercept_[0])

    core = data.core(signs, weights, labels)
    with ProgressBar(verbose, options, callback) as report:
        result = _core.solve(core, options, report, start_w, start_b)
    _warn_if_unfinished(result, options)
    model = Model(
        coef_=result.w[np.newaxis, :],
        intercept_=np.array([result.b]),
        classes_=classes,
        lam=options.lam,
        objective_=result.objective,
        gap_=result.gap,
        n_iter_=result.iterations,
        history_=[
            {name: getattr(p, name) for name in ("iteration", "objective", "gap", "seconds", "passes")}
            for p in result.history
        ],
    )
    if probability:
        model.platt_ = _core.fit_platt(model.decision_function(data), signs)
    return model


def _options(
    examples: int,
    *,
    lam: Any,
    solver: Any,
    fit_intercept: Any,
    tol: Any,
    max_iter: Any,
    max_time: Any,
    T: Any,
    k: Any,
    average: Any,
    seed: Any,
    threads: Any,
) -> Any:
    """The core's Options, checked."""
    options = _core.Options()
    options.lam = check_positive(lam, "lam")
    if solver not in SOLVERS:
        raise ValueError(f"solver: expected one of {', '.join(map(repr, SOLVERS))}, got {solver!r}")
    options.solver = solver
    options.intercept = bool(fit_intercept)
    options.tolerance = check_positive(tol, "tol")
    options.max_iterations = check_count(max_iter, "max_iter")
    if max_time is not None:
        options.max_seconds = check_positive(max_time, "max_time")
    if T is not None:
        options.steps = check_count(T, "T", most=2**62)
    if k is not None:
        options.batch = check_count(k, "k")
        if options.batch > examples:
            raise ValueError(f"k: a minibatch of {options.batch} from {examples} examples; k must be <= l")
    options.average = check_positive(average, "average") if average != 0 else 0.0
    if options.average > 1:
        raise ValueError(f"average: must be in [0, 1], got {average!r}")
    options.seed = check_count(seed, "seed", least=0, most=2**64 - 1)
    options.threads = 0 if threads is None else check_count(threads, "threads")
    return options


def _warn_if_unfinished(result: Any, options: Any) -> None:
    if result.stop in ("converged", "callback") or (options.solver == "sgd" and result.stop == "iterations"):
        return
    reason = {
        "iterations": f"after max_iter={options.max_iterations} iterations",
        "time": f"after max_time={options.max_seconds:g} seconds",
        "stalled": "because rounding errors allow no further progress",
    }[result.stop]
    relative = result.gap / result.objective if result.objective else 0.0
    warnings.warn(
        f"the solver stopped {reason} with a relative gap of {relative:.2g}, where tol={options.tolerance:g} "
        "was asked; the best point found is kept",
        ConvergenceWarning,
        stacklevel=3,
    )
