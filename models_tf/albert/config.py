"""ALBERT's config.json <-> `EncoderConfig`: a word embedding projected after its norm, and layers that share weights.

Absent keys take the defaults of `transformers`' AlbertConfig, which are those of xxlarge. Keys of ours say which tokens
each layer keeps (as in PoWER-BERT) and how wide layers are after compression. `transformers` reads a model with the
first as one that keeps all tokens, and cannot read one with the second.
"""

from typing import Any

from models_tf.bert import config as bert
from models_tf.checkpoints.config_fields import (
    KEPT_ROWS,
    ConfigTable,
    activation,
    fields_of,
    integer,
    last_rows,
    number,
    optional_rate,
    vocabulary,
)
from models_tf.checkpoints.document import Document
from models_tf.encoder.config import MAX_LAYERS, EncoderConfig
from models_tf.errors import InputError
from models_tf.powerbert.config import RETENTION_ROWS

ALBERT_BASE: dict[str, Any] = {
    "model_type": "albert",
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
    return {**ALBERT_BASE, **sizes, "num_attention_heads": heads}


PRESETS: dict[str, dict[str, Any]] = {
    "base": ALBERT_BASE,
    "large": _preset(24, 1024, 16),
    "xlarge": _preset(24, 2048, 16),
    "xxlarge": _preset(12, 4096, 64),
}


def shared_layers(runs: int, groups: int, inner: int) -> tuple[int, ...]:
    """For each layer, the number of the weights it uses; empty if no weights are used twice.

    A group has `inner` layers, and each run passes through all of them.
    """
    # The same division as in `transformers`: its rounding decides when the groups cannot be equal in size.
    found = tuple(int(run / (runs / groups)) * inner + layer for run in range(runs) for layer in range(inner))
    return found if len(set(found)) < len(found) else ()


def groups_of(config: EncoderConfig) -> tuple[int, int]:
    """`num_hidden_groups` and `inner_group_num` for the config's sharing."""
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


def _complete(document: Document, values: dict[str, Any]) -> dict[str, Any]:
    runs, groups, inner = (values.pop(name) for name in ("runs", "groups", "inner"))
    if runs * inner > MAX_LAYERS:
        document.fail("inner_group_num", f"at most {MAX_LAYERS // runs} for {runs} runs", inner)
    if groups > runs:
        document.fail("num_hidden_groups", f"at most `num_hidden_layers`, {runs}, or groups stay unused", groups)
    if inner > 1 and groups == runs:
        # Nothing is shared, so the config could not say which layers form a group.
        document.fail("inner_group_num", f"1 where each of {groups} groups runs once", inner)
    shared = shared_layers(runs, groups, inner)
    return bert.complete(document, values) | {
        "num_layers": runs * inner,
        "shared_layers": shared,
        "norm_before_projection": True,
    }


def _split(config: EncoderConfig) -> dict[str, Any]:
    groups, inner = groups_of(config)
    values = fields_of(config) | {"runs": config.num_layers // inner, "groups": groups, "inner": inner}
    # The groups also describe layers that share nothing (0, 1, 2).
    return {name: value for name, value in values.items() if name not in ("num_layers", "shared_layers")}


CONFIG = ConfigTable(
    model_type="albert",
    fields=(
        vocabulary(30000),
        integer("embedding_size", 128),
        integer("hidden_size", 4096),
        integer("num_hidden_layers", 12, name="runs", high=MAX_LAYERS),
        integer("num_hidden_groups", 1, name="groups", high=MAX_LAYERS),
        integer("num_attention_heads", 64, name="num_heads"),
        integer("intermediate_size", 16384),
        integer("inner_group_num", 1, name="inner", high=MAX_LAYERS),
        activation("gelu_new"),
        number("layer_norm_eps", 1e-12, name="norm_epsilon", high=1.0),
        *last_rows(hidden_dropout=0.0, attention_dropout=0.0),
        *KEPT_ROWS,
        *RETENTION_ROWS,
        optional_rate("classifier_dropout_prob"),
        *bert.NOT_SUPPORTED,
    ),
    complete=_complete,
    split=_split,
)
