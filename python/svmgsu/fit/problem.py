"""A training problem: a data source, a task and options. The core trains; warnings say what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..data.gaussians import Gaussians
from ..exceptions import ConvergenceWarning, TrivialModelWarning
from ..models.calibration import Calibration
from ..models.classifier import Model
from ..models.regressor import RegressionModel
from ..outofcore.training import DataSource
from ..support.labels import Copies, class_factors
from ..support.memory import NotEnoughMemory, require_memory
from ..support.progress import progress_lines
from ..support.types import Fields, Fitted
from ..support.validation import Array, ArrayLike, FloatArray, listed
from ..support.warning import warn
from .multiclass import Scheme
from .options import Options

_WIDE = 100_000  # features, above which memory is asked for before a fit
VECTORS = 64  # of n numbers, that one fit holds at its peak: measured at n = 2e6
_ROUNDING = 10.0  # times the tolerance: a gap that rounding leaves is told by `status_` and `gap_` alone
SAMPLE = 20_000  # samples on which a search is made if the data are not in memory,
FOLDS = 5  # and how many of each class there are at least, where it has so many
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
        self.feature_names_in_ = data.feature_names_in_
        self.shape = data.shape if repeat is None else (len(repeat), data.shape[1])
        means = data.core_means()
        rows = None if repeat is None else np.ascontiguousarray(repeat, dtype=np.int64)

        def core(seen: Gaussians) -> _core.Gaussians:
            terms = () if seen.cov is None else seen.cov.terms(*seen.shape, labels)
            return _core.Gaussians(means, terms, rows)

        observed = core(data)
        noise = data.test_noise
        # As training and as prediction see them: training adds the noise of `add_noise`, which new samples
        # have of themselves.
        self.core = (observed if noise is None else core(data.with_more_cov(noise)), observed)


@dataclass
class Task:
    """What is to be learnt: the classes of the rows, or the targets of a regression.

    A sample with a soft label has a row for each possible class. `codes` has the class of each row, `copies`
    its sample. `errors` are standard errors of targets.
    """

    weights: FloatArray
    copies: Copies
    classes: Array | None = None
    codes: Array | None = None
    targets: FloatArray | None = None
    errors: FloatArray | None = None

    def take(self, rows: Array) -> Task:
        """Return the task of some rows."""
        some = [None if a is None else a[rows] for a in (self.codes, self.targets, self.errors)]
        return Task(self.weights[rows], Copies(len(rows)), self.classes, *some)

    def factors(self, class_weight: object) -> FloatArray | None:
        """Return the factor of each class's weights; refuse classes without weight."""
        if self.classes is None or self.codes is None:
            return None
        total = np.bincount(self.codes, self.weights, len(self.classes)).astype(np.float64)
        factors = None
        if class_weight is not None:
            factors = class_factors(class_weight, self.classes, self.codes, self.weights)
            total = total * factors
        if not total.all():
            name = "sample_weight" if factors is None else "class_weight"
            label = self.classes[int(np.argmin(total))].item()
            raise ValueError(f"{name}: class {label!r} has no weight; training needs samples of every class")
        return factors

    def together(self, groups: ArrayLike) -> Array | None:
        """Return the number of each row's group; the rows of one sample are a group, too."""
        if groups is None:
            return self.copies.source
        given = np.asarray(groups)
        if given.shape != (self.copies.samples,):
            raise ValueError(
                f"groups: expected one for each of {self.copies.samples} samples, got shape {given.shape}"
            )
        numbers = np.asarray(np.unique(given, return_inverse=True)[1]).ravel()
        return np.asarray(numbers[self.copies.places(np.arange(len(self.weights)))])


