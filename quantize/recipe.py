"""`Recipe`: what a quantization does to weights and activations, as data. Leaves out how: see the quantizers."""

from dataclasses import dataclass

ACTIVATIONS = ("float32", "dynamic-int8", "static-int8")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One row of the table that `--quantize` chooses from."""

    name: str
    weight_bits: int
    activations: str
    needs_calibration: bool
    description: str

    def __post_init__(self) -> None:
        if self.weight_bits not in (8, 16, 32):
            raise ValueError(f"`weight_bits` must be 8, 16 or 32. Received: {self.weight_bits}.")
        if self.activations not in ACTIVATIONS:
            raise ValueError(f"`activations` must be one of {', '.join(ACTIVATIONS)}. Received: {self.activations!r}.")
        if self.needs_calibration != (self.activations == "static-int8"):
            raise ValueError(f"Static activations need calibration, others do not. Received: {self.name!r}.")


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="float32",
            weight_bits=32,
            activations="float32",
            needs_calibration=False,
            description="as trained, no quantization",
        ),
        Recipe(
            name="fp16",
            weight_bits=16,
            activations="float32",
            needs_calibration=False,
            description="float16 weights, float32 arithmetic",
        ),
        Recipe(
            name="int8-dynamic",
            weight_bits=8,
            activations="dynamic-int8",
            needs_calibration=False,
            description="int8 weights, activations quantized while running",
        ),
        Recipe(
            name="int8",
            weight_bits=8,
            activations="static-int8",
            needs_calibration=True,
            description="int8 weights for each channel and int8 activations with calibrated ranges",
        ),
    )
}
