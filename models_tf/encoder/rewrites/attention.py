"""Exact simplifications of attention: the scores' factor, the key's bias and the value's bias move elsewhere."""

import numpy as np

from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.draft import Draft


def scale_query(network: Network) -> Network:
    """Requires: nothing. Ensures: the query's weights include the scores' factor, 1 / sqrt(head size), and so do the
    queries of distances; `form.scaled_query` is set.
    """
    if network.form.scaled_query:
        return network
    draft, factor = Draft(network), np.asarray(network.config.score_factor)
    for layer in range(len(network.config.first_uses)):
        for part in ("query", "position_query", "relative_query"):
            draft.scale_outputs(f"layers.{layer}.{part}", factor)
    return draft.result(scaled_query=True)


def drop_key_bias(network: Network) -> Network:
    """Requires: nothing. Ensures: no key has a bias, except where queries of distances read it.

    It adds the same number, query * bias, to all scores of a query, and a softmax ignores that. The query of a distance
    differs from key to key.
    """
    if "query" in network.config.position_parts:
        return network
    biases = [f"layers.{layer}.key.bias" for layer in range(len(network.config.first_uses))]
    found = [name for name in biases if name in network.tensors]
    return network.change({}, remove=found) if found else network


def move_value_bias(network: Network) -> Network:
    """Requires: values are not in a fused matrix. Ensures: no value has a bias, except where ghosts are made from it.

    Attention weights of a query sum to 1, so the bias passes through unchanged; the next dense layer absorbs it.
    """
    draft = Draft(network)
    for layer in range(len(network.config.first_uses)):
        if network.config.ghosts_of(layer)[0]:  # it cannot move past a ReLU
            continue
        bias = draft.pop(f"layers.{layer}.value.bias")
        if bias is not None:
            output = f"layers.{layer}.attention_output"
            draft.add_bias(output, bias @ draft[f"{output}.kernel"])
    return draft.result()
