"""Options that say where samples are and what the columns of a table mean, and reading them."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import os
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from .. import io
from ..data.columns import listed
from ..io.arrays import read_npz
from ..io.cells import guess_task
from ..io.dataset import Dataset
from ..io.files import TABLES as ENDINGS
from ..support.types import Cell, Fields, Fitted
from ..support.validation import Matrix
from .base import OF_TABLES, UsageError, about, count, positive, value_of

SMALL = 2**20  # numbers: for fewer, one thread is ready before several have started
SMALL_FILE = 2**24  # bytes
TABLES = ("txt", *(ending[1:] for ending in ENDINGS))
# Which formats have files of their own for labels and covariances.
OWN_FILES = {"labels": ("text", "npy"), "cov": ("text", "npy")}
LISTS = ("features", "exact", "ignore")
# What a model file remembers of the table that the model was trained on.
REMEMBERED = ("id", "errors", "exact", "error_scale", "limits", "delimiter", "na_values")
WITH_ERRORS = "with_errors"  # and its features that had uncertainties
SOFT_LABELS = "p_"  # begins the names of columns with class probabilities


def add_data_options(
    parser: argparse.ArgumentParser, *, labels: bool = True, memory: bool = False, threads: bool = True
) -> None:
    """Add the options of a command that reads samples from the positional argument `data`."""
    if memory:
        parser.add_argument(
            "--memory", metavar="SIZE", help="read out of core within this memory, such as 2GB"
        )
    if threads:
        parser.add_argument("--threads", type=count, metavar="N", help="default: all, or 1 for small data")
    table = parser.add_argument_group("tables")
    table.add_argument(
        "--target", metavar="NAME", help="column to predict (default: label, class, type, target or y)"
    )
    table.add_argument("--id", metavar="NAME", help="column of ids (default: by name, such as objid)")
    table.add_argument("--features", metavar="A,B,...", help="columns of values (default: all others)")
    table.add_argument(
        "--errors",
        action="append",
        metavar="X=E",
        help="E is the uncertainty of X; X=UP,LOW, X=var:E, X=ivar:E, X=bounds:LOW,UP, and {}=E_{} for many "
        "(default: by names, such as X_err, e_X, sigma_X)",
    )
    table.add_argument(
        "--error-scale", type=positive, metavar="F", help="standard deviations in an error; 1.645 for 90 %%"
    )
    table.add_argument("--exact", metavar="A,B,...", help="values without uncertainty, whatever their names")
    table.add_argument("--ignore", metavar="A,B,...", help="columns to leave out, with their uncertainties")
    table.add_argument("--limits", choices=("half-normal",), help="read cells such as <0.5 as half-normals")
    table.add_argument("--delimiter", metavar="C", help="between cells (default: seen from the first lines)")
    table.add_argument(
        "--missing",
        choices=("keep", "drop", "error"),
        help="missing values: keep (default, but linear models take none), drop their samples, or stop",
    )
    table.add_argument(
        "--na-values",
        metavar="V,W,...",
        help="numbers that mean a missing value, such as --na-values=-99,999",
    )
    files = parser.add_argument_group("files")
    if labels:
        files.add_argument("--labels", metavar="FILE", help="labels, where they have a file of their own")
    files.add_argument("--cov", metavar="FILE", help="covariances, where they have a file of their own")
    files.add_argument(
        "--format", choices=io.FORMATS, metavar="F", help=f"instead of the ending: {', '.join(io.FORMATS)}"
    )
    files.add_argument(
        "--read",
        action="append",
        metavar="NAME=VALUE",
        help="another parameter of svmgsu.read, such as asymmetric=mode, zero_based=true or kind=full",
    )


def add_task(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that learn."""
    parser.add_argument(
        "--task",
        choices=("classification", "regression"),
        help="default: classes where the target is text or few whole numbers, else numbers",
    )
    parser.add_argument(
        "--groups", metavar="NAME", help="tables: column of groups, never both trained and tested on"
    )


def read_data(
    args: argparse.Namespace,
    *,
    task: str | None = None,
    remembered: Fields | None = None,
    missing: str = "keep",
) -> tuple[Dataset, str]:
    """Read the samples that the options name, and decide whether their target is classes or numbers.

    `task` is "classification", "regression", "auto" (decided by the target), "optional" where labels are
    read if there are some, or None where they are not read. `remembered` are options that a model file
    keeps; those of the command line go first. `missing` is what to do with missing values by default.
    """
    labels = getattr(args, "labels", None)
    format = io.format_of(args.data, args.format, looks=labels is None and args.cov is None)
    check_streams(args.data, labels, args.cov)
    check_own_files(format, args.data, labels=labels, cov=args.cov)
    needed = task not in (None, "optional")
    if needed and labels is None and format in ("text", "npy"):
        raise UsageError(
            f"--labels: {args.data} has no labels; name the file that has them (tables with a header end in "
            f"{', '.join(ENDINGS)}, .txt or .dat)"
        )
    options = reader_options(args, format, labels)
    if format in TABLES:
        apart = ("target", WITH_ERRORS)
        options = {k: v for k, v in (remembered or {}).items() if k not in apart} | options
        options.setdefault("missing", "error" if getattr(args, "model", None) == "linear" else missing)
    with progress(args, "reading"):
        if getattr(args, "memory", None) is not None:
            return _opened(args, format, options, task)
        dataset, task = _read(args, format, options, task, remembered or {})
    note_report(args, dataset)
    return dataset, task or "classification"


