"""`gsvm-train` and `gsvm-predict`: the flags, defaults, files and layouts of the authors' programs.

Beside them: errors have exit codes, ids are joined in linear time, and metrics have their usual definitions.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from ..fit.classification import train
from ..fit.kernel import train_kernel
from ..io.dataset import Dataset
from ..io.files import encoded, read_bytes
from ..io.predictions import write_predictions
from ..io.text import read_text
from ..models.calibration import Calibration
from ..models.classifier import Model
from ..models.files import parse
from ..models.kernel import KernelModel, is_kernel_file, parse_kernel
from ..models.regressor import RegressionModel
from ..support.validation import Array
from .base import UsageError, about, check_outputs, count, execute, fraction, make_parser, natural, positive
from .data import SMALL, SMALL_FILE, check_streams, size_of

KINDS = {0: "full", 1: "diagonal", 2: "isotropic", 3: "isotropic"}
TYPES = {**KINDS, 3: ""}  # as the authors' program names them in its model files
TRAIN_EXAMPLES = """\
examples:
  gsvm-train -d 1 -l 0.01 mean.dat labels.dat cov.dat stars.model
  gsvm-train -d 2 -p 0.9 mean.dat labels.dat cov_iso.dat stars.model
  gsvm-train -d 0 --solver sgd -T 10000 -k 10 mean.dat labels.dat cov.dat stars.model
"""
PREDICT_EXAMPLES = """\
examples:
  gsvm-predict mean.dat stars.model predictions.txt
  gsvm-predict -t labels.dat -m metrics.txt mean.dat stars.model predictions.txt
