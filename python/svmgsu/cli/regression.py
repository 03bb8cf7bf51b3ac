"""What the commands do for a regression: its options, training, search, predictions and measures."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np

from .. import io
from ..data.gaussians import Gaussians
from ..fit.regression import train_regressor
from ..io.dataset import Dataset
from ..models.regressor import RegressionModel
from ..support.losses import regression_loss
from ..support.validation import FloatArray
from . import curved
from .base import UsageError, about
from .fitting import fitted

TASKS = ("classification", "regression")
# Options of `svmgsu train` that one task has and the other has not, with what they are if nothing is said.
OF_CLASSIFIERS = {
    "class_weight": None,
    "multi_class": None,
    "probability": None,
    "no_probability": False,
    "text_labels": False,
    "steps": None,
    "batch": None,
}
OF_REGRESSIONS = ("epsilon",)


class Values(NamedTuple):
    """What a regression says of examples: values, and their deviations where covariances are known."""

    values: FloatArray
    std: FloatArray | None


def check_task(args: argparse.Namespace) -> None:
    """Refuses options of `svmgsu train` that are not for its task."""
    if args.task == "classification":
        for name in OF_REGRESSIONS:
            if getattr(args, name) is not None:
                raise UsageError(f"--{name.replace('_', '-')}: for --task regression alone")
        return
    for name, nothing in OF_CLASSIFIERS.items():
        if getattr(args, name) != nothing:
            raise UsageError(f"--{name.replace('_', '-')}: not for --task regression")
    if args.solver != "newton":
        raise UsageError("--solver: --task regression has newton alone")
    if args.model_format != "svmgsu":
        raise UsageError("--model-format gsvm: holds classifiers alone; a regression is saved as svmgsu")
    try:
        regression_loss(args.loss or "squared", args.epsilon)
    except ValueError as error:
        raise UsageError(f"--{error}") from None


def fit(args: argparse.Namespace, dataset: Dataset) -> tuple[RegressionModel, dict[str, Any]]:
    """The regression that `svmgsu train` asks for, and what a search found.

    Its folds are drawn, for tables are often sorted by what is to be predicted.
    """

    def searcher() -> Any:
        from sklearn.model_selection import KFold

        from ..estimators.regressor import LinearSVRGSUCV

        return LinearSVRGSUCV(cv=KFold(args.cv or 5, shuffle=True, random_state=args.seed))

    own = {"loss": args.loss or "squared"}
    return fitted(args, train_regressor, searcher, dataset.data, dataset.y, own, y_std=dataset.y_std)


def values_of(model: Any, data: Gaussians, threads: int | None) -> Values:
    """All that a regression says, with deviations where there are covariances, or a curved one's always."""
    if curved.is_curved(model):
        return Values(*model.set_params(threads=threads).predict(data, return_std=True))
    if data.cov is None:
        return Values(model.predict(data, threads=threads), None)
    return Values(*model.predict(data, return_std=True, threads=threads))


def write(path: str, rows: Values, ids: Any, layout: str) -> None:
    """Writes values in the layout asked for."""
    with about(path):
        io.write_values(path, rows.values, std=rows.std, ids=ids, format=layout)


def scatter_of(model: Any) -> float | None:
    """What error bars leave unexplained, where that is known; deviations of curved models have it in them."""
    return None if curved.is_curved(model) or np.isnan(model.scatter_) else float(model.scatter_)


def measure(model: Any, dataset: Dataset, threads: int | None) -> Any:
    """The measures of a regression: deviations are those of its values, of targets, and its scatter."""
    from ..metrics import evaluate_regression

    rows = values_of(model, dataset.data, threads)
    parts = (rows.std, dataset.y_std, scatter_of(model))
    known = [np.square(part) for part in parts if part is not None]
    variance = np.broadcast_to(sum(known, start=np.zeros(())), rows.values.shape)
    std = np.sqrt(variance) if known and (variance > 0).all() else None
    return evaluate_regression(dataset.y, rows.values, std=std)


def describe(model: RegressionModel) -> dict[str, Any]:
    """What a model file holds of a regression."""
    return {
        "file": "model",
        "task": "regression",
        "features": model.n_features_in_,
        "loss": model.loss,
        **({} if model.epsilon is None else {"epsilon": model.epsilon}),
        "lam": model.lam,
        "scatter": scatter_of(model),
        "intercept": model.intercept_,
        "norm of w": float(np.linalg.norm(model.coef_)),
    }
