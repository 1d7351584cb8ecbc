"""The parts of an .onnx file for an inspection: constants with their bytes and scales, operators, foreign domains.

Works for files of any writer: weights may be initializers or Constant operators, in the graph or in the bodies of
operators. Why an operator is in float: `float_reasons.py`.
"""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx

from exporters.anatomy import parts as values
from exporters.anatomy.parts import Constant, CustomOp, GraphParts, Operator, Parts, Scales, digest_of, is_symmetric
from exporters.anatomy.users import users
from exporters.formats.model_file import Signature, TensorInfo, is_weights, readable
from exporters.formats.onnx import float_reasons
from exporters.formats.onnx.file import OnnxFile
from exporters.formats.onnx.quantized_ops import PACKED, QUANTIZED
from exporters.formats.onnx.tensors import OnnxGraph
from exporters.formats.onnx.walk import STANDARD, full_name, graphs_of, nodes_of
from exporters.formats.texts import takes_bytes

MAIN = "main"
_SCOPES = "pkg.torch.onnx.name_scopes"
_DATA = ("float_data", "int32_data", "string_data", "int64_data", "double_data", "uint64_data", "raw_data")
_NAMES = {"float": "float32", "double": "float64", "float8e4m3fn": "float8_e4m3fn", "float8e5m2": "float8_e5m2"}
# Domains that a plain ONNX Runtime has.
_KNOWN_DOMAINS = (*STANDARD, "ai.onnx.ml", "com.microsoft", "com.microsoft.nchwc")
_MOST_ATTRIBUTES, _LONGEST_ATTRIBUTE = 32, 120


def parts(file: OnnxFile) -> Parts:
    with readable(file.format, file.name):
        model = file.model
        activations, activation_type = float_reasons.classify(file.graph)
        return Parts(
            signatures={name: _with_scales(file.graph, each) for name, each in file.signatures.items()},
            constants=tuple(_constants(file)),
            graphs=tuple(_graphs(model, file.graph, activations)),
            custom=tuple(_custom(model)),
            activations=activations,
            activation_type=activation_type,
            metadata_bytes=sum(entry.ByteSize() for entry in model.metadata_props),
            facts=_facts(model),
        )


def dtype_name(kind: int) -> str:
    """As numpy calls it, where numpy has it."""
    name = str(onnx.TensorProto.DataType.Name(kind)).lower()
    return _NAMES.get(name, name)


def _with_scales(graph: OnnxGraph, signature: Signature) -> Signature:
    """The scales of integer inputs and outputs are those of the operator that reads or makes them."""

    def of_input(info: TensorInfo) -> TensorInfo:
        found = [node for node in graph.readers.get(info.name, ()) if node.op_type == "DequantizeLinear"]
        return _scaled(graph, info, found)

    def of_output(info: TensorInfo) -> TensorInfo:
        node = graph.producers.get(info.name)
        return _scaled(graph, info, [node] if node is not None and node.op_type == "QuantizeLinear" else [])

    return Signature(inputs=tuple(map(of_input, signature.inputs)), outputs=tuple(map(of_output, signature.outputs)))


def _scaled(graph: OnnxGraph, info: TensorInfo, nodes: list[Any]) -> TensorInfo:
    info = dataclasses.replace(info, dtype=_NAMES.get(info.dtype, info.dtype))
    scale, *zero = [graph.constants.get(name) for name in nodes[0].input[1:3]] if nodes else [None]
    if scale is None or scale.size != 1:
        return info
    point = zero[0] if zero and zero[0] is not None else np.zeros(1)
    return dataclasses.replace(info, scale=float(scale.flat[0]), zero_point=int(point.flat[0]) if point.size else 0)


def _constants(file: OnnxFile) -> Iterator[Constant]:
    model, graph = file.model, file.graph
    reads_bytes = any(takes_bytes(info) for one in file.signatures.values() for info in one.inputs)
    scaled = {place.name: place for place in _scales(graph)}
    side = {name for place in scaled.values() for name in place.side}
    first = True
    for _, each in graphs_of(model.graph):
        tensors = list(_tensors(each))
        readers = users(
            [[name for name in node.input if name] for node in each.node],
            [node.output for node in each.node],
            {name for name, _ in tensors},
        )
        for name, tensor in tensors:
            places = readers.get(name, [])
            nodes = [each.node[position] for position in places]
            found = scaled.get(name) if first else None
            dtype = dtype_name(tensor.data_type)
            if found is not None and found.bits:
                dtype = f"int{found.bits}" if found.scales.symmetric else f"uint{found.bits}"
            role, of_text = values.OTHER, reads_bytes and not (first and name in graph.weights)
            if name in side:
                role = values.SCALES
            elif dtype in values.WEIGHT_TYPES and is_weights(tensor.dims) and not of_text:
                role = values.WEIGHTS
            yield Constant(
                name=name,
                dtype=dtype,
                shape=tuple(tensor.dims),
                size_bytes=_stored_bytes(tensor),
                place=id(tensor),
                digest=_digest(dtype, tensor),
                role=role,
                readers=tuple(full_name(node) for node in nodes),
                users=tuple(places) if first else (),
                near=tuple(near for node in nodes for near in (*_scope(node), node.name, *node.output[:1]) if near),
                scales=None if found is None else found.scales,
                reason=float_reasons.weight_reason(graph, nodes),
                of_text=of_text,
            )
        first = False


