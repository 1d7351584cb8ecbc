"""The accuracy of a model without one of its heads, with one head alone in its layer, and without one of its layers.

Follows the tables of Michel et al., "Are sixteen heads really better than one?": nothing is trained in between. A head
is masked through the forward pass's hook (`alter_context`), so the model is built and traced once; a layer is dropped
as `compress` drops it. Works for any token model. A head whose weights several layers share is masked in all of them.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from models_tf.checkpoints.encoder import EncoderCheckpoint
from models_tf.compress.ablation_result import Ablation, Change
from models_tf.compress.layers import drop_layers
from models_tf.encoder import forward
from models_tf.encoder.batches import Predictor
from models_tf.encoder.model import Encoder
from models_tf.encoder.network import Form, Network
from models_tf.errors import InputError
from models_tf.spec import LOGITS
from models_tf.tasks import CLASSIFICATION
from models_tf.tasks.rows import TaskRows

# Called with the number of variants done and the total.
Report = Callable[[int, int], None]


class MaskedPredictor(Predictor):
    """Runs a model with some heads masked. `masks[number]` holds a 1 or 0 for each head of the weights `layers.N`."""

    def __init__(self, model: Encoder) -> None:
        super().__init__(model)
        config = model.config
        self.masks = [tf.Variable(tf.ones(config.heads_of(layer)), trainable=False) for layer in config.first_uses]

    def _outputs(self, ids: tf.Tensor, mask: tf.Tensor, segments: tf.Tensor) -> dict[str, tf.Tensor]:
        size = self.model.config.head_size

        def masked(name: str, context: tf.Tensor) -> tf.Tensor:
            return context * tf.repeat(self.masks[int(name.split(".")[1])], size)

        # Exact, and saves most of the last layer's time: a classifier reads only the first token.
        form = Form(first_token_only=self.model.head.reads_pooled)
        options = forward.Options(form=form, alter_context=masked)
        inputs = {"ids": ids, "mask": mask, "segments": segments}
        return forward.run(self.model.config, self.model.head, self.model.table, **inputs, options=options).outputs

    def without(self, layer: int, heads: Sequence[int], inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs on all rows with these heads of one layer masked."""
        values = np.ones(self.masks[layer].shape, np.float32)
        values[list(heads)] = 0.0
        self.masks[layer].assign(values)
        try:
            return self(inputs)
        finally:
            self.masks[layer].assign(np.ones_like(values))


def ablate(
    checkpoint: EncoderCheckpoint,
    rows: TaskRows,
    *,
    heads: bool = True,
    alone: bool = False,
    layers: bool = True,
    report: Report | None = None,
) -> Ablation:
    """Scores every requested variant on labelled rows."""
    config = checkpoint.config
    if layers and config.num_layers == 1 and not (heads or alone):
        raise InputError("A layer can be removed where another stays. Received: a model of 1 layer.")
    network = Network(config=config, head=checkpoint.head, tensors=checkpoint.tensors)
    predictor = MaskedPredictor(Encoder(config, checkpoint.head, checkpoint.tensors))
    total = 1 + sum(map(config.heads_of, config.first_uses)) * (heads + alone) + config.num_layers * layers
    whole = predictor(rows.inputs)
    score, right = rows.score(whole), _right(rows, whole)
    done = 1

    def change(outputs: dict[str, np.ndarray]) -> Change:
        nonlocal done
        done += 1
        if report:
            report(done, total)
        points = rows.score(outputs).value - score.value
        return Change(points=points, standard_error=_paired_error(right, _right(rows, outputs)))

    gone, single = [], []
    for layer, first in enumerate(config.first_uses):
        every = range(config.heads_of(first))
        if heads:
            gone.append(tuple(change(predictor.without(layer, [head], rows.inputs)) for head in every))
        if alone:
            others = [[other for other in every if other != head] for head in every]
            single.append(tuple(change(predictor.without(layer, rest, rows.inputs)) for rest in others))
    dropped = []
    for layer in range(config.num_layers) if layers and config.num_layers > 1 else ():
        smaller = drop_layers(network, [layer])
        dropped.append(change(Predictor(Encoder(smaller.config, smaller.head, smaller.tensors))(rows.inputs)))
    return Ablation(whole=score, heads=tuple(gone), alone=tuple(single), layers=tuple(dropped))


def _right(rows: TaskRows, outputs: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Which rows are; None where the score is no mean over rows, as with several labels per text."""
    if rows.task != CLASSIFICATION or rows.targets is None or rows.targets[LOGITS].ndim != 1:
        return None
    return outputs[LOGITS].argmax(-1) == rows.targets[LOGITS]


def _paired_error(before: np.ndarray | None, after: np.ndarray | None) -> float | None:
    """Standard error of the mean difference per row, in points."""
    if before is None or after is None or len(before) < 2:
        return None
    difference = after.astype(np.float64) - before
    return float(100 * difference.std(ddof=1) / np.sqrt(len(difference)))
