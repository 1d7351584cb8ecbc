"""Audit of .onnx files: see `audit.py`. Static int8 is QDQ form, so types are read through DequantizeLinear."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx

from exporters.formats.audit import Audit
from models_tf.ops.projection.ort_loader import DOMAIN, MINIMUM_VERSION
from quantize.onnx.operators import BIAS, DYNAMIC, LINEAR, SCALE_KEEPING, WEIGHTED, is_grouped
from quantize.onnx.passes.prepend_projection import OP_TYPE as PROJECTION
from quantize.onnx.regions import float_region

FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE)
MIN_WEIGHT_ELEMENTS = 64
# Oldest ONNX Runtime that knows an opset, by its release notes.
_RUNTIMES = {13: "1.6", 14: "1.8", 15: "1.10", 16: "1.11", 17: "1.12", 18: "1.14", 19: "1.15", 20: "1.17", 21: "1.18"}


class _Graph:
    """The graph with its look-ups."""

    def __init__(self, graph: Any) -> None:
        self.nodes = list(graph.node)
        self.inputs = {value.name: value.type.tensor_type.elem_type for value in graph.input}
        self.outputs = {value.name for value in graph.output}
        self.constants = {item.name: onnx.numpy_helper.to_array(item) for item in graph.initializer}
        self.producers = {name: node for node in self.nodes for name in node.output}
        self.readers: dict[str, list[Any]] = {}
        for node in self.nodes:
            for name in dict.fromkeys(node.input):
                self.readers.setdefault(name, []).append(node)
        values = (*graph.value_info, *graph.input, *graph.output)
        self.kinds = {value.name: value.type.tensor_type.elem_type for value in values}
        self.kinds |= {item.name: item.data_type for item in graph.initializer}

    def is_float(self, name: str) -> bool:
        """Whether the tensor is float; one of unknown type counts as such."""
        return bool(name) and self.kinds.get(name, onnx.TensorProto.FLOAT) in FLOATS

    def origin(self, name: str) -> Any:
        """The operator that computed the values of the tensor, before any moves; None for inputs and constants."""
        node = self.producers.get(name)
        while node is not None and node.op_type in SCALE_KEEPING:
            node = self.producers.get(node.input[0])
        return node

    def destinations(self, name: str) -> Iterator[Any]:
        """The operators that compute with the values of the tensor, after any moves; None for an output of the model."""
        if name in self.outputs:
            yield None
        for node in self.readers.get(name, ()):
            if node.op_type in SCALE_KEEPING:
                for moved in node.output:
                    yield from self.destinations(moved)
            else:
                yield node

    def tables(self) -> Iterator[np.ndarray]:
        """Constants that are looked up: embeddings."""
        for node in self.nodes:
            values = self.constants.get(node.input[0]) if node.op_type == "Gather" else None
            # A table of whole numbers (an order of tokens) is looked up as it is: there is nothing to round.
            if values is not None and values.size >= MIN_WEIGHT_ELEMENTS and values.dtype not in (np.int32, np.int64):
                yield values

    def parameters(self) -> dict[str, np.ndarray]:
        """Constants other than scales and zero points."""
        side = {name for node in self.nodes if node.op_type in LINEAR for name in node.input[1:]}
        return {name: values for name, values in self.constants.items() if name not in side}


def audit_onnx(content: bytes) -> Audit:
    """Contents of an .onnx file."""
    model = onnx.shape_inference.infer_shapes(onnx.load_from_string(content))
    graph = _Graph(model.graph)
    parameters = graph.parameters()
    return Audit(
        target="onnx",
        size_bytes=len(content),
        weight_bytes=sum(values.nbytes for values in parameters.values()),
        parameters=sum(values.size for values in parameters.values() if values.dtype != np.int64),
        ops=dict(Counter(node.op_type for node in graph.nodes).most_common()),
        dtypes=_dtypes(model),
        min_runtime=_min_runtime(model),
        findings={
            name: tuple(dict.fromkeys(check(graph)))
            for name, check in {
                "float32": _check_float32,
                "fp16": _check_fp16,
                "int8-dynamic": _check_dynamic,
                "int8": _check_int8,
            }.items()
        },
    )


def _dtypes(model: Any) -> dict[str, int]:
    """Types of inputs, outputs, constants and all tensors between them whose type can be inferred."""
    inferred = model.graph
    kinds = [v.type.tensor_type.elem_type for v in (*inferred.input, *inferred.output, *inferred.value_info)]
    kinds += [item.data_type for item in inferred.initializer]
    return dict(Counter(onnx.TensorProto.DataType.Name(kind).lower() for kind in kinds if kind).most_common())


def _min_runtime(model: Any) -> str:
    versions = {entry.domain: entry.version for entry in model.opset_import}
    release = _RUNTIMES.get(versions.get("", 0), "")
    needed = [tuple(map(int, release.split(".")))] if release else []
    if DOMAIN in versions:  # the projection op asks for more than the opset does
        needed.append(MINIMUM_VERSION)
    release = ".".join(map(str, max(needed))) if needed else ""
    return f"ONNX Runtime {release}" if release else ""


def _check_int8(graph: _Graph) -> Iterator[str]:
    counts = Counter(node.op_type for node in graph.nodes)
    for name in DYNAMIC:
        if counts[name]:
            yield f"{name} takes its scales while running: that is int8-dynamic"
    if counts["ReduceSum"]:
        yield "ReduceSum was quantized: use ReduceMean"
    if not any(counts[name] for name in WEIGHTED):
        yield "no operator with weights"
    kept = {id(graph.nodes[position]) for position in float_region(graph.nodes)}
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


def _check_operator(graph: _Graph, node: Any, kept: set[int]) -> Iterator[str]:
    """All that an operator reads must come from DequantizeLinear, all that it makes must go to QuantizeLinear.

    What it makes may also go to operators in `kept`, for which the runtime has no integer kernel.
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


