"""`svmgsu evaluate`: how good a model is on samples whose classes or numbers are known."""

from __future__ import annotations

import argparse
import json
from typing import Any

import numpy as np

from ..io.dataset import Dataset
from ..io.files import extension
from ..io.output import replacing
from ..support.arrays import plain
from ..support.types import Fields, Fitted
from .base import UsageError, about, add_json, check_outputs
from .data import add_data_options, check_streams, read_like
from .models import (
    LEVELS,
    feature_names,
    is_linear,
    is_regression,
    load_model,
    predict_classes,
    predict_values,
    scatter_of,
)
from .predict import add_prior

EXAMPLES = """\
examples:
  svmgsu evaluate stars.svmgsu test.csv
        accuracy, log-loss, calibration error and the confusion matrix; the model knows the target's column
  svmgsu evaluate redshift.svmgsu test.csv --target spec_z
        RMSE, bias, and how many targets lie within the predicted intervals; another column as the target
  svmgsu evaluate stars.svmgsu test.csv --ranking
        also precision, recall and average precision, at k and by class
  svmgsu evaluate stars.svmgsu mean.dat --labels labels.dat --cov cov.dat --json
        the authors' files; all measures as JSON
"""
NORMAL = {0.5: 0.6744897501960817, 0.9: 1.6448536269514722}  # half-widths of normal intervals


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.usage = "svmgsu evaluate MODEL DATA [options] [-o FILE]"
    parser.add_argument("model_file", metavar="MODEL", help="a file of svmgsu train or gsvm-train")
    parser.add_argument("data", metavar="DATA", help="a table, or a file of means; - is standard input")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default: -, standard output")
    parser.add_argument(
        "--ranking", action="store_true", help="also measures of retrieval, for two classes also at k"
    )
    add_json(parser)
    add_prior(parser)
    add_data_options(parser, memory=True)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    ending = extension(args.output)
    if ending not in ("", ".txt", ".json"):
        raise UsageError(f"--output: {args.output!r} should end in .txt or .json")
    args.json = args.json or ending == ".json"
    check_outputs([args.output], [args.model_file, args.data, args.labels, args.cov])
    check_streams(args.model_file, args.data, args.labels, args.cov)
    model, remembered = load_model(args.model_file, args.prior)
    task = "regression" if is_regression(model) else "classification"
    dataset = read_like(args, model, feature_names(model), remembered, task)
    with about(args.data, args.labels, args.cov):
        measure = _measure_numbers if task == "regression" else _measure_classes
        facts, text = measure(args, model, dataset)
    content = json.dumps(plain(facts), indent=2, ensure_ascii=False) if args.json else text
    with replacing(args.output) as (file,):
        file.write(f"{content}\n".encode())


def _measure_classes(args: argparse.Namespace, model: Fitted, dataset: Dataset) -> tuple[Fields, str]:
    from ..metrics import evaluate

    rows = predict_classes(args, model, dataset.data)
    if dataset.classes is not None:
        raise ValueError("y: evaluate needs labels, not class probabilities; name their column in --target")
    assert dataset.y is not None
    found = evaluate(dataset.y, rows.decision, labels=model.classes_, predicted=rows.labels, proba=rows.proba)
    common = float(np.unique(dataset.y, return_counts=True)[1].max() / len(dataset.y))
    lines = [
        f"{len(dataset.y)} samples",
        f"  {'accuracy':<20}{found.accuracy:8.3f}   (the most common class alone: {common:.3f})",
    ]
    for name, value in (("log-loss", found.log_loss), ("calibration error", found.calibration_error)):
        lines += [f"  {name:<20}{value:8.3f}"] if value is not None else []
    lines += ["", *_confusion(found)]
    return found.to_dict(), "\n".join([*lines, "", repr(found)] if args.ranking else lines)


def _confusion(found: Any) -> list[str]:
    """Format the confusion matrix: a row for each true class, a column for each predicted one."""
    labels = [str(label) for label in found.labels]
    cells = [[f"{value:.10g}" for value in row] for row in found.confusion]
    widths = [max(len(label), *(len(row[k]) for row in cells)) for k, label in enumerate(labels)]
    first = max(len("true \\ predicted"), *map(len, labels))
    rows = [("true \\ predicted", labels), *zip(labels, cells, strict=True)]
    return [
        f"  {name:<{first}}  " + "  ".join(f"{c:>{w}}" for c, w in zip(row, widths, strict=True))
        for name, row in rows
    ]


def _measure_numbers(args: argparse.Namespace, model: Fitted, dataset: Dataset) -> tuple[Fields, str]:
    from ..metrics import evaluate_regression

    rows = predict_values(args, model, dataset.data)
    # The distance of a target from its prediction: that of the prediction, its own error, and the scatter.
    known = [np.square(part) for part in (rows.std, dataset.y_std, scatter_of(model)) if part is not None]
    variance = np.broadcast_to(sum(known, start=np.zeros(())), rows.values.shape)
    std = np.sqrt(variance) if known and (variance > 0).all() else None
    found = evaluate_regression(dataset.y, rows.values, std=std)
    facts = found.to_dict()
    lines = [f"{len(rows.values)} samples"]
    names = {"rmse": "RMSE", "mae": "mean absolute error", "bias": "bias", "r2": "R²"}
    for key, name in names.items():
        lines += [f"  {name:<28}{facts[key]:10.5g}"] if facts[key] is not None else []
    y = np.asarray(dataset.y)
    for level in LEVELS:
        if not is_linear(model) and args.memory is None:
            low, high = model.predict_interval(dataset.data, level)
        elif std is not None:
            low, high = rows.values - NORMAL[level] * std, rows.values + NORMAL[level] * std
        else:
            continue
        inside = float(np.mean((y >= low) & (y <= high)))
        facts[f"coverage of {level:.0%} intervals"] = inside
        lines.append(f"  {f'within {level:.0%} intervals':<28}{inside:10.1%}")
    return facts, "\n".join(lines)
