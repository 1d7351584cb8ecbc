"""Static int8 for TFLite: int8 activations by calibrated ranges, symmetric int8 weights for each output channel.

ai-edge-quantizer does the arithmetic (scales, biases, operator constraints); the ranges are ours, since its own
calibration is a moving average that clips. An int8 input of whole numbers is exact: scale 1, zero point 0. Layer norms,
GELUs, softmaxes and what ranks tokens stay in float (`regions.py`), and the dense layers beside them get channels of
similar range (`passes/level_dense.py`). Queries and keys do, too (`passes/level_keys.py`), and the second operands of
products have zero point 0 (`ranges.py`): so XNNPACK takes the graph in one piece. Leaves out calibration
(`calibrate.py`) and the audit of the result.
"""

import re
import warnings
from collections.abc import Callable

import numpy as np

from quantize.ranges import CalibrationRanges
from quantize.tflite.flatbuffer import read_model, write_model
from quantize.tflite.graph import Graph, Model, Operator, is_constant, op_name, tensor_name
from quantize.tflite.operators import PRODUCT
from quantize.tflite.passes.add_biases import add_biases
from quantize.tflite.passes.compact import compact, drop_unused
from quantize.tflite.passes.elide_input_cast import elide_input_cast
from quantize.tflite.passes.elide_requantize import elide_requantize
from quantize.tflite.passes.level_dense import level_dense
from quantize.tflite.passes.level_keys import level_keys
from quantize.tflite.passes.own_buffers import own_buffers
from quantize.tflite.passes.own_masks import own_masks
from quantize.tflite.passes.set_versions import set_versions
from quantize.tflite.passes.share_weights import share_weights
from quantize.tflite.passes.split_dense import split_dense
from quantize.tflite.ranges import with_exact_masks, with_probabilities, with_saturated_scores, with_symmetric_operands
from quantize.tflite.regions import float_region, ranking_region
from quantize.tflite.scale_limits import check_scales, too_fine

# Ranges that are widened make those behind them too fine; a chain longer than this is refused.
_ROUNDS = 8
_STEPS, _HEADROOM = 255, 1.01


def quantize_static(float_model: bytes, ranges: CalibrationRanges) -> bytes:
    """A compact int8 model; integer inputs stay exact, the outputs are int8 with a scale of their own.

    An output that a layer norm makes is float.
    """
    return _quantize(float_model, ranges, level=level_dense, kept=float_region)


def quantize_full(float_model: bytes, ranges: CalibrationRanges) -> bytes:
    """The same with layer norms, GELUs and softmaxes in int8, for processors without float. Costs accuracy."""
    return _quantize(float_model, ranges, level=lambda _, found: found, kept=ranking_region)


def _quantize(
    float_model: bytes,
    ranges: CalibrationRanges,
    *,
    level: Callable[[Model, CalibrationRanges], CalibrationRanges],
    kept: Callable[[Model, Graph], set[int]],
) -> bytes:
    """`level` evens out channels beside the operators that are `kept` in float."""
    model = read_model(float_model)
    ranges = with_saturated_scores(model, with_probabilities(model, with_exact_masks(model, ranges)))
    ranges = own_masks(model, ranges)
    share_weights(model)
    split_dense(model, ranges)
    ranges = level(model, level_keys(model, ranges))
    ranges = with_symmetric_operands(model, ranges)
    drop_unused(model)  # levels made second and third copies of the weights
    own_buffers(model)
    float_model, recipe, shapes = write_model(model), _recipe(model, kept), _output_shapes(model)
    del model
    model = _with_accepted_scales(float_model, recipe, ranges)
    _set_output_shapes(model, shapes)
    elide_input_cast(model)
    elide_requantize(model)
    add_biases(model)
    set_versions(model)
    compact(model)
    check_scales(model)
    return write_model(model)


