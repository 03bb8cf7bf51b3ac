"""A trained linear classifier: decision values, classes, probabilities, files. NumPy only."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _core
from .gaussians import Gaussians
from .validation import Array, FloatArray, check_count


@dataclass(repr=False)
class Model:
    """What `svmgsu.train` returns and `svmgsu.load` reads.

    Attributes
    ----------
    coef_ : array of shape (1, n)
        The weights w.
    intercept_ : array of shape (1,)
        The offset b.
    classes_ : array of shape (2,)
        The labels of negative and positive decision values.
    lam : float
        The λ it was trained with.
    objective_, gap_ : float
        J at the solution, and a proven upper bound of J - J*. NaN after `load`.
    n_iter_ : int
    history_ : list of dict
        The solver's record: iteration, objective, gap, seconds, passes.
    platt_ : tuple (A, B) or None
        P(positive | f) = 1/(1 + exp(A f + B)).
    """

    coef_: FloatArray
    intercept_: FloatArray
    classes_: Array
    lam: float
    objective_: float = float("nan")
    gap_: float = float("nan")
    n_iter_: int = 0
    history_: list[dict[str, float]] = field(default_factory=list)
    platt_: tuple[float, float] | None = None

    @property
    def n_features_in_(self) -> int:
        return int(self.coef_.shape[1])

    def decision_function(self, X: Any, *, threads: int | None = None) -> FloatArray:
        """w·x + b for each row of X (or each mean of `Gaussians`), as an array of shape (l,).

        `threads` is by default all that OpenMP offers; the bits are the same for any number.
        """
        data = X if isinstance(X, Gaussians) else Gaussians(X)
        if data.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X: X has {data.shape[1]} features, but this model is expecting {self.n_features_in_} "
                "features as input"
            )
        values: FloatArray = _core.decision_values(
            data.core_means(),
            np.ascontiguousarray(self.coef_[0]),
            float(self.intercept_[0]),
            0 if threads is None else check_count(threads, "threads"),
        )
        return values

    def predict(self, X: Any) -> Array:
        """The class of each row of X."""
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(int)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the two classes for each row of X, by Platt scaling; shape (l, 2)."""
        if self.platt_ is None:
            raise RuntimeError("predict_proba: this model was trained with probability=False")
        a, b = self.platt_
        z = a * self.decision_function(X) + b
        negative = np.exp(-np.logaddexp(0, -z))
        positive = np.exp(-np.logaddexp(0, z))
        return np.column_stack([negative, positive])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model to `path` as text (documented in model.hpp); a reader never sees half a file."""
        kind, negative, positive = _label_texts(self.classes_)
        w = np.ascontiguousarray(self.coef_[0])
        _core.save_model(
            os.fspath(path), w, float(self.intercept_[0]), self.lam, self.platt_, kind, negative, positive
        )

    def __repr__(self) -> str:
        negative, positive = self.classes_.tolist()
        return (
            f"Model({self.n_features_in_} features, classes {negative!r} and {positive!r}, lam={self.lam:g}, "
            f"objective={self.objective_:.6g}, gap={self.gap_:.2g})"
        )


def load(path: str | os.PathLike[str]) -> Model:
    """Reads the model that `Model.save` or the C++ library wrote to `path`."""
    try:
        found = _core.load_model(os.fspath(path))
        classes = _labels_from_texts(found["label_type"], found["labels"])
    except ValueError as error:  # labels are the only text in the file, and always on its second line
        raise OSError(f"{os.fspath(path)}:2: the labels cannot be read ({error})") from None
    return Model(
        coef_=found["w"][np.newaxis, :],
        intercept_=np.array([found["b"]]),
        classes_=classes,
        lam=found["lam"],
        platt_=found["platt"],
    )


def _label_texts(classes: Array) -> tuple[str, str, str]:
    names = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str"}
    values = classes.tolist()
    kind = names.get(classes.dtype.kind)
    if kind is None and all(isinstance(v, str) for v in values):
        kind = "str"
    if kind is None:
        raise TypeError(f"classes_: labels of dtype {classes.dtype} cannot be saved; use numbers or strings")
    texts = [repr(v) if kind == "float" else str(v) for v in values]
    return kind, texts[0], texts[1]


def _labels_from_texts(kind: str, texts: tuple[str, str]) -> Array:
    readers: dict[str, Any] = {"bool": ("False", "True").index, "int": int, "float": float, "str": str}
    if kind not in readers:
        raise ValueError(f"type {kind!r} is not known; it must be one of {', '.join(readers)}")
    if texts[0] == texts[1]:
        raise ValueError(f"both are {texts[0]!r}")
    values = np.array([readers[kind](t) for t in texts])
    return values.astype(bool) if kind == "bool" else values
