"""Lazy predictions of Dask collections: one task per block of rows."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
from dask import delayed

from ..models.classifier import Model
from ..models.regressor import RegressionModel
from ..support.places import counted_from
from .shards import aligned, is_dask, is_frame, pieces_of, read_piece


def predict(model: Any, X: Any, cov: Any = None, std: Any = None) -> Any:
    """The class, or the value, of each row of a Dask array or data frame X, as a lazy Dask array.

    `model` is a `svmgsu.Model`, a `RegressionModel` or a fitted estimator; `cov` and `std` are as X is.
    """
    return _lazy(model, "predict", X, cov, std)


def predict_proba(model: Any, X: Any, cov: Any = None, std: Any = None) -> Any:
    """Probabilities of the classes of `model` for the rows of X, lazily; `cov` and `std` are as X is."""
    return _lazy(model, "predict_proba", X, cov, std)


def decision_function(model: Any, X: Any, cov: Any = None, std: Any = None) -> Any:
    """Decision values of `model` for the rows of X, lazily; `cov` and `std` are as X is."""
    return _lazy(model, "decision_function", X, cov, std)


def _lazy(model: Any, method: str, X: Any, cov: Any, std: Any) -> Any:
    local = getattr(model, "model_", model)
    if not is_dask(X):
        return getattr(local, method)(X, cov=cov, std=std)
    blocks = pieces_of(X, "X")
    covs = aligned(cov, X, "cov") or [None] * len(blocks)
    stds = aligned(std, X, "std") or [None] * len(blocks)
    rows = [np.nan] * len(blocks) if is_frame(X) else list(X.chunks[0])
    wide, dtype = _shape(local, method)
    ask, sent = delayed(_answer, pure=False), delayed(local, traverse=False)
    firsts = [None] * len(blocks) if np.isnan(sum(rows)) else np.cumsum([0, *rows]).tolist()[:-1]
    parts = [
        da.from_delayed(ask(sent, method, block, c, s, wide, dtype, first), (count, *wide), dtype)
        for block, c, s, count, first in zip(blocks, covs, stds, rows, firsts, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _shape(model: Any, method: str) -> tuple[tuple[int, ...], Any]:
    if not hasattr(model, "classes_"):
        return (), np.dtype(np.float64)
    several = len(model.classes_)
    if method == "predict":
        return (), model.classes_.dtype
    return (several,) if method == "predict_proba" or several > 2 else (), np.dtype(np.float64)


def _answer(
    model: Any,
    method: str,
    X: Any,
    cov: Any,
    std: Any,
    wide: tuple[int, ...],
    dtype: Any,
    first: int | None,
) -> Any:
    """Task: predictions of a block of rows, which begins at row `first` of the whole, if that is known."""
    with counted_from(first or 0):
        data = read_piece(X, cov, std, "clip")
        if data is None:
            return np.empty((0, *wide), dtype)
        if isinstance(model, (Model, RegressionModel)):
            return getattr(model, method)(data, threads=1)
        return getattr(model, method)(data)
