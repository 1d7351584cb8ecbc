"""From flags to a trained token model: settings, vocabulary, labels, rows, student, teacher, loop."""

import argparse
import dataclasses
import shlex
import sys
from typing import Any, TextIO

from models_tf import registry
from models_tf.checkpoints import encoder as checkpoint
from models_tf.checkpoints.encoder import EncoderCheckpoint, OpenCheckpoint
from models_tf.compress import before_training
from models_tf.encoder.config import EncoderConfig
from models_tf.errors import InputError
from models_tf.tasks import QUESTION_ANSWERING
from models_tf.tasks.score import metric_title, metric_unit
from models_tf.tokenizers.files import SPIECE, TOKENIZER, VOCAB, read_tokenizer_files
from models_tf.tokenizers.tokenizer import Tokenizer
from models_tf.training import token_data
from models_tf.training.movement_settings import SOFT, MovementSettings
from models_tf.training.output import TrainingOutput
from models_tf.training.overrides import parse_value, split_override, with_overrides
from models_tf.training.power_flags import power_settings, with_phases
from models_tf.training.task_labels import check_dev_tags, choose_labels
from models_tf.training.token_settings import FINE_TUNING, HEAD_OF_TASK, SCRATCH, TokenSettings
from models_tf.training.transfer_settings import JOINT, PROGRESSIVE, TransferSettings

_FIELDS = tuple(field.name for field in dataclasses.fields(TokenSettings))
_SET_ELSEWHERE = {
    "model_type": "use --model",
    "vocab_size": "it is counted in --vocab",
    "num_labels": "they are counted in --train",
    "id2label": "they are counted in --train",
    "label2id": "they are counted in --train",
}
# What a file of another name is, by its suffix.
_VOCABULARIES = {".model": SPIECE, ".json": TOKENIZER}
_DROPOUTS = {"hidden_dropout_prob": "hidden_dropout", "attention_probs_dropout_prob": "attention_dropout"}


def make_output(args: argparse.Namespace) -> TrainingOutput:
    from models_tf.training.token_learner import OUTPUT_FILES

    return TrainingOutput(args.output, force=args.force, resume=args.resume, files=OUTPUT_FILES)


def summary(result: dict[str, Any]) -> str:
    exact = f", exact match {result['dev_exact_match']:.2f} %" if "dev_exact_match" in result else ""
    if "movement_kept" in result:
        exact += f", {100 * result['movement_kept']['share']:.2f} % of the kernels' weights kept"
    if "retention" in result:
        kept = result["retention"]
        exact += f"; tokens kept: {' '.join(map(str, kept['lengths']))} ({100 * kept['share']:.1f} %)"
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
    start = checkpoint.open_checkpoint(settings.checkpoint, model=args.model) if settings.checkpoint else None
    tokenizer_files, source = _tokenizer_files(settings, start, teacher)
    pruned = before_training.prune_vocabulary(args, tokenizer_files, source, head=HEAD_OF_TASK[settings.task])
    tokenizer_files = pruned.files if pruned else tokenizer_files
    tokenizer = Tokenizer.from_files(tokenizer_files, source)
    labels = choose_labels(settings, start, teacher)
    check_dev_tags(settings, labels)
    order: list[int] = []
    other = None
    if teacher and folder:
        teacher = token_teacher.with_students_vocabulary(teacher, tokenizer, settings)
        other = token_teacher.other_tokenizer(teacher, tokenizer, settings, folder)
        order = token_teacher.label_order(teacher, labels, folder)
    student = _student(args, settings, tokenizer, tokenizer_files, labels, start=start, pruned=pruned)
    rows = token_data.read_all(settings, tokenizer, labels)
    student, removed = before_training.compress_student(args, student, rows.train, pruned)
    _check_turns(settings, student)
    settings = with_phases(args, settings, student)

    import tf_keras as keras

    from models_tf.training.progress import Progress
    from models_tf.training.teacher_start import start_from_teacher
    from models_tf.training.token_learner import TokenLearner
    from models_tf.training.trainer import Trainer

    keras.utils.set_random_seed(settings.seed)
    progress = Progress(stderr, quiet=args.json, every_seconds=60.0)
    for note in dict.fromkeys((*_head_notes(student, settings), *rows.notes)):
        progress.note(note)
    soft, taught = None, None
    if teacher:
        if settings.init_from_teacher:
            tensors = start_from_teacher(student.tensors, student.config, teacher, rows.train.inputs)
            student = dataclasses.replace(student, tensors=tensors)
        teaching: dict[str, Any] = {"output": output, "progress": progress, "resume": args.resume}
        soft, taught = token_data.ask_teacher(
            teacher, rows, settings, other=other, order=order, labels=labels, **teaching
        )
    if settings.from_scratch:
        # Beside the last token a trigram sees padding or nothing: with a row of zeros, which stays as it is, they are
        # the same, and a model trained on short batches answers alike in a graph of fixed length.
        words = student.tensors["word_embedding"].copy()
        words[student.config.pad_id] = 0.0
        student = dataclasses.replace(student, tensors={**student.tensors, "word_embedding": words})
    command = shlex.join(["export-mobile", *sys.argv[1:]])
    learner = TokenLearner(
        student,
        rows.train,
        rows.dev,
        settings=settings,
        output=output,
        command=command,
        soft=soft,
        teacher=teacher,
        unlabelled=taught,
        beside=before_training.record_file(removed, command, output.folder if args.resume else None),
        note=progress.note,
    )
    trainer = Trainer(learner, settings=settings, output=output, progress=progress)
    if (soft or taught) and not args.resume:
        trainer.save_state()  # the teacher's work can be resumed from the start
    return trainer.run(resume=args.resume)


