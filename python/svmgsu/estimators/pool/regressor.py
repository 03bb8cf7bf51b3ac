"""`GSURegressor`: a pool of small regressions for samples with known measurement errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import column_or_1d

from ...data.gaussians import Gaussians
from ...io.frames import table_for_fit
from ...outofcore.blocks import Blocks
from ...support.labels import check_raw_weights
from ...support.validation import Array, FloatArray, as_float_array, as_generator, check_count, check_finite
from . import axis_aligned, linear, rbf
from .base import PoolEstimator, PoolSummary, as_seen_later, canonical_order, some_of_blocks
from .inputs import View
from .joint import JointMember
from .ridge import RidgeMember, Sums
from .support import Gate
from .task import Deadline, NumberTask, Task
from .weights import Weights, regression_weights

PENALTY = 5.0  # of the pool's weights, times the best member's loss, by the number of independent groups
# (on the posterior, family, standard errors as features, linear terms)
SPECS = (
    (True, "linear", True, False),
    (True, "rbf", False, True),
    (True, "joint", False, False),
    (True, "rbf", True, False),
    (True, "axis_aligned", True, False),
    (True, "axis_aligned", False, False),
    (False, "rbf", False, False),
)
FAMILY_NAMES = {"linear": "linear", "rbf": "RBF", "axis_aligned": "axis-aligned"}
LAMS = np.logspace(-1, -8, 15)
UNEXPLAINED = 0.1  # of the targets' variance: errors of targets count beside it
QUANTILES = 1001  # of the standardised held-out residuals that are kept


class GSURegressor(RegressorMixin, PoolEstimator):  # type: ignore[misc]
    """Predict numbers from samples with known measurement errors by a pool of small models.

    The members are ridge regressions on features that are expected exactly under each sample's posterior
    (linear, RBF, axis-aligned), at the values as they are, some with the standard errors as features, and a
    joint deconvolution of values and target. They are averaged with weights that minimise the held-out
    squared error. The predictive distribution is f(x) + s(x) Z: the scale s by the joint deconvolution's
    conditional variance, and Z distributed as the held-out standardised residuals.

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
    members : list of {"linear", "rbf", "axis_aligned", "joint"}, optional
        Families that take part; by default all.
    cv : int, default=5
        Folds, by group, that choose penalties, weights and intervals.
    max_time : float, optional
        Seconds after which no new member is begun. A `ConvergenceWarning` says which were left out.
    random_state : int, RandomState or None, default=0
        Seed of frequencies, folds and starts.
    threads : int, optional
        By default all.

    Attributes
    ----------
    pool_ : PoolSummary
        Members, their weights and held-out mean squared errors; `print(model.pool_)` shows a table.
    n_features_in_ : int

    Notes
    -----
    NaN, or an infinite standard error, is a missing value. A sample whose standard errors are unlike those of
    the training set is predicted by members that do not use them as features; outside the training set's
    support the mean of the RBF members answers.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(300, 1))
    >>> y = np.sin(2 * X[:, 0])
    >>> model = svmgsu.GSURegressor().fit(X + 0.1 * rng.normal(size=X.shape), y, std=0.1)
    >>> bool(abs(model.predict([[0.8]], std=0.1)[0] - 1) < 0.1)
    True
    """

    _known_families = ("linear", "rbf", "axis_aligned", "joint")

    def __init__(
        self,
        *,
        test_noise: Any = None,
        n_components: int | None = None,
        n_frequencies: int = 150,
        members: Any = None,
        cv: int = 5,
        max_time: float | None = None,
        random_state: Any = 0,
        threads: int | None = None,
    ) -> None:
        self.test_noise = test_noise
        self.n_components = n_components
        self.n_frequencies = n_frequencies
        self.members = members
        self.cv = cv
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
        y_std: Any = None,
    ) -> GSURegressor:
        """Fit the pool.

        Parameters
        ----------
        X : Gaussians, array, DataFrame or what `svmgsu.open` returns, of shape (l, n)
            Measured values; in arrays NaN is a missing value. Out of core, at most 100,000 samples take part,
            drawn by their content and `random_state`.
        y : array of shape (l,)
            Targets; out of core by default those of the files.
        cov, std : optional
            Covariances or standard errors of the measurements, as in `svmgsu.Gaussians`.
        sample_weight : array of shape (l,), optional
            Weights of the samples; those of weight 0 are ignored.
        groups : array of shape (l,), optional
            Samples of one group are never on both sides of a fold.
        y_std : float or array of shape (l,), optional
            Standard errors of the targets. Predictions are of targets without them.
        """
        self._check_settings()
        deadline = Deadline(self.max_time)
        if isinstance(X, Blocks):
            columns = {"y": y, "sample_weight": sample_weight, "groups": groups, "y_std": y_std}
            X, columns, _ = some_of_blocks(X, self._seed(), columns)
            y, sample_weight, groups, y_std = columns.values()
        X, y = table_for_fit(X, y, cov, std, gaps=True)
        data = self._read(X, cov, std, groups)
        targets = _targets(y, len(data))
        errors = _target_errors(y_std, len(data))
        weights = np.ones(len(data)) if sample_weight is None else check_raw_weights(sample_weight, len(data))
        weights = weights / weights.max()
        weights = weights * (np.count_nonzero(weights) / math.fsum(weights))
        order = canonical_order(data, targets, weights)
        order = order[weights[order] > 0]
        if len(order) < 2:
            raise ValueError(f"X: at least 2 samples are needed, got n_samples={len(order)}")
        groups = None if groups is None else np.unique(np.asarray(groups)[order], return_inverse=True)[1]
        self._learn(data[order], targets[order], errors[order], weights[order], groups, deadline)
        return self

    def _learn(
        self,
        data: Gaussians,
        y: FloatArray,
        errors: FloatArray,
        weights: FloatArray,
        groups: Array | None,
        deadline: Deadline,
    ) -> None:
        seed = self._seed()
        low, high = float(y.min()), float(y.max())
        size = high - low if high > low else 1.0
        part = (y - low) / size  # whose squares neither over- nor underflow
        middle = float(np.average(part, weights=weights))
        spread = float(np.sqrt(np.average((part - middle) ** 2, weights=weights)))
        self.y_centre_, self.y_scale_ = low + middle * size, size * (spread if spread > 0 else 1.0)
        noise_of_y = (errors / self.y_scale_) ** 2
        # A target counts the less, the larger its error is beside what will stay unexplained.
        weights = weights / (1 + noise_of_y / UNEXPLAINED)
        weights = weights / weights.mean()
        targets = np.column_stack([(y - self.y_centre_) / self.y_scale_, noise_of_y])
        data, noise, chosen, view, task = self._prepare(
            NumberTask, data, targets, weights, groups, None, seed, deadline
        )
        held_out, left_out = self._fit_members(view, task, seed, deadline)
        self._weigh(held_out, view, task, seed, deadline, left_out)
        if len(chosen) < len(data) and not deadline.passed:
            self._refit(data, targets[:, 0], weights, noise, seed)

    def _make_members(self, view: View, seed: int) -> list[Any]:
        n = self.n_features_in_
        made: list[Any] = []
        names: set[str] = set()
        for on_posterior, family, with_errors, with_linear in SPECS:
            if family not in self._families():
                continue
            if family == "joint":
                if self.inputs_.population is not None:
                    made.append(JointMember(seed))
                continue
            errors = view.errors.shape[1] if with_errors and view.errors is not None else 0
            noisy = on_posterior and view.posterior is not None
            name = f"{FAMILY_NAMES[family]} on {'the posterior' if noisy else 'values'}"
            name += " + uncertainties" * (errors > 0) + " + linear" * with_linear
            if name in names:
                continue
            names.add(name)
            if family == "linear":
                candidates: list[Any] = [linear.LinearFeatures(on_posterior, errors > 0)]
            else:
                make: Any = rbf.rbf_candidates if family == "rbf" else axis_aligned.axis_aligned_candidates
                options = {"on_posterior": on_posterior, "linear": with_linear}
                candidates = make(n, errors, int(self.n_frequencies), seed, **options)
            made.append(RidgeMember(name, errors > 0, family == "rbf", candidates, LAMS))
        if not made:
            raise ValueError("members: a joint deconvolution alone needs at most 100 features")
        return made

    def _weigh(
        self, held_out: FloatArray, view: View, task: Task, seed: int, deadline: Deadline, left_out: list[str]
    ) -> None:
        """The pool's weights, with and without standard errors as features, the gate, and the residuals."""
        y = task.targets[:, 0]
        losses = np.array([task.mean(task.losses(one)) for one in held_out])
        penalty = PENALTY / task.independent * max(float(losses.min()), 1e-12)
        uses = np.array([member.uncertainties for member in self.members_])
        both = regression_weights(held_out, y, task.weights, penalty)
        self.gate_: Gate | None = None
        plain = both
        if uses.any() and not uses.all():
            found = regression_weights(held_out[~uses], y, task.weights, penalty)
            values = np.zeros(len(uses))
            values[~uses] = found.values
            plain = Weights(values, found.objective, found.gap)
            self.gate_ = Gate.learn(view, task, seed, deadline)
        self.weights_, self.plain_weights_ = both.values, plain.values
        pooled = both.values @ held_out
        joint = [member.variance for member in self.members_ if isinstance(member, JointMember)]
        self._scale_residuals(
            y - pooled, joint[0] if joint else np.ones(len(y)), task.targets[:, 1], task.weights
        )
        self.pool_ = PoolSummary(
            [member.name for member in self.members_],
            both.values,
            plain.values,
            losses * self.y_scale_**2,
            task.mean(task.losses(pooled)) * self.y_scale_**2,
            task.mean(task.losses(plain.values @ held_out)) * self.y_scale_**2,
            max(both.gap, plain.gap),
            0.0 if self.gate_ is None else float(self.gate_(view).mean()),
            float(view.outside.mean()),
            left_out,
        )

    def _scale_residuals(
        self, residuals: FloatArray, variance: FloatArray, noise: FloatArray, weights: FloatArray
    ) -> None:
        """Fit s² = a v + b by the normal likelihood of held-out residuals, whose variance is s² + noise.

        Quantiles of residuals / √(s² + noise) are kept.
        """
        mean = max(float(np.average(residuals**2, weights=weights)), 1e-12)
        ratio = mean / float(np.average(variance, weights=weights))
        best = np.inf
        for share in np.linspace(0, 0.98, 25):
            tried = share * ratio * variance + (1 - share) * mean
            # The best factor of s² is known if targets have no noise; otherwise several are tried.
            factors = [max(float(np.average(residuals**2 / tried, weights=weights)), 1e-12)]
            if noise.any():
                factors = np.logspace(-3, 0.5, 36).tolist()
            for factor in factors:
                total = factor * tried + noise
                value = float(np.average(np.log(total) + residuals**2 / total, weights=weights))
                if value < best:
                    best = value
                    self.noise_scale_ = factor * np.array([share * ratio, (1 - share) * mean])
        a, b = self.noise_scale_
        z = residuals / np.sqrt(np.maximum(a * variance + b + noise, 1e-300))
        order = np.argsort(z, kind="stable")
        # The k-th of n weighted residuals is the quantile (Σ_{i<k} w_i + w_k/2) / Σ w.
        levels = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
        self.residuals_ = np.interp((np.arange(QUANTILES) + 0.5) / QUANTILES, levels, z[order])

    def _refit(self, data: Gaussians, y: FloatArray, weights: FloatArray, noise: Any, seed: int) -> None:
        """Fit the ridge members to all samples, by sums over batches."""
        seen = data if noise is None else as_seen_later(data, noise, seed, 1)
        members = [member for member in self.members_ if isinstance(member, RidgeMember)]
        sums: list[Sums | None] = [None] * len(members)
        for rows, view in self._batches(seen):
            for i, member in enumerate(members):
                more = Sums.of(member.features(view, self._threads()), y[rows], weights[rows])
                last = sums[i]
                sums[i] = more if last is None else last + more
        for member, total in zip(members, sums, strict=True):
            assert total is not None
            member.refit(total)

    def _answers(self, view: View, spreads: bool) -> tuple[FloatArray, Array, FloatArray, FloatArray]:
        """(members' predictions (M, l), whether gated, predictions, scales s (l,)), in standard units.

        Without `spreads` the scales are not to be used.
        """
        threads = self._threads()
        variance = np.ones(len(view))
        for member in self.members_:
            if spreads and isinstance(member, JointMember):
                variance = member.moments(view, threads)[1]
        each = np.stack([member.predict(view, threads) for member in self.members_])
        gated = np.zeros(len(view), dtype=bool) if self.gate_ is None else self.gate_(view)
        f = np.where(gated, self.plain_weights_ @ each, self.weights_ @ each)
        smooth = np.array([member.smooth and not member.uncertainties for member in self.members_])
        if smooth.any():
            f = (1 - view.outside) * f + view.outside * each[smooth].mean(axis=0)
        a, b = self.noise_scale_
        return each, gated, f, np.sqrt(np.maximum(a * variance + b, 1e-300))

    def _predictive(self, X: Any, cov: Any, std: Any, spreads: bool = True) -> tuple[FloatArray, FloatArray]:
        """f and s of new samples, in units of y."""
        data = self._new(X, cov, std)
        f, s = np.empty(len(data)), np.empty(len(data))
        for rows, view in self._batches(data):
            _, _, f[rows], s[rows] = self._answers(view, spreads)
        return f * self.y_scale_ + self.y_centre_, s * self.y_scale_

    def predict(self, X: Any, cov: Any = None, std: Any = None, return_std: bool = False) -> Any:
        """Predictions for samples X with their own `cov` or `std`.

        With `return_std` also the standard deviation of the predictive distribution: (predictions,
        deviations).
        """
        f, s = self._predictive(X, cov, std, return_std)
        return (f, s * float(np.sqrt((self.residuals_**2).mean()))) if return_std else f

    def predict_interval(
        self, X: Any, level: float = 0.9, cov: Any = None, std: Any = None
    ) -> tuple[FloatArray, FloatArray]:
        """Central intervals that hold a share `level` of targets, for samples X with `cov` or `std`.

        Returns (lower, upper). Their coverage is that of the held-out residuals.
        """
        if not isinstance(level, (int, float, np.number)) or not 0 < level < 1:
            raise ValueError(f"level: expected a number between 0 and 1, got {level!r}")
        f, s = self._predictive(X, cov, std)
        low, high = np.quantile(self.residuals_, [(1 - level) / 2, (1 + level) / 2])
        return f + low * s, f + high * s

    def sample(
        self, X: Any, k: int = 1, cov: Any = None, std: Any = None, random_state: Any = None
    ) -> FloatArray:
        """Draw `k` targets of each sample of X, with `cov` or `std`, from its predictive distribution.

        `random_state` is an int, Generator, RandomState or None. The result has the shape (l, k).
        """
        count = check_count(k, "k")
        f, s = self._predictive(X, cov, std)
        drawn = as_generator(random_state).choice(self.residuals_, (len(f), count))
        return np.asarray(f[:, np.newaxis] + s[:, np.newaxis] * drawn)

    def explain(self, X: Any, cov: Any = None, std: Any = None) -> list[dict[str, Any]]:
        """Explain the prediction of each sample of X, with `cov` or `std`: which members answered, and how.

        Returns
        -------
        list of dict
            For each sample: `"prediction"`; `"gated"`: whether its standard errors are unlike those of the
            training set, so that members that use them did not answer; `"outside"`: how far it is outside the
            training set's support, from 0 to 1; and `"members"`: a list of `{"member", "weight",
            "prediction"}`, the largest weight first.
        """
        data = self._new(X, cov, std)
        found: list[dict[str, Any]] = []
        for _, view in self._batches(data):
            each, gated, f, _ = self._answers(view, False)
            for i in range(len(view)):
                weights = self.plain_weights_ if gated[i] else self.weights_
                members = [
                    {
                        "member": self.members_[m].name,
                        "weight": float(weights[m]),
                        "prediction": float(each[m, i] * self.y_scale_ + self.y_centre_),
                    }
                    for m in np.argsort(-weights, kind="stable").tolist()
                    if weights[m] > 0
                ]
                found.append(
                    {
                        "prediction": float(f[i] * self.y_scale_ + self.y_centre_),
                        "gated": bool(gated[i]),
                        "outside": float(view.outside[i]),
                        "members": members,
                    }
                )
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None, cov: Any = None, std: Any = None) -> float:
        """R² on samples X (with `cov`, `std`) and targets y, weighted by `sample_weight`."""
        return float(r2_score(y, self.predict(X, cov, std), sample_weight=sample_weight))


def _target_errors(y_std: Any, count: int) -> FloatArray:
    """Standard errors of targets, one for each sample."""
    errors = as_float_array(0.0 if y_std is None else y_std, "y_std", (0, 1)).astype(np.float64)
    if errors.ndim and errors.shape != (count,):
        raise ValueError(f"y_std: expected a number or shape ({count},), got {errors.shape}")
    check_finite(errors, "y_std")
    if (errors < 0).any():
        raise ValueError(f"y_std: expected numbers >= 0, got {errors.min():g}")
    return np.broadcast_to(errors, count)


def _targets(y: Any, count: int) -> FloatArray:
    """Targets as finite numbers, one for each sample."""
    if y is None:
        raise ValueError("y: requires y to be passed, but the target y is None")
    targets = as_float_array(column_or_1d(y, warn=True), "y", (1,)).astype(np.float64)
    if len(targets) != count:
        raise ValueError(f"y: {len(targets)} targets for {count} samples")
    check_finite(targets, "y")
    return targets
