"""MobileBERT's config.json <-> `EncoderConfig`, and the published settings as such documents.

Absent keys take the defaults of `transformers`' MobileBertConfig (`classifier_activation` is true there, false in the
published models). Three facts of its PyTorch code are not in the keys:

- With `layer_norm`, the norms of the embeddings and of a layer's last FFN have PyTorch's own epsilon, 1e-5; all others
  have `layer_norm_eps`.
- `use_bottleneck_attention` overrides `key_query_shared_bottleneck`: the shared bottleneck is stored but not computed.
- With neither, query and key read the layer's input. PyTorch's class still gives their kernels the width of the
  bottleneck, so it runs only if that equals `hidden_size`. Here they have the width of what they read: IB-BERT, 512
  wide with bottlenecks of 1024, is such a document, which PyTorch's class cannot load.
"""

from typing import Any

from models_tf.checkpoints.config_fields import (
    ConfigTable,
    Field,
    activation,
    choice,
    fields_of,
    flag,
    integer,
    last_rows,
    must_be,
    number,
    optional_rate,
    vocabulary,
)
from models_tf.checkpoints.document import Document
from models_tf.encoder.config import MAX_FFN, MAX_LAYERS, NO_NORM, NORMS, EncoderConfig

TORCH_NORM_EPSILON = 1e-5  # the default of `torch.nn.LayerNorm`

_PUBLISHED = {
    "model_type": "mobilebert",
    "vocab_size": 30522,
    "hidden_size": 512,
    "num_hidden_layers": 24,
    "num_attention_heads": 4,
    "embedding_size": 128,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "attention_probs_dropout_prob": 0.1,
    "initializer_range": 0.02,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
    "trigram_input": True,
    "use_bottleneck": True,
}
OPT: dict[str, Any] = {
    **_PUBLISHED,
    "hidden_act": "relu",
    "normalization_type": "no_norm",
    "hidden_dropout_prob": 0.0,
    "intra_bottleneck_size": 128,
    "intermediate_size": 512,
    "num_feedforward_networks": 4,
    "use_bottleneck_attention": False,
    "key_query_shared_bottleneck": True,
    "classifier_activation": False,
}
TINY: dict[str, Any] = {
    **OPT,
    "num_feedforward_networks": 2,
    "use_bottleneck_attention": True,
    "key_query_shared_bottleneck": False,
}
# The teacher: wide bottlenecks, BERT's norm and activation, attention on the layer's input.
IB_BERT: dict[str, Any] = {
    **_PUBLISHED,
    "hidden_act": "gelu_new",
    "normalization_type": "layer_norm",
    "hidden_dropout_prob": 0.1,
    "intra_bottleneck_size": 1024,
    "intermediate_size": 4096,
    "num_feedforward_networks": 1,
    "use_bottleneck_attention": False,
    "key_query_shared_bottleneck": False,
    "classifier_activation": True,
}
PRESETS: dict[str, dict[str, Any]] = {"opt": OPT, "tiny": TINY, "ib-bert": IB_BERT}


def _complete(_document: Document, values: dict[str, Any]) -> dict[str, Any]:
    bottleneck, attention = values["use_bottleneck"], values["use_bottleneck_attention"]
    return {
        **values,
        "bottleneck_size": values["bottleneck_size"] if bottleneck else values["hidden_size"],
        "use_bottleneck_attention": bottleneck and attention,
        "key_query_shared": bottleneck and values["key_query_shared"] and not attention,
        "outer_norm_epsilon": TORCH_NORM_EPSILON,
    }


def _split(config: EncoderConfig) -> dict[str, Any]:
    """Without a norm its epsilon does not matter."""
    return fields_of(config) | ({"outer_norm_epsilon": TORCH_NORM_EPSILON} if config.norm == NO_NORM else {})


CONFIG = ConfigTable(
    model_type="mobilebert",
    fields=(
        vocabulary(30522),
        integer("hidden_size", 512),
        integer("num_hidden_layers", 24, name="num_layers", high=MAX_LAYERS),
        integer("num_attention_heads", 4, name="num_heads"),
        integer("embedding_size", 128),
        flag("use_bottleneck", True),
        flag("use_bottleneck_attention", False),
        flag("key_query_shared_bottleneck", True, name="key_query_shared"),
        integer("intra_bottleneck_size", 128, name="bottleneck_size"),
        Field(key="true_hidden_size", name="bottleneck_size", read=None),
        integer("intermediate_size", 512),
        integer("num_feedforward_networks", 4, name="num_ffn", high=MAX_FFN),
        activation("relu"),
        choice("normalization_type", NO_NORM, NORMS, name="norm"),
        number("layer_norm_eps", 1e-12, name="norm_epsilon", high=1.0),
        flag("trigram_input", True, name="trigram"),
        flag("classifier_activation", True, name="pooler"),
        *last_rows(hidden_dropout=0.0, attention_dropout=0.1),
        optional_rate("classifier_dropout"),
        must_be("pruned_heads", {}, None),
        must_be("quantization_config", None),
    ),
    complete=_complete,
    split=_split,
)
