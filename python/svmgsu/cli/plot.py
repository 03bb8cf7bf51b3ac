"""`svmgsu plot`: pictures of models, data, searches and the solver, as PNG, SVG or PDF."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from typing import Any

from ..io.dataset import Dataset
from ..io.output import replacing
from . import curved
from .base import UsageError, about, check_outputs, count, fraction, grid, lams, positive
from .data import (
    add_data_options,
    add_effort_options,
    check_streams,
    is_small,
    read_data,
    shows_progress,
    threads_for,
)
from .predict import read_like
from .train import class_weights

EXAMPLES = """\
examples:
  svmgsu plot boundary two.csv --model m.svmgsu -o boundary.png
        two features: examples with their ellipses, boundary and margins
  svmgsu plot histogram test.csv --model m.svmgsu -o histogram.svg
        decision values of both classes with error bars
  svmgsu plot reliability test.csv --model m.svmgsu -o reliability.pdf
        what came true against what was said, with and without error bars
  svmgsu plot predictions test.csv --model redshift.svmgsu --target z -o predictions.png
        of a regression: predicted against true, with error bars
  svmgsu plot path train.csv --lams 1e-4:10:12 -o path.png
        the cross-validated score against λ
  svmgsu plot cov_scale train.csv --lams 0.1,0.01 --cov-scales 0,0.3,1,3 -o scale.png
        the score against the scale of the error bars; 0 is the ordinary SVM
  svmgsu plot convergence train.csv --lam 0.01 -o convergence.png
        the certified gap, pass by pass
