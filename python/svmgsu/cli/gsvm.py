"""`gsvm-train` and `gsvm-predict`: the flags, defaults, files and layouts of the authors' programs.

Beside them: errors have exit codes, ids are joined in linear time, and metrics have their usual definitions.
The kernel classifier of `-t 2`, f(x) = Σ α_j exp(-γ |x - x_j|²) + b, is here, too: nobody else uses it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from ..data.gaussians import as_gaussians
from ..fit.options import Options
from ..fit.train import read_problem
from ..io.dataset import Dataset
from ..io.files import encoded, read_bytes
from ..io.output import replacing
from ..io.predictions import write_predictions
from ..io.text import read_text, read_vectors
from ..models.calibration import Calibration
from ..models.files import parse
from ..models.regressor import RegressionModel
from ..support.arrays import dense
from ..support.memory import require_memory
from ..support.types import Fields, Fitted
from ..support.validation import (
    Array,
    ArrayLike,
    FloatArray,
    Matrix,
    as_float_array,
    check_finite,
    check_positive,
)
from .base import UsageError, about, check_outputs, count, execute, fraction, make_parser, natural, positive
from .data import SMALL, SMALL_FILE, check_streams, note_report, size_of

KINDS = {0: "full", 1: "diagonal", 2: "isotropic", 3: "isotropic"}
TYPES = {**KINDS, 3: ""}  # as the authors' program names them in its model files
MAGIC = "SVM-GSU Model_File"
NUMBERS = ("lambda", "gamma", "b", "sigmA", "sigmB")
SMALLEST = 1e-13  # eigenvalues of the kernel matrix, relative to the largest: what is below is rounding
NUMBERS_AT_A_TIME = 4_000_000  # of the kernel matrix of new samples
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
    """Run `gsvm-train` and return its exit code."""
    parser = make_parser(
        "gsvm-train", "train the linear SVM-GSU with the authors' options and files", TRAIN_EXAMPLES
    )
    add = parser.add_argument
    add("-v", type=int, default=0, metavar="N", help="1: print what is done")
    add("-t", type=int, choices=(0, 2), default=0, help="0: linear (default); 2: RBF kernel, with -d 2 or 3")
    add(
        "-d",
        type=int,
        choices=tuple(KINDS),
        default=0,
        help="covariances: 0 full, 1 diagonal, 2 or 3 isotropic",
    )
    add("-l", type=positive, default=1.0, metavar="LAM", help="default: 1")
    add("-g", type=positive, default=0.1, metavar="GAMMA", help="RBF kernel (default: 0.1)")
    add("-p", type=fraction, default=1.0, metavar="P", help="fraction of variance kept (default: 1)")
    add("-T", type=count, default=1000, metavar="N", help="sgd: steps (default: 1000)")
    add("-k", type=count, default=1, metavar="N", help="sgd: samples per step (default: 1)")
    add(
        "--solver",
        choices=("newton", "sgd"),
        default="newton",
        help="exact (default), or the authors' iteration",
    )
    add("--seed", type=natural, default=0, metavar="N", help="sgd: same seed, same model")
    _add_files(parser, means="id j:v ...", labels="id label", cov="id i,j:v ...", model="is written")
    parser.set_defaults(run=_train)
    return execute(parser, sys.argv[1:] if argv is None else argv)


def predict_main(argv: Sequence[str] | None = None) -> int:
    """Run `gsvm-predict` and return its exit code."""
    parser = make_parser(
        "gsvm-predict", "apply a model with the authors' options and files", PREDICT_EXAMPLES
    )
    parser.add_argument("-v", type=int, default=0, metavar="N", help="1: print what is done")
    parser.add_argument("-t", metavar="LABELS", help="true labels; samples without one are left out")
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
    y = np.where(dataset.y > 0, 1, -1)  # labels count by their sign, as in the authors' program
    data = dataset.data
    small = data.shape[0] * data.shape[1] ** (2 if args.d == 0 else 1) < SMALL
    threads = args.threads or (1 if small else None)
    with about(args.means, args.labels, args.cov):
        if args.t == 2:
            model: Fitted = train_kernel(data, y, gamma=args.g, lam=args.l, threads=args.threads)
            model.cov_mat_type_ = TYPES[args.d]
            model.save(args.model)
        else:
            seen = data if args.p == 1 else data.subspace(args.p, "project")
            sgd = {"steps": args.T, "batch_size": args.k, "average": 0.0} if args.solver == "sgd" else {}
            options = Options(
                lam=args.l, solver=args.solver, probability=False, seed=args.seed, threads=threads, **sgd
            )
            model = read_problem(seen, y, None, options).train()
            # Their files hold Platt's sigmoid on the training scores, whatever the covariances are.
            scores = model.decision_function(data, threads=threads)
            platt = _core.fit_platt(scores, y.astype(np.float64), np.ones(len(y)))
            model.calibration_ = (Calibration.from_platt(platt),)
            model.cov_mat_type_ = TYPES[args.d]
            model.save(args.model, format="gsvm")
    if args.v:
        how = "" if args.t == 2 else f", {model.n_iter_} iterations, {model.status_}"
        print(
            f"{len(y)} samples, {data.shape[1]} features; objective {model.objective_:.6g}, "
            f"gap {model.gap_:.2g}{how}: {args.model}"
        )


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
    threads = args.threads or (1 if X.shape[0] * X.shape[1] < SMALL else None)
    of_linear: Fields = {} if isinstance(model, KernelModel) else {"threads": threads}
    scores, proba = model.decision_function(X, **of_linear), model.predict_proba(X, **of_linear)
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
        print(f"{len(labels)} samples, {int((scores >= 0).sum())} of them positive: {args.output}")


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
    note_report(args, dataset)
    return dataset


def _fit_to_width(args: argparse.Namespace, model: Fitted, features: int) -> None:
    """Cut the model to the features of the data, or add zeros, as the authors' program does."""
    own = model.n_features_in_
    if own == features:
        return
    weights = "support_" if isinstance(model, KernelModel) else "coef_"
    old = getattr(model, weights)
    new = np.zeros((len(old), features))
    new[:, : min(own, features)] = old[:, : min(own, features)]
    setattr(model, weights, new)
    what = "its last weights are not used" if own > features else "the last features are not used"
    args.notes.append(f"{args.model} has {own} features, {args.means} has {features}: {what}")


