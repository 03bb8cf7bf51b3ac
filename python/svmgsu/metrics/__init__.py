"""Measure how good a model is: `evaluate` for a classifier, `evaluate_regression` for a regression.

Rankings use decision values, not probabilities, which may have saturated at 0 or 1. Where scikit-learn has a
definition, it is used. `mcnemar` and `paired_t_test` compare two classifiers.
"""

from .classification import CUTOFFS, Evaluation, evaluate
from .comparison import McNemar, PairedTTest, mcnemar, paired_t_test
from .ranking import average_precision_at_k, precision_at_k, recall_at_k
from .regression import RegressionEvaluation, evaluate_regression
from .reliability import Bins, calibration_error, reliability_bins

__all__ = [
    "CUTOFFS",
    "Bins",
    "Evaluation",
    "McNemar",
    "PairedTTest",
    "RegressionEvaluation",
    "average_precision_at_k",
    "calibration_error",
    "evaluate",
    "evaluate_regression",
    "mcnemar",
    "paired_t_test",
    "precision_at_k",
    "recall_at_k",
    "reliability_bins",
]


def __dir__() -> list[str]:
    return sorted(__all__)
