"""The tagger's config.json <-> `EncoderConfig`: BERT's keys under another `model_type`."""

from collections.abc import Mapping
from typing import Any

from models_tf.bert import config as bert
from models_tf.encoder.config import EncoderConfig

MODEL_TYPE = "tagger"
# Three layers, a third of BERT-base wide.
SMALL: dict[str, Any] = {
    **bert.BASE,
    "model_type": MODEL_TYPE,
    "hidden_size": 256,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
    "max_position_embeddings": 128,
}
PRESETS: dict[str, dict[str, Any]] = {"small": SMALL}


def from_document(values: Mapping[str, Any], where: str = "config.json") -> EncoderConfig:
    return bert.from_document(values, where)


def to_document(config: EncoderConfig, values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with the keys of `config` in it; other keys stay."""
    return {**bert.to_document(config, values), "model_type": MODEL_TYPE}
