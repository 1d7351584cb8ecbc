"""From a request to a trained projection model: examples, config, teachers, loop."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from exporters.training.request import TrainRequest
from models_tf import registry
from models_tf.errors import InputError
from models_tf.ops.projection.config import ProjectionConfig
from models_tf.training.folder import TrainingFolder
from models_tf.training.overrides import parse_value, split_override
from models_tf.training.progress import Progress
from models_tf.training.settings import TrainingSettings

# Fields of the config that --set leaves to others.
_SET_ELSEWHERE = {
    "num_labels": "it is counted in --train",
    "multi_label": "use --multi-label",
    "projection.max_tokens": "use --max-seq-len",
    "projection.pad_to": "use --max-seq-len",
    "projection.max_bytes": "use --max-bytes of the export",
    "projection.distortion": "use --distortion",
}


def train_projection(
    request: TrainRequest,
    settings: TrainingSettings,
    folder: TrainingFolder,
    progress: Progress,
    *,
    callbacks: Sequence[Any] = (),
    workers: Any = None,
) -> dict[str, Any]:
    """Checks everything that can be checked, then trains. Writes nothing before the checks are done."""
    from models_tf.training.batches import LabelledFile, UnlabelledFile, open_examples

    entry = registry.get(request.model)
    separator = settings.label_separator if request.multi_label else None
    columns = {"text_column": settings.text_column, "label_column": settings.label_column}
    examples = open_examples(
        LabelledFile(path=settings.train, label_separator=separator, **columns),
        LabelledFile(path=settings.dev, label_separator=separator, **columns),
        UnlabelledFile(path=settings.unlabelled, text_column=settings.text_column) if settings.unlabelled else None,
    )
    config = _config(entry, len(examples.labels), request)

    import tf_keras as keras

    from models_tf.training.projection_learner import ProjectionLearner
    from models_tf.training.trainer import Trainer

    keras.utils.set_random_seed(settings.seed)
    model = entry.model_class()(config)
    teachers = _Teachers(settings, examples, multi_label=request.multi_label)
    teacher = teachers.teach(folder, progress)
    learner = ProjectionLearner(model, entry.name, examples, settings=settings, folder=folder, teacher=teacher)
    how: dict[str, Any] = {"settings": settings, "folder": folder, "progress": progress}
    trainer = Trainer(learner, **how, callbacks=callbacks, workers=workers, teachers=teachers.files)
    if teachers.of_tokens and not folder.resume:
        trainer.save_state()  # the teachers' work can be resumed from the start
    return trainer.run()


class _Teachers:
    """The teachers that the settings name: all are loaded and checked before any of them answers."""

    def __init__(self, settings: TrainingSettings, examples: Any, *, multi_label: bool) -> None:
        from models_tf.training.teacher import CheckpointTeacher, StoredTeacher
        from models_tf.training.text_teacher import TextTeacher, is_token_model

        labels, self.examples = list(examples.labels), examples
        self.answer = (settings.temperature, multi_label)
        folders = [folder for folder in settings.teacher if not is_token_model(folder)]
        self.of_tokens = [
            TextTeacher(folder, labels, multi_label=multi_label) for folder in settings.teacher if folder not in folders
        ]
        self.others: list[Any] = [CheckpointTeacher(folder, labels, *self.answer) for folder in folders]
        self.files = [path for one in (*self.of_tokens, *self.others) for path in one.files]
        if settings.teacher_logits:
            shape = examples.rows, len(labels)
            self.others.append(StoredTeacher(settings.teacher_logits, *shape, *self.answer, origin=examples.origin))

    def teach(self, folder: TrainingFolder, progress: Progress) -> Any:
        from models_tf.training.teacher import AveragedTeachers, LogitsTeacher

        found = list(self.others)
        for number, teacher in enumerate(self.of_tokens):
            logits = teacher.logits(self.examples, number, folder=folder, progress=progress)
            found.append(LogitsTeacher(logits, *self.answer))
        for teacher in found:
            if isinstance(teacher, LogitsTeacher) and (note := teacher.note()):
                progress.line(note)
        return AveragedTeachers(found) if found else None


def _config(entry: registry.ModelEntry, num_labels: int, request: TrainRequest) -> Any:
    config_class = entry.config_class()
    values: dict[str, Any] = {"num_labels": num_labels, "multi_label": request.multi_label}
    if request.max_seq_len is not None:
        values["max_seq_len"] = request.max_seq_len
    try:
        defaults = config_class(**values).to_dict()
        projection = defaults["projection"]
        if request.features:
            projection["features"] = request.features
        for override in request.overrides:
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
