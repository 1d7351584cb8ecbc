"""XLM-RoBERTa's config.json <-> `EncoderConfig`: RoBERTa's keys under another `model_type`."""

import dataclasses
from typing import Any

from models_tf.roberta import config as roberta

_WORDS = 250002
PRESETS: dict[str, dict[str, Any]] = {
    name: {**preset, "model_type": "xlm-roberta", "vocab_size": _WORDS} for name, preset in roberta.PRESETS.items()
}
CONFIG = dataclasses.replace(roberta.CONFIG, model_type="xlm-roberta")
