"""Names of types that several parts use, also for objects of packages that have no types themselves."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

from .validation import ArrayLike, Matrix

Path: TypeAlias = "str | os.PathLike[str]"
Fields: TypeAlias = dict[str, Any]  # options, columns, objects of JSON: values of several types by name
Fitted: TypeAlias = Any  # a fitted model or estimator, ours or scikit-learn's
Tags: TypeAlias = Any  # scikit-learn's tags of an estimator
Quantity: TypeAlias = Any  # numbers with a unit, of astropy


class Table(Protocol):
    """A data frame of pandas or polars, or a table of astropy or pyarrow."""

    @property
    def columns(self) -> Iterable[Any]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, key: Any, /) -> Any: ...


class Estimator(Protocol):
    """What scikit-learn calls an estimator that predicts."""

    def fit(self, X: Any, y: Any, /) -> Any: ...

    def predict(self, X: Any, /) -> Any: ...


class Transformer(Protocol):
    """What scikit-learn calls a transformer."""

    def fit(self, X: Any, y: Any = None, /) -> Any: ...

    def transform(self, X: ArrayLike, /) -> Matrix: ...
