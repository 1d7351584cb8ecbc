"""The tensors of PoWER-BERT in a file: BERT's. A BERT checkpoint is read as one that keeps all tokens."""

from models_tf.bert import convert as bert
from models_tf.checkpoints.family import Compressed, Family
from models_tf.encoder.heads import BASE, CLASSIFICATION
from models_tf.powerbert.config import CONFIG, PRESETS

FAMILY = Family(
    config=CONFIG,
    prefix=bert.PREFIX,
    architectures=bert.ARCHITECTURES,
    presets=PRESETS,
    lines=bert.lines,
    unread=bert.unread,
    reads=("bert",),
    heads=(CLASSIFICATION, BASE),  # a head on every token has nothing to read where tokens are gone
    compressed=Compressed(plain="powerbert", ghosts="ghostbert", retention="powerbert"),
)
