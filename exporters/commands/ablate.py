"""`export-mobile ablate`: its flags and its run. The work is in `exporters/ablation`."""

import argparse
import json
from pathlib import Path

from exporters.ablation.request import BOTH, WHAT, AblateRequest
from exporters.commands import flags
from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS

DESCRIPTION = "Measure the accuracy of a token model without each of its heads or layers."
EXAMPLES = (
    "export-mobile ablate --checkpoint DIR --data dev.tsv",
    "export-mobile ablate --checkpoint DIR --data dev.tsv --what layers --output layers.json",
)


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--checkpoint", required=True, metavar="DIR", help=flags.CHECKPOINT_HELP)
    add("--data", required=True, type=Path, metavar="FILE", help=flags.LABELLED_HELP)
    add(
        "--what",
        choices=WHAT,
        default=BOTH,
        help="heads: without each head; alone: with one head per layer; layers: without each layer; both: heads and "
        f"layers; all: all three (default {BOTH})",
    )
    add("--output", type=Path, metavar="FILE", help="write the result as JSON (default: write nothing)")
    add("--force", action="store_true", help="overwrite the output file")
    flags.add_json(parser, "the result")
    rows = parser.add_argument_group("rows and model")
    rows.add_argument("--rows", type=int, metavar="N", help="use only the first N rows (default: all)")
    flags.add_rows(rows)
    rows.add_argument("--model", metavar="NAME", help="default: read from the checkpoint")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Measures and prints the tables."""
    request = AblateRequest(**request_values(args, AblateRequest))
    from exporters.ablation.run import ablate, record
    from exporters.ablation.text import blocks

    found = ablate(request, progress=terminal.progress(quiet=args.json, held=False), command=args.command)
    if args.json:
        terminal.json(json.dumps(record(request, found, args.command)))
        return EXIT_PASS
    terminal.show([*blocks(found), *([] if request.output is None else [f"written: {request.output}"])])
    return EXIT_PASS
