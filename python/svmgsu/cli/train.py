"""`svmgsu train`: files in, a model out; λ and the scale of the covariances by cross-validation if asked."""

from __future__ import annotations

import argparse
import time
from typing import Any

from .. import io
from ..fit.classification import train
from ..fit.division import MULTI_CLASS
from ..fit.settings import SOLVERS, Settings
from ..io.dataset import Dataset
from ..models.regressor import RegressionModel
from ..models.rule import FORMATS
from ..support.losses import check_loss
from ..support.losses import names as losses_of
from . import curved, regression
from .base import (
    UsageError,
    about,
    add_json,
    by_label,
    check_outputs,
    count,
    fraction,
    grid,
    lams,
    natural,
    nonnegative,
    positive,
    share,
    show,
)
from .data import (
    TABLES,
    add_block_options,
    add_checkpoint_options,
    add_data_options,
    add_effort_options,
    check_checkpoint,
    read_data,
    threads_for,
)
from .fitting import deployment, fitted, is_search
from .predict import add_output_format, layout_of, predictions_of, write

EXAMPLES = """\
examples:
  svmgsu train mean.dat --labels labels.dat --cov cov.dat --lam 0.01 -o stars.svmgsu
        the authors' text files; joined by id, the kind of covariance is seen from the file
  svmgsu train stars.csv -o stars.svmgsu
        a table: columns x and x_err belong together, `label` (or --target) has the labels; where they
        are in doubt, the columns p_star, p_quasar, ... have the probability of each class instead
  svmgsu train stars.csv --lams 1e-4:1:10 --cov-scales 0,0.5,1,2 --cv 5 -o stars.svmgsu
        the best of ten λ and four scales of the error bars (0 is the ordinary SVM) in five folds
  svmgsu train data.svm --std 0.1 --class-weight balanced -o m.svmgsu --predictions fitted.csv
        svmlight, one error bar for all numbers, rare classes count as much; also write predictions
  svmgsu train stars.csv --task regression --target z --loss epsilon_insensitive --epsilon 0.1 -o z.svmgsu
        predict the numbers of column z, whose errors, if there are some, are z_err
  svmgsu train stars.csv --pool -o pool.svmgsu
        a nonlinear model: GSUClassifier, with --task regression GSURegressor
  svmgsu train sky.parquet --memory 2GB --checkpoint sky.ckpt --resume -o sky.svmgsu
        block by block; stopped and started again, it goes on from the last pass
  zcat mean.gz | svmgsu train - --labels labels.dat --kind none -o m.svmgsu --json
        from standard input, without covariances; facts as JSON
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.usage = "svmgsu train DATA [--labels FILE] [--cov FILE] [options] -o MODEL"
    parser.add_argument("data", metavar="DATA", help="means, or all; - is standard input")
    parser.add_argument("-o", "--output", required=True, metavar="MODEL", help="the model; - is stdout")
    parser.add_argument(
        "--model-format", choices=FORMATS, default="svmgsu", help="svmgsu, or the authors' (two classes)"
    )
    parser.add_argument("--predictions", metavar="FILE", help="also write predictions for the examples")
    add_output_format(parser)
    add_json(parser)
    add_data_options(parser)
    add_block_options(parser)
    add_checkpoint_options(parser)
    _add_problem(parser)
    _add_search(parser)
    curved.add_arguments(parser)
    _add_solver(parser)


def _add_problem(parser: argparse.ArgumentParser) -> None:
    problem = parser.add_argument_group("problem")
    problem.add_argument(
        "--task", choices=regression.TASKS, default=regression.TASKS[0], help="default: classification"
    )
    problem.add_argument(
        "--lam", type=positive, metavar="LAM", help=f"weight of the penalty (default: {Settings.lam:g})"
    )
    problem.add_argument(
        "--loss",
        metavar="NAME",
        help=f"{', '.join(losses_of('classification'))}, or {', '.join(losses_of('regression'))}",
    )
    problem.add_argument(
        "--epsilon", type=nonnegative, metavar="E", help="of losses that have one, in units of the target"
    )
    problem.add_argument("--cov-scale", type=nonnegative, metavar="F", help="a factor of all covariances")
    problem.add_argument(
        "--deployment-cov",
        metavar="FILE",
        help=".npy file of noise only where the model will be used: (n,) or (n, n), or a pool of them",
    )
    problem.add_argument(
        "--subspace", type=fraction, metavar="P", help="keep the eigenvectors with this share of the variance"
    )
    problem.add_argument(
        "--subspace-mode",
        choices=("truncate", "project"),
        default="truncate",
        help="project is the paper's (default: truncate)",
    )
    problem.add_argument("--class-weight", metavar="W", help="balanced, or LABEL=WEIGHT,LABEL=WEIGHT,...")
    problem.add_argument(
        "--multi-class",
        choices=MULTI_CLASS,
        help="of more than two classes, train each pair (default: ovo) or each against the rest",
    )
    problem.add_argument("--no-intercept", action="store_true", help="w·x without b")
    problem.add_argument(
        "--probability",
        choices=("cv", "train"),
        help="fit probabilities to held-out scores (default, but for --loss logistic, which has its own: cv) "
        "or to the training scores",
    )
    problem.add_argument("--no-probability", action="store_true", help="fit none")


def _add_search(parser: argparse.ArgumentParser) -> None:
    search = parser.add_argument_group("search, by cross-validation (needs scikit-learn)")
    search.add_argument("--lams", type=lams, metavar="GRID", help="FROM:TO:COUNT, or values with commas")
    search.add_argument("--cov-scales", type=grid, metavar="GRID", help="factors of the covariances to try")
    search.add_argument("--cv", type=count, metavar="K", help="folds (default: 5)")
    search.add_argument(
        "--scoring",
        metavar="NAME",
        help="expected_accuracy (default), expected_hinge, expected_log_loss, expected_loss, or a scorer of "
        "scikit-learn; of a regression expected_squared_error (default), expected_loss, or such a scorer",
    )


def _add_solver(parser: argparse.ArgumentParser) -> None:
    solver = parser.add_argument_group("solver")
    solver.add_argument(
        "--solver", choices=SOLVERS, default=Settings.solver, help="exact (default), or the paper's"
    )
    solver.add_argument("--tol", type=positive, help=f"relative, proven (default: {Settings.tol:g})")
    solver.add_argument("--max-iter", type=count, metavar="N", help=f"default: {Settings.max_iter}")
    solver.add_argument("--max-time", type=positive, metavar="S", help="seconds; the best so far is kept")
    solver.add_argument("-T", "--steps", type=count, metavar="N", help="sgd: steps")
    solver.add_argument("-k", "--batch", type=count, metavar="N", help="sgd: size of a minibatch")
    solver.add_argument("--average", type=share, metavar="F", help="sgd: share of steps averaged")
    solver.add_argument("--seed", type=natural, default=0, metavar="N", help="same seed, same model")
    solver.add_argument("--jobs", type=count, metavar="N", help="fits at a time, of classes and folds")
    add_effort_options(solver)  # type: ignore[arg-type]


def run(args: argparse.Namespace) -> None:
    """Runs the command."""
    _check_usage(args)
    targets = [target for target in (args.output, args.predictions) if target is not None]
    check_outputs(targets, [args.data, args.labels, args.cov, args.deployment_cov])
    began = time.perf_counter()
    if args.kernel is not None and args.missing is None and io.format_of(args.data, args.format) in TABLES:
        args.missing = "keep"  # nonlinear models take missing values
    dataset = read_data(args, labelled=True, doubtful=True, targets=args.task == "regression")
    fit = _train_regression if args.task == "regression" else _train_classifier
    model, found = fit(args, dataset)
    facts = _facts(args, model, dataset, time.perf_counter() - began) | found
    text = curved.text(facts) if curved.is_curved(model) else _text(facts)
    show(args, facts, text, taken="-" in targets)


def _train_classifier(args: argparse.Namespace, dataset: Dataset) -> tuple[Any, dict[str, Any]]:
    _check_outputs(args, dataset.labels())
    with about(args.data, args.labels, args.cov):
        model, found = _fit(args, dataset)
        if args.predictions is not None:
            rows = predictions_of(model, dataset.data, threads_for(args, dataset.data))
        model.save(args.output, *([] if args.kernel else [args.model_format]))
        if args.predictions is not None:
            write(args, args.predictions, rows, dataset.ids, model)
    return model, found


def _train_regression(args: argparse.Namespace, dataset: Dataset) -> tuple[Any, dict[str, Any]]:
    with about(args.data, args.labels, args.cov):
        model, found = _fit(args, dataset) if args.kernel else regression.fit(args, dataset)
        rows = regression.values_of(model, dataset.data, threads_for(args, dataset.data))
        model.save(args.output)
    if args.predictions is not None:
        regression.write(args.predictions, rows, dataset.ids, layout_of(args, args.predictions))
    return model, found


def _check_usage(args: argparse.Namespace) -> None:
    searching = is_search(args)
    if searching and args.solver == "sgd":
        raise UsageError("--solver sgd: not for a search; leave out --lams and --cov-scales")
    if args.lams is not None and args.lam is not None:
        raise UsageError("--lam: not together with --lams, which chooses it")
    if args.cov_scales is not None and args.cov_scale is not None:
        raise UsageError("--cov-scale: not together with --cov-scales, which chooses it")
    check_checkpoint(args)
    curved.check(args)
    if not searching and args.kernel is None and (args.cv is not None or args.scoring is not None):
        raise UsageError("--cv, --scoring: for a search; add --lams or --cov-scales")
    regression.check_task(args)
    if args.loss is not None and args.task == "classification":
        try:
            check_loss(args.loss)
        except ValueError as error:
            raise UsageError(f"--{error}") from None
    if args.cv == 1:
        raise UsageError("--cv: at least 2 folds are wanted")
    if args.output == "-" and args.predictions == "-":
        raise UsageError("--predictions: standard output takes the model already")


def _check_outputs(args: argparse.Namespace, classes: list[Any]) -> None:
    """Before training: can what will be found be written as asked?"""
    if args.model_format == "gsvm" and (classes != [-1, 1] or args.no_probability):
        raise UsageError("--model-format gsvm: for the classes -1 and 1, with probabilities")
    if args.predictions is None or (len(classes) == 2 and not args.no_probability):
        return
    if layout_of(args, args.predictions) == ".txt":
        raise UsageError(
            f"--predictions {args.predictions}: the authors' layout is for two classes with probabilities; "
            "write .csv or .jsonl"
        )


def _fit(args: argparse.Namespace, dataset: Dataset) -> tuple[Any, dict[str, Any]]:
    if args.kernel is not None:
        weights = class_weights(args.class_weight, dataset.labels())
        return curved.fit(args, dataset, deployment(args.deployment_cov), weights), {}

    def searcher() -> Any:
        from ..estimators.classifier_search import LinearSVMGSUCV

        return LinearSVMGSUCV(cv=args.cv or 5)

    own = {
        "class_weight": class_weights(args.class_weight, dataset.labels()),
        "probability": False if args.no_probability else args.probability or True,
    }
    return fitted(args, train, searcher, dataset.data, dataset.y, own, classes=dataset.classes)


def class_weights(text: str | None, classes: list[Any]) -> Any:
    """What --class-weight says: None, "balanced", or a dict with the labels of the data."""
    if text is None or text == "balanced":
        return text
    return by_label("--class-weight", "balanced or LABEL=WEIGHT", text, classes)


def _facts(args: argparse.Namespace, model: Any, dataset: Dataset, seconds: float) -> dict[str, Any]:
    read: dict[str, Any] = {"model": args.output, "examples": len(dataset.data)}
    kind = None if dataset.data.cov is None else type(dataset.data.cov).__name__.lower()
    effort = {"seconds": seconds, "notes": args.notes}
    if curved.is_curved(model):
        return read | {"covariance": kind} | curved.facts(model) | effort
    if isinstance(model, RegressionModel):
        own: dict[str, Any] = {"task": "regression", "scatter": model.scatter_, "epsilon": model.epsilon}
        own["target errors"] = dataset.y_std is not None
    else:
        own = {"classes": model.classes_.tolist()}
    found = {
        "features": model.n_features_in_,
        **own,
        "covariance": kind,
        "lam": model.lam,
        "loss": model.loss,
        "objective": model.objective_,
        "gap": model.gap_,
        "iterations": model.n_iter_,
        "status": model.status_,
    }
    return read | found | effort


def _text(facts: dict[str, Any]) -> str:
    uncertainty = facts["covariance"] or "no"
    what = f"scatter {facts['scatter']:.4g}" if "scatter" in facts else ""
    if "classes" in facts:
        what = f"classes {', '.join(map(str, facts['classes']))}"
    lines = [f"{facts['examples']} examples, {facts['features']} features, {uncertainty} covariance, {what}"]
    if "search" in facts:
        best = facts["search"]
        lines.append(
            f"best of {len(best['tried'])}: lam {best['lam']:.4g}, cov_scale {best['cov_scale']:.4g}, "
            f"score {best['score']:.4f}"
        )
    loss = "" if facts["loss"] == "hinge" else f"loss {facts['loss']}, "
    lines.append(
        f"{loss}lam {facts['lam']:g}, objective {facts['objective']:.6g}, gap {facts['gap']:.2g}, "
        f"{facts['iterations']} iterations, {facts['status']}, {facts['seconds']:.2f} s: {facts['model']}"
    )
    return "\n".join(lines)
