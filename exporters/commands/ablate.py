"""`export-mobile ablate`: its flags, and the run. What an ablation is: `exporters/ablation`."""

import argparse
import json
from pathlib import Path

from exporters.ablation.request import BOTH, WHAT, AblateRequest
from exporters.commands import flags
from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS

DESCRIPTION = "The accuracy of a token model with each of its heads or layers removed."
EXAMPLES = (
    "export-mobile ablate --checkpoint DIR --data dev.tsv",
    "export-mobile ablate --checkpoint DIR --data dev.tsv --what layers --output layers.json",
)


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--checkpoint", required=True, metavar="DIR", help=flags.CHECKPOINT_HELP)
    add("--data", required=True, type=Path, metavar="FILE", help="labelled rows (.tsv .csv .jsonl, or .gz of them)")
    add(
        "--what",
        choices=WHAT,
        default=BOTH,
        help="without each head, with each head alone in its layer, without each layer, heads and layers, or all three "
        f"(default {BOTH})",
    )
    add("--output", type=Path, metavar="FILE", help="write the result as JSON (default: nothing)")
    add("--force", action="store_true", help="overwrite the output file")
    flags.add_json(parser, "the result")
    rows = parser.add_argument_group("rows and model")
    rows.add_argument("--rows", type=int, metavar="N", help="the first N rows only (default: all)")
    flags.add_rows(rows)
    rows.add_argument("--model", metavar="NAME", help="default: what the checkpoint says")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Measures as the flags say, and prints the tables."""
    request = AblateRequest(**request_values(args, AblateRequest))
    from exporters.ablation.run import ablate, record
    from exporters.ablation.text import blocks

    found = ablate(request, progress=terminal.progress(quiet=args.json, held=False), command=args.command)
    if args.json:
        terminal.json(json.dumps(record(request, found, args.command)))
        return EXIT_PASS
    terminal.show([*blocks(found), *([] if request.output is None else [f"written: {request.output}"])])
    return EXIT_PASS
