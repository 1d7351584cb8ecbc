"""PyTorch's tensors of MPNet: its names within a layer, and one table of relative positions for all layers."""

from models_tf.bert import convert as bert
from models_tf.checkpoints.family import HEAD_LAYERS, Compressed, Family
from models_tf.checkpoints.rename import PortLine, behind, dense, embeddings, layer, table
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.heads import CLASSIFICATION
from models_tf.mpnet.config import CONFIG, PRESETS, UNUSED_POSITIONS
from models_tf.roberta import convert as roberta

PREFIX = "mpnet."
# Ours -> PyTorch's, within a layer.
LAYER_DENSE = {
    **bert.LAYER_DENSE,
    "query": "attention.attn.q",
    "key": "attention.attn.k",
    "value": "attention.attn.v",
    "attention_output": "attention.attn.o",
}
LAYER_NORMS = {**bert.LAYER_NORMS, "attention_norm": "attention.LayerNorm"}


def lines(config: EncoderConfig, prefix: str) -> list[PortLine]:
    found = behind(UNUSED_POSITIONS, embeddings(f"{prefix}embeddings."))
    found += dense("embedding_projection", f"{prefix}embeddings.projection")
    found += table("relative_attention_bias", f"{prefix}encoder.relative_attention_bias")
    for stored in range(len(config.first_uses)):
        found += layer(f"layers.{stored}.", f"{prefix}encoder.layer.{stored}.", LAYER_DENSE, LAYER_NORMS)
    return found + dense("pooler", f"{prefix}pooler.dense")


FAMILY = Family(
    config=CONFIG,
    prefix=PREFIX,
    architectures={f"MPNet{name}": head for name, head in roberta.HEADS.items()},
    presets=PRESETS,
    lines=lines,
    unread=bert.unread,
    head_layers={**HEAD_LAYERS, CLASSIFICATION: "classifier.out_proj"},
    head_poolers={CLASSIFICATION: "classifier.dense"},
    pretraining_heads=roberta.PRETRAINING_HEADS,
    compressed=Compressed(plain="mpnet", heads=False),
)
