"""The names of features that estimators keep, of frames and of `Gaussians` alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.gaussians import Gaussians


def keep_names(estimator: Any, data: Gaussians, *, reset: bool) -> Gaussians:
    """Keeps the names of the features in `fit`; later the examples come back in the order they had then."""
    names, known = data.feature_names_in_, getattr(estimator, "feature_names_in_", None)
    if not reset:
        return data.in_order(None if known is None else list(known))
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
        estimator.names_of_gaussians_ = True
    elif known is not None:
        del estimator.feature_names_in_
    return data


def may_lack_names(estimator: Any, X: Any) -> bool:
    """Whether X without names may be left of data with names: transformers make arrays of data frames."""
    return getattr(estimator, "names_of_gaussians_", False) and not hasattr(X, "columns")
