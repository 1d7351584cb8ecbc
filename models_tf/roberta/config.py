"""RoBERTa's config.json <-> `EncoderConfig`: BERT's keys, with positions that begin behind the one of padding.

`max_position_embeddings` counts rows of a table whose first `pad_token_id` + 1 no token of a text uses: 514 rows are
512 positions. Absent keys take the defaults of `transformers`' RobertaConfig.
"""

import dataclasses
from typing import Any

from models_tf.bert import config as bert
from models_tf.checkpoints.config_fields import Field
from models_tf.checkpoints.document import Document
from models_tf.encoder.config import EncoderConfig

ROBERTA_BASE: dict[str, Any] = {
    **bert.BERT_BASE,
    "model_type": "roberta",
    "vocab_size": 50265,
    "max_position_embeddings": 514,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-5,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}
ROBERTA_LARGE: dict[str, Any] = {
    **bert.BERT_LARGE,
    **{
        key: ROBERTA_BASE[key]
        for key in (
            "model_type",
            "vocab_size",
            "max_position_embeddings",
            "type_vocab_size",
            "layer_norm_eps",
            "pad_token_id",
            "bos_token_id",
            "eos_token_id",
        )
    },
}
PRESETS: dict[str, dict[str, Any]] = {"base": ROBERTA_BASE, "large": ROBERTA_LARGE}
DEFAULT_PAD_ID, DEFAULT_ROWS = 1, 512
_POSITIONS, _PAD = "max_position_embeddings", "pad_token_id"


def unused_positions(config: EncoderConfig) -> int:
    """Rows in front of the position of the first token."""
    return config.pad_id + 1


def _pad_id(document: Document, values: Any) -> int:
    if document.values.get(_PAD, DEFAULT_PAD_ID) is None:
        document.fail(_PAD, "a whole number, since positions begin behind it", None)
    return document.integer(_PAD, DEFAULT_PAD_ID, low=0, high=int(values["vocab_size"]) - 1)


def _positions(document: Document, values: Any) -> int:
    unused = values["pad_id"] + 1
    return document.integer(_POSITIONS, DEFAULT_ROWS, low=unused + 1) - unused


def _rows() -> tuple[Field, ...]:
    """BERT's, but for the two; padding comes first, since positions depend on it."""
    vocabulary, *others = bert.CONFIG.fields
    positions = Field(
        key=_POSITIONS,
        name="max_positions",
        read=_positions,
        write=lambda value, document: value + document.get(_PAD, DEFAULT_PAD_ID) + 1,
    )
    changed = [positions if field.key == _POSITIONS else field for field in others if field.key != _PAD]
    return (vocabulary, Field(key=_PAD, name="pad_id", read=_pad_id), *changed)


CONFIG = dataclasses.replace(bert.CONFIG, model_type="roberta", fields=_rows())
