"""`TfliteFile`: a .tflite file, parsed once. See `model_file.py`."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from exporters.formats import model_file
from exporters.formats.model_file import Check, ModelFile, Signature, TensorInfo, is_weights, readable
from exporters.formats.tflite import tensors, verifier
from exporters.formats.tflite.versions import min_runtime
from quantize.tflite.flatbuffer import read_model
from quantize.tflite.graph import is_constant, op_name, tensor_name, text

FORMAT = "tflite"
# Of a file without signatures, which older converters write.
MAIN = "main"
_WEIGHT_TYPES = {"FLOAT32": np.float32, "FLOAT16": np.float16, "INT8": np.int8}


@dataclass(frozen=True, kw_only=True)
class TfliteFile(ModelFile):
    """`model` is the object tree of `quantize.tflite.graph`; nobody may edit it."""

    model: Any = field(repr=False, compare=False)

    def audits(self) -> Mapping[str, Check]:
        from exporters.formats.tflite.audit import AUDITS

        return AUDITS

    def run_order(self, signature: str | None = None) -> tuple[str | None, tuple[TensorInfo, ...]]:
        """The signature that runs, by default that of the first graph if it has one, and its inputs in the order of the
        graph, which is how interpreters count them.
        """
        index, key = 0, None
        for one in self.model.signatureDefs:
            name = text(one.signatureKey)
            if name == signature or (signature is None and one.subgraphIndex == 0):
                index, key = one.subgraphIndex, name
                break
        graph = self.model.subgraphs[index]
        return key, tuple(_info(graph.tensors[each]) for each in graph.inputs)

    def weights(self) -> Iterator[tuple[np.ndarray, int]]:
        """Those of 4 bits aside, many of which round to zero."""
        seen = set[int]()
        for graph in self.model.subgraphs:
            for tensor in graph.tensors:
                dtype = _WEIGHT_TYPES.get(tensors.kind(tensor))
                if dtype is None or tensor.buffer in seen or not is_constant(self.model, tensor):
                    continue
                if is_weights(tensor.shape):
                    seen.add(tensor.buffer)
                    points = tensors.zero_points(tensor)
                    data = np.asarray(self.model.buffers[tensor.buffer].data, np.uint8)
                    yield data.view(dtype), int(points[0]) if points.size else 0


def open_tflite(source: Path | bytes) -> TfliteFile:
    """Parses a file. Every offset and every index in it is checked first."""
    name, content = model_file.read(source)
    with readable(FORMAT, name):
        verifier.verify(content)
        model = read_model(content)
        _fill_missing(model)
        _check_indices(model)
        graph = model.subgraphs[0]
        return TfliteFile(
            format=FORMAT,
            name=name,
            content=content,
            signatures=_signatures(model),
            ops=dict(Counter(op_name(model, operator) for operator in graph.operators).most_common()),
            dtypes=dict(Counter(tensors.kind(tensor).lower() for tensor in graph.tensors).most_common()),
            weight_bytes=sum(len(buffer.data) for buffer in model.buffers if buffer.data is not None),
            parameters=tensors.parameters(model, graph),
            min_runtime=min_runtime(model),
            model=model,
        )


def _fill_missing(model: Any) -> None:
    """A list that a file leaves out is an empty one."""
    graphs = model.subgraphs or ()
    for owners, names in (
        ((model,), ("subgraphs", "buffers", "operatorCodes", "signatureDefs")),
        (graphs, ("tensors", "operators", "inputs", "outputs")),
        ([operator for graph in graphs for operator in graph.operators or ()], ("inputs", "outputs")),
        (model.signatureDefs or (), ("inputs", "outputs")),
    ):
        for owner in owners:
            for name in names:
                if getattr(owner, name) is None:
                    setattr(owner, name, [])


def _check_indices(model: Any) -> None:
    """Numbers that name a tensor, a buffer, an operator or a graph must name one that exists."""
    if not model.subgraphs:
        raise ValueError("no graph")
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            _below(tensor.buffer, model.buffers, "buffer")
        for operator in graph.operators:
            _below(operator.opcodeIndex, model.operatorCodes, "operator code")
            for index in (*operator.inputs, *operator.outputs):
                if index != -1:  # an input that is left out
                    _below(index, graph.tensors, "tensor")
        for index in (*graph.inputs, *graph.outputs):
            _below(index, graph.tensors, "tensor")
    for signature in model.signatureDefs:
        _below(signature.subgraphIndex, model.subgraphs, "graph")
        for entry in (*signature.inputs, *signature.outputs):
            _below(entry.tensorIndex, model.subgraphs[signature.subgraphIndex].tensors, "tensor")


def _below(index: int, items: Any, what: str) -> None:
    if not 0 <= index < len(items):
        raise ValueError(f"{what} {index} of {len(items)}")


def _signatures(model: Any) -> dict[str, Signature]:
    """A signature has its own names for inputs and outputs; without signatures the tensors' names count."""
    found = {}
    for signature in model.signatureDefs:
        graph = model.subgraphs[signature.subgraphIndex]
        inputs, outputs = (
            tuple(_info(graph.tensors[entry.tensorIndex], text(entry.name)) for entry in side)
            for side in (signature.inputs, signature.outputs)
        )
        found[text(signature.signatureKey)] = Signature(inputs=inputs, outputs=outputs)
    if found:
        return found
    graph = model.subgraphs[0]
    inputs, outputs = (tuple(_info(graph.tensors[index]) for index in side) for side in (graph.inputs, graph.outputs))
    return {MAIN: Signature(inputs=inputs, outputs=outputs)}


def _info(tensor: Any, name: str = "") -> TensorInfo:
    scales, points = tensors.scales(tensor), tensors.zero_points(tensor)
    return TensorInfo(
        name=name or tensor_name(tensor),
        dtype=tensors.kind(tensor).lower(),
        shape=_open_shape(tensor),
        scale=float(scales[0]) if scales.size else None,
        zero_point=int(points[0]) if points.size else 0,
    )


def _open_shape(tensor: Any) -> tuple[int, ...]:
    """-1 where the file leaves a size open; its shape has a 1 there."""
    found = () if tensor.shape is None else tuple(int(size) for size in tensor.shape)
    stated = () if tensor.shapeSignature is None else tuple(int(size) for size in tensor.shapeSignature)
    return stated if len(stated) == len(found) else found
