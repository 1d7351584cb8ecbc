"""ALBERT's config.json <-> `EncoderConfig`: a word embedding that is projected behind its norm, and layers in groups that
share their weights.

Absent keys take the defaults of `transformers`' AlbertConfig, which are those of xxlarge. Keys of ours say which tokens go on
(as in PoWER-BERT) and how wide layers are after compression; `transformers` reads a model with the first as one that keeps all
tokens, and cannot read one with the second.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from models_tf.bert.config import KEPT_FFN_KEY, KEPT_HEADS_KEY
from models_tf.checkpoints.document import Document, spelling
from models_tf.encoder.config import LAYER_NORM, MAX_LAYERS, MAX_VOCABULARY, EncoderConfig
from models_tf.errors import InputError
from models_tf.powerbert.config import RETENTION_KEYS, retention_keys, with_retention, without_retention

MODEL_TYPE = "albert"
BASE: dict[str, Any] = {
    "model_type": MODEL_TYPE,
    "vocab_size": 30000,
    "embedding_size": 128,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_hidden_groups": 1,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "inner_group_num": 1,
    "hidden_act": "gelu_new",
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "initializer_range": 0.02,
    "layer_norm_eps": 1e-12,
    "classifier_dropout_prob": 0.1,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "eos_token_id": 3,
}


def _preset(layers: int, hidden: int, heads: int) -> dict[str, Any]:
    sizes = {"num_hidden_layers": layers, "hidden_size": hidden, "intermediate_size": 4 * hidden}
    return {**BASE, **sizes, "num_attention_heads": heads}


PRESETS: dict[str, dict[str, Any]] = {
    "base": BASE,
    "large": _preset(24, 1024, 16),
    "xlarge": _preset(24, 2048, 16),
    "xxlarge": _preset(12, 4096, 64),
}
_OUR_KEYS = (KEPT_HEADS_KEY, KEPT_FFN_KEY, *RETENTION_KEYS)


def shared_layers(runs: int, groups: int, inner: int) -> tuple[int, ...]:
    """For each layer whose weights it uses: each run goes through the `inner` layers of its group. Empty where no layer is
    used twice.
    """
    # With the division of `transformers`, whose rounding decides where groups are not of one size.
    found = tuple(int(run / (runs / groups)) * inner + layer for run in range(runs) for layer in range(inner))
    return found if len(set(found)) < len(found) else ()


def from_document(values: Mapping[str, Any], where: str = "config.json") -> EncoderConfig:
    """A wrong type or range, or a setting that is not built, is an InputError that names the key."""
    document = Document(values=values, where=where)
    hidden = document.integer("hidden_size", 4096)
    vocab_size = document.integer("vocab_size", 30000, high=MAX_VOCABULARY)
    epsilon = document.number("layer_norm_eps", 1e-12, high=1.0)
    document.rate("classifier_dropout_prob", None)
    document.must_be("position_embedding_type", "absolute", remedy="relative positions are not built")
    document.must_be("is_decoder", False, remedy="decoders are not built, give an encoder")
    document.must_be("quantization_config", None, remedy="give the checkpoint before it was quantized")
    runs = document.integer("num_hidden_layers", 12, high=MAX_LAYERS)
    inner = document.integer("inner_group_num", 1, high=MAX_LAYERS)
    if runs * inner > MAX_LAYERS:
        document.fail("inner_group_num", f"at most {MAX_LAYERS // runs} for {runs} runs", inner)
    groups = document.integer("num_hidden_groups", 1, high=MAX_LAYERS)
    if groups > runs:
        document.fail("num_hidden_groups", f"at most `num_hidden_layers`, {runs}, or groups stay unused", groups)
    if inner > 1 and groups == runs:
        # Nothing is shared, and the config would not say which of these layers are of one group.
        document.fail("inner_group_num", f"1 where each of {groups} groups runs once", inner)
    try:
        config = EncoderConfig(
            vocab_size=vocab_size,
            embedding_size=document.integer("embedding_size", 128),
            hidden_size=hidden,
            bottleneck_size=hidden,
            num_layers=runs * inner,
            num_heads=document.integer("num_attention_heads", 64),
            intermediate_size=document.integer("intermediate_size", 16384),
            activation=document.activation("gelu_new"),
            norm=LAYER_NORM,
            norm_epsilon=epsilon,
            outer_norm_epsilon=epsilon,
            max_positions=document.integer("max_position_embeddings", 512),
            num_segments=document.integer("type_vocab_size", 2),
            hidden_dropout=document.rate("hidden_dropout_prob", 0.0),
            attention_dropout=document.rate("attention_probs_dropout_prob", 0.0),
            initializer_range=document.number("initializer_range", 0.02, high=10.0),
            pad_id=document.pad_id(vocab_size),
            kept_heads=document.integers(KEPT_HEADS_KEY),
            kept_ffn=document.integers(KEPT_FFN_KEY),
            shared_layers=shared_layers(runs, groups, inner),
            norm_before_projection=True,
        )
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{where}: {error}") from error
    return with_retention(config, values, where)


def to_document(config: EncoderConfig, values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with the keys of `config` in it; other keys stay."""
    groups, inner = groups_of(config)
    found = {
        **{key: value for key, value in values.items() if key not in _OUR_KEYS},
        "model_type": MODEL_TYPE,
        "vocab_size": config.vocab_size,
        "embedding_size": config.embedding_size,
        "hidden_size": config.hidden_size,
        "num_hidden_layers": config.num_layers // inner,
        "num_hidden_groups": groups,
        "num_attention_heads": config.num_heads,
        "intermediate_size": config.intermediate_size,
        "inner_group_num": inner,
        "hidden_act": spelling(config.activation, values),
        "layer_norm_eps": config.norm_epsilon,
        "max_position_embeddings": config.max_positions,
        "type_vocab_size": config.num_segments,
        "hidden_dropout_prob": config.hidden_dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "initializer_range": config.initializer_range,
        "pad_token_id": config.pad_id,
    }
    lists = {KEPT_HEADS_KEY: config.kept_heads, KEPT_FFN_KEY: config.kept_ffn}
    found |= {key: list(kept) for key, kept in lists.items() if kept}
    plain = without_retention(config)
    if len(config.first_uses) == config.num_layers:  # (0, 1, 2) is what () is
        plain = dataclasses.replace(plain, shared_layers=())
    if from_document(found) != plain:
        raise ValueError(
            "ALBERT projects its embedding behind the norm and has no bottlenecks, trigrams, stacked FFNs, ghosts or other "
            "norms. Received: a config of another kind."
        )
    return {**found, **retention_keys(config)}


def groups_of(config: EncoderConfig) -> tuple[int, int]:
    """`num_hidden_groups` and `inner_group_num` that mean the config's sharing."""
    layers, stored = config.num_layers, len(config.first_uses)
    wanted = config.shared_layers if stored < layers else ()
    for inner in range(1, stored + 1):
        fits = not layers % inner and not stored % inner
        if fits and shared_layers(layers // inner, stored // inner, inner) == wanted:
            return stored // inner, inner
    raise InputError(
        f"ALBERT's layers share weights in groups of neighbours, as even as can be. Received: shared layers "
        f"{', '.join(map(str, wanted))}; keep another choice of layers, or use --model bert."
    )
