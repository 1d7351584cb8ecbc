"""`export-mobile inspect`: its flags and its run. The work is in `exporters/anatomy`."""

import argparse
from pathlib import Path

from exporters.anatomy.request import InspectRequest
from exporters.commands import flags
from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS

DESCRIPTION = (
    "Show what a .tflite or .onnx file holds, whoever wrote it: inputs and outputs, operators, bytes, what is "
    "quantized, and what LiteRT or ONNX Runtime will do with it."
)
EXAMPLES = ("export-mobile inspect model.tflite", "export-mobile inspect model.onnx --json")


def add_arguments(parser: Parser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="a .tflite or .onnx file of any tool")
    flags.add_json(parser, "what was found")
    parser.add_argument(
        "--no-runtime", dest="runtime", action="store_false", help="only read the file; do not load it in a runtime"
    )


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    wanted = InspectRequest(**request_values(options, InspectRequest))
    from exporters.anatomy.run import inspect
    from exporters.anatomy.text import blocks

    found = inspect(wanted)
    if options.json:
        terminal.json(found.to_json())
    else:
        terminal.show(blocks(found))
    return EXIT_PASS
