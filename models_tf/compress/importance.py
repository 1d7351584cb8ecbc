"""How much a loss depends on each head and each FFN neuron, from gradients on labelled rows.

- `mask`: |dL/dm| of a mask m = 1 on a head, where L is the mean loss of a batch, summed over batches (DynaBERT's code;
  Michel et al. define the same with one row per batch).
- `token`: |head . dL/dhead| of each token, summed over tokens, as in Michel et al.'s code: divided by the number of
  tokens, or by the number of rows in a classifier's last layer, where only the first token has a gradient. Opposite
  signs at two tokens or in two rows of a batch cancel in `mask` but not here. The two therefore order heads
  differently, and agree (up to those divisors) only if a batch is a single token.
- Neurons (DynaBERT): |sum of W1 * dW1 over its column + b1 * db1| + |sum of W2 * dW2 over its row|, over batches.

Weights shared by several layers have one importance over all their uses, since a mask on such a head is one mask. If
tokens are dropped, only the remaining ones count. Only the order within a layer, or across all layers, is used: see
`heads.py` and `neurons.py`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from models_tf.compress.settings import MASK, TOKEN
from models_tf.encoder import forward
from models_tf.encoder.network import Network

METHODS = (MASK, TOKEN)
# (outputs by name, batch) -> the loss that is differentiated
Loss = Callable[[dict[str, tf.Tensor], Mapping[str, tf.Tensor]], tf.Tensor]


@dataclass(frozen=True, kw_only=True)
class Importance:
    """`heads[layer]` [heads] and `neurons[layer]` [neurons]; if layers share weights, per set of weights `layers.N`.

    `rows` is the number of rows they were computed on.
    """

    heads: tuple[np.ndarray, ...]
    neurons: tuple[np.ndarray, ...]
    method: str
    rows: int


def measure(
    network: Network, batches: Iterable[Mapping[str, tf.Tensor]], loss: Loss, *, method: str = MASK
) -> Importance:
    """`batches` hold int32 ids, mask and segments [batch, time], plus whatever `loss` reads."""
    if method not in METHODS:
        raise ValueError(f"`method` must be one of {', '.join(METHODS)}. Received: {method!r}.")
    config, size = network.config, network.config.head_size
    if config.ghost_heads or config.ghost_folds or config.use_bottleneck:
        raise ValueError("Importance is of layers without bottlenecks and ghosts. Received: layers with some.")
    stored = range(len(config.first_uses))
    users = config.shared_layers or tuple(stored)  # the weights that each layer uses
    table = {name: tf.Variable(value, trainable=False) for name, value in network.tensors.items()}
    parts = ("intermediate.kernel", "intermediate.bias", "output.kernel")
    names = [f"layers.{layer}.ffn.0.{part}" for layer in stored for part in parts]

    @tf.function(reduce_retracing=True, autograph=False)
    def gradients(batch: dict[str, tf.Tensor]) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            tape.watch([table[name] for name in names])
            probes: list[tf.Tensor] = []  # one per layer
            contexts: list[tf.Tensor] = []

            def probe(_name: str, context: tf.Tensor) -> tf.Tensor:
                # Adds a zero to the heads' output: its gradient is that of the heads, and 0 at padding.
                zero = tf.zeros_like(context)
                tape.watch(zero)
                probes.append(zero)
                contexts.append(context)
                return context + zero

            found = forward.run(
                config, network.head, table,
                ids=batch["ids"], mask=batch["mask"], segments=batch["segments"],
                options=forward.Options(form=network.form, alter_context=probe),
            )  # fmt: skip
            value = loss(found.outputs, batch)
        got = tape.gradient(value, [*probes, *(table[name] for name in names)])
        products = [
            tf.reduce_sum(tf.reshape(slope * context, (-1, context.shape[-1] // size, size)), -1)  # [token, head]
            for slope, context in zip(got[: len(probes)], contexts, strict=True)
        ]
        if method == TOKEN:
            heads = [tf.reduce_sum(tf.abs(product), 0) for product in products]
        else:
            sums = [tf.reduce_sum(product, 0) for product in products]
            heads = [
                tf.abs(tf.add_n([one for one, user in zip(sums, users, strict=True) if user == n])) for n in stored
            ]
        neurons = []
        slopes = dict(zip(names, got[len(probes) :], strict=True))
        for layer in stored:
            kernel, bias, output = (f"layers.{layer}.ffn.0.{part}" for part in parts)
            into = tf.reduce_sum(table[kernel] * slopes[kernel], 0) + table[bias] * slopes[bias]
            neurons.append(tf.abs(into) + tf.abs(tf.reduce_sum(table[output] * slopes[output], 1)))
        return heads, neurons

    uses = range(config.num_layers) if method == TOKEN else config.first_uses
    heads = [np.zeros(config.heads_of(layer)) for layer in uses]
    neurons = [np.zeros(config.ffn_of(layer)) for layer in config.first_uses]
    rows = tokens = 0
    for batch in batches:
        one, two = gradients(dict(batch))
        for total, found in zip((*heads, *neurons), (*one, *two), strict=True):
            np.add(total, found.numpy(), out=total)
        rows += int(batch["ids"].shape[0])
        tokens += int(np.sum(batch["mask"]))
    if not rows:
        raise ValueError("Importance needs at least one row. Received: none.")
    if method == TOKEN:
        last = config.num_layers - 1
        parts_of = [
            scores / (rows if layer == last and network.head.reads_pooled else tokens)
            for layer, scores in enumerate(heads)
        ]
        heads = [np.sum([part for part, user in zip(parts_of, users, strict=True) if user == n], 0) for n in stored]
    return Importance(heads=tuple(heads), neurons=tuple(neurons), method=method, rows=rows)
