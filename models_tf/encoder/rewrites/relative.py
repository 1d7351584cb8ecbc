"""DeBERTa's keys and queries of distances as constants: exact, since they depend on weights alone."""

import numpy as np

from models_tf.encoder.distances import distances, rows_of
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.draft import Draft


def fold_distances(network: Network, max_seq_len: int) -> Network:
    """Requires: keys and queries are neither scaled nor fused. Ensures: no table of relative positions is left;
    `layers.N.relative_key` and `.relative_query` hold what it gives, by distance, for `max_seq_len` tokens.
    """
    config, draft = network.config, Draft(network)
    if "relative_embedding" not in network.tensors:
        return network
    rows = draft.pop("relative_embedding")
    if config.norms_relative and rows is not None:
        gamma, beta = draft.pop("relative_norm.gamma"), draft.pop("relative_norm.beta")
        spread = np.sqrt(rows.var(-1, keepdims=True) + config.norm_epsilon)
        rows = (rows - rows.mean(-1, keepdims=True)) / spread * gamma + beta
    for stored in range(len(config.first_uses)):
        for part in config.position_parts:
            name = config.position_part(f"layers.{stored}", part)
            made = rows @ draft[f"{name}.kernel"] + draft[f"{name}.bias"]
            chosen = made[rows_of(config, distances(part, max_seq_len))]
            by_head = chosen.reshape(len(chosen), config.num_heads, config.head_size)
            draft[f"layers.{stored}.relative_{part}"] = by_head.transpose(1, 2, 0)
            if not config.shares_position_kernels:
                draft.pop(f"{name}.kernel")
                draft.pop(f"{name}.bias")
    return draft.result()
