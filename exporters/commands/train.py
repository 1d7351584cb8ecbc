"""`export-mobile train`: its flags, and the run. What a training is: `exporters/training`."""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

from exporters.commands import compression_flags as compression
from exporters.commands import flags
from exporters.commands.parser import Parser
from exporters.commands.request_values import request_values
from exporters.console.terminal import Terminal
from exporters.errors import EXIT_PASS
from exporters.training.request import TrainRequest
from models_tf import registry
from models_tf.data import DEFAULT_SEPARATOR
from models_tf.ops.projection.config import FEATURES
from models_tf.tasks import TASKS, TOKEN_CLASSIFICATION
from models_tf.training.movement_settings import MOVEMENTS, MovementSettings
from models_tf.training.power_settings import PowerSettings
from models_tf.training.settings import CLASS_WEIGHTS, TrainingSettings
from models_tf.training.token_settings import FINE_TUNING, SCRATCH, TokenSettings
from models_tf.training.transfer_settings import TRANSFERS

DESCRIPTION = "Train a model on your own rows."
EXAMPLES = (
    "export-mobile train --train train.tsv --dev dev.tsv --output mine",
    "export-mobile train --model bert --checkpoint DIR --train train.tsv --dev dev.tsv --output mine",
)
_DEFAULTS = {field.name: field.default for field in dataclasses.fields(TrainingSettings)}
_TOKEN_DEFAULTS = {field.name: field.default for field in dataclasses.fields(TokenSettings)}


def add_arguments(parser: Parser) -> None:
    add = parser.add_argument
    add(
        "--train",
        required=True,
        type=Path,
        metavar="FILE",
        help="rows to learn from: .tsv, .csv or .jsonl, or .gz of it",
    )
    add("--dev", required=True, type=Path, metavar="FILE", help="rows that choose the best epoch")
    add("--model", default="prado", metavar="NAME", help="a name that `export-mobile models` lists (default prado)")
    add("--checkpoint", metavar="DIR", help="token models: fine-tune this folder or hub id; without: from scratch")
    flags.add_output(parser, "checkpoint folder to write", required=True)
    add("--resume", action="store_true", help="go on where a killed training stopped")
    _add_numbers(parser, ("epochs", int, "at most"), ("batch-size", int, "rows per step"))
    _add_numbers(parser, ("learning-rate", float, "peak, after the warm-up; falls to zero as a cosine"))
    flags.add_json(parser, "the result")
    data = parser.add_argument_group("data")
    flags.add_columns(data)
    data.add_argument("--max-seq-len", type=int, metavar="N", help="tokens of a text that are read")
    more = parser.add_argument_group("training")
    _add_numbers(
        more,
        ("label-smoothing", float, "taken from the right label"),
        ("average", float, "decay of the averaged weights; 0: off"),
        ("patience", int, "epochs without a better dev score before it stops"),
        ("save-minutes", float, "time between two saves of the state inside an epoch"),
        ("seed", int, "of the first weights and the order of rows"),
    )
    more.add_argument(
        "--set",
        action="append",
        metavar="KEY=VALUE",
        dest="overrides",
        help="any field of the model's config (projection.FIELD; config.json's key of a token model); may be repeated",
    )
    teacher = parser.add_argument_group("teacher")
    teacher.add_argument(
        "--teacher",
        action="append",
        type=Path,
        metavar="DIR",
        help="checkpoint to learn from beside the labels; a projection model may have several, of token models too",
    )
    _add_numbers(
        teacher, ("teacher-weight", float, "its part of the loss"), ("temperature", float, "of its probabilities")
    )
    _add_projection_arguments(parser.add_argument_group("projection models"))
    _add_token_arguments(parser.add_argument_group("token models"))
    _add_power_arguments(parser.add_argument_group("powerbert: which tokens each layer keeps"))
    compression.add_compression(
        parser.rare("flags that make a BERT --checkpoint smaller first, as export-mobile compress does")
    )


def _add_numbers(group: Any, *entries: tuple[str, type, str]) -> None:
    for name, kind, text in entries:
        group.add_argument(f"--{name}", type=kind, metavar="N", help=f"{text} ({_defaults(name)})")


def _add_projection_arguments(group: Any) -> None:
    group.add_argument("--multi-label", action="store_true", help="several labels a row")
    group.add_argument(
        "--label-separator", metavar="TEXT", help=f"between them, with --multi-label (default: {DEFAULT_SEPARATOR})"
    )
    group.add_argument("--features", choices=FEATURES, help="words: as published; mixed: half character trigrams")
    group.add_argument(
        "--distortion",
        type=float,
        metavar="N",
        help=f"part of the tokens that get a typo in training (default: {_DEFAULTS['distortion']})",
    )
    group.add_argument("--class-weights", choices=CLASS_WEIGHTS, help="balanced: rare labels count more")
    group.add_argument(
        "--teacher-logits", type=Path, metavar="FILE", help="a .npy file with a row for each row of --train"
    )


