"""PoWER-BERT's config.json <-> `EncoderConfig`: BERT's keys, and how many tokens each layer keeps."""

import dataclasses
from typing import Any

from models_tf.bert import config as bert
from models_tf.checkpoints.config_fields import choice, integer, integers, ours
from models_tf.encoder.config import BY_SIGNIFICANCE, RETENTIONS

# BERT-base on 128 tokens. The lengths are ours, not a paper's.
POWERBERT_BASE: dict[str, Any] = {
    **bert.BERT_BASE,
    "model_type": "powerbert",
    "retention": [112, 96, 80, 64, 56, 48, 40, 32, 24, 16, 8, 1],
    "retention_by": BY_SIGNIFICANCE,
    "retention_seed": 0,
}
# As large as MiniLM-L6, for a quicker export.
SMALL: dict[str, Any] = {
    **POWERBERT_BASE,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "intermediate_size": 1536,
    "retention": [96, 64, 48, 32, 16, 1],
}
PRESETS: dict[str, dict[str, Any]] = {"base": POWERBERT_BASE, "small": SMALL}
RETENTION_ROWS = (
    integers("retention"),
    ours(choice("retention_by", BY_SIGNIFICANCE, RETENTIONS), when="retention"),
    ours(integer("retention_seed", 0, low=0), when="retention"),
)
CONFIG = dataclasses.replace(bert.CONFIG, model_type="powerbert", fields=(*bert.CONFIG.fields, *RETENTION_ROWS))
