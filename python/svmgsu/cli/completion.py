"""`svmgsu completion`: scripts for shells, made from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

EXAMPLES = """\
examples:
  eval "$(svmgsu completion bash)"                        in ~/.bashrc
  eval "$(svmgsu completion zsh)"                         in ~/.zshrc, after compinit
  svmgsu completion fish > ~/.config/fish/completions/svmgsu.fish
"""
SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("shell", choices=SHELLS)


def run(args: argparse.Namespace) -> None:
    """Runs the command."""
    print(fish() if args.shell == "fish" else bash(zsh=args.shell == "zsh"), end="")


def _actions() -> Iterator[tuple[str, str, list[argparse.Action]]]:
    """Name, help and arguments of each command."""
    from . import COMMANDS

    for command in COMMANDS:
        yield (
            command.name,
            command.help,
            [a for a in command.parser()._actions if a.help != argparse.SUPPRESS],
        )


def bash(*, zsh: bool = False) -> str:
    """The script for bash, and for zsh through its own emulation of bash's completion."""
    options, values, names = [], [], []
    for name, _, actions in _actions():
        names.append(name)
        flags = [flag for action in actions for flag in action.option_strings if flag.startswith("--")]
        options.append(f"    {name}) words='{' '.join(sorted(flags))}' ;;")
        for action in actions:
            choices = " ".join(map(str, action.choices or ()))
            before = action.option_strings or [name]  # the word before: an option, or the command itself
            values += [f"    {name}:{word}) words='{choices}' ;;" for word in before if choices]
    lines = [
        *(["autoload -U +X bashcompinit && bashcompinit"] if zsh else []),
        "_svmgsu() {",
        '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" words=""',
        '  case "${COMP_WORDS[1]}:$previous" in',
        *values,
        f"    *:svmgsu) words='{' '.join(names)}' ;;",
        "  esac",
        '  if [ -z "$words" ] && [ "${current#-}" != "$current" ]; then',
        '    case "${COMP_WORDS[1]}" in',
        *(f"  {line}" for line in options),
        "    esac",
        "  fi",
        '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
        "}",
        "complete -o default -F _svmgsu svmgsu",
    ]
    return "\n".join(lines) + "\n"


def fish() -> str:
    """The script for fish."""
    lines = []
    for name, help, actions in _actions():
        lines.append(f"complete -c svmgsu -n __fish_use_subcommand -a {name} -d {_quoted(help)}")
        for action in actions:
            condition = f"complete -c svmgsu -n '__fish_seen_subcommand_from {name}'"
            words = f" -a {_quoted(' '.join(map(str, action.choices)))}" if action.choices else ""
            if not action.option_strings:
                if words:
                    lines.append(condition + words)
                continue
            flags = "".join(
                f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}"
                for flag in action.option_strings
            )
            takes = "" if action.nargs == 0 else f" -x{words}" if words else " -r"
            lines.append(f"{condition}{flags}{takes} -d {_quoted(action.help or '')}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
