"""float16 weights, with the check that they fit."""

import numpy as np

from quantize.arrays import Array
from quantize.errors import RecipeError


def narrow(values: Array, name: str) -> Array:
    """The values as float16; values that would become infinite are refused, with the name of their tensor."""
    with np.errstate(over="ignore"):  # judged in the next line
        half = values.astype(np.float16)
    if not np.isfinite(half).all():
        raise RecipeError(f"Recipe fp16 needs weights below 65504. Received: {np.abs(values).max():g} in {name!r}.")
    return half
