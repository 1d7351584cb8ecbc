"""Exact rewrites: network -> network that computes the same with less work. `apply` runs the ones that help."""

from models_tf.encoder.rewrites.apply import FOLDS, apply

__all__ = ["FOLDS", "apply"]
