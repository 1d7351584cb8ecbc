"""The parser of every command: one-line usage errors, rare flags only in `--help-all`, examples last."""

import argparse
import itertools
import re
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from models_tf import registry
from models_tf.errors import InputError

PROGRAM = "export-mobile"


class Parser(argparse.ArgumentParser):
    """Everyday flags are in the first group; only `--help-all` shows a `rare` group."""

    def __init__(self, *, name: str = "", description: str, examples: Sequence[str], epilog: str = "") -> None:
        shown = "\n".join(["examples:", *(f"  {line}" for line in examples)])
        super().__init__(
            prog=f"{PROGRAM} {name}".rstrip(),
            description=description,
            epilog=f"{shown}\n\n{epilog}".rstrip() if epilog else shown,
            formatter_class=_Formatter,
            allow_abbrev=False,
            add_help=False,
        )
        self.register("type", Path, _path)
        self._rare: list[Any] = []
        self._optionals.title = "everyday flags"

    def rare(self, title: str) -> Any:
        """A group that `--help` only mentions."""
        group = self.add_argument_group(title)
        self._rare.append(group)
        return group

    def add_help_and_debug(self) -> Any:
        """The flags that every command has, after its own."""
        group = self.add_argument_group("help")
        group.add_argument("--help", "-h", action="help", help="show this help")
        text = f"also show {self._titles()}" if self._rare else argparse.SUPPRESS  # then the same as --help
        group.add_argument("--help-all", action=_HelpAll, nargs=0, default=argparse.SUPPRESS, help=text)
        group.add_argument("--debug", action="store_true", help="show tracebacks and the output of libraries")
        group.add_argument(
            "--limit",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="change a limit on what is read, such as rows=1000 (see docs/limits.md)",
        )
        return group

    def read(self, arguments: list[str]) -> argparse.Namespace:
        """The parsed flags. For an unknown flag the error suggests the nearest."""
        flags = tuple(self._option_string_actions)  # argparse has no public list of its flags
        try:
            options, unknown = self.parse_known_args(arguments)
        except InputError:  # that --train is missing tells nothing to a user who typed --trian
            unknown = _unknown_flags(arguments, flags)
            if not unknown:
                raise
        if unknown:
            self.error(f"Unknown argument. Received: {unknown[0]}.{registry.nearest(unknown[0], flags)}")
        return options

    def error(self, message: str) -> NoReturn:
        message = _in_our_words(message)
        end = "" if message.endswith(("?", ".")) else "."
        raise InputError(f"{message}{end} See {self.prog} --help.")

    def format_usage(self) -> str:
        arguments = "".join(f" {_placeholder(action)}" for action in self._get_positional_actions())
        return f"usage: {self.prog}{arguments} [flags]\n"

    def format_help(self) -> str:
        return self._format(lambda group: group not in self._rare)

    def format_all_help(self) -> str:
        return self._format(lambda _: True)

    def _format(self, wanted: Callable[[Any], bool]) -> str:
        groups = self._action_groups
        try:
            self._action_groups = [group for group in groups if wanted(group)]
            self.usage = argparse.SUPPRESS
            return f"{self.format_usage()}\n{super().format_help()}"
        finally:
            self._action_groups = groups

    def _titles(self) -> str:
        return "; ".join(group.title for group in self._rare)


class _HelpAll(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        if isinstance(parser, Parser):
            print(parser.format_all_help(), end="")
        parser.exit()


def _unknown_flags(arguments: Sequence[str], flags: Sequence[str]) -> list[str]:
    before_names = itertools.takewhile(lambda argument: argument != "--", arguments)
    names = (argument.partition("=")[0] for argument in before_names)
    return [name for name in names if name.startswith("--") and " " not in name and name not in flags]


def _in_our_words(message: str) -> str:
    """What argparse says of a flag's value: expected, then received."""
    if found := re.fullmatch(r"argument (\S+): invalid (int|float) value: '(.*)'", message):
        flag, kind, value = found.groups()
        return f"{flag} must be {'a whole number' if kind == 'int' else 'a number'}. Received: {value}"
    if found := re.fullmatch(r"argument (\S+): invalid choice: '(.*)' \(choose from (.*)\)", message):
        flag, value, choices = found[1], found[2], tuple(choice.strip("'") for choice in found[3].split(", "))
        return f"{flag} must be one of {', '.join(choices)}. Received: {value}.{registry.nearest(value, choices)}"
    if found := re.fullmatch(r"argument (\S+): expected one argument", message):
        return f"{found[1]} needs a value. Received: none"
    return message


def _path(text: str) -> Path:
    """An empty text would be the current folder; it comes from a variable that is not set."""
    if not text:
        raise argparse.ArgumentTypeError("expected a path. Received: an empty text")
    return Path(text)


def _placeholder(action: argparse.Action) -> str:
    name = str(action.metavar) if action.choices is None else "|".join(map(str, action.choices))
    return {"*": f"[{name} ...]", "+": f"{name} ...", "?": f"[{name}]"}.get(str(action.nargs), name)


class _Formatter(argparse.HelpFormatter):
    """Wraps each line by itself and between words only, so that a flag or an example is never cut."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(
            folded for line in text.splitlines() for folded in (_wrap(line, width, indent) if line.strip() else [""])
        )

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _wrap(" ".join(text.split()), width)


def _wrap(line: str, width: int, indent: str = "") -> list[str]:
    """An example stays on one line, however long: it is there to be copied. In a list the second column is kept."""
    if line.lstrip().startswith(f"{PROGRAM} ") and "   " not in line.strip():
        return [indent + line]
    column = len(line) - len(line.lstrip())
    name, gap, _ = line.lstrip().partition("  ")
    if gap:
        column = len(line) - len(line.lstrip().removeprefix(name).lstrip())
    return textwrap.wrap(
        line,
        max(width, 20),
        initial_indent=indent,
        subsequent_indent=indent + " " * column,
        break_on_hyphens=False,
        break_long_words=False,
    )
