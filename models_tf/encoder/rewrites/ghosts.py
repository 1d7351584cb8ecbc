"""The kernels of ghosts as constants: what is trained are logits, what is computed with is their softmax."""

import numpy as np

from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.draft import Draft


def fold_ghosts(network: Network) -> Network:
    """Requires: nothing. Ensures: no softmax over kernels is left; `ghost_*.taps` are positive and add up to 1."""
    draft = Draft(network)
    for name in network.tensors:
        if ".ghost_" in name and name.endswith(".kernel"):
            logits = draft.pop(name)
            if logits is not None:
                powers = np.exp(logits - logits.max(0))
                draft[name.removesuffix(".kernel") + ".taps"] = powers / powers.sum(0)
    return draft.result()
