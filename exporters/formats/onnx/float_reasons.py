"""Why an operator of a quantized .onnx file computes in float, as far as the file tells.

Judges by types and by the graph, never by names or by who wrote the file. In QDQ form an operator is in integers if all
it computes with comes from DequantizeLinear. "" is an honest answer: not known.
"""

from collections.abc import Iterator
from typing import Any

from exporters.anatomy import parts as values
from exporters.formats.onnx.quantized_ops import BORDERS, DYNAMIC, MICROSOFT, QUANTIZED, STATIC, is_integer
from exporters.formats.onnx.tensors import OnnxGraph
from exporters.formats.onnx.walk import STANDARD, full_name
from quantize.onnx.operators import DENSE, SCALE_KEEPING, SLOW_KERNEL, WITHOUT_KERNEL, is_grouped
from quantize.onnx.regions import float_region

_CONTRIB_REGION = ("BiasGelu", "FastGelu", "Gelu", "LayerNormalization", "SkipLayerNormalization")
# Operators that compute nothing with the values of float tensors.
_NEUTRAL = (*SCALE_KEEPING, "Constant", "ConstantOfShape", "Gather", "Shape", "Size", "Expand", "Concat")
_QUANTIZED_TYPES = ("int4", "uint4", "int8", "uint8", "int16", "uint16")

CUSTOM = "a custom operator: the file does not say what it can do"
NO_KERNEL = "ONNX Runtime has no integer kernel for it"
SLOW = "ONNX Runtime computes it faster in float"
REGION = "connected with operators without an integer kernel; to round in between would only cost accuracy"
RANKING = "part of the ranking of tokens, or connected with operators without an integer kernel"
SCALING = "activations stay in float: only products with weights are in integers"
WEIGHTS_ONLY = "activations stay in float: only weights are stored in integers"
TWO_ACTIVATIONS = "multiplies two activations: there are no weights to quantize"
GROUPED = "a convolution in groups, which ONNX Runtime computes faster in float"
FLOAT_WEIGHTS = "its weights are left in float"
CAST = "turns whole numbers into float"
CUT_TABLE = "a table that is cut to the length of the input before it is added or rounded"


def classify(graph: OnnxGraph) -> tuple[str, str]:
    """How activations are computed, and the type of quantized ones."""
    names, made_once = [full_name(node) for node in graph.nodes], graph.fixed
    for node, name in zip(graph.nodes, names, strict=True):
        if name in STATIC or (name not in QUANTIZED and is_integer(name) and name not in DYNAMIC):
            fixed = name not in BORDERS or all(each in graph.constants for each in node.input[1:] if each)
            if fixed and not made_once.issuperset(node.output):
                return values.STATIC, _activation_type(graph, node)
    if any(name.startswith("QLinear") for name in names):
        return values.STATIC, ""
    if any(name in DYNAMIC for name in names):
        return values.DYNAMIC, ""
    read = {each for node, name in zip(graph.nodes, names, strict=True) if name in QUANTIZED for each in node.input}
    tables = any(table.dtype.name in _QUANTIZED_TYPES for table in graph.tables())
    if tables or any(graph.constants[each].dtype.name in _QUANTIZED_TYPES for each in read & set(graph.constants)):
        return values.WEIGHTS_ONLY, ""
    return values.FLOAT, ""


def _activation_type(graph: OnnxGraph, node: Any) -> str:
    if node.op_type == "QuantizeLinear" and len(node.input) > 2:
        return str(graph.constants[node.input[2]].dtype.name) if node.input[2] in graph.constants else ""
    return ""


def reasons(graph: OnnxGraph, activations: str) -> Iterator[str | None]:
    """For each operator: None where it is not left in float, else the reason or ""."""
    if activations == values.FLOAT:
        yield from (None for _ in graph.nodes)
        return
    region = float_region(graph.nodes) if activations == values.STATIC else set[int]()
    ranks = any(node.op_type == "TopK" for node in graph.nodes)
    fixed = graph.fixed
    for place, node in enumerate(graph.nodes):
        if not _computes_in_float(graph, node) or fixed.issuperset(node.output):
            yield None
        elif node.domain not in (*STANDARD, MICROSOFT):
            yield CUSTOM
        elif activations != values.STATIC:
            yield _in_dynamic(graph, node, activations)
        elif node.op_type in (*WITHOUT_KERNEL, *_CONTRIB_REGION):
            yield NO_KERNEL
        elif is_grouped(node):
            yield GROUPED
        elif node.op_type in SLOW_KERNEL and not ranks:
            yield SLOW
        elif place in region:
            yield RANKING if ranks else REGION
        elif node.op_type == "Cast":
            yield CAST
        else:
            yield ""


def _in_dynamic(graph: OnnxGraph, node: Any, activations: str) -> str:
    if is_grouped(node):
        return GROUPED
    if node.op_type in (*DENSE, "Conv") and not any(_from_dequantize(graph, name) for name in node.input[:2]):
        return FLOAT_WEIGHTS if any(_is_fixed(graph, name) for name in node.input[:2]) else TWO_ACTIVATIONS
    return SCALING if activations == values.DYNAMIC else WEIGHTS_ONLY


def _computes_in_float(graph: OnnxGraph, node: Any) -> bool:
    name = full_name(node)
    if is_integer(name) or name in BORDERS or node.op_type in _NEUTRAL:
        return False
    floats = [each for each in node.input if each and graph.is_float(each)]
    if not floats:
        return any(graph.is_float(each) for each in node.output if each in graph.kinds)
    moving = [each for each in floats if each not in graph.constants]
    return not (moving and all(_from_dequantize(graph, each) for each in floats))


def weight_reason(graph: OnnxGraph, nodes: list[Any]) -> str:
    """Why weights are float where others are quantized, by the operators that read them."""
    if nodes and all(is_grouped(node) for node in nodes):
        return GROUPED
    cut = [node for node in nodes if node.op_type == "Slice" and node.input[2] not in graph.constants]
    return CUT_TABLE if nodes and len(cut) == len(nodes) else ""


def _is_fixed(graph: OnnxGraph, name: str) -> bool:
    """A constant, also one that was moved or that a Constant operator holds."""
    node = graph.origin(name)
    if node is not None:
        return bool(node.op_type == "Constant")
    while name not in graph.constants and name in graph.producers:
        name = graph.producers[name].input[0]
    return name in graph.constants


def _from_dequantize(graph: OnnxGraph, name: str) -> bool:
    node = graph.origin(name)
    return node is not None and node.op_type == "DequantizeLinear"