"""
ENDINGS = (".png", ".svg", ".pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.usage = "svmgsu plot PICTURE [DATA] [--model MODEL] [options] -o FILE"
    parser.add_argument("picture", choices=tuple(PICTURES), metavar="PICTURE", help=", ".join(PICTURES))
    parser.add_argument("data", nargs="?", metavar="DATA", help="means, or all; - is standard input")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="ends in .png, .svg or .pdf")
    parser.add_argument("--model", metavar="MODEL", help="a file of svmgsu train or gsvm-train")
    parser.add_argument(
        "--class", dest="class_", metavar="LABEL", help="of several, the class to draw, or a pair: A,B"
    )
    parser.add_argument("--mass", type=fraction, default=0.5, help="boundary: of the ellipses (default: 0.5)")
    parser.add_argument("--bins", type=count, metavar="N", help="histogram, reliability: how many bins")
    parser.add_argument(
        "--lam", type=positive, default=0.01, metavar="LAM", help="convergence (default: 0.01)"
    )
    parser.add_argument("--lams", type=lams, metavar="GRID", help="FROM:TO:COUNT, or values with commas")
    parser.add_argument("--cov-scales", type=grid, metavar="GRID", help="factors of the covariances to try")
    parser.add_argument("--cv", type=count, default=5, metavar="K", help="folds of a search (default: 5)")
    parser.add_argument("--scoring", metavar="NAME", help="of a search, as for svmgsu train")
    parser.add_argument("--class-weight", metavar="W", help="as for svmgsu train")
    parser.add_argument("--dpi", type=count, default=150, help="of .png (default: 150)")
    add_data_options(parser)
    add_effort_options(parser)


def run(args: argparse.Namespace) -> None:
    """Runs the command."""
    if os.path.splitext(args.output)[1].lower() not in ENDINGS:
        raise UsageError(f"--output: {args.output!r} should end in one of {', '.join(ENDINGS)}")
    check_outputs([args.output], [args.model, args.data, args.labels, args.cov])
    for option, wanted in (("data", "DATA"), ("model", "--model")):
        if getattr(args, option) is None and option in NEEDS[args.picture]:
            raise UsageError(f"{wanted}: {args.picture} needs it")
    check_streams(args.model, args.data, args.labels, args.cov)
    model = None if args.model is None else curved.read(args.model)
    is_regression = model is not None and curved.is_regression(model)
    if model is not None and is_regression != (args.picture == "predictions"):
        holds, wanted = ("regression", "classifier") if is_regression else ("classifier", "regression")
        raise ValueError(f"{args.model}: holds a {holds}, and the picture {args.picture} is of a {wanted}")
    dataset = None
    if args.data is not None:
        dataset = read_data(args, labelled=True) if model is None else read_like(args, model, labelled=True)
    import matplotlib

    matplotlib.use("Agg")  # a file is drawn, no window
    from matplotlib import pyplot as plt

    with about(args.data or args.model or "", args.labels, args.cov):
        figure = PICTURES[args.picture](args, model, dataset).figure
    with replacing(args.output) as (file,):
        figure.savefig(file, dpi=args.dpi, format=os.path.splitext(args.output)[1][1:].lower())
    plt.close(figure)


def _class_of(args: argparse.Namespace, model: Any) -> Any:
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


def _boundary(args: argparse.Namespace, model: Any, dataset: Any) -> Any:
    from ..plot import boundary

    options = {} if dataset.feature_names is None else {"names": tuple(dataset.feature_names)}
    return boundary(model, dataset.data, dataset.y, mass=args.mass, class_=_class_of(args, model), **options)


def _histogram(args: argparse.Namespace, model: Any, dataset: Any) -> Any:
    from ..plot import histogram

    class_ = _class_of(args, model)
    return histogram(model, dataset.data, dataset.y, bins=args.bins or 30, class_=class_)


def _reliability(args: argparse.Namespace, model: Any, dataset: Any) -> Any:
    from ..plot import reliability

    data = {"values alone": dataset.data.mean}
    if dataset.data.cov is not None:
        data["with uncertainties"] = dataset.data
    return reliability(model, data, dataset.y, class_=_class_of(args, model), bins=args.bins or 10)


def _search(args: argparse.Namespace, dataset: Dataset) -> Any:
    from ..estimators.classifier_search import LinearSVMGSUCV

    return LinearSVMGSUCV(
        args.lams,
        cov_scales=args.cov_scales or [1.0],
        cv=args.cv,
        scoring=args.scoring,
        class_weight=class_weights(args.class_weight, dataset.labels()),
        refit=False,
        threads=args.threads,
        verbose=shows_progress(args, not is_small(dataset.data)),
    ).fit(dataset.data, dataset.y)


def _path(args: argparse.Namespace, model: Any, dataset: Any) -> Any:
    from ..plot import path

    return path(_search(args, dataset))


def _cov_scale(args: argparse.Namespace, model: Any, dataset: Any) -> Any:
    from ..plot import cov_scale

    if args.cov_scales is None:
        args.cov_scales = [0.0, 0.1, 0.3, 1.0, 3.0]
    return cov_scale(_search(args, dataset))


def _convergence(args: argparse.Namespace, model: Any, dataset: Any) -> Any:
    from ..fit.classification import train
    from ..plot import convergence

    trained = train(
        dataset.data,
        dataset.y,
        lam=args.lam,
        class_weight=class_weights(args.class_weight, dataset.y),
        probability=False,
        threads=threads_for(args, dataset.data),
        verbose=shows_progress(args, not is_small(dataset.data)),
    )
    return convergence(trained)


def _predictions(args: argparse.Namespace, model: Any, dataset: Any) -> Any:
    from ..plot import predictions

    return predictions(model, dataset.data, dataset.y, y_std=dataset.y_std)


Draw = Callable[[argparse.Namespace, Any, "Dataset | None"], Any]
PICTURES: dict[str, Draw] = {
    "boundary": _boundary,
    "histogram": _histogram,
    "reliability": _reliability,
    "predictions": _predictions,
    "path": _path,
    "cov_scale": _cov_scale,
    "convergence": _convergence,
}
NEEDS = {
    "boundary": ("model", "data"),
    "histogram": ("model", "data"),
    "reliability": ("model", "data"),
    "predictions": ("model", "data"),
    "path": ("data",),
    "cov_scale": ("data",),
    "convergence": ("data",),
}
