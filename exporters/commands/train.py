"""`export-mobile train`: its flags and its run. The work is in `exporters/training`."""

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
from exporters.training.request import DISTRIBUTIONS, TrainRequest
from models_tf import registry
from models_tf.data import DEFAULT_SEPARATOR
from models_tf.ops.projection.config import FEATURES
from models_tf.tasks import TASKS, TOKEN_CLASSIFICATION
from models_tf.training.movement_settings import MOVEMENTS, MovementSettings
from models_tf.training.power_settings import PowerSettings
from models_tf.training.settings import CLASS_WEIGHTS, TrainingSettings
from models_tf.training.token_settings import FINE_TUNING, SCRATCH, TokenSettings
from models_tf.training.transfer_settings import TRANSFERS

DESCRIPTION = "Train a model on your own data."
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
        help="training rows (.tsv, .csv or .jsonl, also .gz)",
    )
    add("--dev", required=True, type=Path, metavar="FILE", help="rows that pick the best epoch")
    add(
        "--model",
        default="",
        metavar="NAME",
        help="one of `export-mobile models` (default: --checkpoint's, else prado)",
    )
    add("--checkpoint", metavar="DIR", help="token models: folder or hub id to fine-tune (default: train from scratch)")
    flags.add_output(parser, "checkpoint folder to write", required=True)
    add("--resume", action="store_true", help="continue a training that was stopped")
    _add_numbers(parser, ("epochs", int, "most epochs"), ("batch-size", int, "rows per step"))
    _add_numbers(parser, ("learning-rate", float, "peak after the warm-up, then a cosine to zero"))
    flags.add_json(parser, "the result")
    data = parser.add_argument_group("data")
    flags.add_columns(data)
    data.add_argument("--multi-label", action="store_true", help="classification: several labels per row, or none")
    data.add_argument(
        "--label-separator", metavar="TEXT", help=f"separator of --multi-label (default: {DEFAULT_SEPARATOR})"
    )
    data.add_argument("--max-seq-len", type=int, metavar="N", help="tokens per input")
    more = parser.add_argument_group("training")
    _add_numbers(
        more,
        ("accumulate", int, "batches per update, as one large batch: gradients in the memory of one, inputs of all"),
        ("label-smoothing", float, "share taken from the right label"),
        ("average", float, "decay of the weight average; 0: off"),
        ("patience", int, "stop after this many epochs without a better dev score"),
        ("save-minutes", float, "minutes between saves within an epoch"),
        ("seed", int, "seed for initial weights and row order"),
    )
    more.add_argument(
        "--distribute",
        choices=DISTRIBUTIONS,
        help="share every batch among all devices of this machine (mirrored), or among the processes that TF_CONFIG "
        "names (workers)",
    )
    more.add_argument(
        "--tensorboard",
        nargs="?",
        const="",
        metavar="DIR",
        help="write loss, accuracy, dev score and learning rate for TensorBoard (default folder: tensorboard in "
        "--output)",
    )
    more.add_argument(
        "--set",
        action="append",
        metavar="KEY=VALUE",
        dest="overrides",
        help="a field of the model's config (projection.FIELD; token models: a key of config.json); repeatable",
    )
    teacher = parser.add_argument_group("teacher")
    teacher.add_argument(
        "--teacher",
        action="append",
        type=Path,
        metavar="DIR",
        help="checkpoint to distill from; repeat it for several, which projection models take, also token models",
    )
    _add_numbers(
        teacher,
        ("teacher-weight", float, "weight of the teacher in the loss"),
        ("temperature", float, "softens its probabilities"),
    )
    teacher.add_argument(
        "--unlabelled",
        type=Path,
        metavar="FILE",
        help="texts without labels, to learn the teacher's answers (.txt with one text per line, .tsv, .csv or .jsonl, "
        "also .gz): projection models beside --train, tagging models before it (sentences, also .conll and .conllu)",
    )
    _add_projection_arguments(parser.add_argument_group("projection models"))
    _add_token_arguments(parser.add_argument_group("token models"))
    _add_power_arguments(parser.add_argument_group("powerbert: which tokens each layer keeps"))
    compression.add_compression(
        parser.rare("flags that compress a BERT --checkpoint first, as export-mobile compress does")
    )


def _add_numbers(group: Any, *entries: tuple[str, type, str]) -> None:
    for name, kind, text in entries:
        group.add_argument(f"--{name}", type=kind, metavar="N", help=f"{text} ({_defaults(name)})")


def _add_projection_arguments(group: Any) -> None:
    group.add_argument("--features", choices=FEATURES, help="words: as published; mixed: half character trigrams")
    group.add_argument(
        "--distortion",
        type=float,
        metavar="N",
        help=f"share of tokens that get a typo in training (default: {_DEFAULTS['distortion']})",
    )
    group.add_argument(
        "--swap",
        type=float,
        metavar="N",
        help=f"share of tokens that change places with a neighbour in training (default: {_DEFAULTS['swap']})",
    )
    group.add_argument("--class-weights", choices=CLASS_WEIGHTS, help="balanced: rare labels count more")
    group.add_argument(
        "--teacher-logits",
        type=Path,
        metavar="FILE",
        help=".npy file with a row for each row of --train, then of --unlabelled",
    )


