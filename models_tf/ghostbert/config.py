"""GhostBERT's config.json <-> `EncoderConfig`: BERT's keys, and the ghosts of each layer."""

import dataclasses
from typing import Any

from models_tf.bert import config as bert
from models_tf.checkpoints.config_fields import choice, integer, integers, ours
from models_tf.encoder.config import GHOST_FORMS, GHOST_HEADS

# Half of BERT-base's heads and neurons, and a ghost for each that is gone.
HALF: dict[str, Any] = {
    **bert.BERT_BASE,
    "model_type": "ghostbert",
    "export_mobile_kept_heads": [6] * 12,
    "export_mobile_kept_ffn": [1536] * 12,
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
    "export_mobile_kept_heads": [6] * 6,
    "export_mobile_kept_ffn": [768] * 6,
    "ghost_heads": [6] * 6,
    "ghost_folds": [6] * 6,
}
PRESETS: dict[str, dict[str, Any]] = {"half": HALF, "half-small": HALF_SMALL}
CONFIG = dataclasses.replace(
    bert.CONFIG,
    model_type="ghostbert",
    fields=(
        *bert.CONFIG.fields,
        integers("ghost_heads"),
        integers("ghost_folds"),
        ours(choice("ghost_on", GHOST_HEADS, GHOST_FORMS)),
        ours(integer("ghost_kernel", 3)),
    ),
)
