"""`export-mobile bench`: its flags and its run. The work is in `exporters/benchmarking`."""

import argparse
from pathlib import Path

from exporters.benchmarking.request import (
    ALL,
    CLOCKS,
    DEFAULT_ROUNDS,
    DEFAULT_SECONDS,
    MIN_ROUNDS,
    BenchRequest,
)
from exporters.commands import flags
from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS
from exporters.formats.base import FORMATS, get
from models_tf.errors import InputError

DESCRIPTION = (
    "Measure how long model files take, side by side: each in a process of its own, in turns, with warm-up. Takes "
    ".tflite and .onnx files of any origin."
)
EXAMPLES = (
    "export-mobile bench out/model_int8.tflite out/model_int8.onnx --lengths 16,64,128",
    "export-mobile bench model.onnx --shape input_ids=1,64 --threads 2 --format benchmark_model",
)
TABLE, BENCHMARK_MODEL = "table", "benchmark_model"


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("files", nargs="+", type=Path, metavar="FILE", help="a .tflite or .onnx file; ratios compare with the first")
    names = [runtime.name for name in FORMATS for runtime in get(name).runtimes]
    add("--runtime", metavar="LIST", help=f"{', '.join(names)}, or {ALL} that are installed (default: by format)")
    add("--threads", type=int, default=1, metavar="N", help="threads of the runtime (default 1)")
    add(
        "--rounds",
        type=int,
        default=DEFAULT_ROUNDS,
        metavar="N",
        help=f"how often the files take turns (default {DEFAULT_ROUNDS})",
    )
    add(
        "--seconds",
        type=float,
        default=DEFAULT_SECONDS,
        metavar="S",
        help=f"stop after so long, though not before {MIN_ROUNDS} rounds (default {DEFAULT_SECONDS:g})",
    )
    flags.add_json(parser, "the result")
    add(
        "--format",
        choices=(TABLE, BENCHMARK_MODEL),
        default=TABLE,
        help="a table (default), or the lines of TFLite's benchmark_model",
    )
    inputs = parser.add_argument_group("inputs and clock")
    inputs.add_argument(
        "--shape", action="append", default=[], metavar="NAME=SIZES", help="sizes of an input, as ids=1,64; repeatable"
    )
    inputs.add_argument(
        "--lengths", metavar="LIST", help="numbers of tokens, as 16,64,128, for files that take any length"
    )
    inputs.add_argument("--signature", metavar="NAME", help="signature of the files (default: their first graph)")
    inputs.add_argument("--text", metavar="TEXT", help="what files that take text are given")
    inputs.add_argument("--seed", type=int, default=0, metavar="N", help="seed of made-up inputs (default 0)")
    inputs.add_argument("--clock", choices=CLOCKS, help="compare by this time (default: cpu for one thread, else wall)")
    phone = parser.add_argument_group("on a phone")
    phone.add_argument("--adb", action="store_true", help="run TFLite's benchmark_model on a connected phone")
    phone.add_argument("--benchmark-binary", type=Path, metavar="FILE", help="that binary, built for the phone")


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    wanted = BenchRequest(**request_values(options, BenchRequest))
    if options.json and options.format != TABLE:
        raise InputError(f"Give --json or --format, not both. Received: --json --format {options.format}.")
    progress = terminal.progress(quiet=options.json or options.format != TABLE, held=not options.debug)
    from exporters.benchmarking.run import bench

    found = bench(wanted, progress=progress, command=options.command)
    if options.json:
        terminal.json(found.to_json())
    elif options.format == BENCHMARK_MODEL:
        terminal.show(found.benchmark_model())
    else:
        from exporters.benchmarking.text import blocks

        terminal.show(blocks(found))
    return EXIT_PASS
