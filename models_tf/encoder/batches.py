"""Tokenized rows in batches of similar length, cut to the longest of each; and a model's outputs on all rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from models_tf.encoder import forward
from models_tf.encoder.config import EncoderConfig
from models_tf.encoder.model import Encoder
from models_tf.encoder.network import Form
from models_tf.layers.dropout import Draws
from models_tf.spec import IDS, MASK, SEGMENTS

INPUTS = (IDS, MASK, SEGMENTS)
# Tokens in a batch without gradients: enough to keep two cores busy, few enough to stay in their caches.
_TOKENS = 4096


def lengths_of(inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """Places up to the last token of each row."""
    mask = inputs[MASK]
    return mask.shape[1] - np.argmax(mask[:, ::-1] != 0, axis=1)


class Predictor:
    """Runs a model without gradients on rows of any length."""

    def __init__(
        self,
        model: Encoder,
        table: Callable[[], Mapping[str, Any]] | None = None,
        *,
        config: EncoderConfig | None = None,
    ) -> None:
        """`table` gives other weights than the model's own; it and `config` are as `activations` takes them."""
        self.model, self.table, self.config = model, table, config
        self._run = tf.function(
            self._outputs, input_signature=[tf.TensorSpec((None, None), tf.int32)] * 3, autograph=False
        )

    def __call__(
        self, inputs: Mapping[str, np.ndarray], *, report: Callable[[int, int], None] | None = None
    ) -> dict[str, np.ndarray]:
        """The outputs on all rows; those with a place for each token are padded with zeros to the inputs' length."""
        full, lengths, places = inputs[IDS].shape[1], lengths_of(inputs), not self.model.head.reads_pooled
        found: dict[str, np.ndarray] = {}
        done = 0
        for rows in _by_length(lengths):
            length = int(lengths[rows].max())
            outputs = self._run(*(tf.constant(inputs[name][rows, :length]) for name in INPUTS))
            for name, value in outputs.items():
                array = value.numpy()
                if name not in found:
                    shape = (full, *array.shape[2:]) if places else array.shape[1:]
                    found[name] = np.zeros((len(lengths), *shape), np.float32)
                if places:
                    found[name][rows, :length] = array
                else:
                    found[name][rows] = array
            done += len(rows)
            if report:
                report(done, len(lengths))
        return found

    def _outputs(self, ids: tf.Tensor, mask: tf.Tensor, segments: tf.Tensor) -> dict[str, tf.Tensor]:
        table = self.table() if self.table else None
        batch = {IDS: ids, MASK: mask, SEGMENTS: segments}
        return activations(self.model, batch, table=table, config=self.config).outputs


def activations(
    model: Encoder,
    batch: Mapping[str, tf.Tensor],
    *,
    draws: Draws | None = None,
    whole: bool = False,
    table: Mapping[str, Any] | None = None,
    config: EncoderConfig | None = None,
    soft_retention: Sequence[tf.Tensor] | None = None,
) -> forward.Activations:
    """Outputs and inside. Unless the `whole` is asked for, what a classifier does not read of the last layer is not
    computed: exact, and a layer's time less; the last hidden state and most of the last scores are then absent.

    `table` and `config`: in place of the model's own, such as masked weights and fewer tokens. `draws` and
    `soft_retention`: as in `forward.Options`.
    """
    options = forward.Options(
        form=Form(first_token_only=model.head.reads_pooled and not whole),
        draws=draws,
        soft_retention=soft_retention,
    )
    inputs = {"ids": batch[IDS], "mask": batch[MASK], "segments": batch[SEGMENTS]}
    return forward.run(config or model.config, model.head, table or model.table, **inputs, options=options)


def _by_length(lengths: np.ndarray) -> Iterator[np.ndarray]:
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end - start + 1) * int(lengths[order[end]]) <= _TOKENS:
            end += 1
        yield order[start:end]
        start = end
