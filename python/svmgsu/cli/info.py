"""`svmgsu info`: what a model or data file holds, and what this installation is."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from .. import _core
from ..models.regressor import RegressionModel
from ..support.build import show_config
from . import curved, regression
from .base import add_json, show
from .data import add_data_options, add_effort_options, read_data

EXAMPLES = """\
examples:
  svmgsu info                                 this installation: what to put into a bug report
  svmgsu info stars.svmgsu                    a model, ours or the authors'
  svmgsu info mean.dat --cov cov.dat          data: examples, features, kind of covariance
  svmgsu info stars.csv --json                the same for machines
"""
MODEL_BEGINS = (b"svmgsu-model", b"SVM-GSU")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.usage = "svmgsu info [FILE] [options]"
    parser.add_argument("data", nargs="?", metavar="FILE", help="a model or a file of examples")
    add_data_options(parser)
    add_json(parser)
    add_effort_options(parser)


def run(args: argparse.Namespace) -> None:
    """Runs the command."""
    if args.data is None:
        if not args.json:
            show_config()
            return
        facts = dict(_core.config())
    elif _is_model(args.data):
        facts = describe_model(curved.read(args.data))
    else:
        facts = describe_data(args)
    width = max(map(len, facts))
    show(args, facts, "\n".join(f"{name:<{width}}  {_text(value)}" for name, value in facts.items()))


def _is_model(path: str) -> bool:
    if path == "-":
        return False
    with open(path, "rb") as file:
        return file.read(16).startswith(MODEL_BEGINS) or curved.is_archive(path)


def describe_model(model: Any) -> dict[str, Any]:
    """What a model file holds."""
    if curved.is_curved(model):
        return {"file": "model", **curved.facts(model)}
    if isinstance(model, RegressionModel):
        return regression.describe(model)
    return {
        "file": "model",
        "features": model.n_features_in_,
        "classes": model.classes_.tolist(),
        **({"multi-class": model.multi_class} if len(model.classes_) > 2 else {}),
        "loss": model.loss,
        "lam": model.lam,
        "probabilities": model.calibration_ is not None,
        "kappa": None if model.calibration_ is None else [c.kappa for c in model.calibration_],
        "prior": None if model.prior_ is None else model.prior_.tolist(),
        "intercept": model.intercept_.tolist(),
        "norm of w": [float((w @ w) ** 0.5) for w in model.coef_],
    }


def describe_data(args: argparse.Namespace) -> dict[str, Any]:
    """What files of examples hold."""
    dataset = read_data(args)
    data = dataset.data
    facts: dict[str, Any] = {
        "file": "examples",
        "examples": len(data),
        "features": data.shape[1],
        "numbers": str(data.mean.dtype),
        "sparse": not isinstance(data.mean, np.ndarray),
        "covariance": None if data.cov is None else type(data.cov).__name__.lower(),
    }
    if dataset.y is not None:
        classes, counts = np.unique(dataset.y, return_counts=True)
        facts["classes"] = dict(zip(classes.tolist(), counts.tolist(), strict=True))
    if dataset.feature_names is not None:
        facts["feature names"] = dataset.feature_names
    return facts


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {number}" for name, number in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
