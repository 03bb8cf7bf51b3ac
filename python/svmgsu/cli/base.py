"""What all commands share: parsers, exit codes, one-line messages, and the types of option values."""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import errno
import io
import math
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from ..io.files import named, shown
from ..io.output import check_apart, check_output
from ..support.arrays import plain
from ..support.errors import SPELLING
from ..support.types import Cell, Fields

EXIT_CODES = "Exit codes: 0 success, 1 wrong data or files (one line on stderr says which), 2 wrong usage."
# Options of tables, which have a flag each; others of a reader are given as --read NAME=VALUE.
OF_TABLES = (
    *("target", "id", "groups", "features", "errors", "exact", "ignore", "error_scale", "limits"),
    *("delimiter", "missing", "na_values"),
)
EXTRAS = {
    "matplotlib": "plot",
    "pyarrow": "io",
    "sklearn": "sklearn",
    "scipy": "sklearn",
}
GOOD, BAD_DATA, INTERRUPTED = 0, 1, 130


class UsageError(Exception):
    """Options that do not go together: exit code 2."""


class Parser(argparse.ArgumentParser):
    """Help that cannot be written is an error, too; argparse says nothing of it."""

    def error(self, message: str) -> NoReturn:
        """Name the option that may be meant, or how parameters of models are given."""
        known = self._option_string_actions
        words = [word.partition("=")[0] for word in message.split() if word.startswith("--")]
        near = [found for word in words for found in difflib.get_close_matches(word, known, 1, 0.75)]
        if message.startswith("unrecognized arguments") and near:
            message += f"; did you mean {near[0]}?"
        elif message.startswith("unrecognized arguments") and "--set" in known:
            message += "; parameters of the model are given as --set NAME=VALUE, such as --set lam=0.1"
        super().error(message)

    def _print_message(self, message: str, file: Any = None) -> None:
        if not message or file is None or file is not sys.stdout:
            super()._print_message(message, file)
            return
        try:
            file.write(message)
            file.flush()
        except OSError as error:
            _drop_output()
            self.exit(BAD_DATA, f"{self.prog}: {reason(error)}\n")


