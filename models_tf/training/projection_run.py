"""From flags to a trained projection model: settings, examples, config, teacher, loop."""

import argparse
import dataclasses
from typing import Any, TextIO

from models_tf import registry
from models_tf.errors import InputError
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.prado.text_config import MAX_SEQ_LEN
from models_tf.training.output import TrainingOutput
from models_tf.training.overrides import parse_value, split_override
from models_tf.training.settings import TrainingSettings

_FIELDS = tuple(field.name for field in dataclasses.fields(TrainingSettings))
# Fields of the config that --set leaves to others.
_SET_ELSEWHERE = {
    "num_labels": "it is counted in --train",
    "multi_label": "use --multi-label",
    "projection.max_tokens": "use --max-seq-len",
    "projection.pad_to": "use --max-seq-len",
    "projection.distortion": "use --distortion",
}


def make_output(args: argparse.Namespace) -> TrainingOutput:
    return TrainingOutput(args.output, force=args.force, resume=args.resume)


def summary(result: dict[str, Any]) -> str:
    return (
        f"dev accuracy {100 * result['dev_accuracy']:.2f} % (n = {result['dev_rows']}, standard error "
        f"{100 * result['dev_standard_error']:.2f}), with typos in {100 * result['typo_probability']:.0f} % of the "
        f"tokens {100 * result['dev_accuracy_with_typos']:.2f} %; best of {result['epochs']} epochs: "
        f"{result['best_epoch']}; checkpoint: {result['output']}\n"
    )


def train(args: argparse.Namespace, output: TrainingOutput, stderr: TextIO) -> dict[str, Any]:
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
    from models_tf.training.projection_learner import ProjectionLearner
    from models_tf.training.trainer import Trainer

    keras.utils.set_random_seed(settings.seed)
    progress = Progress(stderr, quiet=args.json)
    model = entry.model_class()(config)
    teachers = _Teachers(settings, examples, multi_label=bool(args.multi_label))
    teacher = teachers.teach(output=output, progress=progress, resume=args.resume)
    learner = ProjectionLearner(model, entry.name, examples, settings=settings, output=output, teacher=teacher)
    trainer = Trainer(learner, settings=settings, output=output, progress=progress)
    if teachers.of_tokens and not args.resume:
        trainer.save_state()  # the teachers' work can be resumed from the start
    return trainer.run(resume=args.resume)


def _settings(args: argparse.Namespace) -> TrainingSettings:
    if args.label_separator is not None and not args.multi_label:
        raise InputError(f"--label-separator needs --multi-label. Received: {args.label_separator!r} without it.")
    values = {name: getattr(args, name, None) for name in _FIELDS}
    try:
        given = {name: value for name, value in values.items() if value is not None}
        return TrainingSettings(**{**given, "teacher": tuple(args.teacher)})
    except ValueError as error:
        raise InputError(str(error)) from error


class _Teachers:
    """Those that the settings name; made, they are checked, and only then computed with."""

    def __init__(self, settings: TrainingSettings, examples: Any, *, multi_label: bool) -> None:
        from models_tf.training.teacher import CheckpointTeachers, StoredTeacher
        from models_tf.training.text_teacher import TextTeacher, is_token_model

        labels, rows, self.examples = list(examples.labels), examples.train_rows, examples
        self.answer = (settings.temperature, multi_label)
        folders = [folder for folder in settings.teacher if not is_token_model(folder)]
        self.of_tokens = [
            TextTeacher(folder, labels, multi_label=multi_label) for folder in settings.teacher if folder not in folders
        ]
        self.others: list[Any] = [CheckpointTeachers([folder], labels, *self.answer) for folder in folders]
        if settings.teacher_logits:
            self.others.append(StoredTeacher(settings.teacher_logits, rows, len(labels), *self.answer))

    def teach(self, *, output: TrainingOutput, progress: Any, resume: bool) -> Any:
        from models_tf.training.teacher import AveragedTeachers, LogitsTeacher

        found = list(self.others)
        for number, teacher in enumerate(self.of_tokens):
            logits = teacher.logits(self.examples, number, output=output, progress=progress, resume=resume)
            found.append(LogitsTeacher(logits, *self.answer))
        return AveragedTeachers(found) if found else None


def _config(entry: registry.ModelEntry, num_labels: int, args: argparse.Namespace) -> Any:
    config_class = entry.config_class()
    values: dict[str, Any] = {"num_labels": num_labels, "multi_label": bool(args.multi_label)}
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
            key, text = split_override(override)
            if key in _SET_ELSEWHERE:
                raise InputError(f"--set cannot change {key}: {_SET_ELSEWHERE[key]}. Received: {override}.")
            place, name = (projection, key[11:]) if key.startswith("projection.") else (defaults, key)
            if text is None or name not in place or name == "projection":
                fields = [*defaults, *(f"projection.{field.name}" for field in dataclasses.fields(ProjectionConfig))]
                fields.remove("projection")
                raise InputError(
                    f"--set must be KEY=VALUE with a field of {entry.name}'s config. Received: {override}."
                    + registry.nearest(key, tuple(fields))
                )
            place[name] = parse_value(text, place[name], override)
        return config_class.from_dict(defaults)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from error
