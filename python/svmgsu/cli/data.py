"""Options that say where examples are and what they are, and reading them."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from .. import io
from ..data.error_bars import CENTRES
from ..data.gaussians import Gaussians
from ..io.dataset import Dataset
from .base import UsageError, about, count, nonnegative, positive

KINDS = ("full", "diagonal", "isotropic", "none")
SMALL = 2**20  # numbers: for fewer, one thread and no progress bar; neither would be ready in time
SMALL_FILE = 2**24  # bytes
TABLES = ("txt", *(ending[1:] for ending in io.TABLES))
# Which formats have files of their own for labels and covariances, and know which options of the readers.
OWN_FILES = {"labels": ("text", "npy"), "cov": ("text", "npy", "svmlight")}
LISTS = ("features", "exact", "ignore")
CHANCES = "p_"  # begins the names of columns with probabilities of classes
OF_TABLES = (
    *("target", "id", "features", "errors", "exact", "ignore", "error_scale", "asymmetric", "limits"),
    *("delimiter", "text_labels", "missing"),
)
APPLIES = {
    "n_features": ("text", "svmlight"),
    "zero_based": ("svmlight",),
    **dict.fromkeys(OF_TABLES, TABLES),
}


def add_data_options(parser: argparse.ArgumentParser, *, labels: bool = True) -> None:
    """The options of a command that reads examples from the positional argument `data`."""
    files = parser.add_argument_group("data")
    if labels:
        files.add_argument("--labels", metavar="FILE", help="labels, where they have a file of their own")
    files.add_argument("--cov", metavar="FILE", help="covariances, where they have a file of their own")
    files.add_argument(
        "--kind",
        choices=KINDS,
        help="the kind of covariance (default: what the file shows); none leaves it out: an ordinary SVM",
    )
    files.add_argument(
        "--psd",
        choices=("clip", "strict"),
        default="clip",
        help="full covariances that rounding left not quite semidefinite: project (default) or refuse",
    )
    files.add_argument(
        "--std", type=nonnegative, metavar="S", help="one standard deviation for all numbers, without --cov"
    )
    files.add_argument(
        "--format", choices=io.FORMATS, metavar="F", help=f"instead of the ending: {', '.join(io.FORMATS)}"
    )
    files.add_argument("--n-features", type=count, metavar="N", help="text, svmlight: how many features")
    files.add_argument("--zero-based", action="store_true", help="svmlight: indices begin at 0")
    add_table_options(parser)


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """The options that say which column of a table is what."""
    table = parser.add_argument_group("tables")
    table.add_argument(
        "--target", metavar="NAME", help="the column to predict (default: label, y, class, target or type)"
    )
    table.add_argument("--id", metavar="NAME", help="the column of ids (default: by its name)")
    table.add_argument("--features", metavar="A,B,...", help="the columns of values (default: all others)")
    table.add_argument(
        "--errors",
        action="append",
        metavar="X=E",
        help="the uncertainty of X is E; X=UP,LOW, X=var:E, X=ivar:E, X=bounds:LOW,UP, X={}=E_{} for many "
        "(default: by names, such as X_err, e_X, sigma_X)",
    )
    table.add_argument(
        "--error-scale", type=positive, metavar="F", help="standard deviations in an error; 1.645 for 90 %%"
    )
    table.add_argument("--exact", metavar="A,B,...", help="values without uncertainty, whatever their names")
    table.add_argument("--ignore", metavar="A,B,...", help="columns to leave out, with their uncertainties")
    table.add_argument(
        "--asymmetric", choices=CENTRES, help="what a value with upper and lower errors is (default: median)"
    )
    table.add_argument("--limits", choices=("half-normal",), help="take cells such as <0.5 as half-normals")
    table.add_argument("--delimiter", metavar="C", help="between cells of a text (default: as it looks)")
    table.add_argument("--text-labels", action="store_true", help="labels are text, even if numbers")
    table.add_argument(
        "--missing", choices=("error", "drop", "keep"), help="rows where a number is missing (default: error)"
    )


def add_block_options(parser: argparse.ArgumentParser) -> None:
    """What a command takes that reads block by block."""
    files = parser.add_argument_group("data beyond memory")
    files.add_argument(
        "--memory", metavar="SIZE", help="read block by block within so much memory, such as 2GB"
    )
    files.add_argument(
        "--cache", metavar="FOLDER", help="with --memory: where blocks are kept, to be used again"
    )


def add_checkpoint_options(parser: argparse.ArgumentParser) -> None:
    """What training block by block takes, to be stopped and go on."""
    kept = parser.add_argument_group("checkpoints, with --memory")
    kept.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="save the best point so far every few seconds",
    )
    kept.add_argument(
        "--resume",
        action="store_true",
        help="start from --checkpoint, if it exists; one of other data is refused",
    )


def check_checkpoint(args: argparse.Namespace) -> None:
    """Refuses what a checkpoint does not go with."""
    if args.checkpoint is not None and args.memory is None:
        raise UsageError("--checkpoint: for training block by block; add --memory")
    if args.resume and args.checkpoint is None:
        raise UsageError("--resume: it starts from a checkpoint; add --checkpoint")


def add_effort_options(parser: argparse.ArgumentParser) -> None:
    """Threads and progress."""
    parser.add_argument("--threads", type=count, metavar="N", help="default: all, or 1 for small data")
    parser.add_argument(
        "--progress", action="store_true", help="show progress bars even for short work or without a terminal"
    )


def read_data(
    args: argparse.Namespace,
    *,
    labelled: bool = False,
    doubtful: bool = False,
    targets: bool = False,
    unlabelled: bool = False,
) -> Dataset:
    """The examples that the options name; says what was dropped.

    `doubtful` takes columns p_<class> of a table for probabilities of classes, where it has no labels;
    `targets` reads numbers to predict instead of labels; `unlabelled` leaves labels unread.
    """
    labels = getattr(args, "labels", None)
    format = io.format_of(args.data, args.format, looks=labels is None and args.cov is None)
    check_streams(args.data, labels, args.cov)
    check_own_files(format, args.data, labels=labels, cov=args.cov)
    if labelled and labels is None and format in ("text", "npy"):
        raise UsageError(
            f"--labels: {args.data} has no labels; name the file that has them (tables with a header end in "
            f"{', '.join(io.TABLES)}, .txt or .dat)"
        )
    if args.std is not None and (args.cov is not None or args.kind is not None):
        raise UsageError("--std: not together with --cov or --kind")
    options = reader_options(args, format, labels)
    if doubtful and format in TABLES:
        options["chances"] = CHANCES
    if format in TABLES:
        named = options.pop("target", None)
        options |= {"target": named or True} if targets else {"label": False if unlabelled else named}
    if getattr(args, "memory", None) is not None:
        return _opened(args, labels, options, labelled)
    if getattr(args, "cache", None) is not None:
        raise UsageError("--cache: for --memory alone")
    dataset = io.read(args.data, labels, args.cov, format=args.format, psd=args.psd, **options)
    with about(args.data, labels, args.cov):
        dataset.data = _uncertain(args, dataset.data, format)
        if labelled and dataset.y is None:
            raise ValueError("there are no labels; --target names their column")
    for name, number in dataset.report.dropped.items():
        if number:
            args.notes.append(f"{name}: {number} of {dataset.report.found[name]} examples dropped")
    args.notes += dataset.report.notes
    return dataset


def _opened(args: argparse.Namespace, labels: str | None, options: dict[str, Any], labelled: bool) -> Dataset:
    """The same, in blocks: labels and ids are in memory, the rest is not."""
    from ..outofcore.open import open as open_blocks

    if args.data == "-":
        raise UsageError("--memory: blocks are read from files, not from standard input")
    for name in ("threads", "verbose"):
        options.pop(name, None)
    where: dict[str, Any] = {"memory": args.memory, "cache": args.cache, "format": args.format}
    blocks = open_blocks(args.data, labels, args.cov, **where, psd=args.psd, **options)
    with about(args.data, labels, args.cov):
        if args.std is not None and blocks.kind != "none":
            raise ValueError("has covariances of its own; leave out --std")
        if args.std is not None or args.kind == "none":
            blocks = blocks.with_std(args.std)
        elif args.kind not in (None, blocks.kind):
            raise ValueError(f"--kind {args.kind}, but the covariance is {blocks.kind}")
        if labelled and not blocks.has_labels:
            raise ValueError("there are no labels; --target names their column")
    args.notes += blocks.notes
    data: Any = blocks
    y = blocks.labels() if blocks.has_labels else None
    more: dict[str, Any] = {"y_std": blocks.numbers("y_std"), "classes": blocks.classes}
    return Dataset(data, y, blocks.ids(), **more)


def check_streams(*files: str | None) -> None:
    """Refuses "-" for more than one of the files to read."""
    if files.count("-") > 1:
        raise UsageError("-: standard input can be read only once")


def check_own_files(format: str, name: str, prefix: str = "--", **files: str | None) -> None:
    """Refuses --labels and --cov for formats that hold everything in one file."""
    for part, file in files.items():
        if file is not None and format not in OWN_FILES[part]:
            raise UsageError(
                f"{prefix}{part}: {name} is of the format {format}, which has no file of its own for it"
            )


def reader_options(args: argparse.Namespace, format: str, labels: str | None) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for option, formats in APPLIES.items():
        value = getattr(args, option, None)
        if value is None or value is False:
            continue
        if format not in formats:
            flag = "--" + option.replace("_", "-")
            raise UsageError(f"{flag}: not for {format} files, such as {args.data}")
        is_list = option in LISTS and isinstance(value, str)
        options[option] = value.split(",") if is_list else value
    if format == "text" and args.kind not in (None, "none"):
        options["kind"] = args.kind
    if format in ("text", "svmlight"):
        size = sum(size_of(name) for name in (args.data, labels, args.cov) if name is not None)
        options["threads"] = args.threads or (1 if size < SMALL_FILE else None)
        options["verbose"] = shows_progress(args, size >= SMALL_FILE)
    return options


def size_of(path: str) -> int:
    """Bytes of a file; 0 of what is none."""
    try:
        return os.stat(path).st_size if path != "-" else 0
    except OSError:
        return 0  # the reader will say what is wrong


def _uncertain(args: argparse.Namespace, data: Gaussians, format: str) -> Gaussians:
    """The examples with the covariance that was asked for."""
    if args.std is not None:
        if data.cov is not None:
            raise ValueError("has covariances of its own; leave out --std")
        return Gaussians(data.mean, std=args.std, feature_names=data.feature_names_in_)
    if args.kind is None or (args.kind != "none" and format == "text" and args.cov is not None):
        return data
    if args.kind == "none":
        return data.with_cov(None)
    found = "none" if data.cov is None else type(data.cov).__name__.lower()
    if found != args.kind:
        raise ValueError(f"--kind {args.kind}, but the covariance is {found}")
    return data


def threads_for(args: argparse.Namespace, data: Gaussians) -> int | None:
    """The threads asked for, or 1 where more would start later than the work is done."""
    return args.threads or (1 if is_small(data) else None)


def shows_progress(args: argparse.Namespace, long: bool) -> bool:
    """Whether to show progress bars: if asked for, and of long work on a terminal."""
    return args.progress or (long and sys.stderr.isatty())


def is_small(data: Gaussians) -> bool:
    """Whether passes over the data take less than some milliseconds."""
    examples, features = data.shape
    held = 0 if data.cov is None else data.cov.numbers(examples, features)
    return max(examples * features, held) < SMALL
