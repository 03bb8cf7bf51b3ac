"""The command `svmgsu`. A subcommand is one entry in COMMANDS and a module, imported when it runs."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import NamedTuple

from .base import EXIT_CODES, Parser, execute_with_options, make_parser

DESCRIPTION = "Machine learning for measurements with error bars."


class Command(NamedTuple):
    """A subcommand, and a line of help. The module of its name has EXAMPLES, add_arguments and run."""

    name: str
    help: str

    def parser(self) -> argparse.ArgumentParser:
        """Make the parser of this command alone; the others cost no time."""
        module = importlib.import_module(f".{self.name}", __name__)
        parser = make_parser(f"svmgsu {self.name}", self.help, module.EXAMPLES)
        module.add_arguments(parser)
        parser.set_defaults(run=module.run)
        return parser


COMMANDS = (
    Command("train", "train a model on a table of values with uncertainties"),
    Command("predict", "apply a model to new samples"),
    Command("evaluate", "measure a model on samples whose classes or numbers are known"),
    Command("report", "write one page: do the uncertainties matter, and which model to use"),
    Command("plot", "draw a model and its data"),
    Command("info", "describe a table, a model or this installation"),
    Command("convert", "convert samples between tables, NumPy and the authors' text files"),
    Command("demo", "compare an SVM trained with and without error bars on the Wisconsin breast cancer data"),
)


def _overview() -> argparse.ArgumentParser:
    """Make the parser of a line without a command: help, version, or a complaint."""
    from .. import __version__

    width = max(len(command.name) for command in COMMANDS)
    listing = "\n".join(f"  svmgsu {command.name:<{width}}  {command.help}" for command in COMMANDS)
    parser = Parser(
        prog="svmgsu",
        description=DESCRIPTION,
        epilog=f"commands:\n{listing}\n\n`svmgsu COMMAND --help` shows options and examples.\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="svmgsu [-h] [--version] COMMAND ...",
    )
    parser.add_argument("--version", action="version", version=f"svmgsu {__version__}")
    names = [command.name for command in COMMANDS]
    parser.add_argument("command", metavar="COMMAND", choices=names, help=argparse.SUPPRESS)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    for command in COMMANDS:
        if words[:1] == [command.name]:
            return execute_with_options(command.parser(), words[1:])
    overview = _overview()
    if not words:
        overview.exit(2, overview.format_help())
    overview.parse_args(words[:1])
    raise AssertionError("unreachable: help, version and complaints end the program")
