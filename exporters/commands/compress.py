"""`export-mobile compress`: its flags, and the run."""

import argparse
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exporters.commands.compression_flags import add_compression, add_data, from_args
from exporters.console.terminal import Terminal
from models_tf import registry
from models_tf.checkpoints.folder import RECORD_FILE
from models_tf.compress.settings import DEFAULT_ROWS, Compression
from models_tf.encoder.heads import BASE
from models_tf.errors import InputError

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
    settings = from_args(args)  # before anything heavy is loaded
    if args.rows < 1:
        raise InputError(f"--rows must be at least 1. Received: {args.rows}.")
    if args.data is not None and not args.data.exists():
        raise InputError(f"--data must be a file. Received: {args.data} (no such file).")
    from models_tf.training.output import TrainingOutput
    from models_tf.training.token_learner import OUTPUT_FILES

    output = TrainingOutput(args.output, force=args.force, resume=False, files=OUTPUT_FILES, resumable=False)
    output.check()
    if Path(args.checkpoint).is_dir() and args.output.resolve() == Path(args.checkpoint).resolve():
        raise InputError(f"--output must not be the checkpoint itself. Received: {args.output} for both.")
    with output.ends_in_one_line(terminal.stderr):
        record = _compress(args, settings, output, terminal)
    if args.json:
        terminal.json(json.dumps(record))
    else:
        terminal.show(summary(record, args))
    return 0


def _compress(args: argparse.Namespace, settings: Compression, output: Any, terminal: Terminal) -> dict[str, Any]:
    from models_tf.checkpoints import encoder as checkpoint
    from models_tf.checkpoints.sequence_length import TRAINING_FILE
    from models_tf.compress import apply
    from models_tf.compress.source import load_bert
    from models_tf.tasks.rows import Columns

    start = load_bert(args.checkpoint, args.model)
    apply.check(start, settings)
    rows = None
    if settings.needs_rows:
        from models_tf.compress.rows import draw, read

        if args.data is None:
            what = "--prune-heads and --prune-ffn choose by gradients"
            if not settings.needs_gradients:
                what = "contribution is what a layer does to the tokens of texts"
            labels = " with labels" if settings.needs_gradients else ""
            raise InputError(f"--data FILE{labels} is needed: {what}. Received: no --data.")
        columns = Columns(text=args.text_column, pair=args.text_pair_column, label=args.label_column)
        rows = read(
            start,
            args.data,
            task=args.task,
            columns=columns,
            max_seq_len=args.max_seq_len,
            labelled=settings.needs_gradients,
        )
        if not args.json:
            for note in rows.notes:
                terminal.note(note)
        rows = draw(rows, args.rows, settings.seed)
    used = None
    if settings.prune_vocab:
        from models_tf.compress.vocabulary_data import used_tokens
        from models_tf.tokenizers.tokenizer import Tokenizer

        if not args.vocab_data:
            raise InputError("--prune-vocab keeps the tokens of texts: give --vocab-data FILE. Received: none.")
        columns = Columns(text=args.text_column, pair=args.text_pair_column, label=args.label_column)
        tokenizer = Tokenizer.from_files(start.tokenizer_files, f"Checkpoint {args.checkpoint}")
        tokenizer.check_embedding(start.config.vocab_size)
        used = used_tokens(tokenizer, args.vocab_data, head=start.head.kind, columns=columns)
    made = apply.compress(start, settings, rows, used)
    record = {
        "command": args.command,
        "checkpoint": Path(args.checkpoint).name,
        "model": made.checkpoint.model_name,
        "head": made.checkpoint.head.kind,
        "data": args.data.name if rows is not None else None,
        "vocab_data": [path.name for path in args.vocab_data or ()],
        **made.record,
    }

    def write(folder: Path) -> None:
        content = (json.dumps(record, indent=1) + "\n").encode()
        checkpoint.save(folder, made.checkpoint, beside={RECORD_FILE: content})
        (folder / TRAINING_FILE).unlink(missing_ok=True)  # --force: that of an earlier training

    output.save_checkpoint(write)
    return {**record, "output": str(args.output)}


def summary(record: dict[str, Any], args: argparse.Namespace) -> str:
    """What was kept, in a few lines, and what to do next."""
    before, after = record["parameters"]["before"], record["parameters"]["after"]
    kept, dropped = record["layers"]["kept"], record["layers"]["dropped"]
    heads = " ".join(str(len(numbers)) for numbers in record["heads"]["kept"])
    neurons = " ".join(str(len(numbers)) for numbers in record["neurons"]["kept"])
    lines = [
        f"parameters: {before:,} -> {after:,} ({100 * after / before:.1f} %)",
        f"layers kept: {len(kept)} of {len(kept) + len(dropped)} ({' '.join(map(str, kept))})",
        f"heads kept in each: {heads}",
        f"FFN neurons kept in each: {neurons}",
    ]
    ghosts = record["ghosts"]
    if ghosts["heads"] or ghosts["folds"]:
        lines.append(
            f"ghosts in each, on {ghosts['on']}: {' '.join(map(str, ghosts['heads']))} beside the heads, "
            f"{' '.join(map(str, ghosts['folds']))} beside the FFN"
        )
    lines += more_lines(record)
    if record["rows"]:
        lines.append(f"chosen on {record['rows']} rows of {record['data']}")
    following = ["export-mobile", "train", "--model", record["model"], "--checkpoint", record["output"]]
    if record["head"] != BASE:  # a base model has no answers to learn from
        following += ["--teacher", str(args.checkpoint)]
        # Hidden states are compared token by token.
        following += [] if "retention" in record else ["--hidden-weight", "1"]
    following += ["--train", "FILE", "--dev", "FILE", "--output", "DIR"]
    lines += [f"checkpoint: {record['output']}", f"to recover accuracy: {shlex.join(following)}"]
    return "".join(f"{line}\n" for line in lines)


def more_lines(record: Mapping[str, Any]) -> list[str]:
    """What was shared, factorised, pruned and dropped, a line each."""
    lines = []
    if "shared_layers" in record:
        shared = record["shared_layers"]
        lines.append(f"weights of each layer: {' '.join(map(str, shared))} ({len(set(shared))} stored)")
    if "embedding" in record:
        found = record["embedding"]
        lost = f", {100 * found['discarded']:.1f} % of the table's squares lost" if "discarded" in found else ""
        lines.append(f"word embedding: width {found['before']} -> {found['after']}{lost}")
    if "vocabulary" in record:
        found = record["vocabulary"]
        lines.append(f"vocabulary: {found['before']:,} -> {found['after']:,} tokens ({found['in_data']:,} in the data)")
    if "retention" in record:
        found = record["retention"]
        lines.append(f"tokens kept after each layer, by {found['by']}: {' '.join(map(str, found['kept']))}")
    return lines
