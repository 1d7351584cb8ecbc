"""`OnnxFile`: an .onnx file, parsed once. See `model_file.py`."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import DecodeError

from exporters.formats import model_file
from exporters.formats.model_file import Check, ModelFile, Signature, TensorInfo, is_weights, readable
from exporters.formats.onnx import external
from exporters.formats.onnx.tensors import OnnxGraph
from exporters.formats.onnx.versions import min_runtime
from exporters.formats.onnx.walk import names_of
from exporters.formats.tensor_names import SIGNATURE

FORMAT = "onnx"
_WEIGHT_TYPES = ("float32", "float16", "int8", "uint8")
# Positions of the weights of quantized files and of their zero points.
_QUANTIZED = {"DequantizeLinear": (0, 2), "MatMulInteger": (1, 3), "ConvInteger": (1, 3)}


@dataclass(frozen=True, kw_only=True)
class OnnxFile(ModelFile):
    """`model` is the parsed file; nobody may edit it."""

    model: onnx.ModelProto = field(repr=False, compare=False)
    graph: OnnxGraph = field(repr=False, compare=False)
    # Where weights are kept in files beside it: the file itself, and the bytes of the others by name.
    own_content: bytes | None = field(default=None, repr=False)
    beside: Mapping[str, int] = field(default_factory=dict)

    @property
    def stored(self) -> bytes:
        return self.content if self.own_content is None else self.own_content

    @property
    def size_bytes(self) -> int:
        return len(self.stored) + sum(self.beside.values())

    def interface(self) -> dict[str, Any]:
        """Without a name: a file has one signature."""
        return self.signatures[SIGNATURE].to_dict()

    def audits(self) -> Mapping[str, Check]:
        from exporters.formats.onnx.audit import AUDITS

        return AUDITS

    def weights(self) -> Iterator[tuple[np.ndarray, int]]:
        """Those of 4 bits aside, many of which round to zero."""
        constants, points, packed = self.graph.constants, {}, self.graph.packed
        others = constants.keys() - self.graph.weights.keys()
        for node in self.graph.nodes:
            places = _QUANTIZED.get(node.op_type)
            if places and len(node.input) > places[1] and node.input[places[1]] in constants:
                points[node.input[places[0]]] = constants[node.input[places[1]]]
        for name, values in constants.items():
            if is_weights(values.shape) and values.dtype.name in _WEIGHT_TYPES and name not in packed | others:
                # An embedding is dequantized after it was looked up; its 8 bits are symmetric in ONNX Runtime's way.
                zero = 128 if values.dtype == np.uint8 else 0
                yield values, int(points[name].flat[0]) if name in points else zero


def open_onnx(source: Path | bytes) -> OnnxFile:
    """Parses a file. Weights in files beside it are read if its place is known; then `content` has them in it."""
    name, content = model_file.read(source)
    with readable(FORMAT, name):
        model, own_content, beside = _parse(content), None, dict[str, int]()
        if external.is_used(model):
            if isinstance(source, bytes):
                raise ValueError("weights that are stored in another file")
            beside = external.read_beside(model, source.parent)
            own_content, content = content, model.SerializeToString()
        graph = OnnxGraph(model)
        parameters, packed = graph.parameters(), graph.packed
        # Old files list their weights among the inputs.
        fed = [value for value in model.graph.input if value.name not in graph.constants]
        inputs, outputs = (tuple(_info(value) for value in side) for side in (fed, model.graph.output))
        return OnnxFile(
            format=FORMAT,
            name=name,
            content=content,
            signatures={SIGNATURE: Signature(inputs=inputs, outputs=outputs)},
            ops=dict(Counter(node.op_type for node in graph.nodes).most_common()),
            dtypes=graph.dtypes,
            weight_bytes=sum(values.nbytes for values in parameters.values()),
            parameters=sum(
                values.size * (2 if each in packed else 1)
                for each, values in parameters.items()
                if values.dtype != np.int64 and each in graph.weights
            ),
            min_runtime=min_runtime(model),
            model=model,
            graph=graph,
            own_content=own_content,
            beside=beside,
        )


def _parse(content: bytes) -> onnx.ModelProto:
    try:
        model = onnx.load_from_string(content)
    except DecodeError as error:
        raise ValueError("bytes that are no ONNX model") from error
    # Any bytes that happen to be well-formed, and none at all, are a message with nothing in it.
    if not model.opset_import or not model.graph.node:
        raise ValueError("no graph" if content else "no bytes")
    broken = next((name for name in names_of(model) if not isinstance(name, str)), None)
    if broken is not None:
        raise ValueError(f"the name {broken!r}, which is not UTF-8")
    _check_order(model.graph)
    return model


def _check_order(graph: onnx.GraphProto) -> None:
    """Operators come after what they read, as the standard asks: nobody who follows tensors runs in a circle."""
    known = {"", *(value.name for value in graph.input), *(item.name for item in graph.initializer)}
    known.update(item.values.name for item in graph.sparse_initializer)
    for node in graph.node:
        early = next((name for name in node.input if name not in known), None)
        if early is not None:
            raise ValueError(f"{node.op_type} reads {early!r} before it is made")
        known.update(node.output)


def _info(value: onnx.ValueInfoProto) -> TensorInfo:
    kind = value.type.tensor_type
    return TensorInfo(
        name=value.name,
        dtype=onnx.TensorProto.DataType.Name(kind.elem_type).lower(),
        shape=tuple(dim.dim_param or dim.dim_value for dim in kind.shape.dim),
    )
