"""`svmgsu.train`: from arrays to a trained model in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..data.covariances import Psd
from ..models.classifier import Model
from .beyond import keep_checkpoint
from .problem import problem_of
from .settings import Settings, documented


@documented
def train(
    X: Any,
    y: Any = None,
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
    checkpoint: Any = None,
    resume: bool = False,
    verbose: bool = False,
) -> Model:
    """Trains a linear classifier on uncertain examples.

    Parameters
    ----------
    X : array, SciPy sparse matrix, Gaussians or Blocks of shape (l, n)
        The examples' means, or means and covariances together; in memory or, as `svmgsu.open` gives them, in
        files that are read block by block.
    y : array of shape (l,) or (l, K)
        Labels of two or more classes, numbers or strings; by default those that blocks have. Of more than
        two each pair is trained, in parallel, on the same arrays: see `multi_class`. Where labels are in
        doubt: the probabilities of the classes, whose rows sum to 1. An example then counts for each class
        with that weight, exactly.
    cov : array or covariance kind, optional
        Uncertainty of X: a number or (l,) variances for isotropic, (l, n) for diagonal, (l, n, n) for
        full covariances, or `svmgsu.Isotropic`, `Diagonal`, `Full`, `LowRank`, `Shared` and their sums.
    std : array, optional
        Error bars instead of `cov`: a number, (l,) or (l, n) standard deviations.
    sample_weight : array of shape (l,), optional
        Relative: a common factor changes nothing. A weight of 2 is the same as having an example twice.
    classes : array of shape (K,), optional
        Of class probabilities: the classes that the columns of y are of; by default the names of its columns,
        or 0, 1, ...
    groups : array of shape (l,), optional
        Examples that belong together, such as those of one patient: probabilities are fitted to scores of
        models that have seen none of the group.
    start : Model, optional
        newton: a model to start from.
    callback : function of one argument, optional
        Called between iterations with `.iteration, .objective, .gap, .seconds, .passes`; training
        stops when it returns False. Of several classes each calls it, from threads of their own.
    checkpoint : path, optional
        For blocks: a small file that holds the best point so far, written every few seconds.
    resume : bool, default=False
        Start from the checkpoint, if the file exists, and train to the same proven tolerance. A checkpoint
        of other data is refused.
    {settings}

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
    settings = Settings.of(locals())
    problem = problem_of(X, y, cov, settings, std=std, sample_weight=sample_weight, classes=classes)
    keep_checkpoint(problem, checkpoint, resume)
    return problem.train(start, callback, groups=groups)


@documented
def path(
    X: Any,
    y: Any = None,
    cov: Any = None,
    lams: Any = None,
    *,
    std: Any = None,
    psd: Psd = "clip",
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
    X, y, cov, std, sample_weight, classes
        As in `svmgsu.train`.
    lams : array, optional
        The values of λ; by default ten from 10 down to 1e-4.
    {settings}

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
    settings = Settings.of(locals())
    problem = problem_of(X, y, cov, settings, std=std, sample_weight=sample_weight, classes=classes)
    return problem.path(lams)
