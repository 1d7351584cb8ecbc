"""`export-mobile` with flags and no command: exports a model and prints what was written."""

import argparse
import os
from pathlib import Path

from exporters import request_choices as choices
from exporters.commands import compression_flags as compression
from exporters.commands import flags
from exporters.commands.parser import PROGRAM, Parser
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.request import ExportRequest
from models_tf import registry
from models_tf.data import DEFAULT_SEPARATOR
from models_tf.encoder.heads import EMBEDDING, POOLINGS
from models_tf.folders.output_folder import check_free
from quantize import recipe as recipes

DESCRIPTION = "Export a text model for phones, quantize it, and verify the files."
EXAMPLES = (
    "export-mobile --model prado --quantize int8",
    "export-mobile --checkpoint mine --eval-data test.tsv --max-size 200KB --max-drop 0.5 --output out --force",
)
_RECIPES = "\n".join(f"  {entry.name:<13} {entry.description}" for entry in recipes.RECIPES.values())
EPILOG = f"""\
--quantize recipes:
{_RECIPES}
"""
EXIT_CODES = """\
exit codes:
  0 pass
  1 internal error
  2 usage, bad input or Ctrl-C (143 for SIGTERM)
  3 accuracy (--max-drop)
  4 size (--max-size)
  4 latency (check --max-latency-ratio)
  4 instructions (check --max-instruction-ratio)
  5 parity
  6 scheme not reached
  7 run: a runtime cannot run a file
  8 a training lost one of its workers
  3 to 6 still write the files and the report; 1, 2 and 7 write nothing.
"""


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add("--model", metavar="NAME", help=f"{', '.join(registry.MODELS)} (default {choices.DEFAULT_MODEL})")
    add("--checkpoint", type=Path, metavar="DIR", help=flags.CHECKPOINT_HELP)
    flags.add_recipe(parser, choices.DEFAULT_RECIPE)
    add("--eval-data", type=Path, metavar="FILE", help=f"{flags.LABELLED_HELP} for accuracy")
    add("--calibration-data", type=Path, metavar="FILE", help="rows to calibrate int8 (default: part of --eval-data)")
    flags.add_output(parser, f"folder to write (default {choices.OUTPUT_ROOT}/MODEL-TASK_OR_CHECKPOINT-RECIPE)")
    flags.add_json(parser, "the report")
    gates = parser.add_argument_group("gates for CI")
    gates.add_argument(
        "--max-size", metavar="SIZE", help="largest model file allowed, such as 200KB (1 KB = 1024 bytes)"
    )
    gates.add_argument(
        "--max-drop", type=float, metavar="POINTS", help="most accuracy quantization may lose, such as 0.5"
    )
    data = parser.add_argument_group("data")
    data.add_argument("--eval-rows", type=int, metavar="N", help="measure only on the first N rows (default: all)")
    flags.add_columns(data)
    data.add_argument(
        "--label-separator",
        default=DEFAULT_SEPARATOR,
        metavar="TEXT",
        help="separator between labels of one row (default |)",
    )
    flags.add_label_threshold(data)
    model = parser.add_argument_group("model and graph")
    model.add_argument(
        "--task",
        metavar="NAME",
        help=f"bundled models: {', '.join(registry.MODELS['prado'].tasks)}; token models: "
        f"{', '.join(choices.TOKEN_TASKS)} (default: read from the head; embedding for a sentence-transformers folder)",
    )
    model.add_argument(
        "--pooling",
        metavar="HOW",
        help=f"--task {EMBEDDING}: {', '.join(POOLINGS)} of the tokens' vectors "
        "(default: as a sentence-transformers folder says, else mean)",
    )
    flags.add_target(model)
    model.add_argument("--max-seq-len", type=int, metavar="N", help=flags.MAX_SEQ_LEN_HELP)
    model.add_argument(
        "--graphs",
        metavar="LIST",
        help=f"projection models: files that take {', '.join(choices.GRAPHS)} (default: all; bytes need no custom op)",
    )
    model.add_argument(
        "--max-bytes", type=int, metavar="N", help="projection models: what is read of a text (default: by the rows)"
    )
    model.add_argument(
        "--outputs",
        default=choices.OUTPUTS[0],
        metavar="WHAT",
        help="bytes-in files answer logits (default), or labels: also probabilities and the best label",
    )
    model.add_argument(
        "--io",
        metavar="TYPE",
        help="features and answers at the border: float32; int32 (answers float32); int8 (TFLite); "
        "default: features int8, answers as computed",
    )
    model.add_argument(
        "--mediapipe",
        action="store_true",
        help="BERT-like classifiers: also write a .tflite file for MediaPipe's TextClassifier",
    )
    model.add_argument(
        "--min-runtime",
        metavar="VERSION",
        help="write only what this TensorFlow Lite runs, such as 2.14, or refuse",
    )
    model.add_argument(
        "--random-init", action="store_true", help="token models: untrained weights, to measure size and speed"
    )
    model.add_argument("--preset", metavar="NAME", help=flags.presets_help())
    model.add_argument(
        "--fold",
        default=choices.FOLDS[0],
        metavar="MODE",
        help=f"token models: exact rewrites: {', '.join(choices.FOLDS)} (default {choices.FOLDS[0]})",
    )
    model.add_argument("--no-fold", dest="fold", action="store_const", const="off", help="same as --fold off")
    model.add_argument(
        "--strip-names",
        action="store_true",
        help="leave the names of inner tensors out of .tflite files, for the last KB; OpenVINO refuses such a file",
    )
    model.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed for calibration rows and random choices (default 0)"
    )
    card = parser.add_argument_group("model card")
    card.add_argument("--license", metavar="ID", help="license of the weights, such as apache-2.0 (default: not named)")
    card.add_argument(
        "--language", metavar="LIST", help="languages of the model, such as en,pt-BR (default: not named)"
    )
    smaller = parser.rare("flags that compress a BERT before the export, as export-mobile compress does")
    compression.add_compression(smaller)
    smaller.add_argument(
        "--importance-data",
        type=Path,
        metavar="FILE",
        help="labelled rows to choose by (default: --calibration-data; never rows of --eval-data)",
    )


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    wanted = _request(options)
    check_free(wanted.output_folder, force=wanted.force, inputs=wanted.inputs)
    # An export runs small graphs once or twice: a GPU only costs startup time.
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    progress = terminal.progress(quiet=options.json, held=not options.debug)
    progress.line(f"{PROGRAM} {wanted.quantize} for {', '.join(wanted.target)}, into {wanted.output_folder}")
    from exporters.pipeline import export

    report = export(wanted, progress=progress, command=options.command)
    if options.json:
        terminal.json(report.to_json())
    else:
        from exporters.report.summary import blocks

        terminal.show(blocks(report))
    for failure in report.failures:
        terminal.error(PROGRAM, f"{failure.gate} gate failed: {failure.message}")
    return report.exit_code


def _request(options: argparse.Namespace) -> ExportRequest:
    values = request_values(options, ExportRequest)
    values["compression"] = compression.from_args(options) if compression.is_given(options) else None
    values["vocab_data"] = tuple(options.vocab_data or ())
    values["max_size_bytes"] = None if options.max_size is None else choices.parse_size(options.max_size)
    return ExportRequest(**values)
