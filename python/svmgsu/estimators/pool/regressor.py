"""`GSURegressor`: a pool of small regressions for samples with known uncertainties."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import column_or_1d

from ...io.frames import check_scored, column_named
from ...support.validation import (
    DEVIATIONS,
    Array,
    ArrayLike,
    FloatArray,
    Matrix,
    RandomState,
    as_float_array,
    as_generator,
    check_count,
    check_finite,
)
from ..observations import check_unit
from .base import PoolEstimator
from .densities import JointMember
from .members import NUMBERS
from .samples import View, canonical_order
from .weights import NumberTask, Task

UNEXPLAINED = 0.1  # of the true targets' variance: errors of targets count beside it
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
    noise, test_noise, n_components, n_frequencies :
        As in `GSUClassifier`.
    members : list of {"linear", "rbf", "axis_aligned", "joint"}, optional
        Families that take part; by default all.
    cv : int, default=5
        Folds, by group, that choose penalties, weights and intervals.
    max_time, random_state, threads :
        As in `GSUClassifier`.

    Attributes
    ----------
    pool_ : PoolSummary
        Members, their weights and held-out mean squared errors; `print(model.pool_)` shows a table.
    n_features_in_ : int
        Number of features.

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

    _table = NUMBERS
    _task = NumberTask
    _saved: ClassVar[dict[str, str]] = {
        **PoolEstimator._saved,
        "y_centre_": "float",
        "y_scale_": "float",
        "noise_scale_": "FloatArray",
        "residuals_": "FloatArray",
    }

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike = None,
        cov: ArrayLike = None,
        std: ArrayLike = None,
        sample_weight: ArrayLike = None,
        groups: ArrayLike = None,
        y_std: ArrayLike = None,
    ) -> GSURegressor:
        """Fit the pool.

        Parameters
        ----------
        X, cov, std, sample_weight, groups :
            As in `GSUClassifier.fit`.
        y : array of shape (l,)
            Targets; out of core by default those of the files.
        y_std : float or array of shape (l,), optional
            Standard errors of the targets. Predictions are of targets without them.
        """
        budget = self._begin()
        columns = {"y": y, "sample_weight": sample_weight, "groups": groups, "y_std": y_std}
        data, weights, columns = self._read(X, cov, std, columns)
        if columns["y"] is None:
            raise ValueError("y: requires y to be passed, but the target y is None")
        y = as_float_array(column_or_1d(columns["y"], warn=True), "y", (1,)).astype(np.float64)
        if len(y) != len(data):
            raise ValueError(f"y: {len(y)} targets for {len(data)} samples")
        check_finite(y, "y")
        check_unit("y", y.min(), y.max())
        errors = as_float_array(
            0.0 if columns["y_std"] is None else columns["y_std"], "y_std", (0, 1), DEVIATIONS
        )
        if errors.ndim and len(errors) != len(data):
            raise ValueError(f"y_std: expected a number or shape ({len(data)},), got {errors.shape}")
        errors = np.broadcast_to(errors.astype(np.float64), len(data))
        order = canonical_order(data, y, weights, errors)
        order = order[weights[order] > 0]
        if len(order) < 2:
            raise ValueError(f"X: at least 2 samples are needed, got n_samples={len(order)}")
        groups = None if columns["groups"] is None else np.asarray(columns["groups"])[order]
        y, errors, weights = y[order], errors[order], weights[order]
        low = float(y.min())
        size = float(y.max() - low) or 1.0
        part = (y - low) / size
        middle = float(np.average(part, weights=weights))
        spread = float(np.sqrt(np.average((part - middle) ** 2, weights=weights)))
        self.y_centre_ = low + middle * size
        self.y_scale_ = size * (spread or 1.0)
        noise_of_y = (errors / self.y_scale_) ** 2
        # A target counts the less, the larger its error is beside what will stay unexplained of true targets.
        true_variance = max(UNEXPLAINED, 1 - float(np.average(noise_of_y, weights=weights)))
        weights = weights / (1 + noise_of_y / (UNEXPLAINED * true_variance))
        targets = np.column_stack([(y - self.y_centre_) / self.y_scale_, noise_of_y])
        self._fit_pool(data[order], targets, weights, groups, None, budget)
        return self

    def _calibrate(self, pooled: FloatArray, task: Task) -> None:
        """Fit s² = a v + b by the normal likelihood of held-out residuals, whose variance is s² + noise.

        v is the conditional variance of the joint deconvolution; quantiles of residuals / √(s² + noise) are
        kept.
        """
        residuals = task.targets[:, 0] - pooled
        noise = task.targets[:, 1]
        weights = task.weights
        variance = np.ones(len(residuals))
        for member in self.members_:
            if isinstance(member, JointMember):
                variance = member.variance
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

    def _answers(self, view: View, spreads: bool = False) -> tuple[FloatArray, Array, FloatArray, FloatArray]:
        """Return members' predictions (M, l), whether gated, predictions, scales s; standard units.

        Without `spreads` the scales are not to be used.
        """
        gated = self._gated(view)
        smooth = np.array([member.smooth and not member.uses_errors for member in self.members_])
        variance = np.ones(len(view))
        each = np.zeros((len(self.members_), len(view)))
        for m, rows, some in self._asked(view, gated, smooth[:, np.newaxis] & (view.outside > 0)):
            if not (spreads and isinstance(self.members_[m], JointMember)):
                each[m, rows] = self.members_[m].predict(some)
        for m, member in enumerate(self.members_):
            if spreads and isinstance(member, JointMember):
                each[m], variance = member.moments(view)
        f = np.where(gated, self.pool_.fallback_weights @ each, self.pool_.weights @ each)
        if smooth.any():
            f = (1 - view.outside) * f + view.outside * each[smooth].mean(axis=0)
        a, b = self.noise_scale_
        return each, gated, f, np.sqrt(np.maximum(a * variance + b, 1e-300))

    def _predictive(
        self, X: ArrayLike, cov: ArrayLike, std: ArrayLike, spreads: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Return f and s of new samples, in units of y."""
        f, s = np.concatenate(self._ask(lambda view: self._answers(view, spreads)[2:], X, cov, std), axis=1)
        return f * self.y_scale_ + self.y_centre_, s * self.y_scale_

    def predict(self, X: Matrix, cov: Matrix = None, std: Matrix = None, return_std: bool = False) -> Any:
        """Return predictions for samples X with their own `cov` or `std`.

        With `return_std` also the standard deviation of the predictive distribution: (predictions,
        deviations).
        """
        f, s = self._predictive(X, cov, std, return_std)
        return (f, s * float(np.sqrt((self.residuals_**2).mean()))) if return_std else f

    def predict_interval(
        self, X: ArrayLike, level: float = 0.9, cov: ArrayLike = None, std: ArrayLike = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return central intervals that hold a share `level` of targets, for samples X with `cov` or `std`.

        Returns (lower, upper). Their coverage is that of the held-out residuals.
        """
        if not isinstance(level, (int, float, np.number)) or not 0 < level < 1:
            raise ValueError(f"level: expected a number between 0 and 1, got {level!r}")
        f, s = self._predictive(X, cov, std)
        low, high = np.quantile(self.residuals_, [(1 - level) / 2, (1 + level) / 2])
        return f + low * s, f + high * s

    def sample(
        self,
        X: ArrayLike,
        k: int = 1,
        cov: ArrayLike = None,
        std: ArrayLike = None,
        random_state: RandomState = None,
    ) -> FloatArray:
        """Draw `k` targets of each sample of X, with `cov` or `std`, from its predictive distribution.

        `random_state` is an int, Generator, RandomState or None. The result has the shape (l, k).
        """
        count = check_count(k, "k")
        f, s = self._predictive(X, cov, std)
        drawn = as_generator(random_state).choice(self.residuals_, (len(f), count))
        return np.asarray(f[:, np.newaxis] + s[:, np.newaxis] * drawn)

    def _explained(self, answers: Any) -> tuple[list[dict[str, Any]], str, FloatArray]:
        each = answers[0] * self.y_scale_ + self.y_centre_
        f = answers[2] * self.y_scale_ + self.y_centre_
        return [{"prediction": value} for value in f.tolist()], "prediction", each

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike = None,
        cov: ArrayLike = None,
        std: ArrayLike = None,
    ) -> float:
        """Return R² on samples X (with `cov`, `std`) and targets y, weighted by `sample_weight`."""
        check_scored(self._had_noise, X, cov, std)
        targets = column_named(X, y)
        return float(r2_score(targets, self.predict(X, cov, std), sample_weight=sample_weight))
