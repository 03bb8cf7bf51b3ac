"""`svmgsu.train`: from arrays to a trained model in one call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core
from .covariance import as_deployment
from .gaussians import as_gaussians
from .model import Model
from .progress import ProgressBar, counter
from .validation import (
    Array,
    FloatArray,
    as_float_array,
    check_count,
    check_labels,
    check_positive,
    check_weights,
)

SOLVERS = ("newton", "sgd")


class TrivialModelWarning(UserWarning):
    """The optimum is w = 0: the model says the same class whatever the example."""


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
    cov_scale: float = 1.0,
    deployment_cov: Any = None,
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
    cov_scale : float, default=1.0
        A factor of all covariances given with X; 0 is the ordinary SVM.
    deployment_cov : array or covariance kind, optional
        Noise that exists only where the model will be used, added to every example: (n,) variances or an
        (n, n) matrix for all, or a pool of covariances, (k, n) or (k, n, n) or a kind, of which each
        example draws one at random (by `seed`).
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
    problem = Problem(
        X,
        y,
        cov,
        std=std,
        sample_weight=sample_weight,
        subspace=subspace,
        subspace_mode=subspace_mode,
        cov_scale=cov_scale,
        deployment_cov=deployment_cov,
        seed=seed,
    )
    options = make_options(
        len(problem),
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
    with ProgressBar(verbose, options, callback) as report:
        model = problem.solve(options, start=start, report=report)
    if probability:
        problem.fit_platt(model)
    return model


class Problem:
    """A training set, checked once: any number of fits, on all its examples or on some, share its arrays."""

    def __init__(
        self,
        X: Any,
        y: Any,
        cov: Any = None,
        *,
        std: Any = None,
        sample_weight: Any = None,
        subspace: float | None = None,
        subspace_mode: str = "truncate",
        cov_scale: float = 1.0,
        deployment_cov: Any = None,
        seed: int = 0,
    ) -> None:
        data = as_gaussians(X, cov, std)
        self.classes, self.signs = check_labels(y, len(data))
        self.labels = self.classes[(self.signs > 0).astype(int)]
        self.given_weights = check_weights(sample_weight, len(data))
        self.weights = self.given_weights
        if sample_weight is not None:
            self.weights = self.weights / self.weights.mean()
            for sign, label in zip((-1.0, 1.0), self.classes.tolist(), strict=True):
                if not self.weights[self.signs == sign].any():
                    raise ValueError(
                        f"sample_weight: class {label!r} has no weight; training needs examples of two"
                    )
        if subspace is not None:
            data = data.subspace(subspace, subspace_mode, y=self.labels)
        if deployment_cov is not None:
            extra = as_deployment(deployment_cov, data.shape, seed)
            data = data.with_cov(extra if data.cov is None else data.cov + extra)
        self.data = data
        self._means = data.core_means()
        self._terms = () if data.cov is None else data.cov.terms(*data.shape, self.labels)
        self.cov_scale = check_scale(cov_scale)

    def __len__(self) -> int:
        return len(self.data)

    @property
    def uncertain(self) -> bool:
        """Whether there is any covariance."""
        return bool(self._terms)

    def core(self, rows: Array | None = None, cov_scale: float | None = None) -> Any:
        """The core's view of all examples, or of some rows; covariances are not copied."""
        scale = self.cov_scale if cov_scale is None else cov_scale
        terms = tuple((kind, scale * factor) for kind, factor in self._terms) if scale else ()
        if rows is None:
            return _core.Gaussians(self._means, terms, self.signs, self.weights)
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        return _core.Gaussians(self._means, terms, self.signs[rows], self.weights[rows], rows)

    def solve(
        self,
        options: Any,
        *,
        start: Model | None = None,
        rows: Array | None = None,
        cov_scale: float | None = None,
        report: Callable[[Any], bool | None] | None = None,
        expect_trivial: bool = False,
    ) -> Model:
        """One fit. Warns where the optimum was not reached, or unexpectedly is the trivial classifier."""
        start_w, start_b = None, 0.0
        if start is not None:
            if start.n_features_in_ != self.data.shape[1]:
                raise ValueError(f"start: {start.n_features_in_} features, but X has {self.data.shape[1]}")
            start_w, start_b = np.ascontiguousarray(start.coef_[0]), float(start.intercept_[0])
        result = _core.solve(self.core(rows, cov_scale), options, report, start_w, start_b)
        _warn_if_unfinished(result, options)
        if result.stop == "converged" and not result.w.any() and not expect_trivial:
            _warn_of_trivial(result, options)
        names = ("iteration", "objective", "gap", "seconds", "passes")
        return Model(
            coef_=result.w[np.newaxis, :],
            intercept_=np.array([result.b]),
            classes_=self.classes,
            lam=options.lam,
            objective_=result.objective,
            gap_=result.gap,
            n_iter_=result.iterations,
            history_=[{name: getattr(p, name) for name in names} for p in result.history],
        )

    def fit_platt(self, model: Model) -> None:
        """Platt's sigmoid from the training scores, with weights as given: 2 counts like an example twice."""
        scores = model.decision_function(self.data)
        model.platt_ = _core.fit_platt(scores, self.signs, self.given_weights)