def note_report(args: argparse.Namespace, dataset: Dataset) -> None:
    """Note what the reader dropped and decided."""
    for name, number in dataset.report.dropped.items():
        if number:
            args.notes.append(f"{name}: {number} of {dataset.report.found[name]} samples dropped")
    args.notes += dataset.report.notes


def _read(
    args: argparse.Namespace,
    format: str,
    options: Fields,
    task: str | None,
    remembered: Fields,
) -> tuple[Dataset, str | None]:
    files = (args.data, getattr(args, "labels", None), args.cov)
    if format not in TABLES:
        dataset = io.read(*files, format=args.format, **options)
        if task not in (None, "optional") and dataset.y is None:
            raise ValueError(f"{args.data}: there are no labels")
        return dataset, guess_task(dataset.y) if task == "auto" and dataset.y is not None else task
    options |= table_target(options.pop("target", None) or remembered.get("target"), task)
    dataset = io.read(*files, format=args.format, **options)
    if task not in (None, "optional") and dataset.y is None:
        assert dataset.columns is not None
        text = [column for column, why in dataset.columns.unused.items() if why == "text"]
        raise ValueError(
            f"{args.data}: which column is to be predicted? Name it in --target: "
            f"{listed(text or dataset.columns.features)}"
        )
    return dataset, dataset.task


def stem(path: str) -> str:
    """Return a path without its ending, also that of compression."""
    root, end = os.path.splitext(path)
    return os.path.splitext(root)[0] if end.lower() in (".gz", ".xz", ".zst") else root


def table_target(target: str | None, task: str | None) -> Fields:
    """Return the options of the table reader that say what is predicted."""
    if task is None:
        return {"target": None}
    if task == "optional":
        return {"target": target or True}
    soft = {} if task == "regression" else {"class_probabilities": SOFT_LABELS}
    return {"target": target or True, "task": task, **soft}


def table_options(args: argparse.Namespace, dataset: Dataset) -> Fields:
    """Return what a model remembers of its table: the target, and the options about columns."""
    if dataset.columns is None:
        return {}
    found = {
        name: _split(name, getattr(args, name)) for name in REMEMBERED if getattr(args, name) is not None
    }
    if dataset.columns.target is not None:
        found["target"] = dataset.columns.target
    if dataset.columns.errors_empty:
        # Else a new table whose columns of errors are empty, too, would have none of these values.
        found["exact"] = [*found.get("exact", ()), *dataset.columns.errors_empty]
    found[WITH_ERRORS] = [name for name in dataset.columns.features if name not in dataset.columns.exact]
    return found


def _opened(args: argparse.Namespace, format: str, options: Fields, task: str | None) -> tuple[Dataset, str]:
    """Open the samples out of core: labels and ids are in memory, the rest is not."""
    from ..outofcore.open import FORMATS
    from ..outofcore.open import open as open_blocks

    if args.data == "-":
        raise UsageError("--memory: only files are read out of core, not standard input")
    labels = getattr(args, "labels", None)
    if os.path.isfile(args.data) and format not in FORMATS:
        files = [args.data, f"{stem(args.data)}.parquet"]
        for flag, file in (("--labels", labels), ("--cov", args.cov), ("--format", args.format)):
            files += [] if file is None else [flag, file]
        raise UsageError(f"--memory: convert it first: svmgsu convert {shlex.join(files)}")
    options.pop("threads", None)
    if getattr(args, "missing", None) == "keep":
        raise UsageError("--missing keep: samples with missing values are not read out of core; say drop")
    if options.get("missing") == "keep":
        options["missing"] = "error"
    if format in TABLES:
        options["advice"] = "--missing drop leaves such samples out"
        options |= table_target(options.pop("target", None), task)
    blocks = open_blocks(args.data, labels, args.cov, memory=args.memory, format=args.format, **options)
    with about(args.data, labels, args.cov):
        if task not in (None, "optional") and not blocks.has_labels:
            raise ValueError("there are no labels; --target names their column")
    args.notes += blocks.notes
    data: Matrix = blocks
    y = blocks.labels() if blocks.has_labels else None
    more: Fields = {"y_std": blocks.numbers("y_std"), "classes": blocks.classes}
    if task == "auto" and y is not None:
        task = "classification" if blocks.classes is not None else guess_task(y)
    return Dataset(data, y, blocks.ids(), **more), task or "classification"


