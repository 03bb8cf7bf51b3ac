"""`svmgsu.dask.train`: train on a cluster, where the samples are."""

from __future__ import annotations

import hashlib
from itertools import chain, pairwise
from operator import getitem
from typing import Any

import joblib
import numpy as np

from .. import _core
from ..data.gaussians import Gaussians
from ..fit.options import NAMES, Options
from ..fit.problem import Problem, Task
from ..fit.train import begin, regression_task
from ..outofcore import shards as solver
from ..outofcore.training import DataSource
from ..support.labels import Copies, check_labels, check_weights
from ..support.losses import Task as TaskName
from ..support.types import Fitted, Lazy
from ..support.validation import Array, ArrayLike, FloatArray, is_sparse
from .rounds import Rounds, client_of, threads_here
from .shards import Shards

TIMEOUT = 600.0  # seconds


class DaskSource(DataSource):
    """Samples on the workers of a cluster."""

    def __init__(self, samples: Shards) -> None:
        self.samples = samples
        self.rounds = samples.rounds
        self.shape = (samples.count, samples.features)
        self.feature_names_in_ = samples.names
        self.cov = samples.kind

    def whole_set(self, targets: FloatArray, weights: FloatArray | None, task: TaskName, scale: float) -> Any:
        shards = self.samples.shards
        sent = targets.astype(np.int8) if task == "classification" else targets
        made = self.rounds.make(
            solver_shard,
            shards,
            [sent[shard.first : shard.last] for shard in shards],
            [None if weights is None else weights[shard.first : shard.last] for shard in shards],
            [task] * len(shards),
            [scale] * len(shards),
        )
        return solver.mapped(self.rounds.ask, made, targets, weights)

    def take(self, rows: Array) -> Gaussians:
        shards = self.samples.shards
        cuts = np.searchsorted(rows, [shard.first for shard in shards] + [self.shape[0]])
        own = [rows[a:b] - shard.first for (a, b), shard in zip(pairwise(cuts), shards, strict=True)]
        chosen = [k for k, some in enumerate(own) if len(some)]
        found = self.rounds.ask(getitem, [shards[k] for k in chosen], [own[k] for k in chosen])
        return Gaussians.concatenate(found)

    def fingerprint(self) -> str:
        """Return a fingerprint that does not depend on the number of workers: of groups of samples."""
        shards = self.samples.shards
        found = self.rounds.ask(digests_of, shards, [self.samples.group] * len(shards))
        return hashlib.sha256(repr((self.shape, list(chain(*found)))).encode()).hexdigest()

    def all_margins(self, coef: FloatArray, threads: int) -> tuple[FloatArray, FloatArray]:
        shards = self.samples.shards
        found = self.rounds.ask(margins_of, shards, [np.ascontiguousarray(coef)] * len(shards))
        mean, variance = zip(*found, strict=True)
        return np.concatenate(mean), np.concatenate(variance)


def solver_shard(data: Gaussians, targets: Lazy, weights: Lazy, task: TaskName, scale: float) -> solver.Shard:
    """Task: return a shard for the solver, with covariances times `scale`; its arrays are not copied."""
    return solver.Shard(data.scale_cov(scale), targets, weights, task, threads=threads_here())


def margins_of(data: Gaussians, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Task: return w·x and wᵀΣw of the samples of a shard."""
    return _core.margins(data.core(), coef, threads_here())


def digests_of(data: Gaussians, group: int) -> list[str]:
    """Task: return a digest of each `group` samples of a shard."""
    found = []
    for first in range(0, len(data), group):
        part = data[first : first + group]
        mean = part.mean
        numbers = (mean.data, mean.indices, mean.indptr) if is_sparse(mean) else mean
        found.append(str(joblib.hash((numbers, part.cov))))
    return found


def read_problem(
    client: object,
    timeout: float | None,
    X: ArrayLike,
    y: ArrayLike,
    cov: ArrayLike,
    options: Options,
    *,
    std: ArrayLike = None,
    y_std: ArrayLike = None,
    sample_weight: ArrayLike = None,
) -> Problem:
    """Return the problem of samples on a cluster, checked."""
    samples = Shards(Rounds(client_of(client), timeout), X, cov, std)
    weights = check_weights(samples.column(sample_weight, "sample_weight"), samples.count)
    if options.task == "regression":
        task = regression_task(samples.column(y, "y"), samples.column(y_std, "y_std"), weights)
    else:
        classes, codes = check_labels(samples.column(y, "y"), samples.count)
        task = Task(weights, Copies(samples.count), classes, codes)
    return Problem(DaskSource(samples), task, options)


def train(
    client: Lazy,
    X: ArrayLike,
    y: ArrayLike,
    cov: ArrayLike = None,
    *,
    std: ArrayLike = None,
    y_std: ArrayLike = None,
    sample_weight: ArrayLike = None,
    timeout: float | None = TIMEOUT,
    start: Fitted = None,
    **options: Lazy,
) -> Fitted:
    """Train a linear classifier or regression on a cluster.

    Two classes, and several with multi_class="ovr", have the same bits as `svmgsu.train` on the same samples;
    pairs of classes and held-out probabilities equal it to the proven tolerance.

    Parameters
    ----------
    client : distributed.Client or None
        The cluster; None takes the current client.
    X : Dask array or data frame of shape (l, n)
        The samples. Columns of values and uncertainties of a data frame are paired by their names, unless
        `cov` or `std` is given.
    y : Dask array or series, or array of shape (l,)
        Labels, or targets of a regression; they come to the client.
    cov, std : Dask array or data frame, optional
        Uncertainty of X, in rows as X: see `svmgsu.train`.
    y_std : float, Dask array or array of shape (l,), optional
        Standard errors of the targets.
    sample_weight : Dask array or array of shape (l,), optional
        Relative weights.
    timeout : float, default=600
        Seconds to wait for the responses of a round. None waits for ever.
    start : Model, RegressionModel or path, optional
        A model to start from, or a checkpoint on the client's machine, as in `svmgsu.train` of blocks: a
        training with any number of workers starts from it.
    **options
        As in `svmgsu.train`.

    Returns
    -------
    Model or RegressionModel
        The model, on the client.

    Raises
    ------
    ShardLostError
        Samples were lost with a worker and cannot be made again.
    TimeoutError
        A worker did not respond in time.
    """
    for name in options:
        if name not in NAMES:
            raise TypeError(f"{name}: there is no such option")
    more = {"std": std, "y_std": y_std, "sample_weight": sample_weight}
    problem = read_problem(client, timeout, X, y, cov, Options(**options), **more)
    return problem.train(begin(problem, start))
