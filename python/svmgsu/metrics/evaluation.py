"""What `svmgsu.metrics.evaluate` returns: numbers, a table, JSON, and the metrics file of `gsvm-predict`."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ..io.output import replacing
from ..support.validation import FloatArray

AT = ("precision_at", "recall_at", "average_precision_at")


@dataclass(frozen=True)
class ClassMetrics:
    """Measures of one class against the rest.

    Attributes
    ----------
    label : the class
    examples, predicted : float
        How many examples are of the class, and how many are said to be; by weight.
    precision, recall, f_score : float
        0 where they are undefined, as in scikit-learn.
    average_precision : float
        NaN for a class without examples, as are recall and average precision at k.
    precision_at, recall_at, average_precision_at : dict
        The measures of the k examples of the greatest decision values, by k. They count examples,
        whatever the weights.
    """

    label: Any
    examples: float
    predicted: float
    precision: float
    recall: float
    f_score: float
    average_precision: float
    precision_at: dict[int, float]
    recall_at: dict[int, float]
    average_precision_at: dict[int, float]


@dataclass(frozen=True, repr=False)
class Evaluation:
    """What `evaluate` found.

    Attributes
    ----------
    labels : list
        The classes; of two, the second is the positive one.
    examples : int
    accuracy : float
    precision, recall, f_score, average_precision : float
    precision_at, recall_at, average_precision_at : dict
        Of the positive class, or with more than two classes the means over classes. Classes without
        examples are left out of means of rankings.
    mean_average_precision : float
        Mean over all classes, of two classes over both.
    log_loss, calibration_error : float or None
        Of the probabilities, if they were given.
    confusion : array of shape (K, K)
        Examples (by weight): a row a true class, a column a predicted one.
    by_class : list of ClassMetrics
    """

    labels: list[Any]
    examples: int
    accuracy: float
    precision: float
    recall: float
    f_score: float
    average_precision: float
    mean_average_precision: float
    precision_at: dict[int, float]
    recall_at: dict[int, float]
    average_precision_at: dict[int, float]
    log_loss: float | None
    calibration_error: float | None
    confusion: FloatArray = field(compare=False)
    by_class: list[ClassMetrics]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain numbers, strings, lists and dicts; what is undefined is None."""
        out: dict[str, Any] = _plain({f.name: getattr(self, f.name) for f in fields(self)})
        return out

    def to_json(self, indent: int | None = 2) -> str:
        """All of it as JSON, indented by `indent` blanks (None: on one line); what is undefined is null."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False, default=str)

    def to_text(self) -> str:
        """The metrics file of `gsvm-predict -m`: a name, tabs and a value of six digits. Two classes only.

        The layout is the authors', also in that measures at k are 0 where there are fewer than k examples.
        `num_ret` is the number of examples ranked, `num_rel` that of positive ones; all measures have
        their usual definitions (`ap@k` that of `average_precision_at_k`).
        """
        if len(self.labels) != 2:
            raise ValueError(f"to_text: the file is for two classes, and these are {len(self.labels)}")
        (tn, fp), (fn, tp) = self.confusion
        counts = (self.examples, tp + fn, tp, tn, fp, fn)
        lines = list(zip(("num_ret", "num_rel", "TP", "TN", "FP", "FN"), counts, strict=True))
        lines += [("acc", self.accuracy)]
        for name, value, at in (
            ("prec", self.precision, self.precision_at),
            ("ap", self.average_precision, self.average_precision_at),
            ("recall", self.recall, self.recall_at),
        ):
            lines += [
                (name, value),
                *((f"{name}@{k}", v if k <= self.examples else 0) for k, v in at.items()),
            ]
        lines += [("f-score", self.f_score)]
        return "".join(_aligned(name, value) for name, value in lines)

    def save_text(self, path: str | os.PathLike[str]) -> None:
        """Writes `to_text` to the file `path`; a reader never sees half of it."""
        text = self.to_text()
        with replacing(path) as (file,):
            file.write(text.encode())

    def __repr__(self) -> str:
        return "\n".join([*_headline(self), "", *_top_table(self), "", *_class_table(self)])


def _plain(value: Any) -> Any:
    """Without arrays, dataclasses and NaN."""
    if isinstance(value, dict):
        return {key: _plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, ClassMetrics):
        return _plain(vars(value))
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _aligned(name: str, value: float) -> str:
    """Values begin in the 17th column; a count has all of its digits, a measure six."""
    text = f"{value:.0f}" if float(value).is_integer() else f"{value:g}"
    return name + "\t" * (1 if len(name) >= 8 else 2) + text + "\n"


def _headline(found: Evaluation) -> list[str]:
    binary = len(found.labels) == 2
    what = f"positive class {found.labels[1]!r}" if binary else f"means over {len(found.labels)} classes"
    rows = [
        ("accuracy", found.accuracy),
        ("precision", found.precision),
        ("recall", found.recall),
        ("F-score", found.f_score),
        *([("average precision", found.average_precision)] if binary else []),
        ("mean AP over classes", found.mean_average_precision),
        ("log-loss", found.log_loss),
        ("calibration error", found.calibration_error),
    ]
    lines = [f"  {name:<22}{value:>10.4f}" for name, value in rows if value is not None]
    return [f"{found.examples} examples, {what}", *lines]


def _top_table(found: Evaluation) -> list[str]:
    rows = [("at k", [f"{k:>8}" for k in found.precision_at])]
    for name in AT:
        title = name.removesuffix("_at").replace("_", " ")
        rows.append((title, [f"{value:>8.4f}" for value in getattr(found, name).values()]))
    return [f"  {title:<17}{''.join(cells)}" for title, cells in rows]


def _class_table(found: Evaluation) -> list[str]:
    width = max(5, *(len(repr(c.label)) for c in found.by_class))
    lines = [f"  {'class':<{width}}  examples  predicted  precision   recall  F-score       AP"]
    for c in found.by_class:
        counts = f"{c.examples:>8.10g}  {c.predicted:>9.10g}"
        numbers = f"{c.precision:>9.4f}  {c.recall:>7.4f}  {c.f_score:>7.4f}  {c.average_precision:>7.4f}"
        lines.append(f"  {c.label!r:<{width}}  {counts}  {numbers}")
    return lines
