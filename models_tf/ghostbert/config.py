"""GhostBERT's config.json <-> `EncoderConfig`: BERT's keys, and the ghosts of each layer."""

from collections.abc import Mapping
from typing import Any

from models_tf.bert import config as bert
from models_tf.checkpoints.document import Document
from models_tf.encoder.config import GHOST_FORMS, GHOST_HEADS, EncoderConfig
from models_tf.errors import InputError

MODEL_TYPE = "ghostbert"
_GHOST_KEYS = ("ghost_heads", "ghost_folds", "ghost_on", "ghost_kernel")
# Half of BERT-base's heads and neurons, and a ghost for each that is gone.
HALF: dict[str, Any] = {
    **bert.BASE,
    "model_type": MODEL_TYPE,
    bert.KEPT_HEADS_KEY: [6] * 12,
    bert.KEPT_FFN_KEY: [1536] * 12,
    "ghost_heads": [6] * 12,
    "ghost_folds": [6] * 12,
    "ghost_on": GHOST_HEADS,
    "ghost_kernel": 3,
}
# The same of a model as large as MiniLM-L6, for a quicker export.
HALF_SMALL: dict[str, Any] = {
    **HALF,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "intermediate_size": 1536,
    bert.KEPT_HEADS_KEY: [6] * 6,
    bert.KEPT_FFN_KEY: [768] * 6,
    "ghost_heads": [6] * 6,
    "ghost_folds": [6] * 6,
}
PRESETS: dict[str, dict[str, Any]] = {"half": HALF, "half-small": HALF_SMALL}


def from_document(values: Mapping[str, Any], where: str = "config.json") -> EncoderConfig:
    document = Document(values=values, where=where)
    config = bert.from_document(values, where)
    try:
        return EncoderConfig(
            **{
                **config.to_dict(),
                "ghost_heads": document.integers("ghost_heads"),
                "ghost_folds": document.integers("ghost_folds"),
                "ghost_on": document.choice("ghost_on", GHOST_HEADS, GHOST_FORMS),
                "ghost_kernel": document.integer("ghost_kernel", 3),
            }
        )
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error


def to_document(config: EncoderConfig, values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with the keys of `config` in it; other keys stay."""
    plain = EncoderConfig(
        **{**config.to_dict(), "ghost_heads": (), "ghost_folds": (), "ghost_on": GHOST_HEADS, "ghost_kernel": 3}
    )
    kept = {key: value for key, value in values.items() if key not in _GHOST_KEYS}
    found = {**bert.to_document(plain, kept), "model_type": MODEL_TYPE}
    for key in ("ghost_heads", "ghost_folds"):
        if getattr(config, key):
            found[key] = list(getattr(config, key))
    return {**found, "ghost_on": config.ghost_on, "ghost_kernel": config.ghost_kernel}
