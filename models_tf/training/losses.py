"""Losses of single- and multi-label classification, and of learning from a teacher's probabilities.

Where a batch has rows without labels, `labelled` [batch] is 1 for those with and 0 for those without. A loss is then
the mean over all rows of the batch, in which the others count as zero.
"""

import tensorflow as tf


def single_label(
    logits: tf.Tensor,
    targets: tf.Tensor,
    class_weights: tf.Tensor,
    smoothing: float,
    labelled: tf.Tensor | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Smoothed cross entropy, and how many rows are right. `targets`: label indices."""
    count = logits.shape[-1]
    smooth = tf.one_hot(targets, count) * (1.0 - smoothing) + smoothing / count
    weights = tf.gather(class_weights, targets)
    if labelled is not None:
        weights *= labelled
    losses = tf.nn.softmax_cross_entropy_with_logits(smooth, logits) * weights
    hits = tf.cast(tf.equal(tf.argmax(logits, -1, targets.dtype), targets), tf.float32)
    if labelled is None:
        return tf.reduce_sum(losses) / tf.reduce_sum(weights), tf.reduce_sum(hits)
    mean = tf.math.divide_no_nan(tf.reduce_sum(losses), tf.reduce_sum(weights))
    return mean * tf.reduce_mean(labelled), tf.reduce_sum(hits * labelled)


def multi_label(
    logits: tf.Tensor,
    targets: tf.Tensor,
    class_weights: tf.Tensor,
    smoothing: float,
    labelled: tf.Tensor | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Smoothed sigmoid cross entropy, and the rows' parts of right decisions. `targets`: 0 or 1 a label."""
    smooth = targets * (1.0 - smoothing) + 0.5 * smoothing
    losses = tf.nn.sigmoid_cross_entropy_with_logits(smooth, logits) * class_weights
    right = tf.reduce_mean(tf.cast(tf.equal(logits > 0, targets > 0.5), tf.float32), -1)
    if labelled is not None:
        losses, right = losses * labelled[:, None], right * labelled
    return tf.reduce_mean(losses), tf.reduce_sum(right)


def distillation(
    logits: tf.Tensor, probabilities: tf.Tensor, temperature: float, multi: bool, weights: tf.Tensor | None = None
) -> tf.Tensor:
    """Cross entropy to a teacher's probabilities at `temperature`, times its square (Hinton et al., 2015).

    The mean over the rows, each with its weight if there are `weights` [batch].
    """
    scaled = logits / temperature
    if multi:
        losses = tf.nn.sigmoid_cross_entropy_with_logits(probabilities, scaled)
    else:
        losses = tf.nn.softmax_cross_entropy_with_logits(probabilities, scaled)
    if weights is not None:
        losses *= weights[:, None] if multi else weights
    return tf.reduce_mean(losses) * temperature**2


def like_teacher(logits: tf.Tensor, probabilities: tf.Tensor, multi: bool) -> tf.Tensor:
    """[batch]: 1 where the answer is the teacher's (multi-label: the part of the decisions that are)."""
    if multi:
        return tf.reduce_mean(tf.cast(tf.equal(logits > 0, probabilities > 0.5), tf.float32), -1)
    return tf.cast(tf.equal(tf.argmax(logits, -1), tf.argmax(probabilities, -1)), tf.float32)
