"""`export-mobile explain`: its flags, and the run. What an explanation is: `explain.py`."""

import argparse
import contextlib
import itertools
import os
import shutil
from pathlib import Path
from typing import TextIO

from exporters.errors import EXIT_PASS
from models_tf import registry
from models_tf.data.table import read_table
from models_tf.errors import InputError

DESCRIPTION = "Which words of a text go on from layer to layer of a model that drops tokens (PoWER-BERT)."
DEFAULT_ROWS = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--checkpoint", required=True, metavar="DIR", help="a folder that `train` or `compress` wrote, or a hub id")
    add("--model", metavar="NAME", help="default: what the checkpoint says")
    add("--text", action="append", metavar="TEXT", help="a text; may be given several times")
    add("--text-pair", action="append", metavar="TEXT", help="the second text of each --text, for sentence pairs")
    add("--data", type=Path, metavar="FILE", help="texts from a file instead (.tsv .csv .jsonl, or .gz of them)")
    add("--rows", type=int, metavar="N", help=f"of --data: its first N rows (default {DEFAULT_ROWS})")
    add("--text-column", metavar="NAME", help="column with the text (default text, sentence or utterance)")
    add("--text-pair-column", metavar="NAME", help="column with the second text of sentence pairs")
    add("--max-seq-len", type=int, metavar="N", help="tokens that are read (default: as trained here, else 128)")
    add("--json", action="store_true", help="print the explanation as JSON, and nothing else")


def run(options: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:  # noqa: ARG001 - as all commands
    """The exit code; raises on bad input. TensorFlow is loaded once nothing can be wrong with flags and files."""
    _check(options)
    texts = _texts(options)
    from exporters.explanation import run as explain
    from exporters.explanation import text as explain_text
    from models_tf.checkpoints import encoder as checkpoint
    from models_tf.checkpoints.sequence_length import sequence_length
    from models_tf.tokenizers.tokenizer import Tokenizer

    origin = checkpoint.load(options.checkpoint, model=options.model)
    explain.check(origin)
    length = sequence_length(origin, options.max_seq_len)
    tokenizer = Tokenizer.from_files(origin.tokenizer_files, f"Checkpoint {options.checkpoint}")
    tokenizer.check_embedding(origin.config.vocab_size)
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")  # some rows: a GPU only costs time to start
    found = explain.explain(
        origin,
        [text for text, _ in texts],
        None if texts[0][1] is None else [pair or "" for _, pair in texts],
        max_seq_len=length,
        tokenizer=tokenizer,
    )
    width = explain_text.WIDTH
    if stdout.isatty():
        width = max(explain_text.NARROWEST, shutil.get_terminal_size().columns)
    with contextlib.suppress(BrokenPipeError):  # nobody reads: the exit code still tells
        stdout.write(found.to_json() + "\n" if options.json else explain_text.summary(found, width=width))
        stdout.flush()
    return EXIT_PASS


def _check(options: argparse.Namespace) -> None:
    if options.model is not None and registry.get(options.model).kind != registry.TOKENS:
        names = ", ".join(registry.names(registry.TOKENS))
        raise InputError(f"explain is for token models ({names}). Received: --model {options.model}.")
    if (options.text is None) == (options.data is None):
        received = "neither" if options.text is None else "both"
        raise InputError(f'Give --text "..." or --data FILE. Received: {received}.')
    if options.text_pair is not None and len(options.text_pair) != len(options.text or ()):
        raise InputError(
            f"--text-pair must be given for each --text. Received: {len(options.text_pair)} for "
            f"{len(options.text or ())}."
        )
    for flag in ("rows", "text_column", "text_pair_column"):
        if options.data is None and getattr(options, flag) is not None:
            raise InputError(
                f"--{flag.replace('_', '-')} is for --data FILE. Received: {getattr(options, flag)} with --text."
            )
    if options.rows is not None and options.rows < 1:
        raise InputError(f"--rows must be at least 1. Received: {options.rows}.")


def _texts(options: argparse.Namespace) -> list[tuple[str, str | None]]:
    """The texts with their second ones, if there are pairs. Empty rows of a file are passed over."""
    if options.data is None:
        pairs = options.text_pair or itertools.repeat(None)
        found = list(zip(options.text, pairs, strict=False))
        if any(not text.strip() or (pair is not None and not pair.strip()) for text, pair in found):
            raise InputError("--text must have words. Received: an empty text.")
        return found
    if not options.data.is_file():
        received = "a folder" if options.data.is_dir() else "no such file"
        raise InputError(f"--data must be a file. Received: {options.data} ({received}).")
    rows = read_table(
        options.data, options.text_column, labelled=False, pair_column=options.text_pair_column, guess_pairs=True
    )
    texts = ((row.text, row.pair) for row in rows if row.text.strip() and (row.pair is None or row.pair.strip()))
    found = list(itertools.islice(texts, options.rows or DEFAULT_ROWS))
    if not found:
        raise InputError(f"{options.data} must have texts. Received: none.")
    return found
