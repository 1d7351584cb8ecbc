"""The tensors of PoWER-BERT in a file: BERT's. A BERT checkpoint is read as one that keeps all tokens."""

from models_tf.bert import config as bert_config
from models_tf.bert import convert as bert
from models_tf.checkpoints.family import Family
from models_tf.encoder.heads import BASE, CLASSIFICATION
from models_tf.powerbert.config import MODEL_TYPE, PRESETS, from_document, to_document

FAMILY = Family(
    name=MODEL_TYPE,
    prefix=bert.PREFIX,
    architectures=bert.ARCHITECTURES,
    presets=PRESETS,
    from_document=from_document,
    to_document=to_document,
    lines=bert.lines,
    unread=bert.unread,
    reads=(bert_config.MODEL_TYPE,),
    heads=(CLASSIFICATION, BASE),  # a head on every token has nothing to read where tokens are gone
)
