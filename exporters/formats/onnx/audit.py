"""Where an .onnx file deviates from its recipe: one check per recipe.

Static int8 is in QDQ form, so types are read through DequantizeLinear. Looks only at the file, not at how it was made,
so it finds a layer that a tool silently left in float.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from exporters.formats.model_file import MIN_WEIGHT_ELEMENTS, Check
from exporters.formats.onnx.tensors import OnnxGraph
from exporters.formats.onnx.walk import STANDARD, full_name, nodes_of
from exporters.formats.texts import takes_bytes
from quantize.int4 import is_dense_fit, is_table_fit
from quantize.onnx.operators import BIAS, DYNAMIC, LINEAR, LOOKUP, MATRIX, SCALE_KEEPING, WEIGHTED, is_grouped
from quantize.onnx.passes.prepend_projection import OP_TYPE as PROJECTION
from quantize.onnx.regions import float_region

if TYPE_CHECKING:
    from exporters.formats.onnx.file import OnnxFile

_OF_LOGITS = ("ArgMax", "Sigmoid", "Softmax")


def _check_int8(graph: OnnxGraph) -> Iterator[str]:
    counts = Counter(node.op_type for node in graph.nodes)
    for name in DYNAMIC:
        if counts[name]:
            yield f"{name} takes its scales while running: that is int8-dynamic"
    if any(node.op_type == "ReduceSum" and _is_dequantized(graph, node.input[0]) for node in graph.nodes):
        yield "ReduceSum was quantized: use ReduceMean"
    if not any(counts[name] for name in WEIGHTED):
        yield "no operator with weights"
    kept = {id(graph.nodes[position]) for position in float_region(graph.nodes)} | _behind_outputs(graph)
    for node in graph.nodes:
        if node.op_type == "QuantizeLinear":
            yield from _check_quantize(graph, node)
        elif node.op_type == "DequantizeLinear":
            yield from _check_dequantize(graph, node)
        elif node.op_type not in (*SCALE_KEEPING, PROJECTION) and id(node) not in kept:
            yield from _check_operator(graph, node, kept)
    for table in graph.tables():
        if table.dtype not in (np.int8, np.uint8):
            yield f"a table of Gather is {table.dtype.name}, not 8 bits"
    integers = [name for name, kind in graph.inputs.items() if kind == onnx.TensorProto.INT8]
    for name in (*integers, *(node.output[0] for node in graph.nodes if node.op_type == PROJECTION)):
        yield from _check_input(graph, name)


def _behind_outputs(graph: OnnxGraph) -> set[int]:
    """Ids of the operators that make probabilities and the best label of logits, which are an output themselves."""
    return {id(node) for node in graph.nodes if node.op_type in _OF_LOGITS and node.input[0] in graph.outputs}


def _is_dequantized(graph: OnnxGraph, name: str) -> bool:
    source = graph.origin(name)
    return source is not None and source.op_type == "DequantizeLinear"


def _check_operator(graph: OnnxGraph, node: Any, kept: set[int]) -> Iterator[str]:
    """An operator must read only from DequantizeLinear and write only to QuantizeLinear.

    It may also write to operators in `kept`, for which the runtime has no integer kernel.
    """
    for position, name in enumerate(node.input):
        if not graph.is_float(name):
            continue
        source = graph.origin(name)
        if source is None or source.op_type != "DequantizeLinear":
            yield f"{node.op_type} computes in float"
        elif source.input[0] in graph.constants:
            yield from _check_constant(graph, node, position, source)
    for name in node.output:
        if graph.is_float(name):
            readers = graph.destinations(name)
            if any(r is not None and r.op_type != "QuantizeLinear" and id(r) not in kept for r in readers):
                yield f"{node.op_type} computes in float: its result is not quantized"


def _check_quantize(graph: OnnxGraph, node: Any) -> Iterator[str]:
    """An activation: 8 bits, one fixed scale."""
    if any(name not in graph.constants for name in node.input[1:]):
        yield "QuantizeLinear takes its scales while running: that is int8-dynamic"
        return
    kind = graph.constants[node.input[2]].dtype.name if len(node.input) > 2 else "uint8"
    if kind not in ("int8", "uint8"):
        yield f"activations are {kind}, not 8 bits"
    if graph.constants[node.input[1]].size != 1:
        yield "activations have a scale for each channel"


def _check_dequantize(graph: OnnxGraph, node: Any) -> Iterator[str]:
    """An activation must be read as it was written."""
    source = graph.origin(node.input[0])
    if source is not None and source.op_type not in ("QuantizeLinear", LOOKUP) and node.input[0] not in graph.fixed:
        yield from _check_input_scale(graph, node)  # features that the file computes itself
        return
    if source is None or source.op_type != "QuantizeLinear":
        return  # a constant, a row of one or the input, which have their own checks
    pairs = list(zip(source.input[1:], node.input[1:], strict=False))
    if len(source.input) != len(node.input) or any(
        not np.array_equal(graph.constants.get(one, np.nan), graph.constants.get(other, np.nan)) for one, other in pairs
    ):
        yield "activations are read with another scale than they were written with"


def _check_constant(graph: OnnxGraph, node: Any, position: int, dequantize: Any) -> Iterator[str]:
    if any(name not in graph.constants for name in dequantize.input):
        yield f"{node.op_type} takes the scales of its constants while running"
        return
    values, scale, *zero = (graph.constants[name] for name in dequantize.input)
    if position == BIAS and node.op_type in WEIGHTED:
        if values.dtype != np.int32:
            yield f"the bias of {node.op_type} is {values.dtype.name}, not int32"
        return
    if node.op_type not in WEIGHTED:
        if values.dtype not in (np.int8, np.uint8):
            yield f"a constant of {node.op_type} is {values.dtype.name}, not 8 bits"
        return
    axis = _channel_axis(node, values.ndim)
    matrices = node.op_type == "MatMul" and values.ndim > MATRIX  # several have one scale
    channels = 1 if matrices else values.shape[axis]
    if values.dtype != np.int8:
        yield f"weights of {node.op_type} are {values.dtype.name}, not int8"
    elif scale.size != channels or (scale.size > 1 and _axis(dequantize) % values.ndim != axis):
        yield f"weights of {node.op_type} have {scale.size} scales for {channels} channels"
    elif any(np.any(item) for item in zero):
        yield f"weights of {node.op_type} are not symmetric: a zero point differs from 0"


def _channel_axis(node: Any, rank: int) -> int:
    """Axis of the output channels in the weights."""
    if node.op_type == "Conv":
        return 0
    transposed = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
    return 0 if transposed else rank - 1


def _axis(dequantize: Any) -> int:
    """Axis of the scales; ONNX's default is 1."""
    return next((int(attribute.i) for attribute in dequantize.attribute if attribute.name == "axis"), 1)