def _check_quantize(graph: _Graph, node: Any) -> Iterator[str]:
    """An activation: 8 bits, one fixed scale."""
    if any(name not in graph.constants for name in node.input[1:]):
        yield "QuantizeLinear takes its scales while running: that is int8-dynamic"
        return
    kind = graph.constants[node.input[2]].dtype.name if len(node.input) > 2 else "uint8"
    if kind not in ("int8", "uint8"):
        yield f"activations are {kind}, not 8 bits"
    if graph.constants[node.input[1]].size != 1:
        yield "activations have a scale for each channel"


def _check_dequantize(graph: _Graph, node: Any) -> Iterator[str]:
    """An activation must be read as it was written."""
    source = graph.origin(node.input[0])
    if source is None or source.op_type != "QuantizeLinear":
        return  # a constant, or the input, which have checks of their own
    pairs = list(zip(source.input[1:], node.input[1:], strict=False))
    if len(source.input) != len(node.input) or any(
        not np.array_equal(graph.constants.get(one, np.nan), graph.constants.get(other, np.nan)) for one, other in pairs
    ):
        yield "activations are read with another scale than they were written with"


def _check_constant(graph: _Graph, node: Any, position: int, dequantize: Any) -> Iterator[str]:
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
    if values.dtype != np.int8:
        yield f"weights of {node.op_type} are {values.dtype.name}, not int8"
    elif scale.size != values.shape[axis] or (scale.size > 1 and _axis(dequantize) % values.ndim != axis):
        yield f"weights of {node.op_type} have {scale.size} scales for {values.shape[axis]} channels"
    elif any(np.any(item) for item in zero):
        yield f"weights of {node.op_type} are not symmetric: a zero point differs from 0"


def _channel_axis(node: Any, rank: int) -> int:
    """Axis of the output channels in the weights."""
    if node.op_type == "Conv":
        return 0
    transposed = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
    return 0 if transposed else rank - 1


def _axis(dequantize: Any) -> int:
    """Axis of the scales; 1 is what ONNX takes when none is named."""
    return next((int(attribute.i) for attribute in dequantize.attribute if attribute.name == "axis"), 1)


def _check_input(graph: _Graph, name: str) -> Iterator[str]:
    for node in graph.destinations(name):
        if node is None or node.op_type != "DequantizeLinear":
            yield f"the int8 input is read by {node.op_type if node else 'nobody'}, not by DequantizeLinear"
            continue
        scale, *zero = (graph.constants.get(item, np.array(np.nan)) for item in node.input[1:])
        if scale.tolist() != 1.0 or any(np.any(item) for item in zero):
            yield "the int8 input must have scale 1 and zero point 0"


def _check_dynamic(graph: _Graph) -> Iterator[str]:
    counts = Counter(node.op_type for node in graph.nodes)
    if not any(counts[name] for name in DYNAMIC):
        yield "no operator with 8-bit weights"
    for node in graph.nodes:
        weighted = node.op_type in WEIGHTED and any(name in graph.constants for name in node.input[:2])
        if weighted and not is_grouped(node):  # see `to_int8_dynamic_onnx`
            yield f"weights of {node.op_type} are float"
    for table in graph.tables():
        if table.dtype not in (np.int8, np.uint8):
            yield f"a table of Gather is {table.dtype.name}, not 8 bits: the embedding was left out"
    fixed = Counter(node.op_type for node in graph.nodes if node.op_type in LINEAR and not _reads_table(graph, node))
    for kind, count in fixed.items():
        yield f"{count} {kind}: activations have fixed scales"


def _reads_table(graph: _Graph, node: Any) -> bool:
    """Whether a DequantizeLinear makes float what was looked up in an 8-bit table."""
    source = graph.producers.get(node.input[0])
    return source is not None and source.op_type == "Gather" and source.input[0] in graph.constants


def _check_fp16(graph: _Graph) -> Iterator[str]:
    large = [values for values in graph.constants.values() if values.size >= MIN_WEIGHT_ELEMENTS]
    kinds = Counter(values.dtype.name for values in large)
    if not kinds["float16"]:
        yield "no float16 weights"
    for kind in ("float32", "int8", "uint8"):
        if kinds[kind]:
            yield f"{kinds[kind]} constants are {kind}"


def _check_float32(graph: _Graph) -> Iterator[str]:
    kinds = Counter(values.dtype.name for values in graph.constants.values())
    for kind in ("float16", "int8", "uint8"):
        if kinds[kind]:
            yield f"{kinds[kind]} constants are {kind}"
    for node in graph.nodes:
        if node.op_type in (*LINEAR, *DYNAMIC):
            yield f"{node.op_type} in a float model"
