"""`svmgsu report`: one page that says whether a table's error bars matter, and which model to use."""

from __future__ import annotations

import argparse
import io as streams
import sys
from typing import Any, NamedTuple

from .. import io
from ..data.gaussians import Gaussians
from ..io.dataset import Dataset, guess_task
from ..support.arrays import dense
from ..support.validation import is_sparse
from .base import UsageError, about, add_json, check_outputs, natural, show
from .data import CHANCES, TABLES, add_data_options, read_data, reader_options, shows_progress

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
MOST_MISSING = 0.3  # of a column's cells: more, and the column is left out rather than the rows
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
    """The objects of a table; columns that are mostly empty and rows with missing numbers are left out."""
    if args.labels is not None or args.cov is not None or args.std is not None or args.kind is not None:
        raise UsageError("--labels, --cov, --std, --kind: not for tables, whose columns say all")
    # Standard input can be read once: it is kept.
    content = sys.stdin.buffer.read() if args.data == "-" else None

    def source() -> Any:
        return args.data if content is None else streams.BytesIO(content)

    options = reader_options(args, format, None)
    target = options.pop("target", None)
    options.setdefault("missing", "drop")
    if options["missing"] == "drop":
        options["most_missing"] = MOST_MISSING
    if args.groups is not None:
        options["ignore"] = [*options.get("ignore", ()), args.groups]
    if content is not None or args.format:
        options["format"] = format
    task = args.task
    if task != "regression":
        chosen = options | ({"chances": CHANCES} if target is None else {"label": target})
        dataset = io.read(source(), **chosen)
        if dataset.y is None:
            raise ValueError(
                f"{args.data}: which column is to be predicted? Name it in --target: "
                f"{', '.join(likely_targets(dataset))}"
            )
        assert dataset.columns is not None
        if task == "auto":
            has_errors = bool(dataset.columns.target_errors)
            plain = dataset.classes is None and not args.text_labels
            task = (
                "regression"
                if plain and (has_errors or guess_task(dataset.y) == "regression")
                else "classification"
            )
        target = dataset.columns.target
    if task == "regression":
        chosen = options | {"target": target or True}
        dataset = io.read(source(), **chosen)
    groups = None
    if args.groups is not None:
        ignored = [c for c in options["ignore"] if c != args.groups]
        groups = io.read(source(), **{**chosen, "id": args.groups, "ignore": ignored}).ids
    line = None if content is not None else _line(args.data, chosen, dataset)
    return Taken(dataset, groups, task, line, [*dataset.report.notes, *_dropped(dataset)])


def likely_targets(dataset: Dataset) -> list[str]:
    """Columns of text, which may be classes, or the first columns."""
    assert dataset.columns is not None
    text = [column for column, why in dataset.columns.unused.items() if why == "text"]
    return (text or dataset.columns.features)[:8]


def _line(path: str, options: dict[str, Any], dataset: Dataset) -> str:
    """The code that reads the same."""
    shown = "".join(f", {name}={value!r}" for name, value in options.items())
    read = f"svmgsu.io.read({path!r}{shown})"
    more = "classes" if dataset.classes is not None else "y_std" if dataset.y_std is not None else None
    if more is None:
        return f"data, y = {read}"
    return f"table = {read}\ndata, y, {more} = table.data, table.y, table.{more}"


def _dropped(dataset: Dataset) -> list[str]:
    rows, dropped = sum(dataset.report.found.values()), sum(dataset.report.dropped.values())
    if not dropped:
        return []
    return [f"{dropped} of {rows} rows are left out, since a number or the target is missing."]
