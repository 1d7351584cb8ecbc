"""Gives the channels of a tensor similar ranges: exact in float, and int8 with one scale per tensor loses less.

A positive factor on a stream's channel is free if all writers apply it to their columns and all readers undo it in
their rows. A residual stream has one factor per channel between two multiplications on its skip path, or throughout.
Weights are quantized per output channel, so a factor on columns costs nothing; on rows it does, hence the compromise in
`_factors`.

Which factors help depends on the data. This only matters for int8: float32 neither gains nor loses.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from models_tf.encoder.network import Network
from models_tf.encoder.rewrites.center import center
from models_tf.encoder.rewrites.draft import Draft
from models_tf.encoder.rewrites.ranges import ChannelRanges, ranges
from models_tf.encoder.rewrites.streams import Link, Stream, streams

# 1 gives all channels of a tensor the same range, 0 all rows of the kernels that read it. Static int8 of random
# networks with 6 and 12 layers: 0.5 to 0.75 are within about a tenth, 0.25 is worse, 1 is sometimes better or worse.
STRENGTH = 0.7
# A channel that hardly moves must not blow up the rows that read it.
MAX_FACTOR = 32.0


def equalize(network: Network, rows: Mapping[str, np.ndarray], *, strength: float = STRENGTH) -> Network:
    """Requires: NoNorm, folded; nothing fused; `rows` as in `ranges`. Ensures: centered, similar channel ranges."""
    network = center(network, ranges(network, rows))
    return scale_channels(network, ranges(network, rows), strength=strength)


def scale_channels(network: Network, found: ChannelRanges, *, strength: float = STRENGTH) -> Network:
    """The second half of `equalize`; `found` are ranges of this network."""
    draft, config = Draft(network), network.config
    table = draft["word_embedding"]
    found = {**found, "words": np.stack((table.min(0), table.max(0)))}
    for stream in streams(network):
        before: np.ndarray | None = None
        for links in _parts(draft, stream):
            spreads = [_spread(found[link.tensor]) for link in links]
            factors = _factors(draft, links, spreads, strength)
            for link in links:
                for writer in link.writers:
                    draft.scale_outputs(writer, factors)
                for reader in link.readers:
                    draft.undo_inputs(reader, factors)
                found[link.tensor] = found[link.tensor] * factors
            if before is not None:
                draft[f"{links[0].norm}.skip"] = draft[f"{links[0].norm}.skip"] * factors / before
            before = factors
    for layer in range(config.num_layers):
        _balance_scores(draft, found, f"layers.{layer}")
        if config.use_bottleneck:
            _align(draft, found, f"layers.{layer}")
    return draft.result()


def _parts(draft: Draft, stream: Stream) -> list[Stream]:
    """The stream, cut at each multiplication on the skip path."""
    parts: list[Stream] = []
    for link in stream:
        if not parts or f"{link.norm}.skip" in draft:
            parts.append([])
        parts[-1].append(link)
    return parts


def _factors(draft: Draft, links: Sequence[Link], spreads: Sequence[np.ndarray], strength: float) -> np.ndarray:
    """SmoothQuant's compromise: a channel of the activation and the row that reads it become equally wide.

    With strength a, factor = row^(1-a) / range^a, where range is a channel's width relative to the widest channel,
    averaged geometrically over the tensors.
    """
    readers = [reader for link in links for reader in link.readers]
    if any(link.fixed for link in links) or not readers:
        return np.ones_like(spreads[0])
    rows = np.max([_row_sizes(draft[f"{reader}.kernel"]) for reader in readers], axis=0)
    widths = [_positive(spread) for spread in spreads]
    part = np.mean([np.log(width / width.max()) for width in widths], axis=0)
    factors = _bounded(np.exp((1 - strength) * np.log(_positive(rows)) - strength * part))
    # The widest channel keeps its width, so that tensors that are added keep their proportions.
    widest = [(width * factors).max() / width.max() for width in widths]
    return factors / np.exp(np.mean(np.log(widest)))


def _balance_scores(draft: Draft, found: ChannelRanges, name: str) -> None:
    """A score is a sum of products query * key: what one gains, the other loses."""
    key, query = (_positive(_spread(found[f"{name}.{part}"])) for part in ("key", "query"))
    factors = _bounded(np.sqrt(key / query))
    draft.scale_outputs(f"{name}.query", factors)
    draft.scale_outputs(f"{name}.key", 1 / factors)


def _align(draft: Draft, found: ChannelRanges, name: str) -> None:
    """Gives parts that will be columns of one matrix, and so share one int8 scale, the width of the bottleneck."""
    target, config = np.ptp(found[f"{name}.inner.0"]), draft.network.config

    def factors(part: str) -> np.ndarray:
        width = np.ptp(found[f"{name}.{part}"])
        return np.full(config.bottleneck_size, target / width if target > 0 and width > 0 else 1.0)

    if "bottleneck_shared" in config.input_readers:
        draft.scale_outputs(f"{name}.bottleneck_shared", factors("shared"))
        for part in ("query", "key"):
            draft.undo_inputs(f"{name}.{part}", factors("shared"))
    if "value" in config.input_readers:
        draft.scale_outputs(f"{name}.value", factors("value"))
        draft.undo_inputs(f"{name}.attention_output", factors("value"))


def _spread(found: np.ndarray) -> np.ndarray:
    """Width of each channel; a quantized tensor always holds zero."""
    return np.maximum(found[1], 0) - np.minimum(found[0], 0)


def _positive(sizes: np.ndarray) -> np.ndarray:
    """Dead or nearly dead channels count as a millionth of the widest."""
    return np.maximum(sizes, 1e-6 * sizes.max()) if sizes.max() > 0 else np.ones_like(sizes)


def _bounded(factors: np.ndarray) -> np.ndarray:
    return np.clip(factors / np.median(factors), 1 / MAX_FACTOR, MAX_FACTOR)


def _row_sizes(kernel: np.ndarray) -> np.ndarray:
    """Largest weight of each row of a kernel [..., in, out]."""
    return np.abs(kernel).max(-1).reshape(-1, kernel.shape[-2]).max(0)
