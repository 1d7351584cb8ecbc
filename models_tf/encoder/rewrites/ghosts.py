"""Ghosts as an export has them: kernels as constants, and the rows that read ghosts as a kernel of their own."""

import numpy as np

from models_tf.encoder.config import GHOST_HEADS
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.draft import Draft

_OUTPUTS = {"ghost_heads": "attention_output", "ghost_folds": "ffn.0.output"}


def fold_ghosts(network: Network) -> Network:
    """Requires: nothing. Ensures: no softmax over kernels is left; `ghost_*.taps` are positive and add up to 1. Where ghosts
    are concatenated with what they are made of, the rows that read them are `ghost_kernel` of the output.

    In int8 the two kernels then have scales of their own: rows that began at zero and were trained briefly are far smaller
    than the others, and with one scale all of them would be rounded to zero.
    """
    draft = Draft(network)
    for layer in range(len(network.config.first_uses)):
        for ghosts, dense in _OUTPUTS.items():
            name, output = f"layers.{layer}.{ghosts}", f"layers.{layer}.{dense}"
            logits = draft.pop(f"{name}.kernel")
            if logits is None:
                continue
            powers = np.exp(logits - logits.max(0))
            draft[f"{name}.taps"] = powers / powers.sum(0)
            if network.config.ghost_on == GHOST_HEADS:
                kept, kernel = logits.shape[1] * logits.shape[2], draft[f"{output}.kernel"]
                draft[f"{output}.kernel"], draft[f"{output}.ghost_kernel"] = kernel[:kept], kernel[kept:]
    return draft.result()
