"""PyTorch's tensors of BERT: the rename table. Masked-word and next-sentence heads are left out.

The projection of a factorised embedding is ours; no other program has it.
"""

from models_tf.bert.config import CONFIG, PRESETS
from models_tf.checkpoints.family import Compressed, Family
from models_tf.checkpoints.rename import PortLine, dense, embeddings, layer
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.heads import BASE, CLASSIFICATION, QUESTION_ANSWERING, TOKEN_CLASSIFICATION

PREFIX = "bert."
ARCHITECTURES = {
    "BertModel": BASE,
    "BertForPreTraining": BASE,
    "BertForMaskedLM": BASE,
    "BertForNextSentencePrediction": BASE,
    "BertForSequenceClassification": CLASSIFICATION,
    "BertForTokenClassification": TOKEN_CLASSIFICATION,
    "BertForQuestionAnswering": QUESTION_ANSWERING,
}
# Ours -> PyTorch's, within a layer.
LAYER_DENSE = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attention_output": "attention.output.dense",
    "ffn.0.intermediate": "intermediate.dense",
    "ffn.0.output": "output.dense",
}
LAYER_NORMS = {"attention_norm": "attention.output.LayerNorm", "ffn.0.norm": "output.LayerNorm"}


def lines(config: EncoderConfig, prefix: str) -> list[PortLine]:
    found = embeddings(f"{prefix}embeddings.") + dense("embedding_projection", f"{prefix}embeddings.projection")
    for stored in range(len(config.first_uses)):
        found += layer(f"layers.{stored}.", f"{prefix}encoder.layer.{stored}.", LAYER_DENSE, LAYER_NORMS)
    return found + dense("pooler", f"{prefix}pooler.dense")


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
    compressed=Compressed(plain="bert", ghosts="ghostbert", retention="powerbert"),
)
