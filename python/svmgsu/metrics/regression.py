"""Measures of a regression: its errors, and how likely the targets are under the predicted uncertainties."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from ..support.arrays import plain
from ..support.labels import check_weights
from ..support.types import Fields
from ..support.validation import ArrayLike, FloatArray, as_float_array, check_finite


@dataclass(frozen=True, repr=False)
class RegressionEvaluation:
    """Hold what `evaluate_regression` measured.

    `rmse` is the root mean squared error of so many `samples`, `mae` the mean absolute error; `r2` is NaN for
    constant targets; `bias` is the mean of prediction - target. Given std, `log_likelihood` is the mean log
    density of the targets under N(prediction, std²), and `coverage` the fraction of targets within one std:
    0.683 if errors are normal and std is right.
    """

    samples: int
    rmse: float
    mae: float
    r2: float
    bias: float
    log_likelihood: float | None
    coverage: float | None

    def to_dict(self) -> Fields:
        """Return all measures as plain numbers; what is undefined is None."""
        facts: Fields = plain(asdict(self))
        return facts

    def __repr__(self) -> str:
        rows = [
            ("RMSE", self.rmse),
            ("MAE", self.mae),
            ("R²", self.r2),
            ("bias", self.bias),
            ("log-likelihood", self.log_likelihood),
            ("within one std", self.coverage),
        ]
        lines = [f"  {name:<22}{value:>12.6g}" for name, value in rows if value is not None]
        return "\n".join([f"{self.samples} samples", *lines])


def evaluate_regression(
    y: ArrayLike, predicted: ArrayLike, *, std: ArrayLike = None, sample_weight: ArrayLike = None
) -> RegressionEvaluation:
    """Compute all measures of a regression on samples with known targets.

    Parameters
    ----------
    y, predicted : array of shape (l,)
        True and predicted targets.
    std : float or array of shape (l,), optional
        Standard deviations of target - prediction, > 0, as `predict(X, return_std=True)` returns them.
    sample_weight : array of shape (l,), optional
        Relative weights of the samples.

    Examples
    --------
    >>> from svmgsu.metrics import evaluate_regression
    >>> evaluate_regression([1.0, 2.0, 4.0], [1.5, 2.0, 3.5], std=0.5)
    3 samples
      RMSE                      0.408248
      MAE                       0.333333
      R²                        0.892857
      bias                             0
      log-likelihood           -0.559125
      within one std                   1
    """
    truth = _numbers(y, "y")
    values = _numbers(predicted, "predicted")
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
            raise ValueError(f"std: sample {worst} has {deviation[worst]:g}; standard deviations must be > 0")
        z = error / deviation
        likelihood = float(weights @ (-(z**2) / 2 - np.log(deviation) - np.log(2 * np.pi) / 2))
        coverage = float(weights @ (np.abs(z) <= 1))
    return RegressionEvaluation(
        samples=len(truth),
        rmse=float(np.sqrt(squares)),
        mae=float(weights @ np.abs(error)),
        r2=1 - squares / spread if spread > 0 else float("nan"),
        bias=float(weights @ error),
        log_likelihood=likelihood,
        coverage=coverage,
    )


def _numbers(given: ArrayLike, name: str, ndim: tuple[int, ...] = (1,)) -> FloatArray:
    """Return finite float64 numbers."""
    values = as_float_array(given, name, ndim).astype(np.float64)
    check_finite(np.atleast_1d(values), name)
    return values
