"""What `GSUClassifier` and `GSURegressor` share: reading samples, fitting members, weighing them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names, check_is_fitted
from threadpoolctl import threadpool_limits

from ..._repr import ShowsFit
from ...data.gaussians import Gaussians, with_gaps
from ...exceptions import ConvergenceWarning
from ...io.frames import table_for_fit, table_for_predict
from ...models.linear import new_samples
from ...outofcore.blocks import Blocks
from ...support.labels import check_raw_weights
from ...support.parallel import parallel_map, thread_count
from ...support.types import Fields, Path, Tags
from ...support.validation import (
    Array,
    ArrayLike,
    FloatArray,
    Matrix,
    RandomState,
    check_choice,
    check_count,
    check_positive,
    is_sparse,
)
from ..inputs import ROUTED, keep_names, may_lack_names, same_units
from ..observations import Observed, check_near, observe
from .members import Table, make_members
from .mixture import Budget
from .samples import (
    WIDE,
    Inputs,
    StandardErrors,
    View,
    instances,
    make_folds,
    some_of,
    some_of_blocks,
    with_test_noise,
)
from .weights import Gate, PoolSummary, Task, Weights

Answer = TypeVar("Answer")

COPIES = 3  # noisy copies of every sample where test-time noise is announced
INSTANCES = 10  # points drawn from each sample with noise="spread", at most
CHOICE_ROWS = 10_000  # samples, copies counted, that settings and weights are chosen with
SPREAD_ROWS = 1_500  # the same of instances, of which each sample has several
FEW_ROWS = 2_000  # samples below which one thread is used
LAST_ROWS = 100_000  # samples that members are fitted to in the end
BATCH = 512  # samples at a time in predictions: their posteriors stay in the processor's cache
NUMBERS = 2**26  # of posterior covariances that are held at a time
NEGLIGIBLE = 0.02  # a member's weight: it would cost more time in predictions than it gains
NOISIER = 1.5  # times the largest standard error of the fit: the fallback answers
MATTERS = 0.1  # of a feature's spread: smaller standard errors change little
NEARLY = 1.05  # times the loss of the fallback that members which know the noise may have


class PoolEstimator(ShowsFit, BaseEstimator):  # type: ignore[misc]
    """Samples → units, population, posteriors → members → weights.

    Subclasses learn by `_calibrate(pooled, task)` how far to trust the pool's held-out predictions, and have
    `_answers(view)`: members' predictions, whether gated, the pool's predictions and what else is needed.
    """

    __metadata_request__fit = ROUTED
    __metadata_request__predict = ROUTED
    __metadata_request__score = ROUTED

    _table: Table  # the members
    _task: type[Task]
    _had_noise = False  # whether `fit` was given uncertainties beside X
    # Attributes in files, with their types.
    _saved: ClassVar[dict[str, str]] = {
        "inputs_": "Inputs",
        "members_": "list[Member]",
        "gate_": "Gate | None",
        "pool_": "PoolSummary",
    }

    def __init__(
        self,
        *,
        noise: str = "measurement",
        test_noise: ArrayLike = None,
        n_components: int | None = None,
        n_frequencies: int = 150,
        members: Any = None,
        cv: int = 5,
        max_time: float | None = None,
        random_state: RandomState = 0,
        threads: int | None = None,
    ) -> None:
        self.noise = noise
        self.test_noise = test_noise
        self.n_components = n_components
        self.n_frequencies = n_frequencies
        self.members = members
        self.cv = cv
        self.max_time = max_time
        self.random_state = random_state
        self.threads = threads

    def _begin(self) -> Budget:
        """Check the settings, and take the time."""
        check_choice(self.noise, "noise", ("measurement", "spread"))
        if self.noise == "spread" and self.test_noise is not None:
            raise ValueError('test_noise: new samples are instances without noise if noise="spread"')
        check_count(self.n_frequencies, "n_frequencies", least=2)
        check_count(self.cv, "cv", least=2)
        if self.n_components is not None:
            check_count(self.n_components, "n_components")
        if self.max_time is not None:
            check_positive(self.max_time, "max_time")
        known = dict.fromkeys(line[0] for line in self._table)
        wanted = known if self.members is None else self.members
        self._families = (wanted,) if isinstance(wanted, str) else tuple(wanted)
        if not self._families:
            raise ValueError("members: the list is empty")
        for name in self._families:
            if name not in known:
                raise ValueError(f"members: expected some of {', '.join(map(repr, known))}, got {name!r}")
        if isinstance(self.random_state, (int, np.integer)):
            self._seed = int(self.random_state) % 2**31
        else:
            try:
                self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
            except ValueError as error:
                raise ValueError(f"random_state: expected None, an int or a RandomState ({error})") from None
        return Budget(self.max_time)

    def _read(
        self, X: ArrayLike, cov: ArrayLike, std: ArrayLike, columns: Fields
    ) -> tuple[Gaussians, FloatArray, Fields]:
        """Check the training data, and keep the names of features.

        `columns` are y, `sample_weight`, `groups` and what else belongs to the samples. Returns the samples,
        their weights in units of the largest one, and the columns; of blocks some samples are drawn.
        """
        self._had_noise = cov is not None or std is not None
        if isinstance(X, Blocks):
            X, columns = some_of_blocks(X, LAST_ROWS, self._seed, columns)
        X, columns["y"] = table_for_fit(X, columns["y"], cov, std, gaps=True)
        cov, std = same_units(self, X, cov, std)
        if isinstance(X, Gaussians):
            keep_names(self, X, reset=True)
        else:
            self.__dict__.pop("names_of_gaussians_", None)
            _check_feature_names(self, X, reset=True)
        data = self._with_gaps(X, cov, std)
        count = len(data)
        groups = columns["groups"]
        if groups is not None and np.shape(groups) != (count,):
            raise ValueError(f"groups: shape {np.shape(groups)}; expected one for each of {count} samples")
        empty = np.flatnonzero(np.isnan(data.mean).all(axis=0))
        if len(empty):
            raise ValueError(
                f"X: feature {empty[0]} is missing, or has infinite noise, in every sample; leave it out"
            )
        if self.n_components is not None and self.n_components > count:
            raise ValueError(f"n_components: {self.n_components} for n_samples={count}; there must be fewer")
        self.n_features_in_ = data.shape[1]
        given = columns["sample_weight"]
        weights = check_raw_weights(1.0 if given is None else given, count)
        return data, weights / weights.max(), columns

    def _new(self, X: ArrayLike, cov: ArrayLike, std: ArrayLike) -> Gaussians:
        """Check new samples, and put their features in the order of the fit."""
        check_is_fitted(self, "inputs_")
        if getattr(self, "names_of_gaussians_", False):
            X = table_for_predict(X, self.feature_names_in_, cov, std, gaps=True)
        cov, std = same_units(self, X, cov, std)
        if isinstance(X, Gaussians):
            X = keep_names(self, X, reset=False)
        elif not is_sparse(X) and not may_lack_names(self, X):
            _check_feature_names(self, X, reset=False)
        data = self._with_gaps(X, cov, std)
        if data.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {data.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        check_near(Observed(np.asarray(data.mean), None, None), self.inputs_.centre, self.inputs_.scale)
        return data

    def _with_gaps(self, X: ArrayLike, cov: ArrayLike, std: ArrayLike) -> Gaussians:
        """Return X with its covariance; NaN, or infinite noise, is a missing value."""
        if is_sparse(X) or (isinstance(X, Gaussians) and is_sparse(X.mean)):
            raise TypeError(f"X: {type(self).__name__} takes no sparse data; pass X.toarray()")
        if isinstance(X, Gaussians):
            data = new_samples(X, cov, std)
        else:
            seen = observe(X, cov, std)
            data = with_gaps(seen.values, seen.cov, seen.names)
        if data.cov is not None and data.cov.needs_classes:
            raise ValueError("cov: one covariance per class cannot be known of samples without a class")
        return data

    def _fit_pool(
        self,
        data: Gaussians,
        targets: FloatArray,
        weights: FloatArray,
        groups: Matrix,
        codes: Array | None,
        budget: Budget,
    ) -> None:
        """Fit the pool to samples in canonical order; `codes` are classes by which folds are stratified."""
        seed = self._seed
        # With few samples threads wait longer than they work.
        threads = budget.threads = 1 if len(data) < FEW_ROWS else thread_count(self.threads)
        # An exactly rounded sum is the same for any order of the samples.
        weights = weights * (len(weights) / math.fsum(weights))
        noise = self.test_noise if self.test_noise is not None else data.test_noise
        if data.cov is not None and not data.cov.diagonals(*data.shape).any():
            data = with_gaps(np.asarray(data.mean), None)  # standard errors of 0 are none
        spread = self.noise == "spread"
        copies = 1 if noise is None else COPIES
        if spread:
            copies = max(2, min(INSTANCES, SPREAD_ROWS // len(data)))
        uncertain = bool(np.isnan(data.mean).any())
        uncertain = uncertain or (not spread and (data.cov is not None or noise is not None))

        def as_new(some: Gaussians, count: int) -> Gaussians:
            """Return copies of samples as they will be at prediction."""
            if spread:
                return instances(some, seed, count)
            return some if noise is None else with_test_noise(some, noise, seed, count)

        with threadpool_limits(threads):
            everyone = as_new(data, copies) if spread else data
            many = np.tile(weights, len(everyone) // len(data))
            inputs = self.inputs_ = Inputs.of(everyone, many, uncertain)
            if spread and data.shape[1] > WIDE:
                inputs.rotate(everyone)
            inputs.learn_population(everyone, many, self.n_components, seed, budget)
            chosen = some_of(codes, len(data), rows_at_a_time(inputs, CHOICE_ROWS) // copies, seed)
            part = data[chosen]
            own = None if groups is None else np.unique(groups[chosen], return_inverse=True)[1]
            seen = as_new(part, copies)
            if seen.cov is not None and not spread:
                deviations = inputs.standard(seen).deviations()
                inputs.largest = np.where(np.isinf(deviations), 0.0, deviations).max(axis=0)
                if data.shape[1] <= WIDE:
                    inputs.errors = StandardErrors.of(
                        deviations, None if own is None else np.tile(own, copies)
                    )
            view = inputs.view(seen, threads)
            by_class = None if codes is None else codes[chosen]
            task = self._task(
                np.tile(targets[chosen], (copies, 1)),
                np.tile(weights[chosen], copies),
                make_folds(by_class, own, len(chosen), min(self.cv, len(chosen)), seed, copies),
                np.tile(np.arange(len(chosen)) if own is None else own, copies),
                budget,
                inputs.standard(seen if spread else part),
                inputs.standard(part) if spread else None,
            )
            held_out = self._relabel(self._fit_members(view, task), view, task)
            self._weigh(held_out, view, task)
            if len(chosen) < len(data):
                last = some_of(codes, len(data), LAST_ROWS, seed)
                self._refit(as_new(data[last], 1), targets[last], weights[last], budget)

    def _fit_members(self, view: View, task: Task) -> FloatArray:
        """Fit members as long as there is time; return their held-out predictions."""
        self.members_: list[Any] = []
        held_out: list[FloatArray] = []
        spread = task.summaries is not None
        wide = self.inputs_.population is None
        count = int(self.n_frequencies)
        made = make_members(self._table, self._families, view, wide, spread, count, self._seed)
        for member in made:
            if held_out and task.budget.over:
                break
            held_out.append(member.learn(view, task))
            self.members_.append(member)
        self._left_out = [member.name for member in made[len(held_out) :]]
        if self._left_out:
            warnings.warn(
                f"max_time={self.max_time:g} ended after {len(held_out)} of {len(made)} members; left out: "
                f"{', '.join(self._left_out)}",
                ConvergenceWarning,
                stacklevel=4,
            )
        return np.stack(held_out)

    def _relabel(self, held_out: FloatArray, view: View, task: Task) -> FloatArray:
        """Learn labels again that may be wrong; return held-out predictions."""
        return held_out

    def _weigh(self, held_out: FloatArray, view: View, task: Task) -> None:
        """Find both sets of weights and the gate between them."""
        uses = np.array([member.uses_errors for member in self.members_])
        knows = np.array([member.knows_noise for member in self.members_])

        def among(some: Array) -> tuple[Weights, float]:
            """Return weights, 0 for members that are not among `some`, and the held-out loss."""
            chosen = np.flatnonzero(some)
            found = task.best_weights(held_out[chosen])
            kept = chosen[found.values >= NEGLIGIBLE]
            if 0 < len(kept) < len(chosen):
                chosen = kept
                found = task.best_weights(held_out[chosen])
            values = np.zeros(len(some))
            values[chosen] = found.values
            return Weights(values, found.objective, found.gap), task.mean(
                task.losses(task.pooled(held_out, values))
            )

        both, loss = among(np.ones(len(uses), dtype=bool))
        fallback, fallback_loss = both, loss
        self.gate_: Gate | None = None
        if not uses.all() and view.posterior is not None:
            if both.values[uses].any():
                fallback, fallback_loss = among(~uses)
                self.gate_ = Gate.learn(view, task, self._seed)
            # Members on measured values know nothing of noise that is larger than in the training set. Those
            # that do are preferred, unless uncertainties are clearly not what they take them for.
            if knows.any() and not knows[~uses].all():
                careful, careful_loss = among(knows)
                if careful_loss <= NEARLY * fallback_loss:
                    fallback, fallback_loss = careful, careful_loss
        scale = getattr(self, "y_scale_", 1.0) ** 2  # losses of numbers are squares
        self.pool_ = PoolSummary(
            [member.name for member in self.members_],
            both.values,
            fallback.values,
            np.array([task.mean(task.losses(one)) for one in held_out]) * scale,
            loss * scale,
            fallback_loss * scale,
            max(both.gap, fallback.gap),
            float(self._gated(view).mean()),
            float(view.outside.mean()),
            self._left_out,
        )
        self._calibrate(task.pooled(held_out, both.values), task)

    def _gated(self, view: View) -> Array:
        """Tell for which samples the fallback weights are used."""
        gated = np.zeros(len(view), dtype=bool)
        if self.inputs_.largest is not None and view.seen.cov is not None:
            limit = np.maximum(NOISIER * self.inputs_.largest, MATTERS)
            known = ~np.isnan(view.seen.values)
            gated = np.asarray(((view.seen.deviations() > limit) & known).any(axis=1))
        return gated if self.gate_ is None else gated | self.gate_(view)

    def _asked(self, view: View, gated: Array, more: Array) -> Iterator[tuple[int, Any, View]]:
        """Yield members, by number, with the samples that they are asked about, by index and as a view.

        These are samples in whose answer the member has a weight, and those in `more`, of shape (M, l).
        """
        pool = self.pool_
        for m in range(len(self.members_)):
            wanted = np.where(gated, pool.fallback_weights[m] > 0, pool.weights[m] > 0) | more[m]
            rows = np.flatnonzero(wanted)
            if 2 * len(rows) > len(view):
                yield m, slice(None), view
            elif len(rows):
                yield m, rows, view.take(rows)

    def _refit(self, seen: Gaussians, targets: FloatArray, weights: FloatArray, budget: Budget) -> None:
        """Fit regressions that have a weight to more samples than took part in choices."""
        everyone = np.zeros(len(seen), dtype=np.int64)
        task = self._task(targets, weights, [], everyone, budget, self.inputs_.standard(seen[:1]))
        weighted = (self.pool_.weights > 0) | (self.pool_.fallback_weights > 0)
        for m in np.flatnonzero(weighted):
            member = self.members_[m]
            if budget.over or not hasattr(member, "refit"):
                continue
            Z = np.empty((len(seen), member.W.shape[1]), dtype=np.float32)

            def fill(rows: slice, view: View, Z: Any = Z, features: Any = member.features) -> None:
                Z[rows] = features(view)

            self._map(fill, seen)
            member.refit(Z, task)

    def _map(self, work: Callable[[slice, View], Answer], data: Gaussians) -> list[Answer]:
        """Work on samples as members see them, some at a time; threads share these batches."""
        threads = thread_count(self.threads)
        size = max(64, rows_at_a_time(self.inputs_, BATCH * threads) // threads)

        def one(first: int) -> Answer:
            rows = slice(first, min(len(data), first + size))
            return work(rows, self.inputs_.view(data[rows], 1))

        if len(data) <= size:
            return [one(0)]
        # The batches share the processors; the matrix products inside one must not do so once more.
        with threadpool_limits(1):
            return parallel_map(one, range(0, len(data), size), threads)

    def _ask(
        self, work: Callable[[View], Answer], X: ArrayLike, cov: ArrayLike, std: ArrayLike
    ) -> list[Answer]:
        """Check new samples, or blocks of them, and work on some at a time."""
        if not isinstance(X, Blocks):
            return self._map(lambda _, view: work(view), self._new(X, cov, std))
        if cov is not None or std is not None:
            raise ValueError("std: blocks have their own covariances; pass std to svmgsu.open")
        parts = (self._new(X[span], None, None) for span in X.spans())
        return [found for part in parts for found in self._map(lambda _, view: work(view), part)]

    def _try(self, view: View) -> None:
        """Raise ValueError unless every member answers; for pools read from files."""
        answers = [member.predict(view) for member in self.members_]
        for found in (*answers, self._answers(view)[2]):
            if len(found) != len(view) or not np.isfinite(found).all():
                raise ValueError("its predictions are not finite")

    def explain(self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None) -> list[Fields]:
        """Explain the prediction of each sample of X, with `cov` or `std`: which members answered, and how.

        Returns
        -------
        list of dict
            For each sample: its `"label"` and `"probability"`, or the `"prediction"` of a number; `"gated"`:
            whether its standard errors are unlike those of the training set, so that the fallback weights
            were used; `"outside"`: how far it is outside the training set's support, from 0 to 1; and
            `"members"`: for each member with a weight, the largest first, its name as `"member"`, `"weight"`,
            and the `"probability"` it gives to that label, or its `"prediction"`.
        """

        def explained(view: View) -> list[Fields]:
            answers = self._answers(view)
            gated = answers[1]
            said: list[Fields]
            said, what, each = self._explained(answers)
            for i, own in enumerate(said):
                weights = self.pool_.fallback_weights if gated[i] else self.pool_.weights
                own["gated"] = bool(gated[i])
                own["outside"] = float(view.outside[i])
                own["members"] = [
                    {"member": self.pool_.members[m], "weight": float(weights[m]), what: float(each[m, i])}
                    for m in np.argsort(-weights, kind="stable").tolist()
                    if weights[m] > 0
                ]
            return said

        return [one for part in self._ask(explained, X, cov, std) for one in part]

    def save(self, path: Path) -> None:
        """Write what predictions need to `path`, a path or binary file, completely or not at all.

        `svmgsu.load` reads it back, with the same bits. The file is an .npz archive and no pickle, so that a
        file from a stranger can be opened without harm.
        """
        from ..archive import save

        check_is_fitted(self, "inputs_")
        save(self, path)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        return tags


def rows_at_a_time(inputs: Inputs, most: int) -> int:
    """Return how many samples' posteriors are held at a time."""
    if inputs.population is None or not inputs.uncertain:
        return most
    K, n = inputs.population.means.shape
    return int(max(64, min(most, NUMBERS // (K * n * n))))
