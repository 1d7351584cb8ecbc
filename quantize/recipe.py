"""`Recipe`: what `--quantize` chooses from, as data. Leaves out how: see the table `QUANTIZERS` of each format."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from quantize.errors import RecipeError

# Float conversion only reorders float32 sums. A logit is a sum of some hundred terms of size 1 to 10, so the error is
# about sqrt(500) * 10 * 2**-24 = 1.3e-5; 1e-4 leaves a factor of seven and is far below any label's margin.
FLOAT_ATOL = 1e-4
# Token models: the same relative to the largest answer. Each of some 20 operators in 24 layers rounds its result to
# 2**-24 of its size, with sums in another order than Keras; such errors add up as a random walk, sqrt(480) * 2**-24 =
# 1.3e-6, and the layers between enlarge them some times. 1e-4 leaves a factor of 77 for that. A wrong operator is off
# by percents.
FLOAT_RTOL = 1e-4
# A network whose layers enlarge rounding much more (large activations that cancel) cannot keep that limit, and neither
# can PyTorch. It is then run in float32 and in float64 on the rows that differ most: a file may be off by this many
# times what float32 itself is. File and reference round apart from each other, which makes twice; the other factor of
# two is for runtimes that add up in an order of their own. A network that rounds by percents cannot be judged.
ROUNDINGS, ROUNDING_MOST = 4.0, 1e-2
# Integers add up to the same in any order.
EXACT = 0.0
# Float sums do not, and where they are quantized again a value on the edge may go one of 255 steps further: logits some
# ten wide move by a few hundredths, while a signature that computes something else is off by units.
DYNAMIC_ATOL = 0.1

Entry = TypeVar("Entry")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One row of the table that `--quantize` chooses from.

    The tolerances limit the largest difference of an answer from that of the network as read: `atol` for projection
    models, `rtol`, relative to the largest answer, for token models; None where the loss is reported and not limited.
    `batch_atol` limits the difference between a row alone and the same row in a batch. Without `has_float` nothing in a
    file is float, outputs included.
    """

    name: str
    description: str
    needs_calibration: bool = False
    atol: float | None = None
    rtol: float | None = None
    batch_atol: float
    has_float: bool = True

    def __post_init__(self) -> None:
        for field in ("atol", "rtol", "batch_atol"):
            value = getattr(self, field)
            if value is not None and not value >= 0:
                raise ValueError(f"`{field}` must be 0 or more. Received: {value}.")


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="float32",
            description="as trained, no quantization",
            atol=FLOAT_ATOL,
            rtol=FLOAT_RTOL,
            batch_atol=FLOAT_ATOL,
        ),
        Recipe(name="fp16", description="float16 weights, float32 arithmetic", batch_atol=FLOAT_ATOL),
        Recipe(
            name="int4",
            description="4-bit weights of dense layers and tables of words, activations quantized while running",
            batch_atol=DYNAMIC_ATOL,
        ),
        Recipe(
            name="int8-dynamic",
            description="int8 weights, activations quantized while running",
            batch_atol=DYNAMIC_ATOL,
        ),
        Recipe(
            name="int8",
            description="int8 weights for each channel and int8 activations with calibrated ranges",
            needs_calibration=True,
            batch_atol=EXACT,
        ),
        Recipe(
            name="int8-full",
            description="int8 without any float operator, for accelerators that have none; loses accuracy; TFLite only",
            needs_calibration=True,
            batch_atol=EXACT,
            has_float=False,
        ),
    )
}


def entry(table: Mapping[str, Entry], recipe: str, *, format_name: str, what: str = "quantizer") -> Entry:
    """What a format's table holds for a recipe; a recipe that it does not hold is an error that names both."""
    if recipe not in table:
        known = ", ".join(table)
        raise RecipeError(f"Format {format_name} has a {what} for {known or 'no recipe'}. Received: recipe {recipe!r}.")
    return table[recipe]
