"""`svmgsu report`: one page that says whether a table's error bars matter, and which model to use."""

from __future__ import annotations

import argparse
import io as streams
import sys
from typing import Any, NamedTuple

import numpy as np

from .. import io
from ..data.gaussians import Gaussians
from ..io.dataset import Dataset
from ..maps.linear import dense
from ..support.validation import is_sparse
from .base import UsageError, about, add_json, check_outputs, natural, show
from .data import CHANCES, TABLES, add_data_options, read_data, shows_progress

EXAMPLES = """\
examples:
  svmgsu report stars.csv -o report.html
        columns x and x_err belong together, `label`, `y` or `target` is to be predicted; text and columns
        that are mostly empty are left out, and rows with a missing number; the page says so
  svmgsu report stars.csv --target class --groups star_id -o report.html
        another column to predict; objects of one group are never trained and tested on at once
  svmgsu report quasars.csv --target z --task regression --ignore name,Mp -o report.html
        numbers to predict; without these columns
  svmgsu report stars.csv --quick --json
        in some seconds, and all numbers for machines
"""
USUAL = ("label", "y", "target", "class")
MOST_NUMBERS = 50_000_000  # of a sparse matrix that is made dense


class Taken(NamedTuple):
    """What was read: the objects, their groups, the task, the code that reads them, what was left out."""

    dataset: Dataset
    groups: Any
    task: str
    reading: str | None
    notes: list[str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.usage = "svmgsu report DATA [--target NAME] [options] -o PAGE.html"
    parser.add_argument("data", metavar="DATA", help="a table, or means; - is standard input")
    parser.add_argument("-o", "--output", metavar="PAGE", help="the page (HTML); may be left out with --json")
    parser.add_argument("--quick", action="store_true", help="some seconds: fewer objects, folds and trees")
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="same seed, same report")
    parser.add_argument("--no-times", action="store_true", help="leave out what differs from run to run")
    parser.add_argument(
        "--target", metavar="NAME", help=f"tables: the column to predict (default: {', '.join(USUAL)})"
    )
    parser.add_argument(
        "--task",
        choices=("auto", "classification", "regression"),
        default="auto",
        help="default: a regression where the target has fractions or more than 20 numbers",
    )
    parser.add_argument("--groups", metavar="NAME", help="tables: the column of what belongs together")
    parser.add_argument("--title", metavar="TEXT", help="of the page")
    parser.add_argument("--progress", action="store_true", help="show a progress bar even without a terminal")
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    add_json(parser)
    add_data_options(parser)


def run(args: argparse.Namespace) -> None:
    """Runs the command."""
    from ..reporting import report

    if args.output is None and not args.json:
        raise UsageError("-o: name the page to write, or ask for --json")
    if args.output == "-" and args.json:
        raise UsageError("-o: standard output takes the JSON already")
    check_outputs([args.output] if args.output else [], [args.data, args.labels, args.cov])
    format = io.format_of(args.data, args.format)
    read = _read_table if format in TABLES else _read_other
    taken = read(args, format)
    with about(args.data, args.labels, args.cov):
        found = report(
            _dense(taken.dataset.data),
            taken.dataset.y,
            y_std=taken.dataset.y_std,
            classes=taken.dataset.classes,
            groups=taken.groups,
            ids=taken.dataset.ids,
            task=taken.task,
            title=args.title or f"Do the error bars of {_name(args.data)} matter?",
            reading=taken.reading,
            notes=taken.notes,
            quick=args.quick,
            seed=args.seed,
            verbose=shows_progress(args, True),
        )
        args.notes.clear()  # the page has them
        if args.output is not None:
            found.to_html(args.output, times=not args.no_times)
    facts = found.to_dict(times=not args.no_times)
    show(args, facts, f"{found!r}\n{args.output}", taken=args.output == "-")


def _name(path: str) -> str:
    return "standard input" if path == "-" else path.replace("\\", "/").rsplit("/", 1)[-1]


def _dense(data: Gaussians) -> Gaussians:
    if not is_sparse(data.mean):
        return data
    if data.shape[0] * data.shape[1] > MOST_NUMBERS:
        raise ValueError(f"X: {data.shape[0]} × {data.shape[1]} sparse numbers are too many for a report")
    return Gaussians(dense(data.mean), data.cov, feature_names=data.feature_names_in_)


def _read_other(args: argparse.Namespace, format: str) -> Taken:
    """Formats without names of columns: as the other commands read them."""
    for name in ("target", "groups"):
        if getattr(args, name) is not None:
            raise UsageError(f"--{name}: not for {format} files, such as {args.data}")
    dataset = read_data(args, labelled=True)
    return Taken(dataset, None, args.task, None, list(args.notes))


def _read_table(args: argparse.Namespace, format: str) -> Taken:
    """The objects of a table, without the columns that cannot be features."""
    if args.labels is not None or args.cov is not None or args.std is not None or args.kind is not None:
        raise UsageError("--labels, --cov, --std, --kind: not for tables, whose columns say all")
    file = _TableFile(args, format)
    task = file.task()
    if task == "auto":
        from ..reporting.preparing import guess_task

        task = guess_task(np.asarray(io.read(file.source(), **file.options("classification")).y))
    options = file.options(task)
    dataset = io.read(file.source(), **options)
    groups = None
    if args.groups is not None:
        groups = io.read(file.source(), **{**options, "id": args.groups}).ids
    return Taken(dataset, groups, task, file.line(options, dataset), file.notes(dataset))