def _check_input(graph: OnnxGraph, name: str) -> Iterator[str]:
    for node in graph.destinations(name):
        if node is None or node.op_type != "DequantizeLinear":
            yield f"the int8 input is read by {node.op_type if node else 'nobody'}, not by DequantizeLinear"
            continue
        yield from _check_input_scale(graph, node)


def _check_input_scale(graph: OnnxGraph, node: Any) -> Iterator[str]:
    scale, *zero = (graph.constants.get(item, np.array(np.nan)) for item in node.input[1:])
    if scale.tolist() != 1.0 or any(np.any(item) for item in zero):
        yield "the int8 input must have scale 1 and zero point 0"


def _check_dynamic(graph: OnnxGraph) -> Iterator[str]:
    counts = Counter(node.op_type for node in graph.nodes)
    if not any(counts[name] for name in DYNAMIC):
        yield "no operator with 8-bit weights"
    if graph.packed:
        yield f"{len(graph.packed)} constants are in 4 bits"
    for table in graph.tables():
        if table.dtype not in (np.int8, np.uint8):
            yield f"a table of Gather is {table.dtype.name}, not 8 bits: the embedding was left out"
    yield from _check_running(graph)


def _check_int4(graph: OnnxGraph) -> Iterator[str]:
    """4 bits where they fit, 8 bits elsewhere."""
    packed = graph.packed
    if not packed:
        yield "no weights in 4 bits"
    for node in graph.nodes:
        weights = graph.constants.get(node.input[1]) if node.op_type == "MatMulInteger" else None
        if weights is not None and weights.ndim == 2 and is_dense_fit(*weights.shape):
            yield f"weights of {node.op_type} are {weights.dtype.name}, not int4"
        table = graph.constants.get(node.input[0]) if node.op_type == LOOKUP else None
        if table is not None and is_table_fit(table.shape) and node.input[0] not in packed:
            yield f"a table of {LOOKUP} is {table.dtype.name}, not int4"
    yield from _check_running(graph)


