"""`LinearSVMGSU`: the classifier for scikit-learn's world, a thin layer over `svmgsu.train`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .callbacks import CallbackSupportMixin, FitReport, with_callbacks
from .gaussians import Gaussians, as_gaussians
from .model import Model
from .training import train
from .validation import Array, FloatArray

# What is handed on to `train` as it is; named here, since get_params() takes longer than a small fit.
_SETTINGS = (
    *("lam", "solver", "fit_intercept", "cov_scale", "deployment_cov", "subspace", "subspace_mode"),
    *("probability", "tol", "max_iter", "max_time", "T", "k", "average", "threads", "verbose"),
)


class LinearSVMGSU(CallbackSupportMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear support vector machine with Gaussian sample uncertainty.

    Parameters
    ----------
    lam : float, default=1e-2
        The weight λ of the penalty λ/2 ‖w‖².
    solver : {"newton", "sgd"}
        Exact and certified, or the paper's stochastic algorithm.
    fit_intercept, cov_scale, deployment_cov, subspace, subspace_mode, probability, tol, max_iter, max_time
        As in `svmgsu.train`.
    T, k, average, threads, verbose
        As in `svmgsu.train`.
    warm_start : bool, default=False
        Start from the last fit's solution (newton).
    random_state : int, RandomState or None, default=0
        Seed of the "sgd" solver.

    Attributes
    ----------
    coef_ : array of shape (1, n)
    intercept_ : array of shape (1,)
    classes_ : array of shape (2,)
    objective_, gap_ : float
        The objective reached, and a proven upper bound of its distance to the optimum.
    n_iter_ : int
    history_ : list of dict
    model_ : svmgsu.Model
        The model without scikit-learn, to save or embed.

    Examples
    --------
    >>> import numpy as np, svmgsu
    >>> X, y = np.array([[-2.0, 0.1], [-1.0, -0.2], [1.0, 0.3], [2.0, -0.1]]), ["a", "a", "b", "b"]
    >>> svmgsu.LinearSVMGSU(lam=0.1).fit(X, y, std=np.full((4, 2), 0.3)).predict(X).tolist()
    ['a', 'a', 'b', 'b']
    """

    def __init__(
        self,
        lam: float = 1e-2,
        *,
        solver: str = "newton",
        fit_intercept: bool = True,
        cov_scale: float = 1.0,
        deployment_cov: Any = None,
        subspace: float | None = None,
        subspace_mode: str = "truncate",
        probability: bool = True,
        tol: float = 1e-6,
        max_iter: int = 500,
        max_time: float | None = None,
        T: int | None = None,
        k: int | None = None,
        average: float = 0.5,
        random_state: Any = 0,
        threads: int | None = None,
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
        self.lam = lam
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.cov_scale = cov_scale
        self.deployment_cov = deployment_cov
        self.subspace = subspace
        self.subspace_mode = subspace_mode
        self.probability = probability
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.T = T
        self.k = k
        self.average = average
        self.random_state = random_state
        self.threads = threads
        self.warm_start = warm_start
        self.verbose = verbose

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, cov: Any = None, std: Any = None, sample_weight: Any = None
    ) -> LinearSVMGSU:
        """Trains on X (or `Gaussians`) with labels y; `cov`, `std`, `sample_weight` as in `svmgsu.train`."""
        y = np.asarray(y)
        if y.ndim != 1:
            y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f" and np.isfinite(y).all():  # what is not finite, `train` names
            check_classification_targets(y)
        settings = {name: getattr(self, name) for name in _SETTINGS}
        if self.warm_start and self.solver == "newton":
            settings["start"] = getattr(self, "model_", None)
        report = FitReport(self, X, y, "iteration", None)
        model = train(
            X,
            y,
            cov,
            std=std,
            sample_weight=sample_weight,
            seed=self._seed(),
            callback=report.monitor(),
            **settings,
        )
        self._take(model)
        report.end()
        return self

    def _take(self, model: Model) -> None:
        """Shows what a model has learnt as attributes of the estimator."""
        self.model_ = model
        names = "coef_ intercept_ classes_ objective_ gap_ n_iter_ history_ n_features_in_"
        for name in names.split():
            setattr(self, name, getattr(model, name))

    def decision_function(self, X: Any) -> FloatArray:
        """w·x + b for each row of X."""
        data = self._examples(X)
        return self.model_.decision_function(data, threads=self.threads)

    def predict(self, X: Any) -> Array:
        """The class of each row of X."""
        data = self._examples(X)
        return self.model_.predict(data)

    @available_if(lambda self: self.probability)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the two classes for each row of X, shape (l, 2)."""
        data = self._examples(X)
        return self.model_.predict_proba(data)

    def _examples(self, X: Any) -> Gaussians:
        check_is_fitted(self)
        data = as_gaussians(X)
        if data.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {data.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return data

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _seed(self) -> int:
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        from sklearn.utils import check_random_state

        return int(check_random_state(self.random_state).randint(2**31 - 1))
