"""`Shipped`: a model file as an app gets it, ready to be fed with texts. Needs no TensorFlow.

The file's own inputs say what it takes; labels, projection or tokenizer are read from the files beside it. Leaves out
running the file, and rows.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporters.formats import base
from exporters.formats.model_file import ModelFile
from exporters.formats.tensor_names import FEATURES, LOGITS, PROBABILITIES, TEXT
from exporters.sources import projection_file, token_file
from models_tf.bounded_files import read_document
from models_tf.checkpoints.json_text import parse_json
from models_tf.errors import InputError
from models_tf.spec import EMBEDDING, IDS, MASK, SEGMENTS
from models_tf.tasks import MEASURED_TASKS, QUESTION_ANSWERING

LABELS_FILE, PROJECTION_FILE, MODEL_FILE, REPORT_FILE = "labels.txt", "projection.json", "model.json", "report.json"
_WRITTEN_BY = "the folder that `export-mobile` wrote"


@dataclass(frozen=True, kw_only=True)
class Shipped:
    """`inputs` are the names the file reads; `task` is None for texts that are projected, else that of model.json.

    `projection` are the settings of projection.json, None if the file computes them itself or reads tokens.
    """

    path: Path
    file: ModelFile
    inputs: tuple[str, ...]
    labels: tuple[str, ...]
    multi_label: bool = False
    task: str | None = None
    max_seq_len: int = 0
    vocab_size: int = 0
    projection: dict[str, Any] | None = None

    @property
    def folder(self) -> Path:
        return self.path.parent


def open_all(path: Path) -> list[Shipped]:
    """One file, or all model files of a folder."""
    return [open_one(file) for file in model_files(path)]


def model_files(path: Path) -> list[Path]:
    """The path itself, or the model files in a folder, by name."""
    endings = tuple(f".{name}" for name in base.FORMATS)
    if not path.exists():
        raise InputError(f"A model file or an export folder is needed. Received: {path} (no such file).")
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.suffix in endings and file.is_file())
        if not found:
            raise InputError(
                f"An export folder must hold {' or '.join(endings)} files. Received: {path}, which holds none. "
                "Export a model first, or give the file itself."
            )
        return found
    if path.suffix not in endings:
        raise InputError(f"A model file must end in {' or '.join(endings)}. Received: {path}.")
    return [path]


def open_one(path: Path) -> Shipped:
    """The file, with what lies beside it. An InputError names what is missing or does not fit."""
    file = base.get(path.suffix.removeprefix(".")).open(path)
    inputs = tuple(info.name for info in next(iter(file.signatures.values())).inputs)
    opener = _OPENERS.get(frozenset(inputs) - {MASK, SEGMENTS} or frozenset(inputs))
    if opener is None:
        raise InputError(
            f"{path.name} must be a file that export-mobile wrote, with the input {FEATURES}, {TEXT} or {IDS}. "
            f"Received: {', '.join(inputs) or 'no input'}. `export-mobile inspect` takes any file."
        )
    shipped = opener(path, file, inputs)
    _check_labels(shipped)
    return shipped


def _features(path: Path, file: ModelFile, inputs: tuple[str, ...]) -> Shipped:
    document = _document(path.parent / PROJECTION_FILE, projection_file.FORMAT)
    return dataclasses.replace(
        _text(path, file, inputs),
        projection=_field(document, "config", dict, PROJECTION_FILE),
        max_seq_len=_field(document, "max_seq_len", int, PROJECTION_FILE),
    )


def _text(path: Path, file: ModelFile, inputs: tuple[str, ...]) -> Shipped:
    beside = path.parent / PROJECTION_FILE
    document = _document(beside, projection_file.FORMAT) if beside.is_file() else {}
    return Shipped(
        path=path,
        file=file,
        inputs=inputs,
        labels=_labels(path.parent),
        multi_label=bool(document.get("multi_label", False)),
    )


def _tokens(path: Path, file: ModelFile, inputs: tuple[str, ...]) -> Shipped:
    document = _document(path.parent / MODEL_FILE, token_file.FORMAT)
    task = _field(document, "task", str, MODEL_FILE)
    if task not in MEASURED_TASKS:
        raise InputError(f"A check needs a task with labelled data. Received: {path.name}, which is for {task}.")
    labels = _field(document, "labels", list, MODEL_FILE)
    if not all(isinstance(label, str) for label in labels):
        raise InputError(f'{MODEL_FILE}: "labels" must be texts. Received: something else.')
    tokenizer = document.get("tokenizer")
    if not isinstance(tokenizer, dict):
        raise InputError(f"{path.name} has no tokenizer: it was exported with --random-init, and reads no text.")
    return Shipped(
        path=path,
        file=file,
        inputs=inputs,
        labels=tuple(labels),
        multi_label=bool(document.get("multi_label", False)),
        task=task,
        max_seq_len=_field(document, "max_seq_len", int, MODEL_FILE),
        vocab_size=_field(tokenizer, "vocab_size", int, MODEL_FILE),
    )


_OPENERS: dict[frozenset[str], Callable[[Path, ModelFile, tuple[str, ...]], Shipped]] = {
    frozenset({FEATURES}): _features,
    frozenset({TEXT}): _text,
    frozenset({IDS}): _tokens,
}


def _check_labels(shipped: Shipped) -> None:
    """As many labels as the file has numbers for them."""
    outputs = {info.name: info for info in next(iter(shipped.file.signatures.values())).outputs}
    if shipped.task == QUESTION_ANSWERING:
        return
    if shipped.task == EMBEDDING:
        if EMBEDDING not in outputs:
            raise InputError(f"{shipped.path.name} must have the output {EMBEDDING}. Received: {', '.join(outputs)}.")
        return
    answer = LOGITS if LOGITS in outputs else PROBABILITIES
    if answer not in outputs:
        raise InputError(f"{shipped.path.name} must have the output {LOGITS}. Received: {', '.join(outputs)}.")
    size = outputs[answer].shape[-1] if outputs[answer].shape else 1
    if isinstance(size, int) and size != max(1, len(shipped.labels)):
        raise InputError(
            f"{shipped.path.name} answers with {size} numbers, but {LABELS_FILE} beside it has {len(shipped.labels)} "
            f"labels. Put the file back into {_WRITTEN_BY}."
        )


def _labels(folder: Path) -> tuple[str, ...]:
    text = _read(folder / LABELS_FILE)
    try:
        return tuple(text.decode().splitlines())
    except UnicodeDecodeError as error:
        raise InputError(f"{folder / LABELS_FILE} must be UTF-8. Received: byte 0x{text[error.start]:02x}.") from error


def _document(path: Path, wanted: str) -> dict[str, Any]:
    document = parse_json(_read(path), f"{path} must be JSON.")
    if not isinstance(document, dict) or document.get("format") != wanted:
        received = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise InputError(f'{path} must have "format": "{wanted}". Received: {str(received)[:100]!r}.')
    return document


def _read(path: Path) -> bytes:
    if not path.is_file():
        raise InputError(
            f"A file needs {path.name} beside it, from {_WRITTEN_BY}. Received: {path.parent}, which has none."
        )
    return read_document(path)


def _field(document: dict[str, Any], key: str, kind: type, name: str) -> Any:
    value: Any = document.get(key)
    if not isinstance(value, kind) or isinstance(value, bool) or (isinstance(value, int) and value < 1):
        raise InputError(f'{name} must have the key "{key}" as the export wrote it. Received: {str(value)[:100]!r}.')
    return value