class _TableFile:
    """A table that is looked at, and then read: which column is the target, and which are no features."""

    def __init__(self, args: argparse.Namespace, format: str) -> None:
        from ..data.error_bars import partners
        from ..io.survey import survey_table

        self.args, self.format = args, format
        # Standard input can be read once: it is kept.
        self._content = sys.stdin.buffer.read() if args.data == "-" else None
        first = survey_table(self.source(), format)
        known = first.columns
        self.chances = _chances(args, known)
        self.target = None if self.chances else _target(args, first)
        named = (*self.chances, self.target, args.id_column, args.groups)
        given = [name for name in named if name is not None]
        for name in given:
            if name not in known:
                shown = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
                raise ValueError(f"{args.data}: there is no column {name!r}; there are {shown}")
        usual = [c for c in ("id", "doc_id") if c in known]
        self.found = survey_table(self.source(), format, keep=(*given, *usual))
        self.target_errors = list(partners(self.target, set(known)).values()) if self.target else []
        self.ignore = {**self.found.ignore, **{c: "as asked" for c in (args.ignore or "").split(",") if c}}
        if args.groups is not None:
            self.ignore.setdefault(args.groups, "the groups")
        if not (args.features or set(known) - set(self.ignore) - {*given, *usual}):
            left = ", ".join(f"{column} ({reason})" for column, reason in list(self.ignore.items())[:5])
            raise ValueError(
                f"{args.data}: no column is left to learn from: {left}; is there a row of units, or text "
                "among the numbers?"
            )
        for column in (self.target, args.id_column, *self.target_errors, *self.chances):
            self.ignore.pop(str(column), None)

    def source(self) -> Any:
        return self.args.data if self._content is None else streams.BytesIO(self._content)

    def task(self) -> str:
        """What is to be done, as far as names say."""
        args = self.args
        if args.task != "auto":
            return str(args.task)
        if (
            self.chances
            or self.target not in self.found.numeric
            or args.label_column is not None
            or args.text_labels
        ):
            return "classification"
        return "regression" if self.target_errors else "auto"

    def options(self, task: str) -> dict[str, Any]:
        """For the reader of tables."""
        args, ignore = self.args, list(self.ignore)
        chosen: dict[str, Any] = {"target" if task == "regression" else "label": self.target}
        if self.chances:
            chosen = {"chances": CHANCES}
        if task != "regression":
            ignore += self.target_errors
        if args.features:
            chosen["features"] = args.features.split(",")
        for name, option in (
            ("asymmetric", "asymmetric"),
            ("text_labels", "text_labels"),
            ("id_column", "id"),
        ):
            if getattr(args, name):
                chosen[option] = getattr(args, name)
        if ignore:
            chosen["ignore"] = ignore
        if args.missing != "error":
            chosen["missing"] = "drop"
        if args.format or self._content is not None:
            chosen["format"] = self.format
        return chosen

    def line(self, options: dict[str, Any], dataset: Dataset) -> str | None:
        """The code that reads the same."""
        if self._content is not None:
            return None
        shown = "".join(f", {name}={value!r}" for name, value in options.items())
        read = f"svmgsu.io.read({self.args.data!r}{shown})"
        more = "classes" if self.chances else "y_std" if dataset.y_std is not None else None
        if more is None:
            return f"data, y = {read}"
        return f"table = {read}\ndata, y, {more} = table.data, table.y, table.{more}"

    def notes(self, dataset: Dataset) -> list[str]:
        """What was taken and what was left out."""
        rows, name = self.found.rows, _name(self.args.data)
        what = f"column to predict is {self.target}"
        if self.chances:
            what = f"columns to predict, probabilities of classes, are {', '.join(self.chances)}"
        notes = [f"{name}: {rows} rows; the {what}."]
        dropped = sum(dataset.report.dropped.values())
        if dropped:
            notes.append(f"{dropped} of {rows} rows are left out, since a number or the target is missing.")
        if self.ignore:
            shown = [f"{column} ({reason})" for column, reason in list(self.ignore.items())[:20]]
            more = f" and {len(self.ignore) - 20} more" if len(self.ignore) > 20 else ""
            notes.append(f"Columns that are not used: {', '.join(shown)}{more}.")
        return notes


def _chances(args: argparse.Namespace, columns: list[str]) -> list[str]:
    """Columns p_<class>, where no column has labels or is named."""
    if args.target or args.label_column or args.task == "regression" or set(USUAL) & set(columns):
        return []
    found = [c for c in columns if c.startswith(CHANCES) and len(c) > len(CHANCES)]
    return found if len(found) > 1 else []


def _target(args: argparse.Namespace, found: Any) -> str:
    if args.target is not None and args.label_column is not None:
        raise UsageError("--target: not together with --label-column")
    asked = args.target or args.label_column
    if asked is not None:
        return str(asked)
    usual = next((c for c in USUAL if c in found.columns), None)
    if usual is None:
        likely = found.labels[:5] or found.columns[:10]
        raise ValueError(
            f"{args.data}: which column is to be predicted? There is none called {', '.join(USUAL)}; name it "
            f"in --target: {', '.join(likely)}, ..."
        )
    return usual
