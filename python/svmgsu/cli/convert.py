"""`svmgsu convert`: samples from one file format to another."""

from __future__ import annotations

import argparse

from .. import io
from .base import UsageError, add_json, check_outputs, show
from .data import add_data_options, check_own_files, read_data

EXAMPLES = """\
examples:
  svmgsu convert stars.csv stars.parquet
        from table to table; columns x, x_var, ..., label, id
  svmgsu convert mean.dat stars.npz --labels labels.dat --cov cov.dat
        NumPy, the fastest to read; every kind of covariance is kept
  svmgsu convert stars.csv mean.dat --to-labels labels.dat --to-cov cov.dat
        the three text files of the method's authors
  svmgsu convert stars.npz - --to-format text
        to standard output; names that end in .gz and .xz are read and written compressed
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.usage = "svmgsu convert SOURCE TARGET [options]"
    parser.add_argument("data", metavar="SOURCE", help="a table, or a file of means; - is standard input")
    parser.add_argument("destination", metavar="TARGET", help="what to write; - is standard output")
    parser.add_argument("--to-labels", metavar="FILE", help="labels, for formats with a file for them")
    parser.add_argument("--to-cov", metavar="FILE", help="covariances, for formats with a file for them")
    parser.add_argument(
        "--to-format", choices=io.FORMATS, metavar="F", help="instead of the ending, as --format"
    )
    add_json(parser)
    add_data_options(parser)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    targets = [t for t in (args.destination, args.to_labels, args.to_cov) if t is not None]
    check_outputs(targets, [args.data, args.labels, args.cov])
    if targets.count("-") > 1:
        raise UsageError("-: standard output can be written only once")
    format = io.format_of(args.destination, args.to_format, written=True)
    check_own_files(format, args.destination, "--to-", labels=args.to_labels, cov=args.to_cov)
    dataset, _ = read_data(args, task="optional", missing="error")
    io.write(dataset, args.destination, args.to_labels, args.to_cov, format=args.to_format)
    apart = format == "text"
    has_cov = dataset.data.cov is not None
    lost = {
        "labels": dataset.y is not None and apart and args.to_labels is None,
        "covariances": has_cov and apart and args.to_cov is None,
    }
    args.notes += [f"{args.destination}: {what} were read but not written" for what in lost if lost[what]]
    samples, features = dataset.data.shape
    facts = {"targets": targets, "samples": samples, "features": features, "notes": args.notes}
    text = f"{samples} samples, {features} features: {', '.join(targets)}"
    show(args, facts, text, taken="-" in targets)
