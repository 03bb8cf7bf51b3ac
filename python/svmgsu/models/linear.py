"""What trained linear models share: new samples in order, values w·x + b and their variances, files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from ..data.gaussians import Gaussians, as_gaussians
from ..outofcore.blocks import Blocks
from ..support.types import Fields
from ..support.validation import ArrayLike, FloatArray, check_choice, check_count

FORMATS = ("svmgsu", "gsvm")

# What a model file holds of a task that says nothing of it.
_NOTHING: Fields = {
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


class LinearModel:
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
        """Return w as (number of values, n), and b."""
        w = np.atleast_2d(np.asarray(self.coef_, dtype=np.float64))
        return np.ascontiguousarray(w), np.atleast_1d(np.asarray(self.intercept_, dtype=np.float64))

    def _samples(self, X: ArrayLike, cov: ArrayLike, std: ArrayLike) -> Gaussians:
        """Return new samples with their features in the order of the model's."""
        data = as_gaussians(X, None, std) if cov is None else new_samples(X, cov, std)
        if self.feature_names_in_ is not None:
            data = data.in_order(self.feature_names_in_)
        if data.shape[1] != self.coef_.shape[-1]:
            raise ValueError(
                f"X: X has {data.shape[1]} features, but this model is expecting {self.n_features_in_} "
                "features as input"
            )
        return data

    def _values(self, data: Gaussians, threads: int) -> FloatArray:
        """Return w·x + b as (l, number of values)."""
        return _core.decision_values(_core.Gaussians(data.core_means(), ()), *self._planes(), threads)

    def _variances(self, data: Gaussians, threads: int) -> FloatArray:
        """Return wᵀΣw of the samples as (l, number of values), where their covariance is known."""
        if data.cov is None or data.cov.needs_classes:
            raise ValueError("cov: nothing is said of the uncertainty of X; pass cov= or std=")
        return _core.margins(data.core(), self._planes()[0], threads)[1]

    def _write(self, path: str | os.PathLike[str], format: str, **task: object) -> None:
        """Write the model and what its `task` adds to it; a reader never sees half a file."""
        check_choice(format, "format", FORMATS)
        for name in self.feature_names_in_ or []:
            if any("\ud800" <= c <= "\udfff" for c in name):
                raise ValueError(f"feature_names_in_: {name!r} is no text that a file can hold")
        w, b = self._planes()
        items: Any = {**_NOTHING, "w": w, "b": b, "lam": self.lam, "loss": self.loss, **task}
        items["names"] = self.feature_names_in_ or []
        text = _core.format_model(format, items)
        from ..io.output import replacing

        with replacing(path) as (file,):
            file.write(text)


def in_blocks(method: Callable[..., Any], X: Blocks, cov: ArrayLike, std: ArrayLike, **options: Any) -> Any:
    """Return what a method of prediction says of one block after another, joined.

    An option that is an array with a row for each sample is divided, too.
    """
    X.refuse_beside(cov=cov, std=std)
    X.check()
    each = [name for name, value in options.items() if np.ndim(value) == 2 and len(value) == len(X)]
    parts = [method(X[rows], **options | {name: options[name][rows] for name in each}) for rows in X.spans()]
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))
    return np.concatenate(parts)


def new_samples(X: ArrayLike, cov: ArrayLike, std: ArrayLike) -> Gaussians:
    """Return X with its covariance, for samples whose class is not known."""
    data = as_gaussians(X, cov, std)
    if cov is not None and data.cov is not None and data.cov.needs_classes:
        raise ValueError("cov: one covariance per class cannot be known of samples without a class")
    return data


def threads_of(threads: int | None) -> int:
    """Return the core's number of threads: 0 for all."""
    return 0 if threads is None else check_count(threads, "threads")
