"""Lazy predictions of Dask collections: one task per block of rows."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from dask import delayed

from ..models.classifier import Model
from ..models.regressor import RegressionModel
from ..support.errors import counted_from
from .shards import aligned_blocks, is_dask, is_dask_frame, read_block, row_blocks


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
