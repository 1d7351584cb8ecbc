"""ELECTRA's config.json <-> `EncoderConfig`: a BERT whose head has a layer of its own with GELU, and no other pooler.

The small models have a narrow word embedding: positions, segments and norm are as narrow, and the projection comes
last, as in ALBERT. Absent keys take the defaults of `transformers`' ElectraConfig.
"""

from typing import Any

from models_tf.bert import config as bert
from models_tf.checkpoints.config_fields import ConfigTable, Field, integer
from models_tf.checkpoints.document import Document

SMALL: dict[str, Any] = {
    **dict.fromkeys(("model_type", "vocab_size", "embedding_size")),  # the order of the keys
    **bert.BERT_BASE,
    "model_type": "electra",
    "embedding_size": 128,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
}
BASE: dict[str, Any] = {**SMALL, **bert.BERT_BASE, "model_type": "electra", "embedding_size": 768}
PRESETS: dict[str, dict[str, Any]] = {"small": SMALL, "base": BASE}


def _complete(document: Document, values: dict[str, Any]) -> dict[str, Any]:
    return bert.complete(document, values) | {
        "norm_before_projection": values["embedding_size"] != values["hidden_size"],
        "pooler_activation": "gelu",
        "pools_base": False,
    }


# In place of BERT's rows, by their keys. The width of the word embedding has a key of its own here.
_OWN: dict[str, tuple[Field, ...]] = {
    "hidden_size": (integer("embedding_size", 128), integer("hidden_size", 256)),
    "num_attention_heads": (integer("num_attention_heads", 4, name="num_heads"),),
    "intermediate_size": (integer("intermediate_size", 1024),),
    bert.EMBEDDING: (),
}
CONFIG = ConfigTable(
    model_type="electra",
    fields=tuple(row for field in bert.CONFIG.fields for row in _OWN.get(field.key, (field,))),
    complete=_complete,
)
