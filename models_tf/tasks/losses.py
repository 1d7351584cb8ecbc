"""Losses of token models, against labels and against a teacher's logits. `-100` marks places without a target.

Where a text may have several labels, its target is a float for each label, 0 or 1. Each label is a question of its own,
so the loss of a row is the sum over labels: the logarithm of how probable all of them are together.
"""

import math
from collections.abc import Mapping

import tensorflow as tf

from models_tf.spec import END_LOGITS, LOGITS, START_LOGITS
from models_tf.tasks import QUESTION_ANSWERING, REGRESSION, TOKEN_CLASSIFICATION

Outputs = Mapping[str, tf.Tensor]


def task_loss(task: str, outputs: Outputs, targets: Outputs, smoothing: float) -> tuple[tf.Tensor, tf.Tensor]:
    """A batch's mean loss and the number of correct rows (words: rows times the share correct; several labels: the
    rows' shares of right decisions; scores: NaN).
    """
    if task == REGRESSION:
        return tf.reduce_mean(tf.square(outputs[LOGITS][:, 0] - targets[LOGITS])), tf.constant(math.nan)
    if task == QUESTION_ANSWERING:
        losses, hits = [], []
        for name in (START_LOGITS, END_LOGITS):
            losses.append(tf.reduce_mean(_cross_entropy(outputs[name], targets[name], smoothing)))
            hits.append(_right(outputs[name], targets[name]))
        return tf.add_n(losses) / 2.0, tf.reduce_sum(hits[0] * hits[1])
    logits, labels = outputs[LOGITS], targets[LOGITS]
    if _are_several(labels):
        smooth = labels * (1.0 - smoothing) + 0.5 * smoothing
        right = tf.cast(tf.equal(logits > 0.0, labels > 0.5), tf.float32)
        losses = tf.nn.sigmoid_cross_entropy_with_logits(smooth, logits)
        return tf.reduce_mean(tf.reduce_sum(losses, -1)), tf.reduce_sum(tf.reduce_mean(right, -1))
    counted = tf.cast(labels >= 0, tf.float32)
    total = tf.maximum(tf.reduce_sum(counted), 1.0)
    safe = tf.maximum(labels, 0)
    loss = tf.reduce_sum(_cross_entropy(logits, safe, smoothing) * counted) / total
    hits = tf.reduce_sum(_right(logits, labels) * counted)
    if task == TOKEN_CLASSIFICATION:
        hits *= tf.cast(tf.shape(labels)[0], tf.float32) / total
    return loss, hits


def label_count(task: str, targets: Outputs) -> tf.Tensor:
    """What the means of `task_loss` and `teacher_loss` are taken over: rows, or words that have a label."""
    if task in (REGRESSION, QUESTION_ANSWERING):
        return tf.cast(tf.shape(next(iter(targets.values())))[0], tf.float32)
    return tf.reduce_sum(tf.cast(targets[LOGITS] >= 0, tf.float32))


def teacher_loss(
    task: str, outputs: Outputs, soft: Outputs, targets: Outputs, mask: tf.Tensor, *, temperature: float
) -> tf.Tensor:
    """Cross entropy to the teacher's probabilities at `temperature`, times its square (Hinton et al., 2015).

    Words: places with a target. Questions: all places except padding. Scores: the squared difference.
    """
    if task == REGRESSION:
        return tf.reduce_mean(tf.square(outputs[LOGITS] - soft[LOGITS]))
    if task == QUESTION_ANSWERING:
        padding = (1.0 - tf.cast(mask, tf.float32)) * -1e9
        parts = [
            tf.reduce_mean(soft_cross_entropy(outputs[name] + padding, soft[name] + padding, temperature))
            for name in (START_LOGITS, END_LOGITS)
        ]
        return tf.add_n(parts) / 2.0
    if _are_several(targets[LOGITS]):
        wanted = tf.sigmoid(soft[LOGITS] / temperature)
        losses = tf.nn.sigmoid_cross_entropy_with_logits(wanted, outputs[LOGITS] / temperature)
        return tf.reduce_mean(tf.reduce_sum(losses, -1)) * temperature**2
    losses = soft_cross_entropy(outputs[LOGITS], soft[LOGITS], temperature)
    counted = tf.cast(targets[LOGITS] >= 0, tf.float32)
    return tf.reduce_sum(losses * counted) / tf.maximum(tf.reduce_sum(counted), 1.0)


def soft_cross_entropy(logits: tf.Tensor, teacher: tf.Tensor, temperature: float) -> tf.Tensor:
    probabilities = tf.nn.softmax(teacher / temperature)
    return tf.nn.softmax_cross_entropy_with_logits(probabilities, logits / temperature) * temperature**2


def _are_several(targets: tf.Tensor) -> bool:
    """Whether a target is a float for each label."""
    return bool(targets.dtype.is_floating)


def _cross_entropy(logits: tf.Tensor, labels: tf.Tensor, smoothing: float) -> tf.Tensor:
    hard = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    if not smoothing:
        return hard
    return (1.0 - smoothing) * hard - smoothing * tf.reduce_mean(tf.nn.log_softmax(logits), -1)


def _right(logits: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.equal(tf.argmax(logits, -1, labels.dtype), labels), tf.float32)
