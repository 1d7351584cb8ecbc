"""The tensors of PoWER-BERT in a file: BERT's. A BERT checkpoint is read as one that keeps all tokens."""

import dataclasses

from models_tf.bert import convert as bert
from models_tf.checkpoints.family import Compressed
from models_tf.encoder.heads import BASE, CLASSIFICATION
from models_tf.powerbert.config import CONFIG, PRESETS

FAMILY = dataclasses.replace(
    bert.FAMILY,
    config=CONFIG,
    presets=PRESETS,
    reads=("bert",),
    heads=(CLASSIFICATION, BASE),  # a head on every token has nothing to read where tokens are gone
    compressed=Compressed(plain="powerbert", ghosts="ghostbert", retention="powerbert"),
)
