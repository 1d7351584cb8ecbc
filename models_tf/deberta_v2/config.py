"""DeBERTa-v2's config.json <-> `EncoderConfig`; v3 has the same keys and the same `model_type`.

Absent keys take the defaults of `transformers`' DebertaV2Config. What is not supported (the convolution of v2-xlarge,
attention without relative positions) is refused by name. Heads cannot be pruned: `transformers` could not read it.
"""

from typing import Any

from models_tf.bert import config as bert
from models_tf.checkpoints.config_fields import (
    KEPT_ROWS,
    ConfigTable,
    Field,
    Values,
    activation,
    flag,
    integer,
    integers,
    last_rows,
    must_be,
    number,
    optional_rate,
    vocabulary,
)
from models_tf.checkpoints.document import Document
from models_tf.encoder.config import MAX_LAYERS, MAX_SIZE
from models_tf.encoder.config_parts.disentangled import POSITION_ATTENTION

_BUCKETS, _SPAN, _KINDS, _NORM = "position_buckets", "max_relative_positions", "pos_att_type", "norm_rel_ebd"
_RELATIVE, _POSITIONS, _EMBEDDING = "relative_attention", "max_position_embeddings", "embedding_size"
V3_BASE: dict[str, Any] = {
    **bert.BERT_BASE,
    "model_type": "deberta-v2",
    "vocab_size": 128100,
    "type_vocab_size": 0,
    "layer_norm_eps": 1e-7,
    _RELATIVE: True,
    _BUCKETS: 256,
    _SPAN: -1,
    _NORM: "layer_norm",
    "share_att_key": True,
    _KINDS: "p2c|c2p",
    "position_biased_input": False,
    "pooler_hidden_act": "gelu",
    "pooler_dropout": 0,
}
PRESETS: dict[str, dict[str, Any]] = {
    "base": V3_BASE,
    "small": {**V3_BASE, "num_hidden_layers": 6},
    "xsmall": {**V3_BASE, "hidden_size": 384, "num_attention_heads": 6, "intermediate_size": 1536},
    "large": {
        **V3_BASE,
        **{key: bert.BERT_LARGE[key] for key in bert.BERT_LARGE if key.startswith(("hid", "num", "int"))},
    },
}
_NORMS = {"none": False, "layer_norm": True}


def _kinds(document: Document, _values: Values) -> tuple[str, ...]:
    found = document.values.get(_KINDS)
    names = _named(found)
    if not names or not set(names) <= set(POSITION_ATTENTION):
        document.fail(_KINDS, "p2c, c2p or both, as a list or joined by |", found)
    return tuple(kind for kind in POSITION_ATTENTION if kind in names)


def _named(found: Any) -> list[str]:
    """Those of a list, or of a text in which they are joined."""
    if isinstance(found, str):
        return [name.strip() for name in found.lower().split("|")]
    return found if isinstance(found, list) and all(isinstance(name, str) for name in found) else []


def _write_kinds(kinds: tuple[str, ...], document: Values) -> Any:
    own = document.get(_KINDS)
    return own if set(_named(own)) == set(kinds) else sorted(kinds, reverse=True)


def _span(document: Document, values: Values) -> int:
    """Below 1 it is that of the positions."""
    found = document.integer(_SPAN, -1, low=-1)
    return found if found >= 1 else int(values["max_positions"])


def _write_span(value: int, document: Values) -> int:
    return -1 if value == document.get(_POSITIONS) and document.get(_SPAN, -1) < 1 else value


def _relative(document: Document, _values: Values) -> None:
    if document.values.get(_RELATIVE, False) is not True:
        document.fail(
            _RELATIVE, "true", document.values.get(_RELATIVE, False), "attention without it is not supported, use BERT"
        )


def _same_size(key: str, *, per_head: bool = False) -> Field:
    """A key that may only say what others say."""

    def read(document: Document, values: Values) -> None:
        expected = values["hidden_size"] // values["num_heads"] if per_head else values["hidden_size"]
        if document.values.get(key) not in (None, expected):
            document.fail(key, f"{expected}, as the other sizes say", document.values[key], "others are not supported")

    return Field(key=key, name="", read=read)


def _complete(document: Document, values: dict[str, Any]) -> dict[str, Any]:
    return bert.complete(document, values) | {
        "sum_before_projection": values["embedding_size"] != values["hidden_size"],
        "pools_base": False,
    }


_SEGMENTS = integer("type_vocab_size", 0, name="num_segments", low=0)
_LAST = last_rows(hidden_dropout=0.1, attention_dropout=0.1)
CONFIG = ConfigTable(
    model_type="deberta-v2",
    fields=(
        vocabulary(128100),
        integer("hidden_size", 1536),
        integer("num_hidden_layers", 24, name="num_layers", high=MAX_LAYERS),
        integer("num_attention_heads", 24, name="num_heads"),
        integer("intermediate_size", 6144),
        activation("gelu"),
        number("layer_norm_eps", 1e-7, name="norm_epsilon", high=1.0),
        *(_SEGMENTS if row.key == _SEGMENTS.key else row for row in _LAST),
        Field(key=_RELATIVE, name="", read=_relative),
        Field(key=_KINDS, name="position_attention", read=_kinds, write=_write_kinds),
        Field(
            key=_BUCKETS,
            name="position_buckets",
            read=lambda document, _values: max(document.integer(_BUCKETS, -1, low=-1), 0),
            write=lambda value, document: value or min(document.get(_BUCKETS, -1), 0),
        ),
        Field(key=_SPAN, name="relative_span", read=_span, write=_write_span),
        Field(
            key=_NORM,
            name="norms_relative",
            read=lambda document, _values: _NORMS[document.choice(_NORM, "none", _NORMS)],
            write=lambda value, _document: "layer_norm" if value else "none",
        ),
        flag("share_att_key", False, name="shares_position_kernels"),
        flag("position_biased_input", True, name="has_positions"),
        Field(
            key=_EMBEDDING,
            name="embedding_size",
            read=lambda document, values: document.integer(_EMBEDDING, values["hidden_size"], high=MAX_SIZE),
        ),
        activation("gelu", key="pooler_hidden_act", name="pooler_activation"),
        *(row for row in KEPT_ROWS if row.name == "kept_ffn"),
        integers("export_mobile_shared_layers", name="shared_layers"),
        _same_size("pooler_hidden_size"),
        _same_size("attention_head_size", per_head=True),
        optional_rate("pooler_dropout"),
        optional_rate("cls_dropout"),
        must_be("conv_kernel_size", 0, remedy="the convolution of v2-xlarge is not supported, give a v3 checkpoint"),
        *(row for row in bert.NOT_SUPPORTED if row.key != "position_embedding_type"),
        must_be("export_mobile_kept_heads", None, remedy="its heads cannot be pruned"),
    ),
    complete=_complete,
)
