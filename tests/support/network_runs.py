"""Rows for the networks of `tiny_models`, what they answer, masks on their heads, and how far two answers differ."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from models_tf.encoder import forward
from models_tf.encoder.graph import NetworkGraph
from models_tf.encoder.network import Network
from support.tiny_models import TIME, WORD_COUNT


def rows(
    count: int = 4, *, time: int = TIME, vocabulary: int = WORD_COUNT, padded: bool = True, seed: int = 1
) -> dict[str, np.ndarray]:
    """Both segments; padded rows have 1 to `time` tokens, the first one has all, and PAD (0) behind them."""
    rng = np.random.default_rng(seed)
    lengths = np.r_[time, rng.integers(1, time, count - 1)] if padded else np.full(count, time)
    mask = np.arange(time) < lengths[:, None]
    return {
        "ids": (rng.integers(1, vocabulary, (count, time)) * mask).astype(np.int32),
        "mask": mask.astype(np.int32),
        "segments": rng.integers(0, 2, (count, time)).astype(np.int32),
    }


def answers(of: Network, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Of the graph that is exported."""
    return NetworkGraph(of, given["ids"].shape[1]).predict(given)


def outputs(
    network: Network, given: Mapping[str, np.ndarray], alter_context: forward.ContextChange | None = None
) -> dict[str, np.ndarray]:
    """Of the forward pass."""
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


def relative_error(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> float:
    """Largest error of any output, as a share of its largest value."""
    assert set(found) == set(expected)
    errors = [np.abs(found[name] - expected[name]).max() / np.abs(expected[name]).max() for name in expected]
    return float(max(errors))


def of_tokens(outputs: Mapping[str, np.ndarray], given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Answers for padding are nobody's: those for tokens, and those for the whole row."""
    mask = given["mask"]
    return {name: v[mask > 0] if v.shape[:2] == mask.shape else v for name, v in outputs.items()}


def error_of_tokens(after: Network, before: Network, given: dict[str, np.ndarray]) -> float:
    return relative_error(of_tokens(answers(after, given), given), of_tokens(answers(before, given), given))
