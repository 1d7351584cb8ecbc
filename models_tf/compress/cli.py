"""`export-mobile compress`: its flags, and the run. `add_compression` and `from_args` serve other commands too."""

import argparse
import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from models_tf.compress.layer_choice import FORMS, parse_layers
from models_tf.compress.settings import (
    AS_REMOVED,
    COMPRESSIBLE,
    DEFAULT_ROWS,
    HEAD_IMPORTANCE,
    HEAD_SCOPES,
    SHARE_FROM,
    Compression,
    parse_heads,
)
from models_tf.encoder.config import GHOST_FORMS, RETENTIONS
from models_tf.encoder.heads import BASE
from models_tf.errors import InputError
from models_tf.tasks import TASKS

DESCRIPTION = (
    "Make a BERT checkpoint smaller or faster. What is asked for is done in this order: layers, heads and FFN neurons, ghosts, "
    "shared layers, vocabulary, word embedding, retention."
)
RECORD_FILE = "compression.json"
# Flags of `add_compression` that are fields of `Compression` by themselves.
_FIELDS = (
    "prune_heads", "head_scope", "head_importance", "normalize_heads", "min_heads", "prune_ffn", "ghosts", "ghost_on",
    "ghost_kernel", "share_layers", "share_from", "embedding_size", "prune_vocab", "drop_characters", "retention",
    "retention_by",
)  # fmt: skip
# Flags that mean nothing without another one.
_NEEDS = {
    "ghost_on": "ghosts", "ghost_kernel": "ghosts", "share_from": "share_layers", "vocab_data": "prune_vocab",
    "drop_characters": "prune_vocab", "retention_by": "retention",
}  # fmt: skip
# All of them: what other commands take out of their own settings.
FLAGS = (*_FIELDS, "drop_layers", "remove_heads")
VOCAB_DATA = "vocab_data"


def add_compression(parser: Any) -> None:
    """What to remove and to add, for a parser or a group of one. All default to None: nothing was said."""
    add = parser.add_argument
    add("--drop-layers", metavar="WHICH", help=f"{FORMS}; layers count from 0")
    add("--prune-heads", type=float, metavar="SHARE", help="share of the attention heads that is removed, such as 0.5")
    add(
        "--head-scope",
        choices=HEAD_SCOPES,
        help="the share is removed from each layer, or from all heads together (default layer)",
    )
    add(
        "--head-importance",
        choices=HEAD_IMPORTANCE,
        help="gradient of a mask on the head, the sum over tokens of Michel et al.'s code, or by chance (default mask)",
    )
    add(
        "--normalize-heads",
        action="store_true",
        default=None,
        help="divide the importance of a layer's heads by its L2 norm before layers are compared",
    )
    add("--min-heads", type=int, metavar="N", help="heads that each layer keeps at least (default 1)")
    add("--remove-heads", metavar="LIST", help='these heads instead of a share, as layer:heads, such as "0:3,5;2:1"')
    add(
        "--prune-ffn",
        type=float,
        metavar="SHARE",
        help="share of each FFN's neurons that is removed; what is kept is rounded to a multiple of 16, with --ghosts to "
        "whole folds",
    )
    add(
        "--ghosts",
        nargs="?",
        type=_ghosts,
        const=AS_REMOVED,
        metavar="N",
        help="cheap features beside heads and FFN, N in each layer, or as many as were removed: makes a ghostbert",
    )
    add("--ghost-on", choices=GHOST_FORMS, help="what ghosts are made of (default heads)")
    add("--ghost-kernel", type=int, metavar="N", help="tokens that a ghost reads, an odd number (default 3)")
    add(
        "--share-layers",
        nargs="?",
        type=int,
        const=1,
        metavar="N",
        help="neighbouring layers share weights, in N groups (default 1: all layers, as in ALBERT)",
    )
    add(
        "--share-from",
        choices=SHARE_FROM,
        help="shared weights start as the group's first layer or mean (default first)",
    )
    add(
        "--embedding-size",
        type=int,
        metavar="N",
        help="word embedding of width N with a matrix that widens it, by singular values",
    )
    add(
        "--prune-vocab",
        action="store_true",
        default=None,
        help="keep only the tokens of --vocab-data, special tokens and single characters",
    )
    add(
        "--vocab-data",
        action="extend",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="texts whose tokens stay: tables and tagged files as --data, or .txt with a text a line; may be repeated",
    )
    add(
        "--drop-characters",
        action="store_true",
        default=None,
        help="with --prune-vocab: single characters go too unless they occur; a new word is then unknown as a whole",
    )
    add(
        "--retention",
        metavar="LIST",
        help="tokens that go on from each layer that is left, such as 64,48,40,32,24,16, never growing: makes a powerbert; "
        "for classification and regression",
    )
    add(
        "--retention-by",
        choices=RETENTIONS,
        help="tokens that get most attention, those further left, or by chance with --seed (default significance)",
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", metavar="NAME", help=f"{', '.join(COMPRESSIBLE)} (default: what the checkpoint says)")
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


def add_data(parser: Any) -> None:
    """How rows are read."""
    add = parser.add_argument
    add("--task", choices=TASKS, help="(default: what the head says)")
    add("--text-column", metavar="NAME", help="default: text, sentence or utterance")
    add("--text-pair-column", metavar="NAME", help="the second text of a row")
    add("--label-column", metavar="NAME", help="default: label, intent, class or category")
    add("--max-seq-len", type=int, metavar="N", help="tokens of a text that are read (default 128, questions 384)")


def from_args(args: argparse.Namespace) -> Compression:
    """The settings that the flags of `add_compression` say; an InputError names the flag."""
    given = {name: getattr(args, name) for name in _FIELDS if getattr(args, name) is not None}
    for name, needed in _NEEDS.items():
        value = getattr(args, name)
        if value is not None and needed not in given:
            flag, shown = "--" + name.replace("_", "-"), "" if value is True or name == VOCAB_DATA else f" {value}"
            raise InputError(f"{flag} needs --{needed.replace('_', '-')}. Received: {flag}{shown} alone.")
    if not args.prune_heads:
        for name in ("head_scope", "head_importance", "normalize_heads"):
            if name in given:
                flag = "--" + name.replace("_", "-")
                raise InputError(f"{flag} needs --prune-heads. Received: {flag} alone.")
        if "min_heads" in given and args.remove_heads is None:
            raise InputError("--min-heads needs --prune-heads or --remove-heads. Received: --min-heads alone.")
    return Compression(
        **given,
        drop_layers=None if args.drop_layers is None else parse_layers(args.drop_layers),
        remove_heads=() if args.remove_heads is None else parse_heads(args.remove_heads),
        seed=args.seed or 0,
    )


def is_given(args: argparse.Namespace) -> bool:
    """Whether any flag of `add_compression` was given."""
    return any(getattr(args, name, None) is not None for name in (*FLAGS, VOCAB_DATA))


def run(args: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Compresses as the flags say; the summary goes to `stdout`, notes to `stderr`."""
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
    with output.ends_in_one_line(stderr):
        record = _compress(args, settings, output, stderr)
    stdout.write(json.dumps(record) + "\n" if args.json else summary(record, args))
    return 0


def _compress(args: argparse.Namespace, settings: Compression, output: Any, stderr: TextIO) -> dict[str, Any]:
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
            stderr.writelines(note + "\n" for note in rows.notes)
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
        "command": shlex.join(["export-mobile", *sys.argv[1:]]),
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


def _ghosts(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 5 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be from 1 to the number of heads, or nothing. Received: {text!r}")
    return int(text)
