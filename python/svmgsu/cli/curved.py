"""What the commands do for curved models (`SVMGSU`, `SVRGSU`): options of training, files, what is said."""

from __future__ import annotations

import argparse
from typing import Any

from .. import io
from ..io.dataset import Dataset
from ..models.classifier import Model
from ..models.files import load
from ..models.regressor import RegressionModel
from .base import UsageError, positive

KERNELS = ("rbf", "laplace", "matern", "quadratic")
# Options of `svmgsu train` that a curved model has not, with what they are if nothing is said.
OF_LINES = {
    "lams": None,
    "cov_scale": None,
    "cov_scales": None,
    "scoring": None,
    "subspace": None,
    "multi_class": None,
    "no_intercept": False,
    "probability": None,
    "no_probability": False,
    "max_iter": None,
    "max_time": None,
    "steps": None,
    "batch": None,
    "average": None,
    "jobs": None,
    "checkpoint": None,
}
OF_CURVES = ("gamma", "population")
SETTINGS = ("kernel", "gamma", "lam", "loss", "epsilon", "cv", "tol", "threads")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a curved model."""
    curved = parser.add_argument_group("curved boundaries (SVMGSU, SVRGSU; needs scikit-learn)")
    curved.add_argument(
        "--kernel",
        choices=KERNELS,
        help="with the population behind noisy objects; what no option says is chosen by cross-validation",
    )
    curved.add_argument(
        "--gamma", type=positive, metavar="G", help="of the kernel, of features in units of their spread"
    )
    curved.add_argument(
        "--population",
        choices=("mixture", "gaussian", "none"),
        help="behind noisy objects (default: a mixture where there is noise); none: error bars are a spread "
        "of their own",
    )


def check(args: argparse.Namespace) -> None:
    """Refuses options that do not go with --kernel, or without it."""
    if args.kernel is None:
        for name in OF_CURVES:
            if getattr(args, name) is not None:
                raise UsageError(f"--{name}: for a curved model; add --kernel")
        return
    for name, nothing in OF_LINES.items():
        if getattr(args, name) != nothing:
            raise UsageError(f"--{name.replace('_', '-')}: for linear models, not with --kernel")
    if args.solver != "newton" or args.model_format != "svmgsu":
        raise UsageError("--solver sgd, --model-format gsvm: for linear models, not with --kernel")


def fit(args: argparse.Namespace, dataset: Dataset, deployment: Any, class_weight: Any) -> Any:
    """The curved model that `svmgsu train` asks for."""
    from ..estimators.nonlinear.classifier import SVMGSU
    from ..estimators.nonlinear.regressor import SVRGSU

    settings = {name: getattr(args, name) for name in SETTINGS if getattr(args, name) is not None}
    settings |= {"deployment_cov": deployment, "random_state": args.seed}
    if args.population is not None:
        settings["population"] = None if args.population == "none" else args.population
    if args.task == "regression":
        return SVRGSU(**settings).fit(dataset.data, dataset.y, y_std=dataset.y_std)
    return SVMGSU(class_weight=class_weight, **settings).fit(dataset.data, dataset.y, classes=dataset.classes)


def read(path: str) -> Any:
    """The model in a file, linear or curved."""
    model = load(path)
    if not (isinstance(model, (Model, RegressionModel)) or hasattr(model, "scores_")):
        raise io.FormatError(
            f"{path}: holds a {type(model).__name__}, which predicts neither classes nor values"
        )
    return model


def is_curved(model: Any) -> bool:
    return not isinstance(model, (Model, RegressionModel))


def is_regression(model: Any) -> bool:
    """Whether a model, linear or curved, predicts numbers."""
    return not hasattr(model, "classes_")


def names_of(model: Any) -> list[str] | None:
    """The names of a model's features."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(map(str, names))


def is_archive(path: str) -> bool:
    """Whether a file is an archive with a model in it; arrays of examples are archives, too."""
    import zipfile

    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "svmgsu.npy" in archive.namelist()


def facts(model: Any) -> dict[str, Any]:
    """What was chosen, given or found."""
    if is_regression(model):
        own: dict[str, Any] = {"task": "regression", "residual": model.residual_std_}
    else:
        own = {"classes": model.classes_.tolist()}
    return {
        "features": model.n_features_in_,
        **own,
        "kernel": model.kernel,
        "gamma": model.gamma_,
        "lam": model.lam_,
        "metric": model.metric_ is not None,
        "bars as features": model.bars_,
        "population": None if model.population_ is None else model.population_.n_components_,
        "loss": model.loss,
        "objective": model.objective_,
        "gap": model.gap_,
    }


def text(facts: dict[str, Any]) -> str:
    """What `svmgsu train` says of a curved model."""
    what = f"residual {facts['residual']:.4g}" if "residual" in facts else ""
    if "classes" in facts:
        what = f"classes {', '.join(map(str, facts['classes']))}"
    chosen = [facts["kernel"], f"gamma {facts['gamma']:.4g}", f"lam {facts['lam']:.4g}"]
    if facts["population"]:
        chosen.append(f"population of {facts['population']}")
    chosen += [name for name in ("metric", "bars as features") if facts[name]]
    uncertainty = facts["covariance"] or "no"
    return (
        f"{facts['examples']} examples, {facts['features']} features, {uncertainty} covariance, {what}\n"
        f"{', '.join(chosen)}\nobjective {facts['objective']:.6g}, gap {facts['gap']:.2g}, "
        f"{facts['seconds']:.2f} s: {facts['model']}"
    )
