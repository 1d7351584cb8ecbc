"""From flags to a trained token model: settings, vocabulary, labels, rows, student, teacher, loop."""

import argparse
import dataclasses
import shlex
import sys
from pathlib import Path
from typing import Any, TextIO

from models_tf import registry
from models_tf.compress import before_training
from models_tf.encoder.config import EncoderConfig
from models_tf.errors import InputError
from models_tf.huggingface import checkpoint
from models_tf.huggingface.checkpoint import EncoderCheckpoint
from models_tf.huggingface.folder import read_tokenizer_files
from models_tf.score import metric_title, metric_unit
from models_tf.tasks import QUESTION_ANSWERING, read_rows
from models_tf.tasks.rows import Columns, TaskRows
from models_tf.tokenization import VOCAB, Tokenizer
from models_tf.training.movement_settings import SOFT, MovementSettings
from models_tf.training.output import TrainingOutput
from models_tf.training.overrides import parse_value, split_override
from models_tf.training.task_labels import choose_labels
from models_tf.training.token_settings import FINE_TUNING, HEAD_OF_TASK, SCRATCH, TokenSettings
from models_tf.training.transfer_settings import TransferSettings

_FIELDS = tuple(field.name for field in dataclasses.fields(TokenSettings))
_SET_ELSEWHERE = {
    "model_type": "use --model",
    "vocab_size": "it is counted in --vocab",
    "num_labels": "they are counted in --train",
    "id2label": "they are counted in --train",
    "label2id": "they are counted in --train",
}
_DROPOUTS = {"hidden_dropout_prob": "hidden_dropout", "attention_probs_dropout_prob": "attention_dropout"}


def make_output(args: argparse.Namespace) -> TrainingOutput:
    from models_tf.training.token_learner import OUTPUT_FILES

    return TrainingOutput(args.output, force=args.force, resume=args.resume, files=OUTPUT_FILES)


def summary(result: dict[str, Any]) -> str:
    exact = f", exact match {result['dev_exact_match']:.2f} %" if "dev_exact_match" in result else ""
    if "movement_kept" in result:
        exact += f", {100 * result['movement_kept']['share']:.2f} % of the kernels' weights kept"
    score = f"{metric_title(result['metric'])} {result['dev_score']:.2f}{metric_unit(result['metric'])}"
    return (
        f"dev {score} (n = {result['dev_rows']}, standard error {result['dev_standard_error']:.2f}){exact}; "
        f"best of {result['epochs']} epochs: {result['best_epoch']}; "
        f"checkpoint: {result['output']}\n"
    )


