"""`svmgsu predict`: a model and new samples in; labels and probabilities, or numbers, out."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from .. import io
from ..io.predictions import prediction_ending
from ..support.types import Fields
from ..support.validation import Matrix
from .base import about, add_json, check_outputs, show
from .data import add_data_options, check_streams, read_like
from .models import feature_names, is_regression, load_model, predict_classes, predict_values

EXAMPLES = """\
examples:
  svmgsu predict stars.svmgsu new.csv -o predictions.csv
        ids, labels and probabilities; the model knows which columns are values and errors
  svmgsu predict redshift.svmgsu new.fits -o redshifts.parquet
        numbers and their standard deviations; .csv, .tsv, .parquet, .arrow or .jsonl
  cat new.dat | svmgsu predict stars.svmgsu - | head
        from standard input to standard output, one JSON object a line
"""
PREDICTION_FORMATS = ("text", "csv", "tsv", "parquet", "feather", "arrow", "jsonl")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.usage = "svmgsu predict MODEL DATA [options] [-o FILE]"
    parser.add_argument("model_file", metavar="MODEL", help="a file of svmgsu train or gsvm-train")
    parser.add_argument("data", metavar="DATA", help="a table, or a file of means; - is standard input")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default: -, standard output")
    parser.add_argument(
        "--output-format",
        choices=PREDICTION_FORMATS,
        help="instead of the ending; text is the layout of gsvm-predict",
    )
    add_prior(parser)
    add_json(parser)
    add_data_options(parser, labels=False, memory=True)


def add_prior(parser: argparse.ArgumentParser) -> None:
    """Add the class priors of new samples."""
    parser.add_argument(
        "--prior", metavar="LABEL=P,...", help="class priors of these samples, if not those of training"
    )


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    usual = "jsonl" if args.output == "-" else None
    format = "txt" if args.output_format == "text" else args.output_format
    ending = prediction_ending(args.output, format or usual)
    check_outputs([args.output], [args.model_file, args.data, args.cov])
    check_streams(args.model_file, args.data, args.cov)
    model, remembered = load_model(args.model_file, args.prior)
    if args.threads is not None and hasattr(model, "set_params"):
        model.set_params(threads=args.threads)
    dataset = read_like(args, model, feature_names(model), remembered, None)
    ids = dataset.ids
    with about(args.data, cov=args.cov):
        if is_regression(model):
            values = predict_values(args, model, dataset.data)
            facts = _number_facts(values.values, values.std)
            with about(args.output):
                io.write_values(args.output, values.values, std=values.std, ids=ids, format=ending)
        else:
            rows = predict_classes(args, model, dataset.data)
            counts = {str(c): int(np.sum(rows.labels == c)) for c in model.classes_.tolist()}
            facts = {"predicted": counts}
            with about(args.output):
                io.write_predictions(
                    args.output,
                    rows.labels,
                    proba=rows.proba,
                    decision=rows.decision,
                    ids=ids,
                    classes=model.classes_.tolist(),
                    format=ending,
                )
    facts = {"output": args.output, "samples": len(dataset.data), **facts}
    if args.output != "-" or args.json:
        show(args, facts, _text(facts), taken=args.output == "-")


def _number_facts(values: Matrix, std: Matrix) -> dict[str, Any]:
    found = {"least": float(values.min()), "greatest": float(values.max())}
    return found if std is None else found | {"mean std": float(std.mean())}


def _text(facts: Fields) -> str:
    if "predicted" in facts:
        text = ", ".join(f"{number} × {label}" for label, number in facts["predicted"].items())
    else:
        text = f"numbers from {facts['least']:.6g} to {facts['greatest']:.6g}"
        text += f", mean standard deviation {facts['mean std']:.3g}" if "mean std" in facts else ""
    return f"{facts['samples']} samples: {text}: {facts['output']}"
