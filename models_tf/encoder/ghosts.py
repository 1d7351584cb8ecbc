"""The ghosts of GhostBERT as tensors: features that depthwise convolutions over time make of groups of features.

Groups (heads, folds of an FFN) lie above each other in an image [batch, group, time, channel] that is zero at padding.
Kernels [group, tap, channel, ghost] span all of them and so sum over them. Time is the width, not the height: ONNX
Runtime's convolutions run along it, twice as fast. Leaves out where kernels come from (`parts.py`).
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

_MOST_JOINED, _MOST_TAPS = 5, 9


@dataclass(frozen=True, kw_only=True)
class Leading:
    """The tokens of some features [batch * time, channel]: `real` [batch, time] is 0 at padding, else 1.

    `shape` is (batch, time) as `tf.reshape` takes it: at most one is -1, and time may be a tensor.
    """

    real: tf.Tensor
    shape: tuple[int, Any]


def without_padding(x: tf.Tensor, tokens: Leading) -> tf.Tensor:
    """Features [batch * time, channel] with zeros at padding: a ghost of the last token reads the token behind it."""
    return x * tf.reshape(tokens.real, (-1, 1))


def parts_of(x: tf.Tensor, groups: int) -> list[tf.Tensor]:
    """The features of each group. Slices, not a split: XNNPACK splits into four parts at most."""
    size = x.shape[-1] // groups
    return [x[:, start : start + size] for start in range(0, x.shape[-1], size)]


def image_of(parts: Sequence[tf.Tensor], tokens: Leading) -> tf.Tensor:
    lead, time = tokens.shape
    return join([tf.reshape(part, (lead, 1, time, part.shape[-1])) for part in parts], 1)


def images_of(parts: Sequence[tf.Tensor], tokens: Leading, taps: int) -> list[tf.Tensor]:
    """One image; or, in a graph for one row (TFLite), as few as have at most nine taps in a kernel.

    XNNPACK has kernels for 9 and for 25 taps, and two of the former take half as long as one of the latter with 18. In
    ONNX Runtime two take longer than one.
    """
    rows = max(_MOST_TAPS // taps, 1) if tokens.shape[0] == 1 else len(parts)
    return [image_of(parts[start : start + rows], tokens) for start in range(0, len(parts), rows)]


def together(image: tf.Tensor, taps: tf.Tensor) -> tf.Tensor:
    """All ghosts after ReLU, [batch, 1, time, channel * ghost], of one convolution: the least work for TensorFlow."""
    return tf.nn.relu(_convolve(image, taps))


def one_by_one(images: Sequence[tf.Tensor], taps: tf.Tensor) -> list[tf.Tensor]:
    """Each ghost after ReLU, [batch, 1, time, channel], by convolutions of its own: what runtimes are fast at.

    Their kernels for depthwise convolutions make one output of each channel. Where it shall be several, they fall back
    on products of matrices, channel by channel.
    """
    kernels = [tf.split(part, taps.shape[3], 3) for part in tf.split(taps, [image.shape[1] for image in images], 0)]
    by_ghost = zip(*kernels, strict=True)
    return [tf.nn.relu(added([_convolve(*pair) for pair in zip(images, ghost, strict=True)])) for ghost in by_ghost]


def sum_of_groups(image: tf.Tensor) -> tf.Tensor:
    """[batch, 1, time, channel]. A convolution too, so that in ONNX it has the layout of those that it is added to."""
    return _convolve(image, tf.ones((image.shape[1], 1, image.shape[3], 1), image.dtype))


def added(parts: Sequence[tf.Tensor]) -> tf.Tensor:
    """Two by two: TFLite's ADD_N is outside of XNNPACK."""
    return functools.reduce(tf.add, parts)


def join(parts: Sequence[tf.Tensor], axis: int) -> tf.Tensor:
    """Concatenates, at most five at a time: XNNPACK leaves others to kernels outside of it."""
    parts = list(parts)
    while len(parts) > _MOST_JOINED:
        first = min(len(parts) - _MOST_JOINED + 1, _MOST_JOINED)
        parts = [tf.concat(parts[:first], axis), *parts[first:]]
    return tf.concat(parts, axis)


def flat(image: tf.Tensor) -> tf.Tensor:
    """[batch * time, channel] of what is [batch, 1, time, channel]."""
    return tf.reshape(image, (-1, image.shape[-1]))


def _convolve(image: tf.Tensor, taps: tf.Tensor) -> tf.Tensor:
    # Padding as a setting of the convolution: ONNX has the same, and TFLite gets one PAD for all that read the image.
    side = taps.shape[1] // 2
    return tf.nn.depthwise_conv2d(image, taps, (1, 1, 1, 1), ((0, 0), (0, 0), (side, side), (0, 0)))
