"""`svmgsu.train`: from arrays to a trained model in one call."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from ..data.definiteness import Psd
from ..models.classifier import Model
from ..support.losses import check_bounded_slope, check_loss
from ..support.parallel import Team
from ..support.progress import ProgressBar, counter
from ..support.validation import Array, FloatArray, as_float_array, check_count, check_positive, check_prior
from .held_out import calibrate, check_probability
from .problem import ConvergenceWarning, Problem, TrivialModelWarning, check_scale

__all__ = [
    "ConvergenceWarning",
    "Problem",
    "TrivialModelWarning",
    "check_lams",
    "check_scale",
    "follow_path",
    "make_options",
    "path",
    "train",
]

SOLVERS = ("newton", "sgd")


def train(
    X: Any,
    y: Any,
    cov: Any = None,
    *,
    std: Any = None,
    psd: Psd = "clip",
    lam: float = 1e-2,
    loss: str = "hinge",
    solver: str = "newton",
    sample_weight: Any = None,
    class_weight: Any = None,
    classes: Any = None,
    multi_class: str = "ovo",
    fit_intercept: bool = True,
    cov_scale: float = 1.0,
    deployment_cov: Any = None,
    subspace: float | None = None,
    subspace_mode: str = "truncate",
    probability: bool | str = True,
    prior: Any = None,
    groups: Any = None,
    cv: Any = None,
    tol: float = 1e-6,
    max_iter: int = 500,
    max_time: float | None = None,
    T: int | None = None,
    k: int | None = None,
    average: float = 0.5,
    seed: int = 0,
    threads: int | None = None,
    n_jobs: int | None = None,
    start: Model | None = None,
    callback: Callable[[Any], bool | None] | None = None,
    verbose: bool = False,
) -> Model:
    """Trains a linear classifier on uncertain examples.

    Parameters
    ----------
    X : array, SciPy sparse matrix or Gaussians of shape (l, n)
        The examples' means, or means and covariances together.
    y : array of shape (l,) or (l, K)
        Labels of two or more classes, numbers or strings. Of more than two each pair is trained, in
        parallel, on the same arrays: see `multi_class`. Where labels are in doubt: the probabilities of the
        classes, whose rows sum to 1. An example then counts for each class with that weight, exactly.
    cov : array or covariance kind, optional
        Uncertainty of X: a number or (l,) variances for isotropic, (l, n) for diagonal, (l, n, n) for
        full covariances, or `svmgsu.Isotropic`, `Diagonal`, `Full`, `LowRank`, `Shared` and their sums.
    std : array, optional
        Error bars instead of `cov`: a number, (l,) or (l, n) standard deviations.
    psd : {"clip", "strict"}
        Of matrices given as a plain array: as for `Full`.
    lam : float, default=1e-2
        The weight λ of the penalty λ/2 ‖w‖²: λ = 1/(Cℓ) for the C of other libraries' SVMs.
    loss : {"hinge", "squared_hinge", "logistic"}
        Of a draw X ~ N(x, Σ) with label ±1, f = w·X + b: the expectation of max(0, 1 - yf), of its square, or
        of log(1 + exp(-yf)) is minimised, each exactly. "logistic" has probabilities of its own.
    solver : {"newton", "sgd"}
        "newton" is exact: it stops when a proven bound says that the objective is within `tol` of the
        optimum. "sgd" is the paper's stochastic algorithm, corrected; not for the squared hinge.
    sample_weight : array of shape (l,), optional
        Scaled to mean 1, so that a weight of 2 is the same as having an example twice.
    class_weight : dict or "balanced", optional
        Factors of the weights of each class's examples; "balanced" gives all classes the same sum, and with
        multi_class="ovr" each class the same as the rest of its problem. They say what mistakes cost: they
        turn the planes and `predict`, not the probabilities.
    classes : array of shape (K,), optional
        Of class probabilities: the classes that the columns of y are of; by default the names of its columns,
        or 0, 1, ...
    multi_class : {"ovo", "ovr"}
        How more than two classes become problems of two: "ovo", one for each pair of classes, trained on
        their examples, with coupled probabilities (`Model.predict_proba`); "ovr", one for each class against
        the rest, which with strong uncertainty is often the trivial one.
    fit_intercept : bool, default=True
    cov_scale : float, default=1.0
        A factor of all covariances in training, `deployment_cov` too; 0 is the ordinary SVM.
    deployment_cov : array or covariance kind, optional
        Noise that exists only where the model will be used, added to every example: (n,) variances or an
        (n, n) matrix for all, or a pool of covariances, (k, n) or (k, n, n) or a kind, of which each
        example draws one at random (by `seed`). A pool of n variances is `svmgsu.Diagonal(pool)`.
    subspace : float in (0, 1], optional
        Keep only the leading eigenvectors of each covariance, up to this fraction of its variance.
    subspace_mode : {"truncate", "project"}
        See `Gaussians.subspace`; "project" is the paper's.
    probability : {True, "cv", "train", False}, default=True
        Whether to fit probabilities, and to what. True takes the model's own where loss="logistic" (nothing
        is fitted: see `Model.predict_proba`), and means "cv" else. "cv" fits them to the scores of
        examples held out in five folds (fewer where a class is small), each solved to `tol` or 1e-3 from
        the full model on. "train" fits them to the training scores, as in the paper: faster and too sure.
        With covariances the fit learns how much error bars matter: see `Model.predict_proba`.
    prior : array of shape (K,) or dict, optional
        The shares of the classes where the model will be used, if they are not those of y (by
        `sample_weight`).
    groups : array of shape (l,), optional
        Examples that belong together, such as those of one patient: probabilities are fitted to scores of
        models that have seen none of the group.
    cv : int, splitter or list, optional
        The folds for the probabilities: their number, a splitter of scikit-learn (which gets `groups`), or
        a list of (training rows, held-out rows).
    tol : float, default=1e-6
        Newton stops when gap <= tol * objective.
    max_iter : int, default=500
        Newton's iterations at the most.
    max_time : float, optional
        Seconds at the most, of all classes together; the best point so far is kept.
    T, k : int, optional
        sgd: the number of steps and the size of a minibatch. By default k = min(l, 100) and T is 20
        readings of the data, at least 1000.
    average : float in [0, 1], default=0.5
        sgd: the last share of the steps that is averaged; 0 returns the last step.
    seed : int, default=0
        sgd, and draws from a pool of `deployment_cov`: the same seed gives the same model, for any number
        of threads.
    threads : int, optional
        By default all that OpenMP offers (OMP_NUM_THREADS, threadpoolctl).
    n_jobs : int, optional
        Fits at a time, of several classes and of folds; they share the threads. By default as many as
        there are threads. The result has the same bits for any number.
    start : Model, optional
        newton: a model to start from.
    callback : function of one argument, optional
        Called between iterations with `.iteration, .objective, .gap, .seconds, .passes`; training
        stops when it returns False. Of several classes each calls it, from threads of their own.
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
    began = time.monotonic()
    how = check_probability(probability, loss)
    problem = Problem(
        X,
        y,
        cov,
        std=std,
        psd=psd,
        sample_weight=sample_weight,
        class_weight=class_weight,
        classes=classes,
        multi_class=multi_class,
        subspace=subspace,
        subspace_mode=subspace_mode,
        cov_scale=cov_scale,
        deployment_cov=deployment_cov,
        seed=seed,
    )
    shares = None if prior is None else check_prior(prior, problem.classes)
    options = make_options(
        len(problem),
        lam=lam,
        loss=loss,
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
    team = Team(threads, n_jobs)
    with ProgressBar(verbose, options, callback) as report:
        model = problem.solve(options, start=start, report=report, team=team)
    model.prior_ = shares
    if how:
        how = "train" if problem.interrupted and how == "cv" else how
        deadline = began + options.max_seconds
        calibrate(
            problem, model, how, options, team, groups=groups, cv=cv, deadline=deadline, verbose=verbose
        )
    return model


def path(
    X: Any,
    y: Any,
    cov: Any = None,
    lams: Any = None,
    *,
    std: Any = None,
    loss: str = "hinge",
    sample_weight: Any = None,
    class_weight: Any = None,
    classes: Any = None,
    multi_class: str = "ovo",
    cov_scale: float = 1.0,
    deployment_cov: Any = None,
    probability: bool | str = False,
    tol: float = 1e-6,
    fit_intercept: bool = True,
    max_iter: int = 500,
    threads: int | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> list[Model]:
    """The models along a path of λ, each started from its neighbour.

    Parameters
    ----------
    X, y, cov, std, loss, sample_weight, class_weight, classes, multi_class, cov_scale, deployment_cov
        As in `svmgsu.train`.
    probability, tol, fit_intercept, max_iter, threads, n_jobs
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
    how = check_probability(probability, loss)
    problem = Problem(
        X,
        y,
        cov,
        std=std,
        sample_weight=sample_weight,
        class_weight=class_weight,
        classes=classes,
        multi_class=multi_class,
        cov_scale=cov_scale,
        deployment_cov=deployment_cov,
    )
    grid = check_lams(lams)
    options = make_options(
        len(problem), loss=loss, tol=tol, fit_intercept=fit_intercept, max_iter=max_iter, threads=threads
    )
    team = Team(threads, n_jobs)
    progress = counter(verbose, len(grid), "svmgsu path")
    models = follow_path(problem, grid, options, team=team, progress=progress)
    if how:
        for model in models:
            options.lam = model.lam
            calibrate(problem, model, how, options, team)
    return models


def follow_path(
    problem: Any,
    lams: FloatArray,
    options: Any,
    *,
    rows: Array | None = None,
    cov_scale: float | None = None,
    team: Team | None = None,
    report: Callable[[Any], bool | None] | None = None,
    progress: Callable[[], None] = lambda: None,
) -> list[Any]:
    """The models at `lams`, in that order; each fit starts from the next larger λ.

    That the first of them are trivial (w = 0) is what a path is for, so nothing is said about it.
    """
    models: dict[int, Any] = {}
    start = None
    for index in np.argsort(-lams, kind="stable"):
        options.lam = float(lams[index])
        start = problem.solve(
            options,
            start=start,
            rows=rows,
            cov_scale=cov_scale,
            report=report,
            team=team,
            expect_trivial=True,
        )
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


def make_options(
    examples: int,
    *,
    lam: Any = 1e-2,
    loss: Any = "hinge",
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
    options.loss = check_loss(loss)
    if solver == "sgd":
        check_bounded_slope(options.loss, 'solver="sgd"')
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
