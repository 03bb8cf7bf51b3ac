"""Measures of a regression: errors of its values, and how likely the targets are under its deviations."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..support.labels import check_weights
from ..support.validation import FloatArray, as_float_array, check_finite


@dataclass(frozen=True, repr=False)
class RegressionEvaluation:
    """What `evaluate_regression` found.

    Attributes
    ----------
    examples : int
    rmse, mae : float
        The root of the mean squared error, and the mean absolute error.
    r2 : float
        1 - (squared errors)/(squared distances of the targets from their mean); NaN where these are all 0.
    bias : float
        The mean of prediction - target.
    log_likelihood : float or None
        The mean logarithm of the targets' density under N(prediction, deviation²), if deviations were given.
    coverage : float or None
        The share of targets within one deviation of their prediction; 0.683 if errors are normal and the
        deviations right.
    """

    examples: int
    rmse: float
    mae: float
    r2: float
    bias: float
    log_likelihood: float | None
    coverage: float | None

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain numbers; what is undefined is None."""
        return {k: None if v is None or not np.isfinite(v) else v for k, v in asdict(self).items()}

    def to_json(self, indent: int | None = 2) -> str:
        """All of it as JSON, indented by `indent` blanks (None: on one line); what is undefined is null."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def __repr__(self) -> str:
        rows = [
            ("RMSE", self.rmse),
            ("MAE", self.mae),
            ("R²", self.r2),
            ("bias", self.bias),
            ("log-likelihood", self.log_likelihood),
            ("within one deviation", self.coverage),
        ]
        lines = [f"  {name:<22}{value:>12.6g}" for name, value in rows if value is not None]
        return "\n".join([f"{self.examples} examples", *lines])


def evaluate_regression(
    y: Any, predicted: Any, *, std: Any = None, sample_weight: Any = None
) -> RegressionEvaluation:
    """All measures of a regression on examples with known targets.

    Parameters
    ----------
    y, predicted : array of shape (l,)
        The targets, and the values that the model predicts.
    std : float or array of shape (l,), optional
        Deviations of target - prediction, all > 0: the root of scatter² + wᵀΣw + y_std², as far as they are
        known.
    sample_weight : array of shape (l,), optional

    Examples
    --------
    >>> from svmgsu.metrics import evaluate_regression
    >>> evaluate_regression([1.0, 2.0, 4.0], [1.5, 2.0, 3.5], std=0.5)
    3 examples
      RMSE                      0.408248
      MAE                       0.333333
      R²                        0.892857
      bias                             0
      log-likelihood           -0.559125
      within one deviation             1
    """
    truth, values = _numbers(y, "y"), _numbers(predicted, "predicted")
    if values.shape != truth.shape or not len(truth):
        raise ValueError(f"predicted: {len(values)} values for {len(truth)} targets")
    weights = check_weights(sample_weight, len(truth))
    weights = weights / weights.sum()
    error = values - truth
    squares = float(weights @ error**2)
    spread = float(weights @ (truth - weights @ truth) ** 2)
    likelihood = coverage = None
    if std is not None:
        deviation = np.broadcast_to(_numbers(std, "std", (0, 1)), truth.shape)
        if not (deviation > 0).all():
            worst = int(deviation.argmin())
            raise ValueError(f"std: example {worst} has {deviation[worst]:g}; deviations must be > 0")
        z = error / deviation
        likelihood = float(weights @ (-(z**2) / 2 - np.log(deviation) - np.log(2 * np.pi) / 2))
        coverage = float(weights @ (np.abs(z) <= 1))
    return RegressionEvaluation(
        examples=len(truth),
        rmse=float(np.sqrt(squares)),
        mae=float(weights @ np.abs(error)),
        r2=1 - squares / spread if spread > 0 else float("nan"),
        bias=float(weights @ error),
        log_likelihood=likelihood,
        coverage=coverage,
    )


def _numbers(given: Any, name: str, ndim: tuple[int, ...] = (1,)) -> FloatArray:
    values = as_float_array(given, name, ndim).astype(np.float64)
    check_finite(np.atleast_1d(values), name)
    return values