def _measures(
    args: argparse.Namespace, truth: Array, model: Fitted, scores: Array, proba: Array, predicted: Array
) -> Any:
    """Measure what -t and -m ask for."""
    y = truth if model.classes_.dtype.kind in "biuf" else truth.astype(np.str_)
    if model.classes_.tolist() == [-1, 1]:
        y = np.where(truth > 0, 1, -1)
    if args.v:
        print(f"accuracy {np.mean(predicted == y):.6g} on {len(y)} labelled samples")
    if args.m is None:
        return None
    from ..metrics import evaluate

    with about(args.t):
        return evaluate(y, scores, labels=model.classes_, predicted=predicted, proba=proba)


@dataclass
class KernelModel:
    """What `train_kernel` finds and `gsvm-train -t 2` writes.

    `support_` (l, n) are the training means, `dual_coef_` (l,) the α with the signs of the classes, `platt_`
    (A, B) those of P(+1) = 1/(1 + exp(A f + B)); objective and gap are NaN in a model that was read.
    """

    support_: FloatArray
    dual_coef_: FloatArray
    intercept_: float
    gamma: float
    lam: float
    platt_: tuple[float, float]
    objective_: float = float("nan")
    gap_: float = float("nan")
    cov_mat_type_: str = ""
    classes_: Array = field(default_factory=lambda: np.array([-1, 1]))

    @property
    def n_features_in_(self) -> int:
        return int(self.support_.shape[1])

    @property
    def calibration_(self) -> tuple[Calibration, ...]:
        return (Calibration.from_platt(self.platt_),)

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return f of each row of X."""
        X = as_float_array(X, "X", (2,))
        check_finite(X, "X")
        step = max(1, NUMBERS_AT_A_TIME // max(1, len(self.support_)))
        parts = [
            _rbf(X[first : first + step], self.support_, self.gamma) @ self.dual_coef_
            for first in range(0, len(X), step)
        ]
        return np.concatenate([np.empty(0), *parts]) + self.intercept_

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return (P(-1), P(+1)) of each row of X."""
        positive = self.calibration_[0].probability(self.decision_function(X), np.zeros(len(X)))
        return np.column_stack([1 - positive, positive])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the authors' layout; numbers read back as they are."""
        a, b = map(float, self.platt_)
        head = (
            f"{MAGIC}\nkernel_type rbf\nlambda {float(self.lam)!r}\ngamma {float(self.gamma)!r}\n"
            f"b {float(self.intercept_)!r}\nsigmA {a!r}\nsigmB {b!r}\ncov_mat_type {self.cov_mat_type_}\nSV\n"
        )
        with replacing(path) as (file,):
            file.write(head.encode())
            for alpha, row in zip(self.dual_coef_.tolist(), self.support_.tolist(), strict=True):
                words = " ".join(f"{j}:{value!r}" for j, value in enumerate(row, 1))
                file.write(f"{alpha!r} {words}\n".encode())


