"""`export-mobile ablate`: its flags, and the run. What an ablation is: `ablation.py`."""

import argparse
import json
from pathlib import Path

from exporters.commands.compression_flags import add_data
from exporters.console.terminal import Terminal
from models_tf.errors import InputError

DESCRIPTION = "The accuracy of a token model with each of its heads or layers removed."
EXAMPLES = (
    "export-mobile ablate --checkpoint DIR --data dev.tsv",
    "export-mobile ablate --checkpoint DIR --data dev.tsv --what layers --output layers.json",
)
HEADS, ALONE, LAYERS, BOTH, ALL = ("heads", "alone", "layers", "both", "all")
WHAT = {HEADS: (HEADS,), ALONE: (ALONE,), LAYERS: (LAYERS,), BOTH: (HEADS, LAYERS), ALL: (HEADS, ALONE, LAYERS)}


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
    if args.rows is not None and args.rows < 1:
        raise InputError(f"--rows must be at least 1. Received: {args.rows}.")
    if args.output is not None:
        _check_output(args.output, force=args.force)
    from models_tf.checkpoints import encoder as checkpoint
    from models_tf.checkpoints.atomic_files import write_files
    from models_tf.compress import ablation, ablation_text, rows
    from models_tf.tasks.rows import Columns

    start = checkpoint.load(args.checkpoint, model=args.model)
    columns = Columns(text=args.text_column, pair=args.text_pair_column, label=args.label_column)
    found = rows.read(start, args.data, task=args.task, columns=columns, max_seq_len=args.max_seq_len)
    if args.rows is not None:
        found = found.take(range(min(args.rows, len(found))))
    progress = terminal.progress(quiet=args.json, held=False)
    for note in found.notes:
        progress.line(note)
    wanted = WHAT[args.what]
    result = ablation.ablate(
        start,
        found,
        heads=HEADS in wanted,
        alone=ALONE in wanted,
        layers=LAYERS in wanted,
        report=lambda done, total: (progress.line if done == total else progress.live)(f"{done} of {total} variants"),
    )
    record = {
        "command": args.command,
        "checkpoint": Path(args.checkpoint).name,
        "data": args.data.name,
        **ablation.to_dict(result),
    }
    if args.output is not None:
        write_files(args.output.parent, {args.output.name: (json.dumps(record, indent=1) + "\n").encode()})
    if args.json:
        terminal.json(json.dumps(record))
        return 0
    terminal.show(ablation_text.to_text(result))
    if args.output is not None:
        terminal.show(f"written: {args.output}")
    return 0


def _check_output(path: Path, *, force: bool) -> None:
    if path.is_dir():
        raise InputError(f"--output must be a file. Received: {path} (a folder).")
    if path.exists() and not force:
        raise InputError(f"--output must be new. Received: {path} (exists). Remedy: --force or another name.")
    if not path.parent.is_dir():
        raise InputError(f"--output must lie in a folder that exists. Received: {path}.")
