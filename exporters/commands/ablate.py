"""`export-mobile ablate`: its flags, and the run. What an ablation is: `exporters/ablation`."""

import argparse
import json
from pathlib import Path

from exporters.ablation.request import BOTH, WHAT, AblateRequest
from exporters.commands.compression_flags import add_data
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS

DESCRIPTION = "The accuracy of a token model with each of its heads or layers removed."
EXAMPLES = (
    "export-mobile ablate --checkpoint DIR --data dev.tsv",
    "export-mobile ablate --checkpoint DIR --data dev.tsv --what layers --output layers.json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", metavar="NAME", help="default: what the checkpoint says")
    add("--checkpoint", required=True, metavar="DIR", help="a Hugging Face folder or hub id, or one that `train` wrote")
    add("--data", required=True, type=Path, metavar="FILE", help="labelled rows (.tsv .csv .jsonl, or .gz of them)")
    add("--rows", type=int, metavar="N", help="the first N rows only (default: all)")
    add_data(parser)
    add(
        "--what",
        choices=WHAT,
        default=BOTH,
        help="without each head, with each head alone in its layer, without each layer, heads and layers, or all three "
        f"(default {BOTH})",
    )
    add("--output", type=Path, metavar="FILE", help="write the result as JSON (default: nothing)")
    add("--force", action="store_true", help="overwrite the output file")
    add("--json", action="store_true", help="print the result as JSON, nothing else")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Measures as the flags say, and prints the tables."""
    request = AblateRequest(**request_values(args, AblateRequest))
    from exporters.ablation.run import ablate, record
    from exporters.ablation.text import to_text

    found = ablate(request, progress=terminal.progress(quiet=args.json, held=False), command=args.command)
    if args.json:
        terminal.json(json.dumps(record(request, found, args.command)))
        return EXIT_PASS
    terminal.show(to_text(found))
    if request.output is not None:
        terminal.show(f"written: {request.output}")
    return EXIT_PASS
