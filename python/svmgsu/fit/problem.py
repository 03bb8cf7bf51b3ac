"""A training set, checked once: any number of fits, on all its examples or on some, share its arrays."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import _core
from ..data.gaussians import as_gaussians
from ..data.soft_labels import Copies, has_soft_labels, read_labels
from ..exceptions import TrivialModelWarning
from ..models.calibration import log_shares
from ..models.classifier import Model
from ..outofcore.blocks import Blocks
from ..outofcore.training import DataSource, labels_of_blocks, refuse_beside, source_of, weights_of_blocks
from ..support.labels import check_prior, check_weights, class_factors
from ..support.parallel import Team
from ..support.validation import Array, FloatArray, check_row_order
from ..support.warning import warn
from .beyond import BeyondExamples
from .division import Division
from .examples import Examples, Report, check_doubt, check_start, record, status, warn_if_unfinished
from .held_out import calibrate
from .settings import Settings, changed_options

_SMALL = 20_000
_RESERVED = {"cv": 0.3, "train": 0.1, "own": 0.1, "": 0.0}  # of max_time, for probabilities
_PAIRS = 0.1  # of the tolerance, for pairs of classes: coupled probabilities compare them all


class Problem(Examples[Model]):
    """Examples, labels and weights. Of two classes it is one problem; of more, one for each pair or class.

    The problems share the arrays: only their rows and signs differ.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        cov: Any = None,
        settings: Settings | None = None,
        *,
        std: Any = None,
        sample_weight: Any = None,
        classes: Any = None,
    ) -> None:
        settings = settings or Settings()
        check_row_order(X, y=y, sample_weight=sample_weight)
        data = as_gaussians(X, cov, std, settings.psd)
        self.classes, self.codes, copies = read_labels(y, len(data), classes)
        self.labels = self.classes[self.codes]
        check_doubt(copies, data)
        self.division = Division(len(self.classes), settings.multi_class)
        self.parts = len(self.division)  # problems
        self.prior = None if settings.prior is None else check_prior(settings.prior, self.classes)
        self.sample_weights = copies.weights(check_weights(sample_weight, len(data)))
        self._weigh(settings.class_weight, sample_weight is None and copies.source is None)
        super().__init__(data, settings, self.labels if copies.source is None else None, copies)

    def _weigh(self, class_weight: Any, alike: bool) -> None:
        """Sets the weights of training; examples that count `alike`, of classes that do, have weight 1."""
        self._even_sides = class_weight == "balanced" if isinstance(class_weight, str) else False
        self.given_weights = self.sample_weights
        self.class_weights: FloatArray | None = None
        if class_weight is not None:
            factors = class_factors(class_weight, self.classes, self.codes, self.given_weights)
            self.given_weights = self.given_weights * factors[self.codes]
            self.class_weights = factors / factors.mean() if np.ptp(factors) else None
        self.weights = self.given_weights
        if not alike or class_weight is not None:
            self._check_classes_have_weight("sample_weight" if class_weight is None else "class_weight")
            self.weights = self.weights / self.weights.mean()

    def _check_classes_have_weight(self, name: str) -> None:
        total = np.bincount(self.codes, self.weights, len(self.classes))
        if not total.all():
            label = self.classes[int(np.argmin(total))].item()
            raise ValueError(f"{name}: class {label!r} has no weight; training needs examples of every class")

    @property
    def to_split(self) -> Array:
        """What a splitter of scikit-learn is shown: the likeliest label of each example."""
        return self.copies.likeliest(self.labels)

    @property
    def small(self) -> bool:
        """Whether a fit takes less than some milliseconds."""
        share = 1.0 if self.division.pairs is None else 2.0 / len(self.classes)
        return share * self.data.shape[0] * self.data.shape[1] < _SMALL

    @property
    def reserved(self) -> float:
        return _RESERVED[self.settings.calibration]

    def rows(self, part: int, rows: Array | None = None) -> Array | None:
        """Those of some rows that a problem is about; None for all examples."""
        if rows is None:
            return self.division.joined(part, self._members)
        found = self.division.rows(part, self.codes[rows])
        return rows if found is None else np.asarray(rows)[found]

    def each(self, rows: Array) -> list[Array]:
        """The same for every problem."""
        members = self.division.members(self.codes[rows])
        found = [self.division.joined(part, members) for part in range(self.parts)]
        return [rows if some is None else rows[some] for some in found]

    @cached_property
    def _members(self) -> list[Array]:
        return self.division.members(self.codes) if self.parts > 1 else []

    def signs(self, part: int, rows: Array | None = None) -> FloatArray:
        """+1 for the positive class of a problem and -1 for the other side, of rows that it is about."""
        return self.division.signs(part, self.codes if rows is None else self.codes[rows])

    def core(self, rows: Array | None = None, cov_scale: float | None = None, part: int = 0) -> Any:
        """The core's view of a problem's examples, or of those among some rows; arrays are not copied."""
        rows = self.rows(part, rows)
        signs = self.signs(part, rows)
        weights = self._part_weights(self.weights if rows is None else self.weights[rows], signs)
        if rows is not None or self.copies.source is not None:
            weights = weights / (weights.mean() or 1.0)
        return self.core_of(_core.labelled, signs, weights, rows, cov_scale)

    def _part_weights(self, weights: FloatArray, signs: FloatArray) -> FloatArray:
        """Balanced classes have balanced sides too: one class against the rest weighs as much as the rest."""
        if not (self._even_sides and self.division.pairs is None):
            return weights
        positive = signs > 0
        one, rest = weights[positive].sum(), weights[~positive].sum()
        if not (one > 0 and rest > 0):
            return weights
        factor = (one + rest) / 2
        return np.asarray(np.where(positive, weights * (factor / one), weights * (factor / rest)))

    def side_odds(self, part: int, rows: Array | None = None) -> float:
        """The log-odds of the two sides of a problem, by the weights of training."""
        rows = self.rows(part, rows)
        signs = self.signs(part, rows)
        weights = self.weights if rows is None else self.weights[rows]
        return log_shares(signs, self._part_weights(weights, signs))

    def solve(
        self,
        options: _core.Options,
        *,
        start: Model | None = None,
        rows: Array | None = None,
        cov_scale: float | None = None,
        report: Report = None,
        team: Team | None = None,
        expect_trivial: bool = False,
    ) -> Model:
        """One model. Warns where the optimum was not reached, or unexpectedly is the trivial classifier.

        The problems of several classes run in parallel, as `team` allows.
        """
        if start is not None:
            self._check_start(start)
        if self.parts == 1:
            results = [self.run(options, 0, start, rows, cov_scale, report)]
        else:
            results = self._run_parts(options, team or Team(), start, rows, cov_scale, report)
        stops = [result.stop for result in results]
        self.interrupted = "callback" in stops
        coef = results[0].w[np.newaxis] if self.parts == 1 else np.stack([result.w for result in results])
        if stops != ["converged"] * len(stops):
            warn_if_unfinished(results, options, self.settings.max_time, self.named)
        if not expect_trivial:
            self._warn_of_trivial(results, coef, options)
        records = [record(result.history) for result in results]
        return Model(
            coef_=coef,
            intercept_=np.array([result.b for result in results]),
            classes_=self.classes,
            multi_class=self.division.multi_class,
            lam=options.lam,
            loss=self.settings.core_loss.name,
            objective_=sum([result.objective for result in results]),
            gap_=sum([result.gap for result in results]),
            n_iter_=max([result.iterations for result in results]),
            history_=records[0] if self.parts == 1 else records,
            feature_names_in_=self.observed.feature_names_in_,
            class_weight_=self.class_weights,
            status_=status(results),
        )

    def finish(self, model: Model, options: _core.Options, team: Team, **more: Any) -> None:
        """The shares of classes where the model will be used, and probabilities, as asked."""
        model.prior_ = self.prior
        how = self.settings.calibration
        if how:
            how = "train" if self.interrupted and how == "cv" else how
            calibrate(self, model, how, options, team, **{"cv": self.settings.cv, **more})

    def _check_start(self, start: Model) -> None:
        check_start(start, Model, self.data.shape[1])
        if len(start.classes_) != len(self.classes):
            raise ValueError(f"start: {len(start.classes_)} classes, but y has {len(self.classes)}")
        if self.parts > 1 and start.multi_class != self.division.multi_class:
            raise ValueError(f"start: multi_class={start.multi_class!r}, not {self.division.multi_class!r}")

    def named(self, parts: list[int]) -> str:
        """Which of several problems a message is about."""
        return self.division.named(parts, self.classes)

    def run(
        self,
        options: _core.Options,
        part: int,
        start: Model | None,
        rows: Array | None,
        cov_scale: float | None,
        report: Report,
    ) -> Any:
        """The core's result for one problem."""
        rows = self.rows(part, rows)
        count = len(self) if rows is None else len(rows)
        if count == 0:  # neither class of a pair is there, as in a fold without rare classes
            return _Nothing(np.zeros(self.data.shape[1]))
        if options.batch > count:
            options = changed_options(options, batch=count)
        where = None if start is None else (start.coef_[part], start.intercept_[part])
        return self.run_core(self.core(rows, cov_scale, part), options, report, where)

    def _run_parts(
        self,
        options: _core.Options,
        team: Team,
        start: Model | None,
        rows: Array | None,
        cov_scale: float | None,
        report: Report,
    ) -> list[Any]:
        began, threads = time.monotonic(), team.inner(self.parts)
        at_a_time = 1 if self.small else min(team.jobs, self.parts)

        def watch(progress: Any) -> bool:
            if report is not None and report(progress) is False:
                team.stop()
            return not team.stopped

        def work(part: int) -> Any:
            left = options.max_seconds - (time.monotonic() - began)
            if left <= 0:
                return self._unfitted()
            turns = -(-(self.parts - part) // at_a_time)  # that have to share what is left of the time
            share = changed_options(
                options,
                threads=threads,
                max_seconds=max(left / turns, 1e-3),
                tolerance=options.tolerance * (1.0 if self.division.pairs is None else _PAIRS),
            )
            return self.run(share, part, start, rows, cov_scale, watch)

        return self.map_fits(work, range(self.parts), team)

    def _unfitted(self) -> _Nothing:
        """The point w = 0 of a subproblem for which there was no time: no loss is below 0."""
        loss = float(self.settings.core_loss.gradient(np.ones(1), np.zeros(1))[0][0])
        w = np.zeros(self.data.shape[1])
        return _Nothing(w, objective=loss, gap=loss, stop="time", status="limit")

    def _warn_of_trivial(self, results: list[Any], coef: FloatArray, options: _core.Options) -> None:
        places = [k for k, w in enumerate(coef) if not np.count_nonzero(w) and results[k].stop == "converged"]
        if not places:
            return
        worst = max((results[k] for k in places), key=lambda result: float(result.gap))
        warn(
            f"the optimum is the trivial classifier w = 0{self.named(places)} (objective "
            f"{worst.objective:.6g}, proven to within {worst.gap:.2g}): at lam={options.lam:g} the spread of "
            "the examples outweighs the distance of the classes. Try a smaller lam, a smaller cov_scale, or "
            "more weight for the rarer class (class_weight, sample_weight)",
            TrivialModelWarning,
        )


class BeyondProblem(BeyondExamples, Problem):
    """The same, of examples that are not in memory."""

    def __init__(
        self,
        source: DataSource,
        classes: Array,
        codes: Array,
        weights: FloatArray,
        settings: Settings,
        copies: Copies | None = None,
    ) -> None:
        self.classes, self.codes = classes, codes
        self.division = Division(len(classes), settings.multi_class)
        self.parts = len(self.division)
        self.prior = None if settings.prior is None else check_prior(settings.prior, classes)
        self.sample_weights = weights
        self._weigh(settings.class_weight, not np.ptp(weights))
        self._hold(source, settings)
        self.copies = copies or self.copies

    @property
    def small(self) -> bool:
        return False

    def solve(self, options: _core.Options, *, team: Team | None = None, **more: Any) -> Model:
        """As many problems at a time as there is memory for: they read the data together."""
        at_a_time = self.at_a_time(self.parts)
        model: Model = super().solve(options, team=Team((team or Team()).threads, at_a_time), **more)
        return model

    def run(self, options: _core.Options, part: int, *more: Any) -> Any:
        self._now.part = part
        return super().run(options, part, *more)

    @property
    def to_split(self) -> Array:
        return self.copies.likeliest(np.asarray(self.classes[self.codes]))


def problem_of(
    X: Any,
    y: Any,
    cov: Any,
    settings: Settings,
    *,
    std: Any = None,
    sample_weight: Any = None,
    classes: Any = None,
) -> Problem:
    """The problem of examples in memory or in blocks."""
    if not isinstance(X, Blocks):
        return Problem(X, y, cov, settings, std=std, sample_weight=sample_weight, classes=classes)
    refuse_beside(X, cov=cov, std=std)
    weights = weights_of_blocks(X, sample_weight)
    if y is None and X.classes is not None:
        y, classes = X.labels(), X.classes if classes is None else classes
    if y is None or not has_soft_labels(y):
        if classes is not None:
            raise ValueError("classes: they name the columns of class probabilities, but blocks have labels")
        return BeyondProblem(source_of(X), *labels_of_blocks(X, y), weights, settings)
    known, codes, copies = read_labels(y, len(X), classes)
    source = source_of(X if copies.source is None else X.repeat(copies.source))
    return BeyondProblem(source, known, codes, copies.weights(weights), settings, copies)


@dataclass
class _Nothing:
    """The result of a problem without examples, or without time."""

    w: FloatArray
    b: float = 0.0
    objective: float = 0.0
    gap: float = 0.0
    iterations: int = 0
    stop: str = "converged"
    status: str = "converged"
    history: tuple[Any, ...] = ()
