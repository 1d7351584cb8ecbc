"""`export-mobile profile`: its flags, and the run. What a profile is: `profile.py`."""

import argparse
import contextlib
import os
from pathlib import Path
from typing import TextIO

from exporters import request
from exporters.console.progress import Progress
from exporters.errors import EXIT_PASS
from exporters.profiling.request import DEFAULT_RECIPE, DEFAULT_ROUNDS, check
from models_tf import registry
from models_tf.folders.output_folder import check_free

DESCRIPTION = "What each part of a token model costs: parameters, bytes, multiply-adds, share of the time."
_NOT_OF_REQUEST = ("json", "debug", "rounds", "command")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", metavar="NAME", help=", ".join(registry.names(registry.TOKENS)))
    add("--checkpoint", type=Path, metavar="DIR", help="a Hugging Face folder or hub id, or one that `train` wrote")
    add("--random-init", action="store_true", help="untrained weights of a preset's sizes")
    add("--preset", metavar="NAME", help=f"sizes of --random-init, the first by default: {registry.presets()}")
    add("--task", metavar="NAME", help=f"{', '.join(request.TOKEN_TASKS)} (default: what the head says)")
    add("--quantize", default=DEFAULT_RECIPE, metavar="RECIPE", help=f"as in an export (default {DEFAULT_RECIPE})")
    add("--target", default=",".join(request.TARGETS), metavar="LIST", help="tflite,onnx (default both)")
    add("--calibration-data", type=Path, metavar="FILE", help="rows for the ranges of --quantize int8")
    add("--text-column", metavar="NAME", help="column with the text (default text, sentence or utterance)")
    add("--text-pair-column", metavar="NAME", help="column with the second text of sentence pairs")
    add("--max-seq-len", type=int, metavar="N", help="tokens of the graph (default 128, or all positions if fewer)")
    add("--fold", default="full", metavar="MODE", help=f"exact rewrites: {', '.join(request.FOLDS)}")
    add("--rounds", type=int, default=DEFAULT_ROUNDS, metavar="N", help=f"measurements (default {DEFAULT_ROUNDS})")
    add("--output", type=Path, metavar="DIR", help="write report.md, report.json and profile.svg (default: nothing)")
    add("--force", action="store_true", help="replace an output folder that was written before")
    add("--json", action="store_true", help="print the profile as JSON, and nothing else")
    add("--seed", type=int, default=0, metavar="N", help="of --random-init and made-up rows (default 0)")


def run(options: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """`options.command` is the command as it was typed. The exit code; raises on bad input, with nothing written."""
    values = {name: value for name, value in vars(options).items() if name not in _NOT_OF_REQUEST}
    values["target"] = request.parse_targets(options.target)
    wanted = request.ExportRequest(**values)
    check(wanted, options.rounds)
    if wanted.output is not None:
        check_free(wanted.output, force=wanted.force, inputs=wanted.inputs)
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")  # what is measured runs on one thread of the processor
    progress = Progress(stream=stderr, quiet=options.json, held=not options.debug)
    from exporters.profiling.run import profile

    found = profile(wanted, rounds=options.rounds, progress=progress, command=options.command)
    with contextlib.suppress(BrokenPipeError):  # nobody reads: the exit code still tells
        stdout.write(found.to_json() + "\n" if options.json else found.summary())
        if wanted.output is not None and not options.json:
            stdout.write(f"written: {wanted.output}\n")
        stdout.flush()
    return EXIT_PASS
