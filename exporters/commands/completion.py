"""`export-mobile completion`: a shell script, made by `shtab`, that completes commands, flags and names."""

import argparse
from typing import Any

from exporters.commands import main
from exporters.commands.parser import Parser
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS
from exporters.request_choices import TARGETS
from models_tf import registry
from quantize.recipe import RECIPES

DESCRIPTION = "Print a shell completion script for commands, flags and names."
EXAMPLES = (
    "export-mobile completion bash > ~/.local/share/bash-completion/completions/export-mobile",
    "export-mobile completion fish > ~/.config/fish/completions/export-mobile.fish",
)
SHELLS = ("bash", "zsh", "fish")
_NAMES = {"model": tuple(registry.MODELS), "quantize": tuple(RECIPES), "target": TARGETS}


def add_arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="your shell")


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    import shtab

    # Written raw: the script is ours and needs no escaping.
    terminal.stdout.write(shtab.complete(_all_commands(), options.shell) + "\n")
    terminal.stdout.flush()
    return EXIT_PASS


def _all_commands() -> argparse.ArgumentParser:
    """One parser for all commands, as shtab needs; the program itself makes a parser for one command only."""
    parser = main.parser_of(main.EXPORT)
    _describe(parser)
    commands = parser.add_subparsers(parser_class=argparse.ArgumentParser)
    for name, summary in main.COMMANDS.items():
        commands.add_parser(name, help=summary)
        commands.choices[name] = main.parser_of(name)
        _describe(commands.choices[name])
    return parser


def _describe(parser: argparse.ArgumentParser) -> None:
    """Tells shtab which values each flag takes."""
    import shtab

    places: dict[Any, Any] = {"DIR": shtab.DIRECTORY, "FILE": shtab.FILE, "PATH": shtab.FILE}
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of its flags
        if action.metavar in places:
            action.complete = places[action.metavar]  # type: ignore[attr-defined]
        elif action.dest in _NAMES and action.choices is None:
            action.choices = _NAMES[action.dest]
