"""Training on examples that are not in memory: the same problems, with sums from files or elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..data.soft_labels import Copies
from ..outofcore.training import DataSource, Noise
from ..support.losses import Task
from ..support.parallel import Team
from ..support.validation import Array, FloatArray
from .checkpoint import Checkpoint, Start
from .examples import Examples
from .settings import Settings, changed_options


class BeyondExamples(Examples[Any]):
    """What problems of examples in a data source do otherwise; to stand before a problem among the bases."""

    source: DataSource
    _checkpoint: Checkpoint | None = None
    _saving = False  # whether the fit that runs is saved
    _threads: int | None = None  # of each of several fits at a time

    def _hold(self, source: DataSource, settings: Settings) -> None:
        """As `Examples.__init__`, for examples that are elsewhere."""
        if settings.subspace is not None:
            raise ValueError("subspace: the examples' covariances are not in memory; reduce them beforehand")
        if settings.solver != "newton":
            raise ValueError(f"solver: {settings.solver!r} takes examples in memory; blocks are for 'newton'")
        self.settings, self.source = settings, source
        self.observed = self.data = source  # type: ignore[assignment]
        self.copies = Copies(source.shape[0])
        self.interrupted = False
        self._now = threading.local()  # the problem that a thread is solving
        self._noise: Noise | None = None
        if settings.deployment_cov is not None:
            self._noise = Noise.of(settings.deployment_cov, source.shape, settings.seed, settings.psd)

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
        count = self.source.shape[0]
        if rows is not None:
            some, given = targets, weights
            targets, weights = np.ones(count), np.zeros(count)
            targets[rows], weights[rows] = some, given * (count / len(rows))
        alike = bool(weights[0] == 1.0) and not np.ptp(weights)
        task: Task = "classification" if make is _core.labelled else "regression"
        return self.source.training_set(
            np.ascontiguousarray(targets),
            None if alike else np.ascontiguousarray(weights),
            task,
            scale,
            self._noise,
        )

    def keep(self, path: Any, resume: bool) -> None:
        """Save the best points of the next fit of all examples in a file, or start from those there."""
        parts, features = getattr(self, "parts", 1), self.source.shape[1]
        fingerprint = f"{self.source.fingerprint()} {type(self).__name__}"
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
            with self.source.together(len(some)) as finish:

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
        return self.source.capacity(problems, self._noise) if problems > 1 else 1

    def margins(
        self, coef: FloatArray, rows: Array | None = None, *, observed: bool = False, threads: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        mean, variance = self.source.margins(coef, threads)
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