"""


def train_main(argv: Sequence[str] | None = None) -> int:
    """Runs `gsvm-train` and returns its exit code."""
    parser = make_parser(
        "gsvm-train", "train the linear SVM-GSU with the authors' options and files", TRAIN_EXAMPLES
    )
    parser.add_argument("-v", type=int, default=0, metavar="N", help="not 0: say what is done")
    parser.add_argument(
        "-t", type=int, choices=(0, 2), default=0, help="0: linear (default); 2: RBF kernel, with -d 2 or 3"
    )
    parser.add_argument(
        "-d",
        type=int,
        choices=tuple(KINDS),
        default=0,
        help="covariances: 0 full, 1 diagonal, 2 or 3 isotropic",
    )
    parser.add_argument("-l", type=positive, default=1.0, metavar="LAM", help="default: 1")
    parser.add_argument("-g", type=positive, default=0.1, metavar="GAMMA", help="RBF kernel (default: 0.1)")
    parser.add_argument(
        "-p", type=fraction, default=1.0, metavar="P", help="share of variance kept (default: 1)"
    )
    parser.add_argument("-T", type=count, default=1000, metavar="N", help="sgd: steps (default: 1000)")
    parser.add_argument("-k", type=count, default=1, metavar="N", help="sgd: examples per step (default: 1)")
    parser.add_argument(
        "--solver",
        choices=("newton", "sgd"),
        default="newton",
        help="exact (default), or the authors' iteration",
    )
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="sgd: same seed, same model")
    _add_files(parser, means="id j:v ...", labels="id label", cov="id i,j:v ...", model="is written")
    parser.set_defaults(run=_train)
    return execute(parser, sys.argv[1:] if argv is None else argv)


def predict_main(argv: Sequence[str] | None = None) -> int:
    """Runs `gsvm-predict` and returns its exit code."""
    parser = make_parser(
        "gsvm-predict", "apply a linear model with the authors' options and files", PREDICT_EXAMPLES
    )
    parser.add_argument("-v", type=int, default=0, metavar="N", help="not 0: say what is done")
    parser.add_argument("-t", metavar="LABELS", help="true labels: what has none is left out")
    parser.add_argument("-m", metavar="FILE", help="write the measures there; needs -t and scikit-learn")
    _add_files(parser, means="id j:v ...", model="of gsvm-train", output="is written: doc_id +1 -1 label")
    parser.set_defaults(run=_predict)
    return execute(parser, sys.argv[1:] if argv is None else argv)


def _add_files(parser: argparse.ArgumentParser, **files: str) -> None:
    for name, help in files.items():
        parser.add_argument(name, help=help)
    parser.add_argument("--threads", type=count, metavar="N", help="default: all, or 1 for small data")


def _train(args: argparse.Namespace) -> None:
    if args.t == 2 and KINDS[args.d] != "isotropic":
        raise UsageError("-t 2: the noise lies in the kernel's space and is isotropic: give -d 3")
    if args.t == 2 and (args.solver == "sgd" or args.p != 1):
        raise UsageError("-t 2: is solved exactly, without --solver sgd and -p")
    check_outputs([args.model], [args.means, args.labels, args.cov])
    dataset = _read(args, args.means, args.labels, args.cov, kind=KINDS[args.d])
    assert dataset.y is not None
    y = _plus_minus(dataset.y)
    if args.t == 2:
        _train_kernel(args, dataset, y)
        return
    small = dataset.data.shape[0] * dataset.data.shape[1] ** (2 if args.d == 0 else 1) < SMALL
    threads = args.threads or (1 if small else None)
    sgd = {"T": args.T, "k": args.k, "average": 0.0} if args.solver == "sgd" else {}
    with about(args.means, args.labels, args.cov):
        model = train(
            dataset.data,
            y,
            lam=args.l,
            solver=args.solver,
            subspace=None if args.p == 1 else args.p,
            subspace_mode="project",
            probability=False,
            seed=args.seed,
            threads=threads,
            **sgd,
        )
    # Their files hold Platt's sigmoid on the training scores, without what error bars would add to it.
    scores = model.decision_function(dataset.data, threads=threads)
    platt = _core.fit_platt(scores, y.astype(np.float64), np.ones(len(y)))
    model.calibration_ = (Calibration.from_platt(platt),)
    model.cov_mat_type_ = TYPES[args.d]
    model.save(args.model, format="gsvm")
    if args.v:
        print(
            f"{len(y)} examples, {model.n_features_in_} features; objective {model.objective_:.6g}, "
            f"gap {model.gap_:.2g}, {model.n_iter_} iterations, {model.status_}: {args.model}"
        )


def _train_kernel(args: argparse.Namespace, dataset: Dataset, y: Array) -> None:
    with about(args.means, args.labels, args.cov):
        model = train_kernel(dataset.data, y, gamma=args.g, lam=args.l, threads=args.threads)
    model.cov_mat_type_ = TYPES[args.d]
    model.save(args.model)
    if args.v:
        print(f"{len(y)} examples; objective {model.objective_:.6g}, gap {model.gap_:.2g}: {args.model}")


def _predict(args: argparse.Namespace) -> None:
    if args.m is not None and args.t is None:
        raise UsageError("-m: needs the true labels, -t LABELS")
    check_outputs([args.output, args.m], [args.model, args.means, args.t])
    check_streams(args.model, args.means, args.t)
    text = read_bytes(args.model)
    model = parse_kernel(text, args.model) if is_kernel_file(text) else parse(text, args.model)
    if isinstance(model, RegressionModel):
        raise ValueError(f"{args.model}: holds a regression, and gsvm-predict takes a classifier")
    if len(model.classes_) > 2 or model.calibration_ is None:
        raise ValueError(f"{args.model}: not a model of two classes with probabilities; use svmgsu predict")
    dataset = _read(args, args.means, args.t)
    X = dataset.data.mean
    _fit_to_width(args, model, X.shape[1])
    if isinstance(model, KernelModel):
        scores, proba = model.decision_function(X), model.predict_proba(X)
    else:
        threads = args.threads or (1 if X.shape[0] * X.shape[1] < SMALL else None)
        scores = model.decision_function(X, threads=threads)
        proba = model.predict_proba(X, threads=threads)
    labels = model.classes_[np.where(scores < 0, 0, 1)]
    found = None
    if dataset.y is not None:
        found = _measures(args, dataset.y, model, scores, proba, labels)
    log_odds = model.calibration_[0].log_odds(scores)  # ranks like P(+1), also where that is 1.0
    assert dataset.ids is not None
    by_id = np.array(sorted(range(len(labels)), key=[encoded(id) for id in dataset.ids.tolist()].__getitem__))
    write_predictions(
        args.output,
        labels[by_id],
        proba=proba[by_id],
        decision=log_odds[by_id],
        ids=dataset.ids[by_id],
        classes=model.classes_,
        format=".txt",
    )
    if found is not None and args.m is not None:
        found.save_text(args.m)
    if args.v:
        print(f"{len(labels)} examples, {int((scores >= 0).sum())} of them positive: {args.output}")


def _read(
    args: argparse.Namespace,
    means: str,
    labels: str | None = None,
    cov: str | None = None,
    *,
    kind: str | None = None,
) -> Dataset:
    check_streams(means, labels, cov)
    files = [name for name in (means, labels, cov) if name is not None]
    threads = args.threads or (1 if sum(map(size_of, files)) < SMALL_FILE else None)
    dataset = read_text(means, labels, cov, kind=kind, threads=threads, as_authors=True)
    for name, number in dataset.report.dropped.items():
        if number:
            args.notes.append(f"{name}: {number} of {dataset.report.found[name]} examples dropped")
    args.notes += dataset.report.notes
    return dataset


def _plus_minus(labels: Array) -> Array:
    """+1 where a label is positive and -1 elsewhere, as the authors' program takes them."""
    return np.where(labels > 0, 1, -1)


def _fit_to_width(args: argparse.Namespace, model: Model | KernelModel, features: int) -> None:
    """Cuts the model to the features of the data, or adds zeros, as the authors' program does."""
    own = model.n_features_in_
    if own == features:
        return
    old = model.support_ if isinstance(model, KernelModel) else model.coef_
    new = np.zeros((len(old), features))
    new[:, : min(own, features)] = old[:, : min(own, features)]
    if isinstance(model, KernelModel):
        model.support_ = new
    else:
        model.coef_ = new
    what = "its last weights are not used" if own > features else "the last features are not used"
    args.notes.append(f"{args.model} has {own} features, {args.means} has {features}: {what}")


def _measures(
    args: argparse.Namespace,
    truth: Array,
    model: Model | KernelModel,
    scores: Array,
    proba: Array,
    said: Array,
) -> Any:
    """What -t and -m ask for."""
    y = truth if model.classes_.dtype.kind in "biuf" else truth.astype(np.str_)
    if model.classes_.tolist() == [-1, 1]:
        y = _plus_minus(truth)
    if args.v:
        print(f"accuracy {np.mean(said == y):.6g} on {len(y)} labelled examples")
    if args.m is None:
        return None
    from ..metrics import evaluate

    with about(args.t):
        return evaluate(y, scores, labels=model.classes_, predicted=said, proba=proba)
