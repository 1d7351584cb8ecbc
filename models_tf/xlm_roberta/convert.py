"""The tensors of XLM-RoBERTa in a file: RoBERTa's."""

import dataclasses

from models_tf.checkpoints.family import Compressed
from models_tf.roberta import convert as roberta
from models_tf.xlm_roberta.config import CONFIG, PRESETS

FAMILY = dataclasses.replace(
    roberta.FAMILY,
    config=CONFIG,
    architectures={f"XLMRoberta{name}": head for name, head in roberta.HEADS.items()},
    presets=PRESETS,
    compressed=Compressed(plain="xlm-roberta"),
)
