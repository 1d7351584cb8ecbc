"""The tensors of XLM-RoBERTa in a file: RoBERTa's. CamemBERT is the same network under other names."""

import dataclasses

from models_tf.checkpoints.family import Compressed
from models_tf.roberta import convert as roberta
from models_tf.tokenizers.files import SENTENCEPIECE
from models_tf.xlm_roberta.config import CONFIG, PRESETS

CLASSES = ("XLMRoberta", "Camembert")
FAMILY = dataclasses.replace(
    roberta.FAMILY,
    config=CONFIG,
    architectures={f"{name}{ending}": head for name in CLASSES for ending, head in roberta.HEADS.items()},
    presets=PRESETS,
    reads=("camembert",),
    own_pieces=("camembert",),
    compressed=Compressed(plain="xlm-roberta"),
    tokens=SENTENCEPIECE,
)