def _check_running(graph: OnnxGraph) -> Iterator[str]:
    """No weights in float, and scales of activations that are found while running."""
    for node in graph.nodes:
        weighted = node.op_type in WEIGHTED and any(name in graph.constants for name in node.input[:2])
        if weighted and not is_grouped(node):  # see `quantize/onnx/weights.py`
            yield f"weights of {node.op_type} are float"
    moving = [node for node in graph.nodes if not graph.fixed.issuperset(node.output)]
    fixed = Counter(node.op_type for node in moving if node.op_type in LINEAR and not _found_while_running(graph, node))
    for kind, count in fixed.items():
        yield f"{count} {kind}: activations have fixed scales"


def _found_while_running(graph: OnnxGraph, node: Any) -> bool:
    """Whether the scales are computed, or a DequantizeLinear reads values looked up in an 8-bit table."""
    if node.input[1] not in graph.constants:
        return True
    source = graph.producers.get(node.input[0])
    return source is not None and source.op_type == "Gather" and source.input[0] in graph.constants


def _check_fp16(graph: OnnxGraph) -> Iterator[str]:
    large = [values for values in graph.weights.values() if values.size >= MIN_WEIGHT_ELEMENTS]
    kinds = Counter(values.dtype.name for values in large)
    if not kinds["float16"]:
        yield "no float16 weights"
    for kind in ("float32", "int8", "uint8"):
        if kinds[kind]:
            yield f"{kinds[kind]} constants are {kind}"


def _check_float32(graph: OnnxGraph) -> Iterator[str]:
    kinds = Counter(values.dtype.name for values in graph.weights.values())
    for kind in ("float16", "int8", "uint8"):
        if kinds[kind]:
            yield f"{kinds[kind]} constants are {kind}"
    for node in graph.nodes:
        if node.op_type in (*LINEAR, *DYNAMIC):
            yield f"{node.op_type} in a float model"


def _check_stock(file: "OnnxFile") -> Iterator[str]:
    """A file that takes the bytes of a text is for runtimes without any custom operator."""
    if any(takes_bytes(info) for one in file.signatures.values() for info in one.inputs):
        for name in dict.fromkeys(
            full_name(node) for node in nodes_of(file.model.graph) if node.domain not in STANDARD
        ):
            yield f"{name} is no operator of the standard: a bytes-in file needs stock runtimes alone"


def _of_graph(check: Callable[[OnnxGraph], Iterator[str]]) -> Check:
    def found(file: "OnnxFile") -> Iterator[str]:
        yield from check(file.graph)
        yield from _check_stock(file)

    return found


# Recipe -> its check.
AUDITS: dict[str, Check] = {
    "float32": _of_graph(_check_float32),
    "fp16": _of_graph(_check_fp16),
    "int4": _of_graph(_check_int4),
    "int8-dynamic": _of_graph(_check_dynamic),
    "int8": _of_graph(_check_int8),
}
