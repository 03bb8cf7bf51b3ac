"""How good is a model? `evaluate` measures a classifier by everything; each measure is also a function.

Rankings are by decision values, never by probabilities that may have saturated at 0 or 1. Where scikit-learn
has a definition, its is used. Classifiers are compared by `mcnemar` and `paired_t_test`.
`evaluate_regression` measures a regression.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss, precision_recall_fscore_support

from ..support.labels import check_weights
from ..support.validation import Array, FloatArray, as_float_array, check_count, check_finite
from .comparison import McNemar, PairedTTest, mcnemar, mcnemar_from_counts, paired_t_test
from .evaluation import ClassMetrics, Evaluation
from .ranking import (
    average_precision,
    average_precision_at_k,
    mean_average_precision,
    precision_at_k,
    recall_at_k,
)
from .regression import RegressionEvaluation, evaluate_regression
from .reliability import Bins, calibration_error, check_probabilities, reliability_bins

__all__ = [
    "CUTOFFS",
    "Bins",
    "ClassMetrics",
    "Evaluation",
    "McNemar",
    "PairedTTest",
    "RegressionEvaluation",
    "average_precision",
    "average_precision_at_k",
    "calibration_error",
    "evaluate",
    "evaluate_regression",
    "mcnemar",
    "mcnemar_from_counts",
    "mean_average_precision",
    "paired_t_test",
    "precision_at_k",
    "recall_at_k",
    "reliability_bins",
]

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
_AT = {
    "precision_at": precision_at_k,
    "recall_at": recall_at_k,
    "average_precision_at": average_precision_at_k,
}


def evaluate(
    y: Any,
    scores: Any,
    *,
    labels: Any = None,
    predicted: Any = None,
    proba: Any = None,
    sample_weight: Any = None,
    bins: int = 10,
    cutoffs: Any = CUTOFFS,
) -> Evaluation:
    """All measures of a classifier on labelled examples.

    Parameters
    ----------
    y : array of shape (l,)
        The true labels.
    scores : array of shape (l,) or (l, K)
        Decision values: of the positive class where there are two, else a column per class.
    labels : array of shape (K,), optional
        The model's `classes_`; of two, the second is the positive one. By default the labels in y, sorted.
    predicted : array of shape (l,), optional
        The labels that the model predicts. By default the positive class where the score is above 0; with
        more classes that of the greatest probability, or without probabilities of the greatest score.
    proba : array of shape (l,) or (l, K), optional
        Probabilities of the positive class, or a column per class, for log-loss and calibration error.
    sample_weight : array of shape (l,), optional
        Relative weights of the examples, in all but the measures at k; a common factor changes nothing.
    bins : int, default=10
        For the calibration error, of the same width. With two classes it compares the probability of the
        positive class with its frequency, with more the greatest probability with the accuracy.
    cutoffs : tuple of int
        The k of the measures at k.

    Examples
    --------
    >>> import numpy as np
    >>> from svmgsu.metrics import evaluate
    >>> found = evaluate(["no", "yes", "yes", "no"], [-2.0, 1.5, -0.5, -1.0], cutoffs=(2, 3))
    >>> found.accuracy, found.recall, found.average_precision
    (0.75, 0.5, 1.0)
    >>> found
    4 examples, positive class 'yes'
      accuracy                  0.7500
      precision                 1.0000
      recall                    0.5000
      F-score                   0.6667
      average precision         1.0000
      mean AP over classes      1.0000
    <BLANKLINE>
      at k                    2       3
      precision          1.0000  0.6667
      recall             1.0000  1.0000
      average precision  1.0000  1.0000
    <BLANKLINE>
      class  examples  predicted  precision   recall  F-score       AP
      'no'          2          3     0.6667   1.0000   0.8000   1.0000
      'yes'         2          1     1.0000   0.5000   0.6667   1.0000
    """
    truth, classes = _codes_of_truth(y, labels)
    values = _check_scores(scores, len(truth), len(classes))
    chances = None if proba is None else _check_proba(proba, len(truth), len(classes))
    weights = check_weights(sample_weight, len(truth))
    ks = [check_count(k, "cutoffs") for k in cutoffs]
    said = _decide(values, chances) if predicted is None else _codes(predicted, classes, "predicted")
    if len(said) != len(truth):
        raise ValueError(f"predicted: {len(said)} labels for {len(truth)} examples")

    columns = values.T if values.ndim == 2 else (-values, values)
    by_class = _by_class(truth, said, columns, classes, weights, ks)
    present = [c for c in by_class if c.examples > 0]
    shown = by_class if len(classes) > 2 else by_class[1:]
    ranked = present if len(classes) > 2 else by_class[1:]
    everyone = np.arange(len(classes))
    return Evaluation(
        labels=classes.tolist(),
        examples=len(truth),
        accuracy=float(accuracy_score(truth, said, sample_weight=weights)),
        precision=_mean([c.precision for c in shown]),
        recall=_mean([c.recall for c in shown]),
        f_score=_mean([c.f_score for c in shown]),
        average_precision=_mean([c.average_precision for c in ranked]),
        mean_average_precision=_mean([c.average_precision for c in present]),
        **{name: {k: _mean([getattr(c, name)[k] for c in ranked]) for k in ks} for name in _AT},
        log_loss=None
        if chances is None
        else float(log_loss(truth, chances, labels=everyone, sample_weight=weights)),
        calibration_error=None if chances is None else _miscalibration(truth, chances, bins, weights),
        confusion=confusion_matrix(truth, said, labels=everyone, sample_weight=weights).astype(float),
        by_class=by_class,
    )


def _by_class(
    truth: Array, said: Array, columns: Any, classes: Array, weights: FloatArray, ks: list[int]
) -> list[ClassMetrics]:
    everyone = np.arange(len(classes))
    precision, recall, f_score, _ = precision_recall_fscore_support(
        truth, said, labels=everyone, sample_weight=weights, zero_division=0
    )
    return [
        ClassMetrics(
            label=label,
            examples=float(weights @ (truth == c)),
            predicted=float(weights @ (said == c)),
            precision=float(precision[c]),
            recall=float(recall[c]),
            f_score=float(f_score[c]),
            average_precision=average_precision(truth == c, column, positive=True, sample_weight=weights),
            **{name: {k: at(truth == c, column, k, positive=True) for k in ks} for name, at in _AT.items()},
        )
        for c, (label, column) in enumerate(zip(classes.tolist(), columns, strict=True))
    ]


def _codes_of_truth(y: Any, labels: Any) -> tuple[Array, Array]:
    """The labels' places among the classes, and the classes."""
    truth = np.asarray(y)
    if truth.ndim != 1 or len(truth) == 0:
        raise ValueError(f"y: expected one label per example, got an array of shape {truth.shape}")
    classes = np.unique(truth) if labels is None else np.asarray(labels)
    if classes.ndim != 1 or len(np.unique(classes)) != len(classes):
        raise ValueError(f"labels: expected different classes, got {classes.tolist()}")
    if len(classes) < 2:
        found = classes.tolist()
        raise ValueError(f"y: only the classes {found}; give all that the model knows with labels=")
    return _codes(truth, classes, "y"), classes


