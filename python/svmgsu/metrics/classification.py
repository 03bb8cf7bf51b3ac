"""All measures of a classifier at once: numbers, a table, JSON, and the metrics file of `gsvm-predict`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

import numpy as np
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    confusion_matrix,
    log_loss,
    precision_recall_fscore_support,
)

from ..io.output import replacing
from ..support.arrays import plain
from ..support.labels import check_weights
from ..support.types import Fields
from ..support.validation import Array, ArrayLike, FloatArray, as_float_array, check_count, check_finite
from .ranking import average_precision_at_k, precision_at_k, recall_at_k
from .reliability import calibration_error, check_probabilities

CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
AT_K = {
    "precision_at": precision_at_k,
    "recall_at": recall_at_k,
    "average_precision_at": average_precision_at_k,
}


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Hold what `evaluate` measured: the `accuracy` and more of so many `samples`.

    Of two classes in `labels` the second is positive, and `precision`, `recall`, `f_score` and
    `average_precision` are its own, as are `precision_at`, `recall_at` and `average_precision_at`: by k,
    those of the k samples with the greatest decision values, without weights. Of more classes they are means
    over the classes, `average_precision` over those with samples, and there are none at k. Where they are
    undefined, the first three are 0, as in scikit-learn, and rankings NaN. `log_loss` and `calibration_error`
    need probabilities, else they are None. `confusion` has a row per true class and a column per predicted
    one; `cutoffs` are the k that were asked for.
    """

    labels: list[object]
    samples: int
    accuracy: float
    precision: float
    recall: float
    f_score: float
    average_precision: float
    precision_at: dict[int, float]
    recall_at: dict[int, float]
    average_precision_at: dict[int, float]
    log_loss: float | None
    calibration_error: float | None
    confusion: FloatArray = field(compare=False)
    cutoffs: tuple[int, ...] = CUTOFFS

    def to_dict(self) -> Fields:
        """Return all measures as plain numbers, strings, lists and dicts; what is undefined is None."""
        facts: Fields = plain(asdict(self))
        del facts["cutoffs"]  # those with measures are the keys of these
        return facts

    def to_text(self) -> str:
        """Return the metrics file of `gsvm-predict -m`: a name, tabs and a value. Two classes only.

        The layout is the authors', also in that measures at k are 0 where there are fewer than k samples.
        `num_ret` is the number of samples ranked, `num_rel` that of positive ones.
        """
        if len(self.labels) != 2:
            raise ValueError(f"to_text: the file is for two classes, not for {len(self.labels)}")
        (tn, fp), (fn, tp) = self.confusion
        counts = (self.samples, tp + fn, tp, tn, fp, fn)
        lines = list(zip(("num_ret", "num_rel", "TP", "TN", "FP", "FN"), counts, strict=True))
        lines.append(("acc", self.accuracy))
        for name, value, at in (
            ("prec", self.precision, self.precision_at),
            ("ap", self.average_precision, self.average_precision_at),
            ("recall", self.recall, self.recall_at),
        ):
            lines.append((name, value))
            lines += [(f"{name}@{k}", at.get(k, 0)) for k in self.cutoffs]
        lines.append(("f-score", self.f_score))
        # Values begin in the 17th column; a count has all of its digits, a measure six.
        texts = [(name, f"{v:.0f}" if float(v).is_integer() else f"{v:g}") for name, v in lines]
        return "".join(name + "\t" * (1 if len(name) >= 8 else 2) + text + "\n" for name, text in texts)

    def save_text(self, path: str | os.PathLike[str]) -> None:
        """Write `to_text` to the file `path`; a reader never sees half of it."""
        text = self.to_text()
        with replacing(path) as (file,):
            file.write(text.encode())

    def __repr__(self) -> str:
        binary = len(self.labels) == 2
        what = f"positive class {self.labels[1]!r}" if binary else f"means over {len(self.labels)} classes"
        measures = {
            "accuracy": self.accuracy,
            "precision": self.precision,
            "recall": self.recall,
            "F-score": self.f_score,
            "average precision": self.average_precision,
            "log-loss": self.log_loss,
            "calibration error": self.calibration_error,
        }
        lines = [f"{self.samples} samples, {what}"]
        lines += [f"  {name:<22}{value:>10.4f}" for name, value in measures.items() if value is not None]
        if self.precision_at:
            lines += ["", f"  {'at k':<17}" + "".join(f"{k:>8}" for k in self.precision_at)]
        for name in AT_K if self.precision_at else ():
            title = name.removesuffix("_at").replace("_", " ")
            lines.append(f"  {title:<17}" + "".join(f"{v:>8.4f}" for v in getattr(self, name).values()))
        return "\n".join(lines)


