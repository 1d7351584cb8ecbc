"""Losses of single- and multi-label classification, and of learning from a teacher's probabilities."""

import tensorflow as tf


def single_label(
    logits: tf.Tensor, targets: tf.Tensor, class_weights: tf.Tensor, smoothing: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Smoothed cross entropy, and how many rows are right. `targets`: label indices."""
    count = logits.shape[-1]
    smooth = tf.one_hot(targets, count) * (1.0 - smoothing) + smoothing / count
    weights = tf.gather(class_weights, targets)
    losses = tf.nn.softmax_cross_entropy_with_logits(smooth, logits) * weights
    hits = tf.cast(tf.equal(tf.argmax(logits, -1, targets.dtype), targets), tf.float32)
    return tf.reduce_sum(losses) / tf.reduce_sum(weights), tf.reduce_sum(hits)


def multi_label(
    logits: tf.Tensor, targets: tf.Tensor, class_weights: tf.Tensor, smoothing: float
) -> tuple[tf.Tensor, tf.Tensor]:
    """Smoothed sigmoid cross entropy, and the rows' parts of right decisions. `targets`: 0 or 1 a label."""
    smooth = targets * (1.0 - smoothing) + 0.5 * smoothing
    losses = tf.nn.sigmoid_cross_entropy_with_logits(smooth, logits) * class_weights
    right = tf.cast(tf.equal(logits > 0, targets > 0.5), tf.float32)
    return tf.reduce_mean(losses), tf.reduce_sum(tf.reduce_mean(right, -1))


def distillation(logits: tf.Tensor, probabilities: tf.Tensor, temperature: float, multi: bool) -> tf.Tensor:
    """Cross entropy to a teacher's probabilities at `temperature`, times its square (Hinton et al., 2015)."""
    scaled = logits / temperature
    if multi:
        losses = tf.nn.sigmoid_cross_entropy_with_logits(probabilities, scaled)
    else:
        losses = tf.nn.softmax_cross_entropy_with_logits(probabilities, scaled)
    return tf.reduce_mean(losses) * temperature**2
