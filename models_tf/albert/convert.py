"""PyTorch's tensors of ALBERT: the rename table. The head of masked words is left out."""

from models_tf.albert.config import CONFIG, PRESETS, groups_of
from models_tf.checkpoints.family import Compressed, Family
from models_tf.checkpoints.rename import PortLine, dense, embeddings, layer, weights_of
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.heads import BASE, CLASSIFICATION, QUESTION_ANSWERING, TOKEN_CLASSIFICATION
from models_tf.tokenizers.files import SENTENCEPIECE

PREFIX = "albert."
ARCHITECTURES = {
    "AlbertModel": BASE,
    "AlbertForPreTraining": BASE,
    "AlbertForMaskedLM": BASE,
    "AlbertForSequenceClassification": CLASSIFICATION,
    "AlbertForTokenClassification": TOKEN_CLASSIFICATION,
    "AlbertForQuestionAnswering": QUESTION_ANSWERING,
}
# Ours -> PyTorch's, within a layer.
LAYER_DENSE = {
    "query": "attention.query",
    "key": "attention.key",
    "value": "attention.value",
    "attention_output": "attention.dense",
    "ffn.0.intermediate": "ffn",
    "ffn.0.output": "ffn_output",
}
LAYER_NORMS = {"attention_norm": "attention.LayerNorm", "ffn.0.norm": "full_layer_layer_norm"}
SENTENCE_ORDER = "sop_classifier.classifier"
PRETRAINING_HEADS = weights_of("predictions.LayerNorm", "predictions.dense", "predictions.decoder", SENTENCE_ORDER) | {
    "predictions.bias"
}


def lines(config: EncoderConfig, prefix: str) -> list[PortLine]:
    encoder = f"{prefix}encoder."
    found = embeddings(f"{prefix}embeddings.") + dense("embedding_projection", f"{encoder}embedding_hidden_mapping_in")
    _, inner = groups_of(config)
    for stored in range(len(config.first_uses)):
        group, place = divmod(stored, inner)
        theirs = f"{encoder}albert_layer_groups.{group}.albert_layers.{place}."
        found += layer(f"layers.{stored}.", theirs, LAYER_DENSE, LAYER_NORMS)
    return found + dense("pooler", f"{prefix}pooler")


def unread(_config: EncoderConfig, prefix: str) -> frozenset[str]:
    """Position numbers and, with heads on every token, the pooler: old files hold them."""
    return frozenset({f"{prefix}embeddings.position_ids", f"{prefix}pooler.weight", f"{prefix}pooler.bias"})


FAMILY = Family(
    config=CONFIG,
    prefix=PREFIX,
    architectures=ARCHITECTURES,
    presets=PRESETS,
    lines=lines,
    unread=unread,
    pretraining_heads=PRETRAINING_HEADS,
    order_layer=SENTENCE_ORDER,
    compressed=Compressed(plain="albert", retention="albert"),
    tokens=SENTENCEPIECE,
)
