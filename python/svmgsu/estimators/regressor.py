"""`LinearSVRGSU` and `LinearSVRGSUCV`: regressors for scikit-learn's world over `svmgsu.train_regressor`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import get_scorer, get_scorer_names, r2_score
from sklearn.model_selection import GroupKFold, check_cv
from sklearn.utils.validation import column_or_1d

from ..fit.classification import check_lams, make_options
from ..fit.held_out import check_groups
from ..fit.regression import RegressionProblem, train_regressor
from ..models.regressor import RegressionModel
from ..support.losses import regression_loss
from ..support.parallel import Team
from ..support.validation import Array, FloatArray
from .callbacks import FitReport, with_callbacks
from .linear import LinearEstimator
from .search import check_folds, check_scales, search_path
from .units import check_deployment_units, same_units

EXPECTED = ("expected_squared_error", "expected_loss")
_SETTINGS = (
    *("lam", "loss", "epsilon", "fit_intercept", "cov_scale", "deployment_cov", "subspace", "subspace_mode"),
    *("tol", "max_iter", "max_time", "threads", "verbose"),
)


class LinearRegressor(RegressorMixin, LinearEstimator):  # type: ignore[misc]
    """What fitted regressors share: prediction, and scikit-learn's bookkeeping."""

    _learnt = (
        "coef_",
        "intercept_",
        "scatter_",
        "objective_",
        "gap_",
        "n_iter_",
        "history_",
        "n_features_in_",
    )
    threads: int | None
    model_: RegressionModel

    def predict(self, X: Any, cov: Any = None, std: Any = None, return_std: bool = False) -> Any:
        """w·x + b for each row of X; with `return_std` and the covariance `cov` or error bars `std` of X also
        the deviation √(wᵀΣw) that they make. See `RegressionModel.predict`.
        """
        data = self._examples(X, cov, std)
        return self.model_.predict(data, return_std=return_std, threads=self.threads)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions for X against the targets y, counted by `sample_weight`."""
        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))


class LinearSVRGSU(LinearRegressor):
    """Linear regression with Gaussian sample uncertainty.

    Parameters
    ----------
    lam : float, default=1e-2
        The weight λ of the penalty λ/2 ‖w‖².
    loss, epsilon
        As in `svmgsu.train_regressor`: "squared" by default.
    fit_intercept, cov_scale, deployment_cov, subspace, subspace_mode
        As in `svmgsu.train_regressor`.
    tol, max_iter, max_time, threads, verbose
        As in `svmgsu.train_regressor`.
    warm_start : bool, default=False
        Start from the last fit's solution.
    random_state : int, default=0
        Seed of draws from a pool of `deployment_cov`.

    Attributes
    ----------
    coef_ : array of shape (n,)
    intercept_ : float
    scatter_ : float
        How far targets lie from the plane: see `RegressionModel`.
    objective_, gap_ : float
        The objective reached, and a proven upper bound of its distance to the optimum.
    n_iter_ : int
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
        random_state: int = 0,
        threads: int | None = None,
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
        self.lam = lam
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
        y: Any,
        cov: Any = None,
        std: Any = None,
        y_std: Any = None,
        sample_weight: Any = None,
    ) -> LinearSVRGSU:
        """Trains on X (or `Gaussians`) with targets y.

        cov, std, y_std and sample_weight are as in `svmgsu.train_regressor`.
        """
        self._check_names(X, reset=True)
        cov, std = same_units(self, X, cov, std)
        check_deployment_units(self, X, self.deployment_cov)
        y = _targets_of(y)
        report = FitReport(self, X, y, "iteration", None)
        model = train_regressor(
            X,
            y,
            cov,
            std=std,
            y_std=y_std,
            sample_weight=sample_weight,
            seed=self.random_state,
            start=getattr(self, "model_", None) if self.warm_start else None,
            callback=report.monitor(),
            **{name: getattr(self, name) for name in _SETTINGS},
        )
        self._take(model)
        report.end()
        return self


