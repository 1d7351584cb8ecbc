"""`export-mobile completion`: a script that lets a shell complete commands, flags and names. Written by `shtab`."""

import argparse
from typing import Any

from exporters.commands import main
from exporters.commands.parser import Parser
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS
from exporters.request import TARGETS
from models_tf import registry
from quantize.recipe import RECIPES

DESCRIPTION = "Print a script that completes commands and flags in your shell."
EXAMPLES = (
    "export-mobile completion bash > ~/.local/share/bash-completion/completions/export-mobile",
    "export-mobile completion fish > ~/.config/fish/completions/export-mobile.fish",
)
SHELLS = ("bash", "zsh", "fish")
_NAMES = {"model": tuple(registry.MODELS), "quantize": tuple(RECIPES), "target": TARGETS}


def add_arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell that reads the script")


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    import shtab

    # As it is: the script is ours, and a terminal does not interpret what goes to a file.
    terminal.stdout.write(shtab.complete(_all_commands(), options.shell) + "\n")
    terminal.stdout.flush()
    return EXIT_PASS


def _all_commands() -> argparse.ArgumentParser:
    """One parser with everything, as shtab reads it; the command itself makes one parser for one command."""
    parser = main.parser_of(main.EXPORT)
    _describe(parser)
    commands = parser.add_subparsers(parser_class=argparse.ArgumentParser)
    for name, summary in main.COMMANDS.items():
        if name != main.EXPORT:
            commands.add_parser(name, help=summary)
            commands.choices[name] = main.parser_of(name)
            _describe(commands.choices[name])
    return parser


def _describe(parser: argparse.ArgumentParser) -> None:
    """Which values of a flag the shell can offer."""
    import shtab

    places: dict[Any, Any] = {"DIR": shtab.DIRECTORY, "FILE": shtab.FILE, "PATH": shtab.FILE}
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of its flags
        if action.metavar in places:
            action.complete = places[action.metavar]  # type: ignore[attr-defined]
        elif action.dest in _NAMES and action.choices is None:
            action.choices = _NAMES[action.dest]
