"""Scales and 8-bit values for ONNX files, whole arrays at a time: activations, tables, weights and biases.

The numbers are those of onnxruntime's own quantizer, which goes channel by channel and takes minutes for a model with
some ten thousand channels.
"""

from dataclasses import dataclass

import numpy as np

from quantize.arrays import Array

# Weights of 7 bits, see `static.py`.
REDUCED_PEAK = 64
# Two neighboring weights together, see `paired_scales`.
PAIR_PEAK = 127
_TINY = float(np.finfo(np.float32).tiny)
# A quantized bias must leave room for the sum that is added to it.
_MAX_BIAS = 2.0**30


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Scale and zero point of a tensor with one of each."""

    scale: np.float32
    zero: np.uint8


def activation_parameters(low: float, high: float) -> Parameters:
    """uint8; zero is always among the values."""
    bottom, top = min(np.float32(low), np.float32(0)), max(np.float32(high), np.float32(0))
    scale = (np.float64(top) - np.float64(bottom)) / 255.0
    if scale < _TINY:
        return Parameters(scale=np.float32(1), zero=np.uint8(0))
    return Parameters(scale=np.float32(scale), zero=np.uint8(np.round(-np.float64(bottom) / scale)))


def quantize_table(values: Array) -> tuple[Array, Parameters]:
    """A constant that is used like an activation: uint8, one scale."""
    parameters = activation_parameters(float(values.min()), float(values.max()))
    steps = np.rint(values.astype(np.float32) / parameters.scale) + int(parameters.zero)
    return np.clip(steps, 0, 255).astype(np.uint8), parameters


def weight_scales(values: Array, axis: int, peak: int) -> Array:
    """One scale for each slice along the axis, so that the largest value becomes `peak`."""
    others = tuple(i for i in range(values.ndim) if i != axis)
    scales = 2.0 * np.abs(values).max(axis=others).astype(np.float64) / (2 * peak)
    return np.where(scales < _TINY, 1.0, scales).astype(np.float32)


def paired_scales(values: Array) -> Array:
    """One scale for each column of a matrix [input, output], or of the last axis of several, as fine as 16 bits allow.

    x86 without VNNI multiplies unsigned activations with signed weights and adds up two neighbors in 16 bits, which
    hold 255 * 128. So two neighbors of the same sign may be 128 together: 127 before they are rounded. That is finer
    than 64 for each of them (`REDUCED_PEAK`), since the largest weights rarely lie side by side.
    """
    peaks = np.abs(values).max(axis=tuple(range(values.ndim - 1)))
    for signed in (values, -values):
        positive = np.maximum(signed, 0)
        pairs = positive[..., :-1, :] + positive[..., 1:, :]
        peaks = np.maximum(peaks, pairs.max(axis=tuple(range(values.ndim - 1)), initial=0.0))
    scales = peaks.astype(np.float64) / PAIR_PEAK
    return np.where(scales < _TINY, 1.0, scales).astype(np.float32)


def quantize_weights(values: Array, scales: Array, axis: int) -> Array:
    """int8, zero point 0."""
    shape = [-1 if i == axis else 1 for i in range(values.ndim)]
    steps: Array = np.rint(values.astype(np.float32) / scales.reshape(shape))
    return np.clip(steps, -128, 127).astype(np.int8)


def widen_for_bias(scales: Array, input_scale: np.float32, bias: Array) -> Array:
    """Weight scales that are large enough for the bias in steps of (input scale * weight scale) to fit 32 bits."""
    wide: Array = np.maximum(scales, (np.abs(bias) / (np.float64(input_scale) * _MAX_BIAS)).astype(np.float32))
    return wide


def quantize_bias(bias: Array, input_scale: np.float32, scales: Array) -> tuple[Array, Array]:
    """The bias as int32, and its scales, which are the scales of the products."""
    steps = (np.float32(input_scale) * scales).astype(np.float32)
    return np.rint(bias.astype(np.float64) / steps.astype(np.float64)).astype(np.int32), steps