def evaluate(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    labels: ArrayLike = None,
    predicted: ArrayLike = None,
    proba: ArrayLike = None,
    sample_weight: ArrayLike = None,
    cutoffs: Iterable[int] = CUTOFFS,
) -> Evaluation:
    """Compute all measures of a classifier on labelled samples.

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
        Probabilities of the positive class, or a column per class, for log-loss and calibration error. With
        two classes the latter compares the probability of the positive class with its frequency, with more
        the greatest probability with the accuracy.
    sample_weight : array of shape (l,), optional
        Relative weights of the samples, in all but the measures at k; a common factor changes nothing.
    cutoffs : tuple of int
        The k of the measures at k, for two classes; those above the number of samples are left out.

    Examples
    --------
    >>> from svmgsu.metrics import evaluate
    >>> found = evaluate(["no", "yes", "yes", "no"], [-2.0, 1.5, -0.5, -1.0], cutoffs=(2, 3))
    >>> found.accuracy, found.recall, found.average_precision
    (0.75, 0.5, 1.0)
    >>> found
    4 samples, positive class 'yes'
      accuracy                  0.7500
      precision                 1.0000
      recall                    0.5000
      F-score                   0.6667
      average precision         1.0000
    <BLANKLINE>
      at k                    2       3
      precision          1.0000  0.6667
      recall             1.0000  1.0000
      average precision  1.0000  1.0000
    """
    # Check arguments: y and labels.
    given = np.asarray(y)
    if given.ndim != 1 or len(given) == 0:
        raise ValueError(f"y: expected one label per sample, got an array of shape {given.shape}")
    classes = np.unique(given) if labels is None else np.asarray(labels)
    if classes.ndim != 1 or len(np.unique(classes)) != len(classes):
        raise ValueError(f"labels: expected different classes, got {classes.tolist()}")
    if len(classes) < 2:
        raise ValueError(f"y: the only class is {classes.tolist()}; give the model's classes with labels=")
    truth = _codes(given, classes, "y")
    count = len(truth)
    everyone = np.arange(len(classes))
    # Check arguments: scores, proba, predicted and the rest.
    values = as_float_array(scores, "scores", (1, 2))
    check_finite(values, "scores")
    wanted = (count,) if len(classes) == 2 else (count, len(classes))
    if values.shape != wanted:
        raise ValueError(f"scores: expected shape {wanted}, got {values.shape}")
    chances = None if proba is None else _check_proba(proba, count, len(classes))
    weights = check_weights(sample_weight, count)
    asked = tuple(check_count(k, "cutoffs") for k in cutoffs)
    if predicted is not None:
        said = _codes(predicted, classes, "predicted")
    elif values.ndim == 1:
        said = (values > 0).astype(int)
    else:
        said = np.asarray((values if chances is None else chances).argmax(axis=1))
    if len(said) != count:
        raise ValueError(f"predicted: {len(said)} labels for {count} samples")

    # Of two classes the positive one counts; of more, all of them, and in rankings those with samples.
    shown = everyone if len(classes) > 2 else everyone[1:]
    precision, recall, f_score, _ = precision_recall_fscore_support(
        truth, said, labels=shown, sample_weight=weights, zero_division=0
    )
    rankings = [
        float(average_precision_score(truth == c, column, sample_weight=weights))
        for c, column in zip(shown, values.reshape(count, -1).T, strict=True)
        if weights @ (truth == c) > 0
    ]
    ks = [k for k in asked if k <= count and len(classes) == 2]
    loss = miscalibration = None
    if chances is not None:
        loss = float(log_loss(truth, chances, labels=everyone, sample_weight=weights))
        happened = truth == 1
        chance = chances[:, 1]
        if len(classes) > 2:
            happened = chances.argmax(axis=1) == truth
            chance = chances.max(axis=1)
        miscalibration = calibration_error(happened, chance, sample_weight=weights)
    return Evaluation(
        labels=classes.tolist(),
        samples=count,
        accuracy=float(accuracy_score(truth, said, sample_weight=weights)),
        precision=float(precision.mean()),
        recall=float(recall.mean()),
        f_score=float(f_score.mean()),
        average_precision=float(np.mean(rankings)) if rankings else float("nan"),
        **{name: {k: at(truth == 1, values, k, positive=True) for k in ks} for name, at in AT_K.items()},
        log_loss=loss,
        calibration_error=miscalibration,
        confusion=confusion_matrix(truth, said, labels=everyone, sample_weight=weights).astype(float),
        cutoffs=asked,
    )


def _codes(given: ArrayLike, classes: Array, name: str) -> Array:
    """Return the position of each label among the classes."""
    labels = np.asarray(given)
    if labels.ndim != 1:
        raise ValueError(f"{name}: expected one label per sample, got an array of shape {labels.shape}")
    table = {label: code for code, label in enumerate(classes.tolist())}
    codes = np.array([table.get(label, -1) for label in labels.tolist()], dtype=int)
    unknown = np.flatnonzero(codes < 0)
    if len(unknown):
        found = labels.tolist()[unknown[0]]
        raise ValueError(f"{name}: sample {unknown[0]} is of class {found!r}, not one of {classes.tolist()}")
    return codes


def _check_proba(proba: ArrayLike, samples: int, classes: int) -> FloatArray:
    """Return probabilities with a column per class that sum to 1."""
    chances = check_probabilities(proba, (1, 2))
    if chances.shape == (samples,) and classes == 2:
        return np.column_stack([1 - chances, chances])
    if chances.shape != (samples, classes):
        raise ValueError(f"proba: expected shape {(samples, classes)}, got {chances.shape}")
    total = chances.sum(axis=1)
    worst = int(np.abs(total - 1).argmax())
    if abs(total[worst] - 1) > 1e-4:
        raise ValueError(f"proba: those of sample {worst} add up to {total[worst]:g}, not to 1")
    return np.asarray(chances / total[:, np.newaxis])
