"""Which kind of model a folder holds, as far as its config.json tells. Leaves out whether it can be read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models_tf import registry
from models_tf.checkpoints.json_text import read_json_file
from models_tf.checkpoints.sentence_folder import has_modules


def kind_of(folder: Path) -> str:
    """config.json has a "format" in our own checkpoints and a "model_type" in those of token models."""
    if has_modules(folder):
        return registry.TOKENS
    document = _config(folder)
    is_tokens = "model_type" in document and "format" not in document
    return registry.TOKENS if is_tokens else registry.PROJECTION


def token_model_of(folder: Path) -> str:
    """The token model that reads what config.json names, or nothing: what is not a folder may be a hub's id."""
    return registry.reader_of(_config(folder).get("model_type")) or ""


def _config(folder: Path) -> Mapping[str, Any]:
    """Nothing for a file that cannot be opened: the checkpoint reader will say what is wrong."""
    try:
        document = read_json_file(folder / "config.json")
    except OSError:
        return {}
    return document if isinstance(document, dict) else {}
