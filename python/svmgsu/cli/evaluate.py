"""`svmgsu evaluate`: the measures of a model on labelled examples, as a table, JSON or the authors' file."""

from __future__ import annotations

import argparse
from typing import Any

from ..io.dataset import Dataset
from ..io.output import replacing
from . import curved, regression
from .base import UsageError, about, check_outputs
from .data import (
    add_block_options,
    add_data_options,
    add_effort_options,
    check_streams,
    threads_for,
)
from .predict import add_prior, load_with_prior, predictions_of, read_like

EXAMPLES = """\
examples:
  svmgsu evaluate stars.svmgsu mean.dat --labels labels.dat --cov cov.dat
        accuracy, precision, recall, F, average precision, log-loss, calibration; at k and by class
  svmgsu evaluate redshift.svmgsu test.csv --target z
        of a regression: RMSE, MAE, R², bias, and the log-likelihood where deviations are known
  svmgsu evaluate stars.svmgsu test.csv --json
        the same for machines
  svmgsu evaluate stars.svmgsu test.csv --output-format gsvm -o metrics.txt
        the lines of `gsvm-predict -m`
"""
LAYOUTS = ("table", "json", "gsvm")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.usage = "svmgsu evaluate MODEL DATA [--labels FILE] [--cov FILE] [options] [-o FILE]"
    parser.add_argument("model", metavar="MODEL", help="a file of svmgsu train or gsvm-train")
    parser.add_argument("data", metavar="DATA", help="means, or all; - is standard input")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default: -, standard output")
    parser.add_argument("--output-format", choices=LAYOUTS, help="default: table")
    parser.add_argument("--json", action="store_true", help="short for --output-format json")
    add_prior(parser)
    add_data_options(parser)
    add_block_options(parser)
    add_effort_options(parser)


def run(args: argparse.Namespace) -> None:
    """Runs the command."""
    if args.json and args.output_format not in (None, "json"):
        raise UsageError(f"--json: not together with --output-format {args.output_format}")
    check_outputs([args.output], [args.model, args.data, args.labels, args.cov])
    check_streams(args.model, args.data, args.labels, args.cov)
    model = load_with_prior(args)
    layout = "json" if args.json else args.output_format or "table"
    if curved.is_regression(model) and layout == "gsvm":
        raise ValueError(f"{args.model}: holds a regression, and the authors' measures are of classifiers")
    dataset = read_like(args, model, labelled=True)
    with about(args.data, args.labels, args.cov):
        found = measure(model, dataset, threads_for(args, dataset.data))
        content = (
            found.to_text() if layout == "gsvm" else f"{found.to_json() if layout == 'json' else found}\n"
        )
    with replacing(args.output) as (file,):
        file.write(content.encode())


def measure(model: Any, dataset: Dataset, threads: int | None) -> Any:
    """The measures of a model on examples whose labels or targets are known, by their covariances."""
    if curved.is_regression(model):
        return regression.measure(model, dataset, threads)
    from ..metrics import evaluate

    rows = predictions_of(model, dataset.data, threads)
    return evaluate(dataset.y, rows.decision, labels=model.classes_, predicted=rows.labels, proba=rows.proba)
