"""`SVRGSU`: a regression that bends, for objects with error bars."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.model_selection import GroupKFold, KFold
from sklearn.utils.validation import column_or_1d

from ...data.gaussians import Gaussians
from ...fit.regression import check_target_errors
from ...io.frames import table_for_fit
from ...models.rule import blockwise
from ...outofcore.blocks import Blocks
from ...outofcore.training import refuse_beside, weights_of_blocks
from ...support.labels import check_weights
from ...support.losses import regression_loss
from ...support.parallel import Team
from ...support.validation import Array, FloatArray, as_float_array, check_finite
from ..inputs import ROUTED
from .base import NonlinearEstimator, groups_of
from .beyond import Targets, sample_for
from .in_blocks import InBlocks
from .search import Choice, Search
from .sides import answering, finish
from .stages import NumberStage

TARGETS = {**ROUTED, "y_std": True}
FIRST_SCATTER = 0.3  # of the targets' spread: what is not explained, before that is known
RESIDUALS = 1000  # held-out objects whose Var f the residual variance is fitted beside


class SVRGSU(RegressorMixin, NonlinearEstimator):  # type: ignore[misc]
    """A regression that bends and carries error bars exactly.

    As `SVMGSU`: the population behind noisy objects, features of what each object may be, expected exactly,
    and a linear model on them. The frequencies are of several scales.

    Parameters
    ----------
    kernel, approximation, n_features, gamma, lam, population, n_components, deployment_cov, copies
        As in `SVMGSU`.
    metric, bars_as_features, search, cv, tol, random_state, threads
        As in `SVMGSU`.
    loss : str, default="squared"
        As in `svmgsu.train_regressor`. "squared" is solved by one sum over the examples for all λ; with
        population=None and covariances it is the exact expectation over the examples, by second moments.
    epsilon : float, optional
        Of the losses that have one, in units of y. By default that of `svmgsu.train_regressor`, of targets
        in units of their spread.

    Attributes
    ----------
    gamma_, lam_, metric_, bars_, population_, objective_, gap_, search_
        As in `SVMGSU`; the certificate is of the convex stage alone.
    residual_std_ : float
        What is left of y where an object is known exactly: fitted to held-out errors beside that of f, and
        of the targets (`y_std`).

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(300, 1))
    >>> y = np.sin(2 * X[:, 0])
    >>> seen = X + 0.1 * rng.normal(size=X.shape)
    >>> model = svmgsu.SVRGSU(n_features=60).fit(seen, y, std=0.1)
    >>> sharp, blurred = (model.predict([[0.5]], std=s, return_std=True)[1].item() for s in (0.01, 0.15))
    >>> bool(sharp < blurred)
    True
    """

    __metadata_request__fit = TARGETS
    _scales = (0.25, 1.0, 4.0)
    _factors = (0.3, 1.0, 3.0, 10.0)
    _metric_factors = (1.0, 3.0)
    _default_lam = 1e-4

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        approximation: str = "fourier",
        n_features: int = 300,
        gamma: Any = "auto",
        lam: Any = "auto",
        loss: str = "squared",
        epsilon: float | None = None,
        population: Any = "auto",
        n_components: Any = "default",
        deployment_cov: Any = None,
        copies: int = 4,
        metric: Any = "auto",
        bars_as_features: Any = "auto",
        search: bool = True,
        cv: int = 3,
        tol: float = 1e-6,
        random_state: Any = 0,
        threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.approximation = approximation
        self.n_features = n_features
        self.gamma = gamma
        self.lam = lam
        self.loss = loss
        self.epsilon = epsilon
        self.population = population
        self.n_components = n_components
        self.deployment_cov = deployment_cov
        self.copies = copies
        self.metric = metric
        self.bars_as_features = bars_as_features
        self.search = search
        self.cv = cv
        self.tol = tol
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
    ) -> SVRGSU:
        """Trains on X, an array or `Gaussians`, with numbers y.

        `cov` and `std` are the covariance or error bars of X, as in `svmgsu.Gaussians`, `sample_weight` how
        much each example counts; examples of one of the `groups` are never on both sides of a fold. In
        arrays NaN, and infinite noise, is a missing value: the population says what it may be.

        `y_std` are errors of y, a number or (l,), as in `svmgsu.train_regressor`: with the squared loss a
        target has the weight 1/(τ² + e²), τ the residual deviation that is fitted; with others 1/e.

        X may be blocks of files, as in `SVMGSU.fit`; y and its errors are by default what the files have.
        """
        if isinstance(X, Blocks):
            refuse_beside(X, cov=cov, std=std)
            return self._fit_blocks(X, y, sample_weight, groups, y_std)
        X, y = table_for_fit(X, y, cov, std, gaps=True, sample_weight=sample_weight)
        data = self._read(X, cov, std, groups)
        t = self._targets(y, len(data))
        errors = check_target_errors(y_std, len(data))
        self._check_settings(len(data))
        regression_loss(self.loss, self.epsilon)
        given = check_weights(sample_weight, len(data))
        rows = self._counted(given)
        if rows is not None:
            data, t, given = data[rows], t[rows], given[rows]
            errors = None if errors is None else errors[rows]
            groups = None if groups is None else np.asarray(groups)[rows]
        self._learn(data, t, errors, given, groups)
        return self

    def _fit_blocks(self, X: Blocks, y: Any, sample_weight: Any, groups: Any, y_std: Any) -> SVRGSU:
        errors = check_target_errors(X.numbers("y_std") if y_std is None and y is None else y_std, len(X))
        t = self._targets(X.labels() if y is None else y, len(X))
        given, groups = weights_of_blocks(X, sample_weight), groups_of(groups, len(X))
        self._check_settings(len(X))
        regression_loss(self.loss, self.epsilon)
        rows, held = sample_for(self, given), InBlocks(X)
        self._elsewhere, self._of_all = held, (t, errors, given)
        try:
            data = self._read(held.take(rows), None, None)
            own = None if errors is None else errors[rows]
            self._learn(data, t[rows], own, given[rows], None if groups is None else groups[rows])
        finally:
            self._forget()
        return self

    def _targets_of_all(self) -> tuple[Targets, FloatArray]:
        t, errors, given = self._of_all
        inner = None if errors is None else errors / self.y_scale_
        weights = self._weights(given, inner, self.residual_std_ / self.y_scale_)
        standard = ((t - self.y_mean_) / self.y_scale_)[np.newaxis]
        return lambda rows: standard[:, rows], weights

    def _learn(
        self, data: Gaussians, t: FloatArray, errors: FloatArray | None, given: FloatArray, groups: Any
    ) -> None:
        t, errors = self._in_units(t, errors, given)
        seed, threads = self._seed(), Team(self.threads).threads
        seen, copies = self._prepare(data, given, seed)
        folds = self._folds(len(t), groups, seed)

        def stage_of(each: Array, copies: int, weights: FloatArray) -> NumberStage:
            own = None if errors is None else errors[each]
            options: Any = {"epsilon": self._epsilon(), "errors": own}
            return NumberStage(t[each], weights[each], self.loss, threads, copies, **options)

        weights = self._weights(given, errors, FIRST_SCATTER)
        choice, search, objects = self._choose(
            seen, copies, partial(stage_of, weights=weights), folds, weights, seed
        )
        residual = self._residual(search, objects, choice)
        weights = self._weights(given, errors, residual)
        self.residual_std_ = self.y_scale_ * residual
        stage, plain = stage_of(np.arange(len(t)), copies, weights), choice.without_bars
        self._convex(data, seen, stage, choice.lam)
        finish(self, lambda other: other._convex(data, seen, stage, plain.lam if plain else choice.lam))
        self.gamma_, self.lam_, self.bars_ = choice.gamma, choice.lam, choice.bars
        self.population_, self.search_ = self.lift_.population, choice.tried
        self.objective_, self.gap_ = self.scores_.objective, self.scores_.gap

    def _in_units(
        self, t: FloatArray, errors: FloatArray | None, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray | None]:
        """Sets the units of y, by the better known half of the targets above all; both in these units."""
        if errors is not None:
            weights = weights / np.maximum(errors / np.median(errors), 1.0) ** 2
        low, high = float(t.min()), float(t.max())
        if not np.isfinite(high - low):
            raise ValueError(f"y: targets from {low:g} to {high:g}; take a larger unit")
        size = high - low if high > low else 1.0
        part = (t - low) / size  # from 0 to 1: squares neither over- nor underflow
        middle = float(np.average(part, weights=weights))
        spread = float(np.sqrt(np.average((part - middle) ** 2, weights=weights)))
        self.y_mean_ = low + middle * size
        self.y_scale_ = spread * size if spread > 0 else 1.0
        return (t - self.y_mean_) / self.y_scale_, None if errors is None else errors / self.y_scale_

    def _weights(self, given: FloatArray, errors: FloatArray | None, scatter: float) -> FloatArray:
        """How much each target counts."""
        if errors is None:
            return given
        weights = given / (scatter**2 + errors**2 if self.loss == "squared" else errors)
        return np.asarray(weights * (given.sum() / weights.sum()))

    def _epsilon(self) -> float | None:
        return None if self.epsilon is None else float(self.epsilon) / self.y_scale_

    def _residual(self, search: Search, objects: Any, choice: Choice) -> float:
        """The deviation σ of the largest likelihood of held-out errors ~ N(0, σ² + Var f + target's)."""
        from scipy.optimize import minimize_scalar

        stage: Any = search.stage
        Z = self.map_.mean(objects, threads=search.threads)
        errors, variances = [], []
        for fold in range(len(search.folds.splits)):
            known, out = search.folds.rows(fold)
            out = out[:: max(1, len(out) * len(search.folds.splits) // RESIDUALS)]
            (scores,) = stage.path(Z, known, [choice.lam], search.tol)
            errors.append(scores(Z[out])[:, 0] - stage.targets[0, out])
            spread = self.map_.scores(objects[out], scores.W, search.threads)[1][:, 0]
            variances.append(spread + stage.errors[out] ** 2)
        e, v = np.concatenate(errors), np.concatenate(variances)
        largest = float(np.sqrt((e**2).mean())) + 1e-12

        def minus_log_likelihood(log_sigma: float) -> float:
            total = np.exp(2 * log_sigma) + v
            return float((np.log(total) + e**2 / total).mean())

        low = np.log(largest) - 10
        found = minimize_scalar(minus_log_likelihood, bounds=(low, np.log(largest) + 1), method="bounded")
        return float(np.exp(found.x))

    @blockwise
    def predict(self, X: Any, cov: Any = None, std: Any = None, return_std: bool = False) -> Any:
        """E y of objects X with their own `cov` or `std`.

        `return_std` gives the standard deviation of y as well, (values, deviations): that of f over what the
        object may be, exactly, and the residual. A measurement of y adds its own error.
        """
        data = self._objects(X, cov, std)
        if not return_std:
            values = np.empty(len(data))
            for rows, objects, feature_map, scores in answering(self, data):
                values[rows] = scores(feature_map.mean(objects, threads=Team(self.threads).threads))[:, 0]
            return values * self.y_scale_ + self.y_mean_
        mean, deviation = self._moments(data)
        total = np.hypot(self.y_scale_ * deviation[:, 0], self.residual_std_)
        return mean[:, 0] * self.y_scale_ + self.y_mean_, total

    def score(self, X: Any, y: Any, sample_weight: Any = None, cov: Any = None, std: Any = None) -> float:
        """R² of the predictions for X (with `cov`, `std`) of y, counted by `sample_weight`."""
        return float(r2_score(y, self.predict(X, cov, std), sample_weight=sample_weight))

    def _targets(self, y: Any, count: int) -> FloatArray:
        if y is None:
            raise ValueError("y: training requires y to be passed, but the target y is None")
        t = np.asarray(y)
        if t.ndim == 2 and t.shape[1] == 1:
            t = column_or_1d(t, warn=True)
        t = as_float_array(t, "y", (1,)).astype(np.float64)
        check_finite(t, "y")
        if len(t) != count:
            raise ValueError(f"y: {len(t)} targets for {count} examples (inconsistent numbers of samples)")
        return np.asarray(t)

    def _folds(self, count: int, groups: Any, seed: int) -> Any:
        folds = self._n_folds(count, groups)
        inner: Any = KFold(folds, shuffle=True, random_state=seed) if groups is None else GroupKFold(folds)
        return self._splits(inner, count, None, groups)

    def _lams(self) -> list[float]:
        return [float(v) for v in np.logspace(-1, -7, 13)]
