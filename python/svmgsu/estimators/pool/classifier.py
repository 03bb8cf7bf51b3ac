"""`GSUClassifier`: a pool of small classifiers for samples with known measurement errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from ...data.gaussians import Gaussians
from ...data.soft_labels import read_labels
from ...io.frames import table_for_fit
from ...outofcore.blocks import Blocks
from ...support.labels import check_raw_weights, class_factors
from ...support.validation import Array, FloatArray
from ..inputs import ROUTED
from ..linear import labels_of
from . import axis_aligned, linear, rbf
from .base import (
    LAST_ROWS,
    NUMBERS,
    PoolEstimator,
    PoolSummary,
    as_seen_later,
    canonical_order,
    some_of,
    some_of_blocks,
)
from .classwise import ClasswiseMember
from .inputs import Mixture, View
from .logistic import LogisticMember
from .support import Gate, within_support
from .task import Deadline, Task
from .weights import Weights, classification_weights, lapse_rate, log_pool, with_lapses

PENALTY = 5.0  # of the pool's weights, divided by the number of independent groups
# (on the posterior, family, standard errors as features, linear terms): cheap ones first, for `max_time`.
SPECS = (
    (True, "linear", True, False),
    (False, "linear", True, False),
    (True, "rbf", False, False),
    (True, "classwise", False, False),
    (True, "axis_aligned", True, True),
    (False, "rbf", True, True),
    (True, "rbf", True, False),
    (True, "axis_aligned", False, False),
    (False, "axis_aligned", True, True),
    (False, "rbf", False, False),
)
FAMILY_NAMES = {"linear": "linear", "rbf": "RBF", "axis_aligned": "axis-aligned"}


class GSUClassifier(ClassifierMixin, PoolEstimator):  # type: ignore[misc]
    """Classify samples with known measurement errors by a pool of small models.

    The distribution of the true values is learnt first, without labels (extreme deconvolution); each sample,
    given its measurement, is then a mixture of Gaussians. Members of the pool are logistic regressions on
    features that are expected exactly under that mixture (linear, RBF, axis-aligned), the same on the values
    as they are, some with the standard errors as features, and a deconvolution of each class. The
    members' log-probabilities are added with weights >= 0 that minimise the held-out log-loss.

    A sample whose standard errors are unlike those of the training set at its values is predicted by the
    members that do not use them as features. Far outside the training set's support the answer tends to the
    members' mean and even odds.

    Parameters
    ----------
    test_noise : array or covariance kind, optional
        Covariance of noise that will be there at prediction only: one for all samples, or a pool of which
        each draws one. Training then sees three noisy copies of every sample.
    n_components : int, optional
        Components of the distribution of true values. By default ten, or fewer such that each has ten samples
        for each feature.
    n_frequencies : int, default=150
        Random frequencies of each RBF or axis-aligned member.
    members : list of {"linear", "rbf", "axis_aligned", "classwise"}, optional
        Families that take part; by default all.
    cv : int, default=5
        Folds, stratified and by group, that choose penalties and weights.
    noisy_labels : bool, default=False
        What class probabilities as y mean. By default of samples like this one such shares are of each class.
        If True, a sample is of one class but its label may be wrong: its likelihood is log Σ_k y_k p_k.
    class_weight : dict or "balanced", optional
        Factors of the classes' sample weights.
    max_time : float, optional
        Seconds after which no new member is begun. A `ConvergenceWarning` says which were left out.
    random_state : int, RandomState or None, default=0
        Seed of frequencies, folds and starts.
    threads : int, optional
        By default all.

    Attributes
    ----------
    classes_ : array of shape (K,)
    pool_ : PoolSummary
        Members, their weights and held-out losses; `print(model.pool_)` shows a table.
    n_features_in_ : int

    Notes
    -----
    NaN, or an infinite standard error, is a missing value. Above 100 features true values are taken as
    independent. Of more than 20,000 samples so many choose penalties and weights, and at most 100,000 are
    fitted. The order of samples, and a common factor of their weights, change nothing.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.where((X**2).sum(axis=1) > 1.4, "outside", "inside")
    >>> model = svmgsu.GSUClassifier().fit(X + 0.2 * rng.normal(size=X.shape), y, std=0.2)
    >>> model.predict([[0.0, 0.0], [2.0, 2.0]], std=0.2).tolist()
    ['inside', 'outside']
    """

    __metadata_request__predict_proba = ROUTED
    __metadata_request__decision_function = ROUTED

    _known_families = ("linear", "rbf", "axis_aligned", "classwise")

    def __init__(
        self,
        *,
        test_noise: Any = None,
        n_components: int | None = None,
        n_frequencies: int = 150,
        members: Any = None,
        cv: int = 5,
        noisy_labels: bool = False,
        class_weight: Any = None,
        max_time: float | None = None,
        random_state: Any = 0,
        threads: int | None = None,
    ) -> None:
        self.test_noise = test_noise
        self.n_components = n_components
        self.n_frequencies = n_frequencies
        self.members = members
        self.cv = cv
        self.noisy_labels = noisy_labels
        self.class_weight = class_weight
        self.max_time = max_time
        self.random_state = random_state
        self.threads = threads

    def fit(
        self,
        X: Any,
        y: Any = None,
        cov: Any = None,
        std: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        classes: Any = None,
    ) -> GSUClassifier:
        """Fit the pool.

        Parameters
        ----------
        X : Gaussians, array, DataFrame or what `svmgsu.open` returns, of shape (l, n)
            Measured values; in arrays NaN is a missing value. Out of core, at most 100,000 samples take part,
            drawn by their content and `random_state`.
        y : array of shape (l,) or (l, K)
            Labels, or probabilities of the classes; out of core by default those of the files.
        cov, std : optional
            Covariances or standard errors of the measurements, as in `svmgsu.Gaussians`.
        sample_weight : array of shape (l,), optional
            Weights of the samples; those of weight 0 are ignored.
        groups : array of shape (l,), optional
            Samples of one group are never on both sides of a fold.
        classes : list, optional
            Names of the columns of class probabilities, by default those of a data frame.
        """
        self._check_settings()
        deadline = Deadline(self.max_time)
        if isinstance(X, Blocks):
            columns = {"y": y, "sample_weight": sample_weight, "groups": groups}
            X, columns, classes = some_of_blocks(X, self._seed(), columns, classes)
            y, sample_weight, groups = columns.values()
        X, y = table_for_fit(X, y, cov, std, gaps=True)
        data = self._read(X, cov, std, groups)
        self.classes_, codes, each = read_labels(labels_of(y), len(data), classes)
        if 2 < len(self.classes_) == len(codes):
            raise ValueError("y: every sample has a class of its own; svmgsu.GSURegressor predicts numbers")
        targets = each.table(codes)
        raw = np.ones(len(data)) if sample_weight is None else check_raw_weights(sample_weight, len(data))
        targets, weights = self._weighted(targets, raw)
        kept = np.flatnonzero(weights)
        order = canonical_order(data, targets, weights)
        order = order[np.isin(order, kept)] if len(kept) < len(data) else order
        groups = None if groups is None else np.unique(np.asarray(groups)[order], return_inverse=True)[1]
        self._learn(data[order], targets[order], weights[order], groups, deadline)
        return self

    def _weighted(self, targets: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Targets and weights with `class_weight`, in units in which the mean weight is 1."""
        weights = weights / weights.max()
        if self.class_weight is not None:
            mass = np.array([math.fsum(weights * column) for column in targets.T])
            factors = class_factors(self.class_weight, self.classes_, np.arange(len(mass)), mass)
            targets = targets * factors
            total = targets.sum(axis=1)
            targets = targets / np.where(total > 0, total, 1.0)[:, np.newaxis]
            weights = weights * total
        if not weights.any() or np.count_nonzero(weights @ targets) < 2:
            raise ValueError("sample_weight: at least two classes need samples with weight")
        # An exactly rounded sum is the same for any order of the samples.
        return targets, weights * (np.count_nonzero(weights) / math.fsum(weights))

    def _learn(
        self, data: Gaussians, targets: FloatArray, weights: FloatArray, groups: Any, deadline: Deadline
    ) -> None:
        seed = self._seed()
        codes = targets.argmax(axis=1)
        data, noise, chosen, view, task = self._prepare(
            Task, data, targets, weights, groups, codes, seed, deadline
        )
        logs, left_out = self._fit_members(view, task, seed, deadline)
        if self.noisy_labels and (task.targets.max(axis=1) < 1).any():
            logs, left_out = self._clean_labels(logs, view, task, seed, deadline)
        self._weigh(logs, view, task, seed, deadline, left_out)
        if len(chosen) < len(data):
            self._refit(data, targets, weights, noise, seed, deadline)

    def _make_members(self, view: View, seed: int) -> list[Any]:
        """Members before they are fitted; without noise those that would be the same are there once."""
        n = self.n_features_in_
        families = self._families()
        made: list[Any] = []
        names: set[str] = set()
        guides: dict[tuple[str, bool], LogisticMember] = {}
        for on_posterior, family, with_errors, with_linear in SPECS:
            if family not in families:
                continue
            if family == "classwise":
                population = self.inputs_.population
                if population is not None:
                    wide = Mixture(np.ones(1), population.means[-1:].copy(), population.covs[-1:].copy())
                    made.append(ClasswiseMember(wide, seed))
                continue
            errors = view.errors.shape[1] if with_errors and view.errors is not None else 0
            # Trained without noise, posteriors are values; new samples may be noisy nevertheless.
            noisy = on_posterior and view.posterior is not None
            name = f"{FAMILY_NAMES[family]} on {'the posterior' if noisy else 'values'}"
            name += " + uncertainties" * (errors > 0) + " + linear" * with_linear
            if name in names:
                continue
            names.add(name)
            if family == "linear":
                candidates: list[Any] = [linear.LinearFeatures(on_posterior, errors > 0)]
                lams = linear.LAMS
            else:
                module: Any = rbf.rbf_candidates if family == "rbf" else axis_aligned.axis_aligned_candidates
                options = {"on_posterior": on_posterior, "linear": with_linear}
                candidates, lams = module(n, errors, int(self.n_frequencies), seed, **options), rbf.LAMS
            made.append(
                LogisticMember(name, errors > 0, candidates, lams, like=guides.get((family, on_posterior)))
            )
            if family != "linear":
                guides.setdefault((family, on_posterior), made[-1])
        return made

    def _clean_labels(
        self, logs: FloatArray, view: View, task: Task, seed: int, deadline: Deadline
    ) -> tuple[FloatArray, list[str]]:
        """Expectation and maximisation for labels that may be wrong: y_k becomes y_k p_k, held out."""
        given = task.targets.copy()
        left_out: list[str] = []
        for _ in range(3):
            w = classification_weights(logs, task.targets, task.weights, PENALTY / task.independent).values
            joint = given * np.exp(log_pool(logs, w))
            task.targets = joint / joint.sum(axis=1, keepdims=True)
            logs, left_out = self._fit_members(view, task, seed, deadline)
            if deadline.passed:
                break
        return logs, left_out

    def _weigh(
        self, logs: FloatArray, view: View, task: Task, seed: int, deadline: Deadline, left_out: list[str]
    ) -> None:
        """The pool's weights, with and without standard errors as features, and the gate between them."""
        penalty = PENALTY / task.independent
        uses = np.array([member.uncertainties for member in self.members_])
        both = classification_weights(logs, task.targets, task.weights, penalty)
        self.gate_: Gate | None = None
        plain = both
        if uses.any() and not uses.all():
            found = classification_weights(logs[~uses], task.targets, task.weights, penalty)
            values = np.zeros(len(uses))
            values[~uses] = found.values
            plain = Weights(values, found.objective, found.gap)
            self.gate_ = Gate.learn(view, task, seed, deadline)
        self.weights_, self.plain_weights_ = both.values, plain.values
        pooled = log_pool(logs, both.values)
        self.lapse_ = lapse_rate(pooled, task.targets, task.weights, task.independent)
        self.pool_ = PoolSummary(
            [member.name for member in self.members_],
            both.values,
            plain.values,
            np.array([task.mean(task.losses(own)) for own in logs]),
            task.mean(task.losses(pooled)),
            task.mean(task.losses(log_pool(logs, plain.values))),
            max(both.gap, plain.gap),
            0.0 if self.gate_ is None else float(self.gate_(view).mean()),
            float(view.outside.mean()),
            left_out,
        )

    def _refit(
        self,
        data: Gaussians,
        targets: FloatArray,
        weights: FloatArray,
        noise: Any,
        seed: int,
        deadline: Deadline,
    ) -> None:
        """Fit the logistic members to more samples than took part in choices."""
        chosen = some_of(targets.argmax(axis=1), len(data), LAST_ROWS, seed)
        seen = data[chosen] if noise is None else as_seen_later(data[chosen], noise, seed, 1)
        everyone = np.zeros(len(chosen), dtype=np.int64)
        task = Task(targets[chosen], weights[chosen], [], everyone, self._threads())
        waiting = [member for member in self.members_ if isinstance(member, LogisticMember)]
        while waiting and not deadline.passed:
            # As many members at a time as their features fit into memory; posteriors are made once for these.
            width = max(member.scores.W.shape[1] for member in waiting)
            now = waiting[: max(1, 2 * NUMBERS // (len(seen) * width))]
            waiting = waiting[len(now) :]
            Z = [np.empty((len(seen), member.scores.W.shape[1]), dtype=np.float32) for member in now]
            for rows, view in self._batches(seen):
                for member, out in zip(now, Z, strict=True):
                    out[rows] = member.features(view, task.threads)
            for member, features in zip(now, Z, strict=True):
                member.refit(features, task, deadline)

    def _answers(self, view: View) -> tuple[FloatArray, Array, FloatArray]:
        """(members' log-probabilities (M, l, K), whether gated (l,), probabilities of the pool (l, K))."""
        threads = self._threads()
        logs = np.stack([member.log_proba(view, threads) for member in self.members_])
        gated = np.zeros(len(view), dtype=bool) if self.gate_ is None else self.gate_(view)
        uses = np.array([member.uncertainties for member in self.members_])
        p = np.empty(logs.shape[1:])
        for rows, weights, who in (
            (~gated, self.weights_, np.ones(len(uses), dtype=bool)),
            (gated, self.plain_weights_, ~uses),
        ):
            if rows.any():
                part = logs[:, rows][who]
                pooled = with_lapses(np.exp(log_pool(part, weights[who])), self.lapse_)
                p[rows] = within_support(pooled, np.exp(part), view.outside[rows])
        return logs, gated, p

    def predict_proba(self, X: Any, cov: Any = None, std: Any = None) -> FloatArray:
        """Probabilities of the classes, (l, K), for samples X with their own `cov` or `std`."""
        found = [self._answers(view)[2] for _, view in self._new_batches(X, cov, std)]
        return np.concatenate(found) if found else np.empty((0, len(self.classes_)))

    def predict(self, X: Any, cov: Any = None, std: Any = None) -> Array:
        """The most probable class of samples X with their own `cov` or `std`."""
        best = self.predict_proba(X, cov, std).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def decision_function(self, X: Any, cov: Any = None, std: Any = None) -> FloatArray:
        """Log-odds (l,) of samples X with `cov` or `std`; log-probabilities (l, K) of several classes."""
        p = np.maximum(self.predict_proba(X, cov, std), 1e-300)
        return np.asarray(np.log(p[:, 1] / p[:, 0]) if p.shape[1] == 2 else np.log(p))

    def score(self, X: Any, y: Any, sample_weight: Any = None, cov: Any = None, std: Any = None) -> float:
        """Accuracy on samples X (with `cov`, `std`) and labels y, weighted by `sample_weight`."""
        return float(accuracy_score(y, self.predict(X, cov, std), sample_weight=sample_weight))

    def explain(self, X: Any, cov: Any = None, std: Any = None) -> list[dict[str, Any]]:
        """Explain the prediction of each sample of X, with `cov` or `std`: which members answered, and how.

        Returns
        -------
        list of dict
            For each sample: `"label"` and `"probability"` of its prediction; `"gated"`: whether its standard
            errors are unlike those of the training set, so that members that use them did not answer;
            `"outside"`: how far it is outside the training set's support, from 0 to 1; and `"members"`: a
            list of `{"member", "weight", "probability", "share"}`, the largest share first. The share of a
            member is how much its weighted log-odds of the label, against the mean of the other classes,
            contribute to those of the pool.
        """
        data = self._new(X, cov, std)
        found: list[dict[str, Any]] = []
        names = [member.name for member in self.members_]
        for _, view in self._batches(data):
            logs, gated, p = self._answers(view)
            best = p.argmax(axis=1)
            for i, k in enumerate(best.tolist()):
                weights = self.plain_weights_ if gated[i] else self.weights_
                others = np.delete(logs[:, i], k, axis=1).mean(axis=1)
                odds = weights * (logs[:, i, k] - others)
                shares = odds / max(float(np.abs(odds).sum()), 1e-300)
                order = np.argsort(-np.abs(shares), kind="stable")
                members = [
                    {
                        "member": names[m],
                        "weight": float(weights[m]),
                        "probability": float(np.exp(logs[m, i, k])),
                        "share": float(shares[m]),
                    }
                    for m in order.tolist()
                    if weights[m] > 0
                ]
                found.append(
                    {
                        "label": self.classes_[k].item(),
                        "probability": float(p[i, k]),
                        "gated": bool(gated[i]),
                        "outside": float(view.outside[i]),
                        "members": members,
                    }
                )
        return found
