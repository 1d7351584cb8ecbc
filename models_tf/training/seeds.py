"""The seeds of a training's random choices: each follows from the user's seed and the step, so none has to be saved."""

import numpy as np


def batch_seed(seed: int, epoch: int, index: int) -> int:
    """The seed of a batch's typos: any seed of the user gives 63 random bits."""
    return int(np.random.SeedSequence((seed, epoch, index)).generate_state(1, np.uint64)[0] >> np.uint64(1))


def step_seed(seed: int, epoch: int, index: int) -> np.ndarray:
    """The seed of a step's dropout, int32 [2]. `epoch` counts those of all stages."""
    # The last number keeps it apart from the batch's.
    return np.random.SeedSequence((seed, epoch, index, 1)).generate_state(2, np.uint32).view(np.int32)
