"""`GSUClassifier`: a pool of small classifiers for samples with known uncertainties."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from ...io.frames import check_scored, column_named
from ...support.labels import class_factors, read_labels
from ...support.validation import Array, ArrayLike, FloatArray, RandomState
from ..inputs import ROUTED
from ..linear import labels_of
from .base import PoolEstimator
from .members import CLASSES
from .samples import View, canonical_order
from .weights import Task, lapse_rate, log_pool

EVEN_SHARE = 0.1  # of even odds in the answer for a sample far outside the support


class GSUClassifier(ClassifierMixin, PoolEstimator):  # type: ignore[misc]
    """Classify samples with known measurement errors by a pool of small models.

    The distribution of the true values is learnt first, without labels (extreme deconvolution); each sample,
    given its measurement, is then a mixture of Gaussians. Members of the pool are logistic regressions on
    features that are expected exactly under that mixture (linear, RBF, axis-aligned), the same on the values
    as they are, some with the standard errors as features, and a deconvolution of each class. The
    members' log-probabilities are added with weights >= 0 that minimise the held-out log-loss.

    A sample whose standard errors are unlike those of the training set at its values, or larger than all of
    them, is predicted by the members that can be trusted then: those without standard errors as features and,
    if they are about as good, only those that know the sample's own noise. Far outside the training set's
    support the prediction tends to the members' mean and even odds.

    Parameters
    ----------
    noise : {"measurement", "spread"}, default="measurement"
        What covariances are. "measurement": errors of measured values, whose true values are one each.
        "spread": a sample is a summary of many instances (frames, pixels, repeats) with this mean and
        covariance, and single instances are to be classified; members are then fitted to points drawn from
        the samples, to exact moments and to the samples' own Gaussians.
    test_noise : array or covariance kind, optional
        Covariance of noise that will be there at prediction only: one for all samples, or a pool of which
        each draws one. Each sample is then repeated three times with such noise.
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
        By default all; fewer than 2,000 samples use one.

    Attributes
    ----------
    classes_ : array of shape (K,)
        The classes.
    pool_ : PoolSummary
        Members, their weights and held-out losses; `print(model.pool_)` shows a table.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    NaN, or an infinite standard error, is a missing value. Above 100 features true values are taken as
    independent. Of more than 10,000 samples so many choose penalties and weights, and at most 100,000 are
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

    _table = CLASSES
    _task = Task
    _saved: ClassVar[dict[str, str]] = {**PoolEstimator._saved, "lapse_": "float"}

    def __init__(
        self,
        *,
        noise: str = "measurement",
        test_noise: ArrayLike = None,
        n_components: int | None = None,
        n_frequencies: int = 150,
        members: object = None,
        cv: int = 5,
        noisy_labels: bool = False,
        class_weight: object = None,
        max_time: float | None = None,
        random_state: RandomState = 0,
        threads: int | None = None,
    ) -> None:
        super().__init__(
            noise=noise,
            test_noise=test_noise,
            n_components=n_components,
            n_frequencies=n_frequencies,
            members=members,
            cv=cv,
            max_time=max_time,
            random_state=random_state,
            threads=threads,
        )
        self.noisy_labels = noisy_labels
        self.class_weight = class_weight

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike = None,
        cov: ArrayLike = None,
        std: ArrayLike = None,
        sample_weight: ArrayLike = None,
        groups: ArrayLike = None,
        classes: ArrayLike = None,
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
        budget = self._begin()
        columns = {"y": y, "sample_weight": sample_weight, "groups": groups, "classes": classes}
        data, weights, columns = self._read(X, cov, std, columns)
        self.classes_, codes, each = read_labels(labels_of(columns["y"]), len(data), columns["classes"])
        if 2 < len(self.classes_) == len(codes):
            raise ValueError("y: every sample has a class of its own; svmgsu.GSURegressor predicts numbers")
        targets = each.table(codes)
        if self.class_weight is not None:
            mass = weights @ targets
            targets = targets * class_factors(self.class_weight, self.classes_, np.arange(len(mass)), mass)
            total = targets.sum(axis=1)
            targets = targets / np.where(total > 0, total, 1.0)[:, np.newaxis]
            weights = weights * total
        if not weights.any() or np.count_nonzero(weights @ targets) < 2:
            raise ValueError("sample_weight: at least two classes need samples with weight")
        order = canonical_order(data, targets, weights)
        order = order[weights[order] > 0]
        groups = None if columns["groups"] is None else np.asarray(columns["groups"])[order]
        targets = targets[order]
        self._fit_pool(data[order], targets, weights[order], groups, targets.argmax(axis=1), budget)
        return self

    def _relabel(self, held_out: FloatArray, view: View, task: Task) -> FloatArray:
        """Maximise the likelihood of labels that may be wrong: y_k becomes y_k p_k, held out."""
        if not self.noisy_labels or not (task.targets.max(axis=1) < 1).any():
            return held_out
        given = task.targets.copy()
        for _ in range(3):
            joint = given * np.exp(log_pool(held_out, task.best_weights(held_out).values))
            task.targets = joint / joint.sum(axis=1, keepdims=True)
            held_out = self._fit_members(view, task)
            if task.budget.over:
                break
        return held_out

    def _calibrate(self, pooled: FloatArray, task: Task) -> None:
        self.lapse_ = lapse_rate(pooled, task.targets, task.weights, task.independent)

    def _answers(self, view: View) -> tuple[FloatArray, Array, FloatArray]:
        """Return members' log-probabilities (M, l, K), whether gated (l,), and the pool's probabilities."""
        pool = self.pool_
        K = len(self.classes_)
        gated = self._gated(view)
        # Members without weight count outside the support; those that cannot be trusted not even there.
        trusted = ~gated | (pool.fallback_weights > 0)[:, np.newaxis]
        logs = np.zeros((len(self.members_), len(view), K))
        for m, rows, some in self._asked(view, gated, trusted & (view.outside > 0)):
            logs[m, rows] = self.members_[m].predict(some)
        p = np.exp(log_pool(logs, pool.weights))
        if gated.any():
            p[gated] = np.exp(log_pool(logs[:, gated], pool.fallback_weights))
        p = (1 - self.lapse_) * p + self.lapse_ / K
        far = np.flatnonzero(view.outside)
        o = view.outside[far, np.newaxis]
        shares = trusted[:, far] / trusted[:, far].sum(axis=0)
        mean = np.einsum("ml,mlk->lk", shares, np.exp(logs[:, far]))
        p[far] = (1 - o) * p[far] + o * ((1 - EVEN_SHARE) * mean + EVEN_SHARE / K)
        return logs, gated, p

    def predict_proba(self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None) -> FloatArray:
        """Return probabilities of the classes, (l, K), for samples X with their own `cov` or `std`."""
        return np.concatenate(self._ask(lambda view: self._answers(view)[2], X, cov, std))

    def predict(self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None) -> Array:
        """Return the most probable class of samples X with their own `cov` or `std`."""
        best = self.predict_proba(X, cov, std).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def decision_function(self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None) -> FloatArray:
        """Return log-odds (l,) of samples X with `cov` or `std`; of more classes log-probabilities."""
        p = np.maximum(self.predict_proba(X, cov, std), 1e-300)
        return np.asarray(np.log(p[:, 1] / p[:, 0]) if p.shape[1] == 2 else np.log(p))

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        cov: ArrayLike = None,
        std: ArrayLike = None,
    ) -> float:
        """Return the accuracy on samples X (with `cov`, `std`) and labels y, weighted by `sample_weight`."""
        check_scored(self._had_noise, X, cov, std)
        targets = column_named(X, y)
        return float(accuracy_score(targets, self.predict(X, cov, std), sample_weight=sample_weight))

    def _explained(self, answers: Any) -> tuple[list[dict[str, Any]], str, FloatArray]:
        logs, _, p = answers
        best = p.argmax(axis=1)
        rows = np.arange(len(best))
        said = [{"label": self.classes_[k].item(), "probability": float(p[i, k])} for i, k in enumerate(best)]
        return said, "probability", np.exp(logs[:, rows, best])
