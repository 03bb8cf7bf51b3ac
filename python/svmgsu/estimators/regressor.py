"""`LinearSVRGSU` and `LinearSVRGSUCV`: regressors for scikit-learn's world over `svmgsu.train_regressor`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.model_selection import GroupKFold
from sklearn.utils.validation import column_or_1d

from ..data.covariances import Psd
from ..fit.regression import RegressionProblem, regression_of
from ..fit.settings import documented
from ..io.frames import table_for_fit
from ..models.regressor import RegressionModel
from ..outofcore.blocks import Blocks
from ..support.labels import check_weights
from ..support.losses import regression_loss
from ..support.validation import Array, FloatArray, check_row_order
from .callbacks import FitReport, with_callbacks
from .linear import LinearEstimator
from .search import LambdaSearch, Scorer


class LinearRegressor(RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """What fitted regressors share: prediction."""

    _task = "regression"
    _learnt = ("scatter_",)
    model_: RegressionModel
    loss: str
    epsilon: float | None

    def predict(self, X: Any, cov: Any = None, std: Any = None, return_std: bool = False) -> Any:
        """w·x + b for each row of X; with `return_std` and the covariance `cov` or error bars `std` of X also
        the deviation √(wᵀΣw) that they make. See `RegressionModel.predict`.
        """
        data = self._examples(X, cov, std)
        return self.model_.predict(data, return_std=return_std, threads=self.threads)

    def score(self, X: Any, y: Any, sample_weight: Any = None, cov: Any = None, std: Any = None) -> float:
        """R² of the predictions for X against the targets y, counted by `sample_weight`.

        `cov` and `std` are checked as in `predict`; the predicted means do not depend on them.
        """
        check_row_order(X, y=y, sample_weight=sample_weight)
        weights = None if sample_weight is None else check_weights(sample_weight, len(y))
        return float(r2_score(y, self.predict(X, cov, std), sample_weight=weights))


@documented
class LinearSVRGSU(LinearRegressor):
    """Linear regression with Gaussian sample uncertainty.

    Parameters
    ----------
    loss : str, default="squared"
        As in `svmgsu.train_regressor`.
    {settings}

    Attributes
    ----------
    coef_ : array of shape (n,)
    intercept_ : float
    scatter_ : float
        How far targets lie from the plane: see `RegressionModel`.
    objective_, gap_ : float
        The objective reached, and a proven upper bound of its distance to the optimum.
    n_iter_ : int
    status_ : {"converged", "rounding", "stalled", "limit", "stopped"}
        How the solver ended: with the precision asked; where rounding errors allow no smaller proof; where
        its steps gained nothing more; at `max_iter` or `max_time`; by a callback.
    history_ : list of dict
    n_features_in_ : int
    feature_names_in_ : array of shape (n,)
        The names of X's columns, where it has names that are all strings.
    model_ : svmgsu.RegressionModel
        The model without scikit-learn, to save or embed.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0.0, 2.0, 4.0, 6.0]
    >>> est = svmgsu.LinearSVRGSU(lam=1e-8).fit(X, y, y_std=0.1)
    >>> value, deviation = est.predict([[1.0]], std=0.5, return_std=True)
    >>> value.round(3).tolist(), deviation.round(3).tolist()
    ([2.0], [1.0])

    Noise that comes on top of X makes the plane flatter:

    >>> bool(svmgsu.LinearSVRGSU(lam=1e-8).fit(X, y, std=1.0).coef_[0] < est.coef_[0])
    True
    """

    def __init__(
        self,
        lam: float = 1e-2,
        *,
        psd: Psd = "clip",
        loss: str = "squared",
        epsilon: float | None = None,
        fit_intercept: bool = True,
        cov_scale: float = 1.0,
        deployment_cov: Any = None,
        subspace: float | None = None,
        subspace_mode: str = "truncate",
        tol: float = 1e-6,
        max_iter: int = 500,
        max_time: float | None = None,
        random_state: Any = 0,
        threads: int | None = None,
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
        self.lam = lam
        self.psd = psd
        self.loss = loss
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.cov_scale = cov_scale
        self.deployment_cov = deployment_cov
        self.subspace = subspace
        self.subspace_mode = subspace_mode
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.random_state = random_state
        self.threads = threads
        self.warm_start = warm_start
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any = None,
        cov: Any = None,
        std: Any = None,
        y_std: Any = None,
        sample_weight: Any = None,
    ) -> LinearSVRGSU:
        """Trains on X (or `Gaussians`) with targets y.

        X may be blocks of files, as `svmgsu.open` gives them; y is by default what the files have then.

        cov, std, y_std and sample_weight are as in `svmgsu.train_regressor`.
        """
        X, y = table_for_fit(X, y, cov, std, y_std=y_std, sample_weight=sample_weight)
        cov, std = self._at_fit(X, cov, std, y=y, y_std=y_std, sample_weight=sample_weight)
        y = y if y is None and isinstance(X, Blocks) else _targets_of(y)
        report = FitReport(self, X, y, "iteration", None)
        problem = regression_of(
            X, y, cov, self._settings(), std=std, y_std=y_std, sample_weight=sample_weight
        )
        start = getattr(self, "model_", None) if self.warm_start else None
        self._take(problem.train(start, report.monitor()))
        report.end()
        return self


@documented
class LinearSVRGSUCV(LambdaSearch, LinearRegressor):
    """`LinearSVRGSU` with λ (and the covariances' scale) chosen by cross-validation along a path.

    Validation examples are Gaussians too: by default a model is scored by the squared error it will have on
    draws from them, (t - w·x - b)² + wᵀΣw, so that λ is chosen for the noise there will be.

    Parameters
    ----------
    lams : array, optional
        The values of λ to try; by default ten from 10 down to 1e-4.
    cov_scales : array, default=(1.0,)
        Factors of the covariances to try. With 0 among them the result tells whether uncertainty helps
        at all. Validation examples keep the covariance they were given (times 1).
    cv : int, splitter or iterable, default=5
        As in scikit-learn; a number gives folds without shuffling, which keep `groups` together.
    scoring : str or callable, optional
        "expected_squared_error" (the default) or "expected_loss", both negative, or a scorer of scikit-learn,
        which sees the means only. The first two count validation examples by their weights.
    loss : str, default="squared"
        As in `svmgsu.train_regressor`.
    refit : bool, default=True
        Whether to train on all data with the best setting; without, there is nothing to predict with.
    n_jobs : int, optional
        Fits at a time; by default as many as OpenMP would use threads.
    {settings}

    Attributes
    ----------
    lam_, cov_scale_ : float
        The best setting. The attributes of `LinearSVRGSU`, `feature_names_in_` too, are those of its fit.
    best_score_ : float
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of arrays
        As in `LinearSVMGSUCV`.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.normal(size=100)
    >>> search = svmgsu.LinearSVRGSUCV(lams=[1, 0.01, 0.0001]).fit(X, y)
    >>> search.lam_, round(search.score(X, y), 2)
    (0.0001, 1.0)
    """

    _expected = ("expected_squared_error", "expected_loss")
    _scorers = "'r2'"
    _by_groups = GroupKFold

    def __init__(
        self,
        lams: Any = None,
        *,
        cov_scales: Any = (1.0,),
        cv: Any = 5,
        scoring: Any = None,
        psd: Psd = "clip",
        loss: str = "squared",
        epsilon: float | None = None,
        fit_intercept: bool = True,
        deployment_cov: Any = None,
        tol: float = 1e-6,
        max_iter: int = 500,
        max_time: float | None = None,
        refit: bool = True,
        n_jobs: int | None = None,
        threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.lams = lams
        self.cov_scales = cov_scales
        self.cv = cv
        self.scoring = scoring
        self.psd = psd
        self.loss = loss
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.deployment_cov = deployment_cov
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.refit = refit
        self.n_jobs = n_jobs
        self.threads = threads
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        cov: Any = None,
        std: Any = None,
        y_std: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> LinearSVRGSUCV:
        """Searches, then trains on all data.

        X, y, cov, std, y_std and sample_weight as in `svmgsu.train_regressor`; a splitter gets the `groups`,
        and folds of a number keep them together.
        """
        X, y = table_for_fit(X, y, cov, std, y_std=y_std, sample_weight=sample_weight)
        cov, std = self._at_fit(X, cov, std, y=y, y_std=y_std, sample_weight=sample_weight)
        y = _targets_of(y)
        settings = self._settings(cv=None)
        problem = RegressionProblem(X, y, cov, settings, std=std, y_std=y_std, sample_weight=sample_weight)
        self._search(problem, X, y, groups)
        return self

    def _expected_scorer(self, name: str) -> Scorer:
        loss = regression_loss(self.loss, self.epsilon) if name == "expected_loss" else None
        return lambda *given: _expected_score(loss, *given)

    def _plain_score(
        self, scorer: Any, problem: RegressionProblem, model: RegressionModel, known: Array, new: Array
    ) -> float:
        estimator = LinearSVRGSU(lam=model.lam, loss=self.loss, epsilon=self.epsilon)
        estimator._take(model)
        return float(scorer(estimator, problem.data.mean[new], problem.targets[new]))


def _expected_score(
    loss: Any, problem: RegressionProblem, model: RegressionModel, _: Array, rows: Array
) -> float:
    """Minus the mean squared error, or the mean loss, of draws from the validation examples; by weight."""
    mean, variance = problem.margins(model.coef_[np.newaxis], rows, threads=1)
    residual: FloatArray = problem.targets[rows] - mean[:, 0] - model.intercept_
    weights = problem.weights(rows, model.scatter_)
    if loss is None:
        return -float(np.average(residual**2 + variance[:, 0], weights=weights))
    values = loss.gradient(np.ascontiguousarray(residual), np.sqrt(np.ascontiguousarray(variance[:, 0])))[0]
    return -float(np.average(values, weights=weights))


def _targets_of(y: Any) -> Array:
    """y as scikit-learn wants it: a column becomes a row with a warning."""
    if y is None:
        raise ValueError("y: this estimator requires y to be passed, but the target y is None")
    targets = np.asarray(y)
    return targets if targets.ndim == 1 else np.asarray(column_or_1d(targets, warn=True))
