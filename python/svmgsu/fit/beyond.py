"""Training on examples that are not in memory: the same problems, with sums from files or elsewhere."""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..data.coercion import as_pool, drawn
from ..data.covariances import Covariance
from ..data.doubt import Copies
from ..support.losses import Task
from ..support.parallel import Team
from ..support.validation import Array, FloatArray
from .checkpoint import Checkpoint, Start
from .examples import Examples
from .settings import Settings, changed_options


@dataclass
class Noise:
    """A covariance for all of some examples, or a pool of them and which each example has."""

    pool: Covariance
    features: int
    group: Array | None = None

    @classmethod
    def of(cls, settings: Settings, shape: tuple[int, int]) -> Noise:
        """What exists only where the model will be used, for `shape` examples and features."""
        pool = as_pool(settings.deployment_cov, shape[1], settings.psd)
        if pool.needs_classes:
            raise ValueError("deployment_cov: one covariance per class goes with examples in memory")
        drawing = pool.n_examples is not None
        return cls(pool, shape[1], drawn(pool, shape[0], settings.seed).astype(np.int32) if drawing else None)

    def rows(self, rows: slice) -> Covariance:
        """The covariance of some examples, in memory."""
        return self.pool if self.group is None else self.pool.take(self.group[rows])

    @property
    def packed(self) -> FloatArray:
        """(k, n) variances or (k, n(n+1)/2) packed matrices, for all or for each group."""
        count = 1 if self.group is None else self.pool.n_examples or 1
        if self.pool.is_diagonal:
            return np.ascontiguousarray(self.pool.diagonals(count, self.features))
        return np.ascontiguousarray(self.pool.as_full(count, self.features).packed, dtype=np.float64)


class Store(ABC):
    """Examples that lie elsewhere, as training sees them."""

    shape: tuple[int, int]
    feature_names_in_: list[str] | None
    cov: Any = None  # a covariance is there, or None

    @abstractmethod
    def training_set(
        self, targets: FloatArray, weights: FloatArray | None, task: Task, scale: float, noise: Noise | None
    ) -> Any:
        """What the core solves: targets and weights of all examples, covariances times `scale`."""

    @abstractmethod
    def fingerprint(self) -> str:
        """A text that is another one if the data are."""

    def at_a_time(self, problems: int, noise: Noise | None) -> int:
        """How many of some problems there is memory for."""
        return 1

    @contextlib.contextmanager
    def together(self, problems: int) -> Iterator[Callable[[], None]]:
        """While so many problems are solved, each in a thread that calls what this gives at its end."""
        yield lambda: None

    @abstractmethod
    def margins(self, coef: FloatArray, threads: int) -> tuple[FloatArray, FloatArray]:
        """w·x_i and wᵀΣ_i w of all examples for each row w of `coef`: (l, rows of coef)."""


class BeyondExamples(Examples[Any]):
    """What problems of examples in a `Store` do otherwise; to stand before a problem among the bases."""

    store: Store
    _checkpoint: Checkpoint | None = None
    _saving = False  # whether the fit that runs is saved
    _threads: int | None = None  # of each of several fits at a time

    def _hold(self, store: Store, settings: Settings) -> None:
        """As `Examples.__init__`, for examples that are elsewhere."""
        if settings.subspace is not None:
            raise ValueError("subspace: the examples' covariances are not in memory; reduce them beforehand")
        if settings.solver != "newton":
            raise ValueError(f"solver: {settings.solver!r} takes examples in memory; blocks are for 'newton'")
        self.settings, self.store = settings, store
        self.observed = self.data = store  # type: ignore[assignment]
        self.copies = Copies(store.shape[0])
        self.interrupted = False
        self._now = threading.local()  # the problem that a thread is solving
        self._noise: Noise | None = None
        if settings.deployment_cov is not None:
            self._noise = Noise.of(settings, store.shape)

    def core_of(
        self,
        make: Callable[..., Any],
        targets: FloatArray,
        weights: FloatArray,
        rows: Array | None,
        cov_scale: float | None,
    ) -> Any:
        """Examples that are left out have the weight 0; the others' are scaled to mean 1 over all."""
        scale = self.settings.cov_scale if cov_scale is None else cov_scale
        count = self.store.shape[0]
        if rows is not None:
            some, given = targets, weights
            targets, weights = np.ones(count), np.zeros(count)
            targets[rows], weights[rows] = some, given * (count / len(rows))
        alike = bool(weights[0] == 1.0) and not np.ptp(weights)
        task: Task = "classification" if make is _core.labelled else "regression"
        return self.store.training_set(
            np.ascontiguousarray(targets),
            None if alike else np.ascontiguousarray(weights),
            task,
            scale,
            self._noise,
        )

    def keep(self, path: Any, resume: bool) -> None:
        """Save the best points of the next fit of all examples in a file, or start from those there."""
        parts, features = getattr(self, "parts", 1), self.store.shape[1]
        fingerprint = f"{self.store.fingerprint()} {type(self).__name__}"
        self._checkpoint = Checkpoint(path, fingerprint, (parts, features), bool(resume))

    def finish(self, model: Any, options: _core.Options, team: Team, **more: Any) -> None:
        super().finish(model, options, Team(team.threads, 1), **more)

    def solve(self, options: _core.Options, **more: Any) -> Any:
        self._saving = more.get("rows") is None
        try:
            return super().solve(options, **more)
        finally:
            self._saving = False

    def run_core(self, core: Any, options: _core.Options, report: Any, start: Start) -> Any:
        if self._threads is not None:
            options = changed_options(options, threads=self._threads)

        def solve(options: _core.Options, report: Any, start: Start) -> Any:
            return super(BeyondExamples, self).run_core(core, options, report, start)

        try:
            if self._checkpoint is None or not self._saving:
                return solve(options, report, start)
            return self._checkpoint.run(getattr(self._now, "part", 0), solve, options, report, start)
        finally:
            if isinstance(core, _core.Streamed):
                core.leave()

    def map_fits(self, work: Callable[[Any], Any], items: Sequence[Any], team: Team) -> list[Any]:
        """As many at a time as there is memory for, which read the data together."""
        done: list[Any] = []
        while len(done) < len(items):
            some = items[len(done) : len(done) + self.at_a_time(len(items) - len(done))]
            self._threads = max(1, team.threads // len(some))
            with self.store.together(len(some)) as finish:

                def fitted(item: Any, finish: Callable[[], None] = finish) -> Any:
                    try:
                        return work(item)
                    finally:
                        finish()

                done += Team(team.threads, len(some)).following(team).map(fitted, some)
        self._threads = None
        return done

    def at_a_time(self, problems: int) -> int:
        """So many of some problems can be solved at the same time."""
        return self.store.at_a_time(problems, self._noise) if problems > 1 else 1

    def margins(
        self, coef: FloatArray, rows: Array | None = None, *, observed: bool = False, threads: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        mean, variance = self.store.margins(coef, threads)
        return (mean, variance) if rows is None else (mean[rows], variance[rows])


def keep_checkpoint(problem: Any, path: Any, resume: bool) -> None:
    """What `checkpoint` and `resume` of a training ask for."""
    if path is None:
        if resume:
            raise ValueError("resume: it starts from a checkpoint; pass checkpoint=")
        return
    if not isinstance(problem, BeyondExamples):
        raise ValueError("checkpoint: for blocks of svmgsu.open; examples in memory are trained on in one go")
    problem.keep(path, resume)
