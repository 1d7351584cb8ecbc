"""`export-mobile setup`: its flags and its run. The work is in `exporters/runtimes`."""

import argparse

from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS
from exporters.runtimes.setup import KINDS, SetupRequest, setup

DESCRIPTION = (
    "Fetch a runtime that other commands use, once, into the cache folder (EXPORT_MOBILE_CACHE, else "
    "XDG_CACHE_HOME/export-mobile, else ~/.cache/export-mobile). Packages come by name and exact version from their "
    "usual registry."
)
EXAMPLES = ("export-mobile setup web", "export-mobile setup arm64")


def add_arguments(parser: Parser) -> None:
    parser.add_argument("kind", metavar="KIND", choices=tuple(KINDS), help=f"one of {', '.join(KINDS)}")


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    terminal.show(setup(SetupRequest(**request_values(options, SetupRequest))))
    return EXIT_PASS
