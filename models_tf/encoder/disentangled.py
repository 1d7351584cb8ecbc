"""DeBERTa's scores of relative positions: how a token's query fits the key of a distance, and its key the query.

The products with all distances are computed at once, and each token's row is then moved by its place: a reshape and two
slices, which runtimes for phones take where they take no lookup of single scores. That needs the number of tokens, so
an export has one length.

`layers.N.relative_key` and `.relative_query` [head, size, 2 * longest] hold what the table gives by distance, where it
was computed ahead (`rewrites/relative.py`); otherwise it is computed here, as training needs it.
"""

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.distances import distances, rows_of
from models_tf.encoder.parts import Parts


def position_scores(
    config: EncoderConfig, parts: Parts, layer: str, *, query: tf.Tensor, key: tf.Tensor, queries: Any, time: Any
) -> tf.Tensor:
    """[batch, head, query, key] of `query` and `key` [batch, head, token, size]; the first `queries` of `time` tokens
    have a query.
    """
    found: tf.Tensor = None
    if "key" in config.position_parts:
        product = tf.matmul(query, _by_distance(config, parts, layer, "key", time))
        found = shifted(product, queries, time, time)
    if "query" in config.position_parts:
        product = tf.matmul(key, _by_distance(config, parts, layer, "query", time))
        fits = tf.transpose(shifted(product, time, queries, time), (0, 1, 3, 2))
        found = fits if found is None else found + fits
    return found


def shifted(x: tf.Tensor, rows: Any, columns: Any, time: Any) -> tf.Tensor:
    """[batch, head, row, column] of [batch, head, row, 2 * time]: entry i, j is column j - i + time - 1 of row i."""
    heads = x.shape[1]
    flat = tf.reshape(x, (-1, heads, rows * 2 * time))[..., : rows * (2 * time - 1)]
    return tf.reshape(flat, (-1, heads, rows, 2 * time - 1))[..., time - 1 : time - 1 + columns]


def _by_distance(config: EncoderConfig, parts: Parts, layer: str, part: str, time: Any) -> tf.Tensor:
    """[head, size, 2 * time]"""
    table: Mapping[str, Any] = parts.table
    ahead = table.get(f"{layer}.relative_{part}")
    longest = config.max_positions if ahead is None else ahead.shape[-1] // 2
    if ahead is not None:
        return ahead if isinstance(time, int) and time == longest else ahead[..., longest - time : longest + time]
    rows = table["relative_embedding"]
    if config.norms_relative:
        rows = parts.norm("relative_norm", rows, config.norm_epsilon)
    made = parts.dense(config.position_part(layer, part), parts.dropout(rows, config.hidden_dropout))
    chosen = tf.constant(rows_of(config, distances(part, longest)))[longest - time : longest + time]
    made = tf.reshape(tf.gather(made, chosen), (2 * time, config.num_heads, config.head_size))
    return tf.transpose(made, (1, 2, 0))
