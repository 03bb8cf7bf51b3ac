"""What `GSUClassifier` and `GSURegressor` share: reading, order, test-time noise, batches."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from ..._repr import ShowsFit
from ...data.coercion import as_test_noise
from ...data.covariances import Diagonal
from ...data.gaussians import Gaussians, with_gaps
from ...exceptions import ConvergenceWarning
from ...fit.population import observe
from ...io.frames import table_for_predict
from ...models.linear import depends_on_class, new_samples
from ...outofcore.blocks import Blocks
from ...support.parallel import Team
from ...support.validation import Array, FloatArray, check_count, check_positive, is_sparse
from ..inputs import ROUTED, keep_names, may_lack_names, same_units
from .inputs import WIDE, Inputs, StandardErrors, View, deviations
from .task import Deadline, Task, make_folds, order_by_content, with_copies

COPIES = 3  # noisy copies of every sample where test-time noise is announced
CHOICE_ROWS = 20_000  # samples, copies counted, that settings and weights are chosen with
LAST_ROWS = 100_000  # samples that members are fitted to in the end
LEAST_OF_CLASS = 50  # samples of a rare class that take part in choices
NUMBERS = 2**26  # of posterior covariances that are held at a time


@dataclass
class PoolSummary:
    """What a pool has learnt.

    Attributes
    ----------
    members : list of str
    weights : array
        Weights of all members.
    weights_without_uncertainties : array
        Weights where standard errors are unlike those of the training set; 0 for members that use them.
    losses : array
        Held-out loss of each member.
    loss, loss_without_uncertainties : float
        Held-out loss of the pool; its weights were chosen with the same samples.
    gap : float
        Proven bound of the distance of the weights' problem to its optimum.
    gated : float
        Share of training samples whose standard errors are unlike those of the others.
    outside : float
        Mean share by which training samples are outside the support.
    left_out : list of str
        Members for which `max_time` was too short.
    """

    members: list[str]
    weights: FloatArray
    weights_without_uncertainties: FloatArray
    losses: FloatArray
    loss: float
    loss_without_uncertainties: float
    gap: float
    gated: float
    outside: float
    left_out: list[str]

    def __str__(self) -> str:
        lines = [f"{'member':44} {'weight':>8} {'gated':>8} {'loss':>8}"]
        columns = (self.members, self.weights, self.weights_without_uncertainties, self.losses)
        for name, weight, other, loss in zip(*columns, strict=True):
            lines.append(f"{name:44} {weight:8.3f} {other:8.3f} {loss:8.4f}")
        lines.append(f"{'pool':44} {'':8} {'':8} {self.loss:8.4f}")
        lines.append(f"gated {self.gated:.1%}, outside the support {self.outside:.1%}")
        return "\n".join(lines)


class PoolEstimator(ShowsFit, BaseEstimator):  # type: ignore[misc]
    """Samples → units, population, posteriors → members → weights."""

    __metadata_request__fit = ROUTED
    __metadata_request__predict = ROUTED
    __metadata_request__score = ROUTED

    _known_families: tuple[str, ...]

    def _read(self, X: Any, cov: Any, std: Any, groups: Any) -> Gaussians:
        """Training data, checked, and their names."""
        if is_sparse(X):
            raise TypeError(f"X: {type(self).__name__} takes no sparse data; pass X.toarray()")
        cov, std = same_units(self, X, cov, std)
        if isinstance(X, Gaussians):
            keep_names(self, X, reset=True)
        else:
            self.__dict__.pop("names_of_gaussians_", None)
            _check_feature_names(self, X, reset=True)
        data = self._with_gaps(X, cov, std)
        if groups is not None and np.shape(groups) != (len(data),):
            raise ValueError(
                f"groups: shape {np.shape(groups)}; expected one for each of {len(data)} samples"
            )
        known = ~np.isnan(data.mean)
        empty = np.flatnonzero(~known.any(axis=0))
        if len(empty):
            raise ValueError(
                f"X: feature {empty[0]} is missing, or has infinite noise, in every sample; leave it out"
            )
        self.n_features_in_ = data.shape[1]
        return data

    def _new(self, X: Any, cov: Any, std: Any) -> Gaussians:
        """New samples, checked, with their features in the order of the fit."""
        check_is_fitted(self, "inputs_")
        if getattr(self, "names_of_gaussians_", False):
            X = table_for_predict(X, self.feature_names_in_, cov, std, gaps=True)
        if is_sparse(X):
            raise TypeError(f"X: {type(self).__name__} takes no sparse data; pass X.toarray()")
        cov, std = same_units(self, X, cov, std)
        if isinstance(X, Gaussians):
            X = keep_names(self, X, reset=False)
        elif not may_lack_names(self, X):
            _check_feature_names(self, X, reset=False)
        data = self._with_gaps(X, cov, std)
        if data.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {data.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return data

    def _with_gaps(self, X: Any, cov: Any, std: Any) -> Gaussians:
        """X with its covariance; NaN, or infinite noise, is a missing value."""
        if isinstance(X, Gaussians):
            data = new_samples(X, cov, std)
        else:
            seen = observe(X, cov, std)
            data = with_gaps(seen.values, seen.cov, seen.names)
        if depends_on_class(data.cov):
            raise ValueError("cov: one covariance per class cannot be known of samples without a class")
        if is_sparse(data.mean):
            raise TypeError(f"X: {type(self).__name__} takes no sparse data; pass X.toarray()")
        return data

    def _check_settings(self) -> None:
        check_count(self.n_frequencies, "n_frequencies", least=2)
        check_count(self.cv, "cv", least=2)
        if self.n_components is not None:
            check_count(self.n_components, "n_components")
        if self.max_time is not None:
            check_positive(self.max_time, "max_time")
        if self.members is not None:
            chosen = [self.members] if isinstance(self.members, str) else list(self.members)
            for name in chosen:
                if name not in self._known_families:
                    expected = ", ".join(map(repr, self._known_families))
                    raise ValueError(f"members: expected some of {expected}, got {name!r}")
            if not chosen:
                raise ValueError("members: the list is empty")

    def _families(self) -> tuple[str, ...]:
        if self.members is None:
            return self._known_families
        return (self.members,) if isinstance(self.members, str) else tuple(self.members)

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state) % 2**31
        try:
            return int(check_random_state(self.random_state).randint(2**31 - 1))
        except ValueError as error:
            raise ValueError(f"random_state: expected None, an int or a RandomState ({error})") from None

    def _threads(self) -> int:
        return Team(self.threads).threads

    def _prepare(
        self,
        kind: type[Task],
        data: Gaussians,
        targets: FloatArray,
        weights: FloatArray,
        groups: Array | None,
        codes: Array | None,
        seed: int,
        deadline: Deadline,
    ) -> tuple[Gaussians, Any, Array, View, Task]:
        """Learn units and the population, and choose samples and folds that settings are chosen with.

        Returns (data, test-time noise, the chosen samples, the view and the task of these); `codes` are
        classes by which folds are stratified.
        """
        threads = self._threads()
        noise = self.test_noise if self.test_noise is not None else data.test_noise
        if self.n_components is not None and self.n_components > len(data):
            raise ValueError(
                f"n_components: {self.n_components} for n_samples={len(data)}; there must be fewer"
            )
        if data.cov is not None and not data.cov.diagonals(*data.shape).any():
            data = with_gaps(np.asarray(data.mean), None)  # standard errors of 0 are none
        uncertain = data.cov is not None or noise is not None or bool(np.isnan(data.mean).any())
        inputs = Inputs.of(data, weights, uncertain)
        if inputs.constant.all():
            raise ValueError("X: every feature is constant; there is nothing to learn from")
        inputs.learn_population(data, weights, self.n_components, seed, threads, deadline)
        copies = 1 if noise is None else COPIES
        chosen = some_of(codes, len(data), rows_at_a_time(inputs, CHOICE_ROWS) // copies, seed)
        part = data[chosen]
        own = None if groups is None else groups[chosen]
        seen = part if noise is None else as_seen_later(part, noise, seed, copies)
        if seen.cov is not None and data.shape[1] <= WIDE:
            repeated = None if own is None else np.tile(own, copies)
            inputs.errors = StandardErrors.of(deviations(inputs.standard(seen)), repeated)
        labels = None if codes is None else codes[chosen]
        fold = make_folds(labels, own, len(chosen), min(self.cv, len(chosen)), seed)
        numbers = np.arange(len(chosen)) if own is None else np.unique(own, return_inverse=True)[1]
        task = kind(
            np.tile(targets[chosen], (copies, 1)),
            np.tile(weights[chosen], copies),
            with_copies(fold, copies),
            np.tile(numbers, copies),
            threads,
            inputs.standard(part),
        )
        self.inputs_ = inputs
        return data, noise, chosen, inputs.view(seen, threads), task

    def _fit_members(
        self, view: View, task: Task, seed: int, deadline: Deadline
    ) -> tuple[FloatArray, list[str]]:
        """Fit members as long as there is time; returns their held-out answers and those left out."""
        self.members_: list[Any] = []
        left_out: list[str] = []
        held_out: list[FloatArray] = []
        for member in self._make_members(view, seed):
            if held_out and deadline.passed:
                left_out.append(member.name)
                continue
            held_out.append(member.learn(view, task, deadline))
            self.members_.append(member)
        if left_out:
            warnings.warn(
                f"max_time={self.max_time:g} ended after {len(held_out)} of "
                f"{len(held_out) + len(left_out)} members; left out: {', '.join(left_out)}",
                ConvergenceWarning,
                stacklevel=5,
            )
        return np.stack(held_out), left_out

    def _make_members(self, view: View, seed: int) -> list[Any]:
        """Members before they are fitted."""
        raise NotImplementedError

    def _batches(self, data: Gaussians) -> Iterator[tuple[slice, View]]:
        """New samples as members see them, some at a time."""
        inputs: Inputs = self.inputs_
        size = rows_at_a_time(inputs, 2048)
        for first in range(0, len(data), size):
            rows = slice(first, min(len(data), first + size))
            yield rows, inputs.view(data[rows], self._threads())

    def _new_batches(self, X: Any, cov: Any, std: Any) -> Iterator[tuple[slice, View]]:
        """Checked new samples, or the blocks of such, as members see them."""
        if not isinstance(X, Blocks):
            yield from self._batches(self._new(X, cov, std))
            return
        if cov is not None or std is not None:
            raise ValueError("std: blocks have their own covariances; pass std to svmgsu.open")
        for span in X.spans():
            for rows, view in self._batches(self._new(X[span], None, None)):
                yield slice(span.start + rows.start, span.start + rows.stop), view

    def save(self, path: Any) -> None:
        """Write what predictions need to `path`, a path or binary file, completely or not at all.

        `svmgsu.load` reads it back, with the same bits. The file is an .npz archive and no pickle, so that a
        file from a stranger can be opened without harm.
        """
        from ..files import save

        check_is_fitted(self, "inputs_")
        save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        return tags


def some_of_blocks(
    blocks: Blocks, seed: int, columns: dict[str, Any], classes: Any = None
) -> tuple[Gaussians, dict[str, Any], Any]:
    """Draw samples out of core, by their content: (samples, what belongs to each, names of classes).

    `columns` are what was given beside the blocks; y, the weights and the errors of targets are those of the
    files otherwise.
    """
    if columns["y"] is None:
        columns["y"] = blocks.labels()
        classes = blocks.classes if classes is None else classes
        if "y_std" in columns and columns["y_std"] is None:
            columns["y_std"] = blocks.numbers("y_std")
    if columns["sample_weight"] is None:
        columns["sample_weight"] = blocks.numbers("weight")
    for name, column in columns.items():
        if column is not None and np.ndim(column) and len(column) != len(blocks):
            raise ValueError(f"{name}: {len(column)} for {len(blocks)} samples")
    # A pseudo-random number of each sample that depends on its values alone; the least of these are taken.
    drawn = np.empty(len(blocks), dtype=np.uint64)
    for span in blocks.spans():
        bits = np.ascontiguousarray(blocks[span].mean, dtype=np.float64).view(np.uint64)
        found = np.full(len(bits), seed + 1, dtype=np.uint64)
        for column in bits.T:
            found = (found ^ column) * np.uint64(0x9E3779B97F4A7C15)
            found ^= found >> np.uint64(29)
        drawn[span] = found
    chosen = np.sort(np.argsort(drawn, kind="stable")[:LAST_ROWS])
    parts = []
    for span in blocks.spans():
        own = chosen[np.searchsorted(chosen, span.start) : np.searchsorted(chosen, span.stop)]
        if len(own):
            parts.append(blocks[span][own - span.start])
    data = parts[0] if len(parts) == 1 else Gaussians.concatenate(parts)
    taken = {
        name: np.asarray(column)[chosen] if column is not None and np.ndim(column) else column
        for name, column in columns.items()
    }
    return data, taken, classes


def rows_at_a_time(inputs: Inputs, most: int) -> int:
    """How many samples' posteriors are held at a time."""
    if inputs.population is None or not inputs.uncertain:
        return most
    K, n = inputs.population.means.shape
    return int(max(64, min(most, NUMBERS // (K * n * n))))


def some_of(codes: Array | None, count: int, most: int, seed: int) -> Array:
    """At most about `most` of the samples, in their order, with some of every class."""
    if count <= most:
        return np.arange(count)
    rng = np.random.default_rng([seed, 14])
    if codes is None:
        return np.sort(rng.permutation(count)[:most])
    kept = []
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        kept.append(rows[: max(LEAST_OF_CLASS, len(rows) * most // count)])
    return np.sort(np.concatenate(kept))


def canonical_order(data: Gaussians, *others: FloatArray) -> Array:
    """An order of samples by their content, so that the order in which they come changes nothing."""
    parts = [np.asarray(data.mean, dtype=np.float64)]
    if data.cov is not None:
        parts.append(np.asarray(data.cov.diagonals(*data.shape), dtype=np.float64))
        if not data.cov.is_diagonal:  # covariances with the same variances differ in some direction
            direction = np.cos(np.arange(1.0, data.shape[1] + 1))[np.newaxis]
            parts.append(data.cov.map(direction).diagonals(len(data), 1))
    parts += [np.asarray(other, dtype=np.float64).reshape(len(data), -1) for other in others]
    return order_by_content(np.hstack(parts))


def as_seen_later(data: Gaussians, noise: Any, seed: int, copies: int) -> Gaussians:
    """Copies of all samples with test-time noise, block after block; its size is known of each."""
    rng = np.random.default_rng([seed, 13])
    made = []
    for copy in range(copies):
        kind = as_test_noise(noise, data.shape, seed + copy, name="test_noise")
        mean = np.asarray(data.mean, dtype=np.float64)
        mean = mean + kind.noise(rng, (len(data), 1, data.shape[1]))[:, 0]
        total = kind if data.cov is None else data.cov + kind
        if total.is_diagonal:
            total = Diagonal(total.diagonals(*data.shape))
        elif 2 * total.numbers(*data.shape) >= len(data) * data.shape[1] * (data.shape[1] + 1):
            total = total.as_full(*data.shape)
        made.append(with_gaps(mean, total))
    cov = Gaussians.concatenate([Gaussians(np.nan_to_num(part.mean), part.cov) for part in made]).cov
    return with_gaps(np.concatenate([part.mean for part in made]), cov)
