"""Why an operator of a quantized .tflite file computes in float, as far as the file tells.

Judges by types and by the graph, never by names or by who wrote the file. "" is an honest answer: not known.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from exporters.anatomy import parts as values
from exporters.formats.model_file import is_weights
from exporters.formats.tflite.tensors import kind, scales
from quantize.tflite.graph import builtin_code, is_constant, op_name, schema
from quantize.tflite.operators import MOVES, SPLITS
from quantize.tflite.regions import float_region

_FLOATS = ("FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64")
_QUANTIZED = ("INT2", "INT4", "UINT4", "INT8", "UINT8", "INT16")
_BORDERS = ("QUANTIZE", "DEQUANTIZE")
_MOVES = (*MOVES, *SPLITS, "CONCATENATION", "PACK", "UNPACK")
# Builtin operators whose kernels in LiteRT 2.3 take no int8.
_FLOAT_ONLY = (
    "ATAN2",
    "CEIL",
    "COS",
    "CUMSUM",
    "FLOOR",
    "L2_POOL_2D",
    "LOCAL_RESPONSE_NORMALIZATION",
    "POW",
    "ROUND",
    "SIGN",
    "SIN",
    "SQUARE",
)

CUSTOM = "a custom operator: the file does not say what it can do"
FLEX = "an operator of TensorFlow itself, which has no int8"
NO_KERNEL = "TFLite has no int8 kernel for it"
REGION = "part of a norm, a GELU, ghosts or masked scores: to round in between costs accuracy or time"
SLOW = "XNNPACK computes it faster in float"
POSITIONS = "the table of positions, of which a file of any length reads the first rows and adds them in float"
RANKING = f"{REGION}, or of the ranking of tokens"
DYNAMIC = "activations stay in float: only weights are quantized"
CAST = "turns whole numbers into float"
FLOAT_WEIGHTS = "its weights are left in float"
SMALL = 1024  # elements; the smallest weights that TensorFlow's converter quantizes by default
SMALL_WEIGHTS = f"fewer than {SMALL:,} elements, which TensorFlow's converter leaves alone by default"
DEPTHWISE = "a depthwise convolution: few weights, which quantizers often leave alone"
BEFORE = "stands before the first quantized operator"
BEHIND = "stands behind the last quantized operator"


@dataclass(frozen=True, kw_only=True)
class Kinds:
    """How the file is quantized as a whole."""

    activations: str
    activation_type: str = ""


def classify(model: Any) -> Kinds:
    """By what the operators with weights read: quantized activations, or float beside quantized weights."""
    found = set[str]()
    activation_type = ""
    for graph in model.subgraphs:
        for operator in graph.operators:
            name = op_name(model, operator)
            own = [graph.tensors[i] for i in operator.inputs if i >= 0]
            weights = [t for t in own if _is_quantized(t) and is_constant(model, t) and is_weights(t.shape)]
            moving = [t for t in own if not is_constant(model, t)]
            if name not in _BORDERS and any(_is_quantized(t) for t in moving):
                found.add(values.STATIC)
                activation_type = activation_type or next(kind(t).lower() for t in moving if _is_quantized(t))
            elif weights and name == "DEQUANTIZE":
                found.add(values.WEIGHTS_ONLY)
            elif weights:
                found.add(values.DYNAMIC)
    for each in (values.STATIC, values.DYNAMIC, values.WEIGHTS_ONLY):
        if each in found:
            return Kinds(activations=each, activation_type=activation_type if each == values.STATIC else "")
    return Kinds(activations=values.FLOAT)


def reasons(model: Any, graph: Any, kinds: Kinds) -> Iterator[str | None]:
    """For each operator: None where it is not left in float, else the reason or ""."""
    if kinds.activations == values.FLOAT:
        yield from (None for _ in graph.operators)
        return
    floats = [_computes_in_float(model, graph, operator) for operator in graph.operators]
    static = kinds.activations == values.STATIC
    region = float_region(model, graph) if static else set[int]()
    ranks = any(op_name(model, operator) == "TOPK_V2" for operator in graph.operators)
    ahead, behind = _sides(model, graph)
    for place, operator in enumerate(graph.operators):
        if not floats[place]:
            yield None
            continue
        name = op_name(model, operator)
        if builtin_code(model.operatorCodes[operator.opcodeIndex]) == schema.BuiltinOperator.CUSTOM:
            yield FLEX if name.startswith("Flex") else CUSTOM
        elif not static:
            yield FLOAT_WEIGHTS if _has_float_weights(model, graph, operator) else DYNAMIC
        elif name in _FLOAT_ONLY:
            yield NO_KERNEL
        elif name == "CAST" and kind(graph.tensors[operator.inputs[0]]) not in _FLOATS:
            yield CAST
        elif name == "SOFTMAX" and place in region and not ranks:
            yield SLOW
        elif place in region:
            yield RANKING if ranks else REGION
        elif place in ahead:
            yield BEFORE
        elif place in behind:
            yield BEHIND
        else:
            yield ""


def weight_reason(readers: tuple[str, ...], elements: int, kinds: Kinds, *, holds_positions: bool = False) -> str:
    """Why weights are float where others are quantized."""
    if holds_positions:
        return POSITIONS
    if readers and all(reader == "DEPTHWISE_CONV_2D" for reader in readers):
        return DEPTHWISE
    return SMALL_WEIGHTS if kinds.activations == values.DYNAMIC and elements < SMALL else ""


def _has_float_weights(model: Any, graph: Any, operator: Any) -> bool:
    return any(
        i >= 0
        and is_constant(model, graph.tensors[i])
        and kind(graph.tensors[i]) in _FLOATS
        and is_weights(graph.tensors[i].shape)
        for i in operator.inputs
    )


def _computes_in_float(model: Any, graph: Any, operator: Any) -> bool:
    """Reads or writes float, and no quantized weights; steps between float and int8 and mere moves do not count."""
    if op_name(model, operator) in (*_BORDERS, *_MOVES):
        return False
    inputs = [graph.tensors[i] for i in operator.inputs if i >= 0]
    outputs = [graph.tensors[i] for i in operator.outputs if i >= 0]
    if not any(kind(tensor) in _FLOATS for tensor in (*inputs, *outputs)):
        return False
    return not any(_is_quantized(tensor) and is_constant(model, tensor) for tensor in inputs)


def _is_quantized(tensor: Any) -> bool:
    return kind(tensor) in _QUANTIZED and (scales(tensor).size > 0 or kind(tensor) in ("INT2", "INT4", "UINT4"))


def _sides(model: Any, graph: Any) -> tuple[set[int], set[int]]:
    """Operators that no quantized one comes before, and those that none comes behind."""

    def is_int(operator: Any) -> bool:
        tensors = [graph.tensors[i] for i in (*operator.inputs, *operator.outputs) if i >= 0]
        return op_name(model, operator) not in _BORDERS and any(_is_quantized(tensor) for tensor in tensors)

    reached, ahead = set[int](), set[int]()
    for place, operator in enumerate(graph.operators):
        if is_int(operator) or any(int(i) in reached for i in operator.inputs):
            reached.update(int(i) for i in operator.outputs)
        else:
            ahead.add(place)
    needed, behind = set[int](), set[int]()
    for place in reversed(range(len(graph.operators))):
        operator = graph.operators[place]
        if is_int(operator) or any(int(i) in needed for i in operator.outputs):
            needed.update(int(i) for i in operator.inputs)
        else:
            behind.add(place)
    return ahead, behind
