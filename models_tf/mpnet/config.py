"""MPNet's config.json <-> `EncoderConfig`: BERT's keys without segments, and attention that knows relative positions.

Positions begin at 2 and there are 32 buckets of distances, whatever `pad_token_id` and `relative_attention_num_buckets`
say: `transformers` computes with these numbers. Absent keys take the defaults of its MPNetConfig. Heads cannot be
pruned: all layers read one table with a column for each head.
"""

from typing import Any

from models_tf.bert import config as bert
from models_tf.checkpoints.config_fields import ConfigTable, Field, must_be
from models_tf.checkpoints.document import Document
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.config_parts.relative import BUCKETS
from models_tf.roberta import config as roberta

UNUSED_POSITIONS = 2
_ROWS, _BUCKETS = "max_position_embeddings", "relative_attention_num_buckets"
MPNET_BASE: dict[str, Any] = {
    **{key: value for key, value in bert.BERT_BASE.items() if key != "type_vocab_size"},
    "model_type": "mpnet",
    "vocab_size": 30527,
    _ROWS: 514,
    "layer_norm_eps": 1e-5,
    _BUCKETS: BUCKETS,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}
PRESETS: dict[str, dict[str, Any]] = {"base": MPNET_BASE}
_DEFAULT_PAD, _PAD = 1, "pad_token_id"
_LEFT_OUT = ("type_vocab_size", "position_embedding_type", "export_mobile_kept_heads")


def _complete(document: Document, values: dict[str, Any]) -> dict[str, Any]:
    found = roberta.complete_behind(UNUSED_POSITIONS, document, values)
    return found | {"num_segments": 0, "relative_positions": True}


def _split(config: EncoderConfig) -> dict[str, Any]:
    return bert.split(config) | {"position_rows": config.max_positions + UNUSED_POSITIONS}


_OWN = {
    _ROWS: roberta.POSITION_ROWS,
    _PAD: Field(
        key=_PAD,
        name="pad_id",
        read=lambda document, values: document.integer(_PAD, _DEFAULT_PAD, low=0, high=int(values["vocab_size"]) - 1),
    ),
}
CONFIG = ConfigTable(
    model_type="mpnet",
    fields=(
        *(_OWN.get(field.key, field) for field in bert.CONFIG.fields if field.key not in _LEFT_OUT),
        must_be(_BUCKETS, BUCKETS, remedy="that many are computed with, whatever is written here"),
        must_be("export_mobile_kept_heads", None, remedy="its heads cannot be pruned"),
    ),
    complete=_complete,
    split=_split,
)
