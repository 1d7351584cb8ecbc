"""Folds NoNorm layers (`gamma * y + beta`) into the dense layers around them.

A norm multiplies the sum of a dense layer and a skip path. Its beta and gamma go into the dense layer. For the skip
path there are two modes. In full mode the whole stream is scaled by `c`, the product of all gammas still to come: what
is added to the stream is multiplied by it, readers divide their rows by it, and no multiplication is left. In safe mode
the skip path keeps its multiplication, as `<norm>.skip`. Full mode falls back to that for a single norm if a gamma is
zero or the product becomes extreme. There the product restarts at 1: for the channels of such a gamma or, if the
product has drifted, for all channels.

Leaves LayerNorm alone: it is not linear.
"""

import numpy as np

from models_tf.encoder.config import NO_NORM
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.draft import Draft

# float32 would allow more: scaling a channel changes no relative rounding error until values leave its range, some
# 1e38 away. Half precision sets the limit. A typical weight, 0.05, divided by 256 is 2e-4, above the smallest normal
# half (6.1e-5), so it keeps its 11 bits; multiplied by 256 it is 13, far below the largest (65504).
MAX_SCALE = 256.0


def fold_norms(network: Network, *, keep_skips: bool = False) -> tuple[Network, tuple[str, ...]]:
    """Requires: nothing; a network with LayerNorm is returned unchanged.

    Ensures: no gamma and no beta is left. Also returns the norms that keep a multiplication on their skip path: with
    `keep_skips` (safe mode) all whose gammas are not all 1, otherwise those that fell back.
    """
    if network.config.norm != NO_NORM or "embedding_norm.gamma" not in network.tensors:
        return network, ()
    fold = _Fold(network, keep_skips)
    fold.all_layers()
    return fold.draft.result(), tuple(reversed(fold.kept))


class _Fold:
    """One backward walk, from the last norm to the embedding."""

    def __init__(self, network: Network, keep_skips: bool) -> None:
        self.config, self.keep_skips = network.config, keep_skips
        self.draft = Draft(network)
        self.kept: list[str] = []

    def all_layers(self) -> None:
        config = self.config
        scale = np.ones(config.hidden_size)  # of the stream after the layer
        for layer in reversed(range(config.num_layers)):
            scale = self.layer(f"layers.{layer}", scale)
        gamma, beta = self.take("embedding_norm")
        words = "embedding_projection" if config.projects_embedding else "word_embedding"
        for name in (words, "position_embedding", "segment_embedding"):
            self.draft.scale_outputs(name, gamma * scale)
        self.draft["position_embedding"] = self.draft["position_embedding"] + beta * scale

    def layer(self, name: str, scale: np.ndarray) -> np.ndarray:
        """Folds one layer whose output is multiplied by `scale`; returns the scale of its input."""
        config, draft = self.config, self.draft
        inner = scale
        if config.use_bottleneck:
            scale = self.sum_norm(f"{name}.bottleneck_output_norm", f"{name}.bottleneck_output", scale)
            inner = np.ones(config.bottleneck_size)
        for number in reversed(range(config.num_ffn)):
            inner = self.sum_norm(f"{name}.ffn.{number}.norm", f"{name}.ffn.{number}.output", inner)
            draft.undo_inputs(f"{name}.ffn.{number}.intermediate", inner)
        # If only this sum reads the bottleneck, no reader has to divide: any factor can go into its columns.
        alone = config.use_bottleneck and not config.use_bottleneck_attention
        inner = self.sum_norm(f"{name}.attention_norm", f"{name}.attention_output", inner, always=alone)
        if not config.use_bottleneck:
            scale = inner
        scales = {"input": scale, "bottleneck": inner, "shared": np.ones(config.bottleneck_size)}
        for part in ("query", "key", "value"):
            draft.undo_inputs(f"{name}.{part}", scales[config.reads(part)])
        for part, after in (("bottleneck_input", inner), ("bottleneck_shared", scales["shared"])):
            if f"{name}.{part}.kernel" in draft:
                gamma, beta = self.take(f"{name}.{part}_norm")
                draft.scale_outputs(f"{name}.{part}", gamma * after)
                draft.add_bias(f"{name}.{part}", beta * after)
                draft.undo_inputs(f"{name}.{part}", scale)
        return scale

    def sum_norm(self, norm: str, dense: str, scale: np.ndarray, *, always: bool = False) -> np.ndarray:
        """Folds a norm of dense + skip whose result is multiplied by `scale`; returns the scale of the skip path.

        `always`: keep no multiplication, however extreme the factors.
        """
        gamma, beta = self.take(norm)
        before = gamma * scale
        self.draft.scale_outputs(dense, before)
        self.draft.add_bias(dense, beta * scale)
        if always or (not self.keep_skips and not _extreme(before).any()):
            return before
        inside = np.ones_like(before)
        own = _extreme(gamma)
        if not self.keep_skips and not _extreme(before)[~own].any():
            # Only a few gammas of this norm are extreme: the other channels continue, with factor 1 on their skip path.
            inside = np.where(own, 1.0, before)
        if np.any(before != inside):
            self.draft[f"{norm}.skip"] = before / inside
            self.kept.append(norm)
        return inside

    def take(self, norm: str) -> tuple[np.ndarray, np.ndarray]:
        gamma, beta = self.draft.pop(f"{norm}.gamma"), self.draft.pop(f"{norm}.beta")
        if gamma is None or beta is None:
            raise ValueError(f"A norm must have gamma and beta to be folded. Received: {norm} without them.")
        return gamma, beta


def _extreme(factors: np.ndarray) -> np.ndarray:
    return (np.abs(factors) < 1 / MAX_SCALE) | (np.abs(factors) > MAX_SCALE)
