"""`export-mobile clean`: shows and removes what killed runs left behind."""

import argparse
import re
from pathlib import Path

from exporters.commands.parser import Parser
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS
from exporters.request_choices import OUTPUT_ROOT
from models_tf.errors import InputError
from models_tf.folders import leftovers, temporary
from models_tf.folders.leftovers import Leftover

DESCRIPTION = (
    "Find what killed runs left behind: your hidden folders next to an output whose process is gone. "
    "Only lists them unless --yes is given."
)
EXAMPLES = ("export-mobile clean", "export-mobile clean results --older-than 2h --yes")
DEFAULT_AGE = "1d"
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "folders",
        nargs="*",
        type=Path,
        metavar="DIR",
        help=f"folders to search (default: the current one, {OUTPUT_ROOT} and the one for temporary files)",
    )
    add(
        "--older-than",
        default=DEFAULT_AGE,
        metavar="AGE",
        help=f"minimum age, such as 30m, 2h or 7d (default {DEFAULT_AGE})",
    )
    add("--yes", action="store_true", help="remove them; the only copy of an output is moved back instead")


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    age = parse_age(options.older_than)
    usual = (Path(), OUTPUT_ROOT, temporary.system_place())
    folders = options.folders or [place for place in usual if place.is_dir()]
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"clean looks into folders. Received: {folder}, which is not one.")
    everything = [each for folder in folders for each in leftovers.find(folder)]
    found = [each for each in everything if each.age_seconds >= age]
    for each in found:
        if options.yes:
            each.clear()
        terminal.show(_line(each, done=options.yes))
    if younger := len(everything) - len(found):
        terminal.show(f"left alone: {younger} younger than {options.older_than}; --older-than 0s takes them, too")
    elif not found:
        terminal.show(f"nothing to clean: no folder of a killed run in {', '.join(map(str, folders))}")
    if found and not options.yes:
        terminal.show("nothing was removed: run it again with --yes")
    return EXIT_PASS


def parse_age(text: str) -> float:
    """`30m`, `2h` or `7d`, in seconds."""
    match = re.fullmatch(r"(\d{1,6})([smhd])", text)
    if not match:
        raise InputError(f"--older-than must be a number with s, m, h or d, such as 7d. Received: {text[:40]!r}.")
    return float(int(match[1]) * _UNITS[match[2]])


def _line(found: Leftover, *, done: bool) -> str:
    hours = found.age_seconds / 3600
    age = f"{hours / 24:.0f} days" if hours >= 48 else f"{hours:.1f} hours"
    what = f"{found.path} ({found.size_bytes / (1 << 20):.1f} MB, {age} old)"
    if found.only_copy_of is not None:
        return f"{'moved' if done else 'would move'} back to {found.only_copy_of}: {what}"
    return f"{'removed' if done else 'would remove'}: {what}"
