"""`AppModel`: the file of an export that an app takes, what lies beside it, and what it can do."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporters.self_test import document as examples
from exporters.shipped import device_tokenizer
from exporters.shipped import model as shipped_model
from exporters.shipped.model import LABELS_FILE, MODEL_FILE, PROJECTION_FILE
from models_tf.checkpoints.json_text import read_json_file
from models_tf.errors import InputError
from models_tf.tasks import QUESTION_ANSWERING, REGRESSION, TOKEN_CLASSIFICATION

TOKENIZER_FILE = "tokenizer.json"
_TFLITE = ".tflite"
_USUAL = "int8.tflite"


@dataclass(frozen=True, kw_only=True)
class AppModel:
    """`files` are those that the app needs, by name; `kind` is what it is: Classifier, Scorer, Tagger or Answerer."""

    folder: Path
    file: str
    files: tuple[str, ...]
    name: str
    task: str
    kind: str
    labels: tuple[str, ...]
    multi_label: bool
    pairs: bool


_KINDS = {REGRESSION: "Scorer", TOKEN_CLASSIFICATION: "Tagger", QUESTION_ANSWERING: "Answerer"}


def open_model(folder: Path) -> AppModel:
    """What an export folder offers to an app; an InputError says why it is none."""
    if not folder.is_dir():
        received = "a file" if folder.exists() else "no such folder"
        raise InputError(f"android needs a folder that `export-mobile` wrote. Received: {folder} ({received}).")
    tokens = (folder / MODEL_FILE).is_file()
    if not tokens and not (folder / PROJECTION_FILE).is_file():
        raise InputError(
            f"android needs a folder that `export-mobile` wrote, with {MODEL_FILE} or {PROJECTION_FILE}. "
            f"Received: {folder}, which has neither."
        )
    if tokens:
        device_tokenizer.check(folder / MODEL_FILE, "android")
    path = _choose(folder, "model_" if tokens else "bytes_")
    shipped = shipped_model.open_one(path)
    document = _examples(folder, path.name)
    found = document["model"]
    beside = (MODEL_FILE, TOKENIZER_FILE) if tokens else (PROJECTION_FILE,)
    names = [path.name, *beside, examples.FILE]
    if (folder / LABELS_FILE).is_file() or not tokens:
        names.append(LABELS_FILE)
    for name in names:
        if not (folder / name).is_file():
            raise InputError(f"android needs {name} in the export folder. Received: {folder}, which has none.")
    return AppModel(
        folder=folder,
        file=path.name,
        files=tuple(sorted(names)),
        name=str(found.get("name", "model")),
        task=shipped.task or str(found.get("task", "classification")),
        kind=_KINDS.get(shipped.task or "", "Classifier"),
        labels=shipped.labels,
        multi_label=shipped.multi_label,
        pairs=any("text_pair" in example for example in document["examples"]),
    )


def _choose(folder: Path, kind: str) -> Path:
    """As the library does: the int8 file if there is one, else the first by name."""
    found = sorted(path for path in folder.glob(f"{kind}*{_TFLITE}") if path.is_file())
    if not found:
        others = sorted(path.name for path in folder.glob(f"*{_TFLITE}"))
        graphs = "--graphs bytes" if kind == "bytes_" and others else "--target tflite"
        raise InputError(
            f"android needs a file such as {kind}{_USUAL}. Received: {folder} with {', '.join(others) or 'no .tflite'}."
            f" Export again with {graphs}."
        )
    return next((path for path in found if path.name == f"{kind}{_USUAL}"), found[0])


def _examples(folder: Path, file: str) -> Mapping[str, Any]:
    path = folder / examples.FILE
    if not path.is_file():
        raise InputError(f"android needs {examples.FILE} in the export folder. Received: {folder}, which has none.")
    document: Mapping[str, Any] = read_json_file(path)
    right = (
        isinstance(document, dict)
        and document.get("format") == examples.FORMAT
        and isinstance(document.get("model"), dict)
        and isinstance(document.get("files"), dict)
        and isinstance(document.get("examples"), list)
        and all(isinstance(example, dict) for example in document["examples"])
    )
    if not right:
        raise InputError(f"{path} must be the {examples.FORMAT} that export-mobile wrote. Received: another file.")
    if file not in document["files"]:
        raise InputError(
            f"{path} must hold answers of {file}, which is in the same folder. Received: those of "
            f"{', '.join(document['files']) or 'none'}. Export again."
        )
    return document
