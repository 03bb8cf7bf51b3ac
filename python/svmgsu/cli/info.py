"""`svmgsu info`: what a model or a data file holds, and what this installation is."""

from __future__ import annotations

import argparse
import zipfile
from typing import Any

import numpy as np

from .. import _core
from ..data.columns import Columns
from ..support.types import Fields
from .base import add_json, show
from .data import add_data_options, read_data
from .models import describe_model, load_model

EXAMPLES = """\
examples:
  svmgsu info stars.csv                  a table: which column is a value, an uncertainty, an id, the target
  svmgsu info stars.svmgsu               a model
  svmgsu info mean.dat --cov cov.dat     files of the method's authors
  svmgsu info                            this installation: what to put into a bug report
"""
MODEL_BEGINS = (b"svmgsu-model", b"SVM-GSU")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.usage = "svmgsu info [FILE] [options]"
    parser.add_argument("data", nargs="?", metavar="FILE", help="a model or a file of samples")
    add_data_options(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    if args.data is None:
        facts: Fields = {name.replace("_", " "): value for name, value in _core.config().items()}
    elif _is_model(args.data):
        model, table = load_model(args.data)
        facts = describe_model(model) | {f"table: {name}": value for name, value in table.items()}
    else:
        facts = _describe_data(args)
    columns: list[dict[str, str]] = facts.get("columns", [])
    lines = {name: _text(value) for name, value in facts.items() if name != "columns"}
    width = max(map(len, lines))
    text = [f"{name:<{width}}  {value}" for name, value in lines.items()]
    if columns:
        wide = max(len("column"), *(len(row["column"]) for row in columns))
        use = max(len(row["use"]) for row in columns)
        text += ["", f"{'column':<{wide}}  {'use':<{use}}  uncertainty"]
        text += [
            f"{row['column']:<{wide}}  {row['use']:<{use}}  {row['uncertainty']}".rstrip() for row in columns
        ]
    show(args, facts, "\n".join(text))


def _is_model(path: str) -> bool:
    if path == "-":
        return False
    with open(path, "rb") as file:
        if file.read(16).startswith(MODEL_BEGINS):
            return True
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return "svmgsu.npy" in archive.namelist()


def _describe_data(args: argparse.Namespace) -> Fields:
    dataset, _ = read_data(args, task="optional")
    data = dataset.data
    facts: Fields = {
        "samples": len(data),
        "features": data.shape[1],
        "numbers": str(data.mean.dtype),
        "sparse": not isinstance(data.mean, np.ndarray),
        "covariance": None if data.cov is None else type(data.cov).__name__.lower(),
    }
    if dataset.y is not None:
        classes, counts = np.unique(dataset.y, return_counts=True)
        if len(classes) <= 50:
            facts["classes"] = dict(zip(classes.tolist(), counts.tolist(), strict=True))
    if dataset.columns is not None:
        args.notes = [note for note in args.notes if str(dataset.columns) not in note]
        facts["understood"] = str(dataset.columns)
        facts["missing values"] = int(np.isnan(data.mean).sum())
        facts["columns"] = describe_columns(dataset.columns)
    return facts


def describe_columns(found: Columns) -> list[dict[str, str]]:
    """Return the use of each column: a value with its uncertainty, exact, an id, the target, or not used."""
    rows: list[tuple[str, str, Any]] = [("target", c, found.target_errors) for c in [found.target] if c]
    rows += [("value" if found.whole or e else "exact", v, found.whole or e) for v, e in found.values.items()]
    shown = [(c, use, ", ".join(f"{e} ({what})" for what, e in errors.items())) for use, c, errors in rows]
    shown += [(c, what, f"of {x} and {y}") for (x, y), (what, c) in found.joint.items()]
    shown += [(c, "id", "") for c in found.ids]
    shown += [(c, "unused", why) for c, why in found.unused.items()]
    return [{"column": c, "use": use, "uncertainty": text} for c, use, text in shown]


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {number}" for name, number in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
