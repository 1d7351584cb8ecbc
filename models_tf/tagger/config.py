"""The tagger's config.json <-> `EncoderConfig`: BERT's keys under another `model_type`."""

import dataclasses
from typing import Any

from models_tf.bert import config as bert

# Three layers, a third of BERT-base wide.
SMALL: dict[str, Any] = {
    **bert.BERT_BASE,
    "model_type": "tagger",
    "hidden_size": 256,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
    "max_position_embeddings": 128,
}
PRESETS: dict[str, dict[str, Any]] = {"small": SMALL}
CONFIG = dataclasses.replace(bert.CONFIG, model_type="tagger")
