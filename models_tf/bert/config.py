"""BERT's config.json <-> `EncoderConfig`: an encoder without bottlenecks, trigrams and stacked FFNs.

Absent keys take the defaults of `transformers`' BertConfig. What is not built (decoders, relative positions, pruned
heads) is refused by name. What was compressed is stored as it is; keys of ours say how wide each layer is, which layers share
weights and how wide the word embedding is, and `transformers` cannot read such a model (it can if layers were dropped).
"""

from collections.abc import Mapping
from typing import Any

from models_tf.checkpoints.document import Document, spelling
from models_tf.encoder.config import LAYER_NORM, MAX_LAYERS, MAX_VOCABULARY, EncoderConfig
from models_tf.errors import InputError

MODEL_TYPE = "bert"
BASE: dict[str, Any] = {
    "model_type": MODEL_TYPE,
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
PRESETS: dict[str, dict[str, Any]] = {"base": BASE}
# Heads and FFN neurons of each layer after compression; absent where nothing was removed.
KEPT_HEADS_KEY, KEPT_FFN_KEY = "export_mobile_kept_heads", "export_mobile_kept_ffn"
# Whose weights each layer uses, and the width of a word embedding that is projected; absent where they are BERT's own.
SHARED_KEY, EMBEDDING_KEY = "export_mobile_shared_layers", "export_mobile_embedding_size"
_OUR_KEYS = (KEPT_HEADS_KEY, KEPT_FFN_KEY, SHARED_KEY, EMBEDDING_KEY)


def from_document(values: Mapping[str, Any], where: str = "config.json") -> EncoderConfig:
    """A wrong type or range, or a setting that is not built, is an InputError that names the key."""
    document = Document(values=values, where=where)
    hidden = document.integer("hidden_size", 768)
    vocab_size = document.integer("vocab_size", 30522, high=MAX_VOCABULARY)
    epsilon = document.number("layer_norm_eps", 1e-12, high=1.0)
    document.rate("classifier_dropout", None)
    document.must_be("position_embedding_type", "absolute", remedy="relative positions are not built")
    document.must_be("is_decoder", False, remedy="decoders are not built, give an encoder")
    document.must_be("add_cross_attention", False)
    document.must_be("pruned_heads", {}, None, remedy="give the checkpoint before it was pruned")
    document.must_be("quantization_config", None, remedy="give the checkpoint before it was quantized")
    try:
        return EncoderConfig(
            vocab_size=vocab_size,
            embedding_size=document.integer(EMBEDDING_KEY, hidden),
            hidden_size=hidden,
            bottleneck_size=hidden,
            num_layers=document.integer("num_hidden_layers", 12, high=MAX_LAYERS),
            num_heads=document.integer("num_attention_heads", 12),
            intermediate_size=document.integer("intermediate_size", 3072),
            activation=document.activation("gelu"),
            norm=LAYER_NORM,
            norm_epsilon=epsilon,
            outer_norm_epsilon=epsilon,
            max_positions=document.integer("max_position_embeddings", 512),
            num_segments=document.integer("type_vocab_size", 2),
            hidden_dropout=document.rate("hidden_dropout_prob", 0.1),
            attention_dropout=document.rate("attention_probs_dropout_prob", 0.1),
            initializer_range=document.number("initializer_range", 0.02, high=10.0),
            pad_id=document.pad_id(vocab_size),
            kept_heads=document.integers(KEPT_HEADS_KEY),
            kept_ffn=document.integers(KEPT_FFN_KEY),
            shared_layers=document.integers(SHARED_KEY),
        )
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error


def to_document(config: EncoderConfig, values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with the keys of `config` in it; other keys stay."""
    found = {
        **{key: value for key, value in values.items() if key not in _OUR_KEYS},
        "model_type": MODEL_TYPE,
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "intermediate_size": config.intermediate_size,
        "hidden_act": spelling(config.activation, values),
        "layer_norm_eps": config.norm_epsilon,
        "max_position_embeddings": config.max_positions,
        "type_vocab_size": config.num_segments,
        "hidden_dropout_prob": config.hidden_dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "initializer_range": config.initializer_range,
        "pad_token_id": config.pad_id,
    }
    lists = {
        KEPT_HEADS_KEY: config.kept_heads,
        KEPT_FFN_KEY: config.kept_ffn,
        SHARED_KEY: config.shared_layers,
    }
    found |= {key: list(values) for key, values in lists.items() if values}
    if config.embedding_size != config.hidden_size:
        found[EMBEDDING_KEY] = config.embedding_size
    if from_document(found) != config:
        raise ValueError(
            "BERT has no bottlenecks, trigrams, stacked FFNs, ghosts or other norms. Received: a config with some."
        )
    return found