def path(
    X: Any,
    y: Any,
    cov: Any = None,
    lams: Any = None,
    *,
    std: Any = None,
    sample_weight: Any = None,
    cov_scale: float = 1.0,
    deployment_cov: Any = None,
    probability: bool = False,
    tol: float = 1e-6,
    fit_intercept: bool = True,
    max_iter: int = 500,
    threads: int | None = None,
    verbose: bool = False,
) -> list[Model]:
    """The models along a path of λ, each started from its neighbour.

    Parameters
    ----------
    X, y, cov, std, sample_weight, cov_scale, deployment_cov
        As in `svmgsu.train`.
    probability, tol, fit_intercept, max_iter, threads
        As in `svmgsu.train`.
    lams : array, optional
        The values of λ; by default ten from 10 down to 1e-4.
    verbose : bool, default=False
        Show progress over the path.

    Returns
    -------
    list of Model
        In the order of `lams`. The fits run from the largest λ to the smallest.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    >>> [round(m.coef_.item(), 2) for m in svmgsu.path(X, y, std=0.5, lams=[1.0, 0.1])]
    [0.6, 1.13]
    """
    problem = Problem(
        X, y, cov, std=std, sample_weight=sample_weight, cov_scale=cov_scale, deployment_cov=deployment_cov
    )
    grid = check_lams(lams)
    options = make_options(
        len(problem), tol=tol, fit_intercept=fit_intercept, max_iter=max_iter, threads=threads
    )
    models = follow_path(problem, grid, options, progress=counter(verbose, len(grid), "svmgsu path"))
    if probability:
        for model in models:
            problem.fit_platt(model)
    return models


def follow_path(
    problem: Problem,
    lams: FloatArray,
    options: Any,
    *,
    rows: Array | None = None,
    cov_scale: float | None = None,
    progress: Callable[[], None] = lambda: None,
) -> list[Model]:
    """The models at `lams`, in that order; each fit starts from the next larger λ.

    That the first of them are trivial (w = 0) is what a path is for, so nothing is said about it.
    """
    models: dict[int, Model] = {}
    start = None
    for index in np.argsort(-lams, kind="stable"):
        options.lam = float(lams[index])
        start = problem.solve(options, start=start, rows=rows, cov_scale=cov_scale, expect_trivial=True)
        models[int(index)] = start
        progress()
    return [models[k] for k in range(len(lams))]


def check_lams(lams: Any) -> FloatArray:
    """The values of λ to try."""
    if lams is None:
        return np.logspace(1, -4, 10)
    grid = np.atleast_1d(as_float_array(lams, "lams", (0, 1))).astype(np.float64)
    if not len(grid):
        raise ValueError("lams: there are none")
    for value in grid.tolist():
        check_positive(value, "lams")
    return grid


def check_scale(value: Any) -> float:
    """A factor of all covariances."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"cov_scale: expected a number, got {value!r}") from None
    if not (number >= 0 and np.isfinite(number)):
        raise ValueError(f"cov_scale: must be >= 0 and finite, got {value!r}")
    return number


def make_options(
    examples: int,
    *,
    lam: Any = 1e-2,
    solver: Any = "newton",
    fit_intercept: Any = True,
    tol: Any = 1e-6,
    max_iter: Any = 500,
    max_time: Any = None,
    T: Any = None,
    k: Any = None,
    average: Any = 0.5,
    seed: Any = 0,
    threads: Any = None,
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


def _warn_of_trivial(result: Any, options: Any) -> None:
    warnings.warn(
        f"the optimum is the trivial classifier w = 0 (objective {result.objective:.6g}, proven to within "
        f"{result.gap:.2g}): at lam={options.lam:g} the spread of the examples outweighs the distance of the "
        "classes. Try a smaller lam, a smaller cov_scale, or more weight for the rarer class (sample_weight)",
        TrivialModelWarning,
        stacklevel=4,
    )


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
        stacklevel=4,
    )
