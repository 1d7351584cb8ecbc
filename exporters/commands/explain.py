"""`export-mobile explain`: its flags, and what is printed."""

import argparse
import os
from pathlib import Path

from exporters.commands import flags
from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS
from exporters.explanation.request import DEFAULT_ROWS, ExplainRequest

DESCRIPTION = "Which words of a text a model that drops tokens (PoWER-BERT) keeps, layer by layer."
EXAMPLES = (
    'export-mobile explain --checkpoint mine --text "an utterly charming film"',
    "export-mobile explain --checkpoint mine --data dev.tsv --rows 5",
)


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--checkpoint", required=True, metavar="DIR", help="a folder that `train` or `compress` wrote, or a hub id")
    add("--text", action="append", default=[], metavar="TEXT", help="a text; may be given several times")
    add("--data", type=Path, metavar="FILE", help="texts from a file instead (.tsv .csv .jsonl, or .gz of them)")
    add("--rows", type=int, metavar="N", help=f"of --data: its first N rows (default {DEFAULT_ROWS})")
    flags.add_json(parser, "the explanation")
    more = parser.add_argument_group("texts and model")
    more.add_argument("--text-pair", action="append", default=[], metavar="TEXT", help="the second text of each --text")
    flags.add_columns(more, label=False)
    more.add_argument("--model", metavar="NAME", help="default: what the checkpoint says")
    more.add_argument(
        "--max-seq-len", type=int, metavar="N", help="tokens that are read (default: as trained here, else 128)"
    )


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    wanted = ExplainRequest(**request_values(options, ExplainRequest))
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")  # some rows: a GPU only costs time to start
    from exporters.explanation.run import explain
    from exporters.explanation.text import summary

    found = explain(wanted)
    if options.json:
        terminal.json(found.to_json())
    else:
        terminal.show(summary(found, width=terminal.width))
    return EXIT_PASS