def train(args: argparse.Namespace, output: TrainingOutput, stderr: TextIO) -> dict[str, Any]:
    """Checks everything that can be checked, then trains. Writes nothing before the checks are done."""
    from models_tf.training import token_teacher

    settings = _settings(args)
    output.check()
    folder = settings.teacher[0] if settings.teacher else None
    teacher = token_teacher.load_teacher(folder, settings) if folder else None
    start = checkpoint.load(settings.checkpoint, model=args.model) if settings.checkpoint else None
    tokenizer_files, source = _tokenizer_files(settings, start, teacher)
    tokenizer = Tokenizer.from_files(tokenizer_files, source)
    labels = choose_labels(settings, start, teacher)
    order: list[int] = []
    other = None
    if teacher and folder:
        other = token_teacher.other_tokenizer(teacher, tokenizer, settings, folder)
        order = token_teacher.label_order(teacher, labels, folder)
    student = _student(args, settings, tokenizer, tokenizer_files, labels)
    train_rows, dev_rows = (_rows(path, settings, tokenizer, labels) for path in (settings.train, settings.dev))
    if train_rows.targets is None or not dev_rows.labelled:
        without = train_rows if train_rows.targets is None else dev_rows
        raise InputError(f"--train and --dev must have answers to learn from. Received: {without.source} without.")
    student, removed = before_training.compress_student(args, student, train_rows)

    import tf_keras as keras

    from models_tf.training.progress import Progress
    from models_tf.training.teacher_start import start_from_teacher
    from models_tf.training.token_learner import TokenLearner
    from models_tf.training.trainer import Trainer

    keras.utils.set_random_seed(settings.seed)
    progress = Progress(stderr, quiet=args.json, every_seconds=60.0)
    for note in dict.fromkeys((*_head_notes(student, settings), *train_rows.notes, *dev_rows.notes)):
        progress.note(note)
    soft = None
    if teacher:
        if settings.init_from_teacher:
            tensors = start_from_teacher(student.tensors, student.config, teacher, train_rows.inputs)
            student = dataclasses.replace(student, tensors=tensors)
        read = _rows_of_teacher(teacher, settings, other, labels) if other else train_rows
        soft = token_teacher.teach(teacher, read, order, output=output, progress=progress, resume=args.resume)
    if settings.from_scratch:
        # Beside the last token a trigram sees padding or nothing: with a row of zeros, which stays as it is, they are
        # the same, and a model trained on short batches answers alike in a graph of fixed length.
        words = student.tensors["word_embedding"].copy()
        words[student.config.pad_id] = 0.0
        student = dataclasses.replace(student, tensors={**student.tensors, "word_embedding": words})
    command = shlex.join(["export-mobile", *sys.argv[1:]])
    learner = TokenLearner(
        student,
        train_rows,
        dev_rows,
        settings=settings,
        output=output,
        command=command,
        soft=soft,
        teacher=teacher,
        beside=before_training.record_file(removed, command, output.folder if args.resume else None),
    )
    trainer = Trainer(learner, settings=settings, output=output, progress=progress)
    if soft and not args.resume:
        trainer.save_state()  # the teacher's work can be resumed from the start
    return trainer.run(resume=args.resume)


def _head_notes(student: EncoderCheckpoint, settings: TokenSettings) -> tuple[str, ...]:
    if settings.checkpoint is None or not student.new_tensors:
        return ()
    return (f"{settings.checkpoint} has no head for this task and these labels: a new one is drawn at random.",)


def _settings(args: argparse.Namespace) -> TokenSettings:
    before_training.check_flags(args)
    values = {name: getattr(args, name, None) for name in _FIELDS}
    given = {name: value for name, value in values.items() if value is not None}
    defaults = FINE_TUNING if args.checkpoint else SCRATCH
    if args.task == QUESTION_ANSWERING:
        defaults = {**defaults, "max_seq_len": 384}
    if args.checkpoint and args.preset:
        raise InputError("--preset is for a new model. Received: --preset with --checkpoint.")
    try:
        given |= {"teacher": tuple(args.teacher), "movement": _movement_settings(args)}
        transfer = _nested("--transfer-set", TransferSettings().to_dict(), args.transfer_overrides)
        return TokenSettings(**{**defaults, **given, "transfer_settings": TransferSettings(**transfer)})
    except InputError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from error


def _movement_settings(args: argparse.Namespace) -> MovementSettings | None:
    if args.movement is None:
        return None
    own = MovementSettings(kind=args.movement).to_dict()
    del own["kind"], own["keep"]  # they have flags
    if args.movement == SOFT and args.movement_keep is not None:
        raise InputError(
            "--movement-keep is for --movement topk; what soft keeps follows from --movement-set penalty and threshold. "
            f"Received: --movement-keep {args.movement_keep}."
        )
    keep = {} if args.movement_keep is None else {"keep": args.movement_keep}
    return MovementSettings(kind=args.movement, **keep, **_nested("--movement-set", own, args.movement_overrides))


def _nested(flag: str, values: dict[str, Any], overrides: list[str] | None) -> dict[str, Any]:
    """`values` with those that a flag of the form KEY=VALUE gives."""
    for override in overrides or []:
        key, text = split_override(override)
        if text is None or key not in values:
            raise InputError(
                f"{flag} must be KEY=VALUE with {', '.join(values)}. Received: {override}."
                + registry.nearest(key, tuple(values))
            )
        kind = type(values[key])
        values = {**values, key: kind(parse_value(text, values[key], override, flag=flag))}
    return values


