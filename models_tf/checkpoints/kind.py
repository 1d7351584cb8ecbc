"""Which kind of model a folder holds, as far as its config.json tells. Leaves out whether it can be read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models_tf import registry
from models_tf.checkpoints.json_text import read_json_file
from models_tf.checkpoints.sentence_folder import has_modules
from models_tf.errors import InputError


def kind_of(folder: Path) -> str:
    """config.json has a "format" in our own checkpoints and a "model_type" in those of token models."""
    if has_modules(folder):
        return registry.TOKENS
    document = _config(folder)
    is_tokens = "model_type" in document and "format" not in document
    return registry.TOKENS if is_tokens else registry.PROJECTION


def token_model_of(folder: Path) -> str:
    """The token model that reads what config.json names; nothing for other folders and for a hub's id."""
    document = _config(folder)
    stated = document.get("model_type")
    if isinstance(stated, str) and "format" not in document and registry.reader_of(stated) is None:
        raise InputError(
            f"{folder / 'config.json'} must say `model_type` {' or '.join(registry.names(registry.TOKENS))}. "
            f"Received: {stated}.{registry.nearest_model(stated)}"
        )
    return registry.reader_of(stated) or ""


def _config(folder: Path) -> Mapping[str, Any]:
    """Nothing for a file that cannot be opened: the checkpoint reader will say what is wrong."""
    try:
        document = read_json_file(folder / "config.json")
    except OSError:
        return {}
    return document if isinstance(document, dict) else {}
