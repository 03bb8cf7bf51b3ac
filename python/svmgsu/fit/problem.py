"""A training problem: a data source, a task and options. Any number of fits share its arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..data.gaussians import Gaussians
from ..exceptions import ConvergenceWarning
from ..outofcore.training import DataSource
from ..support.memory import NotEnoughMemory, require_memory
from ..support.parallel import Team
from ..support.progress import progress_lines
from ..support.validation import Array, ArrayLike, FloatArray
from ..support.warning import warn
from .options import Options

if TYPE_CHECKING:
    from .checkpoint import Checkpoint
    from .multiclass import Classification
    from .regression import Regression
    from .search import SearchResult

Report = Callable[[Any], bool | None] | None

_SMALL = 20_000  # numbers, below which a fit takes less than a few milliseconds
_WIDE = 100_000  # features, above which memory is asked for before a fit
VECTORS = 64  # of n numbers, that one fit holds at its peak: measured at n = 2e6
_ROUNDING = 10.0  # times the tolerance: a gap that rounding leaves is told by `status_` and `gap_` alone
_RESERVED = {"cv": 0.3, "train": 0.1, "own": 0.1, "": 0.0}  # shares of max_time for the probabilities
_STATUS = ("converged", "rounding", "stalled", "limit", "stopped")  # from the best to the worst
_ADVICE = {
    "iterations": "Scale the features (svmgsu.Propagate), or take a larger lam or tol",
    "time": "Raise max_time, scale the features (svmgsu.Propagate), or take a larger lam",
    "stalled": "Scale the features (svmgsu.Propagate), or take a larger lam or tol",
    "rounding": "Ask for a larger tol, store X as float64, or scale and centre the features "
    "(svmgsu.Propagate)",
}


class Memory:
    """Samples in memory, as training sees them.

    `labels` are the classes, on which covariances may depend. `repeat` has the sample of each row, where
    samples with soft labels stand for several rows.
    """

    def __init__(self, data: Gaussians, labels: Array | None = None, repeat: Array | None = None) -> None:
        self.observed = data
        self.data = data if data.test_noise is None else data.with_more_cov(data.test_noise)
        self.cov = data.cov
        self.feature_names_in_ = data.feature_names_in_
        self.shape = data.shape if repeat is None else (len(repeat), data.shape[1])
        self._labels = labels
        self._repeat = None if repeat is None else np.ascontiguousarray(repeat, dtype=np.int64)
        self._means = data.core_means()
        self._terms = () if self.data.cov is None else self.data.cov.terms(*self.data.shape, labels)

    def training_set(
        self, targets: FloatArray, weights: FloatArray, task: str, scale: float, rows: Array | None = None
    ) -> Any:
        """Return what the core solves; `targets` and `weights` are those of the chosen rows."""
        terms = self._terms
        if scale != 1.0:
            terms = tuple((kind, scale * factor) for kind, factor in terms) if scale else ()
        make = _core.labelled if task == "classification" else _core.valued
        return make(
            self._means, terms, targets, weights, self._repeat if rows is None else self._places(rows)
        )

    def margins(
        self, coef: FloatArray, rows: Array | None = None, threads: int = 0, noise: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Return w·x_i and wᵀΣ_i w of the chosen rows for each row w of `coef`, as (l, rows of coef).

        `noise=False` leaves out noise that exists only at test time.
        """
        terms = self._terms
        if not noise and self.data is not self.observed:
            terms = () if self.cov is None else self.cov.terms(*self.observed.shape, self._labels)
        places = self._repeat if rows is None else self._places(rows)
        return _core.margins(_core.Gaussians(self._means, terms, places), np.ascontiguousarray(coef), threads)

    def _places(self, rows: Array) -> Array:
        """Return the samples of some rows, for the core."""
        chosen = rows if self._repeat is None else self._repeat[rows]
        return np.ascontiguousarray(chosen, dtype=np.int64)


