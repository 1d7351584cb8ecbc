"""PyTorch's tensors of DistilBERT: the rename table. The head of masked words is left out."""

from models_tf.checkpoints.family import Compressed, Family
from models_tf.checkpoints.rename import PortLine, dense, layer, norm, table, weights_of
from models_tf.distilbert.config import CONFIG, PRESETS
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.heads import BASE, CLASSIFICATION, QUESTION_ANSWERING, TOKEN_CLASSIFICATION

PREFIX = "distilbert."
ARCHITECTURES = {
    "DistilBertModel": BASE,
    "DistilBertForMaskedLM": BASE,
    "DistilBertForSequenceClassification": CLASSIFICATION,
    "DistilBertForTokenClassification": TOKEN_CLASSIFICATION,
    "DistilBertForQuestionAnswering": QUESTION_ANSWERING,
}
# Ours -> PyTorch's, within a layer.
LAYER_DENSE = {
    "query": "attention.q_lin",
    "key": "attention.k_lin",
    "value": "attention.v_lin",
    "attention_output": "attention.out_lin",
    "ffn.0.intermediate": "ffn.lin1",
    "ffn.0.output": "ffn.lin2",
}
LAYER_NORMS = {"attention_norm": "sa_layer_norm", "ffn.0.norm": "output_layer_norm"}
PRETRAINING_HEADS = weights_of("vocab_transform", "vocab_layer_norm", "vocab_projector")


def lines(config: EncoderConfig, prefix: str) -> list[PortLine]:
    embeddings = f"{prefix}embeddings."
    found = [
        *table("word_embedding", f"{embeddings}word_embeddings"),
        *table("position_embedding", f"{embeddings}position_embeddings"),
        *norm("embedding_norm", f"{embeddings}LayerNorm"),
        *dense("embedding_projection", f"{embeddings}projection"),  # ours: no other program has it
    ]
    for stored in range(len(config.first_uses)):
        found += layer(f"layers.{stored}.", f"{prefix}transformer.layer.{stored}.", LAYER_DENSE, LAYER_NORMS)
    return found


def unread(_config: EncoderConfig, prefix: str) -> frozenset[str]:
    """Position numbers, which old files hold."""
    return frozenset({f"{prefix}embeddings.position_ids"})


FAMILY = Family(
    config=CONFIG,
    prefix=PREFIX,
    architectures=ARCHITECTURES,
    presets=PRESETS,
    lines=lines,
    unread=unread,
    head_poolers={CLASSIFICATION: "pre_classifier"},
    pretraining_heads=PRETRAINING_HEADS,
    compressed=Compressed(plain="distilbert"),
)
