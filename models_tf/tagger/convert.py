"""The tensors of the tagger in a file: BERT's. A BERT checkpoint is read as a tagger."""

import dataclasses

from models_tf.bert import convert as bert
from models_tf.checkpoints.family import Compressed
from models_tf.encoder.heads import BASE, TOKEN_CLASSIFICATION
from models_tf.tagger.config import CONFIG, PRESETS

FAMILY = dataclasses.replace(
    bert.FAMILY,
    config=CONFIG,
    presets=PRESETS,
    reads=("bert",),
    heads=(TOKEN_CLASSIFICATION, BASE),
    compressed=Compressed(plain="tagger"),
)
