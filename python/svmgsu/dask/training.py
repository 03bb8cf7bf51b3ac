"""`svmgsu.dask.train`: the problems of `svmgsu.train`, whose sums are computed where the examples are."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import joblib
import numpy as np

from .. import _core
from ..data.covariances import Covariance
from ..data.gaussians import Gaussians
from ..fit import classification, regression
from ..fit.beyond import keep_checkpoint
from ..fit.problem import BeyondProblem
from ..fit.regression import BeyondRegression, check_target_errors
from ..fit.settings import Settings
from ..models.classifier import Model
from ..models.regressor import RegressionModel
from ..outofcore.shards import Shard as Part
from ..outofcore.shards import mapped
from ..outofcore.training import DataSource, Noise
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

    def training_set(
        self, targets: FloatArray, weights: FloatArray | None, task: Task, scale: float, noise: Noise | None
    ) -> Any:
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
            [None if noise is None else noise.rows(own) for own in rows],
        )
        return mapped(DaskMap(self.rounds), made, targets, weights)

    def fingerprint(self) -> str:
        """By groups of rows, which are the same for any number of workers."""
        shards = self.held.shards
        found = self.rounds.ask(digests_of, shards, [self.held.group] * len(shards))
        return hashlib.sha256(repr((self.shape, list(chain(*found)))).encode()).hexdigest()

    def margins(self, coef: FloatArray, threads: int) -> tuple[FloatArray, FloatArray]:
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
    noise: Covariance | None,
) -> Part:
    """A shard as the engine wants it: covariances times `scale`, with `noise`; its arrays are not copied."""
    if noise is not None:
        data = data.with_more_cov(noise)
    return Part(data.scale_cov(scale), targets, weights, task, threads=threads_here(), keeps=True)


def held_shards(client: Any, timeout: float | None, X: Any, cov: Any, std: Any, psd: Any) -> Shards:
    """The examples, on the workers."""
    return Shards(Rounds(client_of(client), timeout), X, cov, std)


def problem_of(
    client: Any, timeout: float | None, X: Any, y: Any, cov: Any, std: Any, weights: Any, settings: Settings
) -> BeyondProblem:
    """The problem of a classifier."""
    held = held_shards(client, timeout, X, cov, std, settings.psd)
    classes, codes = check_labels(held.column(y, "y"), held.count)
    small = codes.astype(np.int8 if len(classes) < 128 else np.int32)
    known = check_weights(held.column(weights, "sample_weight"), held.count)
    return BeyondProblem(DaskSource(held), classes, small, known, settings)


def regression_of(
    client: Any,
    timeout: float | None,
    X: Any,
    y: Any,
    cov: Any,
    std: Any,
    y_std: Any,
    weights: Any,
    settings: Settings,
) -> BeyondRegression:
    """The problem of a regression."""
    held = held_shards(client, timeout, X, cov, std, settings.psd)
    targets = check_targets(held.column(y, "y"), held.count)
    errors = check_target_errors(held.column(y_std, "y_std"), held.count)
    known = check_weights(held.column(weights, "sample_weight"), held.count)
    return BeyondRegression(DaskSource(held), targets, errors, known, settings)


def train(
    client: Any,
    X: Any,
    y: Any,
    cov: Any = None,
    *,
    std: Any = None,
    sample_weight: Any = None,
    timeout: float | None = TIMEOUT,
    start: Model | None = None,
    callback: Callable[[Any], bool | None] | None = None,
    checkpoint: Any = None,
    resume: bool = False,
    **settings: Any,
) -> Model:
    """Train a linear classifier on a cluster.

    Two classes, and several with multi_class="ovr", have the same bits as `svmgsu.train` on the same samples;
    pairs of classes and held-out probabilities equal it to the proven tolerance.

    Parameters
    ----------
    client : distributed.Client, or None for the one that is there
    X : Dask array or data frame of shape (l, n)
        Of a data frame, columns of values and errors are paired by their names, unless `cov` or `std` is
        given.
    y : Dask array or series, or array of shape (l,)
        Labels; they come to the client, a byte per example.
    cov, std : Dask array or data frame, optional
        Uncertainty of X, in rows as X: see `svmgsu.train`.
    sample_weight : Dask array or array of shape (l,), optional
    timeout : float, default=600
        Seconds to wait for the answers of a round. None waits for ever.
    checkpoint, resume : optional
        As in `svmgsu.train` of blocks: a file on the client's machine, which a training with any number of
        workers starts from.
    start, callback, **settings
        As in `svmgsu.train`.

    Raises
    ------
    ShardLostError
        Examples were lost with a worker and cannot be made again.
    TimeoutError
        A worker did not answer in time.
    """
    chosen = Settings.of(_known(classification.train, settings))
    problem = problem_of(client, timeout, X, y, cov, std, sample_weight, chosen)
    keep_checkpoint(problem, checkpoint, resume)
    model: Model = problem.train(start, callback)
    return model


def train_regressor(
    client: Any,
    X: Any,
    y: Any,
    cov: Any = None,
    *,
    std: Any = None,
    y_std: Any = None,
    sample_weight: Any = None,
    timeout: float | None = TIMEOUT,
    start: RegressionModel | None = None,
    callback: Callable[[Any], bool | None] | None = None,
    checkpoint: Any = None,
    resume: bool = False,
    **settings: Any,
) -> RegressionModel:
    """Trains a linear regression on a cluster: as `train`, with targets y and their errors `y_std`.

    `client`, `X`, `cov`, `std`, `sample_weight`, `timeout`, `start`, `callback`, `checkpoint` and `resume`
    are as there; the settings are those of `svmgsu.train_regressor`.
    """
    chosen = Settings.of(
        {"loss": "squared"} | _known(regression.train_regressor, settings), task="regression"
    )
    problem = regression_of(client, timeout, X, y, cov, std, y_std, sample_weight, chosen)
    keep_checkpoint(problem, checkpoint, resume)
    model: RegressionModel = problem.train(start, callback)
    return model


def _known(door: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Refuses settings that the function in memory has not either."""
    for name in settings:
        if name not in inspect.signature(door).parameters or name in ("classes", "groups"):
            raise TypeError(f"{name}: there is no such setting")
    return settings
