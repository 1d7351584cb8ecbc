"""Movement pruning (Sanh et al., 2020): removes single weights by the direction training moves them, not by size.

Each dense kernel W of the layers gets scores S of its shape and is used as W' = W * M(S). The gradient passes straight
through the mask: dL/dS = dL/dW' * W, so the score of a weight that moves away from zero grows, even while masked.

- `topk`: keeps the int(share * entries) weights with the highest scores of each matrix. All scores begin at zero; of
  equal scores the larger |W| is kept, of equal |W| the first, so that no mask is arbitrary.
- `soft`: keeps weights whose sigmoid(S) is above a threshold, at least 0.5 % of each matrix; a penalty on the mean of
  sigmoid(S) pushes the scores down.

A mask is exact in the step that makes it and is reused for some steps, since ranking all scores takes a good part of a
step. Embeddings, biases, norms, ghosts and head stay dense. The result is W * M, without scores. Leaves out removing
whole heads and neurons: that is `export-mobile compress`.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from models_tf.training.movement_settings import LEAST_SHARE, SOFT, MovementSettings

SCORE = ".score"


def prunable(name: str, rank: int) -> bool:
    """Dense kernels inside the layers; a ghost's kernel has more axes."""
    return name.startswith("layers.") and name.endswith(".kernel") and rank == 2


def keep_highest(scores: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """A mask of exactly `count` entries: the highest scores, then the largest |weight|, then the first."""
    flat = scores.reshape(-1)
    if count >= flat.size:
        return np.ones(scores.shape, bool)
    lowest = np.partition(flat, flat.size - count)[flat.size - count]
    mask = flat > lowest
    tied = np.flatnonzero(flat == lowest)
    missing = count - int(np.count_nonzero(mask))
    if missing < len(tied):
        tied = tied[np.argsort(-np.abs(weights.reshape(-1)[tied]), kind="stable")[:missing]]
    mask[tied] = True
    return mask.reshape(scores.shape)


def keep_above(scores: np.ndarray, weights: np.ndarray, threshold: float) -> np.ndarray:
    """A mask of the entries whose sigmoid is above `threshold`; if these are too few, of the highest."""
    # In terms of scores: sigmoid(S) > t means S > log(t / (1 - t)), and is always true for t = 0.
    mask = scores > (math.log(threshold / (1.0 - threshold)) if threshold > 0.0 else -math.inf)
    least = max(1, math.ceil(LEAST_SHARE * scores.size))
    return mask if np.count_nonzero(mask) >= least else keep_highest(scores, weights, least)


@tf.custom_gradient
def masked(weight: tf.Tensor, score: tf.Tensor, mask: tf.Tensor) -> Any:
    """The weight times the mask; the score gets the gradient that a real-valued mask would get."""

    def gradients(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, None]:
        return tf.where(mask, upstream, 0.0), upstream * weight, None

    del score  # its effect is in the mask
    return tf.where(mask, weight, 0.0), gradients


class Movement:
    """Scores and masks for the kernels of `table`, over `steps` steps."""

    def __init__(self, table: Mapping[str, tf.Variable], settings: MovementSettings, steps: int) -> None:
        self.settings, self.steps = settings, steps
        self.kernels = {name: weight for name, weight in table.items() if prunable(name, weight.shape.rank)}
        self.scores = {name + SCORE: tf.Variable(tf.zeros_like(weight)) for name, weight in self.kernels.items()}
        self.masks = {
            name: tf.Variable(tf.ones(weight.shape, tf.bool), trainable=False) for name, weight in self.kernels.items()
        }
        self.penalty_weight = tf.Variable(0.0, trainable=False)
        self.penalized = settings.kind == SOFT

    @property
    def held(self) -> list[tf.Variable]:
        """What a resumed training needs besides the scores."""
        return list(self.masks.values())

    def table(self, weights: Mapping[str, tf.Variable]) -> dict[str, Any]:
        """`weights` with the kernels masked."""
        found: dict[str, Any] = dict(weights)
        for name in self.kernels:
            weight, score = tf.convert_to_tensor(weights[name]), tf.convert_to_tensor(self.scores[name + SCORE])
            found[name] = masked(weight, score, tf.convert_to_tensor(self.masks[name]))
        return found

    def penalty(self) -> tf.Tensor:
        """For `soft`: the mean sigmoid of each matrix, averaged over matrices and weighted."""
        means = [tf.reduce_mean(tf.sigmoid(score)) for score in self.scores.values()]
        return self.penalty_weight * tf.add_n(means) / len(means)

    def before_step(self, step: int) -> None:
        """Renews the masks if they are due at `step`."""
        if self.penalized:
            self.penalty_weight.assign(self.settings.penalty_at(step, self.steps))
        if step % self.settings.every == 0:
            self.refresh(step)

    def refresh(self, step: int) -> None:
        """Renews the masks from the current scores at this point of the schedule."""
        settings = self.settings
        share, threshold = settings.share_at(step, self.steps), settings.threshold_at(step, self.steps)
        for name, kernel in self.kernels.items():
            scores, weights = self.scores[name + SCORE].numpy(), kernel.numpy()
            if settings.kind == SOFT:
                mask = keep_above(scores, weights, threshold)
            else:
                mask = keep_highest(scores, weights, max(1, int(share * scores.size)))
            self.masks[name].assign(mask)

    def epochs_to_final(self, steps_per_epoch: int) -> int:
        """Epochs that end before the final sparsity is reached."""
        ends = range(steps_per_epoch, self.steps + 1, steps_per_epoch)
        return sum(self.settings.left(end, self.steps) > 0.0 for end in ends)

    def bake(self, tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """`tensors` with the masks multiplied in."""
        zero = np.float32(0.0)
        return {
            name: np.where(self.masks[name].numpy(), value, zero) if name in self.masks else value
            for name, value in tensors.items()
        }

    def kept(self) -> dict[str, Any]:
        """Shares that the masks keep: of all kernels together, and of each."""
        counts = {name: int(np.count_nonzero(mask.numpy())) for name, mask in self.masks.items()}
        sizes = {name: int(np.prod(mask.shape)) for name, mask in self.masks.items()}
        return {
            "share": sum(counts.values()) / sum(sizes.values()),
            "weights": sum(counts.values()),
            "of": sum(sizes.values()),
            "matrices": {name: counts[name] / sizes[name] for name in counts},
        }
