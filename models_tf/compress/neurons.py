"""Which neurons of the FFN to keep: in each layer the most important ones (DynaBERT). Removed by `width.keep_neurons`.

Counts are rounded to what a model can use well: to whole folds where ghosts will be made of them, otherwise to a
multiple of 16, which is what int8 kernels work in, where the layer's width is one.
"""

from collections.abc import Sequence

import numpy as np

GRANULE = 16


def neurons_kept(width: int, share: float, *, fold: int | None = None) -> int:
    """How many of `width` stay when a share goes: the nearest multiple of the granule, halves up, at least one of them."""
    granule = fold or (GRANULE if width % GRANULE == 0 else 1)
    multiples = int(np.floor(width * (1.0 - share) / granule + 0.5 + 1e-9))
    return min(max(multiples, 1) * granule, width)


def choose_neurons(importance: Sequence[np.ndarray], *, share: float, fold: int | None = None) -> list[list[int]]:
    """Numbers of the neurons that stay in each layer, the most important first. Of equal ones the lower number stays."""
    kept = []
    for scores in importance:
        count = neurons_kept(len(scores), share, fold=fold)
        kept.append([int(neuron) for neuron in np.argsort(-scores, kind="stable")[:count]])
    return kept
