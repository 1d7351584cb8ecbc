"""`export-mobile profile`: its flags and its run. The work is in `exporters/profiling`."""

import argparse
import os
from pathlib import Path

from exporters import request_choices as choices
from exporters.commands import flags
from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS
from exporters.profiling.request import DEFAULT_RECIPE, DEFAULT_ROUNDS, ProfileRequest
from models_tf import registry
from models_tf.folders.output_folder import check_free

DESCRIPTION = "Measure what each part of a token model costs: parameters, bytes, multiply-adds, share of the time."
EXAMPLES = (
    "export-mobile profile --model bert --checkpoint DIR",
    "export-mobile profile --model mobilebert --random-init --quantize int8 --output costs",
)


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--model", metavar="NAME", help=", ".join(registry.names(registry.TOKENS)))
    add("--checkpoint", type=Path, metavar="DIR", help=flags.CHECKPOINT_HELP)
    flags.add_recipe(parser, DEFAULT_RECIPE)
    flags.add_output(parser, "folder for report.md, report.json and profile.svg (default: write nothing)")
    flags.add_json(parser, "the profile")
    data = parser.add_argument_group("data")
    data.add_argument("--calibration-data", type=Path, metavar="FILE", help="rows to calibrate --quantize int8")
    flags.add_columns(data, label=False)
    model = parser.add_argument_group("model and graph")
    model.add_argument("--random-init", action="store_true", help="untrained weights in the sizes of --preset")
    model.add_argument("--preset", metavar="NAME", help=flags.presets_help())
    model.add_argument("--task", metavar="NAME", help=f"{', '.join(choices.TOKEN_TASKS)} (default: read from the head)")
    flags.add_target(model)
    model.add_argument("--max-seq-len", type=int, metavar="N", help=flags.MAX_SEQ_LEN_HELP)
    model.add_argument("--fold", default="full", metavar="MODE", help=f"exact rewrites: {', '.join(choices.FOLDS)}")
    model.add_argument(
        "--rounds", type=int, default=DEFAULT_ROUNDS, metavar="N", help=f"measurements (default {DEFAULT_ROUNDS})"
    )
    model.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed for --random-init and made-up rows (default 0)"
    )


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    wanted = ProfileRequest(**request_values(options, ProfileRequest))
    if wanted.output is not None:
        check_free(wanted.output, force=wanted.force, inputs=wanted.as_export().inputs)
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")  # one CPU thread is measured
    progress = terminal.progress(quiet=options.json, held=not options.debug)
    from exporters.profiling.run import profile
    from exporters.profiling.text import blocks

    found = profile(wanted, progress=progress, command=options.command)
    if options.json:
        terminal.json(found.to_json())
    else:
        terminal.show([*blocks(found), *([] if wanted.output is None else [f"written: {wanted.output}"])])
    return EXIT_PASS
