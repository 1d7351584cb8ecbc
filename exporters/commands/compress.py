"""`export-mobile compress`: its flags, and the run. What a compression is: `exporters/compression`."""

import argparse
import json
from pathlib import Path

from exporters.commands.compression_flags import add_compression, add_data, from_args
from exporters.commands.request_values import request_values
from exporters.compression.request import CompressRequest
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS
from models_tf import registry
from models_tf.compress.settings import DEFAULT_ROWS

DESCRIPTION = (
    "Make a BERT checkpoint smaller or faster. What is asked for is done in this order: layers, heads and FFN neurons, ghosts, "
    "shared layers, vocabulary, word embedding, retention."
)
EXAMPLES = (
    "export-mobile compress --checkpoint DIR --data train.tsv --prune-heads 0.5 --prune-ffn 0.5 --output small",
    "export-mobile compress --checkpoint DIR --prune-vocab --vocab-data train.tsv --output fewer-words",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", metavar="NAME", help=f"{', '.join(registry.compressible())} (default: what the checkpoint says)")
    add("--checkpoint", required=True, metavar="DIR", help="a Hugging Face folder or hub id, or one that `train` wrote")
    add("--data", type=Path, metavar="FILE", help="rows to choose by: labelled for --prune-heads and --prune-ffn")
    add(
        "--rows",
        type=int,
        default=DEFAULT_ROWS,
        metavar="N",
        help=f"rows of --data that are used, drawn with --seed (default {DEFAULT_ROWS})",
    )
    add_data(parser)
    add_compression(parser.add_argument_group("what to remove and to add"))
    add("--seed", type=int, default=0, metavar="N", help="of the rows, ghosts, and random heads and tokens (default 0)")
    add("--output", required=True, type=Path, metavar="DIR", help="checkpoint folder to write")
    add("--force", action="store_true", help="overwrite the output folder")
    add("--json", action="store_true", help="print the record as JSON, nothing else")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Compresses as the flags say, and prints what was kept."""
    request = CompressRequest(**request_values(args, CompressRequest), compression=from_args(args))
    from exporters.compression.run import compress

    found = compress(request, progress=terminal.progress(quiet=args.json, held=False), command=args.command)
    if args.json:
        terminal.json(json.dumps(found.to_dict()))
    else:
        terminal.show(found.summary())
    return EXIT_PASS