def _add_token_arguments(group: Any) -> None:
    group.add_argument(
        "--task", choices=TASKS, help=f"(default: {_TOKEN_DEFAULTS['task']}; of tagger: {TOKEN_CLASSIFICATION})"
    )
    group.add_argument("--vocab", type=Path, metavar="PATH", help="vocab.txt or spiece.model, or a folder with it (default: the "
                       "checkpoint's, else the teacher's)")  # fmt: skip
    group.add_argument(
        "--preset",
        metavar="NAME",
        help=f"sizes of a new model, the first by default: {registry.presets()}",
    )
    group.add_argument(
        "--weight-decay",
        type=float,
        metavar="N",
        help=f"of kernels and tables (default: {_TOKEN_DEFAULTS['weight_decay']})",
    )
    group.add_argument(
        "--hidden-weight",
        type=float,
        metavar="N",
        help="with a teacher: part of its hidden states in the loss, such as 0.1 (default: 0)",
    )
    group.add_argument(
        "--attention-weight", type=float, metavar="N", help="with a teacher: part of its attention maps (default: 0)"
    )
    group.add_argument("--freeze-embedding", action="store_true", help="the embedding stays as it is: less to compute")
    group.add_argument(
        "--movement",
        choices=MOVEMENTS,
        help="movement pruning of the layers' kernels: the highest scores of each, or all above a threshold",
    )
    group.add_argument(
        "--movement-keep",
        type=float,
        metavar="N",
        help=f"with topk: the share of each kernel that is kept (default: {MovementSettings.keep})",
    )
    group.add_argument(
        "--movement-set",
        action="append",
        metavar="KEY=VALUE",
        dest="movement_overrides",
        help="score_rate, warmup, cooldown (parts of all steps), every (steps a mask serves), initial_keep; of soft: "
        "threshold, penalty",
    )
    group.add_argument("--init-from-teacher", action="store_true", help="the embedding starts from the teacher's")
    group.add_argument(
        "--unlabelled",
        type=Path,
        metavar="FILE",
        help="token-classification, with a teacher: learn its tags of these sentences first (.txt, .conll, .conllu, .jsonl, "
        ".tsv, or .gz of it); tags in it are not read",
    )
    group.add_argument(
        "--distill-epochs",
        type=int,
        metavar="N",
        help=f"epochs on --unlabelled, before the others (default: {_TOKEN_DEFAULTS['distill_epochs']})",
    )
    group.add_argument(
        "--distill-learning-rate", type=float, metavar="N", help="peak there (default: that of --learning-rate)"
    )
    group.add_argument(
        "--loose-tags",
        action="store_true",
        help="take an I- that follows no B- as the beginning of an entity also where others begin with B-",
    )
    group.add_argument(
        "--transfer",
        choices=TRANSFERS,
        help="learn the teacher's hidden states and attention first, layer by layer or all together (default: none)",
    )
    group.add_argument(
        "--transfer-epochs",
        type=int,
        metavar="N",
        help=f"epochs of it, before the others (default: {_TOKEN_DEFAULTS['transfer_epochs']})",
    )
    group.add_argument(
        "--transfer-set",
        action="append",
        metavar="KEY=VALUE",
        dest="transfer_overrides",
        help="weights of its terms: feature, attention, mean, variance; factors of a layer's learning rate: before, "
        "own, after; learning_rate",
    )


def _add_power_arguments(group: Any) -> None:
    group.add_argument(
        "--fine-tune-epochs",
        type=int,
        metavar="N",
        help="epochs with all tokens before the search (default: as --epochs where the head is new, else 0)",
    )
    group.add_argument(
        "--search-epochs",
        type=int,
        metavar="N",
        help="epochs in which the tokens to keep are learned; --epochs with them follow (default: "
        f"{PowerSettings.search_epochs}; none where --retention or the checkpoint says what is kept)",
    )
    group.add_argument(
        "--keep-share",
        type=float,
        metavar="N",
        help="the share of tokens, over all layers, that the search ends at, such as 0.4 (default: as the penalty says)",
    )
    group.add_argument(
        "--search-set",
        action="append",
        metavar="KEY=VALUE",
        dest="search_overrides",
        help="penalty (of a token, times its layer), rate (of the parameters; 0: by the steps), descent (part of the search "
        "in which the share falls)",
    )


def _defaults(flag: str) -> str:
    name = flag.replace("-", "_")
    ours, tokens = _DEFAULTS[name], _TOKEN_DEFAULTS[name]
    if name in SCRATCH:
        return f"default: {ours}; token models: {SCRATCH[name]}, fine-tuned {FINE_TUNING[name]}"
    return f"default: {ours}" if ours == tokens else f"default: {ours}; token models: {tokens}"


def request_of(args: argparse.Namespace) -> TrainRequest:
    """The request that the flags make."""
    values = request_values(args, TrainRequest)
    if compression.is_given(args):
        values["compression"] = compression.from_args(args)
    return TrainRequest(**values)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Trains as the flags say, and prints the result."""
    request = request_of(args)
    from exporters.training.run import train

    progress = terminal.progress(quiet=args.json, every_seconds=60.0)
    found = train(request, progress=progress, command=args.command)
    if args.json:
        terminal.json(json.dumps(found.to_dict()))
    else:
        terminal.show(found.summary())
    return EXIT_PASS
