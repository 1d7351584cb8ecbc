"""Audit of .onnx files: see `audit.py`. Static int8 is QDQ form, so types are read through DequantizeLinear."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx

from exporters.audit import Audit
from quantize.passes.prepend_projection_onnx import OP_TYPE as PROJECTION

COMPUTE_OPS = ("Conv", "Gemm", "MatMul")
INTEGER_OPS = ("ConvInteger", "MatMulInteger")
# Both take (values, scale, zero point).
LINEAR_OPS = ("QuantizeLinear", "DequantizeLinear")
MIN_WEIGHT_ELEMENTS = 64
# Oldest ONNX Runtime that knows an opset, by its release notes.
_RUNTIMES = {13: "1.6", 14: "1.8", 15: "1.10", 16: "1.11", 17: "1.12", 18: "1.14", 19: "1.15", 20: "1.17", 21: "1.18"}


class _Graph:
    """The graph with its look-ups."""

    def __init__(self, graph: Any) -> None:
        self.nodes = list(graph.node)
        self.inputs = {value.name: value.type.tensor_type.elem_type for value in graph.input}
        self.constants = {item.name: onnx.numpy_helper.to_array(item) for item in graph.initializer}
        self.producers = {name: node for node in self.nodes for name in node.output}

    def source(self, name: str, op_type: str) -> Any:
        """The operator of that type that makes the tensor, or None."""
        node = self.producers.get(name)
        return node if node is not None and node.op_type == op_type else None

    def parameters(self) -> dict[str, np.ndarray]:
        """Constants other than scales and zero points."""
        side = {name for node in self.nodes if node.op_type in LINEAR_OPS for name in node.input[1:]}
        return {name: values for name, values in self.constants.items() if name not in side}


def audit_onnx(content: bytes) -> Audit:
    """Contents of an .onnx file."""
    model = onnx.load_from_string(content)
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
    inferred = onnx.shape_inference.infer_shapes(model).graph
    kinds = [v.type.tensor_type.elem_type for v in (*inferred.input, *inferred.output, *inferred.value_info)]
    kinds += [item.data_type for item in inferred.initializer]
    return dict(Counter(onnx.TensorProto.DataType.Name(kind).lower() for kind in kinds if kind).most_common())


def _min_runtime(model: Any) -> str:
    versions = {entry.domain: entry.version for entry in model.opset_import}
    release = _RUNTIMES.get(versions.get("", 0), "")
    return f"ONNX Runtime {release}" if release else ""


def _check_int8(graph: _Graph) -> Iterator[str]:
    counts = Counter(node.op_type for node in graph.nodes)
    for name in INTEGER_OPS:
        if counts[name]:
            yield f"{name} takes its scales while running: that is int8-dynamic"
    if counts["ReduceSum"]:
        yield "ReduceSum was quantized: use ReduceMean"
    if not any(counts[name] for name in COMPUTE_OPS):
        yield "no operator with weights"
    for node in graph.nodes:
        if node.op_type in COMPUTE_OPS:
            yield from _check_compute(graph, node)
    integers = [name for name, kind in graph.inputs.items() if kind == onnx.TensorProto.INT8]
    for name in (*integers, *(node.output[0] for node in graph.nodes if node.op_type == PROJECTION)):
        yield from _check_input(graph, name)


def _check_compute(graph: _Graph, node: Any) -> Iterator[str]:
    for name in node.input[:2]:
        dequantize = graph.source(name, "DequantizeLinear")
        if dequantize is None:
            yield f"{node.op_type} computes in float"
        elif dequantize.input[0] in graph.constants:
            yield from _check_weights(graph, node, dequantize)


def _check_weights(graph: _Graph, node: Any, dequantize: Any) -> Iterator[str]:
    values, scale, zero = (graph.constants[name] for name in dequantize.input)
    if values.dtype != np.int8:
        yield f"weights of {node.op_type} are {values.dtype.name}, not int8"
    elif np.any(zero):
        yield f"weights of {node.op_type} are not symmetric: a zero point differs from 0"
    elif scale.size == 1 and max(values.shape) > 1:
        yield f"weights of {node.op_type} have one scale for all channels"


def _check_input(graph: _Graph, name: str) -> Iterator[str]:
    for node in graph.nodes:
        if name in node.input:
            if node.op_type != "DequantizeLinear":
                yield f"the int8 input is read by {node.op_type}, not by DequantizeLinear"
            elif graph.constants[node.input[1]] != 1.0 or np.any(graph.constants[node.input[2]]):
                yield "the int8 input must have scale 1 and zero point 0"


def _check_dynamic(graph: _Graph) -> Iterator[str]:
    counts = Counter(node.op_type for node in graph.nodes)
    if not any(counts[name] for name in INTEGER_OPS):
        yield "no operator with 8-bit weights"
    for node in graph.nodes:
        if node.op_type in COMPUTE_OPS and any(name in graph.constants for name in node.input[:2]):
            yield f"weights of {node.op_type} are float"
    for kind in LINEAR_OPS:
        if counts[kind]:
            yield f"{counts[kind]} {kind}: activations have fixed scales"


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
        if node.op_type in (*LINEAR_OPS, *INTEGER_OPS):
            yield f"{node.op_type} in a float model"
