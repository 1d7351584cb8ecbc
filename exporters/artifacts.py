"""From a Keras model to the bytes of every file: convert once, quantize as the recipe says, put the projection in front.

Functions on values; nothing here touches the file system. What the files must hold is checked in `audit.py`.
"""

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from exporters.tensor_names import FEATURES, SIGNATURE, TEXT
from exporters.to_tflite import to_tflite, trace
from models_tf.errors import InputError
from models_tf.ops.projection.config import ProjectionConfig
from quantize.errors import RecipeError
from quantize.recipe import RECIPES, Recipe

# Rows of the second signature of features-in .tflite files; .onnx files take any number of rows.
BATCH = 8
BATCH_SIGNATURE = f"batch_{BATCH}"
FLOAT = RECIPES["float32"]

# Gives the calibration rows, int8 [1, time, feature] each; called once for each target.
Calibration: TypeAlias = Callable[[], Iterable[np.ndarray]]


@dataclass(frozen=True, kw_only=True)
class Artifact:
    """The bytes of one model file."""

    target: str
    graph: str
    recipe: str
    content: bytes

    @property
    def name(self) -> str:
        return f"{self.graph}_{self.recipe.replace('-', '_')}.{self.target}"


@dataclass(frozen=True, kw_only=True)
class FloatModels:
    """What the converters made; every recipe starts from these. A target that is not asked for is None.

    `tflite` is the model for one row and the one for `BATCH` rows; `onnx` takes any number.
    """

    tflite: tuple[bytes, bytes] | None
    onnx: Any


def convert(model: Any, targets: tuple[str, ...]) -> FloatModels:
    """Float models of the inference graph, with static shapes: one row, and `BATCH` rows for .tflite."""
    length, size = model.config.max_seq_len, model.config.projection.feature_size

    def traced(batch: int) -> Any:
        return trace(model.features_to_logits, {FEATURES: ((batch, length, size), "int8")})

    one, onnx = traced(1), None
    if "onnx" in targets:
        from exporters.to_onnx import to_onnx

        onnx = to_onnx(one)
    return FloatModels(tflite=(to_tflite(one), to_tflite(traced(BATCH))) if "tflite" in targets else None, onnx=onnx)


def build(
    floats: FloatModels, recipe: Recipe, projection: ProjectionConfig, calibration: Calibration | None = None
) -> list[Artifact]:
    """Features-in and text-in of each target. `calibration` gives the rows of features, for static recipes."""
    files: list[tuple[str, str, bytes]] = []
    try:
        if floats.tflite is not None:
            for graph, content in _tflite(*floats.tflite, recipe, projection, calibration):
                files.append(("tflite", graph, content))
        if floats.onnx is not None:
            for graph, content in _onnx(floats.onnx, recipe, projection, calibration):
                files.append(("onnx", graph, content))
    except RecipeError as error:
        raise InputError(f"{error} Choose another --quantize.") from error
    return [
        Artifact(target=target, graph=graph, recipe=recipe.name, content=content) for target, graph, content in files
    ]


def _tflite(
    float_one: bytes, float_batch: bytes, recipe: Recipe, projection: ProjectionConfig, calibration: Calibration | None
) -> Iterator[tuple[str, bytes]]:
    from quantize.calibration import calibrate
    from quantize.flatbuffer import read_model, write_model
    from quantize.passes.compact import compact
    from quantize.passes.merge_signatures import merge_signatures
    from quantize.passes.prepend_projection import prepend_projection
    from quantize.tflite_static import quantize_static
    from quantize.tflite_weights import to_float16, to_float32, to_int8_dynamic

    ranges = calibrate(float_one, _rows(calibration)) if recipe.needs_calibration else None

    def quantized(content: bytes) -> Any:
        if ranges is not None:
            content = quantize_static(content, ranges)
        elif recipe.activations == "dynamic-int8":
            content = to_int8_dynamic(content)
        elif recipe.weight_bits == 16:
            content = to_float16(content)
        else:
            content = to_float32(content)
        return read_model(content)

    one = quantized(float_one)
    yield FEATURES, write_model(merge_signatures({SIGNATURE: one, BATCH_SIGNATURE: quantized(float_batch)}))
    text = copy.deepcopy(one)
    prepend_projection(text, projection.to_text())
    compact(text)
    yield TEXT, write_model(text)


def _onnx(
    model: Any, recipe: Recipe, projection: ProjectionConfig, calibration: Calibration | None
) -> Iterator[tuple[str, bytes]]:
    from quantize.onnx_calibration import calibrate_onnx
    from quantize.onnx_static import quantize_static_onnx
    from quantize.onnx_weights import to_float16_onnx, to_int8_dynamic_onnx
    from quantize.passes.prepend_projection_onnx import prepend_projection_onnx

    if recipe.activations == "static-int8":
        model = quantize_static_onnx(model, calibrate_onnx(model, _rows(calibration)))
    elif recipe.activations == "dynamic-int8":
        model = to_int8_dynamic_onnx(model)
    elif recipe.weight_bits == 16:
        model = to_float16_onnx(model)
    yield FEATURES, model.SerializeToString(deterministic=True)
    yield TEXT, prepend_projection_onnx(model, projection.to_text()).SerializeToString(deterministic=True)


def _rows(calibration: Calibration | None) -> Iterable[dict[str, np.ndarray]]:
    if calibration is None:
        raise ValueError("A static recipe needs calibration rows. Received: none.")
    return ({FEATURES: features} for features in calibration())
