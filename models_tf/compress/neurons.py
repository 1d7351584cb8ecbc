"""Which FFN neurons to keep: the most important ones of each layer (DynaBERT). `width.keep_neurons` removes the rest.

Counts are rounded to sizes that work well: to whole folds if ghosts will be made from them, otherwise to a multiple of
16, the block size of int8 kernels, if the layer's width is one.
"""

from collections.abc import Sequence

import numpy as np

GRANULE = 16


def granule(width: int, fold: int | None) -> int:
    """What the neurons kept are a multiple of."""
    return fold or (GRANULE if width % GRANULE == 0 else 1)


def neurons_kept(width: int, share: float, *, fold: int | None = None) -> int:
    """How many of `width` stay if `share` is removed: the nearest multiple of the granule, halves up, at least one."""
    step = granule(width, fold)
    multiples = int(np.floor(width * (1.0 - share) / step + 0.5 + 1e-9))
    return min(max(multiples, 1) * step, width)


def choose_neurons(importance: Sequence[np.ndarray], *, share: float, fold: int | None = None) -> list[list[int]]:
    """The neurons to keep in each layer, most important first. Among equals the lower number stays."""
    kept = []
    for scores in importance:
        count = neurons_kept(len(scores), share, fold=fold)
        kept.append([int(neuron) for neuron in np.argsort(-scores, kind="stable")[:count]])
    return kept