class Problem:
    """Samples with their targets: where they are, what a fit makes of them, and how."""

    def __init__(self, source: Memory | DataSource, task: Task, options: Options) -> None:
        self.source = source
        self.task = task
        self.options = options
        self.scheme = None if task.classes is None else Scheme(len(task.classes), options.multi_class)
        self.cov_scale = options.cov_scale
        self.best_index: int | None = None  # of a search, among its `cv_results`
        self.cv_results: dict[str, Array] = {}

    def __len__(self) -> int:
        """Return the number of rows; a sample with a soft label has several."""
        return self.source.shape[0]

    def train(self, start: Fitted = None, groups: ArrayLike = None) -> Fitted:
        """Return the model that the options ask for."""
        options = self.options
        n = self.source.shape[1]
        if n > _WIDE:
            require_memory(8.0 * VECTORS * n, f"X: training with {n} features")
        factors = self.task.factors(options.class_weight)
        core = options.core(len(self))
        together = self.task.together(groups)
        if options.searches and isinstance(self.source, DataSource):
            core.lam, core.cov_scale = self._search_sample(core, together)
            core.lams = core.cov_scales = []
            core.max_seconds = options.seconds_left()
        items = self._items(factors, together)
        if start is not None:
            items["start"] = self._start(start)
        source: Any = self.source.core if isinstance(self.source, Memory) else self.source
        report = progress_lines() if options.verbose is True else options.verbose or None
        try:
            found = _core.fit(source, core, items, report)
        except MemoryError:
            raise NotEnoughMemory(f"X: there is not enough memory to train with {n} features") from None
        finally:
            if isinstance(self.source, DataSource) and self.source.checkpoint is not None:
                self.source.checkpoint.write()
        self.cov_scale = found["cov_scale"]
        self._read_search(found)
        self._warn_if_unfinished(found, core.tolerance)
        if self.scheme is None:
            return self._regression(found)
        self._warn_of_probabilities(found, items)
        return self._classifier(found, factors)

    def _items(self, factors: FloatArray | None, groups: Array | None) -> Fields:
        """Return the task as the core takes it."""
        task, n = self.task, self.source.shape[1]
        return {
            "classes": 0 if task.classes is None else len(task.classes),
            "codes": task.codes,
            "targets": task.targets,
            "errors": task.errors,
            "weights": task.weights,
            "factors": factors,
            "groups": groups,
            # What a search orders the samples by.
            "direction": np.random.default_rng(0).normal(size=n) if self.options.searches else None,
        }

    def _start(self, start: Fitted) -> list[tuple[FloatArray, float, float]]:
        """Return the points (w, b, smoothing) of the subproblems of a model, or of a checkpoint's array."""
        if isinstance(start, np.ndarray):
            return [(point[:-2], point[-2], point[-1]) for point in start]
        kind = RegressionModel if self.scheme is None else Model
        if not isinstance(start, kind):
            raise TypeError(f"start: expected a {kind.__name__}, got {start!r}")
        n = self.source.shape[1]
        if start.n_features_in_ != n:
            raise ValueError(f"start: {start.n_features_in_} features, but X has {n}")
        if self.scheme is not None and isinstance(start, Model):
            if len(start.classes_) != self.scheme.classes:
                raise ValueError(f"start: {len(start.classes_)} classes, but y has {self.scheme.classes}")
            if self.scheme.count > 1 and start.multi_class != self.scheme.multi_class:
                raise ValueError(f"start: multi_class={start.multi_class!r}, not {self.scheme.multi_class!r}")
        planes = np.atleast_2d(start.coef_), np.atleast_1d(start.intercept_)
        return [(np.ascontiguousarray(w), b, 0.0) for w, b in zip(*planes, strict=True)]

    def _search_sample(self, core: _core.FitOptions, groups: Array | None) -> tuple[float, float]:
        """Return the best λ and scale for 20,000 rows that are drawn at random and taken into memory."""
        assert isinstance(self.source, DataSource)
        task = self.task
        rows = np.arange(len(self))
        if len(rows) > SAMPLE:
            rows = np.sort(np.random.default_rng(0).choice(len(rows), SAMPLE, replace=False))
            if task.codes is not None and task.classes is not None:
                used = np.bincount(task.codes[rows], task.weights[rows] > 0, len(task.classes))
                for code in np.flatnonzero(used < FOLDS):  # every class is held out and learnt from
                    rare = np.flatnonzero((task.codes == code) & (task.weights > 0))[:FOLDS]
                    rows = np.union1d(rows, rare)
        memory = Memory(self.source.take(rows))
        part = Problem(memory, task.take(rows), self.options)
        factors = part.task.factors(self.options.class_weight)
        items = part._items(factors, None if groups is None else groups[rows])
        found = _core.fit(memory.core, core, items, only_search=True)
        self._read_search(found)
        return found["lam"], found["cov_scale"]

    def _read_search(self, found: _core.FitItems) -> None:
        """Keep the scores of a search as scikit-learn's GridSearchCV does."""
        if not found["folds"]:
            return
        lams, scales = np.atleast_1d(self.options.lam), np.atleast_1d(self.options.cov_scale)
        scores = found["scores"].reshape(-1, found["folds"])
        count = (~np.isnan(scores)).sum(axis=1)
        if found["tried"] < scores.size:
            warn(
                f"max_time={self.options.max_time} seconds were over after {found['tried']} of {scores.size} "
                "fits; the best setting is one of those scored in most folds. Raise max_time, or try fewer",
                ConvergenceWarning,
            )
            scores[count < count.max()] = np.nan
        tried = np.where(count < count.max(), np.nan, count)
        mean = np.nansum(scores, axis=1) / tried
        comparable = np.where(np.isnan(mean), -np.inf, mean)
        self.best_index = found["best"]
        self.cv_results = {
            "param_lam": np.tile(lams, len(scales)),
            "param_cov_scale": np.repeat(scales, len(lams)),
            "mean_test_score": mean,
            "std_test_score": np.sqrt(np.nansum((scores - mean[:, np.newaxis]) ** 2, axis=1) / tried),
            "rank_test_score": (comparable[:, np.newaxis] < comparable).sum(axis=1) + 1,
        }
        for k, split in enumerate(scores.T):
            self.cv_results[f"split{k}_test_score"] = split

    def _classifier(self, found: _core.FitItems, factors: FloatArray | None) -> Model:
        assert self.task.classes is not None
        results = found["results"]
        history: list[Any] = [record(result) for result in results]
        return Model(
            coef_=np.stack([result.w for result in results]),
            intercept_=np.array([result.b for result in results]),
            classes_=self.task.classes,
            multi_class=self.options.multi_class,
            lam=found["lam"],
            loss=self.options.core_loss.name,
            objective_=sum([result.objective for result in results]),
            gap_=sum([result.gap for result in results]),
            n_iter_=max([result.iterations for result in results]),
            history_=history[0] if len(history) == 1 else history,
            feature_names_in_=self.source.feature_names_in_,
            class_weight_=None if factors is None or not np.ptp(factors) else factors / factors.mean(),
            status_=found["status"],
            calibration_=tuple(map(Calibration._make, found["calibration"])) or None,
        )

    def _regression(self, found: _core.FitItems) -> RegressionModel:
        if not np.isnan(found["scatter_before"]):
            warn(
                f"max_time={self.options.max_time} seconds were over before the scatter of the targets had "
                f"settled: it changed from {found['scatter_before']:.4g} to {found['scatter']:.4g} in the "
                "last round. Raise max_time",
                ConvergenceWarning,
            )
        loss = self.options.core_loss
        (result,) = found["results"]
        return RegressionModel(
            coef_=result.w,
            intercept_=result.b,
            lam=found["lam"],
            loss=loss.name,
            epsilon=None if np.isnan(loss.parameter) else loss.parameter,
            objective_=result.objective,
            gap_=result.gap,
            n_iter_=result.iterations,
            history_=record(result),
            feature_names_in_=self.source.feature_names_in_,
            status_=found["status"],
            scatter_=found["scatter"],
        )

    def _named(self, places: list[int]) -> str:
        """Return which subproblems a message is about."""
        if self.scheme is None or self.task.classes is None:
            return ""
        return self.scheme.named(places, self.task.classes)

    def _warn_if_unfinished(self, found: _core.FitItems, tolerance: float) -> None:
        """Warn if the optimum was not reached, or unexpectedly is the trivial classifier."""
        results = found["results"]

        def relative(k: int) -> float:
            return results[k].gap / results[k].objective if results[k].objective else 0.0

        fine = ("converged", "callback", "iterations" if self.options.solver == "sgd" else "")
        # Where rounding allows no more and nothing is wrong with the fit, nearly the tolerance is enough.
        allowed = {"rounding": _ROUNDING * tolerance}
        places = [
            k
            for k, result in enumerate(results)
            if result.stop not in fine and not relative(k) <= allowed.get(result.stop, tolerance)
        ]
        if places:
            worst = max(places, key=relative)
            stop = results[worst].stop
            reason = {
                "iterations": f"after {self.options.max_iter} iterations",
                "time": f"after max_time={self.options.max_time} seconds",
                "stalled": "because its steps gained nothing more (stalled)",
                "rounding": "where rounding errors allow no smaller proof",
            }[stop]
            warn(
                f"the solver stopped {reason}{self._named(places)} with a relative gap of "
                f"{relative(worst):.2g}, where tol={tolerance:g} was asked; the best point found is kept. "
                f"{_ADVICE[stop]}",
                ConvergenceWarning,
            )
        trivial = [k for k, result in enumerate(results) if result.stop == "converged" and not result.w.any()]
        if trivial and self.scheme is not None:
            result = max((results[k] for k in trivial), key=lambda result: result.gap)
            warn(
                f"the optimum is the trivial classifier w = 0{self._named(trivial)} (objective "
                f"{result.objective:.6g}, proven to within {result.gap:.2g}): at lam={found['lam']:g} the "
                "spread of the samples outweighs the distance of the classes. Try a smaller lam, a smaller "
                "cov_scale, or more weight for the rarer class (class_weight, sample_weight)",
                TrivialModelWarning,
            )

    def _warn_of_probabilities(self, found: _core.FitItems, items: Fields) -> None:
        """Warn if probabilities could not be fitted to held-out scores."""
        over = f"max_time={self.options.max_time} seconds were over before"
        if found["undivided"]:
            assert self.task.classes is not None
            used = self.task.weights > 0
            members = [items["groups"][used & (items["codes"] == c)] for c in range(items["classes"])]
            single = [len(np.unique(some)) < 2 for some in members]
            warn(
                "groups: they cannot be held out with samples of every class left to train on (of one group: "
                f"{listed(self.task.classes[single]) or 'none'}); probabilities are fitted to training "
                "scores, which makes them overconfident"
            )
        if found["out_of_time"]:
            warn(
                f"{over} the probabilities of all {len(found['results'])} binary subproblems were "
                "calibrated: the model predicts classes, but has no predict_proba. Raise max_time",
                ConvergenceWarning,
            )
        elif found["late"]:
            warn(
                f"{over} a held-out fold was trained{self._named(found['late'])}: probabilities are fitted "
                "to training scores, which makes them overconfident. Raise max_time",
                ConvergenceWarning,
            )


def record(result: _core.Result) -> list[dict[str, float]]:
    """Return the solver's history as models keep it."""
    return [
        {
            "iteration": at.iteration,
            "objective": at.objective,
            "gap": at.gap,
            "seconds": at.seconds,
            "passes": at.passes,
        }
        for at in result.history
    ]