def _add_token_arguments(group: Any) -> None:
    group.add_argument(
        "--task", choices=TASKS, help=f"(default: {_TOKEN_DEFAULTS['task']}; of tagger: {TOKEN_CLASSIFICATION})"
    )
    group.add_argument(
        "--vocab",
        type=Path,
        metavar="PATH",
        help="vocab.txt, spiece.model, tokenizer.json or the folder of a tokenizer (default: that of the checkpoint or "
        "teacher)",
    )
    group.add_argument(
        "--preset",
        metavar="NAME",
        help=f"sizes of a new model, the first by default: {registry.presets()}",
    )
    group.add_argument(
        "--weight-decay",
        type=float,
        metavar="N",
        help=f"on kernels and tables (default: {_TOKEN_DEFAULTS['weight_decay']})",
    )
    group.add_argument(
        "--hidden-weight",
        type=float,
        metavar="N",
        help="with a teacher: weight of its hidden states in the loss, such as 0.1 (default: 0)",
    )
    group.add_argument(
        "--attention-weight", type=float, metavar="N", help="with a teacher: weight of its attention maps (default: 0)"
    )
    group.add_argument("--freeze-embedding", action="store_true", help="do not train the embedding: less to compute")
    group.add_argument(
        "--movement",
        choices=MOVEMENTS,
        help="movement pruning of kernels: keep the top scores of each (topk), or those above a threshold (soft)",
    )
    group.add_argument(
        "--movement-keep",
        type=float,
        metavar="N",
        help=f"with topk: share of each kernel to keep (default: {MovementSettings.keep})",
    )
    group.add_argument(
        "--movement-set",
        action="append",
        metavar="KEY=VALUE",
        dest="movement_overrides",
        help="score_rate, warmup and cooldown (shares of all steps), every (steps per mask), initial_keep; with soft: "
        "threshold, penalty",
    )
    group.add_argument("--init-from-teacher", action="store_true", help="start from the teacher's embedding")
    group.add_argument(
        "--distill-epochs",
        type=int,
        metavar="N",
        help=f"epochs on --unlabelled (default: {_TOKEN_DEFAULTS['distill_epochs']})",
    )
    group.add_argument(
        "--distill-learning-rate", type=float, metavar="N", help="its peak learning rate (default: --learning-rate)"
    )
    group.add_argument(
        "--loose-tags",
        action="store_true",
        help="let an I- without a B- before it start an entity, even where other entities start with B-",
    )
    group.add_argument(
        "--transfer",
        choices=TRANSFERS,
        help="first learn the teacher's hidden states and attention, layer by layer or jointly (default: none)",
    )
    group.add_argument(
        "--transfer-epochs",
        type=int,
        metavar="N",
        help=f"epochs of --transfer (default: {_TOKEN_DEFAULTS['transfer_epochs']})",
    )
    group.add_argument(
        "--transfer-set",
        action="append",
        metavar="KEY=VALUE",
        dest="transfer_overrides",
        help="loss weights: feature, attention, mean, variance; factors of a layer's learning rate: before, own, "
        "after; learning_rate",
    )


def _add_power_arguments(group: Any) -> None:
    group.add_argument(
        "--fine-tune-epochs",
        type=int,
        metavar="N",
        help="epochs with all tokens before the search (default: --epochs if the head is new, else 0)",
    )
    group.add_argument(
        "--search-epochs",
        type=int,
        metavar="N",
        help="epochs that learn which tokens to keep, before --epochs (default: "
        f"{PowerSettings.search_epochs}; 0 if --retention or the checkpoint sets them)",
    )
    group.add_argument(
        "--keep-share",
        type=float,
        metavar="N",
        help="share of tokens kept after the search, over all layers, such as 0.4 (default: set by the penalty)",
    )
    group.add_argument(
        "--search-set",
        action="append",
        metavar="KEY=VALUE",
        dest="search_overrides",
        help="penalty (per token, times its layer), rate (learning rate; 0: set by the steps), descent (part of the "
        "search in which the share falls)",
    )


def _defaults(flag: str) -> str:
    name = flag.replace("-", "_")
    ours, tokens = _DEFAULTS[name], _TOKEN_DEFAULTS[name]
    if name in SCRATCH:
        return f"default: {ours}; token models: {SCRATCH[name]}, fine-tuned {FINE_TUNING[name]}"
    return f"default: {ours}" if ours == tokens else f"default: {ours}; token models: {tokens}"


def request_of(args: argparse.Namespace) -> TrainRequest:
    """The request from the flags."""
    values = request_values(args, TrainRequest)
    if compression.is_given(args):
        values["compression"] = compression.from_args(args)
    return TrainRequest(**values)


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Trains and prints the result."""
    request = request_of(args)
    from exporters.training.run import train

    progress = terminal.progress(quiet=args.json, every_seconds=60.0)
    found = train(request, progress=progress, command=args.command)
    if args.json:
        terminal.json(json.dumps(found.to_dict()))
    else:
        terminal.show(found.summary())
    return EXIT_PASS
