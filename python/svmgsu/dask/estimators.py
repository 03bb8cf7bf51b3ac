"""Lazy predictions of Dask collections, and the linear estimators on a cluster."""

from __future__ import annotations

from typing import Any, ClassVar

import dask.array as da
import numpy as np
from dask import delayed
from sklearn.base import clone

from ..estimators.inputs import keep_names
from ..estimators.linear import LinearSVMGSU, LinearSVRGSU
from ..fit.options import DEFAULT_LAM
from ..models.classifier import Model
from ..models.regressor import RegressionModel
from ..support.errors import counted_from
from .shards import aligned_blocks, is_dask, is_dask_frame, read_block, row_blocks
from .training import TIMEOUT, read_problem


def predict(model: Any, X: Any, cov: Any = None, std: Any = None) -> Any:
    """Return the class, or the value, of each row of a Dask array or data frame X, as a lazy Dask array.

    `model` is a model or a fitted estimator; `cov` and `std` are collections with the rows of X.
    """
    return _lazy(model, "predict", X, cov, std)


def predict_proba(model: Any, X: Any, cov: Any = None, std: Any = None) -> Any:
    """Return the probabilities of the classes of `model` for the rows of X, as `predict` does."""
    return _lazy(model, "predict_proba", X, cov, std)


def decision_function(model: Any, X: Any, cov: Any = None, std: Any = None) -> Any:
    """Return the decision values of `model` for the rows of X, as `predict` does."""
    return _lazy(model, "decision_function", X, cov, std)


def _lazy(model: Any, method: str, X: Any, cov: Any, std: Any) -> Any:
    local = model.to_local() if hasattr(model, "to_local") else model
    if not is_dask(X):
        return getattr(local, method)(X, cov=cov, std=std)
    columns: tuple[int, ...] = ()
    dtype = np.dtype(np.float64)
    if hasattr(local, "classes_"):
        if method == "predict":
            dtype = local.classes_.dtype
        elif method == "predict_proba" or len(local.classes_) > 2:
            columns = (len(local.classes_),)
    blocks = row_blocks(X, "X")
    counts = [np.nan] * len(blocks) if is_dask_frame(X) else list(X.chunks[0])
    starts = np.nan_to_num(np.cumsum([0, *counts])).astype(int).tolist()
    task, sent = delayed(_predict_block, pure=False), delayed(local, traverse=False)
    parts = []
    for block, c, s, count, start in zip(
        blocks, aligned_blocks(cov, X, "cov"), aligned_blocks(std, X, "std"), counts, starts, strict=False
    ):
        found = task(sent, method, block, c, s, columns, dtype, start)
        parts.append(da.from_delayed(found, (count, *columns), dtype))
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _predict_block(
    model: Any, method: str, X: Any, cov: Any, std: Any, columns: tuple[int, ...], dtype: Any, start: int
) -> Any:
    """Task: predict a block, which begins at row `start` of the whole, or at 0 if that is not known."""
    with counted_from(start):
        data = read_block(X, cov, std)
        if data is None:
            return np.empty((0, *columns), dtype)
        # A worker has as many blocks at a time as threads.
        more = {"threads": 1} if isinstance(model, (Model, RegressionModel)) else {}
        return getattr(model, method)(data, **more)


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
            return predict(self, X, cov, std)
        return super().predict(X, cov, std)

    def decision_function(self, X: Any, cov: Any = None, std: Any = None, return_std: bool = False) -> Any:
        """Return decision values of the rows of X, lazily for collections; `return_std` in memory only."""
        if is_dask(X):
            return decision_function(self, X, cov, std)
        return super().decision_function(X, cov, std, return_std)

    def predict_proba(self, X: Any, cov: Any = None, std: Any = None, prior: Any = None) -> Any:
        """Return class probabilities of the rows of X, lazily for collections; `prior` in memory only."""
        if is_dask(X):
            return predict_proba(self, X, cov, std)
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
            return predict(self, X, cov, std)
        return super().predict(X, cov, std, return_std)