def read_like(
    args: argparse.Namespace,
    model: Fitted,
    names: list[str] | None,
    remembered: Fields,
    task: str | None,
) -> Dataset:
    """Read samples with the features of a model in its order; labels only if there is a `task`."""
    format, own = io.format_of(args.data, args.format), model.n_features_in_
    if format in TABLES:
        args.features = args.features or names
    elif format == "text" and not any(t.startswith("n_features=") for t in args.read or ()):
        # Zeros at the end of all lines are not written.
        args.read = [*(args.read or ()), f"n_features={own}"]
    missing = "keep" if hasattr(model, "pool_") else "error"
    dataset, _ = read_data(args, task=task, remembered=remembered, missing=missing)
    if dataset.columns is not None:
        lost = [c for c in remembered.get(WITH_ERRORS, ()) if c in dataset.columns.exact]
        if lost:
            args.notes.append(
                f"{args.data}: the model was trained with errors of {listed(lost)}; there are none here, "
                "so that these values are taken as exact"
            )
    if getattr(args, "memory", None) is None:  # blocks are put in order one by one
        with about(args.data):
            dataset.data = dataset.data.in_order(names)
    if dataset.data.shape[1] != own:
        raise ValueError(f"{args.data}: {dataset.data.shape[1]} features, but {args.model_file} has {own}")
    return dataset


def check_streams(*files: str | None) -> None:
    """Refuse "-" for more than one of the files to read."""
    if files.count("-") > 1:
        raise UsageError("-: standard input can be read only once")


def check_own_files(format: str, name: str, prefix: str = "--", **files: str | None) -> None:
    """Refuse --labels and --cov for formats that hold everything in one file."""
    for part, file in files.items():
        if file is not None and format not in OWN_FILES[part]:
            raise UsageError(
                f"{prefix}{part}: {name} is of the format {format}, which has no file of its own for it"
            )


def reader_options(args: argparse.Namespace, format: str, labels: str | None) -> Fields:
    """Return the arguments of `svmgsu.read` that the options give."""
    options: Fields = {}
    for name in OF_TABLES:
        value = getattr(args, name, None)
        if value is None:
            continue
        if format not in TABLES:
            flag = "--" + name.replace("_", "-")
            raise UsageError(f"{flag}: for tables, not for {format} files, such as {args.data}")
        options[name] = _split(name, value)
    readers: dict[str, Callable[..., Any]] = {"text": io.read_text, "npz": read_npz}
    known = inspect.signature(readers.get(format, io.read_table)).parameters
    for text in args.read or ():
        name, _, value = text.partition("=")
        if name not in known:
            more = [k for k, p in known.items() if p.kind == p.KEYWORD_ONLY and k not in OF_TABLES]
            raise UsageError(
                f"--read: {name!r} is no parameter for {format} files; there are {', '.join(more)}"
            )
        options[name] = value_of(value)
    if format == "text":
        size = sum(size_of(name) for name in (args.data, labels, args.cov) if name is not None)
        options["threads"] = getattr(args, "threads", None) or (1 if size < SMALL_FILE else None)
    return options


def _split(name: str, value: object) -> Cell:
    if name == "na_values" and isinstance(value, str):
        try:
            return [float(number) for number in value.split(",")]
        except ValueError:
            raise UsageError(f"--na-values: expected numbers such as -99,999, got {value!r}") from None
    return value.split(",") if name in LISTS and isinstance(value, str) else value


def size_of(path: str) -> int:
    """Bytes of a file; 0 of what is none."""
    try:
        return os.stat(path).st_size if path != "-" else 0
    except OSError:
        return 0  # the reader will say what is wrong


def is_small(data: Any) -> bool:
    """Tell whether a pass over the data takes less than some milliseconds."""
    samples, features = data.shape
    held = 0 if data.cov is None else data.cov.numbers()
    return bool(max(samples * features, held) < SMALL)


@contextlib.contextmanager
def progress(args: argparse.Namespace, what: str, status: Callable[[], str] | None = None) -> Iterator[None]:
    """Show on a terminal what is done, for how long, and how far it is."""
    done = threading.Event()

    def show() -> None:
        began = time.monotonic()
        while not done.wait(1.0):
            more = f", {status()}" if status else ""
            sys.stderr.write(f"\r{what}, {time.monotonic() - began:.0f} s{more}\x1b[K")
            sys.stderr.flush()
        sys.stderr.write("\r\x1b[K")

    if not sys.stderr.isatty() or getattr(args, "json", False):
        yield
        return
    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
