"""Ghosts in their exported form: constant kernels, and a separate kernel for the rows that read ghosts."""

import numpy as np

from models_tf.encoder.config import GHOST_HEADS
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.draft import Draft

_OUTPUTS = {"ghost_heads": "attention_output", "ghost_folds": "ffn.0.output"}


def fold_ghosts(network: Network) -> Network:
    """Requires: nothing. Ensures: no softmax over kernels is left; `ghost_*.taps` are positive and sum to 1.

    Where ghosts are concatenated with what they are made from, the rows that read them become the output's
    `ghost_kernel`. In int8 the two kernels then have separate scales: rows that began at zero and were trained briefly
    are far smaller than the others, and a common scale would round them all to zero.
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
