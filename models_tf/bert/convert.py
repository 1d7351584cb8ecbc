"""PyTorch's tensors of BERT: the rename table. Masked-word and next-sentence heads are left out.

The projection of a factorised embedding is ours; no other program has it.
"""

from models_tf.bert.config import CONFIG, PRESETS
from models_tf.checkpoints.family import Compressed, Family
from models_tf.checkpoints.rename import PortLine, dense, norm, table
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
COMPRESSED = Compressed(plain="bert", ghosts="ghostbert", retention="powerbert")


def lines(config: EncoderConfig, prefix: str) -> list[PortLine]:
    embeddings = f"{prefix}embeddings."
    found = [
        *table("word_embedding", f"{embeddings}word_embeddings"),
        *table("position_embedding", f"{embeddings}position_embeddings"),
        *table("segment_embedding", f"{embeddings}token_type_embeddings"),
        *norm("embedding_norm", f"{embeddings}LayerNorm"),
        *dense("embedding_projection", f"{embeddings}projection"),
    ]
    for layer in range(len(config.first_uses)):
        ours, theirs = f"layers.{layer}.", f"{prefix}encoder.layer.{layer}."
        for part, name in LAYER_DENSE.items():
            found += dense(ours + part, theirs + name)
        for part, name in LAYER_NORMS.items():
            found += norm(ours + part, theirs + name)
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
    compressed=COMPRESSED,
)
