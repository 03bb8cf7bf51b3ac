"""`svmgsu plot`: pictures of models and data, as PNG, SVG or PDF."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..io.output import replacing
from ..support.types import Fitted
from .base import UsageError, about, check_outputs, count, fraction
from .data import add_data_options, check_streams, progress, read_like
from .models import feature_names, is_regression, load_model

EXAMPLES = """\
examples:
  svmgsu plot reliability stars.svmgsu test.csv -o reliability.pdf
        predicted probabilities against observed frequencies, with and without uncertainties
  svmgsu plot histogram stars.svmgsu test.csv -o histogram.svg
        decision values of the classes with their uncertainties
  svmgsu plot boundary two.svmgsu two.csv -o boundary.png
        two features: samples as ellipses, and the boundary
  svmgsu plot predictions redshift.svmgsu test.csv -o predictions.png
        numbers: predicted against true, with uncertainties
"""
ENDINGS = (".png", ".svg", ".pdf")
PICTURES = ("reliability", "histogram", "boundary", "predictions")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.usage = "svmgsu plot PICTURE MODEL DATA [options] -o FILE"
    parser.add_argument("picture", choices=PICTURES, metavar="PICTURE", help=", ".join(PICTURES))
    parser.add_argument("model_file", metavar="MODEL", help="a file of svmgsu train or gsvm-train")
    parser.add_argument("data", metavar="DATA", help="a table, or a file of means; - is standard input")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="ends in .png, .svg or .pdf")
    parser.add_argument("--class", dest="class_", metavar="LABEL", help="of several: a class, or a pair A,B")
    parser.add_argument("--mass", type=fraction, default=0.5, help="boundary: of the ellipses (default: 0.5)")
    parser.add_argument("--bins", type=count, metavar="N", help="histogram, reliability: number of bins")
    parser.add_argument("--dpi", type=count, default=150, help="of .png (default: 150)")
    add_data_options(parser)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    ending = os.path.splitext(args.output)[1].lower()
    if ending not in ENDINGS:
        raise UsageError(f"--output: {args.output!r} should end in one of {', '.join(ENDINGS)}")
    check_outputs([args.output], [args.model_file, args.data, args.labels, args.cov])
    check_streams(args.model_file, args.data, args.labels, args.cov)
    model, remembered = load_model(args.model_file)
    regression = is_regression(model)
    if regression != (args.picture == "predictions"):
        holds, wanted = ("regression", "classifier") if regression else ("classifier", "regression")
        raise ValueError(
            f"{args.model_file}: holds a {holds}, and the picture {args.picture} is of a {wanted}"
        )
    task = "regression" if regression else "classification"
    dataset = read_like(args, model, feature_names(model), remembered, task)
    import matplotlib

    matplotlib.use("Agg")  # a file is drawn, no window
    from matplotlib import pyplot as plt

    from ..plot.style import save_figure

    with about(args.data, args.labels, args.cov), progress(args, "drawing"):
        figure = _draw(args, model, dataset).figure
        with replacing(args.output) as (file,):
            save_figure(figure, file, ending[1:], args.dpi)
    plt.close(figure)


def _draw(args: argparse.Namespace, model: Fitted, dataset: Any) -> Any:
    from .. import plot

    data, y = dataset.data, dataset.y
    if args.picture == "predictions":
        return plot.predictions(model, data, y, y_std=dataset.y_std)
    class_ = _class_of(args, model)
    if args.picture == "boundary":
        return plot.boundary(model, data, y, mass=args.mass, class_=class_)
    if args.picture == "histogram":
        return plot.histogram(model, data, y, bins=args.bins or 30, class_=class_)
    shown = {"values alone": data.mean}
    if data.cov is not None:
        shown["with uncertainties"] = data
    return plot.reliability(model, shown, y, class_=class_, bins=args.bins or 10)


def _class_of(args: argparse.Namespace, model: Fitted) -> Any:
    if args.class_ is None:
        return None
    labels = {str(label): label for label in model.classes_.tolist()}
    if args.class_ in labels:
        return labels[args.class_]
    first, _, second = args.class_.partition(",")
    if first not in labels or second not in labels:
        raise UsageError(
            f"--class: {args.class_!r} is not one of {', '.join(labels)}, nor a pair of them: A,B"
        )
    return labels[first], labels[second]
