"""The examples of a training set, checked once; fits on all of them or on some share the arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from .. import _core
from ..data.coercion import as_test_noise
from ..data.gaussians import Gaussians
from ..data.soft_labels import Copies
from ..exceptions import ConvergenceWarning
from ..models.rule import depends_on_class
from ..support.memory import NotEnoughMemory, require_memory
from ..support.parallel import Team
from ..support.progress import ProgressBar, counter
from ..support.validation import Array, FloatArray
from ..support.warning import warn
from .settings import Settings, check_lams

Report = Callable[[Any], bool | None] | None
Trained = TypeVar("Trained", bound=Any)

VECTORS = 64  # of n numbers, that one fit holds at its peak: measured at n = 2e6
_ADVICE = {
    "iterations": "Raise max_iter, scale the features (svmgsu.Propagate), or take a larger lam",
    "time": "Raise max_time, scale the features (svmgsu.Propagate), or take a larger lam",
    "stalled": "Scale the features (svmgsu.Propagate), or take a larger lam or tol",
    "rounding": "Ask for a larger tol, store X as float64, or scale and centre the features "
    "(svmgsu.Propagate)",
}
_ROUNDING = 10.0  # times the tolerance: a gap that rounding leaves is told by `status_` and `gap_` alone
_STATUS = ("converged", "rounding", "stalled", "limit", "stopped")  # the later, the less was reached


class Examples(Generic[Trained]):
    """Means and covariances, as they were given and as training sees them.

    Parameters
    ----------
    data : Gaussians
    settings : Settings
    labels : array of shape (l,), optional
        Tell classes apart, where covariances depend on them.
    copies : Copies, optional
        Where examples are there for several classes: "rows" are then copies.
    """

    given_weights: FloatArray  # of the rows, not scaled

    def __init__(
        self, data: Gaussians, settings: Settings, labels: Array | None = None, copies: Copies | None = None
    ) -> None:
        self.settings = settings
        self.observed = data  # as it was given, and as new objects will be
        self.copies = copies or Copies(len(data))
        self._row_labels = labels
        if settings.subspace is not None:
            data = data.subspace(settings.subspace, settings.subspace_mode, y=labels)
        if settings.deployment_cov is not None:
            noise = as_test_noise(settings.deployment_cov, data.shape, settings.seed, settings.psd)
            data = data.with_more_cov(noise)
        if data.test_noise is not None:
            data = data.with_more_cov(data.test_noise)
        self.data = data
        self._means = data.core_means()
        self._terms = () if data.cov is None else data.cov.terms(*data.shape, labels)
        self.interrupted = False  # whether a callback has stopped the last fit

    def __len__(self) -> int:
        """The examples, with all copies of those whose label is in doubt."""
        return self.copies.examples if self.copies.source is None else len(self.copies.source)

    def solve(
        self,
        options: _core.Options,
        *,
        start: Trained | None = None,
        rows: Array | None = None,
        cov_scale: float | None = None,
        report: Report = None,
        team: Team | None = None,
        expect_trivial: bool = False,
    ) -> Trained:
        """One model, of all rows or some, from `start` on. Warns where the optimum was not reached."""
        raise NotImplementedError

    def finish(self, model: Trained, options: _core.Options, team: Team, **more: Any) -> None:
        """What is done with a trained model before it is handed out."""

    def train(self, start: Trained | None = None, callback: Report = None, **more: Any) -> Trained:
        """One model by the settings, with its progress shown; `more` is for `finish`."""
        settings = self.settings
        options, team = settings.options(len(self)), settings.team()
        options.max_seconds = settings.seconds_left(self.reserved)
        with ProgressBar(settings.verbose, options, callback) as report:
            model = self.solve(options, start=start, report=report, team=team)
        self.finish(model, options, team, verbose=settings.verbose, **more)
        return model

    def path(self, lams: Any) -> list[Trained]:
        """The models at `lams`, by the settings."""
        grid, options, team = check_lams(lams), self.settings.options(len(self)), self.settings.team()
        progress = counter(self.settings.verbose, len(grid), "svmgsu path")
        found = self.follow(grid, options, team=team, progress=progress)
        models = [found[k] for k in range(len(grid))]
        for model in models:
            options.lam = model.lam
            self.finish(model, options, team)
        return models

    def follow(
        self,
        lams: FloatArray,
        options: _core.Options,
        *,
        rows: Array | None = None,
        cov_scale: float | None = None,
        team: Team | None = None,
        report: Report = None,
        progress: Callable[[], None] = lambda: None,
        reserved: float = 0.0,
    ) -> dict[int, Trained]:
        """The models at `lams`, by their places; each fit starts from the next larger λ.

        Those of small λ are missing where the time, without the share that is `reserved`, was over. That the
        first models are trivial (w = 0) is what a path is for, so nothing is said about it.
        """
        models: dict[int, Trained] = {}
        last: Trained | None = None
        for index in np.argsort(-lams, kind="stable").tolist():
            options.lam = float(lams[index])
            options.max_seconds = self.settings.seconds_left(reserved)
            if last is not None and not options.max_seconds:
                break
            last = models[index] = self.solve(
                options,
                start=last,
                rows=rows,
                cov_scale=cov_scale,
                report=report,
                team=team,
                expect_trivial=True,
            )
            progress()
        return models

    def map_fits(self, work: Callable[[Any], Any], items: Sequence[Any], team: Team) -> list[Any]:
        """What `work`, which is a fit, makes of each of some items."""
        return team.map(work, items, small=self.small)

    @property
    def small(self) -> bool:
        """Whether a fit takes less than some milliseconds."""
        return False

    @property
    def reserved(self) -> float:
        """The share of `max_time` that is left to `finish`."""
        return 0.0

    def core_of(
        self,
        make: Callable[..., Any],
        targets: FloatArray,
        weights: FloatArray,
        rows: Array | None,
        cov_scale: float | None,
    ) -> Any:
        """What the core trains on; `make` is its function, `targets` and `weights` are of the chosen rows."""
        scale, terms = self.settings.cov_scale if cov_scale is None else cov_scale, self._terms
        if scale != 1.0:
            terms = tuple((kind, scale * factor) for kind, factor in terms) if scale else ()
        return make(self._means, terms, targets, weights, self._places(rows))

    def run_core(
        self, core: Any, options: _core.Options, report: Report, start: tuple[FloatArray, float] | None
    ) -> Any:
        """The core's result."""
        n = self.data.shape[1]
        require_memory(8.0 * VECTORS * n, f"X: training with {n} features")
        at = () if start is None else (np.ascontiguousarray(start[0]), float(start[1]))
        try:
            return _core.solve(core, options, report, *at)
        except MemoryError:
            raise NotEnoughMemory(f"X: there is not enough memory to train with {n} features") from None

    def margins(
        self, coef: FloatArray, rows: Array | None = None, *, observed: bool = False, threads: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """w·x_i and wᵀΣ_i w for each row w of `coef`, as (l, rows of coef); covariances times 1.

        `observed` leaves out what training adds: noise of deployment, and subspaces.
        """
        means, terms, data = self._means, self._terms, self.observed
        if observed and data is not self.data:
            means = data.core_means()
            terms = () if data.cov is None else data.cov.terms(*data.shape, self._row_labels)
        core = _core.Gaussians(means, terms, self._places(rows))
        return _core.margins(core, np.ascontiguousarray(coef), threads)

    def _places(self, rows: Array | None) -> Array | None:
        """The examples that some rows are of, for the core; None for each example once."""
        places = self.copies.source if rows is None else self.copies.places(rows)
        return None if places is None else np.ascontiguousarray(places, dtype=np.int64)


def check_doubt(copies: Copies, data: Gaussians) -> None:
    """Refuses labels in doubt where the covariances depend on them."""
    if copies.source is not None and depends_on_class(data.cov):
        raise ValueError("y: class probabilities do not go with a covariance for each class; give labels")


def check_start(start: Any, kind: type, features: int) -> None:
    """Refuses what a fit cannot start from."""
    if not isinstance(start, kind):
        raise TypeError(f"start: expected a svmgsu.{kind.__name__}, got {start!r}")
    if start.n_features_in_ != features:  # type: ignore[attr-defined]
        raise ValueError(f"start: {start.n_features_in_} features, but X has {features}")  # type: ignore[attr-defined]


def record(history: Sequence[Any]) -> list[dict[str, float]]:
    """The solver's history as models keep it."""
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


def status(results: list[Any]) -> str:
    """How the solver ended, in a word; of several problems that of the one that fared worst."""
    return max((str(result.status) for result in results), key=_STATUS.index)


def warn_if_unfinished(
    results: list[Any],
    options: _core.Options,
    max_time: float | None,
    named: Callable[[list[int]], str] = lambda places: "",
) -> None:
    """Warns where the solver stopped early; `named` says which of several problems a message is about."""
    fine = ("converged", "callback", "iterations") if options.solver == "sgd" else ("converged", "callback")

    def relative(k: int) -> float:
        return float(results[k].gap / results[k].objective) if results[k].objective else 0.0

    def proven(k: int) -> bool:
        """What was asked; or nearly, where arithmetic allows no more and nothing is wrong with the fit."""
        slack = _ROUNDING if results[k].stop == "rounding" else 1.0
        return relative(k) <= slack * options.tolerance

    stopped = [k for k, result in enumerate(results) if result.stop not in fine]
    places = [k for k in stopped if not proven(k)]
    if not places:
        return

    worst = max(places, key=relative)
    stop = results[worst].stop
    reason = {
        "iterations": f"after max_iter={options.max_iterations} iterations",
        "time": f"after max_time={max_time} seconds",
        "stalled": "because its steps gained nothing more (stalled)",
        "rounding": "where rounding errors allow no smaller proof",
    }[stop]
    warn(
        f"the solver stopped {reason}{named(places)} with a relative gap of {relative(worst):.2g}, "
        f"where tol={options.tolerance:g} was asked; the best point found is kept. {_ADVICE[stop]}",
        ConvergenceWarning,
    )
