"""`Graph`: the inference function that is converted, with the names, static shapes and signatures of its files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from exporters.formats.tensor_names import SIGNATURE
from models_tf.spec import TensorSpec


@dataclass(frozen=True, kw_only=True)
class Graph:
    """`function` takes tensors by name and gives one or several by name. `name` begins the names of the files.

    `signatures` says for how many rows a .tflite file is made; .onnx files are made for one row and take any number
    where the graph allows it, which is tried with `rows`. `projection` is the config of the projection op, for a second
    file that takes text.
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[TensorSpec, ...]
    signatures: Mapping[str, int] = field(default_factory=lambda: {SIGNATURE: 1})
    projection: str | None = None
    rows: Mapping[str, np.ndarray] | None = None

    @property
    def input_names(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self.inputs)

    def shapes(self, rows: int) -> dict[str, tuple[tuple[int, ...], str]]:
        """Shape and type of each input, for so many rows."""
        return {spec.name: ((rows, *spec.shape), spec.dtype) for spec in self.inputs}