def _tokenizer_files(
    settings: TokenSettings, start: EncoderCheckpoint | None, teacher: EncoderCheckpoint | None
) -> tuple[dict[str, bytes], str]:
    """Those of --vocab, else of --checkpoint, else of --teacher; and where they come from."""
    path = settings.vocab
    if path is not None:
        if path.is_dir():
            return read_tokenizer_files(path), str(path)
        if not path.is_file():
            raise InputError(f"--vocab must be {VOCAB} or a folder with it. Received: {path} (no such file).")
        return {VOCAB: path.read_bytes()}, str(path)
    if start is not None:
        return start.tokenizer_files, str(settings.checkpoint)
    if teacher is not None and teacher.tokenizer_files:
        return teacher.tokenizer_files, str(settings.teacher[0])
    raise InputError(f"A new model needs --vocab, {VOCAB} or a folder with it. Received: neither it nor a checkpoint.")


def _rows(path: Path, settings: TokenSettings, tokenizer: Tokenizer, labels: list[str]) -> TaskRows:
    columns = Columns(text=settings.text_column, pair=settings.text_pair_column, label=settings.label_column)
    return read_rows(
        settings.task, path, tokenizer=tokenizer, labels=labels, max_len=settings.max_seq_len, columns=columns
    )


def _rows_of_teacher(
    teacher: EncoderCheckpoint, settings: TokenSettings, tokenizer: Tokenizer, labels: list[str]
) -> TaskRows:
    """The training file's rows as a teacher with another vocabulary reads them."""
    length = min(settings.max_seq_len, teacher.config.max_positions)
    return _rows(settings.train, dataclasses.replace(settings, max_seq_len=length), tokenizer, labels)


def _student(
    args: argparse.Namespace,
    settings: TokenSettings,
    tokenizer: Tokenizer,
    tokenizer_files: dict[str, bytes],
    labels: list[str],
) -> EncoderCheckpoint:
    head = HEAD_OF_TASK[settings.task]
    if settings.checkpoint is not None:
        student = checkpoint.load(
            settings.checkpoint, model=args.model, head=head, new_head_labels=labels, seed=settings.seed
        )
        tokenizer.check_embedding(student.config.vocab_size)
        student = dataclasses.replace(
            student, tokenizer_files=tokenizer_files, config=_with_dropouts(student.config, args.overrides)
        )
    else:
        document = _document(args, settings, tokenizer)
        student = checkpoint.random_init(
            args.model, document, head=head, labels=labels, seed=settings.seed, tokenizer_files=tokenizer_files
        )
    if settings.max_seq_len > student.config.max_positions:
        raise InputError(
            f"--max-seq-len must be at most the model's positions, {student.config.max_positions}. "
            f"Received: {settings.max_seq_len}."
        )
    return student


def _with_dropouts(config: EncoderConfig, overrides: list[str]) -> EncoderConfig:
    """A trained model has its sizes; how much is dropped in training can be chosen."""
    for override in overrides:
        key, text = split_override(override)
        if text is None or key not in _DROPOUTS:
            raise InputError(
                f"--set with --checkpoint must be KEY=VALUE with {' or '.join(_DROPOUTS)}. Received: {override}."
            )
        try:
            config = EncoderConfig(**{**config.to_dict(), _DROPOUTS[key]: float(parse_value(text, 0.0, override))})
        except InputError:
            raise
        except ValueError as error:
            raise InputError(str(error)) from error
    return config


def _document(args: argparse.Namespace, settings: TokenSettings, tokenizer: Tokenizer) -> dict[str, Any]:
    """config.json of a new model: a preset, with --set on it."""
    family = registry.get(args.model).family()
    document = dict(family.preset(settings.preset))
    for override in args.overrides:
        key, text = split_override(override)
        if key in _SET_ELSEWHERE:
            raise InputError(f"--set cannot change {key}: {_SET_ELSEWHERE[key]}. Received: {override}.")
        if text is None or key not in document:
            raise InputError(
                f"--set must be KEY=VALUE with a key of {args.model}'s config.json. Received: {override}."
                + registry.nearest(key, tuple(document))
            )
        document[key] = parse_value(text, document[key], override)
    return {**document, "vocab_size": tokenizer.vocab_size, "pad_token_id": tokenizer.pad_id}
