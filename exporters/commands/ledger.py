"""`export-mobile ledger`: its flags and its run. The work is in `exporters/ledgers`."""

import argparse
from pathlib import Path

from exporters.commands import flags
from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.ledgers.request import DEFAULT_ROWS, LedgerRequest
from models_tf.data import DEFAULT_SEPARATOR

DESCRIPTION = (
    "Run the same rows through every runtime that is installed (Keras, LiteRT, tflite-runtime and ONNX Runtime, also "
    "on emulated ARM64, LiteRT.js, ONNX Runtime Web, OpenVINO) and compare the answers. "
    "Exit codes: 0 pass, 2 bad input, 5 a file answers otherwise in a runtime that it is meant for."
)
EXAMPLES = (
    "export-mobile ledger model",
    "export-mobile ledger model --data dev.tsv --rows 500 --output ledger.md",
)


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="a folder that an export wrote, or one of its model files")
    add(
        "--data",
        type=Path,
        metavar="FILE",
        help=f"{flags.LABELLED_HELP} (default: those of the bundled model, else the texts of examples.json)",
    )
    add("--rows", type=int, metavar="N", help=f"use only the first N rows (default {DEFAULT_ROWS})")
    add("--output", type=Path, metavar="FILE", help="also write the result, as .json or .md")
    flags.add_json(parser, "the result")
    rows = parser.add_argument_group("rows")
    flags.add_columns(rows)
    rows.add_argument(
        "--label-separator", metavar="TEXT", help=f"separator between labels of one row (default {DEFAULT_SEPARATOR})"
    )


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    request = LedgerRequest(**request_values(options, LedgerRequest))
    if request.output is not None:
        flags.check_output_file(request.output, "--output")
    from exporters.ledgers import text
    from exporters.ledgers.run import ledger
    from models_tf.checkpoints.atomic_files import write_files

    result = ledger(request, progress=terminal.progress(quiet=options.json, held=True))
    if request.output is not None:
        content = result.to_json() + "\n" if request.output.suffix == ".json" else text.markdown(result)
        write_files(request.output.parent, {request.output.name: content.encode()})
    if options.json:
        terminal.json(result.to_json())
    else:
        terminal.show(text.blocks(result))
    return result.exit_code
