"""`svmgsu predict`: a model and new examples in; labels, decision values and probabilities out."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np

from .. import io
from ..data.gaussians import Gaussians
from ..io.dataset import Dataset
from ..io.files import extension
from ..io.predictions import JSON_LINES, TABLES
from ..models.classifier import Model
from ..support.labels import check_prior
from ..support.validation import Array, FloatArray
from . import curved, regression
from .base import UsageError, about, add_json, by_label, check_outputs, show
from .data import TABLES as TABLE_FORMATS
from .data import (
    add_block_options,
    add_data_options,
    add_effort_options,
    check_streams,
    read_data,
    threads_for,
)

EXAMPLES = """\
examples:
  svmgsu predict stars.svmgsu mean.dat --cov cov.dat -o predictions.txt
        the authors' layout, most probable first; error bars make probabilities humbler
  svmgsu predict stars.svmgsu new.csv -o predictions.parquet
        tables: .csv, .tsv, .parquet, .arrow; .jsonl has one object a line
  cat new.dat | svmgsu predict stars.svmgsu - | head
        from standard input to standard output
"""
PREDICTION_FORMATS = ("text", "csv", "tsv", "parquet", "feather", "arrow", "jsonl")


class Predictions(NamedTuple):
    """What a model says of examples."""

    labels: Array
    decision: FloatArray
    proba: FloatArray | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.usage = "svmgsu predict MODEL DATA [--cov FILE] [options] [-o FILE]"
    parser.add_argument("model", metavar="MODEL", help="a file of svmgsu train or gsvm-train")
    parser.add_argument("data", metavar="DATA", help="means, or all; - is standard input")
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="default: -, standard output")
    add_output_format(parser)
    add_prior(parser)
    add_json(parser)
    add_data_options(parser, labels=False)
    add_block_options(parser)
    add_effort_options(parser)


def add_output_format(parser: argparse.ArgumentParser) -> None:
    """Which layout predictions have."""
    parser.add_argument(
        "--output-format",
        choices=PREDICTION_FORMATS,
        help="of predictions, instead of the ending; text is the authors' layout",
    )


def add_prior(parser: argparse.ArgumentParser) -> None:
    """What the classes' shares are where the examples come from."""
    parser.add_argument(
        "--prior",
        metavar="SHARES",
        help="of the classes where these examples come from, if not those of training: LABEL=SHARE,...",
    )


def load_with_prior(args: argparse.Namespace) -> Any:
    """The model, with the shares that --prior states."""
    model = curved.read(args.model)
    if args.prior is None:
        return model
    if curved.is_curved(model):
        raise ValueError(f"{args.model}: holds a curved model, and --prior is for linear ones")
    if not isinstance(model, Model) or model.calibration_ is None:
        raise ValueError(f"{args.model}: holds no probabilities, which --prior is for")
    shares = by_label("--prior", "LABEL=SHARE", args.prior, model.classes_.tolist())
    try:
        model.prior_ = check_prior(shares, model.classes_)
    except ValueError as error:
        raise UsageError(f"--{error}") from None
    return model


def run(args: argparse.Namespace) -> None:
    """Runs the command."""
    check_outputs([args.output], [args.model, args.data, args.cov])
    check_streams(args.model, args.data, args.cov)
    model = load_with_prior(args)
    dataset = read_like(args, model)
    with about(args.data, cov=args.cov):
        threads = threads_for(args, dataset.data)
        if curved.is_regression(model):
            values = regression.values_of(model, dataset.data, threads)
            regression.write(args.output, values, dataset.ids, layout_of(args, args.output))
            _show_values(args, values, model)
            return
        rows = predictions_of(model, dataset.data, threads)
    write(args, args.output, rows, dataset.ids, model)
    if args.output != "-" or args.json:
        said = {str(c): int(np.sum(rows.labels == c)) for c in model.classes_.tolist()}
        facts = {"output": args.output, "examples": len(rows.labels), "predicted": said}
        text = f"{facts['examples']} examples: " + ", ".join(f"{n} × {c}" for c, n in said.items())
        show(args, facts, f"{text}: {args.output}", taken=args.output == "-")


def _show_values(args: argparse.Namespace, rows: regression.Values, model: Any) -> None:
    if args.output == "-" and not args.json:
        return
    low, high = float(rows.values.min()), float(rows.values.max())
    facts = {
        "output": args.output,
        "examples": len(rows.values),
        "least": low,
        "greatest": high,
        "scatter": regression.scatter_of(model),
    }
    text = f"{facts['examples']} examples: values from {low:.6g} to {high:.6g}"
    if rows.std is not None:
        facts["mean std"] = float(rows.std.mean())
        text += f", mean deviation {facts['mean std']:.3g}"
    show(args, facts, f"{text}: {args.output}", taken=args.output == "-")


def read_like(args: argparse.Namespace, model: Any, *, labelled: bool = False) -> Dataset:
    """Examples with the features of the model in its order; zeros at the end of all lines are not written."""
    own, format, names = model.n_features_in_, io.format_of(args.data, args.format), curved.names_of(model)
    if args.n_features is None and format in ("text", "svmlight"):
        args.n_features = own
    if format in TABLE_FORMATS:
        args.features = args.features or names
        if args.missing is None and curved.is_curved(model):
            args.missing = "keep"
    try:
        targets = labelled and curved.is_regression(model)
        dataset = read_data(args, labelled=labelled, targets=targets, unlabelled=not labelled)
    except io.FormatError as error:
        text = str(error).replace(f"n_features={own}", f"the {own} features of {args.model}")
        raise io.FormatError(text) from error
    if getattr(args, "memory", None) is None:  # blocks are put in order one by one
        with about(args.data):
            dataset.data = dataset.data.in_order(names)
    if dataset.data.shape[1] != own:
        raise ValueError(
            f"{args.data}: {dataset.data.shape[1]} features, but the model {args.model} has {own}"
        )
    return dataset


def predictions_of(model: Any, data: Gaussians, threads: int | None) -> Predictions:
    """All that a model says, taking covariances into account where there are some."""
    if curved.is_curved(model):
        model.set_params(threads=threads)
        proba = model.predict_proba(data)
        return Predictions(model.classes_[proba.argmax(axis=1)], model.decision_function(data), proba)
    proba = None if model.calibration_ is None else model.predict_proba(data, threads=threads)
    decision = model.decision_function(data, threads=threads)
    return Predictions(model.predict(data, threads=threads), decision, proba)


def layout_of(args: argparse.Namespace, path: str) -> str:
    """The ending of a table or of JSON lines, or ".txt", which is the authors' layout."""
    ending = extension(path) if args.output_format is None else "." + args.output_format
    return ending if ending in (*TABLES, *JSON_LINES) else ".txt"


def write(args: argparse.Namespace, path: str, rows: Predictions, ids: Any, model: Any) -> None:
    """Writes predictions in the layout asked for; by default the authors', where they can be written so."""
    ending = layout_of(args, path)
    if path == "-" and args.output_format is None and (rows.proba is None or len(model.classes_) > 2):
        ending = ".jsonl"
    with about(path):
        io.write_predictions(
            path,
            rows.labels,
            proba=rows.proba,
            decision=rows.decision,
            ids=ids,
            classes=model.classes_.tolist(),
            format=ending,
        )
