"""Classification: labels, weights, and the binary subproblems of several classes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..exceptions import TrivialModelWarning
from ..models.calibration import log_shares
from ..models.classifier import Model
from ..support import losses
from ..support.labels import Copies, class_factors
from ..support.parallel import Team
from ..support.validation import Array, FloatArray, listed
from ..support.warning import warn
from .options import Options, changed
from .problem import Report, check_start, record, warn_if_unfinished, worst_status

if TYPE_CHECKING:
    from .problem import Problem

_PAIRS = 0.1  # of the tolerance, for pairs of classes: coupled probabilities compare them all


class Scheme:
    """How K classes become binary subproblems.

    Two classes are one subproblem, positive for the second. For more, "ovo" has one for each pair, in the
    order (0, 1), (0, 2), ..., (0, K-1), (1, 2), ... as scikit-learn's SVC, positive for the second of the
    pair; "ovr" has one for each class, positive for it and negative for the rest.
    """

    def __init__(self, classes: int, multi_class: str) -> None:
        self.classes = classes
        self.multi_class = multi_class
        self.pairs = None
        if classes == 2:
            self.pairs = np.array([[0, 1]])
        elif multi_class == "ovo":
            self.pairs = np.stack(np.triu_indices(classes, 1), axis=1)
        self.count = classes if self.pairs is None else len(self.pairs)  # of subproblems
        # The positive class of each.
        self.positive = np.arange(classes) if self.pairs is None else self.pairs[:, 1]

    def rows(self, k: int, codes: Array) -> Array | None:
        """Return which samples, of classes `codes`, belong to subproblem `k`; None for all."""
        if self.classes == 2 or self.pairs is None:
            return None
        negative, positive = self.pairs[k]
        return np.flatnonzero((codes == negative) | (codes == positive))

    def signs(self, k: int, codes: Array) -> FloatArray:
        """Return +1 for the positive class of subproblem `k` and -1 for the other samples."""
        return np.asarray(2.0 * (codes == self.positive[k]) - 1.0)

    def named(self, places: list[int], classes: Array) -> str:
        """Return which subproblems a message is about; nothing where there is but one."""
        several = len(places) > 1
        if self.classes == 2:
            return ""
        if self.pairs is None:
            return f" for class{'es' if several else ''} {listed(classes[places])} against the rest"
        names = [f"{classes[i].item()!r}-{classes[j].item()!r}" for i, j in self.pairs[places[:5]]]
        more = f", ... ({len(places)} of {self.count})" if len(places) > len(names) else ""
        return f" for the pair{'s' if several else ''} of classes {', '.join(names)}{more}"


class Classification:
    """Labels and weights of a problem.

    A sample with a soft label has a row for each possible class. `codes` has the class of each row, `copies`
    its sample.
    """

    name: losses.Task = "classification"

    def __init__(
        self, classes: Array, codes: Array, copies: Copies, sample_weights: FloatArray, options: Options
    ) -> None:
        self.classes = classes
        self.codes = codes
        self.copies = copies
        self.options = options
        self.scheme = Scheme(len(classes), options.multi_class)
        self.count = self.scheme.count
        self.share = 1.0 if self.scheme.pairs is None else 2.0 / len(classes)  # of the rows in each of them
        self.sample_weights = sample_weights
        self.given_weights = sample_weights
        self.class_weights: FloatArray | None = None
        # Balanced classes have balanced sides too: one class against the rest weighs as much as the rest.
        self._balanced = isinstance(options.class_weight, str) and self.scheme.pairs is None
        if options.class_weight is not None:
            factors = class_factors(options.class_weight, classes, codes, sample_weights)
            self.given_weights = sample_weights * factors[codes]
            self.class_weights = factors / factors.mean() if np.ptp(factors) else None
        self.weights = self.given_weights
        if np.ptp(self.weights) or self.weights[0] != 1.0:
            total = np.bincount(codes, self.weights, len(classes))
            if not total.all():
                name = "sample_weight" if options.class_weight is None else "class_weight"
                label = classes[int(np.argmin(total))].item()
                raise ValueError(
                    f"{name}: class {label!r} has no weight; training needs samples of every class"
                )
            self.weights = self.weights / self.weights.mean()

    def take(self, rows: Array) -> Classification:
        """Return the task of some rows."""
        copies = Copies(len(rows))
        return Classification(self.classes, self.codes[rows], copies, self.sample_weights[rows], self.options)

    def rows(self, k: int, rows: Array | None = None) -> Array | None:
        """Return those of some rows that belong to subproblem `k`; None for all rows."""
        found = self.scheme.rows(k, self.codes if rows is None else self.codes[rows])
        if found is None:
            return rows
        return found if rows is None else np.asarray(rows)[found]

    def signs(self, k: int, rows: Array | None = None) -> FloatArray:
        """Return the signs of rows that belong to subproblem `k`."""
        return self.scheme.signs(k, self.codes if rows is None else self.codes[rows])

    def _weights(self, rows: Array | None, signs: FloatArray) -> FloatArray:
        weights = self.weights if rows is None else self.weights[rows]
        if not self._balanced:
            return weights
        positive = signs > 0
        one, rest = weights[positive].sum(), weights[~positive].sum()
        if not (one > 0 and rest > 0):
            return weights
        factor = (one + rest) / 2
        return np.asarray(np.where(positive, weights * (factor / one), weights * (factor / rest)))

    def side_odds(self, k: int) -> float:
        """Return the log-odds of the two sides of a subproblem, by the weights of training."""
        rows = self.rows(k)
        signs = self.signs(k, rows)
        return log_shares(signs, self._weights(rows, signs))

    def named(self, places: list[int]) -> str:
        """Return which subproblems a message is about."""
        return self.scheme.named(places, self.classes)

    def solve_one(
        self,
        problem: Problem,
        k: int,
        options: _core.Options,
        *,
        start: Model | None = None,
        rows: Array | None = None,
        report: Report = None,
        save: bool = False,
    ) -> Any:
        """Return the core's result of subproblem `k`."""
        rows = self.rows(k, rows)
        count = len(self.codes) if rows is None else len(rows)
        if count == 0:  # neither class of a pair is there, as in a fold without rare classes
            return _NoResult(np.zeros(problem.source.shape[1]))
        if options.batch > count:
            options = changed(options, batch=count)
        signs = self.signs(k, rows)
        weights = self._weights(rows, signs)
        if rows is not None or self.copies.source is not None:
            weights = weights / (weights.mean() or 1.0)
        return problem.run(
            signs,
            weights,
            options,
            rows=rows,
            start=None if start is None else (start.coef_[k], start.intercept_[k]),
            report=report,
            subproblem=k,
            save=save,
        )

    def solve(
        self,
        problem: Problem,
        options: _core.Options,
        *,
        start: Model | None = None,
        rows: Array | None = None,
        report: Report = None,
        team: Team | None = None,
        quiet: bool = False,
    ) -> Model:
        """Return a model. Warn if the optimum was not reached, or unexpectedly is the trivial classifier."""
        if start is not None:
            self._check_start(start, problem.source.shape[1])
        if self.count == 1:
            results = [
                self.solve_one(problem, 0, options, start=start, rows=rows, report=report, save=rows is None)
            ]
        else:
            results = self._solve_each(problem, options, start, rows, report, team or Team())
        stops = [result.stop for result in results]
        problem.interrupted = "callback" in stops
        coef = results[0].w[np.newaxis] if self.count == 1 else np.stack([result.w for result in results])
        if stops != ["converged"] * len(stops):
            warn_if_unfinished(results, options, problem.options.max_time, self.named)
        if not quiet:
            self._warn_if_trivial(results, coef, options)
        return Model(
            coef_=coef,
            intercept_=np.array([result.b for result in results]),
            classes_=self.classes,
            multi_class=self.scheme.multi_class,
            lam=options.lam,
            loss=problem.options.core_loss.name,
            objective_=sum([result.objective for result in results]),
            gap_=sum([result.gap for result in results]),
            n_iter_=max([result.iterations for result in results]),
            history_=record(results[0].history) if self.count == 1 else [record(r.history) for r in results],
            feature_names_in_=problem.source.feature_names_in_,
            class_weight_=self.class_weights,
            status_=worst_status(results),
        )

    def _solve_each(
        self,
        problem: Problem,
        options: _core.Options,
        start: Model | None,
        rows: Array | None,
        report: Report,
        team: Team,
    ) -> list[Any]:
        """Return the results of several subproblems, which run in parallel and share the deadline."""
        began = time.monotonic()
        at_a_time = 1 if problem.small or not problem.in_memory else min(team.jobs, self.count)
        tolerance = options.tolerance * (1.0 if self.scheme.pairs is None else _PAIRS)

        def watch(progress: Any) -> bool:
            if report is not None and report(progress) is False:
                team.stop()
            return not team.stopped

        def fit(k: int, threads: int) -> Any:
            left = options.max_seconds - (time.monotonic() - began)
            if left <= 0:
                # The point w = 0; no loss is below 0, so that its value bounds the gap.
                loss = float(problem.options.core_loss.gradient(np.ones(1), np.zeros(1))[0][0])
                w = np.zeros(problem.source.shape[1])
                return _NoResult(w, objective=loss, gap=loss, stop="time", status="limit")
            turns = -(-(self.count - k) // at_a_time)  # that have to share what is left of the time
            share = changed(
                options, threads=threads, max_seconds=max(left / turns, 1e-3), tolerance=tolerance
            )
            return self.solve_one(problem, k, share, start=start, rows=rows, report=watch, save=rows is None)

        return problem.map_fits(fit, range(self.count), team)

    def _check_start(self, start: Any, features: int) -> None:
        check_start(start, Model, features)
        if len(start.classes_) != len(self.classes):
            raise ValueError(f"start: {len(start.classes_)} classes, but y has {len(self.classes)}")
        if self.count > 1 and start.multi_class != self.scheme.multi_class:
            raise ValueError(f"start: multi_class={start.multi_class!r}, not {self.scheme.multi_class!r}")

    def _warn_if_trivial(self, results: list[Any], coef: FloatArray, options: _core.Options) -> None:
        if np.any(coef, axis=1).all():
            return
        places = [k for k, w in enumerate(coef) if not np.any(w) and results[k].stop == "converged"]
        if not places:
            return
        worst = max((results[k] for k in places), key=lambda result: float(result.gap))
        warn(
            f"the optimum is the trivial classifier w = 0{self.named(places)} (objective "
            f"{worst.objective:.6g}, proven to within {worst.gap:.2g}): at lam={options.lam:g} the spread of "
            "the samples outweighs the distance of the classes. Try a smaller lam, a smaller cov_scale, or "
            "more weight for the rarer class (class_weight, sample_weight)",
            TrivialModelWarning,
        )


@dataclass
class _NoResult:
    """The result of a subproblem without samples, or without time."""

    w: FloatArray
    b: float = 0.0
    objective: float = 0.0
    gap: float = 0.0
    iterations: int = 0
    stop: str = "converged"
    status: str = "converged"
    history: tuple[Any, ...] = ()