class Problem:
    """Samples with their targets: where they are, what a fit makes of them, and how."""

    def __init__(
        self,
        source: Memory | DataSource,
        task: Classification | Regression,
        options: Options,
        cov_scale: Any = None,
    ) -> None:
        self.source = source
        self.task = task
        self.options = options
        self.lam = options.lam
        self.cov_scale = options.cov_scale if cov_scale is None else cov_scale
        self.checkpoint: Checkpoint | None = None
        self.search: SearchResult | None = None
        self.interrupted = False  # whether a callback has stopped the last fit
        self.in_memory = isinstance(source, Memory)
        # Threads would wait for the interpreter longer than such a fit takes.
        self.small = self.in_memory and task.share * source.shape[0] * source.shape[1] < _SMALL

    def __len__(self) -> int:
        """Return the number of rows; a sample with a soft label has several."""
        return self.source.shape[0]

    def train(self, start: Any = None, groups: ArrayLike = None) -> Any:
        """Return the model that the options ask for."""
        options = self.options
        if options.searches:
            from .search import choose

            self.search = choose(self, groups)
            self.lam, self.cov_scale = self.search.lam, self.search.cov_scale
        team = Team(options.threads)
        calibration = options.calibration
        core = options.core(self.source.shape[0], self.lam)
        if options.max_time is not None:
            core.max_seconds = options.seconds_left(_RESERVED[calibration])
        report = options.verbose if callable(options.verbose) else None
        if options.verbose is True:
            report = progress_lines()
        model: Any = self.task.solve(self, core, start=start, report=report, team=team)
        if calibration:
            from .calibrate import calibrate

            # Whoever stopped the fit does not want to wait for the folds.
            how = "train" if self.interrupted and calibration == "cv" else calibration
            calibrate(self, model, how, core, team, groups)
        return model

    def run(
        self,
        targets: FloatArray,
        weights: FloatArray,
        options: _core.Options,
        *,
        rows: Array | None = None,
        start: tuple[FloatArray, float] | None = None,
        report: Report = None,
        subproblem: int = 0,
        save: bool = False,
    ) -> Any:
        """Return the core's result of one binary subproblem or regression; `save` keeps a checkpoint."""
        n = self.source.shape[1]
        if n > _WIDE:
            require_memory(8.0 * VECTORS * n, f"X: training with {n} features")
        core = self.source.training_set(targets, weights, self.task.name, self.cov_scale, rows)
        try:
            if save and self.checkpoint is not None:
                return self.checkpoint.run(core, options, report, start, subproblem)
            if start is None:
                return _core.solve(core, options, report)
            return _core.solve(core, options, report, np.ascontiguousarray(start[0]), float(start[1]))
        except MemoryError:
            raise NotEnoughMemory(f"X: there is not enough memory to train with {n} features") from None

    def map_fits(self, fit: Callable[[Any, int], Any], items: Sequence[Any], team: Team) -> list[Any]:
        """Return `fit(item, threads)` of each item: at the same time in memory, else one after the other."""
        if not self.in_memory:
            return [fit(item, team.threads) for item in items]
        threads = team.inner(len(items))
        return team.map(lambda item: fit(item, threads), items, small=self.small)


def check_start(start: Any, kind: type, features: int) -> None:
    """Refuse what a fit cannot start from."""
    if not isinstance(start, kind):
        raise TypeError(f"start: expected a {kind.__name__}, got {start!r}")
    if start.n_features_in_ != features:  # type: ignore[attr-defined]
        raise ValueError(f"start: {start.n_features_in_} features, but X has {features}")  # type: ignore[attr-defined]


def record(history: Sequence[Any]) -> list[dict[str, float]]:
    """Return the solver's history as models keep it."""
    return [
        {
            "iteration": at.iteration,
            "objective": at.objective,
            "gap": at.gap,
            "seconds": at.seconds,
            "passes": at.passes,
        }
        for at in history
    ]


def worst_status(results: list[Any]) -> str:
    """Return how the solver ended, in a word: the worst status of the subproblems."""
    return max([str(result.status) for result in results], key=_STATUS.index)


def warn_if_unfinished(
    results: list[Any],
    options: _core.Options,
    max_time: float | None,
    named: Callable[[list[int]], str] = lambda places: "",
) -> None:
    """Warn where the solver stopped early; `named` says which of several subproblems are meant."""
    fine = ("converged", "callback", "iterations") if options.solver == "sgd" else ("converged", "callback")

    def relative(k: int) -> float:
        return float(results[k].gap / results[k].objective) if results[k].objective else 0.0

    # Where rounding allows no more and nothing is wrong with the fit, nearly the tolerance is enough.
    places = [
        k
        for k, result in enumerate(results)
        if result.stop not in fine
        and relative(k) > (_ROUNDING if result.stop == "rounding" else 1.0) * options.tolerance
    ]
    if not places:
        return
    worst = max(places, key=relative)
    stop = results[worst].stop
    reason = {
        "iterations": f"after {options.max_iterations} iterations",
        "time": f"after max_time={max_time} seconds",
        "stalled": "because its steps gained nothing more (stalled)",
        "rounding": "where rounding errors allow no smaller proof",
    }[stop]
    warn(
        f"the solver stopped {reason}{named(places)} with a relative gap of {relative(worst):.2g}, "
        f"where tol={options.tolerance:g} was asked; the best point found is kept. {_ADVICE[stop]}",
        ConvergenceWarning,
    )
