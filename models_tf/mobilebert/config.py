"""MobileBERT's config.json <-> `EncoderConfig`, and the published settings as such documents.

Absent keys take the defaults of `transformers`' MobileBertConfig (`classifier_activation` is true there, false in the
published models). Three things of its PyTorch code are not in the keys:

- With `layer_norm`, the norms of the embeddings and of a layer's last FFN have PyTorch's own epsilon, 1e-5; all others
  have `layer_norm_eps`.
- `use_bottleneck_attention` wins over `key_query_shared_bottleneck`: the shared bottleneck is then stored, not computed.
- With neither of them, query and key read the layer's input. PyTorch's class gives their kernels the width of the
  bottleneck all the same, so it runs only where that is `hidden_size`. Here they have the width of what they read:
  IB-BERT, 512 wide with bottlenecks of 1024, is such a document, one that PyTorch's class cannot load.
"""

import math
from collections.abc import Mapping
from typing import Any

from models_tf.checkpoints.document import Document, spelling
from models_tf.encoder.config import MAX_FFN, MAX_LAYERS, MAX_VOCABULARY, NO_NORM, NORMS, EncoderConfig
from models_tf.errors import InputError

MODEL_TYPE = "mobilebert"
TORCH_NORM_EPSILON = 1e-5  # of `torch.nn.LayerNorm` where no other is given

_PUBLISHED = {
    "model_type": MODEL_TYPE,
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


def from_document(values: Mapping[str, Any], where: str = "config.json") -> EncoderConfig:
    """A wrong type or range, or a setting that is not built, is an InputError that names the key."""
    document = Document(values=values, where=where)
    hidden = document.integer("hidden_size", 512)
    inner = document.integer("intra_bottleneck_size", 128)
    bottleneck = document.flag("use_bottleneck", True)
    attention = document.flag("use_bottleneck_attention", False)
    shared = document.flag("key_query_shared_bottleneck", True)
    vocab_size = document.integer("vocab_size", 30522, high=MAX_VOCABULARY)
    document.rate("classifier_dropout", None)
    document.must_be("pruned_heads", {}, None)
    document.must_be("quantization_config", None)
    try:
        return EncoderConfig(
            vocab_size=vocab_size,
            embedding_size=document.integer("embedding_size", 128),
            hidden_size=hidden,
            num_layers=document.integer("num_hidden_layers", 24, high=MAX_LAYERS),
            num_heads=document.integer("num_attention_heads", 4),
            use_bottleneck=bottleneck,
            bottleneck_size=inner if bottleneck else hidden,
            use_bottleneck_attention=bottleneck and attention,
            key_query_shared=bottleneck and shared and not attention,
            intermediate_size=document.integer("intermediate_size", 512),
            num_ffn=document.integer("num_feedforward_networks", 4, high=MAX_FFN),
            activation=document.activation("relu"),
            norm=document.choice("normalization_type", NO_NORM, NORMS),
            norm_epsilon=document.number("layer_norm_eps", 1e-12, high=1.0),
            outer_norm_epsilon=TORCH_NORM_EPSILON,
            trigram=document.flag("trigram_input", True),
            pooler=document.flag("classifier_activation", True),
            max_positions=document.integer("max_position_embeddings", 512),
            num_segments=document.integer("type_vocab_size", 2),
            hidden_dropout=document.rate("hidden_dropout_prob", 0.0),
            attention_dropout=document.rate("attention_probs_dropout_prob", 0.1),
            initializer_range=document.number("initializer_range", 0.02, high=10.0),
            pad_id=document.pad_id(vocab_size),
        )
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error


def to_document(config: EncoderConfig, values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with the keys of `config` in it; other keys stay."""
    found = {
        **values,
        "model_type": MODEL_TYPE,
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "embedding_size": config.embedding_size,
        "use_bottleneck": config.use_bottleneck,
        "use_bottleneck_attention": config.use_bottleneck_attention,
        "key_query_shared_bottleneck": config.key_query_shared,
        "intra_bottleneck_size": config.bottleneck_size,
        "true_hidden_size": config.bottleneck_size,
        "intermediate_size": config.intermediate_size,
        "num_feedforward_networks": config.num_ffn,
        "hidden_act": spelling(config.activation, values),
        "normalization_type": config.norm,
        "layer_norm_eps": config.norm_epsilon,
        "trigram_input": config.trigram,
        "classifier_activation": config.pooler,
        "max_position_embeddings": config.max_positions,
        "type_vocab_size": config.num_segments,
        "hidden_dropout_prob": config.hidden_dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "initializer_range": config.initializer_range,
        "pad_token_id": config.pad_id,
    }
    if config.norm != NO_NORM and not math.isclose(config.outer_norm_epsilon, TORCH_NORM_EPSILON):
        raise ValueError(
            f"`outer_norm_epsilon` of MobileBERT must be {TORCH_NORM_EPSILON}. Received: {config.outer_norm_epsilon}."
        )
    return found
