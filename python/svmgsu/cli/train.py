"""`svmgsu train`: a table in, a model out."""

from __future__ import annotations

import argparse
import time

import numpy as np

from ..data.columns import listed
from ..data.leaks import telling_features
from ..io.dataset import Dataset
from ..support.types import Fields, Fitted
from .base import UsageError, about, add_json, check_outputs, show
from .data import add_data_options, add_task, read_data, stem, table_options
from .models import MODELS, describe_model, fit, is_linear, is_regression, save_model

EXAMPLES = """\
examples:
  svmgsu train stars.csv
        columns x and x_err (e_x, sigma_x, ...) belong together; `label` or `class` is predicted, classes or
        numbers; writes stars.svmgsu
  svmgsu train stars.fits --target z --exact ra,dec --ignore plate -o redshift.svmgsu
        predict the numbers of column z; ra and dec have no errors, plate is not used
  svmgsu train census.csv --target kind --errors 'MP_{}=EP_{}' --error-scale 1.645
        errors by another rule, which are margins of 90 %
  svmgsu train stars.csv --model linear --set loss=logistic --set lam=auto
        a linear model of standardised features; --set gives any parameter of LinearSVMGSU
  svmgsu train mean.dat --labels labels.dat --cov cov.dat -o stars.svmgsu
        the text files of the method's authors, joined by id
  svmgsu train sky.parquet --model linear --memory 2GB
        out of core
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.usage = "svmgsu train DATA [--target NAME] [options] [-o MODEL]"
    parser.add_argument("data", metavar="DATA", help="a table, or a file of means; - is standard input")
    parser.add_argument(
        "-o", "--output", metavar="MODEL", help="model file (default: DATA with the ending .svmgsu)"
    )
    parser.add_argument(
        "--model",
        choices=MODELS,
        default="gsu",
        help="gsu: GSUClassifier or GSURegressor (default); linear: of standardised features",
    )
    parser.add_argument(
        "--set",
        action="append",
        metavar="NAME=VALUE",
        help="a parameter of the model, such as class_weight=balanced or random_state=1; may be repeated",
    )
    add_task(parser)
    add_json(parser)
    add_data_options(parser, memory=True)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    if args.output is None:
        if args.data == "-":
            raise UsageError("-o: name the model file; standard input has no name to take it from")
        args.output = stem(args.data) + ".svmgsu"
    check_outputs([args.output], [args.data, args.labels, args.cov])
    began = time.perf_counter()
    dataset, task = read_data(args, task=args.task or "auto")
    if args.memory is None and dataset.columns is not None and dataset.classes is None:
        telling = telling_features(
            dataset.data.mean, np.asarray(dataset.y), dataset.columns.features, task == "classification"
        )
        if telling:
            args.notes.append(
                f"{args.data}: {listed(telling)} (almost) tell the target by themselves; if they are made "
                f"from it, or known only after it, leave them out: --ignore {','.join(telling)}"
            )
    with about(args.data, args.labels, args.cov):
        model = fit(args, dataset, task)
    save_model(args.output, model, table_options(args, dataset))
    facts: Fields = {"file": args.output, "samples": len(dataset.data), "task": task}
    facts |= describe_model(model)
    if is_linear(model):
        facts |= {"objective": model.objective_, "gap": model.gap_, "status": model.status_}
    facts |= {"seconds": time.perf_counter() - began, "notes": args.notes}
    show(args, facts, _text(args, facts, dataset, model), taken=args.output == "-")


def _text(args: argparse.Namespace, facts: Fields, dataset: Dataset, model: Fitted) -> str:
    features = facts["features"]
    read = f"{facts['samples']} samples, {features} feature{'s' * (features != 1)}"
    if dataset.columns is None:
        read += ", no uncertainties" if dataset.data.cov is None else ", with uncertainties"
    else:
        # What was understood of the columns is the first line, not an afterthought.
        about_columns = next(note for note in args.notes if str(dataset.columns) in note)
        args.notes.remove(about_columns)
        read += ": " + about_columns.removeprefix(f"{args.data}: ")
    lines = [f"{args.data}: {read}; {_target(dataset, model)}"]
    if is_linear(model):
        lines.append(
            f"{facts['model']}, {facts['loss']} loss, lam {facts['lam']:.4g}, objective "
            f"{facts['objective']:.6g} within {facts['gap']:.2g} of the optimum, {facts['status']}"
        )
    else:
        loss = "squared error, standardised," if is_regression(model) else "log-loss"
        lines.append(
            f"{facts['model']}: {len(model.pool_.members)} members, held-out {loss} {model.pool_.loss:.3g}"
        )
    return "\n".join([*lines, f"{facts['seconds']:.1f} s: {facts['file']}"])


def _target(dataset: Dataset, model: Fitted) -> str:
    """Say what the target was taken for, which the user may want to correct by --task."""
    if is_regression(model):
        y = np.asarray(dataset.y, dtype=np.float64)
        return f"numbers from {y.min():.4g} to {y.max():.4g}"
    labels = model.classes_.tolist()
    if dataset.classes is not None:
        return f"probabilities of {len(labels)} classes"
    counts = {str(label): int(np.sum(dataset.y == label)) for label in labels}
    shown = [f"{label} ({number})" for label, number in counts.items()]
    return f"classes {', '.join(shown[:8])}" + (f", ... ({len(shown)})" if len(shown) > 8 else "")
