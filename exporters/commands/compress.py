"""`export-mobile compress`: its flags and its run. The work is in `exporters/compression`."""

import argparse
import json
from pathlib import Path

from exporters.commands import flags
from exporters.commands.compression_flags import add_compression, from_args
from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.compression.request import CompressRequest
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS
from models_tf import registry
from models_tf.compress.settings import DEFAULT_ROWS

DESCRIPTION = (
    "Make a BERT checkpoint smaller or faster. Steps run in this order: layers, heads and FFN neurons, ghosts, "
    "shared layers, vocabulary, word embedding, retention."
)
EXAMPLES = (
    "export-mobile compress --checkpoint DIR --data train.tsv --prune-heads 0.5 --prune-ffn 0.5 --output small",
    "export-mobile compress --checkpoint DIR --prune-vocab --vocab-data train.tsv --output fewer-words",
)


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--checkpoint", required=True, metavar="DIR", help=flags.CHECKPOINT_HELP)
    flags.add_output(parser, "checkpoint folder to write", required=True)
    add("--data", type=Path, metavar="FILE", help="rows to choose by; --prune-heads and --prune-ffn need labels")
    flags.add_json(parser, "the record")
    add_compression(parser.add_argument_group("what to remove or add"))
    rows = parser.add_argument_group("rows and model")
    rows.add_argument(
        "--rows",
        type=int,
        default=DEFAULT_ROWS,
        metavar="N",
        help=f"rows of --data to draw (default {DEFAULT_ROWS})",
    )
    flags.add_rows(rows)
    rows.add_argument(
        "--model", metavar="NAME", help=f"{', '.join(registry.compressible())} (default: read from the checkpoint)"
    )
    rows.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed for rows, ghosts, and random heads and tokens (default 0)",
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compresses and prints what was kept."""
    request = CompressRequest(**request_values(args, CompressRequest), compression=from_args(args))
    from exporters.compression.run import compress

    found = compress(request, progress=terminal.progress(quiet=args.json, held=False), command=args.command)
    if args.json:
        terminal.json(json.dumps(found.to_dict()))
    else:
        terminal.show(found.summary())
    return EXIT_PASS
