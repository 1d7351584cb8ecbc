"""`export-mobile train`: its flags, and the run from files to a checkpoint folder."""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from models_tf import registry
from models_tf.data import DEFAULT_SEPARATOR
from models_tf.errors import InputError
from models_tf.json_text import parse_json
from models_tf.ops.projection.config import FEATURES, ProjectionConfig
from models_tf.text_config import MAX_SEQ_LEN
from models_tf.training.settings import CLASS_WEIGHTS, TrainingSettings

if TYPE_CHECKING:
    from models_tf.training.output import TrainingOutput

_DEFAULTS = {field.name: field.default for field in dataclasses.fields(TrainingSettings)}
# Fields of the config that --set leaves to others.
_SET_ELSEWHERE = {
    "num_labels": "it is counted in --train",
    "multi_label": "use --multi-label",
    "projection.max_tokens": "use --max-seq-len",
    "projection.pad_to": "use --max-seq-len",
    "projection.distortion": "use --distortion",
}
# Flags that mean nothing without another one; their defaults are put in by `_settings`.
_NEEDS_TEACHER = ("teacher_weight", "temperature")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default="prado", metavar="NAME", help="a name that `export-mobile models` lists")
    parser.add_argument("--train", required=True, type=Path, metavar="FILE", help=".tsv, .csv or .jsonl, or .gz of it")
    parser.add_argument("--dev", required=True, type=Path, metavar="FILE", help="chooses the best epoch")
    parser.add_argument("--output", required=True, type=Path, metavar="DIR", help="checkpoint folder to write")
    parser.add_argument("--force", action="store_true", help="overwrite the output folder")
    parser.add_argument("--resume", action="store_true", help="go on where a killed training stopped")
    parser.add_argument("--text-column", metavar="NAME", help="default: text, sentence or utterance")
    parser.add_argument("--label-column", metavar="NAME", help="default: label, intent, class or category")
    parser.add_argument("--multi-label", action="store_true", help="several labels a row")
    parser.add_argument(
        "--label-separator", metavar="TEXT", help=f"between them, with --multi-label (default: {DEFAULT_SEPARATOR})"
    )
    parser.add_argument("--max-seq-len", type=int, metavar="N", help="tokens of a text that are read")
    parser.add_argument("--features", choices=FEATURES, help="words: as published; mixed: half character trigrams")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="overrides",
        help="any field of the model's config, also projection.FIELD; may be repeated",
    )
    for name, kind, text in (
        ("epochs", int, "at most"),
        ("batch-size", int, "rows a step"),
        ("learning-rate", float, "peak, after the warm-up; falls to zero as a cosine"),
        ("label-smoothing", float, ""),
        ("distortion", float, "part of the tokens that get a typo in training"),
        ("average", float, "decay of the averaged weights; 0: off"),
        ("patience", int, "epochs without a better dev accuracy before it stops"),
        ("save-minutes", float, "time between two saves of the state inside an epoch"),
        ("seed", int, ""),
        ("teacher-weight", float, "with a teacher: its part of the loss"),
        ("temperature", float, "with a teacher: of its probabilities"),
    ):
        field = name.replace("-", "_")
        default = _DEFAULTS[field]
        parser.add_argument(
            f"--{name}",
            type=kind,
            default=None if field in _NEEDS_TEACHER else default,
            metavar="N",
            help=f"{text} (default: {default})",
        )
    parser.add_argument(
        "--class-weights", choices=CLASS_WEIGHTS, default="none", help="balanced: rare labels count more"
    )
    parser.add_argument(
        "--teacher",
        action="append",
        type=Path,
        default=[],
        metavar="DIR",
        help="checkpoint to learn from beside the labels; several are averaged",
    )
    parser.add_argument(
        "--teacher-logits",
        type=Path,
        metavar="FILE",
        help="the same from a .npy file with a row for each row of --train",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON, nothing else")


def run(args: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Trains as the flags say; the result goes to `stdout`, progress to `stderr`."""
    from models_tf.training.output import TrainingOutput

    output = TrainingOutput(args.output, force=args.force, resume=args.resume)
    with output.ends_in_one_line(stderr):
        result = train(args, output, stderr)
    if args.json:
        stdout.write(json.dumps(result) + "\n")
        return 0
    stdout.write(
        f"dev accuracy {100 * result['dev_accuracy']:.2f} % (n = {result['dev_rows']}, standard error "
        f"{100 * result['dev_standard_error']:.2f}), with typos in {100 * result['typo_probability']:.0f} % of the "
        f"tokens {100 * result['dev_accuracy_with_typos']:.2f} %; best of {result['epochs']} epochs: "
        f"{result['best_epoch']}; checkpoint: {result['output']}\n"
    )
    return 0


def train(args: argparse.Namespace, output: "TrainingOutput", stderr: TextIO) -> dict[str, Any]:
    """Checks everything that can be checked, then trains. Writes nothing before the checks are done."""
    from models_tf.training.batches import LabelledFile, open_examples

    entry = registry.get(args.model)
    settings = _settings(args)
    output.check()
    separator = settings.label_separator if args.multi_label else None
    columns = {"text_column": settings.text_column, "label_column": settings.label_column}
    examples = open_examples(
        LabelledFile(path=settings.train, label_separator=separator, **columns),
        LabelledFile(path=settings.dev, label_separator=separator, **columns),
    )
    config = _config(entry, len(examples.labels), args)

    import tf_keras as keras

    from models_tf.training.progress import Progress
    from models_tf.training.trainer import Trainer

    keras.utils.set_random_seed(settings.seed)
    progress = Progress(stderr, quiet=args.json)
    model = entry.model_class()(config)
    teacher = _teacher(settings, examples, multi_label=args.multi_label)
    trainer = Trainer(model, entry.name, examples, settings=settings, output=output, progress=progress, teacher=teacher)
    return trainer.run(resume=args.resume)


def _settings(args: argparse.Namespace) -> TrainingSettings:
    if args.label_separator is not None and not args.multi_label:
        raise InputError(f"--label-separator needs --multi-label. Received: {args.label_separator!r} without it.")
    for name in _NEEDS_TEACHER:
        if getattr(args, name) is not None and not (args.teacher or args.teacher_logits):
            flag = "--" + name.replace("_", "-")
            raise InputError(
                f"{flag} needs --teacher or --teacher-logits. Received: {flag} {getattr(args, name)} alone."
            )
    values = {name: getattr(args, name, None) for name in _DEFAULTS}
    try:
        given = {name: value for name, value in values.items() if value is not None}
        return TrainingSettings(**{**given, "teacher": tuple(args.teacher)})
    except ValueError as error:
        raise InputError(str(error)) from error


def _teacher(settings: TrainingSettings, examples: Any, *, multi_label: bool) -> Any:
    from models_tf.training.teacher import CheckpointTeachers, StoredTeacher

    labels, temperature = list(examples.labels), settings.temperature
    if settings.teacher:
        return CheckpointTeachers(settings.teacher, labels, temperature, multi_label)
    if settings.teacher_logits:
        rows = examples.train_rows
        return StoredTeacher(settings.teacher_logits, rows, len(labels), temperature, multi_label)
    return None


def _config(entry: registry.ModelEntry, num_labels: int, args: argparse.Namespace) -> Any:
    config_class = entry.config_class()
    values: dict[str, Any] = {"num_labels": num_labels, "multi_label": args.multi_label}
    if args.max_seq_len is not None:
        if not 1 <= args.max_seq_len <= MAX_SEQ_LEN:
            raise InputError(f"--max-seq-len must be 1 to {MAX_SEQ_LEN}. Received: {args.max_seq_len}.")
        values["max_seq_len"] = args.max_seq_len
    try:
        defaults = config_class(**values).to_dict()
        projection = defaults["projection"]
        if args.features:
            projection["features"] = args.features
        for override in args.overrides:
            key, separator, text = override.partition("=")
            if key in _SET_ELSEWHERE:
                raise InputError(f"--set cannot change {key}: {_SET_ELSEWHERE[key]}. Received: {override}.")
            place, name = (projection, key[11:]) if key.startswith("projection.") else (defaults, key)
            if not separator or name not in place or name == "projection":
                fields = [*defaults, *(f"projection.{field.name}" for field in dataclasses.fields(ProjectionConfig))]
                fields.remove("projection")
                raise InputError(
                    f"--set must be KEY=VALUE with a field of {entry.name}'s config. Received: {override}."
                    + registry.nearest(key, tuple(fields))
                )
            place[name] = _parse(text, place[name], override)
        return config_class.from_dict(defaults)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from error


def _parse(text: str, default: Any, override: str) -> Any:
    if isinstance(default, str):
        return text
    try:
        value = parse_json(text, f"--set {override.partition('=')[0]} must be JSON.")
    except InputError:
        value = None
    kind = type(default)
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise InputError(f"--set {override.partition('=')[0]} takes a {kind.__name__}. Received: {text}.")
    return value
