"""`svmgsu demo`: train with and without standard errors, on the Wisconsin breast cancer data."""

from __future__ import annotations

import argparse

EXAMPLES = """\
examples:
  svmgsu demo                       10 random splits; a table, and the picture svmgsu-demo.png
  svmgsu demo --splits 100          smaller standard errors
  svmgsu demo --noise 3             new samples with noise of 3 times the squared standard errors
  svmgsu demo --no-picture          the table alone
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--splits", type=int, default=10, metavar="N", help="random splits (default: 10)")
    parser.add_argument(
        "--noise",
        type=float,
        default=10.0,
        metavar="F",
        help="the strongest noise of new samples, in squared standard errors (default: 10)",
    )
    parser.add_argument(
        "--output",
        default="svmgsu-demo.png",
        metavar="FILE",
        help="the picture; its ending chooses the format (default: svmgsu-demo.png)",
    )
    parser.add_argument("--no-picture", action="store_true", help="print the table only; needs no matplotlib")


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    from ..demo import run as run_demo

    try:
        run_demo(args.splits, args.noise, None if args.no_picture else args.output)
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        raise ImportError(f"needs {package}: pip install 'svmgsu[demo]'") from error
