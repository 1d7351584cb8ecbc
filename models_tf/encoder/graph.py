"""`NetworkGraph`: a network as a function of named inputs, ready to be traced for export."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from models_tf.encoder import forward, heads
from models_tf.encoder.heads import BASE, CLASSIFICATION, QUESTION_ANSWERING, TOKEN_CLASSIFICATION
from models_tf.encoder.network import Network
from models_tf.spec import EMBEDDING, END_LOGITS, HIDDEN, IDS, LOGITS, MASK, POOLED, SEGMENTS, START_LOGITS, TensorSpec

_TIMED = (HIDDEN, START_LOGITS, END_LOGITS)


class NetworkGraph:
    """int32 ids, mask and (if the network takes them) segments [batch, max_seq_len] -> outputs by name."""

    def __init__(self, network: Network, max_seq_len: int, mask_value: float = forward.EXACT_MASK) -> None:
        positions = len(network.tensors.get("position_embedding", range(network.config.max_positions)))
        if not 1 <= max_seq_len <= positions:
            raise ValueError(f"`max_seq_len` must be 1 to {positions}, the positions. Received: {max_seq_len}.")
        if not mask_value < 0:
            raise ValueError(f"`mask_value` must be below zero. Received: {mask_value}.")
        self.network, self.max_seq_len, self.mask_value = network, max_seq_len, mask_value

    @property
    def any_length(self) -> bool:
        """Whether inputs may also be shorter."""
        return self.network.config.any_length

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        names = (IDS, MASK, SEGMENTS) if self.network.takes_segments else (IDS, MASK)
        return tuple(TensorSpec(name=name, shape=(self.max_seq_len,)) for name in names)

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        head, time, hidden = self.network.head, self.max_seq_len, self.network.config.hidden_size
        shapes: dict[str, tuple[int, ...]] = {LOGITS: (time, head.num_labels)}
        if head.kind == BASE:
            shapes = {HIDDEN: (time, hidden), POOLED: (hidden,)}
        elif head.kind == heads.EMBEDDING:
            shapes = {EMBEDDING: (hidden,)}
        elif head.kind == CLASSIFICATION:
            shapes = {LOGITS: (head.num_labels,)}
        elif head.kind == QUESTION_ANSWERING:
            shapes = {START_LOGITS: (time,), END_LOGITS: (time,)}
        return tuple(TensorSpec(name=name, shape=shape, dtype="float32") for name, shape in shapes.items())

    @property
    def timed_outputs(self) -> tuple[str, ...]:
        """Those with a value for each token."""
        of_words = self.network.head.kind == TOKEN_CLASSIFICATION
        return tuple(spec.name for spec in self.outputs if spec.name in _TIMED or (of_words and spec.name == LOGITS))

    def __call__(self, **inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        return self._run(self.table, inputs)

    def exact(self, **inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        """The outputs in float64: what is left of the difference to a call is float32's rounding."""
        return self._run({name: tf.cast(variable, tf.float64) for name, variable in self.table.items()}, inputs)

    def _run(self, table: Mapping[str, Any], inputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        network = self.network
        options = forward.Options(form=network.form, mask_value=self.mask_value)
        return forward.run(network.config, network.head, table, options=options, **inputs).outputs

    def predict(self, inputs: Mapping[str, np.ndarray], batch_size: int = 16) -> dict[str, np.ndarray]:
        """Outputs for all rows; inputs that the network does not take are ignored."""
        names = [spec.name for spec in self.inputs]
        count = len(inputs[IDS])
        parts = [
            self(**{name: tf.constant(inputs[name][start : start + batch_size]) for name in names})
            for start in range(0, count, batch_size)
        ]
        return {name: np.concatenate([part[name].numpy() for part in parts]) for name in parts[0]}

    @functools.cached_property
    def table(self) -> dict[str, tf.Variable]:
        """Variables, not constants: the converters would copy constants over and over, turning 100 MB into 4 GB."""
        with tf.init_scope():  # the first use may be inside a trace
            tensors = self.network.tensors
            return {name: tf.Variable(value, trainable=False, name=name) for name, value in tensors.items()}