def _scope(node: onnx.NodeProto) -> list[str]:
    """The module of the network that an operator comes from, which PyTorch's exporter notes beside it."""
    noted = next((entry.value for entry in node.metadata_props if entry.key == _SCOPES), "")
    return re.findall(r"'([^']*)'", noted)[-2:-1]  # behind it is the operator itself


def _tensors(graph: onnx.GraphProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    """Initializers, sparse ones by their values, and what Constant operators hold."""
    for item in graph.initializer:
        yield item.name, item
    for sparse in graph.sparse_initializer:
        yield sparse.values.name, sparse.values
    for node in graph.node:
        if node.op_type == "Constant":
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR and node.output:
                    yield node.output[0], attribute.t


def _stored_bytes(tensor: onnx.TensorProto) -> int:
    """The numbers alone, as the file holds them."""
    if tensor.HasField("raw_data"):
        return len(tensor.raw_data)
    bare = onnx.TensorProto()
    for name in _DATA[:-1]:
        getattr(bare, name).extend(getattr(tensor, name))
    return int(bare.ByteSize())


def _digest(dtype: str, tensor: onnx.TensorProto) -> bytes:
    if tensor.HasField("raw_data"):
        return digest_of(dtype, tensor.raw_data)
    if tensor.data_type == onnx.TensorProto.STRING:
        return digest_of(dtype, b"\0".join(tensor.string_data))
    return digest_of(dtype, np.ascontiguousarray(onnx.numpy_helper.to_array(tensor)).tobytes())


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Quantized:
    """A quantized constant; `side` are its scales and zero points. `bits` of packed ones, else 0."""

    name: str
    scales: Scales
    side: tuple[str, ...]
    bits: int = 0


def _scales(graph: OnnxGraph) -> Iterator[_Quantized]:
    """Constants that quantized operators read, and tables whose rows are dequantized behind a look-up."""
    for node in graph.nodes:
        name = full_name(node)
        for place in QUANTIZED.get(name, ()):
            if place.weights >= len(node.input):
                continue
            source = node.input[place.weights]
            if source not in graph.constants:
                maker = graph.origin(source)
                looked_up = maker is not None and maker.op_type == "Gather" and maker.input[0] in graph.constants
                if not looked_up:
                    continue
                source = maker.input[0]
            scale = _input(node, place.scales) or _later_scale(graph, node)
            zero = _input(node, place.zero_points)
            bits = _attribute(node, "bits", 4) if name in PACKED else 0
            blocks = bool(bits) or _attribute(node, "block_size", 0) > 0
            yield _Quantized(
                name=source,
                scales=_measured(graph, source, scale, zero, blocks=blocks, bits=bits),
                side=tuple(each for each in (scale, zero) if each),
                bits=bits,
            )
    yield from _packed(graph)


def _packed(graph: OnnxGraph) -> Iterator[_Quantized]:
    """Constants of 4 bits that operators of the standard take apart: float numbers, multiplied by scales."""
    packed = graph.packed
    for node in graph.nodes:
        if node.op_type != "BitShift":
            continue
        maker = graph.producers.get(node.input[0])
        is_table = maker is not None and maker.op_type == "Gather"
        source = maker.input[0] if maker is not None and is_table else node.input[0]
        if source not in packed:
            continue
        product, read = node, node.output[0]
        while product is not None and product.op_type not in ("Mul", "QuantizeLinear"):
            read = product.output[0]
            product = next(iter(graph.readers.get(read, ())), None)
        scale = next((name for name in product.input if name != read), "") if product is not None else ""
        if product is not None and product.op_type == "QuantizeLinear":
            scale = product.input[1]
        if scale in graph.producers:
            scale = graph.producers[scale].input[0]
        yield _Quantized(
            name=source,
            scales=Scales(granularity=values.BY_CHANNEL if is_table else values.BY_BLOCK, symmetric=True),
            side=(scale,) if scale in graph.constants else (),
            bits=4,
        )


def _measured(graph: OnnxGraph, source: str, scale: str, zero: str, *, blocks: bool, bits: int) -> Scales:
    factors, points = graph.constants.get(scale), graph.constants.get(zero)
    dtype = graph.constants[source].dtype.name
    if blocks:
        granularity = values.BY_BLOCK
    elif factors is not None or points is not None:
        size = max(each.size for each in (factors, points) if each is not None)
        granularity = values.BY_TENSOR if size == 1 else values.BY_CHANNEL
        if size == 1 and factors is None:
            granularity = values.UNKNOWN
    else:
        granularity = values.UNKNOWN
    if bits:  # packed zero points; without them the middle is subtracted
        symmetric = not zero
        return Scales(granularity=granularity, symmetric=symmetric)
    low, high = 0, 0
    if points is not None and points.size:
        whole = points.astype(np.int64)
        low, high = int(whole.min()), int(whole.max())
    return Scales(
        granularity=granularity,
        symmetric=is_symmetric(dtype, low, high),
        lowest_zero_point=low,
        highest_zero_point=high,
    )


def _later_scale(graph: OnnxGraph, node: Any) -> str:
    """MatMulInteger gives int32, which is cast and multiplied by the scales of both operands, together or not."""
    for cast in graph.readers.get(node.output[0], ()) if node.output else ():
        waiting = [cast.output[0]] if cast.op_type == "Cast" and cast.output else []
        while waiting:
            for product in graph.readers.get(waiting.pop(), ()):
                if product.op_type != "Mul":
                    continue
                for name in product.input:
                    maker = graph.producers.get(name)
                    if name in graph.constants:
                        return str(name)
                    if maker is not None and maker.op_type == "Mul":
                        found = next((each for each in maker.input if each in graph.constants), "")
                        if found:
                            return str(found)
                waiting += product.output
    return ""


def _input(node: Any, position: int) -> str:
    return str(node.input[position]) if 0 <= position < len(node.input) else ""


def _attribute(node: Any, name: str, default: int) -> int:
    return next((int(each.i) for each in node.attribute if each.name == name), default)


def _graphs(model: onnx.ModelProto, graph: OnnxGraph, activations: str) -> Iterator[GraphParts]:
    reasons = list(float_reasons.reasons(graph, activations))
    for name, each in graphs_of(model.graph):
        if not name:
            operators = [
                Operator(name=full_name(node), in_float=reason is not None, reason=reason or "")
                for node, reason in zip(graph.nodes, reasons, strict=True)
            ]
        else:  # inside of an operator, types are not known
            operators = [Operator(name=full_name(node)) for node in each.node]
        yield GraphParts(name=name or MAIN, operators=tuple(operators))


def _custom(model: onnx.ModelProto) -> Iterator[CustomOp]:
    """Operators of domains that a plain ONNX Runtime lacks, unless the file itself defines them."""
    defined = {(function.domain, function.name) for function in model.functions}
    found: dict[str, list[Any]] = {}
    for node in nodes_of(model.graph):
        if node.domain not in _KNOWN_DOMAINS and (node.domain, node.op_type) not in defined:
            found.setdefault(full_name(node), []).append(node)
    for name, nodes in found.items():
        yield CustomOp(name=name, kind=nodes[0].domain, count=len(nodes), attributes=_attributes(nodes[0]))


def _attributes(node: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for attribute in node.attribute[:_MOST_ATTRIBUTES]:
        if attribute.type == onnx.AttributeProto.INT:
            found[attribute.name] = int(attribute.i)
        elif attribute.type == onnx.AttributeProto.FLOAT:
            found[attribute.name] = float(attribute.f)
        elif attribute.type == onnx.AttributeProto.STRING:
            found[attribute.name] = attribute.s[:_LONGEST_ATTRIBUTE].decode(errors="replace")
    return found


def _facts(model: onnx.ModelProto) -> dict[str, Any]:
    functions = Counter(function.name for function in model.functions)
    return {
        "ir_version": int(model.ir_version),
        "opsets": {entry.domain or STANDARD[1]: int(entry.version) for entry in model.opset_import},
        "producer": " ".join(filter(None, (model.producer_name, model.producer_version))),
        "functions": dict(functions),
        "metadata": [entry.key for entry in model.metadata_props],
    }