def make_parser(prog: str, help: str, examples: str) -> argparse.ArgumentParser:
    """Make the parser of one command, with --debug."""
    parser = Parser(
        prog=prog,
        description=help[0].upper() + help[1:] + ".",
        epilog=examples + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def execute_with_options(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Run a command that has the options of `data`: messages name these, not arguments of the library."""
    before = SPELLING.set(_option)
    try:
        return execute(parser, words)
    finally:
        SPELLING.reset(before)


def execute(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Run a command; turn whatever goes wrong into one line on stderr and an exit code."""
    _prepare_streams()
    args = parser.parse_args(words)
    args.prog, args.notes = parser.prog, []
    if sys.stdout is None:
        say(args, "standard output is closed; /dev/null takes what nobody wants to see")
        return BAD_DATA
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = lambda message, *rest, **more: args.notes.append(str(message))
            args.run(args)
            with named("standard output"):
                sys.stdout.flush()
        for note in args.notes:
            say(args, f"note: {note}")
        return GOOD
    except UsageError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        say(args, "interrupted")
        return INTERRUPTED
    except (ValueError, TypeError, OSError, ImportError, RuntimeError, MemoryError) as error:
        _drop_output()
        if args.debug:
            raise
        notes = f" ({'; '.join(args.notes)})" if args.notes else ""
        say(args, reason(error) + notes)
        return BAD_DATA


def _option(name: str, value: object) -> str:
    """Write an argument of the library as an option of the shell, for messages."""
    if isinstance(value, dict):
        value = ",".join(f"{key}={item}" for key, item in value.items())
    elif isinstance(value, list):
        value = ",".join(map(str, value))
    if name not in OF_TABLES:
        return f"--read {name}={'N' if value is ... else str(value).lower()}"
    flag = "--" + name.replace("_", "-")
    if value is ...:
        return flag
    text = shlex.quote(str(value))
    return f"{flag}={text}" if text.startswith("-") else f"{flag} {text}"


def _prepare_streams() -> None:
    """Let streams escape characters they lack, and keep the numbers of closed streams from files."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a λ, or a name that is not UTF-8
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  (else argparse would write to standard output)


def _drop_output() -> None:
    """Drop what a standard output that is full or gone still holds, so that it raises no error at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def reason(error: BaseException) -> str:
    """Describe an error, with the file it is about."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.split(".")[0]
        return f"needs {package}: pip install 'svmgsu[{EXTRAS.get(package, 'demo')}]'"
    if isinstance(error, OSError) and error.strerror:
        why = error.strerror[0].lower() + error.strerror[1:]
        if error.filename is not None:
            return f"{shown(os.fsdecode(error.filename))}: {why}"
        if error.errno in (errno.EPIPE, errno.ENOSPC, errno.EBADF):
            return f"standard output: {why}"  # all others are named
    return str(error) or type(error).__name__


def say(args: argparse.Namespace, text: str) -> None:
    """Print one line on stderr."""
    with contextlib.suppress(OSError):
        print(f"{args.prog}: {' '.join(text.split())}", file=sys.stderr)


@contextlib.contextmanager
def about(name: str, labels: str | None = None, cov: str | None = None) -> Iterator[None]:
    """Put the name of the file before errors of the library, which begin with the argument's name."""
    try:
        yield
    except (ValueError, TypeError) as error:
        text, files = str(error), {"X": name, "y": labels or name, "cov": cov or name}
        if any(text.startswith(file) for file in files.values()):
            raise
        argument, _, rest = text.partition(": ")
        raise ValueError(f"{files[argument]}: {rest}" if argument in files else f"{name}: {text}") from error


def check_outputs(outputs: Sequence[str | None], inputs: Sequence[str | None]) -> None:
    """Check, before long work, that `outputs` can be written and are neither `inputs` nor one another."""
    try:
        check_apart(outputs, inputs)
    except ValueError as error:
        raise UsageError(str(error)) from None
    for path in outputs:
        if path is not None:
            check_output(path)


def show(args: argparse.Namespace, facts: Fields, text: str, *, taken: bool = False) -> None:
    """Print facts as JSON or as text; on stderr where stdout is `taken` by a file."""
    stream = sys.stderr if taken else sys.stdout
    if args.json:
        import json

        text = json.dumps(plain(facts), ensure_ascii=False, allow_nan=False)
    with named("standard error" if taken else "standard output"):
        print(text, file=stream)


def by_label(option: str, wanted: str, text: str, classes: Sequence[Any]) -> dict[Any, float]:
    """Read an option like LABEL=2,LABEL=1 as numbers by the labels of the classes."""
    labels = {str(label): label for label in classes}
    found = {}
    for item in text.split(","):
        name, _, number = item.rpartition("=")
        try:
            found[labels[name]] = float(number)
        except (KeyError, ValueError):
            known = ", ".join(sorted(labels))
            raise UsageError(f"{option}: expected {wanted} with a label of {known}, got {item!r}") from None
    return found


def value_of(text: str) -> Cell:
    """Read a value of an option: a number, a list, none, true or false as in Python, or else a word."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, one object, for machines")


def _number(kind: type, wanted: str, fits: Callable[[Any], bool]) -> Callable[[str], Any]:
    """Make a type of argparse that reads numbers of which `fits` is true."""

    def read(text: str) -> Cell:
        try:
            value = kind(text)
        except ValueError:
            whole = "whole " if kind is int else ""
            raise argparse.ArgumentTypeError(f"expected a {whole}number, got {text!r}") from None
        if not fits(value):
            raise argparse.ArgumentTypeError(f"must be {wanted}, got {text}")
        return value

    return read


positive = _number(float, "> 0 and finite", lambda value: 0 < value < math.inf)
fraction = _number(float, "in (0, 1]", lambda value: 0 < value <= 1)
count = _number(int, ">= 1", lambda value: value >= 1)
natural = _number(int, ">= 0", lambda value: value >= 0)
