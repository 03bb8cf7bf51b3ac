"""`DaskLinearSVMGSU` and `DaskLinearSVRGSU`: scikit-learn's estimators on a cluster."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.base import clone

from ..estimators.linear import LinearSVMGSU, LinearSVRGSU
from . import prediction
from .shards import is_dask
from .training import TIMEOUT, problem_of


def _with_client(cls: Any) -> Any:
    """Gives `__init__` its parent's signature with `client` and `timeout`, for get_params and clone."""
    own = list(inspect.signature(cls.__init__).parameters.values())
    parents = list(inspect.signature(cls.__bases__[-1].__init__).parameters.values())
    added = [p for p in own if p.name in ("client", "timeout")]
    cls.__init__.__signature__ = inspect.Signature([*parents, *added])
    return cls


class _OnCluster:
    """What estimators on a cluster share: lazy predictions, and the way back."""

    client: Any
    timeout: float | None
    model_: Any

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        return {**state, "client": None}

    def _parameters(self) -> dict[str, Any]:
        """Those that an estimator in memory has."""
        found = self.get_params(deep=False)  # type: ignore[attr-defined]
        return {name: value for name, value in found.items() if name not in ("client", "timeout")}

    def __sklearn_clone__(self) -> Any:
        parameters = {name: clone(value, safe=False) for name, value in self._parameters().items()}
        return type(self)(client=self.client, timeout=self.timeout, **parameters)  # type: ignore[call-arg]

    def _local(self, kind: Any) -> Any:
        local = kind(**self._parameters())
        if hasattr(self, "model_"):
            local._take(self.model_)
            for name in ("feature_names_in_", "names_of_gaussians_"):
                if name in self.__dict__:
                    setattr(local, name, self.__dict__[name])
        return local

    def _keep_names(self, names: list[str] | None) -> None:
        import numpy as np

        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
            self.names_of_gaussians_ = True


class _LazyClassifier:
    """What classifiers on a cluster answer of Dask collections; of examples in memory, the estimator does."""

    def predict(self, X: Any, cov: Any = None, std: Any = None) -> Any:
        """The class of each row of X, with `cov` or `std` beside it: of a Dask collection lazily."""
        return prediction.predict(self, X, cov, std) if is_dask(X) else super().predict(X, cov, std)  # type: ignore[misc]

    def decision_function(self, X: Any, cov: Any = None, std: Any = None, return_std: bool = False) -> Any:
        """Decision values of the rows of X, with `cov` or `std`: of a Dask collection lazily.

        `return_std` is for examples in memory.
        """
        if not is_dask(X):
            return super().decision_function(X, cov, std, return_std)  # type: ignore[misc]
        return prediction.decision_function(self, X, cov, std)


@_with_client
class DaskLinearSVMGSU(_OnCluster, _LazyClassifier, LinearSVMGSU):
    """`LinearSVMGSU` on a Dask cluster: the same parameters, `client` and `timeout`.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the one that is there.
    timeout : float, default=600
        Seconds to wait for the answers of a round.

    Notes
    -----
    All other parameters are those of `LinearSVMGSU`, such as `lam`. `fit` takes Dask arrays or data frames;
    of such, predictions are lazy. `to_local()` gives a `LinearSVMGSU`.
    """

    def __init__(
        self, lam: float = 1e-2, *, client: Any = None, timeout: float | None = TIMEOUT, **settings: Any
    ):
        super().__init__(lam, **settings)
        self.client, self.timeout = client, timeout

    def fit(self, X: Any, y: Any = None, cov: Any = None, std: Any = None, sample_weight: Any = None) -> Any:
        """Trains on the rows of X, a Dask array or data frame, with labels y.

        `cov`, `std` and `sample_weight` are as in `svmgsu.dask.train`.
        """
        if not is_dask(X):
            return super().fit(X, y, cov, std, sample_weight)
        problem = problem_of(
            self.client, self.timeout, X, y, cov, self._options(), std=std, sample_weight=sample_weight
        )
        self._train(problem, X, y)
        self._keep_names(problem.source.feature_names_in_)
        return self

    def predict_proba(self, X: Any, cov: Any = None, std: Any = None, prior: Any = None) -> Any:
        """Probabilities of the classes for the rows of X, with `cov` or `std`: of a Dask collection lazily.

        `prior` is for examples in memory.
        """
        if not is_dask(X):
            return super().predict_proba(X, cov, std, prior)
        return prediction.predict_proba(self, X, cov, std)

    def to_local(self) -> LinearSVMGSU:
        """The same classifier for examples in memory, without the cluster."""
        return self._local(LinearSVMGSU)  # type: ignore[no-any-return]


@_with_client
class DaskLinearSVRGSU(_OnCluster, LinearSVRGSU):
    """`LinearSVRGSU` on a Dask cluster: the same parameters, `client` and `timeout`.

    Parameters
    ----------
    client : distributed.Client, optional
        By default the one that is there.
    timeout : float, default=600
        Seconds to wait for the answers of a round.

    Notes
    -----
    All other parameters are those of `LinearSVRGSU`, such as `lam`. `to_local()` gives a `LinearSVRGSU`.
    """

    def __init__(
        self, lam: float = 1e-2, *, client: Any = None, timeout: float | None = TIMEOUT, **settings: Any
    ):
        super().__init__(lam, **settings)
        self.client, self.timeout = client, timeout

    def fit(
        self,
        X: Any,
        y: Any = None,
        cov: Any = None,
        std: Any = None,
        y_std: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Trains on the rows of X, a Dask array or data frame, with targets y.

        `cov`, `std`, `y_std` and `sample_weight` are as in `svmgsu.dask.train`.
        """
        if not is_dask(X):
            return super().fit(X, y, cov, std, y_std, sample_weight)
        problem = problem_of(
            self.client,
            self.timeout,
            X,
            y,
            cov,
            self._options(),
            std=std,
            y_std=y_std,
            sample_weight=sample_weight,
        )
        self._train(problem, X, y)
        self._keep_names(problem.source.feature_names_in_)
        return self

    def predict(self, X: Any, cov: Any = None, std: Any = None, return_std: bool = False) -> Any:
        """The value of each row of X, with `cov` or `std` beside it: of a Dask collection lazily.

        `return_std` is for examples in memory.
        """
        if not is_dask(X):
            return super().predict(X, cov, std, return_std)
        return prediction.predict(self, X, cov, std)

    def to_local(self) -> LinearSVRGSU:
        """The same regression for examples in memory, without the cluster."""
        return self._local(LinearSVRGSU)  # type: ignore[no-any-return]
