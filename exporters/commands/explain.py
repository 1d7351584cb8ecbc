"""`export-mobile explain`: its flags and its run. The work is in `exporters/explanation`."""

import argparse
import os
from pathlib import Path

from exporters.commands import flags
from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS
from exporters.explanation.request import DEFAULT_ROWS, ExplainRequest

DESCRIPTION = "Show which words a token-dropping model (PoWER-BERT) keeps, layer by layer."
EXAMPLES = (
    'export-mobile explain --checkpoint mine --text "an utterly charming film"',
    "export-mobile explain --checkpoint mine --data dev.tsv --rows 5",
)


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "--checkpoint",
        required=True,
        metavar="DIR",
        help="a folder written by `train` or `compress`, or a Hugging Face hub id",
    )
    add("--text", action="append", default=[], metavar="TEXT", help="a text; repeatable")
    add("--data", type=Path, metavar="FILE", help="texts from a file instead (.tsv, .csv or .jsonl, also .gz)")
    add("--rows", type=int, metavar="N", help=f"use the first N rows of --data (default {DEFAULT_ROWS})")
    flags.add_json(parser, "the explanation")
    more = parser.add_argument_group("texts and model")
    more.add_argument("--text-pair", action="append", default=[], metavar="TEXT", help="the second text of each --text")
    flags.add_columns(more, label=False)
    more.add_argument("--model", metavar="NAME", help="default: read from the checkpoint")
    more.add_argument("--max-seq-len", type=int, metavar="N", help=flags.MAX_SEQ_LEN_HELP)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    wanted = ExplainRequest(**request_values(options, ExplainRequest))
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")  # for a few rows, a GPU only costs startup time
    from exporters.explanation.run import explain
    from exporters.explanation.text import summary

    found = explain(wanted)
    if options.json:
        terminal.json(found.to_json())
    else:
        terminal.show(summary(found, width=terminal.width))
    return EXIT_PASS
