"""ELECTRA's config.json <-> `EncoderConfig`: a BERT whose head has a layer of its own with GELU, and no other pooler.

The small models have a narrow word embedding: positions, segments and norm are as narrow, and the projection comes
last, as in ALBERT. Absent keys take the defaults of `transformers`' ElectraConfig.
"""

from typing import Any

from models_tf.bert import config as bert
from models_tf.checkpoints.config_fields import (
    KEPT_ROWS,
    ConfigTable,
    activation,
    integer,
    integers,
    last_rows,
    must_be,
    number,
    optional_rate,
    vocabulary,
)
from models_tf.checkpoints.document import Document
from models_tf.encoder.config import MAX_LAYERS

SMALL: dict[str, Any] = {
    "model_type": "electra",
    "vocab_size": 30522,
    "embedding_size": 128,
    "hidden_size": 256,
    "num_hidden_layers": 12,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "initializer_range": 0.02,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}
BASE: dict[str, Any] = {
    **SMALL,
    "embedding_size": 768,
    "hidden_size": 768,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
}
PRESETS: dict[str, dict[str, Any]] = {"small": SMALL, "base": BASE}


def _complete(document: Document, values: dict[str, Any]) -> dict[str, Any]:
    return bert.complete(document, values) | {
        "norm_before_projection": values["embedding_size"] != values["hidden_size"],
        "pooler_activation": "gelu",
        "pools_base": False,
    }


CONFIG = ConfigTable(
    model_type="electra",
    fields=(
        vocabulary(30522),
        integer("embedding_size", 128),
        integer("hidden_size", 256),
        integer("num_hidden_layers", 12, name="num_layers", high=MAX_LAYERS),
        integer("num_attention_heads", 4, name="num_heads"),
        integer("intermediate_size", 1024),
        activation("gelu"),
        number("layer_norm_eps", 1e-12, name="norm_epsilon", high=1.0),
        *last_rows(hidden_dropout=0.1, attention_dropout=0.1),
        *KEPT_ROWS,
        integers("export_mobile_shared_layers", name="shared_layers"),
        optional_rate("classifier_dropout"),
        *bert.NOT_SUPPORTED,
        must_be("add_cross_attention", False),
        must_be("pruned_heads", {}, None, remedy="give the checkpoint before it was pruned"),
    ),
    complete=_complete,
)
