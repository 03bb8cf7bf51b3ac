"""`svmgsu report`: one page that says whether the uncertainties of a table matter, and which model to use."""

from __future__ import annotations

import argparse
import shlex
import sys
from functools import partial

from .. import io
from ..data.gaussians import Gaussians
from ..io.dataset import Dataset
from ..io.files import extension
from ..support.validation import is_sparse
from .base import UsageError, about, add_json, check_outputs, natural, show
from .data import TABLES, add_data_options, add_task, read_data, reader_options
from .models import MOST_DENSE

EXAMPLES = """\
examples:
  svmgsu report stars.csv -o report.html
        columns x and x_err belong together, and `label`, `class` or `target` is predicted; columns of text
        are left out; the page says so
  svmgsu report stars.csv --target class --groups star_id -o report.html
        samples of one group are never both trained and tested on
  svmgsu report quasars.csv --target z --ignore name,Mp -o report.html
        predict numbers; two columns are not used
  svmgsu report stars.csv --quick --json
        in some seconds, and all numbers as JSON
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.usage = "svmgsu report DATA [--target NAME] [options] -o PAGE.html"
    parser.add_argument("data", metavar="DATA", help="a table, or a file of means; - is standard input")
    parser.add_argument("-o", "--output", metavar="PAGE", help="the page (HTML); may be left out with --json")
    parser.add_argument("--quick", action="store_true", help="some seconds: fewer samples, folds and trees")
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="same seed, same report")
    parser.add_argument("--no-times", action="store_true", help="leave out what differs from run to run")
    add_task(parser)
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    add_json(parser)
    add_data_options(parser, threads=False)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from ..reporting import report

    if args.output is None and not args.json:
        raise UsageError("-o: name the page to write, or ask for --json")
    if args.output == "-" and args.json:
        raise UsageError("-o: standard output takes the JSON already")
    check_outputs([args.output] if args.output else [], [args.data, args.labels, args.cov])
    if args.output and extension(args.output) not in ("", ".html", ".htm"):
        raise UsageError(f"-o: {args.output!r} should end in .html")
    format = io.format_of(args.data, args.format)
    if format in TABLES:
        args.missing = args.missing or "keep"  # the page shows the code that reads the same
    dataset, task = read_data(args, task=args.task or "auto")
    reading = _code(args, format, dataset, task)
    cautions = [] if dataset.columns is None else dataset.columns.remarks.copy()
    notes = [note for note in dataset.report.notes if not note.endswith(tuple(cautions))]
    notes += _dropped(dataset)
    name = "standard input" if args.data == "-" else args.data.replace("\\", "/").rsplit("/", 1)[-1]
    with about(args.data, args.labels, args.cov):
        found = report(
            _dense(dataset.data),
            dataset.y,
            y_std=dataset.y_std,
            classes=dataset.classes,
            groups=dataset.groups,
            ids=dataset.ids,
            task=task,
            title=args.title or f"Do the uncertainties of {name} matter?",
            reading=reading,
            command=partial(_command, args, dataset, task) if reading else None,
            cautions=cautions,
            notes=notes,
            quick=args.quick,
            seed=args.seed,
            verbose=sys.stderr.isatty(),
        )
        args.notes.clear()  # the page has them
        if args.output is not None:
            found.to_html(args.output, times=not args.no_times)
    facts = found.to_dict(times=not args.no_times)
    show(args, facts, f"{found!r}\n{args.output}", taken=args.output == "-")


def _dense(data: Gaussians) -> Gaussians:
    if not is_sparse(data.mean):
        return data
    if data.shape[0] * data.shape[1] > MOST_DENSE:
        raise ValueError(f"X: {data.shape[0]} × {data.shape[1]} sparse numbers are too many for a report")
    return Gaussians(data.mean.toarray(), data.cov, feature_names=data.feature_names_in_)


def _code(args: argparse.Namespace, format: str, dataset: Dataset, task: str) -> str | None:
    """Return the code that reads the same."""
    if format not in TABLES or args.data == "-":
        return None
    options = reader_options(args, format, None)
    assert dataset.columns is not None
    options |= {"target": dataset.columns.target, "task": None if task == dataset.task else task}
    if dataset.classes is not None:
        options |= {"class_probabilities": "p_"}
    shown = "".join(f", {name}={value!r}" for name, value in options.items() if value is not None)
    read = f"svmgsu.io.read({args.data!r}{shown})"
    names = ["data", "y", *(n for n in ("classes", "y_std", "groups") if getattr(dataset, n) is not None)]
    if len(names) == 2:
        return f"data, y = {read}"
    return f"table = {read}\n{', '.join(names)} = {', '.join(f'table.{name}' for name in names)}"


def _command(
    args: argparse.Namespace, dataset: Dataset, task: str, ignored: list[str], uncertainties: bool
) -> str:
    """Return the shell command that trains the pool on the same table without the `ignored` features."""
    assert dataset.columns is not None
    words = ["svmgsu", "train", args.data]
    if dataset.columns.target is not None:
        words += ["--target", dataset.columns.target]
    if args.task is not None:
        words += ["--task", task]
    if args.ignore or ignored:
        words += ["--ignore", ",".join(filter(None, [args.ignore, *ignored]))]
    exact = args.exact
    if not uncertainties and len(dataset.columns.exact) < len(dataset.columns.values):
        exact = ",".join(name for name in dataset.columns.features if name not in ignored)
    words += [] if exact is None else ["--exact", exact]
    for name in ("format", "id", "groups", "features", "error_scale", "limits", "delimiter", "na_values"):
        value = getattr(args, name, None)
        if value is not None:
            words.append(f"--{name.replace('_', '-')}={value}")
    for rule in args.errors or ():
        words += ["--errors", rule]
    return shlex.join(words)


def _dropped(dataset: Dataset) -> list[str]:
    rows, dropped = sum(dataset.report.found.values()), sum(dataset.report.dropped.values())
    if not dropped:
        return []
    return [f"{dropped} of {rows} samples are left out, since a value or the target is missing."]
