"""The names of features that estimators keep, of frames and of `Gaussians` alike."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np

Data = TypeVar("Data", bound=Any)


def keep_names(estimator: Any, data: Data, *, reset: bool) -> Data:
    """Keeps the names of the features in `fit`; later the examples come back in the order they had then."""
    names, known = data.feature_names_in_, getattr(estimator, "feature_names_in_", None)
    if not reset:
        return cast(Data, data.in_order(None if known is None else list(known)))
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
        estimator.names_of_gaussians_ = True
    elif known is not None:
        del estimator.feature_names_in_
    return data


def may_lack_names(estimator: Any, X: Any) -> bool:
    """Whether X without names may be left of data with names: transformers make arrays of data frames."""
    return getattr(estimator, "names_of_gaussians_", False) and not hasattr(X, "columns")
