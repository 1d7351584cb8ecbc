"""Finds a checkpoint folder (a path, or an id of the Hugging Face hub) and reads what is small in it.

Weights are read by `weights.py`, what config.json means is in `models_tf/<model>/config.py`.
"""

import os
import re
from pathlib import Path
from typing import Any

from models_tf.checkpoints import hub
from models_tf.checkpoints.json_text import read_json_file
from models_tf.errors import InputError
from models_tf.tokenizers.files import TOKENIZER_FILES

CONFIG_FILE = "config.json"
# Of a folder of sentence-transformers (`sentence_folder.py`): what the hub must send besides.
SENTENCE_FILES = ("modules.json", "sentence_bert_config.json", "*/config.json", "*/sentence_bert_config.json")
# What a training writes beside a checkpoint, and what says how one was compressed.
TRAINING_FILE, RECORD_FILE = "training.json", "compression.json"
# What a training leaves that was stopped, to go on from.
STATE_FILE = "resume.safetensors"
# owner/name, as in google/mobilebert-uncased. The hub's old names without an owner look like any folder's name.
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", flags=re.ASCII)


def is_hub_id(source: str | os.PathLike[str]) -> bool:
    """Whether a name is meant for the hub although nothing says so: a path would have its first folder here."""
    return HUB_ID.fullmatch(os.fspath(source)) is not None and not Path(source).parent.exists()


def find_folder(source: str | os.PathLike[str]) -> Path:
    """The folder itself, or the one that the hub's files were downloaded to."""
    folder = Path(source)
    if folder.is_dir():
        return folder
    text = os.fspath(source)
    if folder.exists() or folder.is_symlink():
        raise InputError(f"Checkpoint must be a folder with {CONFIG_FILE}. Received: {text} (a file).")
    if not HUB_ID.fullmatch(text):
        raise InputError(
            f"Checkpoint must be a folder with {CONFIG_FILE}, or an id of the Hugging Face hub such as "
            f"google/mobilebert-uncased. Received: {text} (no such folder)."
        )
    return hub.download(text, (CONFIG_FILE, *TOKENIZER_FILES, *SENTENCE_FILES))


def read_document(folder: Path) -> dict[str, Any]:
    """config.json, an object."""
    path = folder / CONFIG_FILE
    if not path.is_file():
        raise lacking(folder, CONFIG_FILE, "give the folder that `save_pretrained` or `export-mobile train` wrote")
    document = read_json_file(path)
    if not isinstance(document, dict):
        raise InputError(f"{path} must hold a JSON object. Received: {type(document).__name__}.")
    return document


def lacking(folder: Path, name: str, remedy: str) -> InputError:
    """What is wrong with a folder that lacks a file: most often its training was stopped in the first epoch."""
    if (folder / STATE_FILE).is_file():
        remedy = "its training was stopped within an epoch. Remedy: go on with `export-mobile train --resume`"
    return InputError(f"Checkpoint folder {folder} lacks {name}: {remedy}.")
