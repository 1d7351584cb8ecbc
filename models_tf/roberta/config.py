"""RoBERTa's config.json <-> `EncoderConfig`: BERT's keys, with positions that begin behind the one of padding.

`max_position_embeddings` counts rows of a table whose first `pad_token_id` + 1 no token of a text uses: 514 rows are
512 positions. Absent keys take the defaults of `transformers`' RobertaConfig.
"""

from typing import Any

from models_tf.bert import config as bert
from models_tf.checkpoints.config_fields import ConfigTable, Field, Values, integer
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
    **ROBERTA_BASE,
    **{name: bert.BERT_LARGE[name] for name in ("hidden_size", "num_hidden_layers", "num_attention_heads")},
    "intermediate_size": bert.BERT_LARGE["intermediate_size"],
}
PRESETS: dict[str, dict[str, Any]] = {"base": ROBERTA_BASE, "large": ROBERTA_LARGE}
_ROWS, _PAD = "max_position_embeddings", "pad_token_id"
_DEFAULT_PAD = 1


def unused_positions(pad_id: int) -> int:
    """Rows of the table in front of the position of the first token."""
    return pad_id + 1


def _pad_id(document: Document, values: Values) -> int:
    if document.values.get(_PAD, _DEFAULT_PAD) is None:
        document.fail(_PAD, "a whole number, since positions begin behind it", None)
    return document.integer(_PAD, _DEFAULT_PAD, low=0, high=int(values["vocab_size"]) - 1)


def complete_behind(unused: int, document: Document, values: dict[str, Any]) -> dict[str, Any]:
    """BERT's, with positions behind `unused` rows of their table."""
    rows = values.pop("position_rows")
    if rows <= unused:
        document.fail(_ROWS, f"above {unused}, the rows up to that of padding", rows)
    return bert.complete(document, values | {"max_positions": rows - unused})


def _complete(document: Document, values: dict[str, Any]) -> dict[str, Any]:
    return complete_behind(unused_positions(values["pad_id"]), document, values)


def _split(config: EncoderConfig) -> dict[str, Any]:
    return bert.split(config) | {"position_rows": config.max_positions + unused_positions(config.pad_id)}


POSITION_ROWS = integer(_ROWS, 512, name="position_rows")
_OWN = {
    _ROWS: POSITION_ROWS,
    _PAD: Field(key=_PAD, name="pad_id", read=_pad_id),
}
CONFIG = ConfigTable(
    model_type="roberta",
    fields=tuple(_OWN.get(field.key, field) for field in bert.CONFIG.fields),
    complete=_complete,
    split=_split,
)
