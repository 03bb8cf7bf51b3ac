"""`svmgsu.train`: from arrays to a trained model in one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..data.gaussians import as_gaussians
from ..outofcore.blocks import Blocks
from ..outofcore.training import DataSource, labels_of_blocks, source_of
from ..support.labels import Copies, check_targets, check_weights, has_soft_labels, read_labels
from ..support.types import Fitted
from ..support.validation import ArrayLike, FloatArray, check_finite, check_row_order
from .options import DEFAULT_LAM, Options
from .problem import Memory, Problem, Task


def train(
    X: ArrayLike,
    y: ArrayLike = None,
    cov: ArrayLike = None,
    *,
    std: ArrayLike = None,
    y_std: ArrayLike = None,
    sample_weight: ArrayLike = None,
    groups: ArrayLike = None,
    lam: float | str | Sequence[float] = DEFAULT_LAM,
    loss: str | tuple[str, float] = "hinge",
    class_weight: object = None,
    probability: bool | str = True,
    tol: float = 1e-6,
    max_time: float | None = None,
    start: Fitted = None,
    threads: int | None = None,
    verbose: bool | Callable[[Any], bool | None] = False,
) -> Fitted:
    """Train a linear classifier or regression on uncertain samples.

    Minimise λ/2 ‖w‖² + (1/l) Σ E ℓ(w·X + b, y) over X ~ N(x, Σ): exact, convex, and with a proof of how close
    to the optimum it ends. The loss decides between classification and regression.

    Parameters
    ----------
    X : array, SciPy sparse matrix, DataFrame, Gaussians or Blocks of shape (l, n)
        The samples' means, or means and covariances together; in memory or, as `svmgsu.open` gives them, in
        files that are read block by block.
    y : array of shape (l,), or (l, K) for soft labels
        For a classifier the labels, numbers or strings, of two or more classes. Of more than two each pair is
        trained, and probabilities are coupled (`LinearSVMGSU` has one against the rest, too). Soft labels are
        the probabilities of the classes, whose rows sum to 1: a DataFrame or a dict names their columns, else
        the classes are 0, 1, ... Such a sample counts for each class with that weight, exactly. For a
        regression the targets. By default what blocks have.
    cov : array or covariance kind, optional
        Uncertainty of X: a number or (l,) variances for isotropic, (l, n) for diagonal, (l, n, n) for
        full covariances, or `svmgsu.Isotropic`, `Diagonal`, `Full`, `LowRank`, `Shared` and their sums.
    std : array, optional
        Standard errors instead of `cov`: a number, (l,) or (l, n).
    y_std : float or array of shape (l,), optional
        Standard errors of the targets of a regression, > 0. With the squared loss they make a likelihood: a
        target has the weight 1/(τ² + e²), and the scatter τ of the relation itself is estimated with it.
        With other losses the weight is 1/e.
    sample_weight : array of shape (l,), optional
        Relative weights: a common factor changes nothing. A weight of 2 is the same as having a sample twice.
    groups : array of shape (l,), optional
        Samples that belong together, such as those of one patient: probabilities, and a search for λ, are
        made with models that have seen none of the group.
    lam : float, array or "auto", default=1e-2
        The weight λ of the penalty λ/2 ‖w‖²: λ = 1/(Cl) for the C of other libraries' SVMs, and
        scikit-learn's `Ridge(alpha)` / l for the squared loss. Of several values that with the best score on
        held-out samples is taken; "auto" tries ten from 10 down to 1e-4.
    loss : str or (str, float), default="hinge"
        For classification, with labels ±1 and f = w·X + b: "hinge", max(0, 1 - yf); "squared_hinge", its
        square; "logistic", log(1 + exp(-yf)), which has probabilities of its own. For regression, with
        D = y - f: "squared", D²/2; "epsilon_insensitive", max(0, |D| - ε) with ε = 0.1;
        "squared_epsilon_insensitive", its square; "huber", a square up to ε = 1.35, then a line. A pair sets
        ε in the unit of y, such as ("huber", 2.0).
    class_weight : dict or "balanced", optional
        Factors of the weights of each class's samples; "balanced" gives all classes the same sum. They say
        what mistakes cost: they turn the hyperplanes and `predict`, not the probabilities.
    probability : {True, "cv", "train", False}, default=True
        Whether to fit probabilities, and to what. "cv" fits them to the scores of samples held out in five
        folds (fewer where a class is small). "train" fits them to the training scores, as in the paper:
        faster and overconfident. True means "cv", but for loss="logistic" the model's own probabilities.
        With covariances the fit learns how much uncertainties matter: see `Model.predict_proba`.
    tol : float, default=1e-6
        The solver stops when the proven gap is at most `tol` times the objective.
    max_time : float, optional
        Seconds for everything: search, all classes, folds and calibration. The best point so far is kept, and
        a `ConvergenceWarning` tells what could not be done in time.
    start : Model, RegressionModel or path, optional
        A model to start from. For blocks it may be the path of a checkpoint: a small file that holds the best
        point so far, written every few seconds. If it exists, training starts from there; a checkpoint of
        other data is refused.
    threads : int, optional
        By default all that OpenMP offers (OMP_NUM_THREADS, threadpoolctl). The result has the same bits for
        any number.
    verbose : bool or function, default=False
        Print progress. A function is called between iterations with
        `.iteration, .objective, .gap, .seconds, .passes`, and stops training by returning False; for several
        classes from several threads.

    Returns
    -------
    Model or RegressionModel

    Notes
    -----
    **What noise of the inputs does to a regression.** The expected loss asks for a hyperplane that is good
    for every X that the sample might be, as if the noise came *on top of* x. With the squared loss that adds
    wᵀΣw/2 for each sample, and w shrinks. That is right if the model will be used on inputs with such noise.
    If x was measured with this noise and the target belongs to the *true* value, x is scattered already, and
    the covariance would shrink w a second time. Then shrink each sample to its posterior first:
    `svmgsu.uncertainty.posterior`.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X, y = np.array([[-2.0, 0.1], [-1.0, -0.2], [1.0, 0.3], [2.0, -0.1]]), [0, 0, 1, 1]
    >>> model = svmgsu.train(X, y, std=0.3, lam=0.1)
    >>> model.predict([[1.5, 0.0]])
    array([1])

    A regression with errors of its targets:

    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> targets, errors = [0.1, 0.9, 2.1, 2.9], [0.1, 0.1, 0.1, 0.5]
    >>> model = svmgsu.train(X, targets, y_std=errors, loss="squared", lam=1e-6)
    >>> model.predict([[1.5]]).round(1).tolist()
    [1.5]

    A path of λ, each model started from the one before:

    >>> path = [None]
    >>> for lam in (1.0, 0.1):
    ...     path.append(svmgsu.train(X, targets, loss="squared", lam=lam, start=path[-1]))
    >>> [round(model.coef_.item(), 2) for model in path[1:]]
    [0.53, 0.89]
    """
    options = Options(
        lam=lam,
        loss=loss,
        class_weight=class_weight,
        probability=probability,
        tol=tol,
        max_time=max_time,
        threads=threads,
        verbose=verbose,
    )
    problem = read_problem(X, y, cov, options, std=std, y_std=y_std, sample_weight=sample_weight)
    return problem.train(start if start is None else begin(problem, start), groups)


def read_problem(
    X: ArrayLike,
    y: ArrayLike,
    cov: ArrayLike,
    options: Options,
    *,
    std: ArrayLike = None,
    y_std: ArrayLike = None,
    sample_weight: ArrayLike = None,
) -> Problem:
    """Return the problem of samples in memory or in blocks, checked."""
    blocks = X if isinstance(X, Blocks) else None
    if blocks is not None:
        blocks.refuse_beside(cov=cov, std=std)
        if options.solver != "newton":
            raise ValueError("X: stochastic gradient descent takes samples in memory, not blocks")
        count = len(blocks)
        own = blocks.numbers("weight") if sample_weight is None else sample_weight
        # Ones that take no memory.
        weights = np.broadcast_to(np.float64(1.0), count) if own is None else check_weights(own, count)
    else:
        if hasattr(X, "columns"):
            check_row_order(X, y=y, y_std=y_std, sample_weight=sample_weight)
        data = as_gaussians(X, cov, std)
        count = data.shape[0]
        weights = check_weights(sample_weight, count)
    source: Memory | DataSource
    if options.task == "regression":
        if blocks is not None and y is None:
            y = blocks.labels()
            y_std = blocks.numbers("y_std") if y_std is None else y_std
        source = Memory(data) if blocks is None else source_of(blocks)
        return Problem(source, regression_task(y, y_std, weights), options)
    if y_std is not None:
        raise ValueError('y_std: the loss is for classification; for a regression pass loss="squared"')
    if blocks is not None and y is None and blocks.classes is not None:
        soft = blocks.labels()
        y = {label: soft[:, k] for k, label in enumerate(blocks.classes.tolist())}
    if blocks is None or (y is not None and has_soft_labels(y)):
        classes, codes, copies = read_labels(y, count)
    else:
        classes, codes = labels_of_blocks(blocks, y)
        copies = Copies(count)
    if blocks is not None:
        source = source_of(blocks if copies.source is None else blocks.repeat(copies.source))
    elif copies.source is not None:
        check_soft_labels(copies, data)
        source = Memory(data, repeat=copies.source)
    else:
        source = Memory(data, classes[codes])
    return Problem(source, Task(copies.weights(weights), copies, classes, codes), options)


def regression_task(y: ArrayLike, y_std: ArrayLike, weights: FloatArray) -> Task:
    """Return the task of targets with their errors, checked."""
    count = len(weights)
    targets = check_targets(y, count)
    return Task(weights, Copies(count), targets=targets, errors=check_target_errors(y_std, count))


def check_target_errors(y_std: ArrayLike, samples: int) -> FloatArray | None:
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


def check_soft_labels(copies: Copies, data: Any) -> None:
    """Refuse soft labels where the covariances depend on the label."""
    if copies.source is not None and data.cov is not None and data.cov.needs_classes:
        raise ValueError("y: soft labels do not go with a covariance for each class; give labels")


def begin(problem: Problem, start: Fitted) -> Fitted:
    """Return what to start from; of a path, the points of a checkpoint, which is kept there."""
    if not isinstance(start, (str, os.PathLike)):
        return start
    if isinstance(problem.source, Memory):
        raise ValueError("start: a checkpoint is for blocks of svmgsu.open; pass a model to start from")
    from .checkpoint import Checkpoint

    task = "regression" if problem.scheme is None else "classification"
    fingerprint = f"{problem.source.fingerprint()} {task}"
    count = 1 if problem.scheme is None else problem.scheme.count
    problem.source.checkpoint = Checkpoint(start, fingerprint, (count, problem.source.shape[1]))
    return problem.source.checkpoint.points.copy()
