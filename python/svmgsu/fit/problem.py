"""A training set, checked once: any number of fits, on all its examples or on some, share its arrays."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..data.coercion import as_deployment
from ..data.definiteness import Psd
from ..data.doubt import read_labels
from ..data.gaussians import as_gaussians, check_subspace_mode
from ..models.calibration import log_shares
from ..models.classifier import Model
from ..models.rule import depends_on_class
from ..support.memory import NotEnoughMemory, require_memory
from ..support.parallel import Team
from ..support.validation import Array, FloatArray, check_weights, class_factors
from .division import Division
from .examples import VECTORS, ConvergenceWarning, Report, check_scale, record, warn_if_unfinished

__all__ = ["ConvergenceWarning", "Problem", "TrivialModelWarning", "changed_options", "check_scale"]

_Named = Callable[[list[int]], str]

_OPTIONS = (
    *("lam", "loss", "solver", "intercept", "threads", "tolerance", "max_iterations", "max_seconds"),
    *("steps", "batch", "average", "seed"),
)
_SMALL = 20_000
_PAIRS = 0.1  # of the tolerance, for pairs of classes: coupled probabilities compare them all


class TrivialModelWarning(UserWarning):
    """The optimum is w = 0: the model says the same class whatever the example."""


class Problem:
    """Examples, labels and weights. Of two classes it is one problem; of more, one for each pair or class.

    The problems share the arrays: only their rows and signs differ.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        cov: Any = None,
        *,
        std: Any = None,
        psd: Psd = "clip",
        sample_weight: Any = None,
        class_weight: Any = None,
        classes: Any = None,
        multi_class: str = "ovo",
        subspace: float | None = None,
        subspace_mode: str = "truncate",
        cov_scale: float = 1.0,
        deployment_cov: Any = None,
        seed: int = 0,
    ) -> None:
        data = as_gaussians(X, cov, std, psd)
        self.observed = data  # as it was given, and as new objects will be
        self.classes, self.codes, self.copies = read_labels(y, len(data), classes)
        self.labels = self.classes[self.codes]
        if self.copies.source is not None and depends_on_class(data.cov):
            raise ValueError("y: class probabilities do not go with a covariance for each class; give labels")
        self.division = Division(len(self.classes), multi_class)
        self.parts = len(self.division)  # problems
        self._even_sides = class_weight == "balanced" if isinstance(class_weight, str) else False
        self.sample_weights = self.copies.weights(check_weights(sample_weight, len(data)))
        self.given_weights = self.sample_weights
        self.class_weights: FloatArray | None = None
        if class_weight is not None:
            factors = class_factors(class_weight, self.classes, self.codes, self.given_weights)
            self.given_weights = self.given_weights * factors[self.codes]
            self.class_weights = factors / factors.mean() if np.ptp(factors) else None
        self.weights = self.given_weights
        if sample_weight is not None or class_weight is not None or self.copies.source is not None:
            self._check_classes_have_weight("sample_weight" if class_weight is None else "class_weight")
            self.weights = self.weights / self.weights.mean()
        check_subspace_mode(subspace_mode)
        if subspace is not None:
            data = data.subspace(subspace, subspace_mode, y=self._row_labels)
        if deployment_cov is not None:
            data = data.with_more_cov(as_deployment(deployment_cov, data.shape, seed))
        if data.deployment is not None:
            data = data.with_more_cov(data.deployment)
        self.data = data
        self._means = data.core_means()
        self._terms = () if data.cov is None else data.cov.terms(*data.shape, self._row_labels)
        self.cov_scale = check_scale(cov_scale)
        self.interrupted = False  # whether a callback has stopped the last fit

    def __len__(self) -> int:
        """The examples, with all copies of those whose label is in doubt."""
        return len(self.codes)

    @property
    def _row_labels(self) -> Array | None:
        return self.labels if self.copies.source is None else None

    def _check_classes_have_weight(self, name: str) -> None:
        total = np.bincount(self.codes, self.weights, len(self.classes))
        if not total.all():
            label = self.classes[int(np.argmin(total))].item()
            raise ValueError(f"{name}: class {label!r} has no weight; training needs examples of every class")

    @property
    def small(self) -> bool:
        """Whether a fit takes less than some milliseconds."""
        share = 1.0 if self.division.pairs is None else 2.0 / len(self.classes)
        return share * self.data.shape[0] * self.data.shape[1] < _SMALL

    def rows(self, part: int, rows: Array | None = None) -> Array | None:
        """Those of some rows that a problem is about; None for all examples."""
        if rows is None:
            return self.division.rows(part, self.codes)
        some = self.division.rows(part, self.codes[rows])
        return rows if some is None else np.asarray(rows)[some]

    def signs(self, part: int, rows: Array | None = None) -> FloatArray:
        """+1 for the positive class of a problem and -1 for the other side, of rows that it is about."""
        return self.division.signs(part, self.codes if rows is None else self.codes[rows])

    def core(self, rows: Array | None = None, cov_scale: float | None = None, part: int = 0) -> Any:
        """The core's view of a problem's examples, or of those among some rows; arrays are not copied."""
        scale = self.cov_scale if cov_scale is None else cov_scale
        terms = self._terms
        if scale != 1.0:
            terms = tuple((kind, scale * factor) for kind, factor in terms) if scale else ()
        rows = self.rows(part, rows)
        signs = self.signs(part, rows)
        if rows is None and self.copies.source is None:
            return _core.labelled(self._means, terms, signs, self._part_weights(self.weights, signs))
        rows = np.arange(len(self)) if rows is None else rows
        weights = self._part_weights(self.weights[rows], signs)
        weights = weights / (weights.mean() or 1.0)
        places = np.ascontiguousarray(self.copies.places(rows), dtype=np.int64)
        return _core.labelled(self._means, terms, signs, weights, places)

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
        options: Any,
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
        self._check_start(start)
        if self.parts == 1:
            results = [self.run(options, 0, start, rows, cov_scale, report)]
        else:
            results = self._run_parts(options, team or Team(), start, rows, cov_scale, report)
        stops = [result.stop for result in results]
        self.interrupted = "callback" in stops
        coef = results[0].w[np.newaxis] if self.parts == 1 else np.stack([result.w for result in results])
        if stops != ["converged"] * len(stops):
            warn_if_unfinished(results, options, self.named)
        if not expect_trivial:
            _warn_of_trivial(results, coef, options, self.named)
        records = [record(result.history) for result in results]
        return Model(
            coef_=coef,
            intercept_=np.array([result.b for result in results]),
            classes_=self.classes,
            multi_class=self.division.multi_class,
            lam=options.lam,
            loss=options.loss.name,
            objective_=sum([result.objective for result in results]),
            gap_=sum([result.gap for result in results]),
            n_iter_=max([result.iterations for result in results]),
            history_=records[0] if self.parts == 1 else records,
            feature_names_in_=self.observed.feature_names_in_,
            class_weight_=self.class_weights,
        )

    def _check_start(self, start: Model | None) -> None:
        if start is None:
            return
        if not isinstance(start, Model):
            raise TypeError(f"start: expected a svmgsu.Model, got {start!r}")
        if start.n_features_in_ != self.data.shape[1]:
            raise ValueError(f"start: {start.n_features_in_} features, but X has {self.data.shape[1]}")
        if len(start.classes_) != len(self.classes):
            raise ValueError(f"start: {len(start.classes_)} classes, but y has {len(self.classes)}")
        if self.parts > 1 and start.multi_class != self.division.multi_class:
            raise ValueError(f"start: multi_class={start.multi_class!r}, not {self.division.multi_class!r}")

    def named(self, parts: list[int]) -> str:
        """Which of several problems a message is about."""
        return self.division.named(parts, self.classes)

    def run(
        self,
        options: Any,
        part: int,
        start: Model | None,
        rows: Array | None,
        cov_scale: float | None,
        report: Report,
    ) -> Any:
        """The core's result for one problem."""
        n = self.data.shape[1]
        require_memory(8.0 * VECTORS * n, f"X: training with {n} features")
        rows = self.rows(part, rows)
        count = len(self) if rows is None else len(rows)
        if count == 0:  # neither class of a pair is there, as in a fold without rare classes
            return _Nothing(np.zeros(self.data.shape[1]))
        if options.batch > count:
            options = changed_options(options, batch=count)
        core = self.core(rows, cov_scale, part)
        at = () if start is None else (np.ascontiguousarray(start.coef_[part]), float(start.intercept_[part]))
        try:
            return _core.solve(core, options, report, *at)
        except MemoryError:
            raise NotEnoughMemory(f"X: there is not enough memory to train with {n} features") from None

    def _run_parts(
        self,
        options: Any,
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
            turns = -(-(self.parts - part) // at_a_time)  # that have to share what is left of the time
            own = changed_options(
                options,
                threads=threads,
                max_seconds=max(left / turns, 1e-3),
                tolerance=options.tolerance * (1.0 if self.division.pairs is None else _PAIRS),
            )
            return self.run(own, part, start, rows, cov_scale, watch)

        return team.map(work, range(self.parts), small=self.small)

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
        rows = np.arange(len(self)) if rows is None and self.copies.source is not None else rows
        chosen = None if rows is None else np.ascontiguousarray(self.copies.places(rows), dtype=np.int64)
        core = _core.Gaussians(means, terms, chosen)
        mean, variance = _core.margins(core, np.ascontiguousarray(coef), threads)
        return mean.T, variance.T


def changed_options(options: Any, **changes: Any) -> Any:
    """A copy of the core's options with some of them changed."""
    out = _core.Options()
    for name in _OPTIONS:
        setattr(out, name, changes.get(name, getattr(options, name)))
    return out


@dataclass
class _Nothing:
    """The result of a problem without examples."""

    w: FloatArray
    b: float = 0.0
    objective: float = 0.0
    gap: float = 0.0
    iterations: int = 0
    stop: str = "converged"
    history: tuple[Any, ...] = ()


def _warn_of_trivial(results: list[Any], coef: FloatArray, options: Any, named: _Named) -> None:
    places = [k for k, w in enumerate(coef) if not w.any() and results[k].stop == "converged"]
    if not places:
        return
    worst = max((results[k] for k in places), key=lambda result: float(result.gap))
    warnings.warn(
        f"the optimum is the trivial classifier w = 0{named(places)} (objective "
        f"{worst.objective:.6g}, proven to within {worst.gap:.2g}): at lam={options.lam:g} the spread of the "
        "examples outweighs the distance of the classes. Try a smaller lam, a smaller cov_scale, or more "
        "weight for the rarer class (class_weight, sample_weight)",
        TrivialModelWarning,
        stacklevel=4,
    )
