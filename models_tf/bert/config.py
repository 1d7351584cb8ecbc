"""BERT's config.json <-> `EncoderConfig`: an encoder without bottlenecks, trigrams and stacked FFNs.

Absent keys take the defaults of `transformers`' BertConfig. What is not supported (decoders, relative positions, pruned
heads) is refused by name. A compressed model has keys of ours: how wide each layer is, which layers share weights, how
wide the word embedding is. `transformers` cannot read such a model; it can if layers were only dropped.
"""

from typing import Any

from models_tf.checkpoints.config_fields import (
    KEPT_ROWS,
    ConfigTable,
    Field,
    activation,
    fields_of,
    integer,
    integers,
    last_rows,
    must_be,
    number,
    optional_rate,
    ours,
    vocabulary,
)
from models_tf.checkpoints.document import Document
from models_tf.encoder.config import LAYER_NORM, MAX_LAYERS, EncoderConfig

BERT_BASE: dict[str, Any] = {
    "model_type": "bert",
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "initializer_range": 0.02,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}
BERT_LARGE: dict[str, Any] = {
    **BERT_BASE,
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
}
PRESETS: dict[str, dict[str, Any]] = {"base": BERT_BASE, "large": BERT_LARGE}
NOT_SUPPORTED = (
    must_be("position_embedding_type", "absolute", remedy="relative positions are not supported"),
    must_be("is_decoder", False, remedy="decoders are not supported, give an encoder"),
    must_be("quantization_config", None, remedy="give the checkpoint before it was quantized"),
)


def complete(_document: Document, values: dict[str, Any]) -> dict[str, Any]:
    """With the fields that no key of BERT and ALBERT says."""
    return {
        **values,
        "bottleneck_size": values["hidden_size"],
        "norm": LAYER_NORM,
        "outer_norm_epsilon": values["norm_epsilon"],
    }


def split(config: EncoderConfig) -> dict[str, Any]:
    """The values of the rows; a word embedding that is as wide as the layers needs no key."""
    factorised = config.embedding_size != config.hidden_size
    return fields_of(config) | {"embedding_size": config.embedding_size if factorised else 0}


EMBEDDING = "export_mobile_embedding_size"
# What compression changes: widths and sharing of layers, the width of the word embedding.
COMPRESSED_ROWS = (
    *KEPT_ROWS,
    integers("export_mobile_shared_layers", name="shared_layers"),
    ours(
        Field(
            key=EMBEDDING,
            name="embedding_size",
            read=lambda document, values: document.integer(EMBEDDING, values["hidden_size"]),
        ),
        when="embedding_size",
    ),
)
CONFIG = ConfigTable(
    model_type="bert",
    fields=(
        vocabulary(30522),
        integer("hidden_size", 768),
        integer("num_hidden_layers", 12, name="num_layers", high=MAX_LAYERS),
        integer("num_attention_heads", 12, name="num_heads"),
        integer("intermediate_size", 3072),
        activation("gelu"),
        number("layer_norm_eps", 1e-12, name="norm_epsilon", high=1.0),
        *last_rows(hidden_dropout=0.1, attention_dropout=0.1),
        *COMPRESSED_ROWS,
        optional_rate("classifier_dropout"),
        *NOT_SUPPORTED,
        must_be("add_cross_attention", False),
        must_be("pruned_heads", {}, None, remedy="give the checkpoint before it was pruned"),
    ),
    complete=complete,
    split=split,
)
