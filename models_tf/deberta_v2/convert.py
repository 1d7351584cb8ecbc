"""PyTorch's tensors of DeBERTa-v2 and v3: the rename table. The heads of pretraining are left out."""

from models_tf.bert import convert as bert
from models_tf.checkpoints.family import PRETRAINING_HEADS, Compressed, Family
from models_tf.checkpoints.rename import PortLine, dense, embeddings, layer, norm, table, weights_of
from models_tf.deberta_v2.config import CONFIG, PRESETS
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.heads import CLASSIFICATION
from models_tf.roberta import convert as roberta
from models_tf.tokenizers.files import SENTENCEPIECE

PREFIX = "deberta."
# Ours -> PyTorch's, within a layer.
LAYER_DENSE = {
    **bert.LAYER_DENSE,
    "query": "attention.self.query_proj",
    "key": "attention.self.key_proj",
    "value": "attention.self.value_proj",
    "position_key": "attention.self.pos_key_proj",
    "position_query": "attention.self.pos_query_proj",
}
# v2's, v3's, and those of v3's other network, which finds replaced words.
_HEADS = (
    "lm_predictions.lm_head.dense",
    "lm_predictions.lm_head.LayerNorm",
    "mask_predictions.dense",
    "mask_predictions.LayerNorm",
    "mask_predictions.classifier",
)


def lines(config: EncoderConfig, prefix: str) -> list[PortLine]:
    found = embeddings(f"{prefix}embeddings.") + dense("embedding_projection", f"{prefix}embeddings.embed_proj")
    found += table("relative_embedding", f"{prefix}encoder.rel_embeddings")
    found += norm("relative_norm", f"{prefix}encoder.LayerNorm")
    for stored in range(len(config.first_uses)):
        found += layer(f"layers.{stored}.", f"{prefix}encoder.layer.{stored}.", LAYER_DENSE, bert.LAYER_NORMS)
    return found + dense("pooler", "pooler.dense")


def unread(config: EncoderConfig, prefix: str) -> frozenset[str]:
    """Position numbers, and a table of positions in a file whose config does not add them: pretraining has one."""
    numbers = bert.unread(config, prefix)
    return numbers if config.has_positions else numbers | {f"{prefix}embeddings.position_embeddings.weight"}


FAMILY = Family(
    config=CONFIG,
    prefix=PREFIX,
    architectures={f"DebertaV2{name}": head for name, head in roberta.HEADS.items()},
    presets=PRESETS,
    lines=lines,
    unread=unread,
    head_poolers={CLASSIFICATION: "pooler.dense"},
    pretraining_heads=PRETRAINING_HEADS | {"lm_predictions.lm_head.bias"} | weights_of(*_HEADS),
    compressed=Compressed(plain="deberta-v2", narrow_words=False, heads=False),
    tokens=SENTENCEPIECE,
)
