"""Audit of .tflite files: see `audit.py`."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from exporters.formats.audit import Audit
from quantize.tflite.flatbuffer import TYPE_NAMES, is_constant, op_name, read_model
from quantize.tflite.operators import BIAS, DYNAMIC_FLOAT, LOOKUP, WEIGHTED
from quantize.tflite.passes.prepend_projection import CUSTOM_OP
from quantize.tflite.regions import float_region

FLOATS = ("FLOAT32", "FLOAT16")
# A constant with fewer elements is a setting of an operator rather than weights.
MIN_WEIGHT_ELEMENTS = 64

# Oldest TFLite for an operator's version (tensorflow/lite/tools/versioning/runtime_version.cc), where it is later than
# 2.3, which stands for all versions listed in `_OLD_VERSIONS`.
_NEW_VERSIONS = {
    ("CAST", 2): (2, 7),
    ("CAST", 3): (2, 8),
    ("CONV_2D", 5): (2, 4),
    ("GELU", 1): (2, 9),
    ("GELU", 2): (2, 9),
    ("MEAN", 3): (2, 4),
}
_OLD_VERSIONS = {
    "ADD": 2,
    "BATCH_MATMUL": 2,
    "CAST": 1,
    "CONCATENATION": 3,
    "CONV_2D": 3,
    "DEPTHWISE_CONV_2D": 4,
    "DEQUANTIZE": 4,
    "EXPAND_DIMS": 1,
    "FULLY_CONNECTED": 9,
    "GATHER": 3,
    "LOGISTIC": 3,
    "MEAN": 2,
    "MUL": 4,
    "NEG": 1,
    "PACK": 2,
    "PAD": 3,
    "QUANTIZE": 2,
    "RELU": 2,
    "RELU6": 2,
    "RESHAPE": 1,
    "RSQRT": 2,
    "SLICE": 3,
    "SOFTMAX": 3,
    "SPLIT": 3,
    "SPLIT_V": 2,
    "SQUARED_DIFFERENCE": 2,
    "SQUEEZE": 1,
    "STRIDED_SLICE": 4,
    "SUB": 3,
    "TANH": 3,
    "TOPK_V2": 2,
    "TRANSPOSE": 4,
    "UNPACK": 2,
}
# Static int8 with scales per channel has no version of its own in FULLY_CONNECTED; this is the oldest runtime it ran in.
_CHANNEL_DENSE = (2, 14)


def audit_tflite(content: bytes) -> Audit:
    """Contents of a .tflite file."""
    model = read_model(content)
    graph = model.subgraphs[0]
    return Audit(
        target="tflite",
        size_bytes=len(content),
        weight_bytes=sum(len(buffer.data) for buffer in model.buffers if buffer.data is not None),
        parameters=_parameters(model, graph),
        ops=dict(Counter(op_name(model, operator) for operator in graph.operators).most_common()),
        dtypes=dict(Counter(TYPE_NAMES[tensor.type].lower() for tensor in graph.tensors).most_common()),
        min_runtime=_min_runtime(model),
        findings={
            "float32": tuple(_unique(model, _check_float32)),
            "fp16": tuple(_unique(model, _check_fp16)),
            "int8-dynamic": tuple(_unique(model, _check_dynamic)),
            "int8": tuple(_unique(model, _check_int8)),
        },
    )


def _unique(model: Any, check: Any) -> list[str]:
    """Findings of all subgraphs, each once."""
    return list(dict.fromkeys(problem for graph in model.subgraphs for problem in check(model, graph)))


def _kind(tensor: Any) -> str:
    return TYPE_NAMES[tensor.type]


def _scales(tensor: Any) -> np.ndarray:
    quantization = tensor.quantization
    if quantization is None or quantization.scale is None:
        return np.zeros(0, np.float32)
    return np.asarray(quantization.scale)


def _zero_points(tensor: Any) -> np.ndarray:
    return np.asarray(tensor.quantization.zeroPoint) if _scales(tensor).size else np.zeros(0, np.int64)


def _weights(model: Any, graph: Any) -> Iterator[tuple[str, Any, int]]:
    """Operator name, constant weights and channel axis of each operator that has them."""
    for operator in graph.operators:
        name = op_name(model, operator)
        if name in WEIGHTED:
            position, axis = WEIGHTED[name]
            tensor = graph.tensors[operator.inputs[position]]
            if is_constant(model, tensor):
                yield name, tensor, axis


def _tables(model: Any, graph: Any) -> Iterator[Any]:
    """Constants that are looked up: embeddings."""
    for operator in graph.operators:
        if op_name(model, operator) == LOOKUP:
            tensor = graph.tensors[operator.inputs[0]]
            # A table of whole numbers (an order of tokens) is looked up as it is: there is nothing to round.
            if (
                is_constant(model, tensor)
                and _elements(tensor) >= MIN_WEIGHT_ELEMENTS
                and _kind(tensor) not in ("INT32", "INT64")
            ):
                yield tensor


def _constants(model: Any, graph: Any) -> Iterator[Any]:
    return (tensor for tensor in graph.tensors if is_constant(model, tensor))


def _elements(tensor: Any) -> int:
    return int(np.prod(tensor.shape)) if tensor.shape is not None else 1


def _parameters(model: Any, graph: Any) -> int:
    """Elements of all weights and biases, shared ones once."""
    biases = {
        int(operator.inputs[BIAS])
        for operator in graph.operators
        if op_name(model, operator) in WEIGHTED and len(operator.inputs) > BIAS
    }
    found = {}
    for index, tensor in enumerate(graph.tensors):
        if is_constant(model, tensor) and (_kind(tensor) != "INT32" or index in biases):
            found[tensor.buffer] = _elements(tensor)
    return sum(found.values())


def _check_int8(model: Any, graph: Any) -> Iterator[str]:
    allowed = _allowed_in_float(model, graph)
    for operator in graph.operators:
        name = op_name(model, operator)
        if name == CUSTOM_OP or id(operator) in allowed:
            continue
        if name == "SUM":
            yield "SUM is wrong in int8 in TFLite 2.12 and in reference kernels: use MEAN"
        indices = [int(i) for i in (*operator.inputs, *operator.outputs) if i >= 0]
        if any(_kind(graph.tensors[i]) in FLOATS for i in indices):
            yield f"{name} computes in float"
    for index in (*graph.inputs, *_projection_outputs(model, graph)):
        tensor = graph.tensors[int(index)]
        if _kind(tensor) == "INT8" and (_scales(tensor).tolist() != [1.0] or _zero_points(tensor).tolist() != [0]):
            yield f"the int8 input must have scale 1 and zero point 0, not {_scales(tensor)} and {_zero_points(tensor)}"
    yield from _check_int8_weights(model, graph)


def _allowed_in_float(model: Any, graph: Any) -> set[int]:
    """Ids of the operators that static int8 leaves in float: layer norms, GELUs, what ranks tokens, and the steps into and
    out of these.

    A DEQUANTIZE reads int8 and is read in such a region alone, or makes an output; a QUANTIZE ends a region in int8. So a
    product in float is found in any case: it is in no region, and what it reads or makes is float.
    """
    region = {id(graph.operators[position]) for position in float_region(model, graph)}
    outputs = {int(i) for i in graph.outputs}
    readers: dict[int, list[Any]] = {}
    for operator in graph.operators:
        for index in operator.inputs:
            readers.setdefault(int(index), []).append(operator)
    made = {int(i) for operator in graph.operators if id(operator) in region for i in operator.outputs}
    allowed = set(region)
    for operator in graph.operators:
        name = op_name(model, operator)
        if name not in ("DEQUANTIZE", "QUANTIZE"):
            continue
        source, target = int(operator.inputs[0]), int(operator.outputs[0])
        if (
            name == "DEQUANTIZE"
            and _kind(graph.tensors[source]) == "INT8"
            and not is_constant(model, graph.tensors[source])
        ):
            found = readers.get(target, [])
            if all(id(reader) in region for reader in found) and (found or target in outputs):
                allowed.add(id(operator))
        elif name == "QUANTIZE" and _kind(graph.tensors[target]) == "INT8" and source in made:
            allowed.add(id(operator))
    return allowed


def _check_int8_weights(model: Any, graph: Any) -> Iterator[str]:
    for tensor in _tables(model, graph):
        if _kind(tensor) != "INT8":
            yield f"a table of {LOOKUP} is {_kind(tensor).lower()}, not int8"
    found = False
    for name, tensor, axis in _weights(model, graph):
        found = True
        if _kind(tensor) != "INT8":
            yield f"weights of {name} are {_kind(tensor).lower()}, not int8"
        elif _scales(tensor).size != tensor.shape[axis]:
            yield f"weights of {name} have {_scales(tensor).size} scales for {tensor.shape[axis]} channels"
        elif np.any(_zero_points(tensor)):
            yield f"weights of {name} are not symmetric: a zero point differs from 0"
    if not found:
        yield "no operator with weights"


def _projection_outputs(model: Any, graph: Any) -> list[int]:
    return [int(o.outputs[0]) for o in graph.operators if op_name(model, o) == CUSTOM_OP]


def _check_dynamic(model: Any, graph: Any) -> Iterator[str]:
    found = False
    for name, tensor, _ in _weights(model, graph):
        found = True
        if _kind(tensor) != "INT8" and _elements(tensor) >= MIN_WEIGHT_ELEMENTS and name not in DYNAMIC_FLOAT:
            yield f"weights of {name} are {_kind(tensor).lower()}, not int8"
        elif np.any(_zero_points(tensor)):
            yield f"weights of {name} are not symmetric: a zero point differs from 0"
    if not found:
        yield "no operator with weights"
    for tensor in _tables(model, graph):
        if _kind(tensor) != "INT8":
            yield f"a table of {LOOKUP} is {_kind(tensor).lower()}, not int8: the embedding was left out"
    for operator in graph.operators:
        name = op_name(model, operator)
        if name in WEIGHTED and _kind(graph.tensors[operator.inputs[0]]) != "FLOAT32":
            yield f"{name} reads {_kind(graph.tensors[operator.inputs[0]]).lower()} activations, not float32"


def _check_fp16(model: Any, graph: Any) -> Iterator[str]:
    kinds = Counter(_kind(tensor) for tensor in _constants(model, graph))
    if not kinds["FLOAT16"]:
        yield "no float16 weights"
    for kind in ("INT8", "UINT8", "INT4"):
        if kinds[kind]:
            yield f"{kinds[kind]} constants are {kind.lower()}"
    large = [t for t in _constants(model, graph) if _kind(t) == "FLOAT32" and _elements(t) >= MIN_WEIGHT_ELEMENTS]
    if large:
        yield f"{len(large)} constants are float32"


def _check_float32(model: Any, graph: Any) -> Iterator[str]:
    quantized = [tensor for tensor in graph.tensors if _scales(tensor).size]
    if quantized:
        yield f"{len(quantized)} tensors are quantized"
    kinds = Counter(_kind(tensor) for tensor in _constants(model, graph))
    for kind in ("INT8", "UINT8", "INT4", "FLOAT16"):
        if kinds[kind]:
            yield f"{kinds[kind]} constants are {kind.lower()}"


def _min_runtime(model: Any) -> str:
    needed = (2, 3)
    for graph in model.subgraphs:
        for name, tensor, _ in _weights(model, graph):
            if name == "FULLY_CONNECTED" and _scales(tensor).size > 1:
                needed = max(needed, _CHANNEL_DENSE)
        for operator in graph.operators:
            name, version = op_name(model, operator), model.operatorCodes[operator.opcodeIndex].version
            if name == CUSTOM_OP:
                continue
            if (name, version) in _NEW_VERSIONS:
                needed = max(needed, _NEW_VERSIONS[name, version])
            elif version > _OLD_VERSIONS.get(name, 0):
                return ""
    return f"TensorFlow Lite {needed[0]}.{needed[1]}"
