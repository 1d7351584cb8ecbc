"""Exact rewrites that skip work: unread parts, other tokens in the last layer, one matrix for several readers."""

import numpy as np

from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.draft import Draft


def drop_unread(network: Network) -> Network:
    """Requires: nothing. Ensures: only tensors that the variant and the head read.

    A config may declare a shared bottleneck while attention reads the other one; the checkpoint then holds both.
    """
    gone = []
    if network.config.use_bottleneck_attention:
        gone += [name for name in network.tensors if ".bottleneck_shared" in name]
    if not network.config.pools(network.head):
        gone += [name for name in network.tensors if name.startswith("pooler.")]
    return network.change({}, remove=gone) if gone else network


def first_token_only(network: Network) -> Network:
    """Requires: nothing; if the head reads more than the first token, the network is returned unchanged.

    Ensures: the last layer's queries, FFNs and bottlenecks are computed only for the first token.
    """
    if network.form.first_token_only or not network.head.reads_pooled:
        return network
    return network.change({}, first_token_only=True)


def fuse_input(network: Network) -> Network:
    """Requires: nothing; if a table of relative positions goes through the same kernels, the network is returned
    unchanged. Ensures: all parts of a layer that read its input are columns of one matrix, `fused_input`.

    If the last layer computes only the first token, parts needed for that token alone stay separate, unless other
    layers use the same weights and need them fused.
    """
    config, draft = network.config, Draft(network)
    if "relative_embedding" in network.tensors:
        return network
    last = config.weights_of(config.num_layers - 1)
    is_shared = sum(config.weights_of(layer) == last for layer in range(config.num_layers)) > 1
    for layer in config.first_uses:
        name = config.weights_of(layer)
        parts = [part for part in config.input_readers if f"{name}.{part}.kernel" in draft]
        if network.form.first_token_only and name == last and not is_shared:
            # Attention on the bottleneck needs it for all tokens; but then nothing else reads the input.
            parts = [part for part in parts if part not in ("bottleneck_input", "query")]
        if len(parts) < 2:
            continue
        kernels = [draft.pop(f"{name}.{part}.kernel") for part in parts]
        size = draft.network.tensors[f"{name}.{parts[0]}.kernel"].shape[1]
        biases = [draft.pop(f"{name}.{part}.bias", np.zeros(size)) for part in parts]
        draft[f"{name}.fused_input.kernel"] = np.concatenate([k for k in kernels if k is not None], axis=1)
        draft[f"{name}.fused_input.bias"] = np.concatenate([b for b in biases if b is not None])
    return draft.result()
