"""PyTorch's tensors of RoBERTa: BERT's names, a head with a layer of its own, and positions behind unused rows."""

import dataclasses

from models_tf.bert import convert as bert
from models_tf.checkpoints.family import HEAD_LAYERS, Compressed
from models_tf.checkpoints.rename import PortLine, behind, weights_of
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.heads import BASE, CLASSIFICATION, QUESTION_ANSWERING, TOKEN_CLASSIFICATION
from models_tf.roberta.config import CONFIG, PRESETS, unused_positions
from models_tf.tokenizers.files import BYTE_PAIRS

PREFIX = "roberta."
HEADS = {
    "Model": BASE,
    "ForMaskedLM": BASE,
    "ForSequenceClassification": CLASSIFICATION,
    "ForTokenClassification": TOKEN_CLASSIFICATION,
    "ForQuestionAnswering": QUESTION_ANSWERING,
}
PRETRAINING_HEADS = weights_of("lm_head.dense", "lm_head.layer_norm", "lm_head.decoder") | {"lm_head.bias"}


def lines(config: EncoderConfig, prefix: str) -> list[PortLine]:
    return behind(unused_positions(config.pad_id), bert.lines(config, prefix))


FAMILY = dataclasses.replace(
    bert.FAMILY,
    config=CONFIG,
    prefix=PREFIX,
    architectures={f"Roberta{name}": head for name, head in HEADS.items()},
    presets=PRESETS,
    lines=lines,
    head_layers={**HEAD_LAYERS, CLASSIFICATION: "classifier.out_proj"},
    head_poolers={CLASSIFICATION: "classifier.dense"},
    pretraining_heads=PRETRAINING_HEADS,
    compressed=Compressed(plain="roberta"),
    tokens=BYTE_PAIRS,
)
