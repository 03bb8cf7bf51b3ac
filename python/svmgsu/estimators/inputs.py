"""Values and their error bars must be in the same units, also where a pipeline has changed the values.

A transformer that is given error bars returns `Gaussians`, which have them in the new units; whoever is
handed the same error bars beside these, as metadata routing does, need not use them. Error bars that meet
values which a pipeline has changed without them are an error. scikit-learn tells a step nothing about the
pipeline around it, so that the calls that led here are searched for one.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np

from ..data.covariances import Covariance
from ..data.gaussians import Gaussians
from ..support.validation import is_sparse

ROUTED = {"cov": True, "std": True}  # with metadata routing, asked for unless a user says no
_GIVEN: WeakKeyDictionary[Gaussians, tuple[Any, Any]] = WeakKeyDictionary()


def as_given(data: Gaussians, cov: Any, std: Any) -> Gaussians:
    """`data`, of which is known from now on that they hold `cov` and `std`, in units of their own."""
    if cov is not None or std is not None:
        _GIVEN[data] = (cov, std)
    return data


def same_units(step: Any, X: Any, cov: Any, std: Any) -> tuple[Any, Any]:
    """`cov` and `std` as they belong to X: None where X holds them already.

    Raises ValueError where `step` stands in a pipeline that has changed the values since.
    """
    if cov is None and std is None:
        return None, None
    name = "std" if cov is None else "cov"
    if isinstance(X, Gaussians):
        held = _GIVEN.get(X, (None, None))
        if all(mine is None or mine is theirs for mine, theirs in zip((cov, std), held, strict=True)):
            return None, None
        raise ValueError(
            f"{name}: X is a Gaussians and has its covariance already; pass one of the two. (With metadata "
            "routing only the first step that takes it should ask for it: "
            f"{type(step).__name__}().set_fit_request(cov=False, std=False))"
        )
    steps = _steps_between(step, X)
    if steps is None:
        return cov, std
    foreign = [type(other).__name__ for _, other in steps if not hasattr(other, "learns_units")]
    instead = f"Pass svmgsu.Gaussians(X, {name}=...) as the X of the pipeline"
    if foreign:
        instead += f", and in place of {', '.join(foreign)} one that carries it: svmgsu.Propagate(...)"
    else:
        instead += f", or pass {steps[0][0]}__{name}=..., or with metadata routing {name}=..."
    raise ValueError(
        f"{name}: the pipeline has changed X before {type(step).__name__} sees it (by "
        f"{', '.join(repr(key) for key, _ in steps)}), so that {name} is in other units. {instead}"
    )


def check_deployment_units(step: Any, X: Any, cov: Any) -> None:
    """Refuses noise of deployment where a pipeline has learnt the units; a number is in those of the step."""
    if cov is None:
        return
    if not (cov.n_features if isinstance(cov, Covariance) else np.ndim(cov)):
        return
    steps = [name for name, transformer in _steps_between(step, X) or [] if _learns_units(transformer)]
    if steps:
        raise ValueError(
            f"deployment_cov: the pipeline has changed X before {type(step).__name__} sees it (by "
            f"{', '.join(map(repr, steps))}), so that it is in other units. Give it to the data, which carry "
            "it through the pipeline: svmgsu.Gaussians(X, ...).with_deployment(deployment_cov)"
        )


def _learns_units(transformer: Any) -> bool:
    from sklearn.utils import get_tags

    return bool(getattr(transformer, "learns_units", get_tags(transformer).requires_fit))


def _steps_between(step: Any, X: Any) -> list[tuple[str, Any]] | None:
    """The transformers before a step of a pipeline that is being called, and whose own X is another."""
    module = sys.modules.get("sklearn.pipeline")
    if module is None:
        return None
    for owner, given in _callers():
        if isinstance(owner, module.Pipeline) and given is not X and not _holds(given, X):
            before = itertools.takewhile(lambda named: type(named[1]) is not type(step), owner.steps[:-1])
            steps = [(name, other) for name, other in before if other is not None]
            return [(name, other) for name, other in steps if not isinstance(other, str)] or None
    return None


def _callers() -> Iterator[tuple[Any, Any]]:
    """`self` and `X` of the methods that led here, from the nearest outwards."""
    call: FrameType | None = sys._getframe(1)
    while call is not None:
        names = call.f_code.co_varnames[:2]
        if names == ("self", "X"):
            yield call.f_locals["self"], call.f_locals["X"]
        call = call.f_back


def _holds(given: Any, X: Any) -> bool:
    """Whether the first example of X is among those given: it is the same data, or some of their rows."""
    try:
        if is_sparse(given) or is_sparse(X):
            probe = np.random.default_rng(0).normal(size=X.shape[1])
            return bool(np.isclose(given @ probe, (X[:1] @ probe)[0], rtol=1e-9, atol=0.0).any())
        rows, first = np.asarray(given, dtype=np.float64), np.asarray(X, dtype=np.float64)[0]
        return bool(((rows == first) | np.isnan(rows)).all(axis=1).any())
    except (TypeError, ValueError, IndexError):  # another number of features, or no numbers
        return False


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