def _with_accepted_scales(float_model: bytes, recipe: list[dict[str, object]], ranges: CalibrationRanges) -> Model:
    """The quantized model. Results with steps finer than a kernel takes get a wider range: see `scale_limits.py`."""
    for _ in range(_ROUNDS):
        model = read_model(_quantized(float_model, recipe, ranges))
        found = {name: least for name, least in too_fine(model).items() if name in ranges.ranges}
        if not found:
            break
        ranges = ranges.override({name: _wider(ranges.ranges[name], least) for name, least in found.items()})
    return model


def _output_shapes(model: Model) -> list[list[int] | None]:
    """Which axes of the outputs follow the input: -1; None if none does."""
    graph = model.subgraphs[0]
    return [graph.tensors[index].shapeSignature for index in graph.outputs]


def _set_output_shapes(model: Model, shapes: list[list[int] | None]) -> None:
    """ai-edge-quantizer forgets them where the graph also reads the output: there the output becomes a new tensor."""
    graph = model.subgraphs[0]
    for index, shape in zip(graph.outputs, shapes, strict=True):
        graph.tensors[index].shapeSignature = shape


def _wider(found: tuple[float, float], least: float) -> tuple[float, float]:
    """A range with steps above `least`; zero keeps its place in it."""
    low, high = min(found[0], 0.0), max(found[1], 0.0)
    width = least * _STEPS * _HEADROOM
    if high == low:
        return -width / 2, width / 2
    return low * width / (high - low), high * width / (high - low)


def _quantized(float_model: bytes, recipe: list[dict[str, object]], ranges: CalibrationRanges) -> bytes:
    from ai_edge_quantizer import quantizer

    values = {
        name: {"min": np.array(low, np.float32), "max": np.array(high, np.float32)}
        for name, (low, high) in ranges.ranges.items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about its interpreter, which keeps all tensors
        engine = quantizer.Quantizer(float_model, recipe)
        result = engine.quantize(values, enable_progress_bar=False, enable_progress_report=False)
    if result.quantized_model is None:
        raise RuntimeError("ai-edge-quantizer returned no model.")
    return bytes(result.quantized_model)


def _reads_constant(model: Model, operator: Operator) -> bool:
    """A product whose second operand is a constant, as DeBERTa's tables by distance are."""
    tensors = model.subgraphs[0].tensors
    return op_name(model, operator) == PRODUCT and is_constant(model, tensors[operator.inputs[1]])


def _recipe(model: Model, region: Callable[[Model, Graph], set[int]]) -> list[dict[str, object]]:
    """All operators in int8 except those of the region, which are named by their results.

    A constant that a product of matrices reads gets one scale: kernels take no others.
    """
    from ai_edge_quantizer import algorithm_manager, qtyping, recipe, recipe_manager

    manager = recipe_manager.RecipeManager()
    manager.load_quantization_recipe(recipe.static_wi8_ai8())
    graph = model.subgraphs[0]
    if any(_reads_constant(model, operator) for operator in graph.operators):
        manager.add_quantization_config(
            ".*",
            qtyping.TFLOperationName.BATCH_MATMUL,
            op_config=qtyping.OpQuantizationConfig(
                activation_tensor_config=qtyping.TensorQuantizationConfig(num_bits=8, symmetric=False),
                weight_tensor_config=qtyping.TensorQuantizationConfig(num_bits=8, symmetric=True),
                compute_precision=qtyping.ComputePrecision.INTEGER,
            ),
        )
    kept = [graph.operators[position] for position in sorted(region(model, graph))]
    if kept:
        # One expression for all: the quantizer tries every rule on every operator. A scope ends with a semicolon.
        names = "|".join(re.escape(tensor_name(graph.tensors[operator.outputs[0]])) for operator in kept)
        manager.add_quantization_config(
            f"^(?:{names});?$",
            qtyping.TFLOperationName.ALL_SUPPORTED,
            algorithm_key=algorithm_manager.AlgorithmName.NO_QUANTIZE,
        )
    rules: list[dict[str, object]] = manager.get_quantization_recipe()
    return rules
