"""`svmgsu completion`: scripts for shells, made by shtab from the parsers."""

from __future__ import annotations

import argparse

EXAMPLES = """\
examples:
  eval "$(svmgsu completion bash)"                        in ~/.bashrc
  svmgsu completion zsh > ~/.zfunc/_svmgsu                a folder of zsh's fpath
  svmgsu completion fish > ~/.config/fish/completions/svmgsu.fish
"""
SHELLS = ("bash", "zsh", "fish", "tcsh")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("shell", choices=SHELLS)


def run(args: argparse.Namespace) -> None:
    """Run the command."""
    import shtab

    print(shtab.complete(_all_commands(), args.shell))


def _all_commands() -> argparse.ArgumentParser:
    """Make one parser with all commands; elsewhere each command makes only its own."""
    from . import COMMANDS

    parser = argparse.ArgumentParser(prog="svmgsu")
    commands = parser.add_subparsers()
    for command in COMMANDS:
        own = command.parser()
        commands.add_parser(command.name, help=command.help, parents=[own], add_help=False, description="")
    return parser
