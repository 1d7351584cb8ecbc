"""The tensors of the tagger in a file: BERT's. A BERT checkpoint is read as a tagger."""

from models_tf.bert import convert as bert
from models_tf.checkpoints.family import Compressed, Family
from models_tf.encoder.heads import BASE, TOKEN_CLASSIFICATION
from models_tf.tagger.config import CONFIG, PRESETS

FAMILY = Family(
    config=CONFIG,
    prefix=bert.PREFIX,
    architectures=bert.ARCHITECTURES,
    presets=PRESETS,
    lines=bert.lines,
    unread=bert.unread,
    reads=("bert",),
    heads=(TOKEN_CLASSIFICATION, BASE),
    compressed=Compressed(plain="tagger"),
)
