"""What trained linear models share: new objects in order, values w·x + b and their variances, files."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from .. import _core
from ..data.covariances import Covariance, Psd
from ..data.gaussians import Gaussians, as_gaussians
from ..outofcore.blocks import Blocks
from ..support.validation import FloatArray, check_count

FORMATS = ("svmgsu", "gsvm")
P = ParamSpec("P")
R = TypeVar("R")


def blockwise(method: Callable[P, R]) -> Callable[P, R]:
    """A method of prediction that takes blocks, too: what it says of one block after another, joined."""

    @functools.wraps(method)
    def ask(*args: P.args, **options: P.kwargs) -> R:
        X = args[1] if len(args) > 1 else options.get("X")
        if not isinstance(X, Blocks):
            return method(*args, **options)
        given = inspect.signature(method).bind(*args, **options).arguments
        for name in ("cov", "std"):
            if given.get(name) is not None:
                raise ValueError(f"{name}: blocks have their own covariances; pass {name} to svmgsu.open")
        X.check()
        prior: Any = given.get("prior")
        each = np.ndim(prior) == 2 and len(prior) == len(X)
        parts: list[Any] = []
        for rows in X.spans():
            some = {"prior": prior[rows]} if each else {}
            parts.append(method(**(given | {"X": X[rows]} | some)))  # type: ignore[call-arg]
        if isinstance(parts[0], tuple):
            return tuple(np.concatenate(part) for part in zip(*parts, strict=True))  # type: ignore[return-value]
        return np.concatenate(parts)  # type: ignore[return-value]

    return ask


class LinearRule:
    """Weights and offsets with the names of the features; a classifier or a regression adds its task."""

    coef_: FloatArray
    intercept_: Any
    lam: float
    loss: str
    feature_names_in_: list[str] | None

    def _repr_html_(self) -> str:
        from .._repr import model_table

        return model_table(self)

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return int(self.coef_.shape[-1])

    def _planes(self) -> tuple[FloatArray, FloatArray]:
        """w as (number of values, n), and b."""
        w = np.atleast_2d(np.asarray(self.coef_, dtype=np.float64))
        return np.ascontiguousarray(w), np.atleast_1d(np.asarray(self.intercept_, dtype=np.float64))

    def _examples(self, X: Any, cov: Any, std: Any) -> Gaussians:
        """New objects with their features in the order of the model's."""
        data = new_objects(X, cov, std).in_order(self.feature_names_in_)
        if data.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X: X has {data.shape[1]} features, but this model is expecting {self.n_features_in_} "
                "features as input"
            )
        return data

    def _values(self, data: Gaussians, threads: int) -> FloatArray:
        """w·x + b as (l, number of values)."""
        return _core.decision_values(self._seen(data, blurred=False), *self._planes(), threads)

    def _seen(self, data: Gaussians, blurred: bool = True) -> _core.Gaussians:
        """The objects for the core, with their covariances if these are known and shall count."""
        if blurred and data.cov is not None and not depends_on_class(data.cov):
            core: _core.Gaussians = data.core()
            return core
        return _core.Gaussians(data.core_means(), ())

    def _variances(self, data: Gaussians, threads: int) -> FloatArray | None:
        """wᵀΣw of the objects as (l, number of values); None if their covariance is not known."""
        if data.cov is None or depends_on_class(data.cov):
            return None
        return _core.variances(data.core(), *self._planes(), threads)

    def _known_variances(self, data: Gaussians, threads: int) -> FloatArray:
        """The same, where it must be known."""
        found = self._variances(data, threads)
        if found is None:
            raise ValueError("cov: nothing is said of the uncertainty of X; pass cov= or std=")
        return found

    def _items(self, **task: Any) -> Any:
        """What the core writes to a file: the rule, and what its `task` adds to it."""
        w, b = self._planes()
        names = _encodable(self.feature_names_in_ or [])
        return _NOTHING | {"w": w, "b": b, "lam": self.lam, "loss": self.loss, "names": names} | task

    def _write(self, path: str | os.PathLike[str], format: str, **task: Any) -> None:
        """Writes the rule and what its `task` adds to it; a reader never sees half a file."""
        if format not in FORMATS:
            raise ValueError(f"format: expected one of {', '.join(map(repr, FORMATS))}, got {format!r}")
        text = _core.format_model(format, self._items(**task))
        from ..io.output import replacing

        with replacing(path) as (file,):
            file.write(text)


# What a model file holds of a task that says nothing of it.
_NOTHING: dict[str, Any] = {
    "loss_parameter": float("nan"),
    "scatter": float("nan"),
    "calibration": np.empty((0, 4)),
    "prior": np.empty(0),
    "class_weight": np.empty(0),
    "label_type": "",
    "labels": [],
    "multi_class": "ovo",
    "cov_mat_type": "full",
}


def new_objects(X: Any, cov: Any, std: Any, psd: Psd = "clip") -> Gaussians:
    """X with its covariance, for objects whose class is not known."""
    data = as_gaussians(X, cov, std, psd)
    if cov is not None and depends_on_class(data.cov):
        raise ValueError("cov: one covariance per class cannot be known of objects without a class")
    return data


def team_of(threads: int | None) -> int:
    """The core's number of threads: 0 for all."""
    return 0 if threads is None else check_count(threads, "threads")


def depends_on_class(cov: Covariance | None) -> bool:
    """Whether a covariance cannot be known of an object without its class."""
    return cov is not None and cov.needs_classes


def _encodable(names: list[str]) -> list[str]:
    """Names of features, if a file can hold them."""
    for name in names:
        if any("\ud800" <= c <= "\udfff" for c in name):
            raise ValueError(f"feature_names_in_: {name!r} is no text that a file can hold")
    return names