class LinearSVRGSUCV(LinearRegressor):
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
    loss, epsilon, fit_intercept, deployment_cov, tol, max_iter, threads, verbose
        As in `svmgsu.train_regressor`. `deployment_cov` is added to training and validation examples alike.
    refit : bool, default=True
        Whether to train on all data with the best setting; without, there is nothing to predict with.
    n_jobs : int, optional
        Fits at a time; by default as many as OpenMP would use threads.

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

    def __init__(
        self,
        lams: Any = None,
        *,
        cov_scales: Any = (1.0,),
        cv: Any = 5,
        scoring: Any = None,
        loss: str = "squared",
        epsilon: float | None = None,
        fit_intercept: bool = True,
        deployment_cov: Any = None,
        tol: float = 1e-6,
        max_iter: int = 500,
        refit: bool = True,
        n_jobs: int | None = None,
        threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.lams = lams
        self.cov_scales = cov_scales
        self.cv = cv
        self.scoring = scoring
        self.loss = loss
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.deployment_cov = deployment_cov
        self.tol = tol
        self.max_iter = max_iter
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
        self._check_names(X, reset=True)
        cov, std = same_units(self, X, cov, std)
        check_deployment_units(self, X, self.deployment_cov)
        y = _targets_of(y)
        problem = RegressionProblem(
            X,
            y,
            cov,
            std=std,
            y_std=y_std,
            likelihood=self.loss == "squared",
            sample_weight=sample_weight,
            deployment_cov=self.deployment_cov,
        )
        team = Team(self.threads, self.n_jobs)
        lams, scales = check_lams(self.lams), check_scales(self.cov_scales)
        score = self._scorer()
        folds = _folds(problem, self.cv, groups)
        report = FitReport(self, X, y, "fit", len(lams) * len(scales) * len(folds))
        self.cv_results_, self.best_index_ = search_path(
            problem, lams, scales, folds, score, self._options, team, report, self.verbose
        )
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.lam_ = float(self.cv_results_["param_lam"][self.best_index_])
        self.cov_scale_ = float(self.cv_results_["param_cov_scale"][self.best_index_])
        if self.refit:
            options = self._options(problem, self.lam_, self.threads)
            self._take(problem.solve(options, cov_scale=self.cov_scale_))
        report.end()
        return self

    def _options(self, problem: Any, lam: float, threads: int | None) -> Any:
        options = make_options(
            len(problem),
            lam=lam,
            tol=self.tol,
            fit_intercept=self.fit_intercept,
            max_iter=self.max_iter,
            threads=threads,
        )
        options.loss = regression_loss(self.loss, self.epsilon)
        return options

    def _scorer(self) -> Any:
        """A function (problem, model, training rows, validation rows) -> score, greater is better."""
        name = EXPECTED[0] if self.scoring is None else self.scoring
        if name in EXPECTED:
            loss = regression_loss(self.loss, self.epsilon) if name == EXPECTED[1] else None
            return lambda *given: _expected_score(loss, *given)
        if not callable(name) and name not in get_scorer_names():
            raise ValueError(
                f"scoring: expected one of {', '.join(map(repr, EXPECTED))}, a callable, or the name of a "
                f"scorer of scikit-learn such as 'r2'; got {name!r}"
            )
        scorer = name if callable(name) else get_scorer(name)

        def score(problem: RegressionProblem, model: RegressionModel, _: Array, rows: Array) -> float:
            estimator = LinearSVRGSU(lam=model.lam, loss=self.loss, epsilon=self.epsilon)
            estimator._take(model)
            return float(scorer(estimator, problem.data.mean[rows], problem.targets[rows]))

        return score


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


def _folds(problem: RegressionProblem, cv: Any, groups: Any) -> list[tuple[Array, Array]]:
    if groups is not None:
        check_groups(groups, len(problem))
        if cv is None or isinstance(cv, (int, np.integer)):
            cv = GroupKFold(5 if cv is None else int(cv))
    splitter = check_cv(cv, problem.targets, classifier=False)
    splits = splitter.split(np.empty((len(problem), 0)), problem.targets, groups)
    return check_folds(splits, problem.sample_weights)


def _targets_of(y: Any) -> Array:
    """y as scikit-learn wants it: a column becomes a row with a warning."""
    if y is None:
        raise ValueError("y: this estimator requires y to be passed, but the target y is None")
    targets = np.asarray(y)
    return targets if targets.ndim == 1 else np.asarray(column_or_1d(targets, warn=True))