def _codes(given: Any, classes: Array, name: str) -> Array:
    labels = np.asarray(given)
    if labels.ndim != 1:
        raise ValueError(f"{name}: expected one label per example, got an array of shape {labels.shape}")
    table = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([table.get(label, -1) for label in labels.tolist()], dtype=int)
    unknown = np.flatnonzero(codes < 0)
    if len(unknown):
        found = labels.tolist()[unknown[0]]
        raise ValueError(f"{name}: example {unknown[0]} is of class {found!r}, not one of {classes.tolist()}")
    return codes


def _check_scores(scores: Any, examples: int, classes: int) -> FloatArray:
    values = as_float_array(scores, "scores", (1, 2))
    check_finite(values, "scores")
    wanted = (examples,) if classes == 2 else (examples, classes)
    if values.shape != wanted:
        raise ValueError(
            f"scores: shape {values.shape}; for {examples} examples of {classes} classes it should be "
            f"{wanted}"
        )
    return values


def _check_proba(proba: Any, examples: int, classes: int) -> FloatArray:
    """Probabilities, a column per class."""
    chances = check_probabilities(proba, (1, 2))
    if chances.shape == (examples,) and classes == 2:
        return np.column_stack([1 - chances, chances])
    if chances.shape != (examples, classes):
        raise ValueError(
            f"proba: shape {chances.shape}; for {examples} examples of {classes} classes it should be "
            f"{(examples, classes)}"
        )
    total = chances.sum(axis=1)
    worst = int(np.abs(total - 1).argmax())
    if abs(total[worst] - 1) > 1e-4:
        raise ValueError(f"proba: those of example {worst} add up to {total[worst]:g}, not to 1")
    normalised: FloatArray = chances / total[:, np.newaxis]
    return normalised


def _decide(values: FloatArray, chances: FloatArray | None) -> Array:
    if values.ndim == 1:
        return (values > 0).astype(int)
    return np.asarray((values if chances is None else chances).argmax(axis=1))


def _miscalibration(truth: Array, chances: FloatArray, bins: int, weights: FloatArray) -> float:
    if chances.shape[1] == 2:
        return calibration_error(truth == 1, chances[:, 1], bins=bins, sample_weight=weights)
    right = chances.argmax(axis=1) == truth
    return calibration_error(right, chances.max(axis=1), bins=bins, sample_weight=weights)


def _mean(values: list[float]) -> float:
    return float(np.mean(values))
