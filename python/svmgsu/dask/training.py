"""`svmgsu.dask.train`: the problems of `svmgsu.train`, whose sums are computed where the examples are."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import joblib
import numpy as np

from .. import _core
from ..data.gaussians import Gaussians
from ..data.soft_labels import Copies
from ..fit.multiclass import Classification
from ..fit.options import NAMES, Options
from ..fit.problem import Problem
from ..fit.regression import Regression, check_target_errors
from ..fit.train import begin
from ..outofcore.shards import Shard as Part
from ..outofcore.shards import mapped
from ..outofcore.training import DataSource
from ..support.labels import check_labels, check_targets, check_weights
from ..support.losses import Task
from ..support.validation import FloatArray, is_sparse
from .rounds import Rounds, Shard, client_of, threads_here
from .shards import Shards

TIMEOUT = 600.0  # seconds without an answer of a round


class DaskSource(DataSource):
    """Examples on the workers of a cluster."""

    def __init__(self, held: Shards) -> None:
        self.held, self.rounds = held, held.rounds
        self.shape, self.feature_names_in_ = (held.count, held.features), held.names
        self.cov = held.kind

    def whole_set(self, targets: FloatArray, weights: FloatArray | None, task: Task, scale: float) -> Any:
        signs = targets.astype(np.int8) if task == "classification" else targets
        shards = self.held.shards
        rows = [slice(shard.first, shard.last) for shard in shards]
        made = self.rounds.make(
            part_of,
            shards,
            [signs[own] for own in rows],
            [None if weights is None else weights[own] for own in rows],
            [task] * len(rows),
            [scale] * len(rows),
        )
        return mapped(DaskMap(self.rounds), made, targets, weights)

    def fingerprint(self) -> str:
        """By groups of rows, which are the same for any number of workers."""
        shards = self.held.shards
        found = self.rounds.ask(digests_of, shards, [self.held.group] * len(shards))
        return hashlib.sha256(repr((self.shape, list(chain(*found)))).encode()).hexdigest()

    def all_margins(self, coef: FloatArray, threads: int) -> tuple[FloatArray, FloatArray]:
        shards = self.held.shards
        found = self.rounds.ask(margins_of, shards, [np.ascontiguousarray(coef)] * len(shards))
        mean, variance = zip(*found, strict=True)
        return np.concatenate(mean), np.concatenate(variance)


class DaskMap:
    """What the mapped engine calls: one task per shard."""

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds

    def __call__(
        self, task: Callable[..., bytes], shards: Iterable[Shard], requests: Iterable[bytes]
    ) -> list[bytes]:
        return self.rounds.ask(task, list(shards), list(requests))


def margins_of(data: Gaussians, coef: FloatArray) -> tuple[FloatArray, FloatArray]:
    """w·x and wᵀΣw of a shard."""
    return _core.margins(data.core(), coef, threads_here())


def digests_of(data: Gaussians, group: int) -> list[str]:
    """A digest of each `group` rows of a shard."""
    parts = (data[first : first + group] for first in range(0, len(data), group))
    return [str(joblib.hash((_numbers(part.mean), part.cov))) for part in parts]


def _numbers(mean: Any) -> Any:
    return (mean.data, mean.indices, mean.indptr) if is_sparse(mean) else mean


def part_of(
    data: Gaussians,
    targets: Any,
    weights: Any,
    task: Task,
    scale: float,
) -> Part:
    """Return a shard for the solver, with covariances times `scale`; its arrays are not copied."""
    return Part(data.scale_cov(scale), targets, weights, task, threads=threads_here(), keeps=True)


def problem_of(
    client: Any,
    timeout: float | None,
    X: Any,
    y: Any,
    cov: Any,
    options: Options,
    *,
    std: Any = None,
    y_std: Any = None,
    sample_weight: Any = None,
) -> Problem:
    """Return the problem of samples on a cluster."""
    if options.searches:
        raise ValueError('lam: "auto" and arrays are for samples in memory; give a number')
    held = Shards(Rounds(client_of(client), timeout), X, cov, std)
    weights = check_weights(held.column(sample_weight, "sample_weight"), held.count)
    if options.task == "regression":
        targets = check_targets(held.column(y, "y"), held.count)
        errors = check_target_errors(held.column(y_std, "y_std"), held.count)
        return Problem(DaskSource(held), Regression(targets, errors, weights, options), options)
    classes, codes = check_labels(held.column(y, "y"), held.count)
    small = codes.astype(np.int8 if len(classes) < 128 else np.int32)
    task = Classification(classes, small, Copies(held.count), weights, options)
    return Problem(DaskSource(held), task, options)


def train(
    client: Any,
    X: Any,
    y: Any,
    cov: Any = None,
    *,
    std: Any = None,
    y_std: Any = None,
    sample_weight: Any = None,
    timeout: float | None = TIMEOUT,
    start: Any = None,
    **options: Any,
) -> Any:
    """Train a linear classifier or regression on a cluster.

    Two classes, and several with multi_class="ovr", have the same bits as `svmgsu.train` on the same samples;
    pairs of classes and held-out probabilities equal it to the proven tolerance.

    Parameters
    ----------
    client : distributed.Client, or None for the one that is there
    X : Dask array or data frame of shape (l, n)
        Of a data frame, columns of values and errors are paired by their names, unless `cov` or `std` is
        given.
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

    Raises
    ------
    ShardLostError
        Samples were lost with a worker and cannot be made again.
    TimeoutError
        A worker did not answer in time.
    """
    for name in options:
        if name not in NAMES:
            raise TypeError(f"{name}: there is no such option")
    chosen = Options(**options)
    problem = problem_of(
        client, timeout, X, y, cov, chosen, std=std, y_std=y_std, sample_weight=sample_weight
    )
    return problem.train(begin(problem, start))
