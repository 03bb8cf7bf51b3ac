"""Lazy predictions of Dask collections, and the linear estimators on a cluster."""

from __future__ import annotations

from typing import Any, ClassVar

import dask.array as da
import numpy as np
from dask import delayed
from distributed import Client
from sklearn.base import BaseEstimator

from ..estimators.inputs import keep_names
from ..estimators.linear import LinearSVMGSU, LinearSVRGSU
from ..models.classifier import Model
from ..models.regressor import RegressionModel
from ..support.errors import counted_from
from ..support.types import Fitted, Lazy
from ..support.validation import ArrayLike
from .shards import aligned_blocks, is_dask, is_dask_frame, read_block, row_blocks
from .training import TIMEOUT, read_problem


def predict(model: Fitted, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None) -> Lazy:
    """Return the class, or the value, of each row of a Dask array or data frame X, as a lazy Dask array.

    `model` is a model or a fitted estimator; `cov` and `std` are collections with the rows of X.
    """
    return _lazy(model, "predict", X, cov, std)


def predict_proba(model: Fitted, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None) -> Lazy:
    """Return the probabilities of the classes of `model` for the rows of X, as `predict` does."""
    return _lazy(model, "predict_proba", X, cov, std)


def decision_function(model: Fitted, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None) -> Lazy:
    """Return the decision values of `model` for the rows of X, as `predict` does."""
    return _lazy(model, "decision_function", X, cov, std)


def _lazy(model: Fitted, method: str, X: Lazy, cov: ArrayLike, std: ArrayLike) -> Lazy:
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
    model: Fitted,
    method: str,
    X: ArrayLike,
    cov: ArrayLike,
    std: ArrayLike,
    columns: tuple[int, ...],
    dtype: Any,
    start: int,
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
    """What estimators on a cluster add: training on Dask collections, and lazy predictions of them."""

    _local_kind: ClassVar[type[BaseEstimator]]
    client: Client | None = None
    timeout: float | None = TIMEOUT

    def _fit(self, X: ArrayLike, y: ArrayLike, cov: ArrayLike, std: ArrayLike, **more: object) -> Fitted:
        options = self._options()  # type: ignore[attr-defined]
        problem = read_problem(self.client, self.timeout, X, y, cov, options, std=std, **more)
        self._train(problem)  # type: ignore[attr-defined]
        keep_names(self, problem.source, reset=True)
        return self

    def predict(self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None) -> Lazy:
        """Return the class or value of each row of X, as a lazy array for collections."""
        return predict(self, X, cov, std)

    def to_local(self) -> Fitted:
        """Return the same estimator for samples in memory, without the cluster."""
        local = self._local_kind(**self.get_params(deep=False))  # type: ignore[attr-defined]
        vars(local).update({name: value for name, value in vars(self).items() if name.endswith("_")})
        return local

    def __sklearn_clone__(self) -> Fitted:
        made = super().__sklearn_clone__()  # type: ignore[misc]
        made.client, made.timeout = self.client, self.timeout
        return made

    def __getstate__(self) -> Any:
        state: Any = super().__getstate__()
        return {**state, "client": None}  # which cannot be pickled


class DaskLinearSVMGSU(_OnCluster, LinearSVMGSU):
    """Train `LinearSVMGSU`, whose parameters it has, on a Dask cluster.

    `fit` takes Dask arrays or data frames, for which predictions are lazy. `to_local()` returns a
    `LinearSVMGSU`, which has what is for samples in memory alone, such as priors of predictions.

    Attributes
    ----------
    client : distributed.Client or None
        The cluster; set it before `fit`. None takes the current client. Clones keep it, pickles do not.
    timeout : float, default=600
        Seconds to wait for the responses of a round. None waits for ever.
    """

    _local_kind = LinearSVMGSU

    def fit(  # type: ignore[override]
        self,
        X: ArrayLike,
        y: ArrayLike,
        cov: ArrayLike = None,
        std: ArrayLike = None,
        sample_weight: ArrayLike = None,
    ) -> Fitted:
        """Train on a Dask array or data frame X; see `svmgsu.dask.train`."""
        return self._fit(X, y, cov, std, sample_weight=sample_weight)

    def decision_function(  # type: ignore[override]
        self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None
    ) -> Lazy:
        """Return decision values of the rows of X, as a lazy array for collections."""
        return decision_function(self, X, cov, std)

    def predict_proba(self, X: ArrayLike, cov: ArrayLike = None, std: ArrayLike = None) -> Lazy:
        """Return class probabilities of the rows of X, as a lazy array for collections."""
        return predict_proba(self, X, cov, std)


class DaskLinearSVRGSU(_OnCluster, LinearSVRGSU):  # type: ignore[misc]
    """Train `LinearSVRGSU`, whose parameters it has, on a Dask cluster: see `DaskLinearSVMGSU`."""

    _local_kind = LinearSVRGSU

    def fit(  # type: ignore[override]
        self,
        X: ArrayLike,
        y: ArrayLike,
        cov: ArrayLike = None,
        std: ArrayLike = None,
        y_std: ArrayLike = None,
        sample_weight: ArrayLike = None,
    ) -> Fitted:
        """Train on a Dask array or data frame X; see `svmgsu.dask.train`."""
        return self._fit(X, y, cov, std, y_std=y_std, sample_weight=sample_weight)
