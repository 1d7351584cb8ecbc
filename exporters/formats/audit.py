"""What is really in a model file: operators, types, bytes, and whether the recipe was reached.

Reads the bytes alone, knows nothing of how they were made: a tool that silently left a layer in float is found here.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from quantize.recipe import RECIPES, Recipe


@dataclass(frozen=True, kw_only=True)
class Audit:
    """The contents of one file. Histograms are those of the first signature; bytes are those of the whole file."""

    target: str
    size_bytes: int
    weight_bytes: int
    parameters: int
    ops: Mapping[str, int]
    dtypes: Mapping[str, int]
    # Oldest runtime whose operators suffice, as far as the operators' versions tell; "" when unknown.
    min_runtime: str
    # Recipe name -> what speaks against it.
    findings: Mapping[str, tuple[str, ...]]

    @property
    def overhead_bytes(self) -> int:
        return self.size_bytes - self.weight_bytes

    def problems(self, recipe: Recipe) -> list[str]:
        """Where the file differs from the recipe; empty when the scheme was reached."""
        if recipe.name not in self.findings:
            raise ValueError(f"The recipe must be one of {', '.join(RECIPES)}. Received: {recipe.name!r}.")
        return list(self.findings[recipe.name])


def audit(content: bytes, *, target: str) -> Audit:
    """Reads a file of the target, "tflite" or "onnx"."""
    if target == "tflite":
        from exporters.formats.tflite.audit import audit_tflite

        return audit_tflite(content)
    if target == "onnx":
        from exporters.formats.onnx.audit import audit_onnx

        return audit_onnx(content)
    raise ValueError(f"`target` must be tflite or onnx. Received: {target!r}.")
