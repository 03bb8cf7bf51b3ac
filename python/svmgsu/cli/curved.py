"""What the commands do for pools (`GSUClassifier`, `GSURegressor`): options, files, texts."""

from __future__ import annotations

import argparse
from typing import Any

from .. import io
from ..io.dataset import Dataset
from ..models.classifier import Model
from ..models.files import load
from ..models.regressor import RegressionModel
from .base import UsageError

# Options of `svmgsu train` that a pool does not have, with their defaults.
OF_LINEAR_MODELS = {
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
    "steps": None,
    "batch": None,
    "average": None,
    "jobs": None,
    "checkpoint": None,
    "lam": None,
    "loss": None,
    "epsilon": None,
    "tol": None,
}
SETTINGS = ("cv", "max_time", "threads")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the option that trains a pool."""
    parser.add_argument(
        "--pool",
        dest="kernel",
        action="store_const",
        const="pool",
        help="train GSUClassifier, or GSURegressor: nonlinear models, chosen by cross-validation (needs "
        "scikit-learn)",
    )


def check(args: argparse.Namespace) -> None:
    """Refuse options of linear models together with --pool."""
    if args.kernel is None:
        return
    for name, nothing in OF_LINEAR_MODELS.items():
        if getattr(args, name) != nothing:
            raise UsageError(f"--{name.replace('_', '-')}: for linear models, not with --pool")
    if args.solver != "newton" or args.model_format != "svmgsu":
        raise UsageError("--solver sgd, --model-format gsvm: for linear models, not with --pool")


def fit(args: argparse.Namespace, dataset: Dataset, deployment: Any, class_weight: Any) -> Any:
    """Fit the pool that `svmgsu train` asks for."""
    from ..estimators.pool.classifier import GSUClassifier
    from ..estimators.pool.regressor import GSURegressor

    settings = {name: getattr(args, name) for name in SETTINGS if getattr(args, name) is not None}
    settings |= {"test_noise": deployment, "random_state": args.seed}
    if args.task == "regression":
        return GSURegressor(**settings).fit(dataset.data, dataset.y, y_std=dataset.y_std)
    model = GSUClassifier(class_weight=class_weight, **settings)
    return model.fit(dataset.data, dataset.y, classes=dataset.classes)


def read(path: str) -> Any:
    """The model in a file, linear or a pool."""
    model = load(path)
    if not (isinstance(model, (Model, RegressionModel)) or hasattr(model, "pool_")):
        raise io.FormatError(
            f"{path}: holds a {type(model).__name__}, which predicts neither classes nor values"
        )
    return model


def is_curved(model: Any) -> bool:
    return not isinstance(model, (Model, RegressionModel))


def is_regression(model: Any) -> bool:
    """Whether a model, linear or a pool, predicts numbers."""
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
    """Return what was chosen, given or found."""
    own = {"task": "regression"} if is_regression(model) else {"classes": model.classes_.tolist()}
    pool = model.pool_
    members = [
        {"member": name, "weight": float(weight), "held-out loss": float(loss)}
        for name, weight, loss in zip(pool.members, pool.weights, pool.losses, strict=True)
    ]
    return {"features": model.n_features_in_, **own, "held-out loss": float(pool.loss), "members": members}


def text(facts: dict[str, Any]) -> str:
    """Return what `svmgsu train` says of a pool."""
    what = f", classes {', '.join(map(str, facts['classes']))}" if "classes" in facts else ""
    lines = [
        f"{facts['examples']} samples, {facts['features']} features, {facts['covariance'] or 'no'} "
        f"covariance{what}"
    ]
    for one in sorted(facts["members"], key=lambda member: -float(member["weight"])):
        if one["weight"] > 0:
            lines.append(f"{one['weight']:.3f} {one['member']} (held-out loss {one['held-out loss']:.4g})")
    lines.append(
        f"held-out loss of the pool {facts['held-out loss']:.4g}, {facts['seconds']:.2f} s: {facts['model']}"
    )
    return "\n".join(lines)
