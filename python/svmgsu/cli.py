"""The command `svmgsu`. A subcommand is one entry in COMMANDS; what it needs is imported when it runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from . import __version__
from .build import show_config

DESCRIPTION = "Maximum-margin learning from uncertain data: every example is a mean with its error bars."
EXIT_CODES = "Exit codes: 0 success, 1 wrong data or files (one line on stderr says which), 2 wrong usage."


class Command(NamedTuple):
    """A subcommand: its name, a line of help, an epilogue of examples, its options, and what it does."""

    name: str
    help: str
    examples: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


def _demo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--splits", type=int, default=20, metavar="N", help="random splits (default: 20)")
    parser.add_argument(
        "--noise",
        type=float,
        default=10.0,
        metavar="F",
        help="the strongest noise of the test data, in squared standard errors (default: 10)",
    )
    parser.add_argument(
        "--output",
        default="svmgsu-demo.png",
        metavar="FILE",
        help="the picture to write; its ending chooses the format (default: svmgsu-demo.png)",
    )
    parser.add_argument("--no-picture", action="store_true", help="only print the table; needs no matplotlib")


def _demo(args: argparse.Namespace) -> None:
    from .demo import run

    run(args.splits, args.noise, None if args.no_picture else args.output)


def _info(args: argparse.Namespace) -> None:
    show_config()


COMMANDS = (
    Command(
        "demo",
        "compare an SVM trained with and without error bars on the Wisconsin breast cancer data",
        """\
examples:
  svmgsu demo                       20 random splits; table, and picture svmgsu-demo.png
  svmgsu demo --splits 100          smaller standard errors
  svmgsu demo --noise 3             test data with noise of 3 times the squared standard errors
  svmgsu demo --no-picture          the table alone
""",
        _demo_arguments,
        _demo,
    ),
    Command(
        "info",
        "print version, compiler, OpenMP and the instruction set in use",
        """\
example:
  svmgsu info                       what to put into a bug report
""",
        lambda parser: None,
        _info,
    ),
)


def make_parser() -> argparse.ArgumentParser:
    """The parser of all subcommands."""
    width = max(len(command.name) for command in COMMANDS)
    listing = "\n".join(f"  svmgsu {command.name:<{width}}  {command.help}" for command in COMMANDS)
    parser = argparse.ArgumentParser(
        prog="svmgsu",
        description=DESCRIPTION,
        epilog=f"commands:\n{listing}\n\n`svmgsu COMMAND --help` shows options and examples.\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="svmgsu [-h] [--version] COMMAND ...",
    )
    parser.add_argument("--version", action="version", version=f"svmgsu {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, help=argparse.SUPPRESS)
    for command in COMMANDS:
        own = commands.add_parser(
            command.name,
            description=command.help[0].upper() + command.help[1:] + ".",
            epilog=command.examples + EXIT_CODES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            prog=f"svmgsu {command.name}",
        )
        command.add_arguments(own)
        own.set_defaults(run=command.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code."""
    args = make_parser().parse_args(argv)
    try:
        args.run(args)
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        print(f"svmgsu {args.command}: needs {package}: pip install 'svmgsu[demo]'", file=sys.stderr)
        return 1
    except (ValueError, OSError) as error:
        print(f"svmgsu {args.command}: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
