"""What estimators and transformers do with X, `cov` and `std`: names of features, units, metadata routing."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np

from ..data.gaussians import Gaussians
from ..support.types import Fitted
from ..support.validation import ArrayLike

Data = TypeVar("Data", bound=Any)
ROUTED = {"cov": True, "std": True}  # with metadata routing, requested unless a user says no


def same_units(step: Fitted, X: ArrayLike, cov: ArrayLike, std: ArrayLike) -> tuple[Any, Any]:
    """Return `cov` and `std` as they belong to X: None if X holds them already.

    A transformer that is given uncertainties returns `Gaussians`, which hold them in the new units. Metadata
    routing hands the same ones to the next step as well, which need not use them.
    """
    if not isinstance(X, Gaussians) or (cov is None and std is None):
        return cov, std
    if all(mine is None or mine is theirs for mine, theirs in zip((cov, std), X.given, strict=True)):
        return None, None
    raise ValueError(
        f"{'std' if cov is None else 'cov'}: X is a Gaussians and has its covariance already; pass one of "
        "the two. (With metadata routing only the first step that takes it should ask for it: "
        f"{type(step).__name__}().set_fit_request(cov=False, std=False))"
    )


def keep_names(estimator: Fitted, data: Data, *, reset: bool) -> Data:
    """Keep the names of the features in `fit`; later return the samples with the features in that order."""
    names = data.feature_names_in_
    known = getattr(estimator, "feature_names_in_", None)
    if not reset:
        return cast(Data, data.in_order(None if known is None else list(known)))
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
        estimator.names_of_gaussians_ = True
    elif known is not None:
        del estimator.feature_names_in_
    return data


def may_lack_names(estimator: Fitted, X: ArrayLike) -> bool:
    """Return whether X may come without the names of the fit: transformers make arrays of data frames."""
    return getattr(estimator, "names_of_gaussians_", False) and not hasattr(X, "columns")
