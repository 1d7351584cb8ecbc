"""Ghosts in their exported form: constant kernels, and separate kernels for what one int8 scale cannot serve."""

import numpy as np

from models_tf.encoder.config import GHOST_HEADS
from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.draft import Draft

_OUTPUTS = {"ghost_heads": "attention_output", "ghost_folds": "ffn.0.output"}


def fold_ghosts(network: Network) -> Network:
    """Requires: nothing. Ensures: no softmax over kernels and no gain is left; `ghost_*.taps` hold constants,
    [group, tap, channel, ghost].

    - Ghosts of heads: the rows of the output's kernel that read ghosts become its `ghost_kernel`, ghost by ghost. In
      int8 the two kernels then have separate scales: rows that began at zero and were trained briefly are far smaller
      than the others, and a common scale would round them all to zero.
    - Ghosts of outputs: g ReLU(z) is ReLU(g z) where g > 0 and -ReLU(-g z) where g < 0, so gains go into the taps:
      `taps` makes what is added, `taps_less` what is subtracted. A ghost with gain zero is gone.
    """
    draft = Draft(network)
    for layer in range(len(network.config.first_uses)):
        for ghosts, dense in _OUTPUTS.items():
            name, output = f"layers.{layer}.{ghosts}", f"layers.{layer}.{dense}"
            logits = draft.pop(f"{name}.kernel")
            if logits is None:
                continue
            powers = np.exp(logits - logits.max(0))
            taps = (powers / powers.sum(0)).swapaxes(0, 1)
            if network.config.ghost_on == GHOST_HEADS:
                groups, _, size, count = taps.shape
                kernel = draft[f"{output}.kernel"]
                kept, rows = kernel[: groups * size], kernel[groups * size :]
                draft[f"{name}.taps"], draft[f"{output}.kernel"] = taps, kept
                by_ghost = rows.reshape(size, count, -1).swapaxes(0, 1)
                draft[f"{output}.ghost_kernel"] = by_ghost.reshape(rows.shape)
                continue
            gain = draft[f"{name}.gain"]
            draft.pop(f"{name}.gain")
            for part, factors in (("taps", gain), ("taps_less", -gain)):
                if (factors > 0).any():
                    draft[f"{name}.{part}"] = (taps * factors)[..., factors > 0]
    return draft.result()
