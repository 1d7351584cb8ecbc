"""Exact rewrites: functions from a network to a network that computes the same with less. `apply` runs those that help."""

from models_tf.encoder.rewrites.apply import FOLDS, apply

__all__ = ["FOLDS", "apply"]
