"""A classifier with an RBF kernel, as the authors' program writes it: f(x) = Σ α_j exp(-γ |x - x_j|²) + b."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._core import FormatError
from ..io.files import name_of, read_bytes
from ..io.output import replacing
from ..support.memory import require_memory
from ..support.validation import Array, FloatArray, as_float_array, check_finite
from .calibration import Calibration

MAGIC = "SVM-GSU Model_File"
NUMBERS = ("lambda", "gamma", "b", "sigmA", "sigmB")
_NUMBERS_AT_A_TIME = 4_000_000  # of the kernel matrix of new objects


@dataclass
class KernelModel:
    """What `svmgsu.fit.kernel.train_kernel` finds and `gsvm-train -t 2` writes.

    Attributes
    ----------
    support_ : array of shape (l, n)
        The training means.
    dual_coef_ : array of shape (l,)
        α, the classes' signs included.
    intercept_, gamma, lam : float
    classes_ : array
        [-1, 1].
    platt_ : (float, float)
        P(+1) = 1/(1 + exp(A f + B)).
    objective_, gap_ : float
        NaN in a model that was read.
    cov_mat_type_ : str
    """

    support_: FloatArray
    dual_coef_: FloatArray
    intercept_: float
    gamma: float
    lam: float
    platt_: tuple[float, float]
    objective_: float = float("nan")
    gap_: float = float("nan")
    cov_mat_type_: str = ""
    classes_: Array = field(default_factory=lambda: np.array([-1, 1]))

    @property
    def n_features_in_(self) -> int:
        return int(self.support_.shape[1])

    @property
    def calibration_(self) -> tuple[Calibration, ...]:
        return (Calibration.from_platt(self.platt_),)

    def decision_function(self, X: Any) -> FloatArray:
        """f at each row of X."""
        X = as_float_array(X, "X", (2,))
        check_finite(X, "X")
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X: has {X.shape[1]} features, the model {self.n_features_in_}")
        step = max(1, _NUMBERS_AT_A_TIME // max(1, len(self.support_)))
        parts = [
            rbf(X[first : first + step], self.support_, self.gamma) @ self.dual_coef_
            for first in range(0, len(X), step)
        ]
        return np.concatenate([np.empty(0), *parts]) + self.intercept_

    def predict(self, X: Any) -> Array:
        """+1 where f >= 0, else -1, as the authors' program has it."""
        return self.classes_[np.where(self.decision_function(X) < 0, 0, 1)]

    def predict_proba(self, X: Any) -> FloatArray:
        """(P(-1), P(+1)) of each row."""
        positive = self.calibration_[0].probability(self.decision_function(X), np.zeros(len(X)))
        return np.column_stack([1 - positive, positive])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the authors' layout; numbers read back as they are."""
        a, b = map(float, self.platt_)
        head = (
            f"{MAGIC}\nkernel_type rbf\nlambda {float(self.lam)!r}\ngamma {float(self.gamma)!r}\n"
            f"b {float(self.intercept_)!r}\nsigmA {a!r}\nsigmB {b!r}\ncov_mat_type {self.cov_mat_type_}\nSV\n"
        )
        with replacing(path) as (file,):
            file.write(head.encode())
            for alpha, row in zip(self.dual_coef_.tolist(), self.support_.tolist(), strict=True):
                words = " ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1))
                file.write(f"{alpha!r} {words}\n".encode())


def rbf(X: FloatArray, Y: FloatArray, gamma: float) -> FloatArray:
    """exp(-γ |x - y|²) of all pairs, without a negative distance where rows are near each other."""
    centre = Y.mean(axis=0)
    X, Y = X - centre, Y - centre
    squares = (X**2).sum(axis=1)[:, np.newaxis] + (Y**2).sum(axis=1) - 2 * (X @ Y.T)
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0, out=squares)))


def is_kernel_file(text: bytes) -> bool:
    """Whether this is the beginning of a kernel model in the authors' layout."""
    lines = text[:200].splitlines()
    return len(lines) > 1 and lines[0].strip() == MAGIC.encode() and lines[1].split()[1:] == [b"rbf"]


def load_kernel(path: str | os.PathLike[str]) -> KernelModel:
    """Reads a kernel model of `gsvm-train -t 2`, of theirs or of ours."""
    return parse_kernel(read_bytes(path), name_of(path))


def parse_kernel(text: bytes, name: str) -> KernelModel:
    """A kernel model from the bytes of its file; `name` is for messages."""
    lines = text.decode("utf-8", "replace").splitlines()
    items: dict[str, str] = {}
    place = 1
    for place, line in enumerate(lines, 1):
        key, _, rest = line.strip().partition(" ")
        if key == "SV":
            break
        if key in items:
            raise FormatError(f"{name}:{place}: '{key}' is there twice")
        items[key] = rest.strip()
    missing = set(NUMBERS) - set(items)
    if missing:
        raise FormatError(f"{name}: a kernel model without {', '.join(sorted(missing))}")
    numbers = {
        key: _number(items[key], f"{name}: {key}") for key in ("lambda", "gamma", "b", "sigmA", "sigmB")
    }
    for key in ("lambda", "gamma"):
        if numbers[key] <= 0:
            raise FormatError(f"{name}: {key}: expected a number > 0, got {items[key]}")
    if items.get("kernel_type") != "rbf":
        raise FormatError(f"{name}: expected kernel_type rbf, got {items.get('kernel_type')!r}")
    rows = [_support(line, f"{name}:{k}") for k, line in enumerate(lines[place:], place + 1) if line.strip()]
    if not rows:
        raise FormatError(f"{name}: a kernel model without support vectors after the line SV")
    width = max(max(row, default=0) for _, row in rows)
    require_memory(8 * width * len(rows), f"{name}: {len(rows)} support vectors of {width} features")
    support = np.zeros((len(rows), width))
    for k, (_, row) in enumerate(rows):
        for j, value in row.items():
            support[k, j - 1] = value
    alpha = np.array([alpha for alpha, _ in rows])
    platt = (numbers["sigmA"], numbers["sigmB"])
    kind = items.get("cov_mat_type", "")
    return KernelModel(
        support, alpha, numbers["b"], numbers["gamma"], numbers["lambda"], platt, cov_mat_type_=kind
    )


def _support(line: str, where: str) -> tuple[float, dict[int, float]]:
    """A line `alpha j:v ...`."""
    first, *rest = line.split()
    row: dict[int, float] = {}
    for word in rest:
        index, _, value = word.partition(":")
        if not index.isdecimal() or not 0 < int(index) <= 10_000_000:
            raise FormatError(f"{where}: expected index:value with an index from 1 on, got {word!r}")
        row[int(index)] = _number(value, where)
    return _number(first, where), row


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise FormatError(f"{where}: expected a number, got {text!r}") from None
    if not np.isfinite(value):
        raise FormatError(f"{where}: expected a finite number, got {text!r}")
    return value
