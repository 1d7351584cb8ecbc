"""The parts that a layer is made of, given the weights by name: dense layers, norms, dropout, ghosts, activations.

What is absent from the table is not computed; see `forward.py`.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from models_tf.encoder.config import GHOST_HEADS, LAYER_NORM, EncoderConfig


@dataclass(frozen=True, kw_only=True)
class Leading:
    """The tokens of some features [batch * time, channel]: `real` [batch, time] is 0 at padding, else 1.

    `shape` is (batch, time) as `tf.reshape` takes it: at most one is -1, and time may be a tensor.
    """

    real: tf.Tensor
    shape: tuple[int, Any]


class Parts:
    """The parts of one model, by the names of their weights."""

    def __init__(self, config: EncoderConfig, table: Mapping[str, Any], *, training: bool) -> None:
        self.config, self.table, self.training = config, table, training

    def has_kernel(self, name: str, part: str) -> bool:
        return f"{name}.{part}.kernel" in self.table

    def dense(self, name: str, x: tf.Tensor) -> tf.Tensor:
        y = tf.matmul(x, self.table[f"{name}.kernel"])
        return y + self.table[f"{name}.bias"] if f"{name}.bias" in self.table else y

    def add_norm(self, name: str, x: tf.Tensor, skip: tf.Tensor, epsilon: float) -> tf.Tensor:
        if f"{name}.skip" in self.table:
            skip *= self.table[f"{name}.skip"]
        return self.norm(name, x + skip, epsilon)

    def norm(self, name: str, x: tf.Tensor, epsilon: float) -> tf.Tensor:
        if self.config.norm == LAYER_NORM:
            mean, variance = tf.nn.moments(x, -1, keepdims=True)
            x = (x - mean) * tf.math.rsqrt(variance + epsilon)
        if f"{name}.gamma" in self.table:
            x *= self.table[f"{name}.gamma"]
        return x + self.table[f"{name}.beta"] if f"{name}.beta" in self.table else x

    def dropout(self, x: tf.Tensor, rate: float) -> tf.Tensor:
        return tf.nn.dropout(x, rate) if self.training and rate else x

    def ghosts(self, name: str) -> bool:
        return f"{name}.kernel" in self.table or f"{name}.taps" in self.table

    def dense_with_ghosts(self, name: str, ghost: str, x: tf.Tensor, tokens: Leading) -> tf.Tensor:
        """A dense layer on grouped features (heads, folds), with the ghosts of these groups if there are any."""
        if not self.ghosts(ghost):
            return self.dense(name, x)
        # After a rewrite the taps are constants: the kernel after its softmax.
        taps = self.table.get(f"{ghost}.taps")
        taps = tf.nn.softmax(self.table[f"{ghost}.kernel"], 0) if taps is None else taps
        if self.config.ghost_on == GHOST_HEADS:
            made = _convolve(x, taps, tokens)
            rows = self.table.get(f"{name}.ghost_kernel")
            if rows is None:
                return self.dense(name, tf.concat((x, made), -1))
            return self.dense(name, x) + tf.matmul(made, rows)
        groups, count = taps.shape[1], taps.shape[3]
        kernels = tf.split(self.table[f"{name}.kernel"], groups, 0)
        parts = [tf.matmul(part, kernel) for part, kernel in zip(tf.split(x, groups, -1), kernels, strict=True)]
        joined = tf.concat(parts, -1)
        made = _convolve(joined, taps, tokens)
        made = tf.matmul(tf.reshape(made, (-1, count)), self.table[f"{ghost}.gain"][:, None])
        total = tf.reshape(made, (-1, self.config.bottleneck_size))
        # Not `parts` themselves: tf2onnx would compute each product twice, the second time with the sum as its bias.
        for part in tf.split(joined, groups, -1):
            total += part
        return total + self.table[f"{name}.bias"] if f"{name}.bias" in self.table else total

    def activation(self, x: tf.Tensor) -> tf.Tensor:
        return _ACTIVATIONS[self.config.activation](x)


def _convolve(x: tf.Tensor, taps: tf.Tensor, tokens: Leading) -> tf.Tensor:
    """All ghosts of features [batch * time, groups * size], after ReLU.

    One depthwise convolution over an image [time, groups]; its kernel spans all groups and so sums over them.
    """
    length, groups, size, count = taps.shape
    image = tf.reshape(x, (*tokens.shape, groups, size))
    image *= tf.reshape(tokens.real, (*tokens.shape, 1, 1))  # a ghost of the last token reads the padding next to it
    image = tf.pad(image, ((0, 0), (length // 2, length // 2), (0, 0), (0, 0)))
    made = tf.nn.relu(tf.nn.depthwise_conv2d(image, taps, (1, 1, 1, 1), "VALID"))
    return tf.reshape(made, (-1, size * count))


def _gelu(x: tf.Tensor) -> tf.Tensor:
    # Spelled out: `tf.nn.gelu` becomes Erfc in ONNX, which ONNX Runtime lacks; TFLite fuses this form as well.
    return 0.5 * x * (1.0 + tf.math.erf(x / math.sqrt(2.0)))


def _gelu_tanh(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.gelu(x, approximate=True)


_ACTIVATIONS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "tanh": tf.tanh,
    "silu": tf.nn.silu,
}
