"""Small BERTs with random weights, their rows, and masks on heads, for tests of compression."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.encoder import forward
from models_tf.encoder.network import Network
from support import random_encoders
from support.random_encoders import HEADS

LABELS = {
    "classification": ["no", "yes", "perhaps"],
    "tokens": ["O", "B-X", "I-X", "B-Y", "I-Y"],
    "regression": ["score"],
}


def bert(head: str = "classification", *, seed: int = 0, dtype: Any = np.float32, **changes: Any) -> Network:
    """Three layers of four heads of eight, 32 neurons each; gammas of both signs, random biases and PAD row."""
    sizes = {"num_heads": 4, "intermediate_size": 32, **changes}
    return random_encoders.network(random_encoders.config("bert", **sizes), HEADS[head], seed=seed, dtype=dtype)


def stored(network: Network, head: str = "classification", **changes: Any) -> EncoderCheckpoint:
    """The network as a checkpoint whose words are numbers."""
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *map(str, range(network.config.vocab_size - 4))]
    return EncoderCheckpoint(
        model_name="bert",
        config=network.config,
        head=network.head,
        labels=LABELS.get(head, []),
        tensors=dict(network.tensors),
        tokenizer_files={"vocab.txt": "".join(f"{word}\n" for word in vocabulary).encode()},
        **changes,
    )


def outputs(
    network: Network, given: Mapping[str, np.ndarray], alter_context: forward.ContextChange | None = None
) -> dict[str, np.ndarray]:
    table = {name: tf.constant(value) for name, value in network.tensors.items()}
    inputs = {name: tf.constant(value) for name, value in given.items()}
    options = forward.Options(form=network.form, alter_context=alter_context)
    found = forward.run(network.config, network.head, table, **inputs, options=options)
    return {name: value.numpy() for name, value in found.outputs.items()}


def masking(network: Network, masks: Sequence[Sequence[float]]) -> Callable[[str, tf.Tensor], tf.Tensor]:
    """`masks[layer][head]` is multiplied with what the head gives."""

    def change(name: str, context: tf.Tensor) -> tf.Tensor:
        factors = np.repeat(np.asarray(masks[int(name.split(".")[1])]), network.config.head_size)
        return context * factors.astype(context.dtype.as_numpy_dtype)

    return change
