"""What trained linear models share: new objects in the model's order, and their variances along w."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..data.covariances import Covariance
from ..data.gaussians import Gaussians, as_gaussians
from ..support.validation import FloatArray, check_count


def new_objects(X: Any, cov: Any, std: Any) -> Gaussians:
    """X with its covariance, for objects whose class is not known."""
    data = as_gaussians(X, cov, std)
    if cov is not None and depends_on_class(data.cov):
        raise ValueError("cov: one covariance per class cannot be known of objects without a class")
    return data


def examples_for(model: Any, X: Any, cov: Any, std: Any) -> Gaussians:
    """New objects with their features in the order of the model's."""
    data = new_objects(X, cov, std).in_order(model.feature_names_in_)
    if data.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X: X has {data.shape[1]} features, but this model is expecting {model.n_features_in_} "
            "features as input"
        )
    return data


def variances(data: Gaussians, W: FloatArray, threads: int) -> FloatArray | None:
    """wᵀΣw of the objects for each row w of W, as (l, rows of W); None if their covariance is not known."""
    if data.cov is None or depends_on_class(data.cov):
        return None
    return _core.margins(data.core(), np.ascontiguousarray(W), threads)[1].T


def known_variances(data: Gaussians, W: FloatArray, threads: int) -> FloatArray:
    """The same, where it must be known."""
    found = variances(data, W, threads)
    if found is None:
        raise ValueError("cov: nothing is said of the uncertainty of X; pass cov= or std=")
    return found


def team_of(threads: int | None) -> int:
    """The core's number of threads: 0 for all."""
    return 0 if threads is None else check_count(threads, "threads")


def depends_on_class(cov: Covariance | None) -> bool:
    """Whether a covariance cannot be known of an object without its class."""
    return cov is not None and cov.needs_classes


def encodable(names: list[str]) -> list[str]:
    """Names of features, if a file can hold them."""
    for name in names:
        if any("\ud800" <= c <= "\udfff" for c in name):
            raise ValueError(f"feature_names_in_: {name!r} is no text that a file can hold")
    return names
