"""Which tokenizers and tasks the libraries for devices have: the Java library of `android`, the modules of `demo`."""

from pathlib import Path

from models_tf.checkpoints.json_text import read_json_file
from models_tf.encoder.heads import EMBEDDING
from models_tf.errors import InputError
from models_tf.tokenizers.backend import BYTE_PAIRS

NOTE = (
    "The tokenizer, byte pairs, is not in the libraries for Android and the browser yet: an app must bring one that "
    "reads tokenizer.json."
)


def check(path: Path, command: str) -> None:
    """Refuses an export whose description, model.json, names a tokenizer or a task that only Python has."""
    try:
        document = read_json_file(path)
    except OSError:  # the command says so when it reads the file
        return
    if isinstance(document, dict) and document.get("task") == EMBEDDING:
        raise InputError(
            f"{command} has answers with labels, numbers or words. Received: {path.parent}, whose answers are vectors; "
            "call its files as the README.md beside them shows."
        )
    found = document.get("tokenizer") if isinstance(document, dict) else None
    if isinstance(found, dict) and found.get("kind") == BYTE_PAIRS:
        raise InputError(
            f"{command} needs a WordPiece or SentencePiece tokenizer. Received: {path.parent} with byte pairs, which "
            "its library does not have yet."
        )
