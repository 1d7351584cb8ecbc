"""The parts that a layer is made of, given the weights by name: dense layers, norms, dropout, ghosts, activations.

What is absent from the table is not computed; see `forward.py`.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from models_tf.encoder import ghosts
from models_tf.encoder.config import GHOST_HEADS, LAYER_NORM, EncoderConfig
from models_tf.encoder.ghosts import Leading
from models_tf.layers.dropout import Draws


class Parts:
    """The parts of one model, by the names of their weights."""

    def __init__(self, config: EncoderConfig, table: Mapping[str, Any], draws: Draws | None = None) -> None:
        """With `draws` there is dropout."""
        self.config, self.table, self.draws = config, table, draws

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
        return x if self.draws is None else self.draws.dropout(x, rate)

    def ghosts(self, name: str) -> bool:
        return any(f"{name}.{part}" in self.table for part in ("kernel", "taps", "taps_less"))

    def dense_with_ghosts(self, name: str, ghost: str, x: tf.Tensor, tokens: Leading) -> tf.Tensor:
        """A dense layer on grouped features (heads, folds), with the ghosts of these groups if there are any."""
        if not self.ghosts(ghost):
            return self.dense(name, x)
        x = ghosts.without_padding(x, tokens)
        if self.config.ghost_on == GHOST_HEADS:
            return self._with_features(name, ghost, x, tokens)
        return self._with_outputs(name, ghost, x, tokens)

    def _with_features(self, name: str, ghost: str, x: tf.Tensor, tokens: Leading) -> tf.Tensor:
        """Ghosts of the features themselves, which the dense layer reads as well."""
        taps = self._taps(ghost)
        parts = ghosts.parts_of(x, taps.shape[0])
        if f"{ghost}.kernel" in self.table:
            made = ghosts.together(ghosts.image_of(parts, tokens), taps)
            return self.dense(name, tf.concat((x, ghosts.flat(made)), -1))
        made = ghosts.join(ghosts.one_by_one(ghosts.images_of(parts, tokens, taps.shape[1]), taps), -1)
        return self.dense(name, x) + tf.matmul(ghosts.flat(made), self.table[f"{name}.ghost_kernel"])

    def _with_outputs(self, name: str, ghost: str, x: tf.Tensor, tokens: Leading) -> tf.Tensor:
        """Ghosts of what each group adds to the output, added to it as well."""
        more, less = self._taps(ghost), self.table.get(f"{ghost}.taps_less")
        groups, taps = next(found.shape[:2] for found in (more, less) if found is not None)
        kernels = tf.split(self.table[f"{name}.kernel"], groups, 0)
        parts = [tf.matmul(part, kernel) for part, kernel in zip(ghosts.parts_of(x, groups), kernels, strict=True)]
        if f"{ghost}.kernel" in self.table:
            image, (lead, time) = ghosts.image_of(parts, tokens), tokens.shape
            made = tf.reshape(ghosts.together(image, more), (-1, more.shape[3])) @ self.table[f"{ghost}.gain"][:, None]
            total = ghosts.sum_of_groups(image) + tf.reshape(made, (lead, 1, time, more.shape[2]))
        else:
            images = ghosts.images_of(parts, tokens, taps)
            total = ghosts.added([ghosts.sum_of_groups(image) for image in images])
            total = total if more is None else total + ghosts.added(ghosts.one_by_one(images, more))
            total = total if less is None else total - ghosts.added(ghosts.one_by_one(images, less))
        total = ghosts.flat(total)
        return total + self.table[f"{name}.bias"] if f"{name}.bias" in self.table else total

    def _taps(self, ghost: str) -> Any:
        """[group, tap, channel, ghost], None if there are none to be added; constants after a rewrite."""
        if f"{ghost}.kernel" not in self.table:
            return self.table.get(f"{ghost}.taps")
        return tf.transpose(tf.nn.softmax(self.table[f"{ghost}.kernel"], 0), (1, 0, 2, 3))

    def activation(self, x: tf.Tensor) -> tf.Tensor:
        return activate(self.config.activation, x)


def activate(name: str, x: tf.Tensor) -> tf.Tensor:
    return _ACTIVATIONS[name](x)


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
