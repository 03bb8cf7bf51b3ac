"""`DaskLinearSVMGSU` and `DaskLinearSVRGSU`: the linear estimators on a cluster."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import clone

from ..estimators.inputs import keep_names
from ..estimators.linear import LinearSVMGSU, LinearSVRGSU
from ..fit.options import DEFAULT_LAM
from . import prediction
from .shards import is_dask
from .training import TIMEOUT, read_problem


class _OnCluster:
    """What estimators on a cluster share: training and lazy predictions of Dask collections."""

    _local_kind: ClassVar[Any]  # the same estimator without a cluster
    client: Any
    timeout: float | None

    def to_local(self) -> Any:
        """Return the same estimator for samples in memory, without the cluster."""
        local = self._local_kind(**self._local_parameters())
        for name, value in vars(self).items():
            if name.endswith("_"):
                setattr(local, name, value)
        return local

    def _local_parameters(self) -> dict[str, Any]:
        found = self.get_params(deep=False)  # type: ignore[attr-defined]
        return {name: value for name, value in found.items() if name not in ("client", "timeout")}

    def _fit_collections(self, X: Any, y: Any, cov: Any, **more: Any) -> Any:
        problem = read_problem(self.client, self.timeout, X, y, cov, self._options(), **more)  # type: ignore[attr-defined]
        self._train(problem, X, y)  # type: ignore[attr-defined]
        keep_names(self, problem.source, reset=True)
        return self

    # A client can neither be copied nor pickled.

    def __sklearn_clone__(self) -> Any:
        parameters = {name: clone(value, safe=False) for name, value in self._local_parameters().items()}
        return type(self)(client=self.client, timeout=self.timeout, **parameters)  # type: ignore[call-arg]

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        return {**state, "client": None}


class DaskLinearSVMGSU(_OnCluster, LinearSVMGSU):
    """Train `LinearSVMGSU` on a Dask cluster.

    `fit` takes Dask arrays or data frames, for which predictions are lazy. `to_local()` returns a
    `LinearSVMGSU`.

    Parameters
    ----------
    lam : float, default=1e-2
        The weight λ of the penalty; a search for it takes samples in memory.
    loss, cov_scale, class_weight, multi_class, fit_intercept, probability, tol, max_time : optional
        As in `LinearSVMGSU`.
    warm_start, threads, verbose : optional
        As in `LinearSVMGSU`; the workers use all threads that they have.
    client : distributed.Client, optional
        By default the current one.
    timeout : float, default=600
        Seconds to wait for the responses of a round. None waits for ever.
    """

    _local_kind = LinearSVMGSU

    def __init__(
        self,
        lam: float = DEFAULT_LAM,
        *,
        loss: str = "hinge",
        cov_scale: float = 1.0,
        class_weight: Any = None,
        multi_class: str = "ovo",
        fit_intercept: bool = True,
        probability: bool | str = True,
        tol: float = 1e-6,
        max_time: float | None = None,
        warm_start: bool = False,
        threads: int | None = None,
        verbose: Any = False,
        client: Any = None,
        timeout: float | None = TIMEOUT,
    ) -> None:
        super().__init__(
            lam,
            loss=loss,
            cov_scale=cov_scale,
            class_weight=class_weight,
            multi_class=multi_class,
            fit_intercept=fit_intercept,
            probability=probability,
            tol=tol,
            max_time=max_time,
            warm_start=warm_start,
            threads=threads,
            verbose=verbose,
        )
        self.client = client
        self.timeout = timeout

    def fit(self, X: Any, y: Any = None, cov: Any = None, std: Any = None, sample_weight: Any = None) -> Any:
        """Train on a Dask array or data frame X with labels y; arguments as in `svmgsu.dask.train`."""
        if not is_dask(X):
            return super().fit(X, y, cov, std, sample_weight)
        return self._fit_collections(X, y, cov, std=std, sample_weight=sample_weight)

    def predict(self, X: Any, cov: Any = None, std: Any = None) -> Any:
        """Return the class of each row of X, with uncertainties `cov` or `std`; lazily for collections."""
        if is_dask(X):
            return prediction.predict(self, X, cov, std)
        return super().predict(X, cov, std)

    def decision_function(self, X: Any, cov: Any = None, std: Any = None, return_std: bool = False) -> Any:
        """Return decision values of the rows of X, lazily for collections; `return_std` in memory only."""
        if is_dask(X):
            return prediction.decision_function(self, X, cov, std)
        return super().decision_function(X, cov, std, return_std)

    def predict_proba(self, X: Any, cov: Any = None, std: Any = None, prior: Any = None) -> Any:
        """Return class probabilities of the rows of X, lazily for collections; `prior` in memory only."""
        if is_dask(X):
            return prediction.predict_proba(self, X, cov, std)
        return super().predict_proba(X, cov, std, prior)


class DaskLinearSVRGSU(_OnCluster, LinearSVRGSU):
    """Train `LinearSVRGSU` on a Dask cluster.

    `fit` takes Dask arrays or data frames, for which predictions are lazy. `to_local()` returns a
    `LinearSVRGSU`.

    Parameters
    ----------
    lam : float, default=1e-2
        The weight λ of the penalty; a search for it takes samples in memory.
    loss, epsilon, cov_scale, fit_intercept, tol, max_time : optional
        As in `LinearSVRGSU`.
    warm_start, threads, verbose : optional
        As in `LinearSVRGSU`; the workers use all threads that they have.
    client : distributed.Client, optional
        By default the current one.
    timeout : float, default=600
        Seconds to wait for the responses of a round. None waits for ever.
    """

    _local_kind = LinearSVRGSU

    def __init__(
        self,
        lam: float = DEFAULT_LAM,
        *,
        loss: str = "squared",
        epsilon: float | None = None,
        cov_scale: float = 1.0,
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_time: float | None = None,
        warm_start: bool = False,
        threads: int | None = None,
        verbose: Any = False,
        client: Any = None,
        timeout: float | None = TIMEOUT,
    ) -> None:
        super().__init__(
            lam,
            loss=loss,
            epsilon=epsilon,
            cov_scale=cov_scale,
            fit_intercept=fit_intercept,
            tol=tol,
            max_time=max_time,
            warm_start=warm_start,
            threads=threads,
            verbose=verbose,
        )
        self.client = client
        self.timeout = timeout

    def fit(
        self,
        X: Any,
        y: Any = None,
        cov: Any = None,
        std: Any = None,
        y_std: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Train on a Dask array or data frame X with targets y; arguments as in `svmgsu.dask.train`."""
        if not is_dask(X):
            return super().fit(X, y, cov, std, y_std, sample_weight)
        return self._fit_collections(X, y, cov, std=std, y_std=y_std, sample_weight=sample_weight)

    def predict(self, X: Any, cov: Any = None, std: Any = None, return_std: bool = False) -> Any:
        """Return the value of each row of X, lazily for collections; `return_std` in memory only."""
        if is_dask(X):
            return prediction.predict(self, X, cov, std)
        return super().predict(X, cov, std, return_std)
