"""PoWER-BERT's config.json <-> `EncoderConfig`: BERT's keys, and the tokens that each layer keeps."""

from collections.abc import Mapping
from typing import Any

from models_tf.bert import config as bert
from models_tf.checkpoints.document import Document
from models_tf.encoder.config import BY_SIGNIFICANCE, RETENTIONS, EncoderConfig
from models_tf.errors import InputError

MODEL_TYPE = "powerbert"
RETENTION_KEYS = ("retention", "retention_by", "retention_seed")
# BERT-base on 128 tokens. The lengths are ours; no paper's.
BASE: dict[str, Any] = {
    **bert.BASE,
    "model_type": MODEL_TYPE,
    "retention": [112, 96, 80, 64, 56, 48, 40, 32, 24, 16, 8, 1],
    "retention_by": BY_SIGNIFICANCE,
    "retention_seed": 0,
}
# As large as MiniLM-L6, for a quicker export.
SMALL: dict[str, Any] = {
    **BASE,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "intermediate_size": 1536,
    "retention": [96, 64, 48, 32, 16, 1],
}
PRESETS: dict[str, dict[str, Any]] = {"base": BASE, "small": SMALL}


def with_retention(config: EncoderConfig, values: Mapping[str, Any], where: str) -> EncoderConfig:
    """`config` with the retention that a config.json says, if it says any."""
    document = Document(values=values, where=where)
    try:
        return EncoderConfig(
            **{
                **config.to_dict(),
                "retention": document.integers("retention"),
                "retention_by": document.choice("retention_by", BY_SIGNIFICANCE, RETENTIONS),
                "retention_seed": document.integer("retention_seed", 0, low=0),
            }
        )
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error


def without_retention(config: EncoderConfig) -> EncoderConfig:
    plain = {"retention": (), "retention_by": BY_SIGNIFICANCE, "retention_seed": 0}
    return EncoderConfig(**{**config.to_dict(), **plain})


def retention_keys(config: EncoderConfig) -> dict[str, Any]:
    """What a config.json says of the retention; nothing where all tokens are kept."""
    if not config.retention:
        return {}
    return {
        "retention": list(config.retention),
        "retention_by": config.retention_by,
        "retention_seed": config.retention_seed,
    }


def from_document(values: Mapping[str, Any], where: str = "config.json") -> EncoderConfig:
    return with_retention(bert.from_document(values, where), values, where)


def to_document(config: EncoderConfig, values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with the keys of `config` in it; other keys stay."""
    kept = {key: value for key, value in values.items() if key not in RETENTION_KEYS}
    return {
        **bert.to_document(without_retention(config), kept),
        "model_type": MODEL_TYPE,
        **retention_keys(config),
    }