def _check_turns(settings: TokenSettings, student: EncoderCheckpoint) -> None:
    if settings.transfer == PROGRESSIVE and student.config.shared_layers:
        raise InputError(
            "--transfer progressive gives each layer a turn of its own, which layers that share weights do not have: use "
            f"--transfer {JOINT}. Received: shared layers {', '.join(map(str, student.config.shared_layers))}."
        )


def _head_notes(student: EncoderCheckpoint, settings: TokenSettings) -> tuple[str, ...]:
    if settings.checkpoint is None or not student.new_tensors:
        return ()
    return (f"{settings.checkpoint} has no head for this task and these labels: a new one is drawn at random.",)


def _settings(args: argparse.Namespace) -> TokenSettings:
    before_training.check_flags(args)
    values = {name: getattr(args, name, None) for name in _FIELDS}
    task = args.task or _usual_task(args.model)
    registry.get(args.model).family().check_head(HEAD_OF_TASK[task])
    values["task"] = task
    given = {name: value for name, value in values.items() if value is not None}
    defaults = FINE_TUNING if args.checkpoint else SCRATCH
    if args.task == QUESTION_ANSWERING:
        defaults = {**defaults, "max_seq_len": 384}
    if args.checkpoint and args.preset:
        raise InputError("--preset is for a new model. Received: --preset with --checkpoint.")
    try:
        given |= {"teacher": tuple(args.teacher), "movement": _movement_settings(args), "power": power_settings(args)}
        transfer = with_overrides("--transfer-set", TransferSettings().to_dict(), args.transfer_overrides)
        return TokenSettings(**{**defaults, **given, "transfer_settings": TransferSettings(**transfer)})
    except InputError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from error


def _usual_task(model: str) -> str:
    """Of a family that is for one task, that one."""
    usual = registry.get(model).family().heads[0]
    return next(task for task, head in HEAD_OF_TASK.items() if head == usual)


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
    return MovementSettings(
        kind=args.movement, **keep, **with_overrides("--movement-set", own, args.movement_overrides)
    )


def _tokenizer_files(
    settings: TokenSettings, start: OpenCheckpoint | None, teacher: EncoderCheckpoint | None
) -> tuple[dict[str, bytes], str]:
    """Those of --vocab, else of --checkpoint, else of --teacher; and where they come from."""
    path = settings.vocab
    if path is not None:
        if path.is_dir():
            return read_tokenizer_files(path), str(path)
        if not path.is_file():
            raise InputError(f"--vocab must be {VOCAB} or a folder with it. Received: {path} (no such file).")
        return {_VOCABULARIES.get(path.suffix, VOCAB): path.read_bytes()}, str(path)
    if start is not None:
        return start.tokenizer_files, str(settings.checkpoint)
    if teacher is not None and teacher.tokenizer_files:
        return teacher.tokenizer_files, str(settings.teacher[0])
    raise InputError(f"A new model needs --vocab, {VOCAB} or a folder with it. Received: neither it nor a checkpoint.")


def _student(
    args: argparse.Namespace,
    settings: TokenSettings,
    tokenizer: Tokenizer,
    tokenizer_files: dict[str, bytes],
    labels: list[str],
    *,
    start: OpenCheckpoint | None,
    pruned: before_training.PrunedVocabulary | None,
) -> EncoderCheckpoint:
    head = HEAD_OF_TASK[settings.task]
    if start is not None:
        student = start.read(head=head, new_head_labels=labels, seed=settings.seed)
        student = pruned.applied_to(student) if pruned else student
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
