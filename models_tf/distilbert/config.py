"""DistilBERT's config.json <-> `EncoderConfig`: a BERT without segments, whose pooler has ReLU and belongs to the head.

Absent keys take the defaults of `transformers`' DistilBertConfig. Positions are read as a table, sinusoidal or not: the
setting says only how they began. A compressed model has BERT's keys of ours.
"""

from typing import Any

from models_tf.bert import config as bert
from models_tf.checkpoints.config_fields import (
    ConfigTable,
    activation,
    integer,
    must_be,
    number,
    optional_rate,
    pad_id,
    rate,
    vocabulary,
)
from models_tf.checkpoints.document import Document
from models_tf.encoder.config import MAX_LAYERS

DISTILBERT_BASE: dict[str, Any] = {
    "model_type": "distilbert",
    "vocab_size": 30522,
    "dim": 768,
    "n_layers": 6,
    "n_heads": 12,
    "hidden_dim": 3072,
    "activation": "gelu",
    "dropout": 0.1,
    "attention_dropout": 0.1,
    "max_position_embeddings": 512,
    "initializer_range": 0.02,
    "pad_token_id": 0,
    "sinusoidal_pos_embds": False,
}
PRESETS: dict[str, dict[str, Any]] = {"base": DISTILBERT_BASE}
_NORM_EPSILON = 1e-12  # no key says it


def _complete(document: Document, values: dict[str, Any]) -> dict[str, Any]:
    return bert.complete(document, values | {"norm_epsilon": _NORM_EPSILON}) | {
        "num_segments": 0,
        "pooler_activation": "relu",
        "pools_base": False,
    }


CONFIG = ConfigTable(
    model_type="distilbert",
    fields=(
        vocabulary(30522),
        integer("dim", 768, name="hidden_size"),
        integer("n_layers", 6, name="num_layers", high=MAX_LAYERS),
        integer("n_heads", 12, name="num_heads"),
        integer("hidden_dim", 3072, name="intermediate_size"),
        activation("gelu", key="activation"),
        integer("max_position_embeddings", 512, name="max_positions"),
        rate("dropout", 0.1, name="hidden_dropout"),
        rate("attention_dropout", 0.1, name="attention_dropout"),
        number("initializer_range", 0.02, high=10.0),
        pad_id(),
        *bert.COMPRESSED_ROWS,
        optional_rate("qa_dropout"),
        optional_rate("seq_classif_dropout"),
        must_be("sinusoidal_pos_embds", False, True),
        must_be("pruned_heads", {}, None, remedy="give the checkpoint before it was pruned"),
        must_be("quantization_config", None, remedy="give the checkpoint before it was quantized"),
    ),
    complete=_complete,
    split=bert.split,
)
