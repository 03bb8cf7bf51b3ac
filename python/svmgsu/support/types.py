"""Names of types that several parts use, also for objects of packages that have no types themselves."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

Path: TypeAlias = "str | os.PathLike[str]"
Fields: TypeAlias = dict[str, Any]  # options, columns, objects of JSON: values of several types by name
Cell: TypeAlias = Any  # a value of a table, an option or JSON: a number, a text, a date, or None
Table: TypeAlias = Any  # a data frame of pandas or polars, a table of astropy or pyarrow
Fitted: TypeAlias = Any  # a fitted model or estimator, ours or scikit-learn's
Tags: TypeAlias = Any  # scikit-learn's tags of an estimator
Quantity: TypeAlias = Any  # numbers with a unit, of astropy
Lazy: TypeAlias = Any  # an array, a data frame, a task or a future of dask
Untyped: TypeAlias = Any  # a module, or an object of a package, without types