def train_kernel(
    X: ArrayLike, y: Array, cov: ArrayLike = None, *, gamma: float, lam: float, threads: int | None = None
) -> KernelModel:
    """Train on images φ(x_i) of the means with isotropic noise N(φ(x_i), σ_i²I), which is linear there.

    With the kernel matrix K = ZZᵀ the rows of Z stand for the images: w = Zᵀα, |w|² = αᵀKα, and the
    problem is that of `svmgsu.train` with `Isotropic` covariances, of variances `cov` (or those of X). The
    solution is exact up to rounding, and its gap is proven. Labels y are -1 and +1.
    """
    gamma = check_positive(gamma, "gamma")
    data = as_gaussians(X, cov)
    if not (data.cov is None or data.cov.each_variance(len(data)) is not None):
        raise ValueError(
            "cov: the noise of a kernel classifier lies in the feature space and is isotropic, got "
            f"{type(data.cov).__name__}; use Isotropic variances"
        )
    mean = dense(data.mean).astype(float)
    samples = len(mean)
    require_memory(4 * 8 * samples**2, f"the kernel matrix of {samples} samples and its eigenvectors")
    values, vectors = np.linalg.eigh(_rbf(mean, mean, gamma))
    keep = values > SMALLEST * samples * values[-1]
    values, vectors = values[keep], np.ascontiguousarray(vectors[:, keep])
    Z = vectors * np.sqrt(values)
    options = Options(lam=lam, probability=False, threads=threads)
    model = read_problem(Z, y, data.cov, options).train()
    platt = _core.fit_platt(model.decision_function(Z), y.astype(np.float64), np.ones(samples))
    alpha = vectors @ (model.coef_[0] / np.sqrt(values))
    found = (float(model.objective_), float(model.gap_))
    return KernelModel(mean, alpha, float(model.intercept_[0]), gamma, float(lam), platt, *found, "isotropic")


def _rbf(X: FloatArray, Y: FloatArray, gamma: float) -> FloatArray:
    """exp(-γ |x - y|²) of all pairs, without a negative distance where rows are near each other."""
    centre = Y.mean(axis=0)
    X, Y = X - centre, Y - centre
    squares = (X**2).sum(axis=1)[:, np.newaxis] + (Y**2).sum(axis=1) - 2 * (X @ Y.T)
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0, out=squares)))


def is_kernel_file(text: bytes) -> bool:
    """Tell whether this is the beginning of a kernel model in the authors' layout."""
    lines = text[:200].splitlines()
    return len(lines) > 1 and lines[0].strip() == MAGIC.encode() and lines[1].split()[1:] == [b"rbf"]


def parse_kernel(text: bytes, name: str) -> KernelModel:
    """Read a kernel model from the bytes of its file; `name` is for messages."""
    head, line, vectors = text.partition(b"\nSV")
    items: dict[str, str] = {}
    for place, words in enumerate(head.decode("utf-8", "replace").splitlines(), 1):
        key, _, rest = words.strip().partition(" ")
        if key in items:
            raise _core.FormatError(f"{name}:{place}: '{key}' is there twice")
        items[key] = rest.strip()
    missing = set(NUMBERS) - set(items)
    if missing:
        raise _core.FormatError(f"{name}: a kernel model without {', '.join(sorted(missing))}")
    numbers = {key: _number(items[key], f"{name}: {key}") for key in NUMBERS}
    for key in ("lambda", "gamma"):
        if numbers[key] <= 0:
            raise _core.FormatError(f"{name}: {key}: expected a number > 0, got {items[key]}")
    if not line or not vectors.strip():
        raise _core.FormatError(f"{name}: a kernel model without support vectors after the line SV")
    # Lines `alpha j:v ...` are those of means; empty lines above keep their numbers in messages.
    support, coefficients = read_vectors(b"\n" * (head.count(b"\n") + 1) + vectors, name)
    alpha = np.array([_number(text, f"{name}: coefficient") for text in coefficients])
    platt = (numbers["sigmA"], numbers["sigmB"])
    model = KernelModel(support, alpha, numbers["b"], numbers["gamma"], numbers["lambda"], platt)
    model.cov_mat_type_ = items.get("cov_mat_type", "")
    return model


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _core.FormatError(f"{where}: expected a number, got {text!r}") from None
    if not np.isfinite(value):
        raise _core.FormatError(f"{where}: expected a finite number, got {text!r}")
    return value
