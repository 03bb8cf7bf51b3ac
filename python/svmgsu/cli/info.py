"""`svmgsu info`: what a model or data file holds, and what this installation is."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from .. import _core, io
from ..data.frames import Columns
from ..models.regressor import RegressionModel
from ..support.build import show_config
from . import curved, regression
from .base import add_json, show
from .data import TABLES, add_data_options, add_effort_options, read_data

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
    columns: Any = facts.get("columns", [])
    lines = {name: _text(value) for name, value in facts.items() if name != "columns"}
    width = max(map(len, lines))
    text = [f"{name:<{width}}  {value}" for name, value in lines.items()]
    show(args, facts, "\n".join([*text, *_table(columns)]))


def _table(columns: list[dict[str, str]]) -> list[str]:
    """What the columns of a table were understood as, a line each."""
    if not columns:
        return []
    width = max(len("column"), *(len(row["column"]) for row in columns))
    shown = [f"{row['column']:<{width}}  {row['use']:<8}{row['uncertainty']}".rstrip() for row in columns]
    return ["", f"{'column':<{width}}  {'use':<8}uncertainty", *shown]


def describe_columns(found: Columns) -> list[dict[str, str]]:
    """The use of each column: a value with its uncertainty, exact, an id, the target, or not used."""
    rows = [("target", c, found.target_errors) for c in [found.target] if c]
    rows += [("value" if found.whole or e else "exact", v, found.whole or e) for v, e in found.values.items()]
    out = [
        {
            "column": column,
            "use": use,
            "uncertainty": ", ".join(f"{c} ({what})" for what, c in errors.items()),
        }
        for use, column, errors in rows
    ]
    out += [
        {"column": c, "use": what, "uncertainty": f"of {x} and {y}"}
        for (x, y), (what, c) in found.joint.items()
    ]
    out += [{"column": c, "use": "id", "uncertainty": ""} for c in found.ids]
    return out + [{"column": c, "use": "unused", "uncertainty": why} for c, why in found.unused.items()]


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
    if args.missing is None and io.format_of(args.data, args.format) in TABLES:
        args.missing = "keep"  # a look at a table does not stop at what is missing
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
    if dataset.columns is not None:
        args.notes.clear()
        facts["understood"] = str(dataset.columns)
        facts["missing values"] = int(np.isnan(data.mean).sum())
        facts["columns"] = describe_columns(dataset.columns)
    elif dataset.feature_names is not None:
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
