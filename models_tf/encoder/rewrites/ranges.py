"""Per-channel ranges of the activations inside a network, from rows of data; used by `center` and `equalize`."""

from collections.abc import Mapping

import numpy as np

from models_tf.encoder.network import Network

_BATCH = 8  # rows at a time: bounds the memory and keeps the cores busy

# Tensor name -> smallest and largest value of each channel, [2, channel].
ChannelRanges = dict[str, np.ndarray]


def ranges(network: Network, rows: Mapping[str, np.ndarray]) -> ChannelRanges:
    """Ranges over all rows; `rows` holds int32 ids, mask and, if the network takes them, segments, [row, time].

    Padding counts: a quantized tensor holds it like any other token. The last layer's ranges cover only the tokens it
    computes. Names are those that `forward` reports: `layers.N.input`, `.shared`, `.inner.J`, `.query`, `.key`,
    `.value`, `.ffn.J.middle`, and `output`.
    """
    import tensorflow as tf

    from models_tf.encoder import forward

    found: ChannelRanges = {}

    def observe(name: str, values: tf.Tensor) -> None:
        flat = values.numpy().reshape(-1, values.shape[-1])
        low, high = flat.min(0), flat.max(0)
        if name in found:
            low, high = np.minimum(low, found[name][0]), np.maximum(high, found[name][1])
        found[name] = np.stack((low, high)).astype(np.float64)

    inputs = {name: np.asarray(rows[name]) for name in ("ids", "mask")}
    if network.takes_segments:
        inputs["segments"] = np.asarray(rows["segments"])
    count = len(inputs["ids"])
    if not count:
        raise ValueError("Ranges need at least one row. Received: none.")
    table = {name: tf.constant(value) for name, value in network.tensors.items()}
    options = forward.Options(form=network.form, observe=observe)
    for start in range(0, count, _BATCH):
        batch = {name: tf.constant(values[start : start + _BATCH]) for name, values in inputs.items()}
        forward.run(network.config, network.head, table, options=options, **batch)
    return found
