"""Which heads to keep: by importance, at random, or all but those that are listed. Removed by `width.keep_heads`.

Michel et al., "Are sixteen heads really better than one?", rank all heads of a model together and remove the least
important (`global`); DynaBERT keeps the same number in each layer (`layer`). Either way a layer keeps a minimum of
heads. Importance is measured once, before anything is removed (Michel's `exact_pruning`, which measures again after
every step, is left out: compress twice for that).

Scores of two layers need not be on one scale. `normalize` divides those of a layer by their L2 norm, as Michel's code
can; it changes nothing within a layer.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from models_tf.compress.settings import HEAD_SCOPES, PER_LAYER
from models_tf.errors import InputError


def kept_count(total: int, share: float) -> int:
    """How many of `total` stay when a share goes: rounded, halves up, so that nothing goes needlessly."""
    return int(np.floor(total * (1.0 - share) + 0.5 + 1e-9))


def choose_heads(
    importance: Sequence[np.ndarray], *, share: float, scope: str = PER_LAYER, minimum: int = 1, normalize: bool = False
) -> list[list[int]]:
    """Numbers of the heads that stay in each layer, the most important first. Of equal ones the lower number stays."""
    if scope not in HEAD_SCOPES:
        raise ValueError(f"`scope` must be one of {', '.join(HEAD_SCOPES)}. Received: {scope!r}.")
    fewest = min(len(scores) for scores in importance)
    if not 1 <= minimum <= fewest:
        raise InputError(f"--min-heads must be 1 to {fewest}, the heads of a layer. Received: {minimum}.")
    if normalize:
        importance = [scores / max(float(np.linalg.norm(scores)), np.finfo(np.float64).tiny) for scores in importance]
    orders = [np.argsort(-np.asarray(scores, np.float64), kind="stable") for scores in importance]
    if scope == PER_LAYER:
        counts = [max(minimum, kept_count(len(order), share)) for order in orders]
    else:
        counts = _global_counts(importance, orders, share, minimum)
    return [[int(head) for head in order[:count]] for order, count in zip(orders, counts, strict=True)]


def _global_counts(
    importance: Sequence[np.ndarray], orders: Sequence[np.ndarray], share: float, minimum: int
) -> list[int]:
    """The floor of each layer first, then the best of the rest until the share is reached."""
    counts = [minimum] * len(orders)
    left = kept_count(sum(map(len, orders)), share) - sum(counts)
    rest = [
        (-float(importance[layer][head]), layer, place)
        for layer, order in enumerate(orders)
        for place, head in enumerate(order[minimum:])
    ]
    # Sorted by score alone within a layer, so what is taken of a layer is a prefix of its order.
    for _, layer, _ in sorted(rest)[: max(left, 0)]:
        counts[layer] += 1
    return counts


def random_importance(counts: Sequence[int], seed: int) -> list[np.ndarray]:
    """To compare with: every head is as likely to go."""
    generator = np.random.default_rng(seed)
    return [generator.random(count) for count in counts]


def without(counts: Sequence[int], removed: Mapping[int, Sequence[int]], *, minimum: int = 1) -> list[list[int]]:
    """All heads of each layer but the listed ones, in their order. `counts` are the heads that each layer has."""
    for layer, heads in removed.items():
        if not 0 <= layer < len(counts):
            raise InputError(f"--remove-heads must name layers from 0 to {len(counts) - 1}. Received: {layer}.")
        wrong = [head for head in heads if not 0 <= head < counts[layer]]
        if wrong:
            raise InputError(
                f"--remove-heads must name heads from 0 to {counts[layer] - 1} of layer {layer}. Received: {wrong[0]}."
            )
        if counts[layer] - len(set(heads)) < minimum:
            raise InputError(
                f"--remove-heads must leave at least {minimum} of the {counts[layer]} heads of layer {layer} "
                f"(--min-heads). Received: {len(set(heads))} to remove."
            )
    gone = {layer: set(heads) for layer, heads in removed.items()}
    return [[head for head in range(count) if head not in gone.get(layer, ())] for layer, count in enumerate(counts)]
