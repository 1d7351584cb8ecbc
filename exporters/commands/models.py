"""`export-mobile models`: lists the models."""

import argparse

from exporters.commands.parser import Parser
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS
from exporters.report.tables import Table
from models_tf import registry

DESCRIPTION = "List the models."
EXAMPLES = ("export-mobile models", "export-mobile models | grep bert")


def add_arguments(parser: Parser) -> None:
    """No flags of its own."""


def run(options: argparse.Namespace, terminal: Terminal) -> int:  # noqa: ARG001 - as all commands
    rows, lines = [], []
    for entry in registry.MODELS.values():
        tasks = f" (bundled: {', '.join(entry.tasks)})" if entry.tasks else ""
        rows.append((entry.name, entry.summary + tasks))
        lines.append(f"{entry.name:<12} {entry.summary}{tasks}")
    terminal.show([Table(header=("model", "what it is"), rows=rows, plain=lines, numbers=False)])
    return EXIT_PASS
